//! Reads, replaces and adds to parts of aggregates, in place if the aggregate has one owner.

use crate::decode::Level;
use crate::stop::Outside;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::{Const, Step, Trap, Ty, Type, Types, eval};
use smallvec::SmallVec;
use std::sync::Arc;

/// The way to a part, all indices known.
pub(crate) type Positions = SmallVec<[usize; 4]>;

/// The scalars of a number, row by row.
pub(crate) type Numbers = SmallVec<[Const; 4]>;

impl Machine<'_> {
    /// The scalar a value is; zero, and a mark in the book, if nobody may look at it.
    pub(crate) fn scalar(&mut self, value: &Val, scalar: Scalar) -> Const {
        match value {
            Val::Scalar(value) => *value,
            Val::Undef => {
                self.counters.undef_reads += 1;
                eval::zero(scalar)
            }
            Val::Unit | Val::Aggregate(_) | Val::Handle(_) | Val::Pointer(_) | Val::Null => {
                unreachable!("the verifier checked the type")
            }
        }
    }

    /// Looks up the indices of a path into an aggregate; `len` is that of the buffer, if it leads into one.
    pub(crate) fn positions(
        &mut self,
        levels: &[Level],
        indices: &[Val],
        len: usize,
    ) -> Result<Positions, Trap> {
        let mut indices = indices.iter();
        let position = |level: &Level| {
            let arity = level.arity.map_or(len, |n| n as usize);
            let index = match level.step {
                Step::Part(part) => Const::Int(part.into()),
                Step::Index => self.scalar(indices.next().expect("the verifier counted"), Scalar::I32),
            };
            eval::index(index, arity).ok_or_else(|| {
                let index = if let Const::Int(index) = index { index } else { 0 };
                self.outside = Some(Outside { index, len: arity });
                Trap::OutOfBounds
            })
        };
        levels.iter().map(position).collect()
    }

    /// How many bytes lie before the part that a path leads to; `len` is the number of elements of the buffer, if it leads into
    /// one.
    pub(crate) fn bytes_to(&mut self, levels: &[Level], indices: &[Val], len: usize) -> Result<usize, Trap> {
        let (mut offset, mut indices) = (0, indices.iter());
        for level in levels {
            let arity = level.arity.map_or(len, |n| n as usize);
            if let Step::Part(part) = level.step {
                if part as usize >= arity {
                    return Err(self.out_of_bounds(part.into(), arity));
                }
                offset += level.bytes;
                continue;
            }
            let index = self.scalar(indices.next().expect("the verifier counted"), Scalar::I32);
            let Some(position) = eval::index(index, arity) else {
                let index = if let Const::Int(index) = index { index } else { 0 };
                return Err(self.out_of_bounds(index, arity));
            };
            offset += position * level.bytes;
        }
        Ok(offset)
    }

    /// The place of a part, its aggregates made this value's own.
    pub(crate) fn place<'v>(
        &mut self,
        mut value: &'v mut Val,
        levels: &[Level],
        at: &[usize],
    ) -> &'v mut Val {
        for (level, &position) in levels.iter().zip(at) {
            let arity = level.arity.unwrap_or(0) as usize;
            value = &mut self.own(value, arity, level.array)[position];
        }
        value
    }

    /// The parts of an aggregate, copied if somebody else has them too.
    pub(crate) fn own<'v>(&mut self, value: &'v mut Val, arity: usize, array: bool) -> &'v mut [Val] {
        if matches!(value, Val::Undef) {
            *value = Val::aggregate(vec![Val::Undef; arity]);
        }
        let Val::Aggregate(parts) = value else { unreachable!("the verifier checked the type") };
        if Arc::get_mut(parts).is_none() {
            self.counters.elements += if array { parts.len() as u64 } else { 0 };
            *parts = parts.iter().cloned().collect();
        }
        Arc::get_mut(parts).expect("it is its own now")
    }

    /// Adds `b` to `a`, part by part.
    pub(crate) fn add(&mut self, ty: Ty, a: &mut Val, b: &Val) {
        if matches!(b, Val::Undef) {
            self.counters.undef_reads += 1;
            return;
        }
        let types = &self.module.types;
        match types.get(ty) {
            Type::Unit => {}
            Type::Scalar(s) => {
                let (x, y) = (self.scalar(a, s), self.scalar(b, s));
                *a = Val::Scalar(self.eval.add(s, x, y));
            }
            Type::Vector(s, _) | Type::Matrix(s, ..) => {
                let shape = types.get(ty);
                let (x, y) = (self.numbers(a, shape), self.numbers(b, shape));
                let sums: Numbers = x.iter().zip(&y).map(|(x, y)| self.eval.add(s, *x, *y)).collect();
                *a = build(shape, &sums);
            }
            Type::Array(elem, n) => {
                if !matches!(types.get(elem), Type::Array(..)) {
                    self.counters.elements += u64::from(n);
                }
                for i in 0..n as usize {
                    let part = &mut self.own(a, n as usize, true)[i];
                    let mut sum = std::mem::take(part);
                    self.add(elem, &mut sum, b.part(i));
                    self.own(a, n as usize, true)[i] = sum;
                }
            }
            Type::Struct(id) => {
                let fields = &types.struct_def(id).fields;
                for (i, field) in fields.iter().enumerate() {
                    let mut sum = std::mem::take(&mut self.own(a, fields.len(), false)[i]);
                    self.add(field.ty, &mut sum, b.part(i));
                    self.own(a, fields.len(), false)[i] = sum;
                }
            }
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
                unreachable!("the verifier checked the type")
            }
        }
    }

    /// All scalars of a number, row by row.
    pub(crate) fn numbers(&mut self, value: &Val, shape: Type) -> Numbers {
        match shape {
            Type::Scalar(s) => SmallVec::from_slice(&[self.scalar(value, s)]),
            Type::Vector(s, n) => (0..n.into()).map(|i| self.scalar(value.part(i), s)).collect(),
            Type::Matrix(s, r, c) => {
                let place = |i: u8| (usize::from(i / c), usize::from(i % c));
                (0..r * c).map(place).map(|(row, lane)| self.scalar(value.part(row).part(lane), s)).collect()
            }
            Type::Unit
            | Type::Array(..)
            | Type::Struct(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => {
                unreachable!("the verifier checked the type")
            }
        }
    }
}

/// A number of these scalars, row by row.
pub(crate) fn build(shape: Type, scalars: &[Const]) -> Val {
    let vector = |scalars: &[Const]| Val::aggregate(scalars.iter().map(|s| Val::Scalar(*s)));
    match shape {
        Type::Scalar(_) => Val::Scalar(scalars[0]),
        Type::Vector(..) => vector(scalars),
        Type::Matrix(_, _, columns) => Val::aggregate(scalars.chunks(columns.into()).map(vector)),
        Type::Unit
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => {
            unreachable!("the verifier checked the type")
        }
    }
}

/// How many array elements a value of a type has, at the innermost level.
pub(crate) fn array_elements(types: &Types, ty: Ty) -> u64 {
    match types.get(ty) {
        Type::Array(elem, n) => u64::from(n).saturating_mul(array_elements(types, elem).max(1)),
        Type::Struct(id) => {
            let fields = types.struct_def(id).fields.iter();
            fields.map(|f| array_elements(types, f.ty)).fold(0, u64::saturating_add)
        }
        Type::Sum(id) => {
            let members = types.struct_def(id).fields.iter();
            members.map(|f| array_elements(types, f.ty)).max().unwrap_or(0)
        }
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => 0,
    }
}
