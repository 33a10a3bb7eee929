//! Slots of a `while` that are equal whenever an iteration runs, though not after the last one.
//!
//! A loop that `break` leaves becomes one that a flag ends, before it is differentiated. Its counter then keeps its value in the
//! iteration that breaks, and beside it there is a count of iterations:
//!
//! ```text
//! %i, %go, %k = while (%zero, %true, %zero) cond(%i0, %go0, %k0) {
//!   %c = if %go0 { %d = lt %i0, %n ; yield %d } else { yield %false }
//!   yield %c
//! } body(%i1, %go1, %k1) {
//!   ..
//!   %i2, %go2 = if %breaks { yield %i1, %false } else { %i3 = add %i1, %one ; yield %i3, %true }
//!   %k2 = add %k1, %one
//!   yield %i2, %go2, %k2
//! }
//! ```
//!
//! In the body `%i1` is `%k1`: both are zero at first, and there is only another iteration if `%go2` holds, so `%i2` was `%i3`. In
//! the part of the condition that `%go0` guards, `%i0` is `%k0`. What comes out may differ: `%i` stays.
//!
//! The count is better than the counter: all lanes agree about it, and nothing chooses it.

use crate::consts::{self, same};
use crate::edit::Renaming;
use crate::shape::{Loop, Shape};
use cotangent_base::Map;
use cotangent_ir::{Exit, Func, Math, Op, Region, Types, Value, ValueDef};

/// Replaces such slots by the one that counts plainly. Says whether there were any.
pub(super) fn lockstep(types: &Types, func: &mut Func) -> bool {
    let shape = Shape::of(func);
    let mut renaming = Renaming::default();
    let mut guarded = Vec::new();
    for inst in func.all_insts() {
        if let Some(looped) = Loop::of(func, inst) {
            slots(types, func, &shape, looped, &mut renaming, &mut guarded);
        }
    }
    let changed = guarded.iter().fold(false, |changed, guard| replace(func, guard) | changed);
    renaming.apply(func) | changed
}

/// A region of a condition in which a value is another one.
struct Guard {
    region: Region,
    old: Value,
    new: Value,
}

fn slots(
    types: &Types,
    func: &mut Func,
    shape: &Shape,
    looped: Loop,
    renaming: &mut Renaming,
    guarded: &mut Vec<Guard>,
) {
    let (Some(cond), [edge]) = (looped.cond, &looped.back_edges(func, shape)[..]) else { return };
    let passed = func.insts[*edge].operands.clone();
    let mut flags = Vec::new();
    let verdict = func.exit(cond).operands.first().copied();
    if func.exit(cond).op.exit() != Some(Exit::Yield) {
        return;
    }
    guards(types, func, verdict, &mut flags);
    let (before, after) = (func.regions[cond].args.clone(), func.regions[looped.body].args.clone());
    let mut known = Map::default();
    for (flag, _) in &flags {
        if let Some(slot) = before.iter().position(|arg| arg == flag) {
            learn(types, func, passed[slot], true, &mut known);
        }
    }
    for slot in 0..after.len() {
        let next = resolve(types, func, &known, passed[slot]);
        // What is chosen is replaced, by what is not.
        if next == passed[slot] {
            continue;
        }
        let inits = &func.insts[looped.inst].operands;
        let is_same = |other: &usize| {
            let begins = same(func, inits[slot], inits[*other]);
            begins && steps(func, (next, after[slot]), (passed[*other], after[*other]))
        };
        let Some(other) = (0..after.len()).filter(|other| *other != slot).find(is_same) else { continue };
        if func.all_insts().iter().any(|inst| func.insts[*inst].operands.contains(&after[slot])) {
            renaming.rename(func, after[slot], after[other]);
        }
        let of_slots = flags.iter().filter(|(flag, _)| before.contains(flag));
        let regions = of_slots.filter_map(|(_, region)| *region);
        guarded.extend(regions.map(|region| Guard { region, old: before[slot], new: before[other] }));
    }
}

/// The values that must hold for a condition to hold, each with the region that only runs if it does.
fn guards(types: &Types, func: &Func, verdict: Option<Value>, found: &mut Vec<(Value, Option<Region>)>) {
    let Some(verdict) = verdict else { return };
    let Some(data) = func.def(verdict) else { return found.push((verdict, None)) };
    if data.op == Op::Math(Math::And) {
        data.operands.iter().for_each(|operand| guards(types, func, Some(*operand), found));
    }
    let (Op::If, [then, otherwise]) = (&data.op, &data.regions[..]) else { return };
    let index = data.results.iter().position(|result| *result == verdict).unwrap_or(0);
    let [then_yields, otherwise_yields] = [*then, *otherwise].map(|region| yielded(func, region, index));
    let never = otherwise_yields.and_then(|value| consts::bool(types, func, value)) == Some(false);
    if never && then_yields.is_some() {
        found.push((data.operands[0], Some(*then)));
        guards(types, func, then_yields, found);
    }
}

/// What a region yields, unless it ends otherwise.
fn yielded(func: &Func, region: Region, index: usize) -> Option<Value> {
    let exit = func.exit(region);
    (exit.op.exit() == Some(Exit::Yield)).then(|| exit.operands[index])
}

/// Notes what follows from a truth value.
fn learn(types: &Types, func: &Func, value: Value, holds: bool, known: &mut Map<Value, bool>) {
    if known.insert(value, holds).is_some() {
        return;
    }
    let Some(data) = func.def(value) else { return };
    let follows = match holds {
        true => Math::And,
        false => Math::Or,
    };
    if data.op == Op::Math(Math::Not) {
        learn(types, func, data.operands[0], !holds, known);
    }
    if data.op == Op::Math(follows) {
        data.operands.iter().for_each(|operand| learn(types, func, *operand, holds, known));
    }
    let (Op::If, [then, otherwise]) = (&data.op, &data.regions[..]) else { return };
    let index = data.results.iter().position(|result| *result == value).unwrap_or(0);
    let can = |region: Region| {
        yielded(func, region, index).filter(|value| consts::bool(types, func, *value) != Some(!holds))
    };
    let (way, value) = match (can(*then), can(*otherwise)) {
        (Some(value), None) => (true, value),
        (None, Some(value)) => (false, value),
        (Some(_), Some(_)) | (None, None) => return,
    };
    learn(types, func, data.operands[0], way, known);
    learn(types, func, value, holds, known);
}

/// What a value is if these truth values are known.
fn resolve(types: &Types, func: &Func, known: &Map<Value, bool>, value: Value) -> Value {
    let ValueDef::Result(inst, index) = func.values[value].def else { return value };
    let data = &func.insts[inst];
    let (Op::If | Op::Select) = data.op else { return value };
    let cond = data.operands[0];
    let way = consts::bool(types, func, cond).or_else(|| known.get(&cond).copied());
    let next = way.and_then(|way| match data.op == Op::Select {
        true => Some(data.operands[if way { 1 } else { 2 }]),
        false => yielded(func, data.regions[usize::from(!way)], index as usize),
    });
    next.map_or(value, |next| resolve(types, func, known, next))
}

/// Whether two values are the same step from two arguments that are equal.
fn steps(func: &Func, (a, a_from): (Value, Value), (b, b_from): (Value, Value)) -> bool {
    let (Some(one), Some(other)) = (func.def(a), func.def(b)) else { return false };
    let is_step = matches!(one.op, Op::Math(Math::Add | Math::Sub | Math::Mul)) && one.op == other.op;
    let is_equal = |(x, y): (&Value, &Value)| {
        same(func, *x, *y) || [a_from, b_from].contains(x) && [a_from, b_from].contains(y)
    };
    is_step && one.operands.iter().zip(&other.operands).all(is_equal)
}

/// Replaces the uses of a value in a region.
fn replace(func: &mut Func, guard: &Guard) -> bool {
    let mut insts = Vec::new();
    func.walk(guard.region, &mut |inst| insts.push(inst));
    let mut changed = false;
    for inst in insts {
        for operand in &mut func.insts[inst].operands {
            if *operand == guard.old {
                *operand = guard.new;
                changed = true;
            }
        }
    }
    changed
}
