//! Decodes the operands of a scalar operation by type.
//!
//! Each method handles one kind of operation. It returns the encoded result, or nothing if the operands have another type or
//! number.

use super::{Eval, float, int};
use crate::Const;
use cotangent_base::Scalar;
use cotangent_maths::Scalar as Machine;
use std::cmp::Ordering;

/// Operands of type `scalar`.
pub(super) struct Operands<'a> {
    pub eval: Eval,
    pub scalar: Scalar,
    pub values: &'a [Const],
}

impl Operands<'_> {
    fn int(&self, value: i64) -> Const {
        Const::Int(int::wrap(value, self.scalar))
    }

    /// One float.
    pub fn float1(&self, f: impl Fn(f64) -> f64) -> Option<Const> {
        let [Const::Float(a)] = *self.values else { return None };
        Some(self.eval.float(f(f64::from_bits(a)), self.scalar))
    }

    /// Two floats.
    pub fn float2(&self, f: impl Fn(f64, f64) -> f64) -> Option<Const> {
        let [Const::Float(a), Const::Float(b)] = *self.values else { return None };
        Some(self.eval.float(f(f64::from_bits(a), f64::from_bits(b)), self.scalar))
    }

    /// An elementary function of a float: as defined in binary32, and in binary64.
    pub fn function1(&self, narrow: fn(&mut Machine, f32) -> f32, wide: fn(f64) -> f64) -> Option<Const> {
        match self.is_narrow() {
            true => self.float1(|a| narrow(&mut Machine, a as f32).into()),
            false => self.float1(wide),
        }
    }

    /// The same of two floats.
    pub fn function2(
        &self,
        narrow: fn(&mut Machine, f32, f32) -> f32,
        wide: fn(f64, f64) -> f64,
    ) -> Option<Const> {
        match self.is_narrow() {
            true => self.float2(|a, b| narrow(&mut Machine, a as f32, b as f32).into()),
            false => self.float2(wide),
        }
    }

    /// Whether floats have at most the bits of a binary32.
    fn is_narrow(&self) -> bool {
        !self.eval.wide && self.scalar != Scalar::F64
    }

    /// A product and a sum of floats.
    pub fn fma(&self) -> Option<Const> {
        let [Const::Float(a), Const::Float(b), Const::Float(c)] = *self.values else { return None };
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        Some(float::fma(self.eval, self.scalar, a, b, c))
    }

    /// A question about a float.
    pub fn test(&self, f: impl Fn(f64) -> bool) -> Option<Const> {
        let [Const::Float(a)] = *self.values else { return None };
        Some(Const::Bool(f(f64::from_bits(a))))
    }

    /// One integer, in 64 bits.
    pub fn int1(&self, f: impl Fn(Scalar, i64) -> i64) -> Option<Const> {
        let [Const::Int(a)] = *self.values else { return None };
        Some(self.int(f(self.scalar, a)))
    }

    /// Two integers, in 64 bits.
    pub fn int2(&self, f: impl Fn(Scalar, i64, i64) -> i64) -> Option<Const> {
        let [Const::Int(a), Const::Int(b)] = *self.values else { return None };
        Some(self.int(f(self.scalar, a, b)))
    }

    /// One number of either kind.
    pub fn number1(&self, f: impl Fn(f64) -> f64, g: impl Fn(Scalar, i64) -> i64) -> Option<Const> {
        self.float1(f).or_else(|| self.int1(g))
    }

    /// Two numbers of either kind.
    pub fn number2(&self, f: impl Fn(f64, f64) -> f64, g: impl Fn(Scalar, i64, i64) -> i64) -> Option<Const> {
        self.float2(f).or_else(|| self.int2(g))
    }

    /// Whether this would be a division of integers by zero.
    pub fn divides_by_zero(&self) -> bool {
        matches!(self.values, [_, Const::Int(0)])
    }

    /// Two booleans, or the bits of two integers.
    pub fn bits2(&self, f: impl Fn(bool, bool) -> bool, g: impl Fn(i64, i64) -> i64) -> Option<Const> {
        match *self.values {
            [Const::Bool(a), Const::Bool(b)] => Some(Const::Bool(f(a, b))),
            [Const::Int(a), Const::Int(b)] => Some(self.int(g(a, b))),
            _ => None,
        }
    }

    /// The complement of a boolean or of the bits of an integer.
    pub fn not(&self) -> Option<Const> {
        match *self.values {
            [Const::Bool(a)] => Some(Const::Bool(!a)),
            [Const::Int(a)] => Some(self.int(!a)),
            _ => None,
        }
    }

    /// A question about the order of two scalars; a NaN has none. `false` is less than `true`.
    pub fn compare(&self, holds: impl Fn(Option<Ordering>) -> bool) -> Option<Const> {
        let order = match *self.values {
            [Const::Float(a), Const::Float(b)] => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
            [Const::Int(a), Const::Int(b)] => Some(int::order(self.scalar, a, b)),
            [Const::Bool(a), Const::Bool(b)] => Some(a.cmp(&b)),
            _ => return None,
        };
        Some(Const::Bool(holds(order)))
    }
}
