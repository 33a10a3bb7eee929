//! Unrolls loops marked `[ForceUnroll]`.
//!
//! ```text
//! func @f(%v: f32x2, %x: f32) -> f32 {
//!   %two: i32 = const 2
//!   %s: f32 = for %two (%x) unroll(force) body(%k: i32, %a: f32) {
//!     %b: f32 = extract %v [%k]
//!     %c: f32 = mul %a, %b
//!     yield %c
//!   }
//!   return %s
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%v: f32x2, %x: f32) -> f32 {
//!   %b: f32 = extract %v [0]
//!   %c: f32 = mul %x, %b
//!   %b2: f32 = extract %v [1]
//!   %c2: f32 = mul %c, %b2
//!   return %c2
//! }
//! ```
//!
//! The trip count of a `for` must be a constant. A `while` is executed at compile time: as long as its condition can be
//! computed from known carried values, whichever way an iteration ends, there is another iteration. So `i *= 2` works as well
//! as `i += 1`, and a `break` is allowed. If every path through the body leaves the loop, there is one iteration.
//!
//! If the loop has a `break`, all its iterations go into a loop of one iteration, which the `break` leaves. If it has a
//! `continue`, each iteration goes into such a loop, which the `continue` leaves. [`exits`](crate::exits) turns those into
//! branches, unless an exit is inside another loop.
//!
//! Outer loops are unrolled first, then everything is folded, so that the bounds of inner loops may depend on the counters of
//! outer ones. The pass does not unroll other loops, and does not unroll partially.

use crate::edit::{Renaming, change_exits};
use crate::evaluate::Trial;
use crate::exits::exits;
use crate::fold::{fold, is_silent};
use crate::pass::When;
use crate::shape::{Loop, Shape};
use crate::simplify::simplify;
use cotangent_base::{Scalar, Span};
use cotangent_ir::{
    Const, Copier, Exit, Func, Inst, LoopInfo, Op, Region, RegionData, Ty, Types, Unroll, Value,
};

/// Unrolls the loops of `func` that must be, writing at most `limit` instructions. Gives the places of those that
/// could not be: their number of iterations is not a constant, or there are too many.
pub fn unroll(types: &mut Types, func: &mut Func, limit: usize) -> Vec<Span> {
    let mut left = limit;
    loop {
        if !once_through(types, func, &mut left) {
            return forced(func);
        }
        exits(types, func);
        fold(types, func);
        simplify(types, func, When::BeforeDerivatives);
    }
}

/// Unrolls the outermost of the loops that must be unrolled and can be. Says whether there were any.
fn once_through(types: &mut Types, func: &mut Func, left: &mut usize) -> bool {
    let (shape, body) = (Shape::of(func), func.body);
    let mut pass = Unroller { types, func, shape, left, renaming: Renaming::default(), changed: false };
    pass.region(body);
    let Unroller { func, renaming, changed, .. } = pass;
    renaming.apply(func);
    changed
}

/// The places of the loops that must be unrolled.
fn forced(func: &Func) -> Vec<Span> {
    let mut spans = Vec::new();
    func.walk(func.body, &mut |inst| {
        if is_forced(func, inst) {
            spans.push(func.insts[inst].span);
        }
    });
    spans
}

fn is_forced(func: &Func, inst: Inst) -> bool {
    matches!(&func.insts[inst].op, Op::While(info) | Op::For(info) if info.unroll == Unroll::Force)
}

/// What is known about the carried values at the start of an iteration, and the iteration's number if it is counted.
struct Round {
    number: Option<i64>,
    slots: Vec<Option<Const>>,
}

/// The same as values.
struct Known {
    number: Option<Value>,
    slots: Vec<Option<Value>>,
}

struct Unroller<'a> {
    types: &'a mut Types,
    func: &'a mut Func,
    shape: Shape,
    /// How many more instructions may be written.
    left: &'a mut usize,
    renaming: Renaming,
    changed: bool,
}

impl Unroller<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            let looped = Loop::of(self.func, inst).filter(|_| is_forced(self.func, inst));
            if let Some((looped, rounds)) = looped.and_then(|l| Some((l, self.rounds(l)?))) {
                self.changed = true;
                self.expand(looped, &rounds, &mut kept);
                if kept.last().is_some_and(|last| self.func.insts[*last].op.is_exit()) {
                    break;
                }
                continue;
            }
            for inner in self.func.insts[inst].regions.clone() {
                self.region(inner);
            }
            kept.push(inst);
        }
        self.func.regions[region].insts = kept;
    }

    /// The iterations of a loop, if they are known and not too many. Pays for them.
    fn rounds(&mut self, looped: Loop) -> Option<Vec<Round>> {
        let mut size = 1;
        self.func.walk(looped.body, &mut |_| size += 1);
        let most = *self.left / size;
        let rounds = match looped.cond {
            Some(cond) => self.tried_rounds(looped, cond, most)?,
            None => self.counted_rounds(looped, most)?,
        };
        *self.left -= rounds.len() * size;
        Some(rounds)
    }

    fn counted_rounds(&self, looped: Loop, most: usize) -> Option<Vec<Round>> {
        let data = &self.func.insts[looped.inst];
        let n = Trial::new(self.types, self.func, &[], &[]).value(data.operands[0])?;
        let Const::Int(n) = n else { return None };
        let n = n.max(0);
        let reversed = matches!(&data.op, Op::For(info) if info.reversed);
        let round = |k: i64| Round {
            number: Some(if reversed { n - 1 - k } else { k }),
            slots: vec![None; data.results.len()],
        };
        (usize::try_from(n).ok()? <= most).then(|| (0..n).map(round).collect())
    }

    fn tried_rounds(&self, looped: Loop, cond: Region, most: usize) -> Option<Vec<Round>> {
        if !is_silent(self.func, cond) {
            return None;
        }
        let (types, func) = (&*self.types, &*self.func);
        let (tests, args) = (&func.regions[cond].args, &func.regions[looped.body].args);
        let backs: Vec<Inst> = looped.back_edges(self.func, &self.shape);
        // Before anything is folded, `N - 1` is an operation on constants.
        let mut before = Trial::new(types, func, &[], &[]);
        let inits = func.insts[looped.inst].operands.iter();
        let mut slots: Vec<Option<Const>> = inits.map(|value| before.value(*value)).collect();
        let mut rounds = Vec::new();
        loop {
            let goes_on = Trial::new(types, func, tests, &slots).value(func.exit(cond).operands[0])?;
            if goes_on != Const::Bool(true) {
                return Some(rounds);
            }
            if rounds.len() == most {
                return None;
            }
            if backs.is_empty() {
                rounds.push(Round { number: None, slots });
                return Some(rounds);
            }
            let mut trial = Trial::new(types, func, args, &slots);
            let mut next = |slot: usize| {
                let mut passed = backs.iter().map(|exit| trial.value(func.insts[*exit].operands[slot]));
                let first = passed.next()??;
                passed.all(|other| other == Some(first)).then_some(first)
            };
            let next = (0..slots.len()).map(&mut next).collect();
            rounds.push(Round { number: None, slots: std::mem::replace(&mut slots, next) });
        }
    }

    /// Appends the iterations of a loop to `kept`.
    fn expand(&mut self, looped: Loop, rounds: &[Round], kept: &mut Vec<Inst>) {
        let exits = self.shape.exits(looped.inst).iter().map(|exit| self.func.insts[*exit].op.exit());
        let (mut breaks, mut continues) = (false, false);
        for exit in exits {
            breaks |= matches!(exit, Some(Exit::Break(_)));
            continues |= matches!(exit, Some(Exit::Continue(_)));
        }
        let data = &self.func.insts[looped.inst];
        let (inits, results) = (data.operands[looped.lead..].to_vec(), data.results.to_vec());
        let copy = Copy { looped, breaks, continues };
        let last = if breaks {
            self.once(looped.inst, &inits, kept, |this, args, out| this.write(&copy, rounds, args, out))
        } else {
            self.write(&copy, rounds, &inits, kept)
        };
        for (&old, &new) in results.iter().zip(last.iter().flatten()) {
            self.renaming.rename(self.func, old, new);
        }
    }

    /// Appends all rounds to `out`. Gives the values after the last, unless a round never ends normally.
    fn write(
        &mut self,
        copy: &Copy,
        rounds: &[Round],
        inits: &[Value],
        out: &mut Vec<Inst>,
    ) -> Option<Vec<Value>> {
        let mut values = inits.to_vec();
        for round in rounds {
            let known = self.known(copy.looped, round, &values, out);
            values = if copy.continues {
                self.once(copy.looped.inst, &values, out, |this, args, out| {
                    this.round(copy, &known, args, out)
                })?
            } else {
                self.round(copy, &known, &values, out)?
            };
        }
        Some(values)
    }

    /// The constants of an iteration: its number, if any, and for each slot whether it is known.
    fn known(&mut self, looped: Loop, round: &Round, values: &[Value], out: &mut Vec<Inst>) -> Known {
        let counter = self.func.regions[looped.body].args.first().map(|arg| self.func.ty(*arg));
        let number = round.number.zip(counter);
        let number = number.map(|(n, ty)| self.constant(looped.inst, Const::Int(n), ty, out));
        let slots = round.slots.iter().zip(values);
        let slots =
            slots.map(|(slot, value)| slot.map(|c| self.constant(looped.inst, c, self.func.ty(*value), out)));
        Known { number, slots: slots.collect() }
    }

    fn constant(&mut self, like: Inst, constant: Const, ty: Ty, out: &mut Vec<Inst>) -> Value {
        let inst = self.func.new_inst(Op::Const(constant), &[], &[ty], self.func.insts[like].span);
        out.push(inst);
        self.func.insts[inst].results[0]
    }

    /// Appends one round to `out`. Gives the values for the next, unless this one never ends normally.
    fn round(
        &mut self,
        copy: &Copy,
        known: &Known,
        values: &[Value],
        out: &mut Vec<Inst>,
    ) -> Option<Vec<Value>> {
        let values = known.slots.iter().zip(values).map(|(known, value)| known.unwrap_or(*value));
        let RegionData { args, insts } = self.func.regions[copy.looped.body].clone();
        let mut copier = Copier::new();
        for (arg, value) in args.into_iter().zip(known.number.into_iter().chain(values)) {
            copier.rename(arg, value);
        }
        let start = out.len();
        out.extend(insts.into_iter().map(|inst| copier.again(self.func, inst)));
        change_exits(self.func, &out[start..], 0, &|exit, depth| copy.exit(exit, depth));
        let exit = out.pop_if(|exit| self.func.insts[*exit].op == Op::Yield)?;
        Some(self.func.insts[exit].operands.to_vec())
    }

    /// Appends a loop of one iteration, whose body `write` writes, and gives its results.
    fn once(
        &mut self,
        like: Inst,
        inits: &[Value],
        out: &mut Vec<Inst>,
        write: impl FnOnce(&mut Self, &[Value], &mut Vec<Inst>) -> Option<Vec<Value>>,
    ) -> Option<Vec<Value>> {
        let span = self.func.insts[like].span;
        let int = self.types.scalar(Scalar::I32);
        let types: Vec<Ty> = inits.iter().map(|v| self.func.ty(*v)).collect();
        let region = self.func.new_region();
        self.func.add_arg(region, int);
        let args: Vec<Value> = types.iter().map(|ty| self.func.add_arg(region, *ty)).collect();
        let mut body = Vec::new();
        if let Some(values) = write(self, &args, &mut body) {
            body.push(self.func.new_inst(Op::Yield, &values, &[], span));
        }
        self.func.regions[region].insts = body;
        let one = self.func.new_inst(Op::Const(Const::Int(1)), &[], &[int], span);
        let count = self.func.insts[one].results[0];
        let info = LoopInfo { max_iters: Some(1), ..LoopInfo::default() };
        let inst = self.func.new_inst(Op::For(info), &[&[count], inits].concat(), &types, span);
        self.func.insts[inst].regions.push(region);
        out.extend([one, inst]);
        Some(self.func.insts[inst].results.to_vec())
    }
}

/// A loop whose rounds are copied, and which loops of one round stand around a copy.
struct Copy {
    looped: Loop,
    /// Whether all rounds are in a loop that a `break` leaves.
    breaks: bool,
    /// Whether each iteration is in a loop that a `continue` leaves.
    continues: bool,
}

impl Copy {
    /// What an exit becomes in a copy, `depth` loops inside an iteration.
    fn exit(&self, exit: Exit, depth: u32) -> Exit {
        let (inner, outer) = (u32::from(self.continues), u32::from(self.breaks));
        let beyond = |out: u32| out + inner + outer - 1;
        match exit {
            Exit::Break(out) if out == depth => Exit::Break(out + inner),
            Exit::Continue(out) if out == depth => Exit::Break(out),
            Exit::Break(out) if out > depth => Exit::Break(beyond(out)),
            Exit::Continue(out) if out > depth => Exit::Continue(beyond(out)),
            Exit::Break(_) | Exit::Continue(_) | Exit::Yield | Exit::Return => exit,
        }
    }
}
