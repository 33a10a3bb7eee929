//! Linearizes `yield`, `break`, `continue` and `return`.
//!
//! ```text
//! break L(x, k)        break L(x, k, x_t)
//! ```
//!
//! An exit carries the values that its target takes. After them come the tangents of the target's active slots, in order.

use super::Linearizer;
use cotangent_ir::{Inst, Op};

impl Linearizer<'_> {
    pub(super) fn exit(&mut self, inst: Inst) {
        let op = &self.func.insts[inst].op;
        let mask = if let Op::Break(n) | Op::Continue(n) = op {
            self.loops[self.loops.len() - 1 - *n as usize].clone()
        } else if *op == Op::Return {
            self.outputs.clone()
        } else {
            self.yields.last().expect("a yield is inside a construct").clone()
        };
        let is_yield = self.func.insts[inst].op != Op::Return;
        debug_assert!(
            !is_yield || self.in_rule() || self.nothing_lost(inst, &mask),
            "activity missed a tangent"
        );
        for x in self.chosen(&self.func.insts[inst].operands, &mask) {
            let x_t = self.carried(x);
            self.func.insts[inst].operands.push(x_t);
        }
        self.replace_stand_ins(inst);
        self.push(inst);
    }

    /// Whether the target takes every tangent there is. Outputs need not: they may be `no_diff`.
    fn nothing_lost(&self, inst: Inst, mask: &[bool]) -> bool {
        let operands = &self.func.insts[inst].operands;
        operands.iter().zip(mask).all(|(x, taken)| *taken || self.get(*x).is_none())
    }
}
