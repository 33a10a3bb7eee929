//! Evaluates conversions between scalar types, by value and by bits.

use super::{Eval, int, round};
use crate::Const;
use cotangent_base::Scalar;

impl Eval {
    /// `value`, a `from`, as a `to`: to integers towards zero and saturating, NaN to 0; between integers modulo the
    /// width; to floats the nearest; to booleans whether it is not 0.
    pub fn convert(self, value: Const, from: Scalar, to: Scalar) -> Const {
        match (value, to) {
            (Const::Bool(b), Scalar::Bool) => Const::Bool(b),
            (Const::Int(i), Scalar::Bool) => Const::Bool(i != 0),
            (Const::Float(bits), Scalar::Bool) => Const::Bool(f64::from_bits(bits) != 0.0),
            (Const::Bool(b), to) if to.is_float() => Const::float(f64::from(u8::from(b))),
            (Const::Int(i), to) if to.is_float() => self.int_to_float(i, from, to),
            (Const::Float(bits), to) if to.is_float() => self.float(f64::from_bits(bits), to),
            (Const::Bool(b), _) => Const::Int(b.into()),
            (Const::Int(i), to) => Const::Int(int::wrap(i, to)),
            (Const::Float(bits), to) => Const::Int(float_to_int(f64::from_bits(bits), to)),
        }
    }

    /// A 64-bit integer goes to binary32 in one step, for through binary64 it would be rounded twice.
    fn int_to_float(self, value: i64, from: Scalar, to: Scalar) -> Const {
        let narrow = to == Scalar::F32 && !self.wide;
        let float = match (from == Scalar::U64, narrow) {
            (true, true) => f64::from(value as u64 as f32),
            (true, false) => value as u64 as f64,
            (false, true) => f64::from(value as f32),
            (false, false) => value as f64,
        };
        self.float(float, to)
    }
}

/// Rust's casts saturate and send NaN to 0, as ours do.
fn float_to_int(value: f64, to: Scalar) -> i64 {
    match to {
        Scalar::I8 => (value as i8).into(),
        Scalar::I16 => (value as i16).into(),
        Scalar::I32 => (value as i32).into(),
        Scalar::U8 => (value as u8).into(),
        Scalar::U16 => (value as u16).into(),
        Scalar::U32 => (value as u32).into(),
        Scalar::U64 => value as u64 as i64,
        Scalar::I64 | Scalar::Bool | Scalar::F16 | Scalar::F32 | Scalar::F64 => value as i64,
    }
}

/// The layout of a binary interchange format: bits of exponent and of fraction.
const fn format(scalar: Scalar) -> Option<(u32, u32)> {
    match scalar {
        Scalar::F16 => Some((5, 10)),
        Scalar::F32 => Some((8, 23)),
        Scalar::Bool
        | Scalar::I8
        | Scalar::I16
        | Scalar::I32
        | Scalar::I64
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::U64
        | Scalar::F64 => None,
    }
}

/// The bits of a value of type `scalar`, in the low bits of the result.
///
/// Narrow floats are encoded by hand, so that a NaN keeps its sign and the high bits of its payload.
pub fn bits(value: Const, scalar: Scalar) -> u64 {
    let wide = match value {
        Const::Bool(b) => return b.into(),
        Const::Int(i) => return i as u64 & (u64::MAX >> (64 - scalar.bits())),
        Const::Float(bits) => bits,
    };
    let Some((exponent, fraction)) = format(scalar) else {
        return wide;
    };
    let sign = wide >> 63 << (exponent + fraction);
    let infinity = ((1 << exponent) - 1) << fraction;
    if f64::from_bits(wide).is_nan() {
        let payload = (wide & ((1 << 52) - 1)) >> (52 - fraction);
        return sign | infinity | if payload == 0 { 1 << (fraction - 1) } else { payload };
    }
    let magnitude = round(f64::from_bits(wide), scalar).abs();
    if magnitude.is_infinite() {
        return sign | infinity;
    }
    // Below the smallest normal number the exponent field is 0 and counts as 1.
    let bias = (1 << (exponent - 1)) - 1;
    let field = ((magnitude.to_bits() >> 52) as i32 - 1023 + bias).max(0);
    let step = libm::scalbn(1.0, field.max(1) - bias - fraction as i32);
    let significand = (magnitude / step) as u64;
    sign | (field.max(0) as u64) << fraction | significand & ((1 << fraction) - 1)
}

/// The value of type `scalar` with these bits.
pub fn from_bits(bits: u64, scalar: Scalar) -> Const {
    match format(scalar) {
        Some((exponent, fraction)) => Const::Float(widen(bits, exponent, fraction)),
        None if scalar == Scalar::Bool => Const::Bool(bits & 1 == 1),
        None if scalar.is_float() => Const::Float(bits),
        None => Const::Int(int::wrap(bits as i64, scalar)),
    }
}

/// The binary64 that equals a narrow float.
fn widen(bits: u64, exponent: u32, fraction: u32) -> u64 {
    let sign = (bits >> (exponent + fraction) & 1) << 63;
    let field = (bits >> fraction) & ((1 << exponent) - 1);
    let significand = bits & ((1 << fraction) - 1);
    if field == (1 << exponent) - 1 {
        return sign | 0x7ff << 52 | significand << (52 - fraction);
    }
    let bias = (1 << (exponent - 1)) - 1;
    let hidden = if field == 0 { 0 } else { 1 << fraction };
    let power = (field as i32).max(1) - bias - fraction as i32;
    sign | libm::scalbn((significand | hidden) as f64, power).to_bits()
}
