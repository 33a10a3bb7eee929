//! Finds which values of a function have companions. Input: a plain body, and the inputs that have one. Output: a [`Flow`].
//!
//! A value after a branch or in a loop is the join of what reaches it. The search repeats until nothing changes; each step goes
//! up the lattice `Any < None, Known < Lost`, so it ends.

use super::Companion;
use crate::instance::Lowerer;
use cotangent_base::{Map, Span};
use cotangent_ir::{Control, Exit, Func, Inst, Region, Value};

/// What is known of the values of a function.
pub(super) struct Flow {
    known: Map<Value, Companion>,
    /// For each output of the function.
    pub outputs: Vec<Companion>,
}

impl Flow {
    /// What is known of a value.
    pub fn of(&self, value: Value) -> Companion {
        self.known.get(&value).copied().unwrap_or(Companion::None)
    }
}

/// Finds what is known of all values, given the inputs that have companions.
pub(super) fn find(lowerer: &mut Lowerer<'_>, func: &Func, inputs: &[Value]) -> Flow {
    let outputs = vec![Companion::Any; func.sig.outputs().count()];
    let known = inputs.iter().map(|input| (*input, Companion::Known)).collect();
    let mut finder = Finder { lowerer, func, flow: Flow { known, outputs }, loops: vec![], changed: true };
    while std::mem::take(&mut finder.changed) {
        finder.region(func.body);
    }
    finder.flow
}

/// The loops around an instruction, outermost first, as seen by the exits in them.
struct Loop {
    /// The instruction.
    inst: Inst,
    /// The slots that a new iteration begins with, in each region.
    slots: Vec<Vec<Value>>,
}

struct Finder<'a, 'c> {
    lowerer: &'a mut Lowerer<'c>,
    func: &'a Func,
    flow: Flow,
    loops: Vec<Loop>,
    changed: bool,
}

impl Finder<'_, '_> {
    fn region(&mut self, region: Region) {
        for i in 0..self.func.regions[region].insts.len() {
            self.inst(self.func.regions[region].insts[i]);
        }
    }

    fn inst(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        match data.op.control() {
            Control::If | Control::Switch(_) => {
                for &region in &data.regions {
                    self.region(region);
                    if self.func.exit(region).op.exit() == Some(Exit::Yield) {
                        self.join_all(&data.results, &self.func.exit(region).operands, data.span);
                    }
                }
            }
            Control::While(_) => self.repeat(inst, &data.operands, 0),
            Control::For(_) => self.repeat(inst, &data.operands[1..], 1),
            Control::Exit(exit) => self.exit(inst, exit),
            Control::Call(callee) => {
                let outputs = self.outputs_of(callee, inst);
                for (&result, output) in data.results.iter().zip(outputs) {
                    self.join(result, output, data.span);
                }
            }
            Control::Plain | Control::DiffCall(_) | Control::LinCall(_) => {
                for &result in &data.results {
                    let known = super::transfer::result(self.lowerer, self.func, &self.flow, inst);
                    self.join(result, known, data.span);
                }
            }
        }
    }

    /// A loop, whose regions have `counters` arguments before the slots.
    fn repeat(&mut self, inst: Inst, init: &[Value], counters: usize) {
        let data = &self.func.insts[inst];
        let args = |region: &Region| self.func.regions[*region].args[counters..].to_vec();
        let slots: Vec<Vec<Value>> = data.regions.iter().map(args).collect();
        for slot in &slots {
            self.join_all(slot, init, data.span);
        }
        // The results are the slots with which the condition fails.
        for slot in &slots {
            self.join_all(&data.results, slot, data.span);
        }
        self.loops.push(Loop { inst, slots });
        for &region in &data.regions {
            self.region(region);
        }
        let Some(Loop { slots, .. }) = self.loops.pop() else { return };
        let body = *data.regions.last().expect("a loop has a body");
        if self.func.exit(body).op.exit() == Some(Exit::Yield) {
            let next = &self.func.exit(body).operands;
            slots.iter().for_each(|slot| self.join_all(slot, next, data.span));
        }
    }

    fn exit(&mut self, inst: Inst, exit: Exit) {
        let data = &self.func.insts[inst];
        match exit {
            // Whoever has the region takes what it yields.
            Exit::Yield => {}
            Exit::Break(out) => {
                let around = self.loops[self.loops.len() - 1 - out as usize].inst;
                self.join_all(&self.func.insts[around].results, &data.operands, data.span);
            }
            Exit::Continue(out) => {
                let slots = self.loops[self.loops.len() - 1 - out as usize].slots.clone();
                slots.iter().for_each(|slot| self.join_all(slot, &data.operands, data.span));
            }
            Exit::Return => {
                for (number, value) in data.operands.iter().enumerate() {
                    let joined = self.flow.outputs[number].join(self.flow.of(*value), data.span);
                    self.changed |= joined != self.flow.outputs[number];
                    self.flow.outputs[number] = joined;
                }
            }
        }
    }

    fn outputs_of(&mut self, callee: cotangent_ir::FuncId, inst: Inst) -> Vec<Companion> {
        let results = &self.func.insts[inst].results;
        let hold: Vec<bool> = results.iter().map(|v| self.lowerer.holds_pointer(self.func.ty(*v))).collect();
        if !hold.contains(&true) {
            return vec![Companion::None; hold.len()];
        }
        let outputs = self.lowerer.outputs_with(callee, self.func, &self.flow, inst);
        hold.into_iter().zip(outputs).map(|(holds, o)| if holds { o } else { Companion::None }).collect()
    }

    fn join_all(&mut self, to: &[Value], from: &[Value], span: Span) {
        for (&to, &from) in to.iter().zip(from) {
            self.join(to, self.flow.of(from), span);
        }
    }

    fn join(&mut self, value: Value, known: Companion, span: Span) {
        let old = self.flow.known.get(&value).copied().unwrap_or(Companion::Any);
        let joined = old.join(known, span);
        if self.flow.known.get(&value) != Some(&joined) {
            self.flow.known.insert(value, joined);
            self.changed = true;
        }
    }
}
