//! Stores to memory of the host and of the group, and atomic operations.
//!
//! A lane that is not in the mask, or dead, writes to memory that nothing reads.

use super::{Access, Memory, Row, element_index};
use crate::compile::Result;
use crate::lanes::value::{Leaf, Leaves, Mask};
use crate::lanes::{LANES, Lanes};
use crate::shape::Leaf as Kind;
use crate::state::at;
use cotangent_base::Scalar;
use cotangent_ir::{Atomic, InstData, Path, Step, Ty, Value};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};

impl Lanes<'_, '_, '_> {
    pub(in crate::lanes) fn store(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let (handle, value, indices) = (data.operands[0], data.operands[1], &data.operands[2..]);
        self.note_store(handle, element_index(path, indices))?;
        let memory = self.memory(handle)?;
        let Memory { base, elem, stride, .. } = memory;
        let (steps, rest) = memory.rest(path, indices);
        let leaves = self.stored_leaves(value)?;
        match self.element(memory, path, indices)? {
            Ok(index) => {
                let access = self.element_access(base, index, stride);
                let (access, ty) = self.walk(access, elem, steps, rest)?;
                self.write(&access, ty, &leaves)
            }
            Err(row) => self.store_row(memory, &row, indices[0], (steps, rest), &leaves),
        }
    }

    /// Writes leaves to elements in a row. The slow path is for rows that extend beyond the buffer and for dead lanes.
    fn store_row(
        &mut self,
        memory: Memory,
        row: &Row,
        index: Value,
        (steps, rest): (&[Step], &[Value]),
        leaves: &[Leaf],
    ) -> Result<()> {
        let Memory { base, given, len, elem, stride, .. } = memory;
        let (fast, slow, end) =
            (self.body.b.create_block(), self.body.b.create_block(), self.body.b.create_block());
        let (mut is_slow, first) = self.row_outside(row, len);
        let fixed = self.fixed_part(elem, steps);
        let all_write = self.mask.is_full() && fixed.is_some();
        if all_write {
            let dead = self.is_lane_dead();
            is_slow = self.body.b.ins().bor(is_slow, dead);
        }
        self.body.b.ins().brif(is_slow, slow, &[], fast, &[]);
        self.body.b.switch_to_block(slow);
        self.in_cold(slow, |lanes| {
            let index = lanes.checked(index, len)?;
            if let Some((offset, ty)) = fixed {
                let address = lanes.body.add_const(base, offset);
                lanes.write_one_by_one(address, index, stride, ty, leaves)?;
            } else {
                let access = lanes.element_access(base, index, stride);
                let (access, ty) = lanes.walk(access, elem, steps, rest)?;
                lanes.write(&access, ty, leaves)?;
            }
            lanes.body.b.ins().jump(end, &[]);
            Ok(())
        })?;
        self.body.b.switch_to_block(fast);
        let at = self.body.mul_const(first, stride);
        let address = self.body.b.ins().iadd(given, at);
        let access = Access::Row(address, stride * i64::from(row.step));
        let (access, ty) = self.walk(access, elem, steps, rest)?;
        match all_write {
            true => self.write_whole(&access, ty, leaves)?,
            false => self.write(&access, ty, leaves)?,
        }
        self.body.b.ins().jump(end, &[]);
        self.body.b.switch_to_block(end);
        Ok(())
    }

    /// The leaves of a value to be stored.
    fn stored_leaves(&mut self, value: Value) -> Result<Leaves> {
        if !self.in_memory(value) {
            let leaves = self.leaves(value);
            let leaves = self.canonical_leaves(value, leaves)?;
            self.settle(&leaves);
            return Ok(leaves);
        }
        let ty = self.ty(value);
        self.small(ty)?;
        let storage = self.place_of(value)?;
        let scalars = self.scalars(ty)?;
        Ok((0..).zip(scalars).map(|(leaf, scalar)| self.leaf_in(storage, leaf, scalar)).collect())
    }

    /// The bits of the lanes that are here and live.
    pub(in crate::lanes) fn active(&mut self) -> Reg {
        let live = self.body.load_state(types::I32, at::LIVE);
        match self.mask {
            Mask::Full => live,
            Mask::Some(mask) => {
                let bits = self.bits(mask);
                self.body.b.ins().band(bits, live)
            }
        }
    }

    /// Writes leaves for the lanes that are here and live. The last lane wins.
    fn write(&mut self, access: &Access, ty: Ty, leaves: &[Leaf]) -> Result<()> {
        let is_same = leaves.iter().all(|leaf| matches!(leaf, Leaf::One(_)));
        let active = self.active();
        if let (Access::One(address), true) = (access, is_same) {
            let (here, end) = (self.body.b.create_block(), self.body.b.create_block());
            self.body.b.ins().brif(active, here, &[], end, &[]);
            self.body.b.switch_to_block(here);
            self.write_lane(*address, ty, leaves, 0)?;
            self.body.b.ins().jump(end, &[]);
            self.body.b.switch_to_block(end);
            return Ok(());
        }
        if !matches!(access, Access::Row(..)) {
            self.count_by_lane(2 * leaves.len());
        }
        let (whole, part, end) =
            (self.body.b.create_block(), self.body.b.create_block(), self.body.b.create_block());
        let is_whole = self.body.is_const(active, (1 << LANES) - 1);
        self.body.b.ins().brif(is_whole, whole, &[], part, &[]);
        self.body.b.switch_to_block(whole);
        self.write_whole(access, ty, leaves)?;
        self.body.b.ins().jump(end, &[]);
        self.body.b.switch_to_block(part);
        let some = |lanes: &mut Self| {
            lanes.write_some(access, ty, leaves, active)?;
            lanes.body.b.ins().jump(end, &[]);
            Ok(())
        };
        // Where the mask is full, a lane is dead.
        if self.mask.is_full() {
            self.in_cold(part, some)?
        } else {
            some(self)?
        }
        self.body.b.switch_to_block(end);
        Ok(())
    }

    /// Writes leaves for some lanes, in order. The others write where nobody reads, which takes no branch.
    fn write_some(&mut self, access: &Access, ty: Ty, leaves: &[Leaf], active: Reg) -> Result<()> {
        let scratch = self.body.arena_address(self.scratch);
        for (lane, address) in self.addresses(access).into_iter().enumerate() {
            let bit = self.body.int(types::I32, 1 << lane);
            let is_here = self.body.b.ins().band(active, bit);
            let address = self.body.b.ins().select(is_here, address, scratch);
            self.write_lane(address, ty, leaves, lane)?;
        }
        Ok(())
    }

    fn write_lane(&mut self, address: Reg, ty: Ty, leaves: &[Leaf], lane: usize) -> Result<()> {
        let kinds = self.body.c.shapes.leaves(ty);
        for ((kind, offset), leaf) in kinds.iter().zip(leaves) {
            let scalar = if let Kind::Scalar(scalar) = kind { *scalar } else { Scalar::U32 };
            let reg = self.lane(*leaf, scalar, lane);
            self.body.store_leaf(*kind, reg, address, *offset as i32)?;
        }
        Ok(())
    }

    /// Writes leaves in a row for all lanes.
    fn write_whole(&mut self, access: &Access, ty: Ty, leaves: &[Leaf]) -> Result<()> {
        let kinds = self.body.c.shapes.leaves(ty);
        let is_row =
            |kinds: &[(Kind, u32)]| matches!(kinds, [(Kind::Scalar(scalar), _)] if *scalar != Scalar::Bool);
        if let (Access::Row(address, 4), true) = (access, is_row(&kinds)) {
            let scalars = self.scalars(ty)?;
            let vector = self.vector(leaves[0], scalars[0]);
            let flags = MemFlagsData::new().with_notrap();
            for (part, reg) in vector.into_iter().enumerate() {
                self.body.b.ins().store(flags, reg, *address, kinds[0].1 as i32 + 16 * part as i32);
            }
            return Ok(());
        }
        for (lane, address) in self.addresses(access).into_iter().enumerate() {
            self.write_lane(address, ty, leaves, lane)?;
        }
        Ok(())
    }

    /// An atomic operation, for one lane after the other.
    pub(in crate::lanes) fn atomic(&mut self, data: &InstData, atomic: &Atomic) -> Result<Leaves> {
        let count = atomic.kind.values();
        let (values, indices) = data.operands[1..].split_at(count);
        self.note_atomic(data, atomic, element_index(&atomic.path, indices))?;
        let memory = self.memory(data.operands[0])?;
        let Memory { base, len, elem, stride, .. } = memory;
        let (steps, rest) = memory.rest(&atomic.path, indices);
        let index = match self.element(memory, &atomic.path, indices)? {
            Ok(index) => index,
            Err(_) => self.checked(indices[0], len)?,
        };
        let access = self.element_access(base, index, stride);
        let (access, ty) = self.walk(access, elem, steps, rest)?;
        let scalar = self.scalars(self.ty(data.results[0]))?[0];
        if self.scalars(ty)?[0] != scalar {
            return self.refuse("atomic operations on other types than those of the memory");
        }
        let addresses = self.addresses(&access);
        let given: Vec<bool> = values.iter().map(|value| self.body.is_given(*value)).collect();
        let leaves: Vec<Leaf> = values.iter().map(|value| self.leaf(*value)).collect();
        let active = self.active();
        let found = self.variable(scalar);
        let zero = self.zero_vector(scalar);
        self.set_variable(&found, zero);
        for lane in Self::numbers() {
            let (here, next) = (self.body.b.create_block(), self.body.b.create_block());
            let bit = self.body.int(types::I32, 1 << lane);
            let is_here = self.body.b.ins().band(active, bit);
            self.body.b.ins().brif(is_here, here, &[], next, &[]);
            self.body.b.switch_to_block(here);
            let own: Vec<Reg> = leaves.iter().map(|leaf| self.lane(*leaf, scalar, lane)).collect();
            let old = self.body.atomic_at(atomic.kind, scalar, addresses[lane], &own, &given)?;
            let mut all = self.variable_value(&found);
            all[lane / 4] = self.body.b.ins().insertlane(all[lane / 4], old, (lane % 4) as u8);
            self.set_variable(&found, all);
            self.body.b.ins().jump(next, &[]);
            self.body.b.switch_to_block(next);
        }
        Ok(smallvec::smallvec![Leaf::Each(self.variable_value(&found))])
    }
}
