//! The meaning of scalar operations, shared by constant folding and the interpreter.

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
    let rounded = (value / step).round_ties_even() * step;
    if rounded.abs() > 65504.0 {
        f64::INFINITY.copysign(value)
    } else {
        rounded
    }
}
