//! What nests deeply.

use crate::{body, each, survived, taken, value};

/// Deep enough to overflow any stack that recursion without a limit would use.
const N: usize = 10_000;

fn nest(open: &str, inner: &str, close: &str, n: usize) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

#[test]
fn brackets() {
    survived(&[
        ("parentheses", value(&nest("(", "x", ")", N))),
        ("open parentheses", value(&"(".repeat(N))),
        ("braces", body(&format!("float a[1] = {};", nest("{", "1", "}", N)))),
        ("indices", value(&nest("a[", "0", "]", N))),
        ("array suffixes", body(&format!("float a{};", "[1]".repeat(N)))),
        ("calls", value(&nest("sin(", "x", ")", N))),
        ("generic arguments", body(&format!("{} y;", nest("A<", "int", ">", N)))),
        ("vectors of vectors", body(&format!("{} y;", nest("vector<", "int", ", 1>", N)))),
        ("pointers", body(&format!("int{} p;", "*".repeat(N)))),
        ("casts or parentheses", value(&format!("{}x", "(a)".repeat(900)))),
        ("comparisons or generics", value(&format!("{}x", "f<a,".repeat(900)))),
        ("comparisons in parentheses", value(&nest("(a<", "x", ")", 900))),
        ("lambdas", value(&nest("(float a) => (", "x", ")", 300))),
    ]);
}

#[test]
fn operators() {
    for (name, operator) in [
        ("minus", "- "),
        ("not", "!"),
        ("complement", "~"),
        ("increment", "++ "),
        ("dereference", "*"),
        ("address", "& "),
        ("cast", "(float)"),
    ] {
        survived(&[(name, value(&format!("{}x", operator.repeat(N))))]);
    }
    survived(&[
        ("postfix", value(&format!("x{}", "++".repeat(N)))),
        ("members", value(&format!("x{}", ".x".repeat(N)))),
        ("conditional to the right", value(&format!("{}x", "x > 0.0 ? 1.0 : ".repeat(N)))),
        ("conditional to the left", value(&nest("x > 0.0 ? ", "x", " : 1.0", N))),
        ("derivatives", body(&format!("var p = {}(x);", nest("fwd_diff(", "sin", ")", 50)))),
    ]);
}

#[test]
fn statements() {
    survived(&[
        ("blocks", body(&nest("{", "", "}", N))),
        ("ifs", body(&format!("{}x = 1.0;", "if (x > 0.0) ".repeat(N)))),
        (
            "loops",
            body(&format!("{}x += 1.0;", each(2000, |i| format!("for (int i{i} = 0; i{i} < 1; i{i}++) ")))),
        ),
        ("structures", nest("struct A {", "", "}", N)),
        ("namespaces", nest("namespace a {", "", "}", N)),
    ]);
}

// It is too deep to be differentiated, and refused in good time.
#[test]
fn a_chain_that_nobody_writes() {
    let chain = each(5000, |i| format!(" else if (x == {i}.5) x = {i}.0;"));
    survived(&[("long else if", body(&format!("if (x == 0.0) x = 1.0;{chain}")))]);
}

// What the reference takes, and people and generators write, is taken.
#[test]
fn chains_that_programs_have() {
    let chain = |n: usize| each(n, |i| format!(" else if (x == {i}.5) x = {i}.0;"));
    taken(&[
        ("a sum of 8000", value(&["x"; 8000].join(" + "))),
        ("a sum of products", value(&format!("0.0{}", each(3000, |i| format!(" + x * {i}.0"))))),
        ("and", body(&format!("if ({}) x = 2.0;", ["x > 0.0"; 3000].join(" && ")))),
        ("else if", body(&format!("if (x == 0.0) x = 1.0;{}", chain(1000)))),
        (
            "ifs one after the other",
            body(&format!(
                "float y = 0.0; {} x = y;",
                each(2000, |i| format!("if (x > {i}.5) {{ y = x * {i}.0; }} "))
            )),
        ),
        ("assignments", body(&format!("float y; {}x; x = y;", "y = ".repeat(300)))),
        ("parentheses", value(&nest("(", "x", ")", 300))),
        ("calls", value(&nest("sin(", "x", ")", 300))),
        ("ifs", body(&nest("if (x < 1.0) {", "x += 1.0;", "}", 300))),
        ("initializers", body(&format!("float a{} = {};", "[1]".repeat(50), nest("{", "1.0", "}", 50)))),
    ]);
}

// Choosing what each link of a chain means must not look at the whole chain before it.
#[test]
fn chains_of_what_programs_declare() {
    let vector = "struct V : IDifferentiable { float x;\n\
        [Differentiable] V add(V v) { return v; }\n\
        property V same { [Differentiable] get { return this; } }\n\
        __subscript(int i) -> V { [Differentiable] get { return this; } } }\n\
        [Differentiable] V operator+(V a, V b) { return a.add(b); }\n";
    let of =
        |link: &str| format!("{vector}{}", body(&format!("V v; v.x = x; x = (v{}).x;", link.repeat(4000))));
    let generic = |declared: &str, link: &str| {
        format!(
            "{declared}\nT link<T : I>(T t) {{ return t{}; }}\n{}",
            link.repeat(4000),
            body("N n = link(N(1.0));")
        )
    };
    let interface = "interface I { This add(This t); }\nstruct N : I { float x; N add(N t) { return t; } }";
    let library = "typealias I = __BuiltinFloatingPointType;\ntypealias N = float;";
    taken(&[
        ("methods", of(".add(v)")),
        ("operators", of(" + v")),
        ("properties", of(".same")),
        ("subscripts", of("[0]")),
        ("methods of an interface", generic(interface, ".add(t)")),
        ("operators of an interface", generic(library, " + t")),
    ]);
}

// Analyses of kernels look at each value once, however often it is used, and at a limited number of pairs of accesses.
#[test]
fn kernels_that_use_values_again() {
    let kernel = |statements: &str| {
        format!(
            "RWStructuredBuffer<float> o;\ngroupshared float t[64];\n[shader(\"compute\")] [numthreads(64, 1, 1)]\n\
             void computeMain(uint3 id : SV_DispatchThreadID)\n{{\n{statements}\n}}\n"
        )
    };
    let again = |n: usize| "a = a * a + a; ".repeat(n);
    survived(&[
        ("stored", kernel(&format!("float a = id.x; {} o[id.x] = a;", again(60)))),
        ("index", kernel(&format!("uint a = id.x; {} o[a] = 1.0;", again(60)))),
        ("index of a load", kernel(&format!("uint a = id.x; {} o[id.x] = o[a] * 2;", again(60)))),
        (
            "accesses without a barrier",
            kernel(&format!(
                "for (int i = 0; i < 240; i++) {{ {} }}",
                "t[id.x] += t[(id.x + i) % 64]; ".repeat(16)
            )),
        ),
        (
            "conditions",
            body(&format!(
                "bool g = x > 0.0, a = x < 1.0; while (a) {{ a = a && x < 9.0; {} x = x * 1.5; }}",
                "a = a && (g ? a : x < 5.0); ".repeat(40)
            )),
        ),
    ]);
}
