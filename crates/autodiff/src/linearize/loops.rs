//! Linearizes `while` and `for`.
//!
//! ```text
//! r = while (x0) { c(x) } do (x) {        r, r_t = while (x0, x0_t) { c(x) } do (x, x_t) {
//!   y = ..                                  y = ..   y_t = ..
//!   yield y                                 yield y, y_t
//! }                                       }
//! ```
//!
//! A slot has a tangent in every iteration or in none. It has one if its initial value has one, or if a `yield`, `continue`
//! or `break` of this loop carries one. The condition does not depend on tangents; it only gets additional arguments, which
//! it does not read.

use super::Linearizer;
use cotangent_ir::{Inst, Op, Region, Value};

impl Linearizer<'_> {
    pub(super) fn loop_(&mut self, inst: Inst) {
        let mask = self.active_mask(&self.func.insts[inst].results);
        let skip = counters(&self.func.insts[inst].op);
        for x in self.chosen(&self.func.insts[inst].operands[skip..], &mask) {
            let x_t = self.carried(x);
            self.func.insts[inst].operands.push(x_t);
        }
        self.replace_stand_ins(inst);
        let regions = self.func.insts[inst].regions.clone();
        for &region in &regions {
            self.add_arguments(region, skip, &mask);
        }
        let body = *regions.last().expect("a loop has a body");
        self.yields.push(mask.clone());
        self.loops.push(mask.clone());
        self.region_body(body);
        self.loops.pop();
        self.yields.pop();
        self.push(inst);
        self.add_results(inst, &mask);
    }

    fn add_arguments(&mut self, region: Region, skip: usize, mask: &[bool]) {
        for x in self.chosen(&self.func.regions[region].args[skip..], mask) {
            let ty = self.differential(x).expect("an active slot is differentiable");
            let x_t = self.func.add_arg(region, ty);
            self.set(x, x_t);
        }
    }

    /// The values that `mask` chooses.
    pub(super) fn chosen(&self, values: &[Value], mask: &[bool]) -> Vec<Value> {
        values.iter().zip(mask).filter(|(_, a)| **a).map(|(v, _)| *v).collect()
    }
}

/// How many operands and arguments of a loop precede its slots: a counted loop has a count and a counter.
pub(crate) fn counters(op: &Op) -> usize {
    usize::from(matches!(op, Op::For(_)))
}
