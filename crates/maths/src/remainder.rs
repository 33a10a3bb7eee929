//! The remainder of a division.

use crate::{Machine, Rare, abs, double_nearest, with_sign_of};

/// `x - n y` for the integer `n` that is `x / y` without its fraction. It is exact, and has the sign of `x`.
///
/// With the nearest integer `n`, the product and the difference are exact in binary64 as long as `n` has at most 29 bits. The
/// difference may be negative; `y` is then added once.
pub fn rem<M: Machine>(m: &mut M, x: M::Float, y: M::Float) -> M::Float {
    let [up, down] = [abs(m, x), abs(m, y)];
    let [over, under] = [m.widen(up), m.widen(down)];
    let quotient = m.double_div(over, under);
    let (n, _) = double_nearest(m, quotient);
    let product = m.double_mul(n, under);
    let rest = m.double_sub(over, product);
    let corrected = m.double_add(rest, under);
    let [rest, corrected] = [m.narrow(rest), m.narrow(corrected)];
    let zero = m.float(0.0);
    let is_negative = m.lt(rest, zero);
    let rest = m.select(is_negative, corrected, rest);
    let rest = abs(m, rest);
    let usual = with_sign_of(m, rest, x);

    // More than 2^28 times, by zero, of an infinity or by one, or with NaN: all of these are not less.
    let [limit, infinity] = [m.float(268_435_456.0), m.float(f32::INFINITY)];
    let most = m.mul(down, limit);
    let is_few = m.lt(up, most);
    let is_finite = m.lt(down, infinity);
    let is_usual = m.both(is_few, is_finite);
    m.or_rare(is_usual, usual, Rare::Rem, x, y)
}
