//! Values passed through control flow: slots of loops that never change, slots that are always equal, and results of an `if`
//! that are the same in both branches.
//!
//! ```text
//! %s, %t = for %n (%a, %b) body(%k, %x, %y) { %x2 = mul %x %y ; yield %x2, %y }
//! ```
//!
//! `%y` and `%t` are `%b`. The slot itself is then dead, and [`dce`](crate::dce) removes it.

use crate::consts::{self, same};
use crate::edit::Renaming;
use crate::rewrite::{Change, Rewriter};
use crate::shape::{Loop, Shape};
use crate::types::holds_array;
use cotangent_base::{EntityMap, Map};
use cotangent_ir::{Exit, Func, Inst, Op, Region, Types, Value};

/// Replaces slots that do not change, and merges slots that are always equal. Says whether there were any.
///
/// Inner loops come first: if an inner loop only hands a slot through, the outer one can see that it does too.
pub(super) fn carried(types: &Types, func: &mut Func) -> bool {
    let shape = Shape::of(func);
    let mut renaming = Renaming::default();
    let mut moves = Moves::new(func);
    for inst in func.all_insts().into_iter().rev() {
        if let Some(looped) = Loop::of(func, inst) {
            invariant_slots(types, func, &shape, looped, &mut renaming, &mut moves);
            equal_slots(func, &shape, looped, &mut renaming);
        }
    }
    renaming.apply(func)
}

/// The arguments of a slot: of the body and, in a `while`, of the condition.
fn slot_args(func: &Func, looped: Loop, slot: usize) -> Vec<Value> {
    let body = func.regions[looped.body].args[looped.lead + slot];
    looped.cond.map(|cond| func.regions[cond].args[slot]).into_iter().chain([body]).collect()
}

/// The exits that carry slots, each with whether it starts the next iteration.
fn edges(func: &Func, shape: &Shape, looped: Loop) -> Vec<(Inst, bool)> {
    let exits = shape.exits(looped.inst).iter().filter(|exit| !looped.is_condition(shape, **exit));
    exits.map(|exit| (*exit, looped.is_back_edge(func, shape, *exit))).collect()
}

/// A slot that only a `break` changes is what it starts with inside the loop. Not so an array that is not only read
/// there: a carried one may be updated in place on the way out, a captured one must be copied.
fn invariant_slots(
    types: &Types,
    func: &mut Func,
    shape: &Shape,
    looped: Loop,
    renaming: &mut Renaming,
    moves: &mut Moves,
) {
    let edges = edges(func, shape, looped);
    for slot in 0..looped.slots(func) {
        let result = func.insts[looped.inst].results[slot];
        let init = renaming.get(func.insts[looped.inst].operands[looped.lead + slot]);
        let args = slot_args(func, looped, slot);
        let passed: Vec<Value> =
            edges.iter().map(|(exit, _)| renaming.get(func.insts[*exit].operands[slot])).collect();
        let is_kept = |value: &Value| *value == init || args.contains(value);
        if edges.iter().zip(&passed).any(|((_, is_back), value)| *is_back && !is_kept(value)) {
            continue;
        }
        let always = passed.iter().all(is_kept);
        let handed_on = passed.iter().filter(|value| args.contains(value)).count();
        if holds_array(types, func.ty(result)) && !(always && moves.of(&args) == handed_on) {
            continue;
        }
        moves.merge(init, result, 1 + passed.iter().filter(|value| **value == init).count());
        for old in args.into_iter().chain(always.then_some(result)) {
            renaming.rename(func, old, init);
        }
    }
}

/// How often each value is used other than to read a part of it.
struct Moves(EntityMap<Value, usize>);

impl Moves {
    fn new(func: &Func) -> Moves {
        let mut moves = EntityMap::filled(0, func.values.len());
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let reads = usize::from(matches!(data.op, Op::Extract(_)));
            for &operand in &data.operands[reads..] {
                moves[operand] += 1;
            }
        }
        Moves(moves)
    }

    fn of(&self, values: &[Value]) -> usize {
        values.iter().map(|value| self.0[*value]).sum()
    }

    /// `result` is `init` from now on, which is no longer used to carry it.
    fn merge(&mut self, init: Value, result: Value, carried: usize) {
        self.0[init] = (self.0[init] + self.0[result]).saturating_sub(carried);
    }
}

/// Slots that start equal and are passed equal values (or each its own argument) on every edge.
fn equal_slots(func: &mut Func, shape: &Shape, looped: Loop, renaming: &mut Renaming) {
    let edges = edges(func, shape, looped);
    let mut seen: Map<Vec<Option<Value>>, usize> = Map::default();
    for slot in 0..looped.slots(func) {
        let args = slot_args(func, looped, slot);
        let mut passed = |exit: Inst| {
            let value = renaming.get(func.insts[exit].operands[slot]);
            (!args.contains(&value)).then_some(value)
        };
        let mut key: Vec<Option<Value>> = edges.iter().map(|(exit, _)| passed(*exit)).collect();
        key.push(Some(renaming.get(func.insts[looped.inst].operands[looped.lead + slot])));
        let Some(&first) = seen.get(&key) else {
            seen.insert(key, slot);
            continue;
        };
        let olds = args.into_iter().chain([func.insts[looped.inst].results[slot]]);
        let news = slot_args(func, looped, first).into_iter().chain([func.insts[looped.inst].results[first]]);
        for (old, new) in olds.zip(news.collect::<Vec<_>>()) {
            renaming.rename(func, old, new);
        }
    }
}

/// Results of an `if` or `switch` that every region yields alike, or that say which way an `if` went.
pub(super) fn choice(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let regions = cx.func.insts[inst].regions.clone();
    let is_yield = |region: &Region| cx.func.exit(*region).op.exit() == Some(Exit::Yield);
    let yielding: Vec<Region> = regions.into_iter().filter(is_yield).collect();
    if yielding.len() < 2 {
        return Change::Keep;
    }
    for index in 0..cx.func.insts[inst].results.len() {
        let result = cx.func.insts[inst].results[index];
        if cx.uses(result) == 0 {
            continue;
        }
        let values: Vec<Value> = yielding.iter().map(|r| cx.func.exit(*r).operands[index]).collect();
        if let Some(value) = common(cx, inst, &values) {
            cx.rename(result, value);
        }
    }
    Change::Keep
}

/// The value, visible outside, that a choice gives whichever of `values` it is.
fn common(cx: &mut Rewriter<'_>, inst: Inst, values: &[Value]) -> Option<Value> {
    let first = values[0];
    if values.iter().all(|value| *value == first) {
        return Some(first);
    }
    if values.iter().all(|value| same(cx.func, *value, first)) {
        let constant = consts::constant(cx.types, cx.func, first)?;
        return Some(cx.constant(constant, cx.func.ty(first), inst));
    }
    let [then, otherwise] = values else { return None };
    let sides = [then, otherwise].map(|value| consts::bool(cx.types, cx.func, *value));
    let data = &cx.func.insts[inst];
    (data.op == Op::If && sides == [Some(true), Some(false)]).then_some(data.operands[0])
}
