//! Linearizes `if` and `switch`.
//!
//! ```text
//! r = if c {            r, r_t = if c {
//!   x = ..                x = ..   x_t = ..
//!   yield x               yield x, x_t
//! } else {              } else {
//!   yield k               yield k, zero
//! }                     }
//! ```
//!
//! The condition does not depend on tangents, so each branch is linearized separately. A result has a tangent if any branch
//! yields one for it; the other branches yield zero.

use super::Linearizer;
use cotangent_ir::Inst;

impl Linearizer<'_> {
    pub(super) fn branches(&mut self, inst: Inst) {
        let mask = self.active_mask(&self.func.insts[inst].results);
        for region in self.func.insts[inst].regions.clone() {
            self.yields.push(mask.clone());
            self.region_body(region);
            self.yields.pop();
        }
        self.push(inst);
        self.add_results(inst, &mask);
    }

    /// Gives `inst` one more result, its tangent, for each of its results that `mask` chooses.
    pub(super) fn add_results(&mut self, inst: Inst, mask: &[bool]) {
        let chosen = self.func.insts[inst].results.iter().zip(mask).filter(|(_, a)| **a);
        for y in chosen.map(|(y, _)| *y).collect::<Vec<_>>() {
            let ty = self.differential(y).expect("an active result is differentiable");
            let y_t = self.func.add_result(inst, ty);
            self.set(y, y_t);
        }
    }
}
