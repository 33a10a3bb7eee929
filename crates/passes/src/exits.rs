//! Removes loops that run exactly once, by turning their exits into values.
//!
//! ```text
//! func @f(%c: bool, %x: f32, %y: f32) -> f32 {
//!   %one: i32 = const 1
//!   %r: f32 = for %one (%x) body(%k: i32, %a: f32) {
//!     %t: f32 = if %c {
//!       break 0 %x
//!     } else {
//!       yield %y
//!     }
//!     %s: f32 = sin %t
//!     yield %s
//!   }
//!   return %r
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%c: bool, %x: f32, %y: f32) -> f32 {
//!   %r: f32 = if %c {
//!     yield %x
//!   } else {
//!     %s: f32 = sin %y
//!     yield %s
//!   }
//!   return %r
//! }
//! ```
//!
//! [`inline_calls`](crate::inline) and [`unroll`](crate::unroll) create such loops to express early exits: a `break` leaves
//! the loop of one iteration. Programs write `do { .. } while (false)` for the same purpose. This pass turns both into
//! branches:
//!
//! - If at most one branch of an `if` or `switch` continues, the rest of the code moves into that branch, and the `if` yields
//!   the results of the loop.
//! - Otherwise the `if` also yields whether it continues, and the rest moves into an `if` on that value.
//!
//! Nothing is duplicated. A loop of one iteration stays if an exit leaves it from within an inner loop, or if it has very
//! many exits. All other loops stay too: `prepare` removes their exits where derivatives need it.

use crate::consts;
use crate::edit::{Renaming, change_exits};
use crate::loop_bound;
use crate::shape::{Loop, Shape};
use cotangent_base::{EntitySet, Scalar};
use cotangent_ir::{Exit, Func, Inst, Op, Region, Ty, Types, Value};

/// A loop that is left in more places than this stays. Each may nest the rest of the code one level deeper, and all that
/// reads code goes as deep.
const MOST_EXITS: usize = 64;

/// Removes loops of one iteration from `func`, where it can. Says whether there were any.
pub fn exits(types: &mut Types, func: &mut Func) -> bool {
    let mut changed = false;
    loop {
        let shape = Shape::of(func);
        let loops = removable(types, func, &shape);
        if loops.is_empty() {
            return changed;
        }
        changed = true;
        let body = func.body;
        let mut pass =
            Exits { types, func, shape, loops, leaving: EntitySet::new(), renaming: Renaming::default() };
        pass.region(body);
        let Exits { func, renaming, .. } = pass;
        renaming.apply(func);
    }
}

/// The loops that can be removed and have no other such loop inside.
fn removable(types: &Types, func: &Func, shape: &Shape) -> EntitySet<Inst> {
    let mut found = EntitySet::new();
    let mut holds_one = EntitySet::new();
    for inst in func.all_insts().into_iter().rev() {
        if runs_once(types, func, shape, inst)
            && is_left_directly(func, shape, inst)
            && !holds_one.contains(inst)
        {
            found.insert(inst);
            holds_one.insert(inst);
        }
        if let Some(parent) = shape.parent(inst)
            && holds_one.contains(inst)
        {
            holds_one.insert(parent);
        }
    }
    found
}

fn runs_once(types: &Types, func: &Func, shape: &Shape, inst: Inst) -> bool {
    let Some(looped) = Loop::of(func, inst) else { return false };
    match looped.cond {
        None => consts::int(types, func, func.insts[inst].operands[0]) == Some(1),
        Some(_) => loop_bound::is_one(types, func, shape, looped),
    }
}

/// Whether the exits that end at `inst` are few, and none is inside another loop.
fn is_left_directly(func: &Func, shape: &Shape, inst: Inst) -> bool {
    let exits = shape.exits(inst);
    exits.len() <= MOST_EXITS
        && exits.iter().all(|exit| match func.insts[*exit].op.exit() {
            Some(Exit::Break(out) | Exit::Continue(out)) => out == 0,
            Some(Exit::Yield | Exit::Return) | None => true,
        })
}

struct Exits<'a> {
    types: &'a mut Types,
    func: &'a mut Func,
    shape: Shape,
    loops: EntitySet<Inst>,
    /// The choices with an exit inside that ends at the loop being removed.
    leaving: EntitySet<Inst>,
    renaming: Renaming,
}

/// What the regions of a choice hand on.
enum Mode<'a> {
    /// The results of the loop.
    Results,
    /// Whether the code after the choice runs, the choice's own results, and the results of the loop.
    Flagged { choice: Inst, own: &'a [Ty] },
}

impl Exits<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            for inner in self.func.insts[inst].regions.clone() {
                self.region(inner);
            }
            if !self.loops.contains(inst) {
                kept.push(inst);
            } else if self.remove(inst, &mut kept) {
                break;
            }
        }
        self.func.regions[region].insts = kept;
    }

    /// Appends what the loop `inst` does to `kept`. Says whether what follows is never reached.
    fn remove(&mut self, inst: Inst, kept: &mut Vec<Inst>) -> bool {
        let Some(looped) = Loop::of(self.func, inst) else {
            return false;
        };
        for exit in self.shape.exits(inst).to_vec() {
            let mut at = self.shape.parent(exit);
            while let Some(choice) = at.filter(|choice| *choice != inst && self.leaving.insert(*choice)) {
                at = self.shape.parent(choice);
            }
        }
        let types: Vec<Ty> = self.types_of(&self.func.insts[inst].results.clone());
        self.lower(looped.body, inst, &types, &Mode::Results);
        self.bind(looped, kept);
        let mut insts = std::mem::take(&mut self.func.regions[looped.body].insts);
        change_exits(self.func, &insts, 0, &nearer);
        kept.append(&mut insts);
        let Some(exit) = kept.pop_if(|exit| self.func.insts[*exit].op == Op::Yield) else {
            return true;
        };
        let values = self.func.insts[exit].operands.clone();
        self.rename(&self.func.insts[inst].results.clone(), &values);
        false
    }

    /// The arguments of the body are the initial values and, in a counted loop, iteration number 0.
    fn bind(&mut self, looped: Loop, kept: &mut Vec<Inst>) {
        let span = self.func.insts[looped.inst].span;
        let args = self.func.regions[looped.body].args.clone();
        let (counters, slots) = args.split_at(looped.lead);
        for &counter in counters {
            let zero = self.func.new_inst(Op::Zero, &[], &[self.func.ty(counter)], span);
            kept.push(zero);
            self.rename(&[counter], &self.func.insts[zero].results.clone());
        }
        let inits = self.func.insts[looped.inst].operands[looped.lead..].to_vec();
        self.rename(slots, &inits);
    }

    /// Rewrites `region` so that it yields what `mode` says in place of leaving the loop `target`.
    fn lower(&mut self, region: Region, target: Inst, slots: &[Ty], mode: &Mode<'_>) {
        let insts = &self.func.regions[region].insts;
        let Some(at) = insts.iter().position(|inst| self.leaving.contains(*inst)) else {
            return self.lower_exit(region, target, slots, mode);
        };
        let choice = insts[at];
        let rest = self.func.regions[region].insts.split_off(at + 1);
        let branches = self.func.insts[choice].regions.clone();
        let goes_on = |branch: &Region| self.func.exit(*branch).op.exit() == Some(Exit::Yield);
        let going_on: Vec<Region> = branches.iter().copied().filter(goes_on).collect();
        let result = if going_on.len() <= 1 {
            if let [branch] = going_on[..] {
                self.move_into(branch, choice, rest);
            }
            for branch in branches {
                self.lower(branch, target, slots, mode);
            }
            let types = self.mode_types(slots, mode);
            self.new_results(choice, &types)
        } else {
            self.flag(region, choice, rest, target, slots, mode)
        };
        self.emit(region, Op::Yield, &result, &[], choice);
    }

    /// Appends the code after `choice` to the one branch that goes on.
    fn move_into(&mut self, branch: Region, choice: Inst, rest: Vec<Inst>) {
        let Some(exit) = self.func.regions[branch].insts.pop() else {
            return;
        };
        let values = self.func.insts[exit].operands.clone();
        self.rename(&self.func.insts[choice].results.clone(), &values);
        self.func.regions[branch].insts.extend(rest);
    }

    /// Makes `choice` say whether it goes on, and puts the code after it under that condition.
    fn flag(
        &mut self,
        region: Region,
        choice: Inst,
        rest: Vec<Inst>,
        target: Inst,
        slots: &[Ty],
        mode: &Mode<'_>,
    ) -> Vec<Value> {
        let old = self.func.insts[choice].results.to_vec();
        let own = self.types_of(&old);
        let flagged = Mode::Flagged { choice, own: &own };
        for branch in self.func.insts[choice].regions.clone() {
            self.lower(branch, target, slots, &flagged);
        }
        let types = self.flag_types(slots, &own);
        let results = self.new_results(choice, &types);
        let (flag, values) = (results[0], &results[1..]);
        self.rename(&old, &values[..own.len()]);
        let [then, otherwise] = [self.func.new_region(), self.func.new_region()];
        self.func.regions[then].insts = rest;
        self.lower(then, target, slots, mode);
        let leave = self.emit(otherwise, Op::Break(0), &values[own.len()..], &[], choice);
        self.write_exit(otherwise, leave, slots, mode, true);
        let types = self.mode_types(slots, mode);
        let goes_on = self.emit(region, Op::If, &[flag], &types, choice);
        self.func.insts[goes_on].regions.extend([then, otherwise]);
        self.func.insts[goes_on].results.to_vec()
    }

    /// Rewrites the exit of a region without any choice that leaves.
    fn lower_exit(&mut self, region: Region, target: Inst, slots: &[Ty], mode: &Mode<'_>) {
        let Some(&exit) = self.func.regions[region].insts.last() else {
            return;
        };
        // An exit made by this pass ends its own region, as it should.
        let ends_at = if self.shape.knows(exit) {
            self.shape.target(exit)
        } else {
            return;
        };
        let falls = matches!(mode, Mode::Flagged { choice, .. } if ends_at == Some(*choice));
        if ends_at == Some(target) || falls {
            self.write_exit(region, exit, slots, mode, ends_at == Some(target));
        }
    }

    /// Makes `exit` a `yield` of what `mode` asks for; its operands are the results of the loop if it `leaves`,
    /// else those of the choice.
    fn write_exit(&mut self, region: Region, exit: Inst, slots: &[Ty], mode: &Mode<'_>, leaves: bool) {
        let values = self.func.insts[exit].operands.to_vec();
        let operands = match mode {
            Mode::Results => values,
            Mode::Flagged { own, .. } => {
                self.func.regions[region].insts.pop();
                let bool = self.types.scalar(Scalar::Bool);
                let flag = cotangent_ir::Const::Bool(!leaves);
                let flag = self.emit(region, Op::Const(flag), &[], &[bool], exit);
                let missing: &[Ty] = if leaves { own } else { slots };
                let fill: Vec<Value> = missing.iter().map(|ty| self.undef(region, *ty, exit)).collect();
                self.func.regions[region].insts.push(exit);
                let flag = self.func.insts[flag].results[0];
                if leaves {
                    [&[flag], &fill[..], &values].concat()
                } else {
                    [&[flag], &values[..], &fill].concat()
                }
            }
        };
        let data = &mut self.func.insts[exit];
        data.op = Op::Yield;
        data.operands = operands.into();
    }

    fn undef(&mut self, region: Region, ty: Ty, like: Inst) -> Value {
        let inst = self.emit(region, Op::Undef, &[], &[ty], like);
        self.func.insts[inst].results[0]
    }

    fn emit(&mut self, region: Region, op: Op, operands: &[Value], results: &[Ty], like: Inst) -> Inst {
        let span = self.func.insts[like].span;
        let inst = self.func.new_inst(op, operands, results, span);
        self.func.regions[region].insts.push(inst);
        inst
    }

    fn mode_types(&mut self, slots: &[Ty], mode: &Mode<'_>) -> Vec<Ty> {
        match mode {
            Mode::Results => slots.to_vec(),
            Mode::Flagged { own, .. } => self.flag_types(slots, own),
        }
    }

    fn flag_types(&mut self, slots: &[Ty], own: &[Ty]) -> Vec<Ty> {
        [&[self.types.scalar(Scalar::Bool)], own, slots].concat()
    }

    fn types_of(&self, values: &[Value]) -> Vec<Ty> {
        values.iter().map(|v| self.func.ty(*v)).collect()
    }

    fn new_results(&mut self, inst: Inst, types: &[Ty]) -> Vec<Value> {
        self.func.insts[inst].results.clear();
        types.iter().map(|ty| self.func.add_result(inst, *ty)).collect()
    }

    fn rename(&mut self, old: &[Value], new: &[Value]) {
        for (&old, &new) in old.iter().zip(new) {
            self.renaming.rename(self.func, old, new);
        }
    }
}

/// Exits out of a loop that is about to go have one loop less to cross.
fn nearer(exit: Exit, depth: u32) -> Exit {
    match exit {
        Exit::Break(out) if out > depth => Exit::Break(out - 1),
        Exit::Continue(out) if out > depth => Exit::Continue(out - 1),
        Exit::Break(_) | Exit::Continue(_) | Exit::Yield | Exit::Return => exit,
    }
}
