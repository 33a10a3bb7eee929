//! The meaning of scalar operations, shared by constant folding and the interpreter.
//!
//! A scalar is held as a [`Const`], in one form only:
//! - an integer is its value, sign- or zero-extended to 64 bits as its type says (a `u64` is its bits);
//! - a float is a binary64, rounded to its type after every operation. For `+ - * /` and square roots, rounding the
//!   binary64 result once more gives exactly what the narrow type would. Elementary functions of half and float are those of
//!   [`cotangent_maths`], computed in binary32, as native code computes them; a half result is then rounded. A NaN that an
//!   operation makes is the one positive quiet NaN.
//!
//! In *wide* mode [`Eval`] does not round, so that a program can be evaluated in binary64 throughout, for finite
//! differences. Bit casts round first even then.
//!
//! Nothing here uses the host's mathematics library: results are the same everywhere.

mod convert;
mod float;
mod int;
mod operands;

use crate::{Const, Math, Trap};
use cotangent_base::Scalar;
use cotangent_maths as maths;
use operands::Operands;
use std::cmp::Ordering;

pub use convert::{bits, from_bits};
pub use float::round;

/// How to evaluate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Eval {
    /// Whether half and float are evaluated in binary64.
    pub wide: bool,
}

impl Eval {
    /// An element-wise operation on scalars of one type.
    ///
    /// # Panics
    /// If the operands are not [`Math::arity`] values of type `scalar` or the operation is not defined on it; the
    /// verifier refuses such instructions.
    pub fn math(self, op: Math, scalar: Scalar, operands: &[Const]) -> Result<Const, Trap> {
        let x = Operands { eval: self, scalar, values: operands };
        let value = match op {
            Math::Add => x.number2(|a, b| a + b, |_, a, b| a.wrapping_add(b)),
            Math::Sub => x.number2(|a, b| a - b, |_, a, b| a.wrapping_sub(b)),
            Math::Mul => x.number2(|a, b| a * b, |_, a, b| a.wrapping_mul(b)),
            Math::Div | Math::Rem if x.divides_by_zero() => return Err(Trap::DivisionByZero),
            Math::Div => x.number2(|a, b| a / b, int::div),
            Math::Rem => x.number2(libm::fmod, int::rem),
            Math::Neg => x.number1(|a| -a, |_, a| a.wrapping_neg()),
            Math::Abs => x.number1(f64::abs, int::abs),
            Math::Sign => x.number1(float::sign, int::sign),
            Math::Min => x.number2(float::min, int::min),
            Math::Max => x.number2(float::max, int::max),
            Math::Fma => x.fma(),
            Math::And => x.bits2(|a, b| a & b, |a, b| a & b),
            Math::Or => x.bits2(|a, b| a | b, |a, b| a | b),
            Math::Xor => x.bits2(|a, b| a ^ b, |a, b| a ^ b),
            Math::Not => x.not(),
            Math::Shl => x.int2(int::shl),
            Math::Shr => x.int2(int::shr),
            Math::CountBits => x.int1(int::count_bits),
            Math::FirstBitLow => x.int1(int::first_bit_low),
            Math::FirstBitHigh => x.int1(int::first_bit_high),
            Math::ReverseBits => x.int1(int::reverse_bits),
            Math::Eq => x.compare(|order| order == Some(Ordering::Equal)),
            Math::Ne => x.compare(|order| order != Some(Ordering::Equal)),
            Math::Lt => x.compare(|order| order.is_some_and(Ordering::is_lt)),
            Math::Le => x.compare(|order| order.is_some_and(Ordering::is_le)),
            Math::Gt => x.compare(|order| order.is_some_and(Ordering::is_gt)),
            Math::Ge => x.compare(|order| order.is_some_and(Ordering::is_ge)),
            Math::IsNan => x.test(f64::is_nan),
            Math::IsInf => x.test(f64::is_infinite),
            Math::Floor => x.float1(libm::floor),
            Math::Ceil => x.float1(libm::ceil),
            Math::Round => x.float1(libm::round),
            Math::RoundEven => x.float1(libm::rint),
            Math::Trunc => x.float1(libm::trunc),
            Math::Sqrt => x.float1(libm::sqrt),
            Math::Rsqrt => x.float1(|a| 1.0 / libm::sqrt(a)),
            Math::Exp => x.function1(maths::exp, libm::exp),
            Math::Exp2 => x.function1(maths::exp2, libm::exp2),
            Math::Log => x.function1(maths::log, libm::log),
            Math::Log2 => x.function1(maths::log2, libm::log2),
            Math::Log10 => x.function1(maths::log10, libm::log10),
            Math::Pow => x.function2(maths::pow, libm::pow),
            Math::Sin => x.function1(maths::sin, libm::sin),
            Math::Cos => x.function1(maths::cos, libm::cos),
            Math::Tan => x.function1(maths::tan, libm::tan),
            Math::Asin => x.function1(maths::asin, libm::asin),
            Math::Acos => x.function1(maths::acos, libm::acos),
            Math::Atan => x.function1(maths::atan, libm::atan),
            Math::Atan2 => x.function2(maths::atan2, libm::atan2),
            Math::Sinh => x.function1(maths::sinh, libm::sinh),
            Math::Cosh => x.function1(maths::cosh, libm::cosh),
            Math::Tanh => x.function1(maths::tanh, libm::tanh),
            Math::Asinh => x.function1(maths::asinh, libm::asinh),
            Math::Acosh => x.function1(maths::acosh, float::acosh),
            Math::Atanh => x.function1(maths::atanh, libm::atanh),
        };
        Ok(value.unwrap_or_else(|| panic!("`{}` is not defined on these operands", op.name())))
    }

    /// `a + b`, for what is added part by part.
    pub fn add(self, scalar: Scalar, a: Const, b: Const) -> Const {
        self.math(Math::Add, scalar, &[a, b]).expect("a sum does not trap")
    }

    /// `a * b`, for products of vectors and matrices.
    pub fn mul(self, scalar: Scalar, a: Const, b: Const) -> Const {
        self.math(Math::Mul, scalar, &[a, b]).expect("a product does not trap")
    }

    /// A constant in the one form in which values of its type are held.
    pub fn constant(self, value: Const, scalar: Scalar) -> Const {
        match value {
            Const::Bool(b) => Const::Bool(b),
            Const::Int(i) => Const::Int(int::wrap(i, scalar)),
            Const::Float(bits) if self.wide || f64::from_bits(bits).is_nan() => Const::Float(bits),
            Const::Float(bits) => Const::float(round(f64::from_bits(bits), scalar)),
        }
    }

    /// A float result in the form in which it is held.
    fn float(self, value: f64, scalar: Scalar) -> Const {
        if value.is_nan() {
            return Const::float(f64::NAN);
        }
        Const::float(if self.wide { value } else { round(value, scalar) })
    }
}

/// Zero, or `false`.
pub const fn zero(scalar: Scalar) -> Const {
    match scalar {
        Scalar::Bool => Const::Bool(false),
        Scalar::F16 | Scalar::F32 | Scalar::F64 => Const::float(0.0),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => Const::Int(0),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => Const::Int(0),
    }
}

/// The place an index stands for, if it is one of `len` places.
pub fn index(value: Const, len: usize) -> Option<usize> {
    match value {
        Const::Int(i) => usize::try_from(i).ok().filter(|i| *i < len),
        Const::Bool(_) | Const::Float(_) => None,
    }
}
