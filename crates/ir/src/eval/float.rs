//! Evaluates operations on floats.

use super::Eval;
use crate::Const;
use cotangent_base::Scalar;

/// `value` rounded to the nearest value of a floating-point type, ties to even.
pub fn round(value: f64, scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F16 => round_f16(value),
        Scalar::F32 => f64::from(value as f32),
        Scalar::Bool
        | Scalar::I8
        | Scalar::I16
        | Scalar::I32
        | Scalar::I64
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64
        | Scalar::F64 => value,
    }
}

/// Rounds to binary16: eleven significant bits down to 2^-14, steps of 2^-24 below, infinity above 65504.
fn round_f16(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let step = libm::scalbn(1.0, exponent.max(-14) - 10);
    let rounded = libm::rint(value / step) * step;
    if rounded.abs() > 65504.0 { f64::INFINITY.copysign(value) } else { rounded }
}

/// Zero of either sign, and a NaN, have sign zero.
pub(super) fn sign(a: f64) -> f64 {
    f64::from(i8::from(a > 0.0) - i8::from(a < 0.0))
}

/// The smaller; if one is NaN, the other.
pub(super) fn min(a: f64, b: f64) -> f64 {
    if b.is_nan() || a < b { a } else { b }
}

/// The larger; if one is NaN, the other.
pub(super) fn max(a: f64, b: f64) -> f64 {
    if b.is_nan() || a > b { a } else { b }
}

/// `a * b + c`, rounded once.
///
/// In binary64 the product of narrow floats is exact, but the sum is not, and rounding it twice could be wrong.
/// So the sum is *rounded to odd*: if it is inexact and its last bit is even, it moves one step towards the exact
/// sum, which breaks every false tie the right way.
pub(super) fn fma(eval: Eval, scalar: Scalar, a: f64, b: f64, c: f64) -> Const {
    if eval.wide || scalar == Scalar::F64 {
        return eval.float(libm::fma(a, b, c), scalar);
    }
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return eval.float(sum, scalar);
    }
    let c_part = sum - product;
    let error = (product - (sum - c_part)) + (c - c_part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return eval.float(sum, scalar);
    }
    eval.float(if error > 0.0 { sum.next_up() } else { sum.next_down() }, scalar)
}

/// Inverse hyperbolic cosine, which has no value below 1.
pub(super) fn acosh(a: f64) -> f64 {
    if a < 1.0 { f64::NAN } else { libm::acosh(a) }
}
