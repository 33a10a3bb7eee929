//! Finds induction variables of counted loops: slots to which every iteration adds the same constant.
//!
//! [`prepare`](mod@crate::prepare) finds the induction variables of `while` loops before it removes early exits, which hide
//! them. Counted loops have no early exits, so this module finds their variables in the prepared function.

use crate::prepare::Induction;
use crate::prepare::induction::step_of;
use cotangent_ir::{Func, Inst, Op};

/// Adds the variables of counted loops in `func` to those known already.
pub fn of_counted_loops(func: &Func, known: &mut Induction) {
    for inst in func.all_insts() {
        if let Op::For(_) = func.insts[inst].op {
            of_loop(func, inst, known);
        }
    }
}

fn of_loop(func: &Func, inst: Inst, known: &mut Induction) {
    let body = func.insts[inst].regions[0];
    for (&arg, &next) in func.regions[body].args[1..].iter().zip(&func.exit(body).operands) {
        known.extend(step_of(func, arg, next).map(|step| (arg, step)));
    }
}
