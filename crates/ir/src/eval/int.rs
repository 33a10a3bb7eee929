//! Evaluates operations on integers in 64 bits; [`wrap`] reduces the result to the width of the type.

use cotangent_base::Scalar;
use std::cmp::Ordering;

/// `value` reduced to the width of its type, in the form in which it is held.
pub(super) const fn wrap(value: i64, scalar: Scalar) -> i64 {
    match scalar {
        Scalar::I8 => value as i8 as i64,
        Scalar::I16 => value as i16 as i64,
        Scalar::I32 => value as i32 as i64,
        Scalar::U8 => value as u8 as i64,
        Scalar::U16 => value as u16 as i64,
        Scalar::U32 => value as u32 as i64,
        Scalar::I64 | Scalar::U64 | Scalar::Bool | Scalar::F16 | Scalar::F32 | Scalar::F64 => value,
    }
}

/// The bits of a value, those above its width zero.
const fn low(value: i64, scalar: Scalar) -> u64 {
    value as u64 & (u64::MAX >> (64 - scalar.bits()))
}

/// Only a `u64` divides and compares otherwise than the `i64` in which it is held.
fn is_wide_unsigned(scalar: Scalar) -> bool {
    scalar == Scalar::U64
}

pub(super) fn order(scalar: Scalar, a: i64, b: i64) -> Ordering {
    if is_wide_unsigned(scalar) { (a as u64).cmp(&(b as u64)) } else { a.cmp(&b) }
}

/// The divisor is not zero.
pub(super) fn div(scalar: Scalar, a: i64, b: i64) -> i64 {
    if is_wide_unsigned(scalar) { (a as u64 / b as u64) as i64 } else { a.wrapping_div(b) }
}

/// The divisor is not zero.
pub(super) fn rem(scalar: Scalar, a: i64, b: i64) -> i64 {
    if is_wide_unsigned(scalar) { (a as u64 % b as u64) as i64 } else { a.wrapping_rem(b) }
}

pub(super) fn abs(scalar: Scalar, a: i64) -> i64 {
    if scalar.is_signed() { a.wrapping_abs() } else { a }
}

pub(super) fn sign(scalar: Scalar, a: i64) -> i64 {
    if scalar.is_signed() { a.signum() } else { i64::from(a != 0) }
}

pub(super) fn min(scalar: Scalar, a: i64, b: i64) -> i64 {
    if order(scalar, a, b).is_lt() { a } else { b }
}

pub(super) fn max(scalar: Scalar, a: i64, b: i64) -> i64 {
    if order(scalar, a, b).is_lt() { b } else { a }
}

/// How far to shift: modulo the width.
fn amount(scalar: Scalar, b: i64) -> u32 {
    (b as u64 % u64::from(scalar.bits())) as u32
}

pub(super) fn shl(scalar: Scalar, a: i64, b: i64) -> i64 {
    a << amount(scalar, b)
}

pub(super) fn shr(scalar: Scalar, a: i64, b: i64) -> i64 {
    let amount = amount(scalar, b);
    if is_wide_unsigned(scalar) { (a as u64 >> amount) as i64 } else { a >> amount }
}

pub(super) fn count_bits(scalar: Scalar, a: i64) -> i64 {
    i64::from(low(a, scalar).count_ones())
}

pub(super) fn first_bit_low(scalar: Scalar, a: i64) -> i64 {
    let bits = low(a, scalar);
    if bits == 0 { -1 } else { bits.trailing_zeros().into() }
}

pub(super) fn first_bit_high(scalar: Scalar, a: i64) -> i64 {
    let negative = scalar.is_signed() && a < 0;
    let differs = low(if negative { !a } else { a }, scalar);
    if differs == 0 { -1 } else { differs.ilog2().into() }
}

pub(super) fn reverse_bits(scalar: Scalar, a: i64) -> i64 {
    (low(a, scalar).reverse_bits() >> (64 - scalar.bits())) as i64
}
