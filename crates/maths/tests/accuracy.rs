//! Every function against an independent one in binary64, over a sample of binary32, and at the points where results are special.
//! With `COTANGENT_ULP` set, as by `cargo xtask ulp`, all of binary32.

use cotangent_maths as maths;
use cotangent_maths::Scalar;

type Function = fn(&mut Scalar, f32) -> f32;

type Exact = fn(f64) -> f64;

const FUNCTIONS: &[(&str, Function, Exact)] = &[
    ("exp", maths::exp, libm::exp),
    ("exp2", maths::exp2, libm::exp2),
    ("log", maths::log, libm::log),
    ("log2", maths::log2, libm::log2),
    ("log10", maths::log10, libm::log10),
    ("sin", maths::sin, libm::sin),
    ("cos", maths::cos, libm::cos),
    ("tan", maths::tan, libm::tan),
    ("asin", maths::asin, libm::asin),
    ("acos", maths::acos, libm::acos),
    ("atan", maths::atan, libm::atan),
    ("sinh", maths::sinh, libm::sinh),
    ("cosh", maths::cosh, libm::cosh),
    ("tanh", maths::tanh, libm::tanh),
    ("asinh", maths::asinh, libm::asinh),
    ("acosh", maths::acosh, acosh),
    ("atanh", maths::atanh, libm::atanh),
];

/// The reference gives an infinity for some arguments below 1, where there is no result.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// How many units in the last place `result` is from `exact`.
fn error(result: f32, exact: f64) -> f64 {
    if result.is_nan() || exact.is_nan() {
        return if result.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let nearest = exact as f32;
    if result == nearest {
        let zeros_differ = result == 0.0 && result.is_sign_negative() != exact.is_sign_negative();
        return if zeros_differ { f64::INFINITY } else { 0.0 };
    }
    // Past the largest float, units go on as before it.
    let finite =
        |x: f32| if x.is_infinite() { f64::from(f32::MAX).copysign(x.into()) * 2.0 } else { x.into() };
    let magnitude = nearest.abs().clamp(f32::MIN_POSITIVE, f32::MAX);
    let unit = f64::from(f32::from_bits(magnitude.to_bits() & 0x7f80_0000)) * 2f64.powi(-23);
    (finite(result) - exact).abs() / unit
}

#[test]
fn functions_are_within_two_units_of_the_last_place() {
    // An odd step visits all exponents and both signs.
    let step = match std::env::var_os("COTANGENT_ULP") {
        Some(_) => 1,
        None if cfg!(debug_assertions) => 40_009,
        None => 257,
    };
    for (name, function, exact) in FUNCTIONS {
        let mut worst = (0.0, 0.0f32);
        for bits in (0..=u32::MAX).step_by(step) {
            let x = f32::from_bits(bits);
            let error = error(function(&mut Scalar, x), exact(x.into()));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("{name}: {} ulp at {:e}", worst.0, worst.1);
        assert!(worst.0 <= 2.0, "{name}: {} ulp at {:e}", worst.0, worst.1);
    }
}

#[test]
fn special_arguments_have_special_results() {
    let points = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -2.0,
        3.0,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-45,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        16_777_216.0,
        16_777_215.0,
        -16_777_217.0,
        8_388_609.0,
        1e30,
        -1e30,
        1e-30,
        0.25,
        -1.5,
    ];
    for (name, function, exact) in FUNCTIONS {
        for x in points {
            let (result, exact) = (function(&mut Scalar, x), exact(x.into()));
            assert!(error(result, exact) <= 2.0, "{name}({x:e}) = {result:e}, not {exact:e}");
        }
    }
    for x in points {
        for y in points {
            let both = [
                ("pow", maths::pow(&mut Scalar, x, y), libm::pow(x.into(), y.into())),
                ("atan2", maths::atan2(&mut Scalar, x, y), libm::atan2(x.into(), y.into())),
                ("rem", maths::rem(&mut Scalar, x, y), libm::fmod(x.into(), y.into())),
            ];
            for (name, result, exact) in both {
                assert!(error(result, exact) <= 2.0, "{name}({x:e}, {y:e}) = {result:e}, not {exact:e}");
            }
        }
    }
}

#[test]
fn functions_of_two_arguments_are_within_two_units_of_the_last_place() {
    let steps = if cfg!(debug_assertions) { 400_000 } else { 40_000_000 };
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut worst = [(0.0, [0.0f32; 2]); 4];
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = state ^ state >> 29;
        let (x, y) = (f32::from_bits((mixed >> 32) as u32), f32::from_bits(mixed as u32));
        // Powers that are neither 0 nor infinite need a base and an exponent near 1.
        let (base, exponent) = (1.0 + (x.to_bits() >> 9) as f32 / 4e6, (y.to_bits() as i32) as f32 / 1e8);
        let results = [
            (maths::pow(&mut Scalar, x, y), libm::pow(x.into(), y.into()), [x, y]),
            (
                maths::pow(&mut Scalar, base, exponent),
                libm::pow(base.into(), exponent.into()),
                [base, exponent],
            ),
            (maths::atan2(&mut Scalar, x, y), libm::atan2(x.into(), y.into()), [x, y]),
            (maths::rem(&mut Scalar, x, y), libm::fmod(x.into(), y.into()), [x, y]),
        ];
        for (worst, (result, exact, at)) in worst.iter_mut().zip(results) {
            let error = error(result, exact);
            if error > worst.0 {
                *worst = (error, at);
            }
        }
    }
    println!("{worst:?}");
    let [_, _, _, (remainder, at)] = worst;
    assert_eq!(remainder, 0.0, "a remainder is exact: {at:?}");
    for (error, at) in worst {
        assert!(error <= 2.0, "{error} ulp at {at:?}");
    }
}
