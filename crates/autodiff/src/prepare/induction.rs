//! Finds the induction variables of a loop, and a bound on its iteration count.
//!
//! A slot is `init + step * k` in iteration `k` if every edge into the next iteration (the end of the body, and each
//! `continue`) adds the same constant to it. A `break` does not matter. Once early exits have become slots, this is no longer
//! visible, so the analysis runs on the original loop. [`loop_bound`](cotangent_passes::loop_bound) computes the bound, also on
//! the original.

use cotangent_ir::{Const, Func, Inst, Math, Op, Region, Types, Value};
use cotangent_passes::shape::{Loop, Shape};

/// What is known of a loop.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// For each slot of a `while`, what is added after each iteration.
    pub(super) steps: Vec<Option<i64>>,
    /// The most iterations there can be.
    pub(super) rounds: Option<u32>,
}

/// What leaves a loop's body, as seen from inside.
#[derive(Default)]
pub(super) struct Edges {
    /// The values passed to the next iteration, by each edge.
    next: Vec<Vec<Value>>,
    /// Whether a `break` leaves this loop.
    pub(super) breaks: bool,
}

/// The edges of the loop with this body.
pub(super) fn edges(func: &Func, body: Region) -> Edges {
    let mut edges = Edges::default();
    if let Op::Yield = func.exit(body).op {
        edges.next.push(func.exit(body).operands.to_vec());
    }
    inner_edges(func, body, 0, &mut edges);
    edges
}

fn inner_edges(func: &Func, region: Region, loops: u32, edges: &mut Edges) {
    for &inst in &func.regions[region].insts {
        let data = &func.insts[inst];
        if data.op == Op::Continue(loops) {
            edges.next.push(data.operands.to_vec());
        }
        edges.breaks |= data.op == Op::Break(loops);
        let loops = loops + u32::from(data.op.is_loop());
        for &inner in &data.regions {
            inner_edges(func, inner, loops, edges);
        }
    }
}

/// What is known of a loop. Of a counted one the counter says how it steps.
pub(super) fn of_loop(types: &Types, func: &Func, shape: &Shape, inst: Inst) -> Known {
    let rounds = Loop::of(func, inst)
        .and_then(|looped| cotangent_passes::loop_bound::most(types, func, shape, looped));
    let data = &func.insts[inst];
    let Op::While(_) = data.op else {
        return Known { steps: vec![], rounds };
    };
    let body = data.regions[1];
    let edges = edges(func, body);
    let step = |(slot, arg): (usize, &Value)| {
        let mut steps = edges.next.iter().map(|values| step_of(func, *arg, values[slot]));
        let first = steps.next()??;
        steps.all(|s| s == Some(first)).then_some(first)
    };
    let steps: Vec<Option<i64>> = func.regions[body].args.iter().enumerate().map(step).collect();
    Known { steps, rounds }
}

/// `c` if `next` is `arg + c`. A constant of this kind is an integer, and then so is the slot.
pub(crate) fn step_of(func: &Func, arg: Value, next: Value) -> Option<i64> {
    let def = func.def(next)?;
    let &[a, b] = def.operands.as_slice() else { return None };
    let (adds, subtracts) = (def.op == Op::Math(Math::Add), def.op == Op::Math(Math::Sub));
    if subtracts && a == arg {
        constant(func, b).map(i64::wrapping_neg)
    } else if adds && (a == arg || b == arg) {
        constant(func, if a == arg { b } else { a })
    } else {
        None
    }
}

/// The integer that `value` always is.
fn constant(func: &Func, value: Value) -> Option<i64> {
    if let Op::Const(Const::Int(c)) = func.op(value)? { Some(*c) } else { None }
}
