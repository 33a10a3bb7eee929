//! Values that are computed before a branch, because more than one of its arms needs them.
//!
//! Cranelift computes a value where it is first used. If that is in an arm of a branch, the code after the branch recomputes it. A
//! store to a buffer is such a branch: one arm if all lanes are active, one otherwise. Nine stores of a gradient would compute what
//! they share nine times.
//!
//! So the operands of a store are stored to the frame first. Nothing reads them there, but a store is a use.

use super::Lanes;
use super::value::Leaf;
use cranelift_codegen::ir::{
    InstBuilder, InstructionData, MemFlagsData, Opcode, Value as Reg, ValueDef, types,
};

/// The values that are computed already where code is emitted.
#[derive(Default)]
pub(super) struct Settled(Vec<Reg>);

impl Settled {
    /// Enters a region. Returns the state that [`Self::leave`] restores.
    pub fn enter(&self) -> usize {
        self.0.len()
    }

    pub fn leave(&mut self, before: usize) {
        self.0.truncate(before);
    }
}

impl Lanes<'_, '_, '_> {
    /// Makes leaves computed here, and not later in an arm of a branch.
    pub(super) fn settle(&mut self, leaves: &[Leaf]) {
        let vectors =
            leaves.iter().filter_map(|leaf| if let Leaf::Each(all) = leaf { Some(*all) } else { None });
        let is_new = |reg: &Reg| self.is_lazy(*reg) && !self.settled.0.contains(reg);
        let new: Vec<Reg> = vectors.flatten().filter(is_new).collect();
        if new.is_empty() {
            return;
        }
        let room = self.room_in_frame(16 * new.len() as u64);
        for (number, reg) in (0..).zip(&new) {
            // At places of their own, since Cranelift removes a store that the next one overwrites.
            self.body.b.ins().store(MemFlagsData::trusted(), *reg, room, 16 * number);
        }
        self.settled.0.extend(new);
    }

    /// Whether Cranelift may compute a register anywhere.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other instruction is of interest")]
    fn is_lazy(&self, reg: Reg) -> bool {
        let dfg = &self.body.b.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(dfg.resolve_aliases(reg)) else { return false };
        match dfg.insts[inst] {
            InstructionData::LoadNoOffset { arg, opcode: Opcode::Bitcast, .. } => self.is_lazy(arg),
            data => !matches!(data.opcode(), Opcode::Load | Opcode::Vconst | Opcode::Call),
        }
    }

    /// A part of the frame for something that is read at once, or never.
    pub(super) fn room_in_frame(&mut self, size: u64) -> Reg {
        let slot = match self.rows.iter().find(|(_, known)| *known >= size) {
            Some((slot, _)) => *slot,
            None => {
                let slot = self.body.stack(size);
                self.rows.push((slot, size));
                slot
            }
        };
        self.body.b.ins().stack_addr(types::I64, slot, 0)
    }
}
