//! Sine, cosine and tangent.
//!
//! The argument is reduced by the nearest multiple `k` of a quarter turn. In binary64, with the quarter turn in two parts,
//! the remainder has a relative error below 2^-30 for arguments up to a million. For larger arguments, the
//! [rare](crate::Rare) functions multiply the argument by as many bits of 2 / pi as necessary.

use crate::{Machine, Rare, Scalar, abs, double_nearest, double_polynomial, flip_sign, polynomial};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// `(sin(r) - r) / r^3` as a polynomial in `r^2`, for `|r| <= pi / 4`; the error of the sine is 2^-27.
const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_156, -0.000_195_146_32];
/// `(cos(r) - 1 + r^2 / 2) / r^4` likewise; the error of the cosine is 2^-32.
const COS: [f32; 3] = [0.041_666_646, -0.001_388_731, 2.443_241_3e-5];
/// The same in binary64; the error is 2^-47.
const DOUBLE_SIN: [f64; 5] = [
    -0.166_666_666_666_299_84,
    0.008_333_333_325_011_313,
    -0.000_198_412_636_918_066_95,
    2.755_533_172_437_781_5e-6,
    -2.475_987_211_331_775e-8,
];
/// The same in binary64; the error is 2^-53.
const DOUBLE_COS: [f64; 5] = [
    0.041_666_666_666_595_825,
    -0.001_388_888_887_752_004,
    2.480_158_066_721_357_7e-5,
    -2.755_551_585_089_543e-7,
    2.064_465_260_972_336e-9,
];
/// A quarter turn in two parts: the first has 33 bits, so that its product with `k` is exact.
const QUARTER_HIGH: f64 = 1.570_796_326_734_125_6;
const QUARTER_LOW: f64 = 6.077_100_506_506_192e-11;
/// From here on arguments are reduced by [`reduce_large`].
const LARGE: f32 = 1e6;

/// Sine.
pub fn sin<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let (r, k) = reduce(m, magnitude);
    let r = m.narrow(r);
    let usual = wave(m, r, k);
    let bits = m.bits(x);
    let usual = flip_sign(m, usual, bits);
    let is_usual = is_small(m, magnitude);
    m.or_rare(is_usual, usual, Rare::Sin, x, x)
}

/// Cosine.
pub fn cos<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let (r, k) = reduce(m, magnitude);
    let r = m.narrow(r);
    let one = m.int(1);
    let k = m.int_add(k, one);
    let usual = wave(m, r, k);
    let is_usual = is_small(m, magnitude);
    m.or_rare(is_usual, usual, Rare::Cos, x, x)
}

/// Tangent.
pub fn tan<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let (r, k) = reduce(m, magnitude);
    let usual = slope(m, r, k);
    let bits = m.bits(x);
    let usual = flip_sign(m, usual, bits);
    let is_usual = is_small(m, magnitude);
    m.or_rare(is_usual, usual, Rare::Tan, x, x)
}

/// Whether a magnitude is small enough for [`reduce`].
fn is_small<M: Machine>(m: &mut M, magnitude: M::Float) -> M::Truth {
    let large = m.float(LARGE);
    m.lt(magnitude, large)
}

/// `x` less the nearest multiple of a quarter turn, and which multiple that is.
fn reduce<M: Machine>(m: &mut M, x: M::Float) -> (M::Double, M::Int) {
    let x = m.widen(x);
    let factor = m.double(FRAC_2_PI);
    let turns = m.double_mul(x, factor);
    let (k, number) = double_nearest(m, turns);
    let rest = [QUARTER_HIGH, QUARTER_LOW].into_iter().fold(x, |rest, part| {
        let part = m.double(part);
        let part = m.double_mul(k, part);
        m.double_sub(rest, part)
    });
    (rest, number)
}

/// The sine of `r` plus `k` quarter turns.
fn wave<M: Machine>(m: &mut M, r: M::Float, k: M::Int) -> M::Float {
    let square = m.mul(r, r);
    let sine = polynomial(m, square, &SIN);
    let sine = m.mul(sine, square);
    let sine = m.mul(sine, r);
    let sine = m.add(sine, r);

    let [half, one] = [m.float(0.5), m.float(1.0)];
    let cosine = polynomial(m, square, &COS);
    let fourth = m.mul(square, square);
    let cosine = m.mul(cosine, fourth);
    let halved = m.mul(square, half);
    let cosine = m.sub(cosine, halved);
    let cosine = m.add(cosine, one);

    let is_odd = m.is_odd(k);
    let result = m.select(is_odd, cosine, sine);
    // The sign of the second bit. Shifts need no constant in a register.
    let half = m.int_shr(k, 1);
    let sign = m.int_shl(half, 31);
    let bits = m.bits(result);
    let bits = m.int_xor(bits, sign);
    m.float_of_bits(bits)
}

/// The tangent of `r` plus `k` quarter turns.
fn slope<M: Machine>(m: &mut M, r: M::Double, k: M::Int) -> M::Float {
    let (sine, cosine) = double_sin_cos(m, r);
    let zero = m.double(0.0);
    let negated = m.double_sub(zero, cosine);
    let is_odd = m.is_odd(k);
    let over = m.double_select(is_odd, negated, sine);
    let under = m.double_select(is_odd, sine, cosine);
    let result = m.double_div(over, under);
    m.narrow(result)
}

/// Sine and cosine of `|r| <= pi / 4`.
fn double_sin_cos<M: Machine>(m: &mut M, r: M::Double) -> (M::Double, M::Double) {
    let square = m.double_mul(r, r);
    let sine = double_polynomial(m, square, &DOUBLE_SIN);
    let sine = m.double_mul(sine, square);
    let sine = m.double_mul(sine, r);
    let sine = m.double_add(sine, r);
    let [half, one] = [m.double(0.5), m.double(1.0)];
    let cosine = double_polynomial(m, square, &DOUBLE_COS);
    let cosine = m.double_mul(cosine, square);
    let cosine = m.double_sub(cosine, half);
    let cosine = m.double_mul(cosine, square);
    (sine, m.double_add(cosine, one))
}

/// The first 256 bits of 2 / pi, which is less than 1.
const TWO_OVER_PI: [u32; 8] =
    [0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab, 0xdebb_c561];

/// [`reduce`] for a number of at least 2^19, which may be infinite or NaN: then the rest is NaN.
fn reduce_large(x: f32) -> (f64, i32) {
    if !x.is_finite() {
        return (f64::NAN, 0);
    }
    // x = significand * 2^exponent, and the quarter turns in it are significand * 2^exponent * 0.bits. The leading bits give
    // multiples of four quarter turns, which do not matter.
    let significand = u128::from(x.to_bits() & 0x7f_ffff | 0x80_0000);
    let exponent = (x.to_bits() >> 23 & 0xff) as i32 - 150;
    let skipped = (exponent - 2).max(0);
    let window = (0..96).fold(0u128, |window, i| {
        let at = (skipped + i) as usize;
        window << 1 | u128::from(TWO_OVER_PI[at / 32] >> (31 - at % 32) & 1)
    });
    // Fixed point, with the binary point above this many bits.
    let point = (96 - (exponent - skipped)) as u32;
    let turns = significand * window;
    let (whole, fraction) = (turns >> point, turns & ((1 << point) - 1));
    let is_upper = fraction >> (point - 1) == 1;
    let centred = if is_upper { fraction as i128 - (1i128 << point) } else { fraction as i128 };
    let unit = f64::from_bits(u64::from(1023 - point) << 52);
    (centred as f64 * unit * FRAC_PI_2, (whole & 3) as i32 + i32::from(is_upper))
}

/// The same with both signs, so that sine and tangent of the result are those of `x`.
fn rare_sin_cos(x: f32) -> (f64, f64) {
    let (r, k) = reduce_large(x.abs());
    let (sine, cosine) = double_sin_cos(&mut Scalar, r);
    let (sine, cosine) = match k & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    };
    (if x < 0.0 { -sine } else { sine }, cosine)
}

/// The sine of a large number.
pub(crate) fn rare_sin(x: f32) -> f32 {
    rare_sin_cos(x).0 as f32
}

/// The cosine of a large number.
pub(crate) fn rare_cos(x: f32) -> f32 {
    rare_sin_cos(x).1 as f32
}

/// The tangent of a large number.
pub(crate) fn rare_tan(x: f32) -> f32 {
    let (sine, cosine) = rare_sin_cos(x);
    (sine / cosine) as f32
}
