//! The derivative of every differentiable function of the library, by a table.
//!
//! For each function, shape and floating-point type a differentiable function is written that calls it, and `gradcheck` compares
//! forward mode, reverse mode and central differences at random points; kinks and the ends of domains are not looked at
//! here, `tests/grad/library` has those. For each function on scalars the same is done with its derivative, so forward over
//! forward is compared with differences of forward, and reverse over forward too.

use cotangent::gradcheck::{Finding, Options, Outcome, gradcheck};
use cotangent::{Request, Session, Texts};

/// Element-wise functions by how many arguments they take.
const ELEMENT_WISE: &[(usize, &[&str])] = &[
    (
        1,
        &[
            "abs", "fabs", "saturate", "frac", "fract", "rcp", "degrees", "radians", "sqrt", "rsqrt", "exp",
            "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
            "cosh", "tanh", "asinh", "acosh", "atanh", "sinpi", "cospi", "tanpi",
        ],
    ),
    (2, &["min", "max", "fmin", "fmax", "fdim", "fmod", "pow", "powr", "atan2", "copysign", "divide"]),
    (
        3,
        &[
            "clamp",
            "lerp",
            "smoothstep",
            "fma",
            "mad",
            "min3",
            "max3",
            "median3",
            "fmin3",
            "fmax3",
            "fmedian3",
        ],
    ),
];

/// Operators, and functions that call for an expression of their own.
const EXPRESSIONS: &[(usize, &str)] = &[
    (1, "-x"),
    (2, "x + y"),
    (2, "x - y"),
    (2, "x * y"),
    (2, "x / y"),
    (2, "x % y"),
    (1, "x * SCALAR(3) + SCALAR(1) / x"),
    (2, "sines(x) * y"),
    (3, "chosen(x, y, z)"),
];

/// On vectors, by signature: `T` is the scalar, `V` a vector of three.
const GEOMETRY: &[&str] = &[
    "T f(V x, V y) { return dot(x, y); }",
    "T f(T x, T y) { return dot(x, y) + mul(x, y); }",
    "T f(V x, V y) { return mul(x, y); }",
    "V f(V x, V y) { return cross(x, y); }",
    "T f(V x) { return length(x); }",
    "T f(T x) { return length(x); }",
    "T f(V x, V y) { return distance(x, y); }",
    "T f(T x, T y) { return distance(x, y); }",
    "V f(V x) { return normalize(x); }",
    "V f(V x, V y) { return reflect(x, y); }",
    "T f(T x, T y) { return reflect(x, y); }",
    "V f(V x, V y, T z) { return refract(x, y, z); }",
    "T f(T x, T y, T z) { return refract(x, y, z); }",
    "V f(V x, V y, V z) { return faceforward(x, y, z); }",
    "T f(T x, T y, T z) { return faceforward(x, y, z); }",
    "vector<T, 4> f(T x, T y, T z) { return lit(x, y, z); }",
    "vector<T, 4> f(vector<T, 4> x, vector<T, 4> y) { return dst(x, y); }",
    "V f(T x, V y) { return x * y + y * x + mul(x, y) + mul(y, x) + x - y + y / x + x; }",
    "vector<T, 2> f(matrix<T, 2, 3> m, V v) { return mul(m, v); }",
    "V f(vector<T, 2> v, matrix<T, 2, 3> m) { return mul(v, m); }",
    "matrix<T, 2, 4> f(matrix<T, 2, 3> a, matrix<T, 3, 4> b) { return mul(a, b); }",
    "matrix<T, 2, 3> f(T x, matrix<T, 2, 3> m) { return mul(x, m) + mul(m, x) + m / x - x; }",
    "matrix<T, 3, 2> f(matrix<T, 2, 3> m) { return transpose(m); }",
    "T f(matrix<T, 1, 1> m) { return determinant(m); }",
    "T f(matrix<T, 2, 2> m) { return determinant(m); }",
    "T f(matrix<T, 3, 3> m) { return determinant(m); }",
    "T f(matrix<T, 4, 4> m) { return determinant(m); }",
    "T f(T x) { T s; T c; sincos(x, s, c); return s * c; }",
    "V f(V x) { V s; V c; sincos(x, s, c); return s * c; }",
    "T f(T x, V v) { return x.scale(v.y) + v.scale(x).z + v.toFloat(); }",
];

const TYPES: [&str; 3] = ["half", "float", "double"];

/// Checks every differentiable function of a program, none of which may be skipped or wrong.
fn check(text: String, samples: u32) -> usize {
    let files = [("library.slang", text.as_str())];
    let program = Session::new(Texts::new(files)).program(&Request::new("library.slang"));
    let options = Options { samples, ..Options::default() };
    let findings = gradcheck(&program, &options).accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    let bad = |f: &&Finding| !matches!(f.outcome, Outcome::Agrees) || f.points < samples;
    let line = |f: &Finding| text[..f.span.end as usize].lines().last().unwrap_or("").to_string();
    let shown: Vec<String> = findings
        .iter()
        .filter(bad)
        .map(|f| format!("{}..: {:?} at {} points", line(f), f.outcome, f.points))
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    findings.len()
}

/// The expressions of the element-wise functions with the names of their parameters.
fn element_wise() -> Vec<(usize, String)> {
    let names = ["x", "y", "z"];
    let call = |name: &str, n: usize| format!("{name}({})", names[..n].join(", "));
    let functions = ELEMENT_WISE.iter().flat_map(|(n, all)| all.iter().map(move |name| (*n, call(name, *n))));
    functions.chain(EXPRESSIONS.iter().map(|(n, text)| (*n, text.to_string()))).collect()
}

/// The helpers that some expressions call.
fn prelude(ty: &str, scalar: &str) -> String {
    format!(
        "#define SCALAR(x) {scalar}(x)
         [Differentiable] {ty} sines({ty} x) {{ {ty} s; {ty} c; sincos(x, s, c); return s + c * x; }}
         [Differentiable] {ty} chosen({ty} x, {ty} y, {ty} z) {{ return select(x < y, y * z, x); }}\n"
    )
}

fn parameters(ty: &str, n: usize) -> String {
    ["x", "y", "z"][..n].iter().map(|name| format!("{ty} {name}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_element_wise_function_in_every_shape_and_type() {
    let mut count = 0;
    for scalar in TYPES {
        for ty in
            [scalar.to_string(), format!("{scalar}3"), format!("{scalar}2x2"), format!("vector<{scalar}, 1>")]
        {
            let mut text = prelude(&ty, scalar);
            for (i, (n, expression)) in element_wise().into_iter().enumerate() {
                text += &format!(
                    "[Differentiable] {ty} f{i}({}) {{ return {expression}; }}\n",
                    parameters(&ty, n)
                );
            }
            count += check(text, if ty == scalar { 12 } else { 4 });
        }
    }
    // 62 functions and two helpers in twelve types.
    assert_eq!(count, 64 * 12);
}

#[test]
fn every_geometric_function_in_every_type() {
    for scalar in TYPES {
        let mut text = format!("typedef {scalar} T;\ntypedef vector<{scalar}, 3> V;\n");
        for (i, function) in GEOMETRY.iter().enumerate() {
            text += &format!("[Differentiable] {}\n", function.replacen(" f(", &format!(" f{i}("), 1));
        }
        assert_eq!(check(text, 6), GEOMETRY.len());
    }
}

#[test]
fn derivatives_of_derivatives_of_every_scalar_function() {
    for scalar in TYPES {
        let mut text = prelude(scalar, scalar);
        for (i, (n, expression)) in element_wise().into_iter().enumerate() {
            let pairs = ["x, SCALAR(1)", "y, SCALAR(0.5)", "z, SCALAR(-0.25)"][..n].iter();
            let pairs: Vec<String> = pairs.map(|p| format!("DifferentialPair<{scalar}>({p})")).collect();
            let pairs = pairs.join(", ");
            let parameters = parameters(scalar, n);
            text += &format!("[Differentiable] {scalar} f{i}({parameters}) {{ return {expression}; }}\n");
            text += &format!(
                "[Differentiable] {scalar} d{i}({parameters}) {{ return fwd_diff(f{i})({pairs}).d; }}\n"
            );
        }
        check(text, 8);
    }
}
