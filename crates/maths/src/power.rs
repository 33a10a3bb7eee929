//! Exponentials, logarithms and powers.

use crate::{Machine, abs, double_nearest, double_polynomial, flip_sign, nearest, polynomial};
use std::f32::consts::{LN_2, LOG2_E};
use std::f64::consts;

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`; the error of `e^r` is 2^-28.
const EXP: [f32; 5] = [0.499_999_94, 0.166_665_2, 0.041_668_393, 0.008_368_781, 0.001_381_446_3];
/// `(2^r - 1) / r` for `|r| <= 1/2`; the error of `2^r` is 2^-28.
const EXP2: [f32; 6] = [LN_2, 0.240_226_48, 0.055_503_32, 0.009_618_439, 0.001_339_900_3, 0.000_153_532_59];
/// The same in binary64; the error of `2^r` is 2^-45.
const DOUBLE_EXP2: [f64; 9] = [
    0.693_147_180_559_884_6,
    0.240_226_506_957_213_3,
    0.055_504_108_668_443_92,
    0.009_618_129_181_603_454,
    0.001_333_355_762_244_466_4,
    0.000_154_034_405_274_662_86,
    1.525_299_098_243_533_9e-5,
    1.325_842_090_479_906_7e-6,
    1.014_829_183_146_406_1e-7,
];
/// `(log(1 + f) - f + f^2 / 2) / f^3` for `1 + f` between the square roots of 1/2 and 2; the error of the logarithm is 2^-30.
const LOG: [f32; 9] = [
    0.333_333_1,
    -0.249_999_87,
    0.200_022_27,
    -0.166_692_51,
    0.142_186_64,
    -0.123_843_59,
    0.118_729_46,
    -0.117_897_324,
    0.069_153_37,
];
/// `(artanh(s) - s) / s^3` as a polynomial in `s^2 <= 0.0295`; the error is 2^-52.
const ARTANH: [f64; 6] = [
    0.333_333_333_332_930_8,
    0.200_000_000_264_249_13,
    0.142_857_085_144_265_26,
    0.111_116_896_563_982_03,
    0.090_616_916_357_732_63,
    0.084_115_370_840_282_06,
];
/// The natural logarithm of 2 in two parts: the first has 9 bits, so that its product with an exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// `e^x`.
pub fn exp<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    // Beyond these the result is infinite or zero.
    let x = clamp(m, x, -104.0, 89.0);
    let factor = m.float(LOG2_E);
    let scaled = m.mul(x, factor);
    let (k, exponent) = nearest(m, scaled);
    let [high, low] = [LN_2_HIGH, LN_2_LOW].map(|part| {
        let part = m.float(part);
        m.mul(k, part)
    });
    let r = m.sub(x, high);
    let r = m.sub(r, low);
    let square = m.mul(r, r);
    let tail = polynomial(m, r, &EXP);
    let tail = m.mul(tail, square);
    let sum = m.add(tail, r);
    let one = m.float(1.0);
    let power = m.add(sum, one);
    scale(m, power, exponent)
}

/// `2^x`.
pub fn exp2<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let x = clamp(m, x, -151.0, 129.0);
    let (k, exponent) = nearest(m, x);
    let r = m.sub(x, k);
    let tail = polynomial(m, r, &EXP2);
    let tail = m.mul(tail, r);
    let one = m.float(1.0);
    let power = m.add(tail, one);
    scale(m, power, exponent)
}

/// `x` within bounds; a NaN stays one.
fn clamp<M: Machine>(m: &mut M, x: M::Float, low: f32, high: f32) -> M::Float {
    let [low, high] = [m.float(low), m.float(high)];
    let below = m.lt(x, low);
    let x = m.select(below, low, x);
    let above = m.lt(high, x);
    m.select(above, high, x)
}

/// `x * 2^n`, in two steps, since neither 2^128 nor 2^-150 is a float.
fn scale<M: Machine>(m: &mut M, x: M::Float, n: M::Int) -> M::Float {
    let half = m.int_shr(n, 1);
    let rest = m.int_sub(n, half);
    [half, rest].into_iter().fold(x, |x, n| {
        let bias = m.int(127);
        let field = m.int_add(n, bias);
        let bits = m.int_shl(field, 23);
        let power = m.float_of_bits(bits);
        m.mul(x, power)
    })
}

/// The natural logarithm.
pub fn log<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    // A subnormal number is made a normal one first.
    const STEP: f32 = 33_554_432.0;
    let smallest = m.float(f32::MIN_POSITIVE);
    let is_tiny = m.lt(x, smallest);
    let [step, one] = [m.float(STEP), m.float(1.0)];
    let factor = m.select(is_tiny, step, one);
    let normal = m.mul(x, factor);
    let [shifted, unshifted] = [m.float(-25.0), m.float(0.0)];
    let shift = m.select(is_tiny, shifted, unshifted);
    // The fraction is brought between the square roots of 1/2 and 2.
    let bits = m.bits(normal);
    let least = m.int(std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
    let above = m.int_sub(bits, least);
    let exponent = m.int_shr(above, 23);
    let field = m.int_shl(exponent, 23);
    let bits = m.int_sub(bits, field);
    let fraction = m.float_of_bits(bits);
    let exponent = m.float_of(exponent);
    let exponent = m.add(exponent, shift);

    let f = m.sub(fraction, one);
    let square = m.mul(f, f);
    let tail = polynomial(m, f, &LOG);
    let cube = m.mul(square, f);
    let tail = m.mul(tail, cube);
    let [high, low] = [LN_2_HIGH, LN_2_LOW].map(|part| {
        let part = m.float(part);
        m.mul(exponent, part)
    });
    let tail = m.add(tail, low);
    let half = m.float(0.5);
    let halved = m.mul(square, half);
    let tail = m.sub(tail, halved);
    let sum = m.add(f, tail);
    let result = m.add(sum, high);
    logarithm_at_the_ends(m, x, result)
}

/// The logarithm to base 2.
pub fn log2<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let wide = m.widen(x);
    let wide = double_log2(m, wide);
    let result = m.narrow(wide);
    logarithm_at_the_ends(m, x, result)
}

/// The logarithm to base 10.
pub fn log10<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let wide = m.widen(x);
    let wide = double_log2(m, wide);
    let factor = m.double(consts::LOG10_2);
    let wide = m.double_mul(wide, factor);
    let result = m.narrow(wide);
    logarithm_at_the_ends(m, x, result)
}

/// `result`, but for zero, negative numbers, infinity and NaN.
fn logarithm_at_the_ends<M: Machine>(m: &mut M, x: M::Float, result: M::Float) -> M::Float {
    let [zero, infinity, nan] = [0.0, f32::INFINITY, f32::NAN].map(|value| m.float(value));
    let is_finite = m.lt(x, infinity);
    let result = m.select(is_finite, result, x);
    let is_negative = m.lt(x, zero);
    let result = m.select(is_negative, nan, result);
    let is_zero = m.eq(x, zero);
    let lowest = m.float(f32::NEG_INFINITY);
    m.select(is_zero, lowest, result)
}

/// The logarithm to base 2 of a positive normal number; other results mean nothing. The error is 2^-44.
pub(crate) fn double_log2<M: Machine>(m: &mut M, x: M::Double) -> M::Double {
    let high = m.high_word(x);
    let low = m.low_word(x);
    let least = m.int((consts::FRAC_1_SQRT_2.to_bits() >> 32) as i32);
    let above = m.int_sub(high, least);
    let exponent = m.int_shr(above, 20);
    let field = m.int_shl(exponent, 20);
    let high = m.int_sub(high, field);
    let fraction = m.double_of_words(low, high);
    let one = m.double(1.0);
    let [less, more] = [m.double_sub(fraction, one), m.double_add(fraction, one)];
    let s = m.double_div(less, more);
    let square = m.double_mul(s, s);
    let tail = double_polynomial(m, square, &ARTANH);
    let tail = m.double_mul(tail, square);
    let tail = m.double_mul(tail, s);
    let artanh = m.double_add(s, tail);
    let factor = m.double(2.0 * consts::LOG2_E);
    let log = m.double_mul(artanh, factor);
    let exponent = m.float_of(exponent);
    let exponent = m.widen(exponent);
    m.double_add(exponent, log)
}

/// `2^x` for `|x| <= 1000`. The error is 2^-45.
pub(crate) fn double_exp2<M: Machine>(m: &mut M, x: M::Double) -> M::Double {
    let (k, exponent) = double_nearest(m, x);
    let r = m.double_sub(x, k);
    let tail = double_polynomial(m, r, &DOUBLE_EXP2);
    let tail = m.double_mul(tail, r);
    let one = m.double(1.0);
    let power = m.double_add(tail, one);
    let bias = m.int(1023);
    let field = m.int_add(exponent, bias);
    let high = m.int_shl(field, 20);
    let low = m.int(0);
    let factor = m.double_of_words(low, high);
    m.double_mul(power, factor)
}

/// `x^y`.
pub fn pow<M: Machine>(m: &mut M, x: M::Float, y: M::Float) -> M::Float {
    let [zero, one, infinity, nan] = [0.0, 1.0, f32::INFINITY, f32::NAN].map(|value| m.float(value));
    let magnitude = abs(m, x);
    let power = positive_power(m, magnitude, y);

    // The power of a negative number is one of its magnitude, or none.
    let (is_integer, odd) = integrality(m, y);
    let last_bit = m.int_shl(odd, 31);
    let bits = m.bits(x);
    let signs = m.int_and(bits, last_bit);
    let power = flip_sign(m, power, signs);
    let is_negative = m.lt(x, zero);
    let lowest = m.float(f32::NEG_INFINITY);
    let is_bounded = m.lt(lowest, x);
    let is_plain = m.both(is_negative, is_bounded);
    let defined = m.select(is_integer, power, nan);
    let power = m.select(is_plain, defined, power);

    // A NaN gives a NaN, except where the other operand decides alone.
    let [x_is_number, y_is_number] = [m.eq(x, x), m.eq(y, y)];
    let power = m.select(x_is_number, power, x);
    let power = m.select(y_is_number, power, y);
    let y_is_zero = m.eq(y, zero);
    let x_is_one = m.eq(x, one);
    let minus_one = m.float(-1.0);
    let x_is_minus_one = m.eq(x, minus_one);
    let y_size = abs(m, y);
    let y_is_infinite = m.eq(y_size, infinity);
    let settled = m.both(x_is_minus_one, y_is_infinite);
    let settled = m.either(settled, x_is_one);
    let settled = m.either(settled, y_is_zero);
    m.select(settled, one, power)
}

/// `x^y` for `x` that is not negative.
fn positive_power<M: Machine>(m: &mut M, x: M::Float, y: M::Float) -> M::Float {
    let wide = m.widen(x);
    let log = double_log2(m, wide);
    let [zero, infinity] = [m.float(0.0), m.float(f32::INFINITY)];
    let [least, most] = [m.double(f64::NEG_INFINITY), m.double(f64::INFINITY)];
    let is_zero = m.eq(x, zero);
    let log = m.double_select(is_zero, least, log);
    let is_infinite = m.eq(x, infinity);
    let log = m.double_select(is_infinite, most, log);
    let y = m.widen(y);
    let exponent = m.double_mul(y, log);
    // Beyond these the result is infinite or zero.
    let rough = m.narrow(exponent);
    let [low, high] = [m.float(-300.0), m.float(300.0)];
    let [wide_low, wide_high] = [m.double(-300.0), m.double(300.0)];
    let below = m.lt(rough, low);
    let exponent = m.double_select(below, wide_low, exponent);
    let above = m.lt(high, rough);
    let exponent = m.double_select(above, wide_high, exponent);
    let power = double_exp2(m, exponent);
    m.narrow(power)
}

/// Whether `y` is an integer, and its last bit if it is.
fn integrality<M: Machine>(m: &mut M, y: M::Float) -> (M::Truth, M::Int) {
    // From here on all floats are even integers.
    let large = m.float(16_777_216.0);
    let magnitude = abs(m, y);
    let is_small = m.lt(magnitude, large);
    let zero = m.float(0.0);
    let small = m.select(is_small, y, zero);
    let wide = m.widen(small);
    let (rounded, low) = double_nearest(m, wide);
    let rounded = m.narrow(rounded);
    let is_integer = m.eq(rounded, small);
    let one = m.int(1);
    (is_integer, m.int_and(low, one))
}

/// `e^x` in binary64 for `|x| <= 100`.
pub(crate) fn double_exp<M: Machine>(m: &mut M, x: M::Double) -> M::Double {
    let factor = m.double(consts::LOG2_E);
    let x = m.double_mul(x, factor);
    double_exp2(m, x)
}

/// The natural logarithm of a positive normal number.
pub(crate) fn double_log<M: Machine>(m: &mut M, x: M::Double) -> M::Double {
    let log = double_log2(m, x);
    let factor = m.double(consts::LN_2);
    m.double_mul(log, factor)
}

#[cfg(test)]
mod tests {
    use super::{LN_2, LN_2_HIGH, LN_2_LOW};

    #[test]
    fn the_parts_of_the_logarithm_of_two_add_up() {
        assert!((f64::from(LN_2_HIGH) + f64::from(LN_2_LOW) - std::f64::consts::LN_2).abs() < 1e-11);
        assert_eq!(LN_2_HIGH + LN_2_LOW, LN_2);
        assert_eq!(LN_2_HIGH * 512.0, (LN_2_HIGH * 512.0).round());
    }
}
