//! Memory of native code in lanes: leaf by leaf, the lanes of a leaf next to each other.

mod parts;

use super::value::{Leaf, Mask, Repr, Vector, native};
use super::{LEAF_BYTES, Lanes};
use crate::body::Storage;
use crate::compile::Result;
use cotangent_base::Scalar;
use cotangent_ir::{Ty, Type, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};

/// Leaves that are copied one by one; more are copied in a loop, or by a call.
const UNROLLED: u64 = 4;

/// Parts of more leaves than this are not moved between memory of lanes and places that differ by lane.
const MOST_LEAVES: u64 = 64;

/// Where a part is.
#[derive(Clone, Copy)]
enum Place {
    /// At the same place in all lanes.
    One(Reg),
    /// So many bytes from there, by lane.
    Each(Reg, Vector),
}

impl Place {
    /// A place from another address.
    fn further(self, change: impl FnOnce(Reg) -> Reg) -> Place {
        match self {
            Place::One(address) => Place::One(change(address)),
            Place::Each(base, offsets) => Place::Each(change(base), offsets),
        }
    }
}

impl Lanes<'_, '_, '_> {
    /// Makes a value one that lies in its storage.
    pub(super) fn stored(&mut self, value: Value) -> Storage {
        let storage = self.body.storage(value);
        self.values[value] = Some(Repr::Memory(storage));
        storage
    }

    /// The storage of a value in memory: of its own, if it was shared.
    pub(super) fn place_of(&mut self, value: Value) -> Result<Storage> {
        match self.repr(value) {
            Repr::Memory(storage) => Ok(storage),
            repr @ (Repr::Leaves(_) | Repr::Shared(_)) => {
                let ty = self.ty(value);
                let copy = self.room(ty);
                self.copy_all(copy, repr, ty)?;
                Ok(copy)
            }
        }
    }

    /// Storage for a copy.
    pub(super) fn room(&mut self, ty: Ty) -> Storage {
        let leaves = self.body.c.shapes.shape(ty).leaves;
        Storage::Arena(self.body.arena_bytes(leaves.saturating_mul(LEAF_BYTES)))
    }

    /// Emits something for every number below `n`: one after the other, or in a loop.
    pub(super) fn repeat(
        &mut self,
        n: u64,
        mut each: impl FnMut(&mut Self, Reg) -> Result<()>,
    ) -> Result<()> {
        if n <= UNROLLED {
            for i in 0..n {
                let i = self.body.int(types::I64, i as i64);
                each(self, i)?;
            }
            return Ok(());
        }
        let (head, end) = (self.body.block_with(&[types::I64]), self.body.b.create_block());
        let zero = self.body.int(types::I64, 0);
        self.body.jump(head, &[zero]);
        self.body.b.switch_to_block(head);
        let i = self.body.b.block_params(head)[0];
        each(self, i)?;
        let next = self.body.add_const(i, 1);
        let n = self.body.int(types::I64, n as i64);
        let goes_on = self.body.b.ins().icmp(IntCC::UnsignedLessThan, next, n);
        self.body.b.ins().brif(goes_on, head, &[next.into()], end, &[]);
        self.body.b.switch_to_block(end);
        Ok(())
    }

    // Leaves.

    pub(super) fn load_vector(&mut self, scalar: Scalar, address: Reg, leaf: u64) -> Vector {
        std::array::from_fn(|part| {
            let offset = (leaf * LEAF_BYTES) as i32 + 16 * part as i32;
            self.body.b.ins().load(native(scalar), MemFlagsData::trusted(), address, offset)
        })
    }

    fn store_vector(&mut self, vector: Vector, address: Reg, leaf: u64) {
        for (part, reg) in vector.into_iter().enumerate() {
            let offset = (leaf * LEAF_BYTES) as i32 + 16 * part as i32;
            self.body.b.ins().store(MemFlagsData::trusted(), reg, address, offset);
        }
    }

    /// Stores a leaf in lanes of the mask.
    fn store_masked(&mut self, scalar: Scalar, vector: Vector, address: Reg, leaf: u64) {
        let vector = match self.mask {
            Mask::Full => vector,
            Mask::Some(mask) => {
                let old = self.load_vector(scalar, address, leaf);
                self.blend_vector(mask, vector, old)
            }
        };
        self.store_vector(vector, address, leaf);
    }

    /// The address of a leaf of one lane.
    fn lane_address(&mut self, base: Reg, offsets: Vector, lane: usize) -> Reg {
        let offset = self.body.b.ins().extractlane(offsets[lane / 4], (lane % 4) as u8);
        let offset = self.body.b.ins().uextend(types::I64, offset);
        self.body.b.ins().iadd(base, offset)
    }

    fn read_leaf(&mut self, place: Place, scalar: Scalar, leaf: u64) -> Leaf {
        match place {
            Place::One(address) => Leaf::Each(self.load_vector(scalar, address, leaf)),
            Place::Each(base, offsets) => {
                self.count_by_lane(2);
                let mut words = Vec::new();
                for lane in Self::numbers() {
                    let address = self.lane_address(base, offsets, lane);
                    let at = (leaf * LEAF_BYTES) as i32 + 4 * lane as i32;
                    words.push(self.body.b.ins().load(types::I32, MemFlagsData::trusted(), address, at));
                }
                let vector = self.gathered(&words);
                Leaf::Each(vector.map(|part| self.body.vector_as(native(scalar), part)))
            }
        }
    }

    fn write_leaf(&mut self, place: Place, scalar: Scalar, leaf: u64, value: Leaf) {
        let vector = self.vector(value, scalar);
        match place {
            Place::One(address) => self.store_masked(scalar, vector, address, leaf),
            Place::Each(base, offsets) => {
                self.count_by_lane(2);
                let mut vector = vector;
                if let Mask::Some(mask) = self.mask {
                    let old = self.read_leaf(place, scalar, leaf);
                    let old = self.vector(old, scalar);
                    vector = self.blend_vector(mask, vector, old);
                }
                for lane in Self::numbers() {
                    let address = self.lane_address(base, offsets, lane);
                    let at = (leaf * LEAF_BYTES) as i32 + 4 * lane as i32;
                    let word = self.body.b.ins().extractlane(vector[lane / 4], (lane % 4) as u8);
                    self.body.b.ins().store(MemFlagsData::trusted(), word, address, at);
                }
            }
        }
    }

    // Whole values.

    /// Copies leaves in lanes of the mask.
    fn copy_leaves(&mut self, to: Reg, from: Reg, count: u64) -> Result<()> {
        if self.mask.is_full() && count > UNROLLED {
            let size = self.body.int(types::I64, (count * LEAF_BYTES) as i64);
            self.body.move_bytes(to, from, size);
            return Ok(());
        }
        self.repeat(count, |lanes, i| {
            let at = lanes.body.mul_const(i, LEAF_BYTES as i64);
            let (to, from) = (lanes.body.b.ins().iadd(to, at), lanes.body.b.ins().iadd(from, at));
            let vector = lanes.load_vector(Scalar::U32, from, 0);
            lanes.store_masked(Scalar::U32, vector, to, 0);
            Ok(())
        })
    }

    pub(super) fn clear(&mut self, to: Storage, ty: Ty) -> Result<()> {
        let count = self.body.c.shapes.shape(ty).leaves;
        let to = self.body.address(to);
        if self.mask.is_full() && count > UNROLLED {
            self.body.clear_bytes(to, count * LEAF_BYTES);
            return Ok(());
        }
        let zero = self.zero_vector(Scalar::U32);
        self.repeat(count, |lanes, i| {
            let at = lanes.body.mul_const(i, LEAF_BYTES as i64);
            let to = lanes.body.b.ins().iadd(to, at);
            lanes.store_masked(Scalar::U32, zero, to, 0);
            Ok(())
        })
    }

    /// Copies a value of a type in lanes of the mask.
    pub(super) fn copy_repr(&mut self, to: Storage, from: Repr, ty: Ty) -> Result<()> {
        match from {
            Repr::Memory(from) if from == to => Ok(()),
            Repr::Memory(from) => {
                let (to, from) = (self.body.address(to), self.body.address(from));
                self.copy_leaves(to, from, self.body.c.shapes.shape(ty).leaves)
            }
            Repr::Shared(from) => {
                let to = self.body.address(to);
                self.broadcast(to, from, ty)
            }
            Repr::Leaves(_) => unreachable!("its type says that it lies in memory"),
        }
    }

    /// Copies a value in all lanes.
    pub(super) fn copy_all(&mut self, to: Storage, from: Repr, ty: Ty) -> Result<()> {
        let mask = std::mem::replace(&mut self.mask, Mask::Full);
        let copied = self.copy_repr(to, from, ty);
        self.mask = mask;
        copied
    }

    /// Copies what scalar code has in memory to all lanes of the mask.
    fn broadcast(&mut self, to: Reg, from: Reg, ty: Ty) -> Result<()> {
        if let Type::Array(elem, n) = self.body.c.module.types.get(ty) {
            let one = self.body.c.shapes.shape(elem);
            return self.repeat(n.into(), |lanes, i| {
                let own = lanes.body.mul_const(i, (one.leaves * LEAF_BYTES) as i64);
                let host = lanes.body.mul_const(i, one.size as i64);
                let (to, from) = (lanes.body.b.ins().iadd(to, own), lanes.body.b.ins().iadd(from, host));
                lanes.broadcast(to, from, elem)
            });
        }
        if self.body.c.shapes.shape(ty).in_memory() {
            for part in (0..).map_while(|i| self.body.c.shapes.part(ty, i)).collect::<Vec<_>>() {
                let to = self.body.add_const(to, (part.leaf * LEAF_BYTES) as i64);
                let from = self.body.add_const(from, part.offset as i64);
                self.broadcast(to, from, part.ty)?;
            }
            return Ok(());
        }
        let scalars = self.scalars(ty)?;
        let regs = self.body.read_leaves(from, 0, ty)?;
        for (leaf, (reg, scalar)) in regs.into_iter().zip(scalars).enumerate() {
            self.write_leaf(Place::One(to), scalar, leaf as u64, Leaf::One(reg));
        }
        Ok(())
    }

    /// Copies values in lanes of the mask, as if all were read before any is written.
    pub(super) fn move_at_once(&mut self, moves: Vec<(Repr, Storage, Ty)>) -> Result<()> {
        let is_same = |from: &Repr, to: &Storage| matches!(from, Repr::Memory(from) if from == to);
        let mut moves: Vec<_> = moves.into_iter().filter(|(from, to, _)| !is_same(from, to)).collect();
        let conflicts: Vec<bool> = moves
            .iter()
            .map(|(from, ..)| match from {
                // An address may lead into any storage.
                Repr::Memory(Storage::At(_)) => moves.len() > 1,
                Repr::Memory(from) => moves.iter().any(|(_, to, _)| to == from),
                Repr::Shared(_) | Repr::Leaves(_) => false,
            })
            .collect();
        for (number, _) in conflicts.iter().enumerate().filter(|(_, conflict)| **conflict) {
            let (from, _, ty) = moves[number].clone();
            let copy = self.room(ty);
            self.copy_all(copy, from, ty)?;
            moves[number].0 = Repr::Memory(copy);
        }
        for (from, to, ty) in moves {
            self.copy_repr(to, from, ty)?;
        }
        Ok(())
    }

    /// Writes a value into memory at an address, so many leaves further on.
    pub(super) fn write_value(&mut self, address: Reg, leaf: u64, value: Value) -> Result<()> {
        let address = self.body.add_const(address, (leaf * LEAF_BYTES) as i64);
        self.write_at(Place::One(address), value)
    }

    fn write_at(&mut self, place: Place, value: Value) -> Result<()> {
        let ty = self.ty(value);
        match (self.repr(value), place) {
            (Repr::Leaves(mut leaves), place) => {
                let scalars = self.scalars(ty)?;
                if self.body.c.stores_memory {
                    leaves = self.canonical_leaves(value, leaves)?;
                }
                for (leaf, (value, scalar)) in leaves.into_iter().zip(scalars).enumerate() {
                    self.write_leaf(place, scalar, leaf as u64, value);
                }
                Ok(())
            }
            (repr, Place::One(address)) => self.copy_repr(Storage::At(address), repr, ty),
            (repr, place) => {
                let from = if let Repr::Memory(from) = repr {
                    self.body.address(from)
                } else {
                    return self.refuse("a shared array at places that differ");
                };
                let count = self.small(ty)?;
                for leaf in 0..count {
                    let value = self.read_leaf(Place::One(from), Scalar::U32, leaf);
                    self.write_leaf(place, Scalar::U32, leaf, value);
                }
                Ok(())
            }
        }
    }

    /// How many leaves a type has, which are not too many.
    pub(super) fn small(&self, ty: Ty) -> Result<u64> {
        let leaves = self.body.c.shapes.shape(ty).leaves;
        if leaves > MOST_LEAVES {
            return self.refuse("large parts at places that differ");
        }
        Ok(leaves)
    }

    /// Writes leaves of lanes into the storage of a result.
    pub(super) fn fill(&mut self, result: Value, leaf: u64, scalar: Scalar, value: Leaf) {
        let storage = self.body.storage(result);
        let address = self.body.address(storage);
        self.write_leaf(Place::One(address), scalar, leaf, value);
    }

    /// A leaf of a value in memory.
    pub(super) fn leaf_in(&mut self, storage: Storage, leaf: u64, scalar: Scalar) -> Leaf {
        let address = self.body.address(storage);
        self.read_leaf(Place::One(address), scalar, leaf)
    }
}
