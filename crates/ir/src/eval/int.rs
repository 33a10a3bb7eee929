//! Operations on integers and booleans.

use crate::{Const, Math, Trap};
use cotangent_base::Scalar;

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

/// Operations of one operand.
pub(super) fn unary(op: Math, scalar: Scalar, a: i64) -> Const {
    let bits = low(a, scalar);
    // For an index of a bit, counted from the low end; none is all ones.
    let or_none = |found: u64, index: u32| if found == 0 { -1 } else { i64::from(index) };
    let value = match op {
        Math::Neg => a.wrapping_neg(),
        Math::Abs if scalar.is_signed() => a.wrapping_abs(),
        Math::Abs => a,
        Math::Sign if scalar.is_signed() => a.signum(),
        Math::Sign => i64::from(a != 0),
        Math::Not => !a,
        Math::CountBits => i64::from(bits.count_ones()),
        Math::FirstBitLow => or_none(bits, bits.trailing_zeros()),
        Math::FirstBitHigh => {
            let negative = scalar.is_signed() && a < 0;
            let differs = if negative { low(!a, scalar) } else { bits };
            or_none(differs, 63u32.wrapping_sub(differs.leading_zeros()))
        }
        Math::ReverseBits => (bits.reverse_bits() >> (64 - scalar.bits())) as i64,
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
        | Math::Shl
        | Math::Shr
        | Math::Eq
        | Math::Ne
        | Math::Lt
        | Math::Le
        | Math::Gt
        | Math::Ge
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
        | Math::Pow
        | Math::Sin
        | Math::Cos
        | Math::Tan
        | Math::Asin
        | Math::Acos
        | Math::Atan
        | Math::Atan2
        | Math::Sinh
        | Math::Cosh
        | Math::Tanh
        | Math::Asinh
        | Math::Acosh
        | Math::Atanh => undefined(op),
    };
    Const::Int(wrap(value, scalar))
}

/// Operations of two operands.
pub(super) fn binary(op: Math, scalar: Scalar, a: i64, b: i64) -> Result<Const, Trap> {
    // Only a `u64` compares otherwise than the `i64` it is held in.
    let unsigned = scalar == Scalar::U64;
    let less = if unsigned { (a as u64) < b as u64 } else { a < b };
    let amount = (b as u64 % u64::from(scalar.bits())) as u32;
    let value = match op {
        Math::Eq => return Ok(Const::Bool(a == b)),
        Math::Ne => return Ok(Const::Bool(a != b)),
        Math::Lt => return Ok(Const::Bool(less)),
        Math::Le => return Ok(Const::Bool(less || a == b)),
        Math::Gt => return Ok(Const::Bool(!less && a != b)),
        Math::Ge => return Ok(Const::Bool(!less)),
        Math::Add => a.wrapping_add(b),
        Math::Sub => a.wrapping_sub(b),
        Math::Mul => a.wrapping_mul(b),
        Math::Div | Math::Rem if b == 0 => return Err(Trap::DivisionByZero),
        Math::Div if unsigned => (a as u64 / b as u64) as i64,
        Math::Div => a.wrapping_div(b),
        Math::Rem if unsigned => (a as u64 % b as u64) as i64,
        Math::Rem => a.wrapping_rem(b),
        Math::Min => {
            if less {
                a
            } else {
                b
            }
        }
        Math::Max => {
            if less {
                b
            } else {
                a
            }
        }
        Math::And => a & b,
        Math::Or => a | b,
        Math::Xor => a ^ b,
        Math::Shl => a << amount,
        Math::Shr if unsigned => (a as u64 >> amount) as i64,
        Math::Shr => a >> amount,
        Math::Neg
        | Math::Abs
        | Math::Sign
        | Math::Fma
        | Math::Not
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
        | Math::Pow
        | Math::Sin
        | Math::Cos
        | Math::Tan
        | Math::Asin
        | Math::Acos
        | Math::Atan
        | Math::Atan2
        | Math::Sinh
        | Math::Cosh
        | Math::Tanh
        | Math::Asinh
        | Math::Acosh
        | Math::Atanh => undefined(op),
    };
    Ok(Const::Int(wrap(value, scalar)))
}

/// `not` on a boolean.
pub(super) fn not_bool(op: Math, a: bool) -> Const {
    if op == Math::Not { Const::Bool(!a) } else { undefined(op) }
}

/// Logic and comparison of booleans; `false` is less than `true`.
pub(super) fn bools(op: Math, a: bool, b: bool) -> Const {
    Const::Bool(match op {
        Math::And => a & b,
        Math::Or => a | b,
        Math::Xor | Math::Ne => a != b,
        Math::Eq => a == b,
        Math::Lt => !a & b,
        Math::Le => a <= b,
        Math::Gt => a & !b,
        Math::Ge => a >= b,
        Math::Add
        | Math::Sub
        | Math::Mul
        | Math::Div
        | Math::Rem
        | Math::Neg
        | Math::Abs
        | Math::Sign
        | Math::Min
        | Math::Max
        | Math::Fma
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
        | Math::Pow
        | Math::Sin
        | Math::Cos
        | Math::Tan
        | Math::Asin
        | Math::Acos
        | Math::Atan
        | Math::Atan2
        | Math::Sinh
        | Math::Cosh
        | Math::Tanh
        | Math::Asinh
        | Math::Acosh
        | Math::Atanh => undefined(op),
    })
}

fn undefined(op: Math) -> ! {
    panic!("`{}` is not defined on these operands", op.name())
}
