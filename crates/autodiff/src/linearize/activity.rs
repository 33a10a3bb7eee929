//! Activity analysis: finds the values that may have a tangent.
//!
//! A value is active if its type has a differential and a tangent reaches it: through its operands, through a branch that
//! yields it, or through an edge of a loop. Loops make this a fixpoint, so the analysis repeats until nothing changes. The
//! result determines which results of branches and slots of loops carry a tangent. Elsewhere the rules decide, and may find
//! fewer active values.

use super::loops::counters;
use super::{Linearizer, rules};
use crate::callee::{Callee, resolve};
use cotangent_ir::{FuncId, Inst, InstData, Op, SlotMask, Value};

impl Linearizer<'_> {
    /// Finds the active values of a piece of code, given those it captures.
    pub(super) fn activate(&mut self, insts: &[Inst]) {
        let mut enclosing = Vec::new();
        while self.sweep(insts, &mut enclosing, None) {}
    }

    /// Which of `values` are active.
    pub(super) fn active_mask(&self, values: &[Value]) -> SlotMask {
        values.iter().map(|v| self.active.contains(*v)).collect()
    }

    /// Goes over `insts` once; says whether that made a value active. `enclosing` are the loops around them within
    /// the code, `owner` is what a `yield` gives its values to.
    fn sweep(&mut self, insts: &[Inst], enclosing: &mut Vec<Inst>, owner: Option<Inst>) -> bool {
        let mut changed = false;
        for &inst in insts {
            let data = self.func.insts[inst].clone();
            changed |= if data.op.is_exit() {
                let target = target(&data.op, enclosing, owner);
                target.is_some_and(|target| self.arrive(target, &data.operands))
            } else if data.op.is_loop() {
                self.sweep_loop(inst, &data, enclosing)
            } else if !data.regions.is_empty() {
                self.sweep_regions(&data, enclosing, Some(inst))
            } else if let Op::Call(f) = data.op {
                self.sweep_call(&data, f)
            } else {
                self.sweep_plain(inst, &data)
            };
        }
        changed
    }

    fn sweep_regions(&mut self, data: &InstData, enclosing: &mut Vec<Inst>, owner: Option<Inst>) -> bool {
        let mut changed = false;
        for &region in &data.regions {
            let insts = self.func.regions[region].insts.clone();
            changed |= self.sweep(&insts, enclosing, owner);
        }
        changed
    }

    fn sweep_loop(&mut self, inst: Inst, data: &InstData, enclosing: &mut Vec<Inst>) -> bool {
        let skip = counters(&data.op);
        let mut changed = self.arrive(inst, &data.operands[skip..]);
        enclosing.push(inst);
        let body = *data.regions.last().expect("a loop has a body");
        let insts = self.func.regions[body].insts.clone();
        changed |= self.sweep(&insts, enclosing, Some(inst));
        enclosing.pop();
        changed
    }

    /// `values` reach the results of `inst`; if it is a loop, its arguments too, since a slot is active as a whole.
    fn arrive(&mut self, inst: Inst, values: &[Value]) -> bool {
        let mut changed = false;
        for (i, &value) in values.iter().enumerate() {
            if self.active.contains(value) {
                changed |= self.active.insert(self.func.insts[inst].results[i]);
                self.activate_slot(inst, i);
            }
        }
        changed
    }

    fn activate_slot(&mut self, inst: Inst, slot: usize) {
        let data = &self.func.insts[inst];
        if data.op.is_loop() {
            let skip = counters(&data.op);
            for &region in &data.regions {
                self.active.insert(self.func.regions[region].args[skip + slot]);
            }
        }
    }

    fn sweep_call(&mut self, data: &InstData, func: FuncId) -> bool {
        let any = data.operands.iter().any(|x| self.active.contains(*x));
        let (func, callee) = resolve(self.funcs, func);
        let reaches = match callee {
            _ if self.in_rule() => any,
            Callee::Constant => false,
            Callee::Rule(_) => any,
            Callee::Derived => any || self.reaches_custom(func),
        };
        let mut changed = false;
        if reaches {
            for (output, &result) in self.funcs[func].sig.outputs().zip(&data.results) {
                let carries =
                    if self.rules.is_empty() { output.diff } else { self.differential(result).is_some() };
                changed |= carries && self.active.insert(result);
            }
        }
        changed
    }

    fn sweep_plain(&mut self, inst: Inst, data: &InstData) -> bool {
        let any = data.operands.iter().any(|x| self.active.contains(*x));
        any && data.results.len() == 1 && self.carries(inst) && self.active.insert(data.results[0])
    }

    /// Whether a tangent of an operand of `inst` reaches its result.
    fn carries(&mut self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let (result, op) = (data.results[0], data.op.clone());
        let from = data.operands[0];
        if let Op::Extract(path) = &op {
            return rules::path(self, from, path).is_some();
        }
        rules::passes_tangents(&op) && self.differential(result).is_some()
    }
}

/// To which construct an exit carries its values; none for what leaves the code.
fn target(exit: &Op, enclosing: &[Inst], owner: Option<Inst>) -> Option<Inst> {
    if let Op::Break(n) | Op::Continue(n) = exit {
        Some(enclosing[enclosing.len() - 1 - *n as usize])
    } else {
        owner.filter(|_| *exit == Op::Yield)
    }
}
