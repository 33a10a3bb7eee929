//! Constants of elementary functions, in memory.
//!
//! A sine has more constants than there are registers. Cranelift hoists its constants out of loops and spills them to the stack. So
//! they are loads from a table of the program instead: such a load stays in its loop, and is next to its use. Cranelift merges equal
//! loads; so each vector, and each use within a function, has a place of its own in the table.
//!
//! The address of the table is read in each loop, by an instruction that Cranelift does not move. What depends on it stays there, too.

use super::Lanes;
use crate::state::{Words, at};
use cotangent_base::Map;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type as Native, Value as Reg, types};

/// Four words, the number of the vector that they are for, and how many uses come before in the same function.
type Key = ([u32; 4], usize, usize);

/// The table, and what is known of it where code is emitted.
#[derive(Default)]
pub(super) struct Constants {
    places: Map<Key, usize>,
    /// How often the function that is emitted has used some words.
    uses: Map<([u32; 4], usize), usize>,
    /// The address of the table.
    address: Option<Reg>,
}

impl Lanes<'_, '_, '_> {
    /// Begins an elementary function. Equal functions of equal arguments use the same places, so they are computed once.
    pub(super) fn begin_constants(&mut self) {
        self.constants.uses.clear();
        if self.constants.address.is_none() {
            let from = self.body.add_const(self.body.state, at::CONSTANTS.into());
            let flags = MemFlagsData::trusted();
            self.constants.address = Some(self.body.b.ins().atomic_load(types::I64, flags, from));
        }
    }

    /// A constant of an elementary function, for one of its vectors.
    pub(super) fn constant_of(&mut self, ty: Native, words: [u32; 4], vector: usize) -> Reg {
        let address = self.constants.address.expect("a function has begun");
        let uses = self.constants.uses.entry((words, vector)).or_default();
        *uses += 1;
        let table = &mut self.body.c.constants;
        let place = *self.constants.places.entry((words, vector, *uses)).or_insert_with(|| {
            table.push(Words(words));
            table.len() - 1
        });
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.body.b.ins().load(ty, flags, address, 16 * place as i32)
    }

    /// Enters a region; a loop reads the address of the table again. Gives what [`Self::leave_constants`] needs.
    pub(super) fn enter_constants(&mut self, is_loop: bool) -> Option<Reg> {
        let before = self.constants.address;
        if is_loop {
            self.constants.address = None;
        }
        before
    }

    pub(super) fn leave_constants(&mut self, before: Option<Reg>) {
        self.constants.address = before;
    }
}
