//! Parts of values in memory of lanes: what is taken out of a value, put into it or added to it.

use super::Place;
use crate::body::Storage;
use crate::compile::Result;
use crate::lanes::host::Access;
use crate::lanes::value::{Leaf, Leaves, Mask, Repr};
use crate::lanes::{LEAF_BYTES, Lanes};
use cotangent_base::Scalar;
use cotangent_ir::{Path, Step, Ty, Type, Value};
use cranelift_codegen::ir::{InstBuilder, Value as Reg, types};

impl Lanes<'_, '_, '_> {
    /// Follows a path in memory.
    fn follow(&mut self, address: Reg, mut ty: Ty, path: &Path, indices: &[Value]) -> Result<(Place, Ty)> {
        let mut place = Place::One(address);
        let mut indices = indices.iter();
        let mut fixed = 0;
        for step in &path.0 {
            match step {
                Step::Part(number) => {
                    let part = self.body.c.shapes.part(ty, *number).expect("the verifier checked the path");
                    fixed += part.leaf * LEAF_BYTES;
                    ty = part.ty;
                }
                Step::Index => {
                    let arity = self.body.c.module.types.arity(ty).expect("the verifier checked the path");
                    let index = *indices.next().expect("the verifier counted");
                    ty = self.body.c.module.types.part(ty, None).expect("the verifier checked the path");
                    let stride = self.body.c.shapes.shape(ty).leaves.saturating_mul(LEAF_BYTES);
                    if u64::from(arity).saturating_mul(stride) > i32::MAX as u64 {
                        return self.refuse("very large values");
                    }
                    let len = self.body.int(types::I64, arity.into());
                    if let Some((sum, constant)) = self.offset_inside(index, len, stride) {
                        fixed = fixed.wrapping_add(constant as u64);
                        place =
                            place.further(|base| sum.map_or(base, |sum| self.body.b.ins().iadd(base, sum)));
                        continue;
                    }
                    let index = self.checked(index, len)?;
                    place = self.indexed(place, index, stride);
                }
            }
        }
        Ok((place.further(|base| self.body.add_const(base, fixed as i64)), ty))
    }

    /// Where a part is whose index is certainly inside: what is to be added to the address, and a constant besides.
    fn offset_inside(&mut self, index: Value, len: Reg, stride: u64) -> Option<(Option<Reg>, i64)> {
        let Leaf::One(reg) = self.leaf(index) else { return None };
        let scalar = self.body.scalar_of(index);
        let is_inside = self.is_inside(reg, scalar, len);
        if is_inside { self.multiple_of(reg, stride as i64) } else { None }
    }

    /// The place of an element. A checked index has 64 bits if it is one for all lanes.
    fn indexed(&mut self, place: Place, index: Leaf, stride: u64) -> Place {
        let (base, offsets) = match place {
            Place::One(base) => (base, None),
            Place::Each(base, offsets) => (base, Some(offsets)),
        };
        if let Leaf::One(index) = index {
            let at = self.body.mul_const(index, stride as i64);
            let base = self.body.b.ins().iadd(base, at);
            return offsets.map_or(Place::One(base), |offsets| Place::Each(base, offsets));
        }
        let stride = self.ints(stride as i32);
        let own = self.vector(index, Scalar::U32).map(|part| self.body.b.ins().imul(part, stride));
        let all = match offsets {
            None => own,
            Some(offsets) => std::array::from_fn(|i| self.body.b.ins().iadd(own[i], offsets[i])),
        };
        Place::Each(base, all)
    }

    pub(in crate::lanes) fn extract_memory(
        &mut self,
        whole: Repr,
        ty: Ty,
        path: &Path,
        indices: &[Value],
        result: Value,
    ) -> Result<()> {
        let storage = match whole {
            Repr::Memory(storage) => storage,
            Repr::Shared(address) => {
                let (access, ty) = self.walk(Access::One(address), ty, &path.0, indices)?;
                return self.load_access(access, ty, result);
            }
            Repr::Leaves(_) => unreachable!("it lies in memory"),
        };
        let address = self.body.address(storage);
        let (place, inner) = self.follow(address, ty, path, indices)?;
        if self.in_memory(result) {
            return self.extract_part(place, inner, result);
        }
        let scalars = self.scalars(inner)?;
        let leaves: Leaves =
            (0..).zip(scalars).map(|(leaf, scalar)| self.read_leaf(place, scalar, leaf)).collect();
        self.set(result, leaves)
    }

    fn extract_part(&mut self, place: Place, ty: Ty, result: Value) -> Result<()> {
        let to = self.stored(result);
        match place {
            Place::One(from) => self.copy_repr(to, Repr::Memory(Storage::At(from)), ty),
            place => {
                let to = self.body.address(to);
                for leaf in 0..self.small(ty)? {
                    let value = self.read_leaf(place, Scalar::U32, leaf);
                    self.write_leaf(Place::One(to), Scalar::U32, leaf, value);
                }
                Ok(())
            }
        }
    }

    pub(in crate::lanes) fn insert_memory(
        &mut self,
        whole: Repr,
        part: Value,
        result: Value,
        path: &Path,
        indices: &[Value],
        adds: bool,
    ) -> Result<()> {
        let ty = self.ty(result);
        let to = self.body.storage(result);
        self.copy_repr(to, whole, ty)?;
        self.values[result] = Some(Repr::Memory(to));
        let address = self.body.address(to);
        let (place, inner) = self.follow(address, ty, path, indices)?;
        if !adds {
            return self.write_at(place, part);
        }
        if self.in_memory(part) {
            let from = self.place_of(part)?;
            let from = self.body.address(from);
            return self.add_memory(place, from, inner);
        }
        let scalars = self.scalars(inner)?;
        let new = self.leaves(part);
        for (leaf, (new, scalar)) in (0..).zip(new.into_iter().zip(scalars)) {
            let old = self.read_leaf(place, scalar, leaf);
            let mut sum = self.add(scalar, old, new)?;
            if self.body.c.stores_memory {
                sum = self.canonical(sum, scalar);
            }
            self.write_leaf(place, scalar, leaf, sum);
        }
        Ok(())
    }

    /// Adds what lies at an address to what lies at a place, part by part.
    fn add_memory(&mut self, place: Place, from: Reg, ty: Ty) -> Result<()> {
        let Place::One(to) = place else { return self.refuse("large parts at places that differ") };
        if let Type::Array(elem, n) = self.body.c.module.types.get(ty) {
            let stride = (self.body.c.shapes.shape(elem).leaves * LEAF_BYTES) as i64;
            return self.repeat(n.into(), |lanes, i| {
                let at = lanes.body.mul_const(i, stride);
                let (to, from) = (lanes.body.b.ins().iadd(to, at), lanes.body.b.ins().iadd(from, at));
                lanes.add_memory(Place::One(to), from, elem)
            });
        }
        if self.body.c.shapes.shape(ty).in_memory() {
            for part in (0..).map_while(|i| self.body.c.shapes.part(ty, i)).collect::<Vec<_>>() {
                let at = (part.leaf * LEAF_BYTES) as i64;
                let (to, from) = (self.body.add_const(to, at), self.body.add_const(from, at));
                self.add_memory(Place::One(to), from, part.ty)?;
            }
            return Ok(());
        }
        for (leaf, scalar) in (0..).zip(self.scalars(ty)?) {
            let (a, b) = (
                self.read_leaf(Place::One(to), scalar, leaf),
                self.read_leaf(Place::One(from), scalar, leaf),
            );
            let sum = self.add(scalar, a, b)?;
            self.write_leaf(Place::One(to), scalar, leaf, sum);
        }
        Ok(())
    }

    /// The sum of the elements of an array in memory, from the first to the last.
    pub(in crate::lanes) fn sum_memory(&mut self, operand: Value, result: Value) -> Result<()> {
        let (from, elem) = (self.place_of(operand)?, self.ty(result));
        if self.in_memory(result) {
            return self.refuse("sums of arrays of arrays");
        }
        let Type::Array(_, n) = self.body.ty(operand) else { return self.refuse("sums of large values") };
        let scalars = self.scalars(elem)?;
        let from = self.body.address(from);
        let sums: Vec<_> = scalars.iter().map(|scalar| self.variable(*scalar)).collect();
        for ((leaf, scalar), sum) in (0..).zip(&scalars).zip(&sums) {
            let first = self.load_vector(*scalar, from, leaf);
            self.set_variable(sum, first);
        }
        let stride = (scalars.len() as u64 * LEAF_BYTES) as i64;
        self.repeat(u64::from(n) - 1, |lanes, i| {
            let i = lanes.body.add_const(i, 1);
            let at = lanes.body.mul_const(i, stride);
            let at = lanes.body.b.ins().iadd(from, at);
            for ((leaf, scalar), sum) in (0..).zip(&scalars).zip(&sums) {
                let term = lanes.load_vector(*scalar, at, leaf);
                let before = lanes.variable_value(sum);
                let after = lanes.add(*scalar, Leaf::Each(before), Leaf::Each(term))?;
                let after = lanes.vector(after, *scalar);
                lanes.set_variable(sum, after);
            }
            Ok(())
        })?;
        let leaves = sums.iter().map(|sum| Leaf::Each(self.variable_value(sum))).collect();
        self.set(result, leaves)
    }

    /// One of two values in memory, by lane.
    pub(in crate::lanes) fn select_memory(
        &mut self,
        cond: Value,
        a: Value,
        b: Value,
        result: Value,
    ) -> Result<()> {
        let ty = self.ty(result);
        let cond = self.leaf(cond);
        let cond = self.vector(cond, Scalar::Bool);
        let (a, b) = (self.repr(a), self.repr(b));
        let to = self.stored(result);
        let before = self.mask;
        let is_there = |repr: &Repr| matches!(repr, Repr::Memory(from) if *from == to);
        if is_there(&a) {
            self.mask = Mask::Some(self.without(before, cond));
            self.copy_repr(to, b, ty)?;
        } else {
            self.copy_repr(to, b, ty)?;
            self.mask = Mask::Some(self.within(before, cond));
            self.copy_repr(to, a, ty)?;
        }
        self.mask = before;
        Ok(())
    }
}
