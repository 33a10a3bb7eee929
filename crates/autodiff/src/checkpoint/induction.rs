//! Variables that step along with a counted loop.
//!
//! [`prepare`](mod@crate::prepare) finds the variables of loops with a condition that are known in every round, because
//! after it early exits hide them. Counted loops have no exits left, so their other variables are found here, on
//! the function as it is: those whose every round adds the same constant.

use crate::prepare::Induction;
use cotangent_base::Map;
use cotangent_ir::{Const, Func, Inst, Math, Op, Value};

/// Adds the variables of counted loops in `func` to those known already.
pub fn of_counted_loops(func: &Func, known: &mut Map<Value, Induction>) {
    for inst in func.all_insts() {
        if let Op::For(_) = func.insts[inst].op {
            of_loop(func, inst, known);
        }
    }
}

fn of_loop(func: &Func, inst: Inst, known: &mut Map<Value, Induction>) {
    let data = &func.insts[inst];
    let body = data.regions[0];
    let slots = func.regions[body].args[1..].iter().zip(&data.operands[1..]);
    for ((&arg, &init), &next) in slots.zip(&func.exit(body).operands) {
        if let Some(step) = step(func, arg, next) {
            known.insert(arg, Induction { init, step });
        }
    }
}

/// `c` if `next` is the integer `arg + c`.
fn step(func: &Func, arg: Value, next: Value) -> Option<i64> {
    let data = func.def(next)?;
    let &[a, b] = &data.operands[..] else { return None };
    let constant = |value: Value| match func.op(value) {
        Some(Op::Const(Const::Int(c))) => Some(*c),
        Some(_) | None => None,
    };
    if data.op == Op::Math(Math::Add) {
        let other = if a == arg { Some(b) } else { (b == arg).then_some(a) };
        other.and_then(constant)
    } else if data.op == Op::Math(Math::Sub) && a == arg {
        constant(b).map(i64::wrapping_neg)
    } else {
        None
    }
}
