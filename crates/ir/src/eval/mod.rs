//! The meaning of scalar operations, shared by constant folding and the interpreter.
//!
//! A scalar is held as a [`Const`], in one form only:
//! - an integer is its value, sign- or zero-extended to 64 bits as its type says (a `u64` is its bits);
//! - a float is a binary64, rounded to its type after every operation. For `+ - * /` and square roots, rounding the
//!   binary64 result once more gives exactly what the narrow type would; the other functions are computed to
//!   nearly full binary64 accuracy, so that their rounding is right almost always. A NaN that an operation makes is
//!   the one positive quiet NaN.
//!
//! In *wide* mode [`Eval`] does not round, so that a program can be evaluated in binary64 throughout, for finite
//! differences. Bit casts round first even then.
//!
//! Nothing here uses the host's mathematics library: results are the same everywhere.

mod convert;
mod float;
mod int;

use crate::{Const, Math, Trap};
use cotangent_base::Scalar;

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
        match *operands {
            [Const::Float(a)] => Ok(float::unary(self, op, scalar, f64::from_bits(a))),
            [Const::Float(a), Const::Float(b)] => {
                Ok(float::binary(self, op, scalar, f64::from_bits(a), f64::from_bits(b)))
            }
            [Const::Float(a), Const::Float(b), Const::Float(c)] => {
                let (a, b, c) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
                Ok(float::fma(self, scalar, a, b, c))
            }
            [Const::Int(a)] => Ok(int::unary(op, scalar, a)),
            [Const::Int(a), Const::Int(b)] => int::binary(op, scalar, a, b),
            [Const::Bool(a)] => Ok(int::not_bool(op, a)),
            [Const::Bool(a), Const::Bool(b)] => Ok(int::bools(op, a, b)),
            _ => panic!("`{}` is not defined on these operands", op.name()),
        }
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
