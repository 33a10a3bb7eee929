//! Lowers `switch`.
//!
//! If a case falls through, the code of the next case is duplicated in it, so that every region is complete. A `break` at the
//! end of a case is the end of its region; `breaks` moves code to achieve this where it can. Any other `break` leaves a loop
//! of one iteration around the `switch`:
//!
//! ```text
//! switch (i) { case 0: for (;;) { if (c) break outer; .. } }      for 1 (..) { switch %i { .. break 1 .. } yield .. }
//! ```
//!
//! A case with several values becomes one: the selector is mapped to the first of them.
//!
//! If duplication would produce too much code, the cases follow one another in the same kind of loop, and each runs if the
//! selected case is not after it:
//!
//! ```text
//! switch (i) { case 5: a; case 7: b; .. }      for 1 (..) { %first = ..; if %first <= 0 { a } if %first <= 1 { b } .. }
//! ```

use crate::assigned::{self, Assigned};
use crate::breaks;
use crate::codes;
use crate::func::Frame;
use crate::loops::Target;
use crate::target_code::Refused;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_ir::layout::Target as For;
use cotangent_ir::{Const, LoopInfo, Math, Op, Stage, Type, Value};
use cotangent_sema::capability;
use cotangent_sema::hir::{Block, Case, Expr, ExprKind, Label, LocalId, Platform, Stmt, StmtKind};

/// How many statements falling through may write out again.
const MAX_COPIES: usize = 100;

/// A region of the `switch`: the statements of a case and of those it falls into.
struct Arm<'a> {
    /// The value, or `None` for `default`.
    value: Option<i64>,
    stmts: Vec<&'a Stmt>,
    /// The number of the first case.
    case: usize,
}

impl Frame<'_, '_> {
    /// Lowers a `switch`.
    pub fn switch(&mut self, label: Label, selector: &Expr, cases: &[Case]) {
        if let ExprKind::Platform(on) = selector.kind {
            return self.platform_switch(label, on, cases);
        }
        let selector = self.expr(selector);
        let selector = self.integer(selector);
        let mut arms = arms(cases, label);
        let mut assigned = Assigned::new();
        cases.iter().for_each(|c| assigned::block(&c.body, &mut assigned));
        let once: usize = cases.iter().map(|c| c.body.len()).sum();
        let copied: usize = arms.iter().map(|a| a.stmts.len()).sum();
        if copied > once + MAX_COPIES {
            self.one_round(Some(label), &assigned, |f| f.in_order(selector, cases, &assigned));
            return;
        }
        let sunk: Vec<Option<Block>> = arms.iter().map(|a| breaks::sunk(&a.stmts, label)).collect();
        for (arm, sunk) in arms.iter_mut().zip(&sunk) {
            if let Some(sunk) = sunk {
                arm.stmts = sunk.iter().collect();
            }
        }
        let selector = self.merged(selector, cases);
        if arms.iter().all(|a| breaks::only_last(&a.stmts, label)) {
            self.emit_switch(selector, cases, &arms, &assigned);
        } else {
            self.one_round(Some(label), &assigned, |f| f.emit_switch(selector, cases, &arms, &assigned));
        }
    }

    /// The case for the target or stage, and nothing of the others.
    fn platform_switch(&mut self, label: Label, on: Platform, cases: &[Case]) {
        let target = self.lowerer.options.target;
        let number = match on {
            Platform::Target => {
                let name = target.unwrap_or(For::Cpp).name();
                capability::TARGETS.iter().position(|known| *known == name)
            }
            Platform::Stage => {
                let Some(stage) = self.lowerer.stage().or(target.is_none().then_some(Stage::Compute)) else {
                    return self.several_stages();
                };
                capability::stage_number(stage.name())
            }
        };
        let named = cases.iter().find(|c| c.values.iter().any(|v| usize::try_from(*v).ok() == number));
        let default = cases.iter().find(|c| c.default);
        let is_error = |case: &&Case| matches!(&case.body[..], [Stmt { kind: StmtKind::Expr(e), .. }] if matches!(e.kind, ExprKind::Error));
        let instead = default.filter(|case| !is_error(case) && !self.lowerer.is_foreign(case));
        let named = named.filter(|case| instead.is_none() || !self.lowerer.is_foreign(case));
        let Some(case) = named.or(default) else { return };
        if let Some(Stmt { kind: StmtKind::Expr(Expr { kind: ExprKind::Error, .. }), span }) =
            case.body.first()
        {
            // Who asks for no target wants to know about all of them; the first case stands for them.
            match (target, cases.first()) {
                (None, Some(first)) if !first.default => return self.only_case(label, first),
                _ => return self.no_case(on, *span),
            }
        }
        self.only_case(label, case);
    }

    fn several_stages(&mut self) {
        let message = "a `__stage_switch` needs entry points of a single stage";
        let diagnostic = Diagnostic::new(codes::NO_CASE, self.span, message);
        self.lowerer.diagnostics.push(diagnostic.help("compile one entry point at a time: `--entry NAME`"));
    }

    fn no_case(&mut self, on: Platform, span: Span) {
        let (word, name) = match on {
            Platform::Target => ("target", self.lowerer.options.target.unwrap_or(For::Cpp).name()),
            Platform::Stage => ("stage", self.lowerer.stage().unwrap_or(Stage::Compute).name()),
        };
        let message = format!("this `__{word}_switch` has no `case {name}`, and no `default`");
        let around = std::mem::replace(&mut self.span, span);
        self.refuse_code(Refused::NoCase(message));
        self.span = around;
    }

    fn only_case(&mut self, label: Label, case: &Case) {
        let mut assigned = Assigned::new();
        assigned::block(&case.body, &mut assigned);
        let sunk = breaks::sunk(&case.body.iter().collect::<Vec<_>>(), label);
        let body = sunk.as_ref().unwrap_or(&case.body);
        match body.split_last() {
            Some((Stmt { kind: StmtKind::Break(last), .. }, rest))
                if *last == label && !rest.iter().any(|s| breaks::breaks(s, label)) =>
            {
                self.stmts(rest);
            }
            _ if !body.iter().any(|s| breaks::breaks(s, label)) => self.stmts(body),
            _ => self.one_round(Some(label), &assigned, |f| f.stmts(body)),
        }
    }

    fn emit_switch(&mut self, selector: Value, cases: &[Case], arms: &[Arm<'_>], assigned: &Assigned) {
        let values: Vec<i64> = arms.iter().filter_map(|a| a.value).collect();
        let (op, count) = (Op::Switch(values), arms.len());
        self.branch(op, selector, count, assigned, None, |f, i| {
            f.declare_skipped(&cases[..arms[i].case]);
            f.stmts(arms[i].stmts.iter().copied());
            None
        });
    }

    /// One case after the other.
    fn in_order(&mut self, selector: Value, cases: &[Case], assigned: &Assigned) {
        let first = self.first_case(selector, cases);
        self.declare_skipped(cases);
        let mut assigned = assigned.clone();
        assigned.extend(cases.iter().flat_map(declared));
        for (number, case) in cases.iter().enumerate() {
            if self.is_done() {
                return;
            }
            self.span = case.span;
            let number = self.b().int(number as i64);
            let runs = self.b().math(Math::Le, &[first, number]);
            self.branch(Op::If, runs, 2, &assigned, None, |f, arm| {
                if arm == 0 {
                    f.block(&case.body);
                }
                None
            });
        }
    }

    /// The number of the case that is selected, or how many there are if none is.
    fn first_case(&mut self, selector: Value, cases: &[Case]) -> Value {
        let ty = self.func.ty(selector);
        let default = cases.iter().position(|c| c.default).unwrap_or(cases.len());
        let mut first = self.b().int(default as i64);
        for (number, case) in cases.iter().enumerate() {
            for &value in &case.values {
                let mut b = self.b();
                let value = b.constant(Const::Int(value), ty);
                let selected = b.math(Math::Eq, &[selector, value]);
                let number = b.int(number as i64);
                first = b.select(selected, number, first);
            }
        }
        first
    }

    /// A loop of one round around what `build` makes, to have something that can be left.
    pub fn one_round(&mut self, label: Option<Label>, assigned: &Assigned, build: impl FnOnce(&mut Self)) {
        let span = self.span;
        let slots = self.slots(assigned);
        let init: Vec<Value> = slots.iter().map(|s| self.var(*s)).collect();
        let n = self.b().int(1);
        let operands: Vec<Value> = [n].into_iter().chain(init).collect();
        let types: Vec<_> = operands.iter().map(|v| self.func.ty(*v)).collect();
        self.targets.push(Target { label, slots: slots.clone(), first: false, step: None, meets: false });
        let (body, ()) = self.nested(&types, |f, args| {
            for (&slot, &arg) in slots.iter().zip(&args[1..]) {
                f.set_var(slot, arg);
            }
            build(f);
            if !f.is_done() {
                f.span = span;
                let values: Vec<Value> = slots.iter().map(|s| f.var(*s)).collect();
                f.b().yield_(&values);
            }
        });
        self.targets.pop();
        self.span = span;
        let inst = self.b().emit(Op::For(LoopInfo::default()), &operands, &types[1..]);
        self.func.insts[inst].regions.push(body);
        let results = self.func.insts[inst].results.to_vec();
        for (&slot, &result) in slots.iter().zip(&results) {
            self.set_var(slot, result);
        }
    }

    /// Variables declared in earlier cases are in scope, but were skipped.
    fn declare_skipped(&mut self, earlier: &[Case]) {
        for local in earlier.iter().flat_map(declared) {
            self.var(local);
        }
    }

    /// A selector that is a truth value is 0 or 1.
    fn integer(&mut self, selector: Value) -> Value {
        let ty = self.func.ty(selector);
        if self.lowerer.module.types.get(ty) != Type::Scalar(Scalar::Bool) {
            return selector;
        }
        let int = self.lowerer.module.types.scalar(Scalar::I32);
        self.b().emit1(Op::Convert, &[selector], int)
    }

    /// The selector, with all values of a case mapped to its first.
    fn merged(&mut self, original: Value, cases: &[Case]) -> Value {
        let ty = self.func.ty(original);
        let mut selector = original;
        for case in cases.iter().filter(|c| !c.default) {
            let Some((&first, others)) = case.values.split_first() else {
                continue;
            };
            for &other in others {
                let mut b = self.b();
                let [first, other] = [first, other].map(|v| b.constant(Const::Int(v), ty));
                let is_other = b.math(Math::Eq, &[original, other]);
                selector = b.select(is_other, first, selector);
            }
        }
        selector
    }
}

/// The variables a case declares for itself and those after it.
fn declared(case: &Case) -> impl Iterator<Item = LocalId> {
    case.body
        .iter()
        .filter_map(|stmt| if let StmtKind::Let(local, _) = stmt.kind { Some(local) } else { None })
}

/// The regions: one for each case with a value, the last for all other values.
fn arms(cases: &[Case], label: Label) -> Vec<Arm<'_>> {
    let arm = |value, case: usize| Arm { value, stmts: falling(&cases[case..], label), case };
    let mut arms: Vec<Arm<'_>> = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        if let Some(&value) = case.values.first().filter(|_| !case.default) {
            arms.push(arm(Some(value), i));
        }
    }
    let default = cases.iter().position(|c| c.default);
    arms.push(default.map_or(Arm { value: None, stmts: vec![], case: 0 }, |i| arm(None, i)));
    arms
}

/// The statements that run from the first of these cases on, up to a `break` that is their end.
fn falling(cases: &[Case], label: Label) -> Vec<&Stmt> {
    let mut stmts = Vec::new();
    for case in cases {
        let is_end = |s: &Stmt| matches!(s.kind, StmtKind::Break(l) if l == label);
        stmts.extend(case.body.iter().take_while(|s| !is_end(s)));
        if breaks::jumps(&case.body) {
            break;
        }
    }
    stmts
}
