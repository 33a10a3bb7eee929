//! What the edges of a loop show: slots that are known in every round, and a bound on the rounds.
//!
//! A slot is `init + step * k` in round `k` if every edge into the next round (the end of the body, and each
//! `continue`) passes its argument plus the same constant. What a `break` passes does not matter. Once early exits
//! are slots themselves, nobody can see this any more; so it is found here, on the original.
//!
//! If such a slot starts at a constant and the condition compares it with a constant, that bounds the rounds,
//! however the loop may be left early. A loop without an edge into the next round has one at most.

use cotangent_base::Scalar;
use cotangent_ir::{Const, Func, Inst, Math, Op, Region, Types, Value, ValueDef};

/// What is known of a `while`.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// For each slot, what is added after each round.
    pub(super) steps: Vec<Option<i64>>,
    /// The most rounds there can be.
    pub(super) rounds: Option<i64>,
}

/// What leaves a loop's body, as seen from inside.
#[derive(Default)]
pub(super) struct Edges {
    /// The values passed to the next round, by each edge.
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

/// What is known of a loop. Of a counted one nothing needs to be found: its counter says it all.
pub(super) fn of_loop(types: &Types, func: &Func, inst: Inst) -> Known {
    let data = &func.insts[inst];
    let Op::While(_) = data.op else {
        return Known::default();
    };
    let (condition, body) = (data.regions[0], data.regions[1]);
    let edges = edges(func, body);
    let step = |(slot, arg): (usize, &Value)| {
        let mut steps = edges.next.iter().map(|values| step_of(func, *arg, values[slot]));
        let first = steps.next()??;
        steps.all(|s| s == Some(first)).then_some(first)
    };
    let steps: Vec<Option<i64>> = func.regions[body].args.iter().enumerate().map(step).collect();
    let asked = func.exit(condition).operands[0];
    let slots = Slots { types, func, inst, steps: &steps };
    let rounds = if edges.next.is_empty() { Some(1) } else { slots.bound(asked) };
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
pub(super) fn constant(func: &Func, value: Value) -> Option<i64> {
    if let Op::Const(Const::Int(c)) = func.op(value)? { Some(*c) } else { None }
}

/// The slots of a loop whose condition is looked at.
struct Slots<'a> {
    types: &'a Types,
    func: &'a Func,
    inst: Inst,
    steps: &'a [Option<i64>],
}

impl Slots<'_> {
    /// The most rounds that `asked`, the condition or a part of it, allows.
    fn bound(&self, asked: Value) -> Option<i64> {
        let def = self.func.def(asked)?;
        if let Op::Math(math) = def.op {
            let &[a, b] = def.operands.as_slice() else { return None };
            if math == Math::And {
                return smaller(self.bound(a), self.bound(b));
            }
            return self.compare(math, a, b).or_else(|| self.compare(mirrored(math)?, b, a));
        }
        // `a && b`: the other branch yields false.
        if def.op == Op::If && def.results.len() == 1 && is_false(self.func, def.regions[1]) {
            let b = self.func.exit(def.regions[0]).operands[0];
            return smaller(self.bound(def.operands[0]), self.bound(b));
        }
        None
    }

    /// The rounds for which `slot` compares with `limit` as `math` says.
    fn compare(&self, math: Math, slot: Value, limit: Value) -> Option<i64> {
        let ValueDef::Arg(region, index) = self.func.values[slot].def else {
            return None;
        };
        let data = &self.func.insts[self.inst];
        if region != data.regions[0] {
            return None;
        }
        let index = index as usize;
        let (start, limit) = (constant(self.func, data.operands[index])?, constant(self.func, limit)?);
        let (scalar, step) = (self.types.scalar_of(self.func.ty(slot))?, self.steps[index]?);
        let rounds = rounds(math, start, step, limit)?;
        // A slot that wraps round before the condition fails may run for longer.
        let last = i128::from(start) + i128::from(step) * i128::from(rounds);
        holds(scalar, last).then_some(rounds)
    }
}

/// Whether an integer of type `scalar` can be `n`.
fn holds(scalar: Scalar, n: i128) -> bool {
    let bits = scalar.bits() - u32::from(scalar.is_signed());
    let low = if scalar.is_signed() { -(1i128 << bits) } else { 0 };
    (low..1i128 << bits).contains(&n)
}

fn smaller(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

fn is_false(func: &Func, region: Region) -> bool {
    let exit = func.exit(region);
    let value = exit.operands.first().and_then(|v| func.op(*v));
    exit.op == Op::Yield && matches!(value, Some(Op::Const(Const::Bool(false))))
}

/// `b op a` as `a op' b`.
fn mirrored(math: Math) -> Option<Math> {
    [
        (Math::Lt, Math::Gt),
        (Math::Le, Math::Ge),
        (Math::Gt, Math::Lt),
        (Math::Ge, Math::Le),
        (Math::Ne, Math::Ne),
    ]
    .into_iter()
    .find_map(|(from, to)| (from == math).then_some(to))
}

/// How often `start + step * k` compares with `limit` as `math` says, from `k = 0` on.
fn rounds(math: Math, start: i64, step: i64, limit: i64) -> Option<i64> {
    let (start, step, limit) = (i128::from(start), i128::from(step), i128::from(limit));
    let up = |distance: i128, step: i128| (step > 0).then(|| (distance.max(0) + step - 1) / step);
    let rounds = if math == Math::Lt {
        up(limit - start, step)
    } else if math == Math::Le {
        up(limit + 1 - start, step)
    } else if math == Math::Gt {
        up(start - limit, -step)
    } else if math == Math::Ge {
        up(start + 1 - limit, -step)
    } else if math == Math::Ne && step != 0 && (limit - start) % step == 0 && (limit - start) / step >= 0 {
        Some((limit - start) / step)
    } else {
        None
    };
    rounds.filter(|n| *n <= i128::from(i32::MAX)).and_then(|n| i64::try_from(n).ok())
}
