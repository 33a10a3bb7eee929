//! The backward pass of the check: finds the values whose derivatives are wanted.
//!
//! The state is the set of variables whose current value is used later to compute an output. A call whose arguments carry a
//! derivative and whose result is wanted is an error if it does not propagate derivatives.

use super::trail::Step;
use super::{Flow, Locals, Target, join};
use crate::hir::{Call, Case, Dir, Expr, ExprKind, Label, Loop, LoopKind, Stmt, StmtKind};
use cotangent_base::{Map, Set, Span};

struct Want<'f, 'a> {
    flow: &'f mut Flow<'a>,
    state: Locals,
    /// What is wanted where the function is left.
    outputs: Locals,
    /// Whether the derivative of the result is wanted.
    result: bool,
    breaks: Map<Label, Locals>,
    continues: Map<Label, Locals>,
    /// What the expression at hand is wanted for.
    cause: Option<Step>,
    /// Calls of whose results a part is taken at once, or a member called: `f(x).y`.
    picked: Set<Span>,
}

impl Flow<'_> {
    /// Follows wishes from the outputs back through the body.
    pub(super) fn want(&mut self) {
        let outputs: Locals =
            self.carriers().into_iter().filter(|(_, dir)| *dir != Dir::In).map(|(local, _)| local).collect();
        let func = &self.checked.program.funcs[self.func];
        let (result, no_diff) = (func.result, func.no_diff_result);
        let result = !no_diff && self.has_derivative(result);
        let body = self.body;
        for local in outputs.iter() {
            let words = format!("`{}`", body.locals[local].name);
            let step = Step { at: body.locals[local].span, words, next: None };
            if let Some(trails) = &mut self.trails {
                trails.goes.note(local, step);
            }
        }
        let mut want = Want {
            flow: self,
            state: outputs.clone(),
            outputs,
            result,
            breaks: Map::default(),
            continues: Map::default(),
            cause: None,
            picked: Set::default(),
        };
        want.block(&body.block);
    }
}

impl Want<'_, '_> {
    fn block(&mut self, block: &[Stmt]) {
        for stmt in block.iter().rev() {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => self.expr(expr, false),
            StmtKind::Let(local, value) => {
                let wanted = self.state.remove(*local);
                if let Some(value) = value {
                    let cause = self.flow.declared(*local);
                    self.because(cause, |want| want.expr(value, wanted));
                }
            }
            StmtKind::Block(block) => self.block(block),
            StmtKind::If(cond, then, other) => {
                let after = self.state.clone();
                self.block(then);
                let before = std::mem::replace(&mut self.state, after);
                self.block(other);
                join(&mut self.state, &before);
                self.expr(cond, false);
            }
            StmtKind::Loop(looping) => self.looping(looping),
            StmtKind::Switch(label, selector, cases) => self.switch(*label, selector, cases),
            StmtKind::Break(label) => self.state = target(&self.breaks, *label),
            StmtKind::Continue(label) => self.state = target(&self.continues, *label),
            StmtKind::Return(value) => {
                self.state = self.outputs.clone();
                if let Some(value) = value {
                    let tell = self.flow.trails.is_some();
                    let cause = tell.then(|| Step { at: value.span, words: "the result".into(), next: None });
                    self.because(cause, |want| want.expr(value, want.result));
                }
            }
            StmtKind::Discard => {}
        }
    }

    /// Goes round until the state at the top stays the same.
    fn looping(&mut self, looping: &Loop) {
        let after = self.state.clone();
        self.breaks.insert(looping.label, after.clone());
        let mut top = Locals::new();
        loop {
            self.state = top.clone();
            if let Some(step) = &looping.step {
                self.expr(step, false);
            }
            if looping.kind == LoopKind::Post {
                self.loop_cond(looping, &after);
            }
            self.continues.insert(looping.label, self.state.clone());
            self.block(&looping.body);
            if looping.kind == LoopKind::Pre {
                self.loop_cond(looping, &after);
            }
            if !join(&mut top, &self.state) {
                self.state = top;
                return;
            }
        }
    }

    fn loop_cond(&mut self, looping: &Loop, after: &Locals) {
        if let Some(cond) = &looping.cond {
            join(&mut self.state, after);
            self.expr(cond, false);
        }
    }

    fn switch(&mut self, label: Label, selector: &Expr, cases: &[Case]) {
        let after = self.state.clone();
        self.breaks.insert(label, after.clone());
        let mut before = if cases.iter().any(|c| c.default) { Locals::new() } else { after };
        for case in cases.iter().rev() {
            self.block(&case.body);
            join(&mut before, &self.state);
        }
        self.state = before;
        self.expr(selector, false);
    }

    /// Does something with an expression that is wanted, if it is, for that.
    fn because(&mut self, cause: Option<Step>, follow: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.cause, cause);
        follow(self);
        self.cause = around;
    }

    /// As [`Self::because`], for what is assigned to a place, if that is wanted.
    fn because_of(&mut self, place: &Expr, wanted: bool, follow: impl FnOnce(&mut Self)) {
        match self.flow.target(place) {
            Target::Whole(local) | Target::Part(local) if wanted && self.flow.trails.is_some() => {
                let words = self.flow.shown_place(place);
                self.because(Some(Step { at: place.span, words, next: Some(local) }), follow);
            }
            _ => follow(self),
        }
    }

    /// The way from the expression at hand to an output.
    fn goes(&self) -> Vec<Step> {
        let (Some(trails), Some(cause)) = (&self.flow.trails, &self.cause) else {
            return vec![];
        };
        let first = Some(cause.clone()).filter(|step| !step.words.is_empty());
        first.into_iter().chain(trails.goes.follow(cause.next)).collect()
    }

    /// Follows an expression whose derivative is wanted or not, what it evaluates last first.
    fn expr(&mut self, expr: &Expr, wanted: bool) {
        let wanted = wanted && self.flow.has_derivative(expr.ty);
        if let Some(ending) = self.flow.returned.get(&expr.id).filter(|_| wanted).cloned() {
            let goes = self.goes();
            self.flow.report_integer(&ending, expr.span, &goes);
        }
        self.picked.extend(self.flow.picked_call(expr));
        match &expr.kind {
            ExprKind::Const(_)
            | ExprKind::Val(_)
            | ExprKind::Platform(_)
            | ExprKind::Measure(..)
            | ExprKind::Assert(..)
            | ExprKind::String(_)
            | ExprKind::Zero
            | ExprKind::Undef
            | ExprKind::Global(..)
            | ExprKind::Error => {}
            ExprKind::Local(local) => {
                if wanted {
                    self.state.insert(*local);
                    if let (Some(trails), Some(cause)) = (&mut self.flow.trails, &self.cause) {
                        trails.goes.note(*local, cause.clone());
                    }
                }
            }
            ExprKind::Field(base, number) => {
                let lost = self.flow.field_is_no_diff(base.ty, *number);
                self.expr(base, wanted && !lost);
            }
            ExprKind::Element(base, index) => {
                self.expr(index, false);
                self.expr(base, wanted);
            }
            ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Unary(_, base)
            | ExprKind::Convert(base)
            | ExprKind::Splat(base)
            | ExprKind::As(base, _)
            | ExprKind::Each(base)
            | ExprKind::Part(_, base)
            | ExprKind::Truncate(base) => self.expr(base, wanted),
            ExprKind::Expand(inner) => self.expand(inner, wanted),
            ExprKind::Is(base, _) => self.expr(base, false),
            ExprKind::Property { this, args, get, .. } => {
                let fed = self.flow.fed.get(&expr.id).filter(|_| wanted).cloned();
                if let (Some(get), Some(came)) = (get, fed) {
                    let goes = self.goes();
                    let is_picked = self.picked.contains(&expr.span);
                    self.flow.report_call(get.func, (expr.span, is_picked), &came, &goes);
                }
                let wanted = wanted && get.is_none_or(|get| self.flow.func_passes(get.func));
                for operand in args.iter().rev().chain(this.iter().map(|t| &**t)) {
                    self.expr(operand, wanted);
                }
            }
            ExprKind::Binary(_, a, b) => {
                self.expr(b, wanted);
                self.expr(a, wanted);
            }
            ExprKind::Cond(c, a, b) | ExprKind::Select(c, a, b) => {
                self.expr(b, wanted);
                self.expr(a, wanted);
                self.expr(c, false);
            }
            ExprKind::Sequence(a, b) => {
                self.expr(b, wanted);
                self.expr(a, false);
            }
            ExprKind::Concat(parts) | ExprKind::Construct(parts) | ExprKind::Pack(parts) => {
                for part in parts.iter().rev() {
                    self.expr(part, wanted);
                }
            }
            ExprKind::Assign(place, value) => {
                let held = self.written(place, true);
                self.indices(place);
                self.because_of(place, held, |want| want.expr(value, held | wanted));
            }
            ExprKind::Modify { place, right, old, new, post } => {
                let held = self.written(place, true);
                self.because_of(place, held, |want| want.expr(new, held | (wanted && !post)));
                let wanted_before = self.state.remove(*old) | (wanted && *post);
                self.expr(place, wanted_before);
                if let Some((local, right)) = right {
                    let wanted = self.state.remove(*local);
                    self.expr(right, wanted);
                }
            }
            ExprKind::Call(call) => self.call(expr, call, wanted),
            ExprKind::Print(_, values) | ExprKind::TargetCode(_, _, values) => {
                values.iter().rev().for_each(|value| self.expr(value, false))
            }
            ExprKind::AddressOf(place) => self.indices(place),
            ExprKind::NoDiff(inner) => self.dropped(inner),
        }
    }

    /// Follows what is done any number of times, until another time makes no difference.
    fn expand(&mut self, inner: &Expr, wanted: bool) {
        loop {
            let mut all = self.state.clone();
            self.expr(inner, wanted);
            let grown = join(&mut all, &self.state);
            self.state = all;
            if !grown {
                return;
            }
        }
    }

    /// Whether what is written to a place is wanted. If `kill`, what a whole variable held before no longer is.
    fn written(&mut self, place: &Expr, kill: bool) -> bool {
        match self.flow.target(place) {
            Target::Whole(local) if kill => self.state.remove(local),
            Target::Whole(local) | Target::Part(local) => self.state.contains(local),
            Target::Setter => true,
            Target::Lossy(_) => false,
        }
    }

    fn indices(&mut self, place: &Expr) {
        match &place.kind {
            ExprKind::Element(base, index) => {
                self.expr(index, false);
                self.indices(base);
            }
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) | ExprKind::MatrixSwizzle(base, _) => {
                self.indices(base)
            }
            _ => {}
        }
    }

    fn call(&mut self, expr: &Expr, call: &Call, result_wanted: bool) {
        let open = self.flow.open_args(call);
        let mut wanted_in = None;
        for ((dir, arg), open) in call.args.iter().zip(&open) {
            let places = if *dir != Dir::In && *open { arg.elements() } else { &[] };
            for place in places {
                if self.written(place, true) {
                    wanted_in = wanted_in.or(Some(place));
                }
            }
        }
        let wanted = result_wanted || wanted_in.is_some() || self.flow.takes(call);
        match wanted_in.filter(|_| !result_wanted) {
            Some(arg) => self.because_of(arg, true, |want| want.call_wanted(expr, call, &open, wanted)),
            None => self.call_wanted(expr, call, &open, wanted),
        }
    }

    /// Follows the arguments of a call of which something is wanted or nothing.
    fn call_wanted(&mut self, expr: &Expr, call: &Call, open: &[bool], wanted: bool) {
        if let Some(came) = self.flow.fed.get(&expr.id).filter(|_| wanted).cloned() {
            let goes = self.goes();
            let is_picked = self.picked.contains(&expr.span);
            self.flow.report_call(call.callee.func, (expr.span, is_picked), &came, &goes);
        }
        let pass = wanted && self.flow.passes(call) && !self.flow.is_detach(call.callee.func);
        for ((dir, arg), open) in call.args.iter().zip(open).rev() {
            match dir {
                Dir::In | Dir::InOut => self.expr(arg, pass && *open),
                Dir::Out => self.indices(arg),
            }
        }
    }

    /// A call whose derivative is dropped on purpose.
    fn dropped(&mut self, expr: &Expr) {
        let ExprKind::Call(call) = &expr.kind else {
            return self.expr(expr, false);
        };
        for (dir, arg) in call.args.iter().rev() {
            match dir {
                Dir::In => self.expr(arg, false),
                Dir::InOut | Dir::Out => {
                    for place in arg.elements() {
                        self.written(place, true);
                        self.indices(place);
                    }
                }
            }
        }
    }
}

fn target(targets: &Map<Label, Locals>, label: Label) -> Locals {
    targets.get(&label).cloned().unwrap_or_default()
}
