//! Values that are computed before a branch, since more than one of its ways need them.
//!
//! Cranelift computes a value where it is first used. If that is in an arm of a branch, what follows the branch computes it again. A
//! store to a buffer is such a branch: one arm for lanes that are all here, one for some of them. Nine stores of a gradient would
//! compute what they share nine times.
//!
//! So values that a store shares with other code are stored to the frame first. Nobody reads that; but a store is a use.

use super::Lanes;
use super::value::Leaf;
use cotangent_base::{EntityMap, Map};
use cotangent_ir::{Control, Effect, FuncId, Op, Value};
use cranelift_codegen::ir::{
    InstBuilder, InstructionData, MemFlagsData, Opcode, Value as Reg, ValueDef, types,
};
use std::rc::Rc;

/// How many values of an expression are looked at.
const MOST_LOOKS: usize = 64;

/// What is known where code is emitted.
#[derive(Default)]
pub(super) struct Settled {
    /// How often values of functions are used.
    uses: Map<FuncId, Rc<EntityMap<Value, u32>>>,
    /// What was computed on the way here.
    done: Vec<Reg>,
}

impl Settled {
    /// Enters a region. Gives what [`Self::leave`] needs.
    pub fn enter(&self) -> usize {
        self.done.len()
    }

    pub fn leave(&mut self, before: usize) {
        self.done.truncate(before);
    }
}

impl Lanes<'_, '_, '_> {
    /// Has computed what the expression of a value shares with other expressions.
    pub(super) fn settle(&mut self, value: Value) {
        let func = self.body.func;
        let uses = self.uses();
        let (mut work, mut looks, mut found) = (vec![value], 0, Vec::new());
        while let Some(value) = work.pop()
            && looks < MOST_LOOKS
        {
            looks += 1;
            if !self.varies(value) || self.in_memory(value) {
                continue;
            }
            match func.def(value) {
                // What is taken out of an aggregate is a leaf of it.
                Some(data) if uses[value] <= 1 && !matches!(data.op, Op::Extract(_)) => {
                    let is_plain = matches!(data.op.control(), Control::Plain);
                    if is_plain && data.op.effect() == Effect::None {
                        work.extend(&data.operands);
                    }
                }
                _ => found.extend(self.leaves(value)),
            }
        }
        let vectors =
            found.into_iter().filter_map(|leaf| if let Leaf::Each(all) = leaf { Some(all) } else { None });
        let is_new = |reg: &Reg| self.is_lazy(*reg) && !self.settled.done.contains(reg);
        let new: Vec<Reg> = vectors.flatten().filter(is_new).collect();
        let room = self.room_in_frame(16 * new.len() as u64);
        for (number, reg) in (0..).zip(&new) {
            // At places of their own, since Cranelift removes a store that the next one overwrites.
            self.body.b.ins().store(MemFlagsData::trusted(), *reg, room, 16 * number);
        }
        self.settled.done.extend(new);
    }

    /// How often each value of the function is used.
    fn uses(&mut self) -> Rc<EntityMap<Value, u32>> {
        let func = self.body.func;
        let counted = || {
            let mut uses = EntityMap::filled(0, func.values.len());
            for inst in func.all_insts() {
                for operand in &func.insts[inst].operands {
                    uses[*operand] += 1;
                }
            }
            Rc::new(uses)
        };
        self.settled.uses.entry(self.body.id).or_insert_with(counted).clone()
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
