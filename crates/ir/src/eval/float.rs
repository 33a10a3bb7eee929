//! Operations on floats.

use super::Eval;
use crate::{Const, Math};
use cotangent_base::Scalar;

/// `value` rounded to the nearest value of a floating-point type, ties to even.
pub fn round(value: f64, scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F16 => round_f16(value),
        Scalar::F32 => f64::from(value as f32),
        _ => value,
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

/// Operations of one operand.
pub(super) fn unary(eval: Eval, op: Math, scalar: Scalar, a: f64) -> Const {
    let value = match op {
        Math::IsNan => return Const::Bool(a.is_nan()),
        Math::IsInf => return Const::Bool(a.is_infinite()),
        Math::Neg => -a,
        Math::Abs => a.abs(),
        Math::Sign => f64::from(i8::from(a > 0.0) - i8::from(a < 0.0)),
        Math::Floor => libm::floor(a),
        Math::Ceil => libm::ceil(a),
        Math::Round => libm::round(a),
        Math::RoundEven => libm::rint(a),
        Math::Trunc => libm::trunc(a),
        Math::Sqrt => libm::sqrt(a),
        Math::Rsqrt => 1.0 / libm::sqrt(a),
        Math::Exp => libm::exp(a),
        Math::Exp2 => libm::exp2(a),
        Math::Log => libm::log(a),
        Math::Log2 => libm::log2(a),
        Math::Log10 => libm::log10(a),
        Math::Sin => libm::sin(a),
        Math::Cos => libm::cos(a),
        Math::Tan => libm::tan(a),
        Math::Asin => libm::asin(a),
        Math::Acos => libm::acos(a),
        Math::Atan => libm::atan(a),
        Math::Sinh => libm::sinh(a),
        Math::Cosh => libm::cosh(a),
        Math::Tanh => libm::tanh(a),
        Math::Asinh => libm::asinh(a),
        Math::Acosh => libm::acosh(a),
        Math::Atanh => libm::atanh(a),
        Math::Add
        | Math::Sub
        | Math::Mul
        | Math::Div
        | Math::Rem
        | Math::Min
        | Math::Max
        | Math::Fma
        | Math::And
        | Math::Or
        | Math::Xor
        | Math::Not
        | Math::Shl
        | Math::Shr
        | Math::CountBits
        | Math::FirstBitLow
        | Math::FirstBitHigh
        | Math::ReverseBits
        | Math::Eq
        | Math::Ne
        | Math::Lt
        | Math::Le
        | Math::Gt
        | Math::Ge
        | Math::Pow
        | Math::Atan2 => undefined(op),
    };
    eval.float(value, scalar)
}

/// Operations of two operands.
pub(super) fn binary(eval: Eval, op: Math, scalar: Scalar, a: f64, b: f64) -> Const {
    let value = match op {
        Math::Eq => return Const::Bool(a == b),
        Math::Ne => return Const::Bool(a != b),
        Math::Lt => return Const::Bool(a < b),
        Math::Le => return Const::Bool(a <= b),
        Math::Gt => return Const::Bool(a > b),
        Math::Ge => return Const::Bool(a >= b),
        Math::Add => a + b,
        Math::Sub => a - b,
        Math::Mul => a * b,
        Math::Div => a / b,
        Math::Rem => libm::fmod(a, b),
        Math::Min if b.is_nan() || a < b => a,
        Math::Min => b,
        Math::Max if b.is_nan() || a > b => a,
        Math::Max => b,
        Math::Pow => libm::pow(a, b),
        Math::Atan2 => libm::atan2(a, b),
        Math::Neg
        | Math::Abs
        | Math::Sign
        | Math::Fma
        | Math::And
        | Math::Or
        | Math::Xor
        | Math::Not
        | Math::Shl
        | Math::Shr
        | Math::CountBits
        | Math::FirstBitLow
        | Math::FirstBitHigh
        | Math::ReverseBits
        | Math::IsNan
        | Math::IsInf
        | Math::Floor
        | Math::Ceil
        | Math::Round
        | Math::RoundEven
        | Math::Trunc
        | Math::Sqrt
        | Math::Rsqrt
        | Math::Exp
        | Math::Exp2
        | Math::Log
        | Math::Log2
        | Math::Log10
        | Math::Sin
        | Math::Cos
        | Math::Tan
        | Math::Asin
        | Math::Acos
        | Math::Atan
        | Math::Sinh
        | Math::Cosh
        | Math::Tanh
        | Math::Asinh
        | Math::Acosh
        | Math::Atanh => undefined(op),
    };
    eval.float(value, scalar)
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

fn undefined(op: Math) -> ! {
    panic!("`{}` is not defined on these operands", op.name())
}
