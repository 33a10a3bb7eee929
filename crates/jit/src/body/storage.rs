//! Storage of values in memory: slots of the frame, the arena, copies.

use super::{Body, MOST_OF_COPIES, MOST_OF_FRAME, Repr, Storage};
use crate::compile::Result;
use crate::lanes;
use crate::state::at;
use cotangent_base::Set;
use cotangent_ir::{Trap, Ty, Value};
use cotangent_passes::place::Slot;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value as Reg, types};
use cranelift_module::Module as _;

impl Body<'_, '_, '_> {
    /// Gives storage to all values that lie in memory.
    pub fn allocate(&mut self) {
        let func = self.func;
        let mut wanted: Vec<(Option<Slot>, Value)> = Vec::new();
        let mut seen: Set<Slot> = self.slots.keys().copied().collect();
        let mut note = |body: &Self, value: Value| {
            let slot = body.places().slot(value);
            let mut is_known = || match slot {
                Some(slot) => !seen.insert(slot),
                None => body.values[value].is_some(),
            };
            if body.shape_of(value).in_memory() && !is_known() {
                wanted.push((slot, value));
            }
        };
        func.inputs().iter().for_each(|input| note(self, *input));
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            for region in &data.regions {
                func.regions[*region].args.iter().for_each(|arg| note(self, *arg));
            }
            data.results.iter().for_each(|result| note(self, *result));
        }
        let size = |value: Value| match (self.is_lanes, self.shape_of(value)) {
            (true, shape) => shape.leaves.saturating_mul(lanes::LEAF_BYTES),
            (false, shape) => shape.size.next_multiple_of(16),
        };
        // Processors take a load for one of what was just stored a multiple of 4 KiB away, and wait.
        let apart = |size: u64| if size > 0 && size.is_multiple_of(4096) { size + 64 } else { size };
        let sizes: Vec<u64> = wanted.iter().map(|(_, value)| apart(size(*value))).collect();
        let total: u64 = sizes.iter().sum();
        // What is inlined needs little, and the arena is taken where the function begins.
        let in_arena = total > MOST_OF_FRAME && self.end.is_none() || self.arena.is_some();
        if in_arena && self.arena.is_none() {
            self.take_arena();
        }
        for ((slot, value), size) in wanted.into_iter().zip(sizes) {
            let storage = if in_arena { self.in_arena(size) } else { Storage::Stack(self.stack(size)) };
            match slot {
                Some(slot) => _ = self.slots.insert(slot, storage),
                None => _ = self.own.insert(value, storage),
            }
        }
    }

    pub fn stack(&mut self, size: u64) -> StackSlot {
        self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size as u32, 4))
    }

    /// Makes storage that of a slot.
    pub fn place(&mut self, slot: Slot, storage: Storage) {
        self.slots.insert(slot, storage);
    }

    /// Takes a part of the arena. How large it is stands at the end of the function ([`finish`](Self::finish)).
    pub fn take_arena(&mut self) {
        let old = self.load_state(types::I64, at::ARENA);
        let bytes = self.int(types::I64, 0);
        let new = self.b.ins().iadd(old, bytes);
        let end = self.load_state(types::I64, at::ARENA_END);
        let is_over = self.b.ins().icmp(IntCC::UnsignedGreaterThan, new, end);
        self.stop_if(is_over, Trap::CallDepth, None);
        self.store_state(new, at::ARENA);
        self.arena = Some(old);
        self.taken_reg = Some(bytes);
    }

    fn in_arena(&mut self, size: u64) -> Storage {
        Storage::Arena(self.arena_bytes(size))
    }

    /// So many more bytes of the arena: where they begin in the part that the function has.
    pub fn arena_bytes(&mut self, size: u64) -> u64 {
        let at = self.taken;
        self.taken = at.saturating_add(size).next_multiple_of(16);
        at
    }

    /// How many bytes of the arena the function has.
    pub fn arena_taken(&self) -> u64 {
        self.taken
    }

    /// The address of a byte in the part of the arena that the function has.
    pub fn arena_address(&mut self, at: u64) -> Reg {
        self.address(Storage::Arena(at))
    }

    /// Storage for a copy.
    pub fn for_copy(&mut self, ty: Ty) -> Result<Storage> {
        let size = self.c.shapes.shape(ty).size.next_multiple_of(16);
        if self.arena.is_some() {
            return Ok(self.in_arena(size));
        }
        self.copies += size;
        if self.copies > MOST_OF_COPIES {
            return self.refuse("many copies of large values");
        }
        Ok(Storage::Stack(self.stack(size)))
    }

    /// Gives the arena back, at the end of the function.
    pub fn leave_arena(&mut self) {
        if let Some(old) = self.arena {
            self.store_state(old, at::ARENA);
        }
    }

    /// The storage of a value that lies in memory.
    pub fn storage(&self, value: Value) -> Storage {
        match self.places().slot(value) {
            Some(slot) => self.slots[&slot],
            None => self.own[&value],
        }
    }

    /// Makes a value one that lies in its storage.
    pub fn set_stored(&mut self, value: Value) -> Storage {
        let storage = self.storage(value);
        self.values[value] = Some(Repr::Memory(storage));
        storage
    }

    /// The address of storage.
    pub fn address(&mut self, storage: Storage) -> Reg {
        match storage {
            Storage::Stack(slot) => self.b.ins().stack_addr(types::I64, slot, 0),
            Storage::Arena(at) => {
                let base = self.arena.expect("it was taken");
                self.add_const(base, at as i64)
            }
            Storage::At(address) => address,
        }
    }

    /// The storage of a value that lies in memory, as it is now.
    pub fn place_of(&self, value: Value) -> Storage {
        match self.repr(value) {
            Repr::Memory(storage) => storage,
            Repr::Leaves(_) => unreachable!("its type says that it lies in memory"),
        }
    }

    /// Copies a value of a type from one place to another, if they differ.
    pub fn copy(&mut self, to: Storage, from: Storage, ty: Ty) {
        if to == from {
            return;
        }
        let (to, from) = (self.address(to), self.address(from));
        self.copy_bytes(to, from, ty);
    }

    pub fn copy_bytes(&mut self, to: Reg, from: Reg, ty: Ty) {
        let size = self.c.shapes.shape(ty).size;
        if size > 0 {
            let size = self.int(types::I64, size as i64);
            self.move_bytes(to, from, size);
        }
    }

    pub fn move_bytes(&mut self, to: Reg, from: Reg, size: Reg) {
        let config = self.c.jit.target_config();
        self.b.call_memmove(config, to, from, size);
    }

    pub fn clear(&mut self, to: Storage, ty: Ty) {
        let size = self.c.shapes.shape(ty).size;
        let to = self.address(to);
        self.clear_bytes(to, size);
    }

    pub fn clear_bytes(&mut self, to: Reg, size: u64) {
        if size > 0 {
            let (size, zero) = (self.int(types::I64, size as i64), self.int(types::I8, 0));
            let config = self.c.jit.target_config();
            self.b.call_memset(config, to, zero, size);
        }
    }
}
