//! Bounds the trip count of a loop.
//!
//! Input: a loop and the function around it. Output: the largest number of iterations, if it can be determined. It changes nothing.
//!
//! The backward pass stores values per iteration, so it needs a bound. A bound is found from the conditions under which the
//! loop continues: the parts of its condition that must all hold (`a && b` has two), and every `if (c) break;` that each
//! iteration reaches. Each part that can be bounded bounds the loop.
//!
//! ```text
//! for (i = 0; i < min(n, 16); i++)       16 iterations  a counter that grows by at least 1, and its limit
//! for (i = 0; i + 1 < 16; i++)           15             the same, a constant away from it
//! for (i = 1; i < 1000; i *= 2)          10             one that is multiplied
//! while (n > 0) n >>= 1                  31             one that shrinks by division
//! for (t = 0.0; t < 1.0; t += 0.1)       10             anything that follows from constants: it is tried out
//! do { .. i++; } while (i < 8)           8              the first iteration is not tested
//! do { .. } while (false)                1              a condition that fails after any iteration
//! ```
//!
//! [`range`] computes the range of an integer. [`progress`] computes how long a counter with a regular step takes to reach a
//! limit. For other conditions, the analysis executes the loop at compile time, if the condition depends on constants only.

mod progress;
mod range;

use crate::consts;
use crate::evaluate::Trial;
use crate::fold::is_silent;
use crate::shape::{Loop, Shape};
use cotangent_ir::eval::Eval;
use cotangent_ir::{Const, Exit, Func, Inst, Math, Op, Region, Types, Value, ValueDef};
use range::Ranges;

/// The largest bound that is inferred from what numbers could be. Room for more is not set aside unasked.
const LARGEST: u32 = 1 << 16;

/// The longest loop that is tried out.
const LONGEST_TRIAL: u32 = 4096;

/// The most iterations that `looped` can have.
pub fn most(types: &Types, func: &Func, shape: &Shape, looped: Loop) -> Option<u32> {
    let bounds = Bounds { types, func, ranges: Ranges { types, func, shape }, looped };
    match looped.cond {
        Some(cond) => bounds.of_while(cond),
        None => bounds.of_for(),
    }
}

/// Whether `looped` makes exactly one iteration, unless that is left early: its condition holds at first, fails after every
/// iteration, and has no effect.
pub fn is_one(types: &Types, func: &Func, shape: &Shape, looped: Loop) -> bool {
    let Some(cond) = looped.cond.filter(|cond| is_silent(func, *cond)) else { return false };
    let asked = |values: &[Value], eval: Eval| {
        let known: Vec<_> = values.iter().map(|v| consts::constant(types, func, *v)).collect();
        Trial::with(types, func, &func.regions[cond].args, &known, eval).value(func.exit(cond).operands[0])
    };
    // Finite differences are taken with more digits.
    [Eval::default(), Eval { wide: true }].into_iter().all(|eval| {
        let ends = |exit: &Inst| asked(&func.insts[*exit].operands, eval) == Some(Const::Bool(false));
        asked(&func.insts[looped.inst].operands, eval) == Some(Const::Bool(true))
            && looped.back_edges(func, shape).iter().all(ends)
    })
}

struct Bounds<'a> {
    types: &'a Types,
    func: &'a Func,
    ranges: Ranges<'a>,
    looped: Loop,
}

/// One of the things that must hold for a loop to go on.
#[derive(Clone, Copy)]
struct Asked {
    value: Value,
    /// Whether `value` must be true, or false.
    wanted: bool,
    /// The region whose arguments are the slots it is asked of.
    region: Region,
    /// Whether it is asked in the first iteration.
    at_once: bool,
    /// How many iterations begin although it does not hold: one, if it is asked in the middle of an iteration.
    more: u32,
}

/// What moves by a rule and is compared: a slot, or what is a constant away from it.
struct Counter {
    slot: usize,
    plus: i128,
}

impl Bounds<'_> {
    fn of_for(&self) -> Option<u32> {
        let count = self.ranges.of(self.func.insts[self.looped.inst].operands[0])?;
        let most = u32::try_from(count.high.max(0)).ok()?;
        (count.is_one() || most <= LARGEST).then_some(most)
    }

    fn of_while(&self, cond: Region) -> Option<u32> {
        if self.back_edges().is_empty() {
            return Some(1);
        }
        let mut parts = Vec::new();
        let whole = self.func.exit(cond).operands[0];
        self.split(Asked { value: whole, wanted: true, region: cond, at_once: true, more: 0 }, &mut parts);
        self.guards(&mut parts);
        parts.into_iter().filter_map(|part| self.of_part(part)).min()
    }

    /// The parts of a condition that must all hold.
    fn split(&self, asked: Asked, parts: &mut Vec<Asked>) {
        // A variable of the loop, as in `while (again)`, is a part by itself.
        let Some(data) = self.func.def(asked.value) else { return parts.push(asked) };
        match (&data.op, &data.operands[..]) {
            (Op::Math(Math::And), &[a, b]) if asked.wanted => {
                self.split(Asked { value: a, ..asked }, parts);
                self.split(Asked { value: b, ..asked }, parts);
            }
            (Op::Math(Math::Or), &[a, b]) if !asked.wanted => {
                self.split(Asked { value: a, ..asked }, parts);
                self.split(Asked { value: b, ..asked }, parts);
            }
            (Op::Math(Math::Not), &[a]) => {
                self.split(Asked { value: a, wanted: !asked.wanted, ..asked }, parts);
            }
            (Op::If, &[first]) if data.results.len() == 1 => {
                self.split_choice(asked, first, &data.regions, parts)
            }
            _ if consts::bool(self.types, self.func, asked.value).is_some() => {}
            _ => parts.push(asked),
        }
    }

    /// `a && b` yields false unless `a`; `a || b` yields true if `a`; in `do b while (c)` the condition is true in the first
    /// iteration, whatever `c` is.
    fn split_choice(&self, asked: Asked, first: Value, regions: &[Region], parts: &mut Vec<Asked>) {
        let yielded = |region: Region| {
            let exit = self.func.exit(region);
            (exit.op == Op::Yield).then(|| exit.operands[0])
        };
        let (Some(then), Some(other)) = (yielded(regions[0]), yielded(regions[1])) else { return };
        let constant = |value| consts::bool(self.types, self.func, value);
        if constant(other) == Some(!asked.wanted) {
            self.split(Asked { value: first, wanted: true, ..asked }, parts);
            self.split(Asked { value: then, ..asked }, parts);
        } else if constant(then) == Some(!asked.wanted) {
            self.split(Asked { value: first, wanted: false, ..asked }, parts);
            self.split(Asked { value: other, ..asked }, parts);
        } else if constant(then) == Some(asked.wanted) && self.is_first_iteration(first, asked.region) {
            self.split(Asked { value: other, at_once: false, ..asked }, parts);
        }
    }

    /// Whether `flag` is a slot that is true in the first iteration and false from then on.
    fn is_first_iteration(&self, flag: Value, region: Region) -> bool {
        let Some(slot) = self.slot(flag, region) else { return false };
        let start = self.func.insts[self.looped.inst].operands[slot];
        let constant = |value| consts::bool(self.types, self.func, value);
        let over = |exit: &Inst| constant(self.func.insts[*exit].operands[slot]) == Some(false);
        constant(start) == Some(true) && self.back_edges().iter().all(over)
    }

    /// `if (c) break;` that every iteration reaches: in the body itself, and before anything that may start the next iteration.
    fn guards(&self, parts: &mut Vec<Asked>) {
        let region = self.looped.body;
        let skipping: Vec<Inst> =
            self.back_edges().into_iter().filter_map(|exit| self.in_body(exit)).collect();
        for &inst in &self.func.regions[region].insts {
            if skipping.contains(&inst) {
                return;
            }
            let data = &self.func.insts[inst];
            let Op::If = data.op else { continue };
            let leaves = |branch: Region| match self.func.exit(branch).op.exit() {
                Some(Exit::Break(_) | Exit::Return) => true,
                Some(Exit::Yield | Exit::Continue(_)) | None => false,
            };
            let wanted = match (leaves(data.regions[0]), leaves(data.regions[1])) {
                (true, false) => false,
                (false, true) => true,
                (true, true) | (false, false) => continue,
            };
            let asked = Asked { value: data.operands[0], wanted, region, at_once: true, more: 1 };
            self.split(asked, parts);
        }
    }

    /// The instruction of the body itself in which `inst` is.
    fn in_body(&self, mut inst: Inst) -> Option<Inst> {
        while self.ranges.shape.home(inst)? != self.looped.body {
            inst = self.ranges.shape.parent(inst)?;
        }
        Some(inst)
    }

    fn of_part(&self, part: Asked) -> Option<u32> {
        let found = self.of_comparison(part).or_else(|| self.tried(part))?;
        found.checked_add(part.more).filter(|n| *n < i32::MAX as u32)
    }

    /// A slot that moves by a rule, compared with something.
    fn of_comparison(&self, part: Asked) -> Option<u32> {
        let data = self.func.def(part.value)?;
        let (Op::Math(math), &[a, b]) = (&data.op, &data.operands[..]) else { return None };
        let math = if part.wanted { *math } else { negated(*math)? };
        let (counter, math, limit) = match (self.counter(a, part.region), self.counter(b, part.region)) {
            (Some(counter), None) => (counter, math, b),
            (None, Some(counter)) => (counter, mirrored(math)?, a),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        let Counter { slot, plus } = counter;
        let limit = self.ranges.of(limit)?;
        let all = self.ranges.all(self.func.regions[self.looped.body].args[slot])?;
        let way = self.ranges.way(self.looped, slot).filter(|way| plus == 0 || way.is_sum())?;
        let start = self.ranges.of(self.func.insts[self.looped.inst].operands[slot])?.plus(plus);
        if !all.contains(start) {
            return None;
        }
        let most = if part.at_once {
            way.iterations(start, math, limit, all)?
        } else {
            way.iterations(way.after(start, all)?, math, limit, all)?.checked_add(1)?
        };
        ((start.is_one() && limit.is_one()) || most <= LARGEST).then_some(most)
    }

    /// The number of iterations in which a part holds, if that follows from constants. A part that is not known at first is
    /// taken to hold then.
    fn tried(&self, part: Asked) -> Option<u32> {
        let exact = self.tried_by(part, Eval::default())?;
        // Finite differences are taken with more digits, which may take another iteration.
        Some(exact.max(self.tried_by(part, Eval { wide: true })?))
    }

    fn tried_by(&self, part: Asked, eval: Eval) -> Option<u32> {
        let (types, func) = (self.types, self.func);
        let tests = &func.regions[part.region].args[..];
        let args = &func.regions[self.looped.body].args[..];
        let backs = self.back_edges();
        let init = |value: &Value| consts::constant(types, func, *value);
        let mut slots: Vec<Option<Const>> = func.insts[self.looped.inst].operands.iter().map(init).collect();
        for iteration in 0..=LONGEST_TRIAL {
            if part.at_once || iteration > 0 {
                match Trial::with(types, func, tests, &slots, eval).value(part.value) {
                    Some(holds) if holds == Const::Bool(part.wanted) => {}
                    Some(_) => return Some(iteration),
                    None if iteration == 0 => {}
                    None => return None,
                }
            }
            let mut trial = Trial::with(types, func, args, &slots, eval);
            let mut next = |slot: usize| {
                let mut passed = backs.iter().map(|exit| trial.value(func.insts[*exit].operands[slot]));
                let first = passed.next()??;
                passed.all(|other| other == Some(first)).then_some(first)
            };
            slots = (0..slots.len()).map(&mut next).collect();
        }
        None
    }

    /// The slot that `value` is, or is a constant away from, where `region` begins.
    fn counter(&self, value: Value, region: Region) -> Option<Counter> {
        if let Some(slot) = self.slot(value, region) {
            return Some(Counter { slot, plus: 0 });
        }
        let data = self.func.def(value)?;
        let &[a, b] = &data.operands[..] else { return None };
        let constant = |value| consts::int(self.types, self.func, value).map(i128::from);
        if data.op == Op::Math(Math::Sub) {
            return Some(Counter { slot: self.slot(a, region)?, plus: -constant(b)? });
        }
        if data.op != Op::Math(Math::Add) {
            return None;
        }
        match (self.slot(a, region), self.slot(b, region)) {
            (Some(slot), None) => Some(Counter { slot, plus: constant(b)? }),
            (None, Some(slot)) => Some(Counter { slot, plus: constant(a)? }),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    /// Which slot `value` is where `region` begins.
    fn slot(&self, value: Value, region: Region) -> Option<usize> {
        match self.func.values[value].def {
            ValueDef::Arg(of, index) if of == region => Some(index as usize),
            ValueDef::Arg(..) | ValueDef::Result(..) => None,
        }
    }

    fn back_edges(&self) -> Vec<Inst> {
        self.looped.back_edges(self.func, self.ranges.shape)
    }
}

/// `b op a` as `a op' b`.
fn mirrored(math: Math) -> Option<Math> {
    let pairs = [(Math::Lt, Math::Gt), (Math::Le, Math::Ge), (Math::Gt, Math::Lt), (Math::Ge, Math::Le)];
    let same = [Math::Ne, Math::Eq].into_iter().find(|same| *same == math);
    same.or_else(|| pairs.into_iter().find_map(|(from, to)| (from == math).then_some(to)))
}

/// What holds of integers if the comparison does not.
fn negated(math: Math) -> Option<Math> {
    let pairs = [
        (Math::Lt, Math::Ge),
        (Math::Ge, Math::Lt),
        (Math::Gt, Math::Le),
        (Math::Le, Math::Gt),
        (Math::Eq, Math::Ne),
        (Math::Ne, Math::Eq),
    ];
    pairs.into_iter().find_map(|(from, to)| (from == math).then_some(to))
}
