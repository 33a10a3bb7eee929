//! The table of cotangents, and the accumulation of contributions.
//!
//! Contributions to fields, components and rows with constant indices are collected in a tree. One `pack` builds the value
//! when it is needed. So `v.x + v.y + v.z` makes one vector and no zero-filled ones:
//!
//! ```text
//! forward  a = extract v [0]; b = extract v [1]; c = extract v [2]
//! reverse  v_ct = pack a_ct b_ct c_ct
//! ```
//!
//! A contribution at a dynamic index is one `insert_add` into the whole value.

use super::Transposer;
use super::reach::is_wanted;
use crate::tangent;
use cotangent_base::Map;
use cotangent_ir::{Math, Op, Path, Step, Ty, Type, Value, ValueDef};
use std::collections::BTreeMap;

/// The longest array whose parts are held apart. Longer ones are updated in place.
const LONGEST_ARRAY_IN_PARTS: u32 = 4;

/// A cotangent.
#[derive(Clone, Debug)]
pub enum Cotangent {
    /// A value.
    Whole(Value),
    /// Some parts of an aggregate of that type; the others are zero.
    Parts(Ty, BTreeMap<u32, Cotangent>),
}

/// The cotangents found so far. What is absent is zero.
#[derive(Clone, Default, Debug)]
pub struct Cotangents {
    table: Map<Value, Cotangent>,
}

impl Cotangents {
    /// Whether `value` has a cotangent.
    pub fn has(&self, value: Value) -> bool {
        self.table.contains_key(&value)
    }

    /// From now on the cotangent of `value` is `cotangent`.
    pub fn set(&mut self, value: Value, cotangent: Value) {
        self.table.insert(value, Cotangent::Whole(cotangent));
    }

    /// Takes the cotangent of `value` out.
    pub fn take(&mut self, value: Value) -> Option<Cotangent> {
        self.table.remove(&value)
    }
}

impl Transposer<'_, '_> {
    /// Whether contributions to `value` go anywhere: a zero's cotangent is dropped.
    pub(super) fn wants(&self, value: Value) -> bool {
        is_wanted(self.cx, self.source, value)
    }

    /// Adds a value to the cotangent of `to`.
    pub(super) fn add(&mut self, to: Value, cotangent: Value) {
        self.add_part(to, &Path::default(), &[], Cotangent::Whole(cotangent));
    }

    /// Adds to the cotangent of `to`.
    pub(super) fn add_cotangent(&mut self, to: Value, cotangent: Cotangent) {
        self.add_part(to, &Path::default(), &[], cotangent);
    }

    /// Adds to the part at `path` of the cotangent of `to`. Indices are values of the new function.
    pub(super) fn add_part(&mut self, to: Value, path: &Path, indices: &[Value], cotangent: Cotangent) {
        if !self.wants(to) {
            return;
        }
        let old = self.cotangents.take(to);
        let ty = self.func().ty(to);
        let new = self.put(old, ty, &path.0, indices, cotangent);
        self.cotangents.table.insert(to, new);
    }

    fn put(
        &mut self,
        old: Option<Cotangent>,
        ty: Ty,
        path: &[Step],
        indices: &[Value],
        new: Cotangent,
    ) -> Cotangent {
        let Some((first, rest)) = path.split_first() else {
            return match old {
                None => new,
                Some(old) => self.join(old, new),
            };
        };
        match (old, *first) {
            (None, Step::Part(i)) if self.is_held_in_parts(ty) => {
                let inner = self.part_type(ty, i);
                let part = self.put(None, inner, rest, indices, new);
                Cotangent::Parts(ty, BTreeMap::from([(i, part)]))
            }
            (Some(Cotangent::Parts(ty, mut parts)), Step::Part(i)) => {
                let old = parts.remove(&i);
                let inner = self.part_type(ty, i);
                let part = self.put(old, inner, rest, indices, new);
                parts.insert(i, part);
                Cotangent::Parts(ty, parts)
            }
            (old, _) => {
                let whole = match old {
                    Some(old) => self.value(old),
                    None => self.zero(ty),
                };
                let new = self.value(new);
                Cotangent::Whole(self.insert_add(whole, new, Path(path.into()), indices))
            }
        }
    }

    fn is_held_in_parts(&self, ty: Ty) -> bool {
        let module = &self.cx.module;
        match module.types.get(ty) {
            Type::Vector(..) | Type::Matrix(..) => true,
            Type::Array(_, n) => {
                n <= LONGEST_ARRAY_IN_PARTS && tangent::is_plain(&module.types, &module.diff, ty)
            }
            Type::Struct(_) => tangent::is_plain(&module.types, &module.diff, ty),
            Type::Unit
            | Type::Scalar(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => false,
        }
    }

    pub(super) fn part_type(&mut self, ty: Ty, part: u32) -> Ty {
        self.cx.module.types.part(ty, Some(part)).expect("the path fits the type")
    }

    fn join(&mut self, a: Cotangent, b: Cotangent) -> Cotangent {
        match (a, b) {
            (Cotangent::Whole(a), Cotangent::Whole(b)) => {
                Cotangent::Whole(self.build(|build, diff| tangent::add(build, diff, a, b)))
            }
            (Cotangent::Parts(ty, mut a), Cotangent::Parts(_, b)) => {
                for (i, new) in b {
                    let sum = match a.remove(&i) {
                        Some(old) => self.join(old, new),
                        None => new,
                    };
                    a.insert(i, sum);
                }
                Cotangent::Parts(ty, a)
            }
            (Cotangent::Whole(whole), Cotangent::Parts(_, parts))
            | (Cotangent::Parts(_, parts), Cotangent::Whole(whole)) => {
                let sum = |whole, (i, part)| {
                    let part = self.value(part);
                    self.insert_add(whole, part, Path::part(i), &[])
                };
                Cotangent::Whole(parts.into_iter().fold(whole, sum))
            }
        }
    }

    /// One value for a cotangent.
    pub(super) fn value(&mut self, cotangent: Cotangent) -> Value {
        let (ty, mut parts) = match cotangent {
            Cotangent::Whole(value) => return value,
            Cotangent::Parts(ty, parts) => (ty, parts),
        };
        let count = self.cx.module.types.arity(ty).expect("an aggregate has parts");
        let values: Vec<Value> = (0..count)
            .map(|i| match parts.remove(&i) {
                Some(part) => self.value(part),
                None => {
                    let ty = self.part_type(ty, i);
                    self.zero(ty)
                }
            })
            .collect();
        self.build(|b, _| b.pack(&values, ty))
    }

    /// The additive identity of a type.
    pub(super) fn zero(&mut self, ty: Ty) -> Value {
        self.build(|b, diff| tangent::zero(b, diff, ty))
    }

    /// Takes the cotangent of `value` out, as one value.
    pub(super) fn take(&mut self, value: Value) -> Option<Value> {
        self.cotangents.take(value).map(|c| self.value(c))
    }

    /// Takes the cotangent of `value` out, or makes a zero.
    pub(super) fn take_or_zero(&mut self, value: Value) -> Value {
        match self.take(value) {
            Some(cotangent) => cotangent,
            None => self.zero(self.func().ty(value)),
        }
    }

    /// The part of a cotangent at `path`, if it is not zero.
    pub(super) fn part(&mut self, of: &Cotangent, path: &[Step], indices: &[Value]) -> Option<Cotangent> {
        match (of, path) {
            (whole, []) => Some(whole.clone()),
            (Cotangent::Parts(_, parts), [Step::Part(i), rest @ ..]) => {
                let part = parts.get(i)?;
                self.part(part, rest, indices)
            }
            (whole, path) => {
                let whole = self.value(whole.clone());
                let path = Path(path.into());
                Some(Cotangent::Whole(self.build(|b, _| b.extract(whole, path, indices))))
            }
        }
    }

    /// A cotangent without the part at `path`.
    pub(super) fn clear(&mut self, of: Cotangent, path: &[Step], indices: &[Value]) -> Option<Cotangent> {
        match (of, path) {
            (_, []) => None,
            (Cotangent::Parts(ty, mut parts), [Step::Part(i), rest @ ..]) => {
                if let Some(part) = parts.remove(i)
                    && let Some(left) = self.clear(part, rest, indices)
                {
                    parts.insert(*i, left);
                }
                (!parts.is_empty()).then_some(Cotangent::Parts(ty, parts))
            }
            (whole, path) => {
                let whole = self.value(whole);
                let path = Path(path.into());
                let cleared = self.build(|b, diff| {
                    let ty = b.types.part_at(b.ty(whole), &path).expect("the path fits the type");
                    let zero = tangent::zero(b, diff, ty);
                    b.insert(whole, zero, path, indices)
                });
                Some(Cotangent::Whole(cleared))
            }
        }
    }

    /// `whole` with `part` added at `path`. A part cleared just before is replaced instead.
    fn insert_add(&mut self, whole: Value, part: Value, path: Path, indices: &[Value]) -> Value {
        if let Some(base) = self.just_cleared(whole, &path, indices) {
            return self.build(|b, _| b.insert(base, part, path, indices));
        }
        self.build(|b, diff| tangent::insert_add(b, diff, whole, part, path, indices))
    }

    /// If `value` is `insert base, 0` at that very place, made in this region: `base`. In between nothing can have
    /// touched the place, because whatever did would have made another value.
    fn just_cleared(&self, value: Value, path: &Path, indices: &[Value]) -> Option<Value> {
        let ValueDef::Result(inst, _) = self.out.values[value].def else {
            return None;
        };
        let data = &self.out.insts[inst];
        let [base, inserted, at @ ..] = &data.operands[..] else {
            return None;
        };
        let is_same = data.op == Op::Insert(path.clone()) && at == indices;
        let is_cleared = is_same && matches!(self.out.op(*inserted), Some(Op::Zero));
        (is_cleared && self.out.regions[self.region].insts.contains(&inst)).then_some(*base)
    }

    /// An element-wise operation.
    pub(super) fn math(&mut self, math: Math, operands: &[Value]) -> Value {
        self.build(|b, _| b.math(math, operands))
    }
}
