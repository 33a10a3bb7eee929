//! Hyperbolic functions and their inverses.
//!
//! All except `tanh` are computed in binary64 from exponentials and logarithms. Near zero these would cancel, so a few terms
//! of the Taylor series are used instead. Odd functions are computed from the magnitude of the argument and get its sign.

use crate::power::{double_exp, double_log, exp};
use crate::{Machine, abs, double_polynomial, polynomial, with_sign_of};

/// `(tanh(x) - x) / x^3` as a polynomial in `x^2`, for `|x| <= 0.625`; the error of the result is 2^-27.
const TANH: [f32; 5] = [-0.333_332_8, 0.133_314_42, -0.053_739_71, 0.020_639_079, -0.005_704_977_5];
/// The Taylor series of odd functions: `f(x) / x` in terms of `x^2`.
const SINH: [f64; 4] = [1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0];
const ASINH: [f64; 4] = [1.0, -1.0 / 6.0, 3.0 / 40.0, -15.0 / 336.0];
const ATANH: [f64; 4] = [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0];

/// Hyperbolic sine.
pub fn sinh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let (grow, shrink) = exponentials(m, magnitude);
    let difference = m.double_sub(grow, shrink);
    let half = m.double(0.5);
    let large = m.double_mul(difference, half);
    odd(m, x, magnitude, 0.125, &SINH, large)
}

/// Hyperbolic cosine.
pub fn cosh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let (grow, shrink) = exponentials(m, magnitude);
    let sum = m.double_add(grow, shrink);
    let half = m.double(0.5);
    let result = m.double_mul(sum, half);
    m.narrow(result)
}

/// Hyperbolic tangent.
pub fn tanh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let square = m.mul(magnitude, magnitude);
    let tail = polynomial(m, square, &TANH);
    let tail = m.mul(tail, square);
    let tail = m.mul(tail, magnitude);
    let small = m.add(tail, magnitude);

    let double = m.add(magnitude, magnitude);
    let power = exp(m, double);
    let [one, two, limit] = [1.0, 2.0, 0.625].map(|value| m.float(value));
    let under = m.add(power, one);
    let missing = m.div(two, under);
    let large = m.sub(one, missing);

    let is_small = m.lt(magnitude, limit);
    let result = m.select(is_small, small, large);
    with_sign_of(m, result, x)
}

/// Inverse hyperbolic sine.
pub fn asinh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let wide = m.widen(magnitude);
    let one = m.double(1.0);
    let square = m.double_mul(wide, wide);
    let square = m.double_add(square, one);
    let root = m.double_sqrt(square);
    let sum = m.double_add(wide, root);
    let large = double_log(m, sum);
    let result = odd(m, x, magnitude, 0.0625, &ASINH, large);
    let infinity = m.float(f32::INFINITY);
    let is_finite = m.lt(magnitude, infinity);
    m.select(is_finite, result, x)
}

/// Inverse hyperbolic cosine.
pub fn acosh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let wide = m.widen(x);
    let one = m.double(1.0);
    let [less, more] = [m.double_sub(wide, one), m.double_add(wide, one)];
    let product = m.double_mul(less, more);
    let root = m.double_sqrt(product);
    let sum = m.double_add(wide, root);
    let log = double_log(m, sum);
    let result = m.narrow(log);
    let [edge, infinity, nan] = [1.0, f32::INFINITY, f32::NAN].map(|value| m.float(value));
    let is_finite = m.lt(x, infinity);
    let result = m.select(is_finite, result, x);
    let is_outside = m.lt(x, edge);
    m.select(is_outside, nan, result)
}

/// Inverse hyperbolic tangent.
pub fn atanh<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let wide = m.widen(magnitude);
    let one = m.double(1.0);
    let [less, more] = [m.double_sub(one, wide), m.double_add(one, wide)];
    let ratio = m.double_div(more, less);
    let log = double_log(m, ratio);
    let half = m.double(0.5);
    let large = m.double_mul(log, half);
    let result = odd(m, x, magnitude, 0.0625, &ATANH, large);
    let [edge, infinity, nan] = [1.0, f32::INFINITY, f32::NAN].map(|value| m.float(value));
    let limit = with_sign_of(m, infinity, x);
    let is_edge = m.eq(magnitude, edge);
    let result = m.select(is_edge, limit, result);
    let is_inside = m.lt(magnitude, edge);
    let is_defined = m.either(is_inside, is_edge);
    m.select(is_defined, result, nan)
}

/// `e^x` and `e^-x` for `x` that is not negative.
fn exponentials<M: Machine>(m: &mut M, x: M::Float) -> (M::Double, M::Double) {
    // From here on the results are infinite.
    let most = m.float(100.0);
    let is_large = m.lt(most, x);
    let x = m.select(is_large, most, x);
    let wide = m.widen(x);
    let grow = double_exp(m, wide);
    let one = m.double(1.0);
    let shrink = m.double_div(one, grow);
    (grow, shrink)
}

/// The value of an odd function: below `limit` that of its series, else `large`, with the sign of `x`.
fn odd<M: Machine>(
    m: &mut M,
    x: M::Float,
    magnitude: M::Float,
    limit: f32,
    series: &[f64],
    large: M::Double,
) -> M::Float {
    let wide = m.widen(magnitude);
    let square = m.double_mul(wide, wide);
    let small = double_polynomial(m, square, series);
    let small = m.double_mul(small, wide);
    let limit = m.float(limit);
    let is_small = m.lt(magnitude, limit);
    let result = m.double_select(is_small, small, large);
    let result = m.narrow(result);
    with_sign_of(m, result, x)
}
