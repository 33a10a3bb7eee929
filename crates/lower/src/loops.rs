//! Lowers loops.
//!
//! Variables assigned in the loop are its carried slots. Every loop of the source becomes a `while`:
//!
//! ```text
//! for (; c; s) b           while (slots) cond { yield c } body { b; s; yield slots }
//! do b while (c)           while (true, slots) cond(first) { if first {true} else {c} } body { b; yield false, slots }
//! ```
//!
//! A condition that assigns a variable cannot be in the condition's region, whose assignments are lost. Then the loop
//! condition is `true`, and the body begins with `if c { yield slots } else { break slots }`. In this case a bound on the
//! iteration count grows by one, for the iteration that only evaluates the condition.
//!
//! A loop whose condition is initially known to be false is omitted (`fold`).
//!
//! The step of a `for` is also written before every `continue`. But if it calls a function, lanes that `continue` may have to
//! meet the others there. Then the step is written once, after a loop of one iteration that `continue` leaves:
//!
//! ```text
//! for (; c; s()) b         while (slots) cond { yield c } body { for (1, slots) { b; yield slots }; s(); yield slots }
//! ```

use crate::assigned::{self, Assigned};
use crate::breaks;
use crate::func::Frame;
use cotangent_ir::{LoopInfo, Op, Segments, Unroll, Value};
use cotangent_sema::hir::{self, Expr, ExprKind, Label, LocalId, Loop, LoopKind};
use std::sync::Arc;

/// An IR loop that is being built.
pub(crate) struct Target {
    /// The label that `break` and `continue` of the source name; `None` for a loop that lowering added.
    pub label: Option<Label>,
    /// The variables it carries, after the flag if there is one.
    pub slots: Vec<LocalId>,
    /// Whether the first carried value says that this is the first iteration.
    pub first: bool,
    /// What runs before the next iteration.
    pub step: Option<Arc<Expr>>,
    /// Whether `continue` leaves a loop of one iteration inside, so that lanes meet at the step.
    pub meets: bool,
}

impl Frame<'_, '_> {
    /// Lowers a loop.
    pub fn loop_(&mut self, l: &Loop) {
        let span = self.span;
        let mut assigned = Assigned::new();
        assigned::loop_(l, &mut assigned);
        let slots = self.slots(&assigned);
        let late = l.cond.as_ref().is_some_and(|c| self.changes_variables(c));
        let info = self.loop_info(l, late);
        let first = l.kind == LoopKind::Post && l.cond.is_some();
        let mut init: Vec<Value> = Vec::new();
        if first {
            init.push(self.b().bool(true));
        }
        for &slot in &slots {
            init.push(self.var(slot));
        }
        let types: Vec<_> = init.iter().map(|v| self.func.ty(*v)).collect();

        let (cond, ()) = self.nested(&types, |f, args| {
            let flag = f.take_slots(&slots, first, args);
            let go_on = match &l.cond {
                Some(c) if !late => f.test(c, flag),
                _ => f.b().bool(true),
            };
            f.b().yield_(&[go_on]);
        });
        if l.kind != LoopKind::Post && !late && self.never_runs(cond, &init) {
            return;
        }
        let step = l.step.as_ref().map(|e| Arc::new(e.clone()));
        let meets =
            l.step.as_ref().is_some_and(calls) && l.body.iter().any(|s| breaks::continues(s, l.label));
        self.targets.push(Target { label: Some(l.label), slots: slots.clone(), first, step, meets });
        let (body, ()) = self.nested(&types, |f, args| {
            let flag = f.take_slots(&slots, first, args);
            if let Some(cond) = l.cond.as_ref().filter(|_| late) {
                f.test_late(cond, flag);
            }
            // A test that is known to fail leaves the loop for certain.
            if !f.is_done() {
                match meets {
                    true => f.one_round(None, &assigned, |f| f.block(&l.body)),
                    false => f.block(&l.body),
                }
            }
            if !f.is_done() {
                let values = f.next_round(f.targets.len() - 1);
                f.span = span;
                f.b().yield_(&values);
            }
        });
        self.targets.pop();

        self.span = span;
        let inst = self.b().emit(Op::While(info), &init, &types);
        self.func.insts[inst].regions.extend([cond, body]);
        let results = self.func.insts[inst].results.to_vec();
        for (&slot, &result) in slots.iter().zip(&results[usize::from(first)..]) {
            self.set_var(slot, result);
        }
    }

    /// Whether an expression assigns a variable that is in scope here.
    fn changes_variables(&self, e: &Expr) -> bool {
        let mut assigned = Assigned::new();
        assigned::expr(e, &mut assigned);
        !self.slots(&assigned).is_empty()
    }

    fn loop_info(&mut self, l: &Loop, late: bool) -> LoopInfo {
        let max_iters = l.attrs.max_iters.and_then(|val| self.known(val));
        LoopInfo {
            max_iters: max_iters.map(|n| u32::try_from(n).unwrap_or(0).saturating_add(late.into())),
            unroll: match l.attrs.unroll {
                hir::Unroll::Auto => Unroll::Auto,
                hir::Unroll::Force => Unroll::Force,
                hir::Unroll::Never => Unroll::Never,
            },
            reversed: false,
            segments: match l.attrs.segments {
                None => Segments::Auto,
                Some(hir::Segments::Of(n)) => {
                    Segments::Of(self.known(n).and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1))
                }
                Some(hir::Segments::Sqrt) => Segments::Sqrt,
                Some(hir::Segments::Log) => Segments::Log,
            },
        }
    }

    /// Makes the region's arguments the values of the slots; gives the flag of the first iteration if there is one.
    fn take_slots(&mut self, slots: &[LocalId], first: bool, args: &[Value]) -> Option<Value> {
        let (flag, args) = args.split_at(usize::from(first));
        for (&slot, &arg) in slots.iter().zip(args) {
            self.set_var(slot, arg);
        }
        flag.first().copied()
    }

    /// The condition; true in the first iteration if there is a flag that says so.
    fn test(&mut self, cond: &Expr, first: Option<Value>) -> Value {
        let Some(first) = first else {
            return self.expr(cond);
        };
        let bool = self.func.ty(first);
        let value = self.branch(Op::If, first, 2, &Assigned::new(), Some(bool), |f, arm| {
            Some(if arm == 0 { f.b().bool(true) } else { f.expr(cond) })
        });
        value.unwrap_or(first)
    }

    /// Begins an iteration with the test, leaving the innermost loop if it fails.
    fn test_late(&mut self, cond: &Expr, first: Option<Value>) {
        let Some(first) = first else {
            return self.break_unless(cond);
        };
        let mut assigned = Assigned::new();
        assigned::expr(cond, &mut assigned);
        self.branch(Op::If, first, 2, &assigned, None, |f, arm| {
            if arm == 1 {
                f.break_unless(cond);
            }
            None
        });
    }

    fn break_unless(&mut self, cond: &Expr) {
        let cond = self.expr(cond);
        self.branch(Op::If, cond, 2, &Assigned::new(), None, |f, arm| {
            if arm == 1 {
                let values = f.carried(f.targets.len() - 1);
                f.b().emit(Op::Break(0), &values, &[]);
            }
            None
        });
    }

    /// What the loop of that number carries now.
    fn carried(&mut self, target: usize) -> Vec<Value> {
        let Target { slots, first, .. } = &self.targets[target];
        let (slots, first) = (slots.clone(), *first);
        let flag = first.then(|| self.b().bool(false));
        flag.into_iter().chain(slots.into_iter().map(|s| self.var(s))).collect()
    }

    /// Runs the step and gives what the next iteration starts with.
    fn next_round(&mut self, target: usize) -> Vec<Value> {
        if let Some(step) = self.targets[target].step.clone() {
            self.eval(&step);
        }
        self.carried(target)
    }

    /// The number of the loop a label names, and how many loops out it is.
    fn target(&self, label: Label) -> Option<(usize, u32)> {
        let target = self.targets.iter().rposition(|t| t.label == Some(label))?;
        Some((target, (self.targets.len() - 1 - target) as u32))
    }

    /// `break`. That of a `switch` which is no loop in the IR stands where the case ends anyway.
    pub fn break_(&mut self, label: Label) {
        if let Some((target, depth)) = self.target(label) {
            let values = self.carried(target);
            self.b().emit(Op::Break(depth), &values, &[]);
        }
    }

    /// `continue`.
    pub fn continue_(&mut self, label: Label) {
        let Some((target, depth)) = self.target(label) else {
            return self.internal("`continue` names no loop around it");
        };
        if self.targets[target].meets {
            let values = self.carried(target + 1);
            self.b().emit(Op::Break(depth - 1), &values, &[]);
            return;
        }
        let span = self.span;
        let values = self.next_round(target);
        self.span = span;
        self.b().emit(Op::Continue(depth), &values, &[]);
    }
}

/// Whether an expression calls a function. Lanes of a wave may meet in it.
fn calls(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Call(_) | ExprKind::Property { .. }) || e.operands().into_iter().any(calls)
}
