//! Recognises loops with a counter.

use crate::consts;
use crate::shape::{Loop, Shape};
use cotangent_base::Scalar;
use cotangent_ir::{Func, Math, Op, Region, Type, Types, Value, ValueDef};

/// The largest step, powers of two aside, of a counted loop whose bounds are not known.
pub const LARGEST_STEP: i64 = 16;

/// The longest counted loop.
pub(super) const MOST: i64 = i32::MAX as i64;

/// A loop that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The carried value that counts.
    pub slot: usize,
    /// What it starts with.
    pub start: Value,
    /// What each iteration adds to it.
    pub step: i64,
    /// How it is compared with the bound, it being on the left.
    pub compare: Compare,
    /// What it is compared with: a value from outside the loop, or a constant of the condition.
    pub bound: Value,
    /// Its type.
    pub scalar: Scalar,
}

/// A comparison that may end a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they are those of `Math`")]
pub enum Compare {
    Lt,
    Le,
    Gt,
    Ge,
    Ne,
}

impl Compare {
    const ALL: [Compare; 5] = [Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Ne];

    fn of(op: &Op) -> Option<Compare> {
        Self::ALL.into_iter().find(|compare| *op == Op::Math(compare.math()))
    }

    /// The operation.
    pub fn math(self) -> Math {
        match self {
            Compare::Lt => Math::Lt,
            Compare::Le => Math::Le,
            Compare::Gt => Math::Gt,
            Compare::Ge => Math::Ge,
            Compare::Ne => Math::Ne,
        }
    }

    /// The same with its sides exchanged.
    fn mirrored(self) -> Compare {
        match self {
            Compare::Lt => Compare::Gt,
            Compare::Le => Compare::Ge,
            Compare::Gt => Compare::Lt,
            Compare::Ge => Compare::Le,
            Compare::Ne => Compare::Ne,
        }
    }
}

/// How `looped` counts, if it does.
pub fn count_of(types: &Types, func: &Func, shape: &Shape, looped: Loop) -> Option<Count> {
    let cond = looped.cond?;
    let condition = func.def(func.exit(cond).operands[0])?;
    let compare = Compare::of(&condition.op)?;
    let [a, b] = condition.operands[..] else {
        return None;
    };
    let slot = |value: Value| func.regions[cond].args.iter().position(|arg| *arg == value);
    let (slot, compare, bound) = match (slot(a), slot(b)) {
        (Some(slot), None) => (slot, compare, b),
        (None, Some(slot)) => (slot, compare.mirrored(), a),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let is_fixed = !is_inside(func, shape, cond, bound) || consts::int(types, func, bound).is_some();
    let Type::Scalar(scalar) = types.get(func.ty(bound)) else {
        return None;
    };
    if !is_fixed || !scalar.is_int() {
        return None;
    }
    let step = step_of(types, func, shape, looped, slot, scalar)?;
    let start = func.insts[looped.inst].operands[slot];
    let count = Count { slot, start, step, compare, bound, scalar };
    count.approaches().then_some(count)
}

/// Whether `value`, which is visible at the end of `region`, is made there.
fn is_inside(func: &Func, shape: &Shape, region: Region, value: Value) -> bool {
    match func.values[value].def {
        ValueDef::Result(inst, _) => shape.home(inst) == Some(region),
        ValueDef::Arg(of, _) => of == region,
    }
}

/// The constant that every edge to the next iteration adds to a slot.
fn step_of(
    types: &Types,
    func: &Func,
    shape: &Shape,
    looped: Loop,
    slot: usize,
    scalar: Scalar,
) -> Option<i64> {
    let arg = func.regions[looped.body].args[slot];
    let mut step = None;
    for &exit in shape.exits(looped.inst).iter().filter(|exit| looped.is_back_edge(func, shape, **exit)) {
        let here = added_to(types, func, func.insts[exit].operands[slot], arg, scalar)?;
        if *step.get_or_insert(here) != here {
            return None;
        }
    }
    step.filter(|step| *step != 0)
}

/// The constant that `next` is `arg` plus. The result of a branch is if all its arms add the same: so two `continue` in the arms of
/// an `if` look when they are one after it.
fn added_to(types: &Types, func: &Func, next: Value, arg: Value, scalar: Scalar) -> Option<i64> {
    if let Some((sign, added)) = addition(func, next, arg) {
        return Some(sign * sign_extend(consts::int(types, func, added)?, scalar));
    }
    let ValueDef::Result(inst, number) = func.values[next].def else { return None };
    let data = &func.insts[inst];
    if !matches!(data.op, Op::If | Op::Switch(_)) {
        return None;
    }
    let exits = data.regions.iter().map(|region| func.exit(*region)).filter(|exit| exit.op == Op::Yield);
    let mut steps = exits.map(|exit| added_to(types, func, exit.operands[number as usize], arg, scalar));
    let first = steps.next()??;
    steps.all(|step| step == Some(first)).then_some(first)
}

/// What `next` is `arg` plus, and with which sign.
fn addition(func: &Func, next: Value, arg: Value) -> Option<(i64, Value)> {
    let data = func.def(next)?;
    let [a, b] = data.operands[..] else { return None };
    if data.op == Op::Math(Math::Add) && a == arg {
        Some((1, b))
    } else if data.op == Op::Math(Math::Add) && b == arg {
        Some((1, a))
    } else if data.op == Op::Math(Math::Sub) && a == arg {
        Some((-1, b))
    } else {
        None
    }
}

/// The low bits of `n` as a signed number: a step of `u32::MAX` is a step of -1.
fn sign_extend(n: i64, scalar: Scalar) -> i64 {
    let unused = 64 - scalar.bits();
    n << unused >> unused
}

/// The number that `n` is in a type.
fn number(n: i64, scalar: Scalar) -> i128 {
    let n = sign_extend(n, scalar);
    if scalar.is_signed() || n >= 0 { n.into() } else { i128::from(n) + (1i128 << scalar.bits()) }
}

impl Count {
    /// Whether the steps lead towards the bound.
    fn approaches(&self) -> bool {
        match self.compare {
            Compare::Lt | Compare::Le => self.step > 0,
            Compare::Gt | Compare::Ge => self.step < 0,
            Compare::Ne => true,
        }
    }

    /// Whether the loop, wherever it starts, ends before it wraps around, or never, or only after very many rounds.
    pub(super) fn ends_soon_or_never(&self) -> bool {
        let size = self.step.unsigned_abs();
        match self.compare {
            Compare::Ne => size == 1,
            Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => {
                size.is_power_of_two() || size <= LARGEST_STEP.unsigned_abs()
            }
        }
    }

    /// The number of iterations, if start and bound are constants and it ends without wrapping around.
    pub fn rounds(&self, types: &Types, func: &Func) -> Option<u32> {
        let start = number(consts::int(types, func, self.start)?, self.scalar);
        let bound = number(consts::int(types, func, self.bound)?, self.scalar);
        let step = i128::from(self.step);
        let distance = (bound - start) * step.signum();
        let size = step.abs();
        let rounds = match self.compare {
            Compare::Lt | Compare::Gt => (distance + size - 1).div_euclid(size).max(0),
            Compare::Le | Compare::Ge => (distance.div_euclid(size) + 1).max(0),
            Compare::Ne if distance < 0 || distance % size != 0 => return None,
            Compare::Ne => distance / size,
        };
        let (low, high) = range(self.scalar);
        let end = start + step * rounds;
        let fits = rounds <= i128::from(MOST) && (low..=high).contains(&end);
        fits.then_some(rounds as u32)
    }
}

pub(super) fn range(scalar: Scalar) -> (i128, i128) {
    let bits = scalar.bits();
    if scalar.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}
