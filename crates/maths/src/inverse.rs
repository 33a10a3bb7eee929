//! Inverse sine, cosine and tangent. Each is computed as the angle of a point.

use crate::{Machine, abs, double_polynomial, with_sign_of};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `(atan(t) - t) / t^3` as a polynomial in `t^2`, for `t` up to the tangent of pi / 8; the error of the angle is 2^-49.
const ATAN: [f64; 9] = [
    -0.333_333_333_332_611_56,
    0.199_999_999_828_773_87,
    -0.142_857_128_848_584_48,
    0.111_110_547_654_811_65,
    -0.090_896_209_112_906_5,
    0.076_743_745_479_967_97,
    -0.065_105_569_040_007_67,
    0.050_383_363_428_360_18,
    -0.025_485_509_105_675_34,
];

/// Inverse tangent.
pub fn atan<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let one = m.float(1.0);
    atan2(m, x, one)
}

/// The angle of the point (`x`, `y`).
pub fn atan2<M: Machine>(m: &mut M, y: M::Float, x: M::Float) -> M::Float {
    let [up, across] = [abs(m, y), abs(m, x)];
    let [wide_up, wide_across] = [m.widen(up), m.widen(across)];
    let angle = first_quadrant(m, wide_up, wide_across);
    let angle = toward(m, angle, x);
    let result = m.narrow(angle);
    let result = with_sign_of(m, result, y);
    let [x_is_number, y_is_number] = [m.eq(x, x), m.eq(y, y)];
    let result = m.select(x_is_number, result, x);
    m.select(y_is_number, result, y)
}

/// Inverse sine.
pub fn asin<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let up = m.widen(magnitude);
    let across = other_leg(m, up);
    let angle = first_quadrant(m, up, across);
    let result = m.narrow(angle);
    let result = with_sign_of(m, result, x);
    within_one(m, magnitude, result)
}

/// Inverse cosine.
pub fn acos<M: Machine>(m: &mut M, x: M::Float) -> M::Float {
    let magnitude = abs(m, x);
    let across = m.widen(magnitude);
    let up = other_leg(m, across);
    let angle = first_quadrant(m, up, across);
    let angle = toward(m, angle, x);
    let result = m.narrow(angle);
    within_one(m, magnitude, result)
}

/// The other leg of a right triangle with hypotenuse 1.
fn other_leg<M: Machine>(m: &mut M, leg: M::Double) -> M::Double {
    let one = m.double(1.0);
    let [less, more] = [m.double_sub(one, leg), m.double_add(one, leg)];
    let product = m.double_mul(less, more);
    m.double_sqrt(product)
}

/// NaN unless `magnitude <= 1`.
fn within_one<M: Machine>(m: &mut M, magnitude: M::Float, result: M::Float) -> M::Float {
    let [one, nan] = [m.float(1.0), m.float(f32::NAN)];
    let is_inside = m.lt(magnitude, one);
    let is_edge = m.eq(magnitude, one);
    let is_defined = m.either(is_inside, is_edge);
    m.select(is_defined, result, nan)
}

/// The angle mirrored if `x` has a minus sign.
fn toward<M: Machine>(m: &mut M, angle: M::Double, x: M::Float) -> M::Double {
    let bits = m.bits(x);
    let sign = m.int_shr(bits, 31);
    let all = m.int(-1);
    let is_negative = m.int_eq(sign, all);
    let half = m.double(PI);
    let mirrored = m.double_sub(half, angle);
    m.double_select(is_negative, mirrored, angle)
}

/// The angle of a point of the first quadrant. Where both are 0, it is 0; where both are infinite, pi / 4.
fn first_quadrant<M: Machine>(m: &mut M, up: M::Double, across: M::Double) -> M::Double {
    // Mirrored at the diagonal, so that the slope is at most 1.
    let [rough_up, rough_across] = [m.narrow(up), m.narrow(across)];
    let is_steep = m.lt(rough_across, rough_up);
    let over = m.double_select(is_steep, across, up);
    let under = m.double_select(is_steep, up, across);
    let rough_over = m.select(is_steep, rough_across, rough_up);
    let rough_under = m.select(is_steep, rough_up, rough_across);

    let [zero, infinity] = [m.float(0.0), m.float(f32::INFINITY)];
    let one = m.double(1.0);
    let is_origin = m.eq(rough_under, zero);
    let under = m.double_select(is_origin, one, under);
    let are_infinite = m.eq(rough_over, infinity);
    let over = m.double_select(are_infinite, one, over);
    let under = m.double_select(are_infinite, one, under);

    // Slopes above the tangent of pi / 8 are turned by pi / 4.
    let limit = m.float(0.414_213_57);
    let limit = m.mul(rough_under, limit);
    let is_middle = m.lt(limit, rough_over);
    let is_middle = m.either(is_middle, are_infinite);
    let [less, more] = [m.double_sub(over, under), m.double_add(over, under)];
    let over = m.double_select(is_middle, less, over);
    let under = m.double_select(is_middle, more, under);
    let [eighth, none] = [m.double(FRAC_PI_4), m.double(0.0)];
    let turn = m.double_select(is_middle, eighth, none);

    let t = m.double_div(over, under);
    let square = m.double_mul(t, t);
    let tail = double_polynomial(m, square, &ATAN);
    let tail = m.double_mul(tail, square);
    let tail = m.double_mul(tail, t);
    let angle = m.double_add(tail, t);
    let angle = m.double_add(angle, turn);
    let quarter = m.double(FRAC_PI_2);
    let mirrored = m.double_sub(quarter, angle);
    m.double_select(is_steep, mirrored, angle)
}
