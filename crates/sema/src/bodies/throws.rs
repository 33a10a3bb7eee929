//! Checks `throws`, `try`, `throw` and `catch`.
//!
//! A function that throws has a hidden additional result: an optional error, after its parameters. A call of it must be
//! marked `try`. It is moved out of its statement, so that control can exit before the rest:
//!
//! ```text
//! float f(float x) throws E              float f(float x, out Optional<E> error)
//! { if (x < 0) throw E.Low; .. }         { error = none; if (x < 0) { error = E.Low; return undef; } .. }
//!
//! do { y = 2 * try f(x); }               caught = none;
//!                                        switch { tried = f(x, error);
//!                                                 if (error.hasValue) { caught = error; break; }
//!                                                 y = 2 * tried; }
//! catch (e : E) { y = 0; }               if (caught.hasValue) { e = caught.value; y = 0; }
//! ```
//!
//! No later stage handles errors, so derivatives flow through them as through any other exit. An effect of a statement before
//! its `try` would move after it; this is refused. An operand of `?:`, `&&` or `||` that contains a `try` becomes a branch
//! that assigns a variable. A loop condition or step that contains one moves to the start of the body. For a `try` under
//! `expand` see [`throws_each`](crate::bodies::throws_each).

use crate::bodies::body::{BodyCx, Target};
use crate::codes;
use crate::facts::Rules;
use crate::hir::{Block, Case, Const, Dir, Expr, ExprKind, Label, LocalId, Stmt, StmtKind, Ty, TyKind};
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_syntax::ast;
use std::sync::Arc;

/// Where errors go.
#[derive(Clone, Copy)]
pub(crate) struct Handler {
    /// The variable that takes the error.
    error: LocalId,
    /// What to leave then; nothing for the function.
    label: Option<Label>,
    /// Whether errors of all types go there: the variable only says that there was one.
    any: bool,
}

/// What the checker knows of errors in a body.
#[derive(Default)]
pub(crate) struct Errors {
    /// Who takes them, innermost last.
    pub handlers: Vec<Handler>,
    /// Statements that go before the one at hand.
    pub hoisted: Vec<Stmt>,
    /// Calls that may throw and have no `try` yet, with the variables that take their errors.
    untried: Vec<(Span, LocalId)>,
    /// What the statement at hand has done so far.
    pub effects: usize,
    /// How many constructs around that may not evaluate what is in them, or evaluate it again.
    pub unsure: usize,
    /// The `try` that the statement at hand evaluates before all else.
    pub whole: Option<Span>,
    /// Whether this is what an `expand` repeats.
    pub repeated: bool,
}

impl BodyCx<'_> {
    /// The variable for the error of a function that throws.
    pub(crate) fn begin_throwing(&mut self, error: Ty, span: Span, out: &mut Block) -> Option<LocalId> {
        let ty = self.cx.names().optional_of(error)?;
        let error = self.temp("error", ty, span);
        self.errors.handlers.push(Handler { error, label: None, any: false });
        out.push(self.no_error(error, span));
        Some(error)
    }

    fn no_error(&mut self, error: LocalId, span: Span) -> Stmt {
        let place = self.local(error, span);
        let ty = place.ty;
        let none = Expr::new(ExprKind::Zero, ty, span);
        let kind = ExprKind::Assign(place.into(), none.into());
        Stmt { kind: StmtKind::Expr(Expr::new(kind, ty, span)), span }
    }

    /// Checks a statement; what is taken out of it goes before it.
    pub(crate) fn hoisting(
        &mut self,
        whole: Option<Span>,
        out: &mut Block,
        work: impl FnOnce(&mut Self, &mut Block),
    ) {
        let outer = Errors {
            handlers: vec![],
            hoisted: std::mem::take(&mut self.errors.hoisted),
            untried: std::mem::take(&mut self.errors.untried),
            effects: std::mem::take(&mut self.errors.effects),
            unsure: std::mem::take(&mut self.errors.unsure),
            whole: std::mem::replace(&mut self.errors.whole, whole),
            repeated: std::mem::take(&mut self.errors.repeated),
        };
        let at = out.len();
        work(self, out);
        self.report_untried();
        let handlers = std::mem::take(&mut self.errors.handlers);
        let own = std::mem::replace(&mut self.errors, Errors { handlers, ..outer });
        out.splice(at..at, own.hoisted);
    }

    /// Reports calls that may throw and stand under no `try`.
    pub(crate) fn report_untried(&mut self) {
        for (span, _) in std::mem::take(&mut self.errors.untried) {
            let message = "this call may throw, but is not marked with `try`";
            self.report(Diagnostic::new(codes::UNTRIED, span, message).help("write `try` before it"));
        }
    }

    /// How much was taken out so far; what is tried out quietly is forgotten.
    pub(crate) fn hoisted(&self) -> (usize, usize) {
        (self.errors.hoisted.len(), self.errors.untried.len())
    }

    /// Forgets what was taken out since.
    pub(crate) fn forget_hoisted(&mut self, (hoisted, untried): (usize, usize)) {
        self.errors.hoisted.truncate(hoisted);
        self.errors.untried.truncate(untried);
    }

    /// The argument that takes the error of a call that may throw.
    pub(crate) fn error_argument(&mut self, error: Ty, span: Span) -> Option<(Dir, Expr)> {
        let ty = self.cx.names().optional_of(error)?;
        let local = self.temp("error", ty, span);
        self.errors.untried.push((span, local));
        Some((Dir::Out, self.local(local, span)))
    }

    /// Checks a part of an expression that is not always evaluated. What is taken out of it comes along, to be put where it is.
    pub(crate) fn aside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (Block, T) {
        let outer = std::mem::take(&mut self.errors.hoisted);
        let unsure = usize::from(self.errors.repeated);
        self.errors.unsure += unsure;
        let result = work(self);
        self.errors.unsure -= unsure;
        (std::mem::replace(&mut self.errors.hoisted, outer), result)
    }

    /// The condition of a loop, with what goes before it in each iteration.
    pub(crate) fn loop_condition(&mut self, cond: &ast::Expr) -> (Block, Expr) {
        let mut before = vec![];
        let mut checked = self.error(cond.span);
        self.hoisting(whole_of(cond), &mut before, |cx, _| checked = cx.condition(cond));
        (before, checked)
    }

    /// The step of a loop, with what goes before it in each iteration.
    pub(crate) fn loop_step(&mut self, step: &ast::Expr) -> (Block, Expr) {
        let mut before = vec![];
        let mut checked = self.error(step.span);
        self.hoisting(whole_of(step), &mut before, |cx, _| checked = cx.expr(step));
        (before, checked)
    }

    /// `c ? a : b` whose sides have something before them: a variable that an `if` assigns.
    pub(crate) fn choice(&mut self, cond: Expr, sides: [(Block, Expr); 2], span: Span) -> Expr {
        let [(before_a, a), (before_b, b)] = sides;
        if before_a.is_empty() && before_b.is_empty() {
            return self.ternary(cond, a, b, span);
        }
        let Expr { kind: ExprKind::Cond(cond, a, b), ty, .. } = self.ternary(cond, a, b, span) else {
            // Lanes are chosen from both sides, so both are evaluated.
            self.cx.rules().unsure_try(span);
            return self.error(span);
        };
        let chosen = self.temp("chosen", ty, span);
        let then = self.assigned_behind(before_a, chosen, Arc::unwrap_or_clone(a), span);
        let other = self.assigned_behind(before_b, chosen, Arc::unwrap_or_clone(b), span);
        self.errors.hoisted.push(Stmt { kind: StmtKind::Let(chosen, None), span });
        self.errors.hoisted.push(Stmt { kind: StmtKind::If(Arc::unwrap_or_clone(cond), then, other), span });
        self.local(chosen, span)
    }

    /// `a && b`, `a || b` with something before `b`.
    pub(crate) fn shortcut(&mut self, op: ast::BinaryOp, a: Expr, side: (Block, Expr), span: Span) -> Expr {
        let (before, b) = side;
        if before.is_empty() {
            return self.binary(op, a, b, span);
        }
        let ty = self.scalar(Scalar::Bool);
        let (a, b) = (self.coerce(a, ty), self.coerce(b, ty));
        let holds = self.temp("holds", ty, span);
        let assigned = self.assigned_behind(before, holds, b, span);
        let (then, other) = if op == ast::BinaryOp::And { (assigned, vec![]) } else { (vec![], assigned) };
        self.errors.hoisted.push(Stmt { kind: StmtKind::Let(holds, Some(a)), span });
        let cond = self.local(holds, span);
        self.errors.hoisted.push(Stmt { kind: StmtKind::If(cond, then, other), span });
        self.local(holds, span)
    }

    fn assigned_behind(&mut self, mut before: Block, local: LocalId, value: Expr, span: Span) -> Block {
        let (place, ty) = (self.local(local, span), value.ty);
        let kind = ExprKind::Assign(place.into(), value.into());
        before.push(Stmt { kind: StmtKind::Expr(Expr::new(kind, ty, span)), span });
        before
    }

    /// What may not be evaluated, or more than once.
    pub(crate) fn unsurely<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.errors.unsure += 1;
        let result = work(self);
        self.errors.unsure -= 1;
        result
    }

    /// `try f(..)`.
    pub(crate) fn try_(&mut self, inner: &ast::Expr, span: Span) -> Expr {
        let before = self.errors.effects;
        let value = self.expr(inner);
        if self.cx.program.types.is_error(value.ty) {
            return value;
        }
        let ExprKind::Call(call) = &value.kind else { return self.nothing_to_try(value) };
        let writes = call.args.iter().rev().skip(1).any(|(dir, _)| *dir != Dir::In);
        let error = match (call.args.last(), self.errors.untried.last()) {
            (Some((_, Expr { kind: ExprKind::Local(last), .. })), Some((_, error))) if last == error => *last,
            _ => return self.nothing_to_try(value),
        };
        self.errors.untried.pop();
        let moved = before > 0 || (writes && self.errors.whole != Some(span));
        if self.errors.unsure > 0 {
            self.cx.rules().unsure_try(span);
            return self.error(span);
        }
        if moved {
            self.cx.rules().moved_try(span);
            return self.error(span);
        }
        self.errors.effects = before;
        self.hoist(value, error, span)
    }

    fn nothing_to_try(&mut self, value: Expr) -> Expr {
        let message = "nothing here throws";
        self.report(
            Diagnostic::new(codes::UNTRIED, value.span, message)
                .help("`try` applies only to calls of functions declared with `throws`"),
        );
        self.error(value.span)
    }

    /// Takes a call out of its statement, and leaves if it throws.
    fn hoist(&mut self, call: Expr, error: LocalId, span: Span) -> Expr {
        let Some(handler) = self.handler_for(self.locals[error].ty, span) else { return self.error(span) };
        let ty = call.ty;
        let mut hoisted = vec![Stmt { kind: StmtKind::Let(error, None), span }];
        let value = if self.kind(ty) == TyKind::Void {
            hoisted.push(Stmt { kind: StmtKind::Expr(call), span });
            Expr::new(ExprKind::Zero, ty, span)
        } else {
            let tried = self.temp("tried", ty, span);
            hoisted.push(Stmt { kind: StmtKind::Let(tried, Some(call)), span });
            self.local(tried, span)
        };
        let thrown = self.local(error, span);
        let cond = self.named_member(thrown.clone(), "hasValue", span);
        let mut leave = vec![];
        self.give_up(handler, thrown, span, &mut leave);
        hoisted.push(Stmt { kind: StmtKind::If(cond, leave, vec![]), span });
        self.errors.hoisted.append(&mut hoisted);
        value
    }

    /// Who takes an error of that (optional) type; reports if nobody does.
    fn handler_for(&mut self, ty: Ty, span: Span) -> Option<Handler> {
        if let Some(&handler) = self.errors.handlers.iter().rev().find(|h| self.takes(**h, ty)) {
            if self.cx.program.types.is_error(self.locals[handler.error].ty) {
                // A `catch` without a type takes what comes.
                self.locals[handler.error].ty = ty;
            }
            return Some(handler);
        }
        let Some(&handler) = self.errors.handlers.last() else {
            let message = "no `catch` or `throws` accepts this error";
            self.report(Diagnostic::new(codes::UNCAUGHT, span, message).help(
                "declare the function with `throws`, or put this into `do { .. } catch (e : E) { .. }`",
            ));
            return None;
        };
        let wanted = self.locals[handler.error].ty;
        let [thrown, taken] =
            [ty, wanted].map(|ty| self.show(self.cx.facts().optional_content(ty).unwrap_or(ty)));
        let message = format!("`{thrown}` is thrown, but only `{taken}` is caught");
        self.report(Diagnostic::new(codes::UNCAUGHT, span, message));
        None
    }

    /// Whether a handler takes errors of that (optional) type.
    fn takes(&self, handler: Handler, ty: Ty) -> bool {
        let wanted = self.locals[handler.error].ty;
        handler.any || wanted == ty || self.cx.program.types.is_error(wanted)
    }

    /// Hands an error over and leaves.
    fn give_up(&mut self, handler: Handler, error: Expr, span: Span, out: &mut Block) {
        let place = self.local(handler.error, span);
        let error = if handler.any { self.some_error(place.ty, span) } else { error };
        let ty = error.ty;
        let kind = ExprKind::Assign(place.into(), error.into());
        out.push(Stmt { kind: StmtKind::Expr(Expr::new(kind, ty, span)), span });
        let kind = match handler.label {
            Some(label) => {
                self.leave(label, out);
                StmtKind::Break(label)
            }
            None => {
                let value = match (self.constructor, self.result) {
                    (true, _) => self.this.map(|this| self.local(this, span)),
                    (false, Some(ty)) if self.kind(ty) != TyKind::Void => {
                        Some(Expr::new(ExprKind::Undef, ty, span))
                    }
                    _ => None,
                };
                self.leave_function(StmtKind::Return(value), out)
            }
        };
        out.push(Stmt { kind, span });
    }

    /// What a handler for errors of all types keeps of one.
    fn some_error(&mut self, ty: Ty, span: Span) -> Expr {
        let truth = self.scalar(Scalar::Bool);
        let yes = Expr::new(ExprKind::Const(Const::Bool(true)), truth, span);
        self.coerce(yes, ty)
    }

    /// `throw e;`.
    pub(crate) fn throw(&mut self, value: &ast::Expr, span: Span, out: &mut Block) {
        let taken = self.errors.handlers.last().filter(|h| !h.any).map(|h| self.locals[h.error].ty);
        let content = taken.and_then(|ty| self.cx.facts().optional_content(ty));
        let value = match (content, &value.kind) {
            (Some(ty), ast::ExprKind::List(_)) => self.expr_as(value, ty),
            _ => self.expr(value),
        };
        // What no handler takes as it is may convert to what the nearest one takes.
        let own = self.cx.names().optional_of(value.ty);
        let fits = own.is_some_and(|ty| self.errors.handlers.iter().any(|h| self.takes(*h, ty)));
        let value = match content {
            Some(ty) if !fits => self.coerce(value, ty),
            _ => value,
        };
        let ty = self.cx.names().optional_of(value.ty).filter(|_| !self.cx.program.types.is_error(value.ty));
        match ty.and_then(|ty| Some((ty, self.handler_for(ty, span)?))) {
            Some((ty, handler)) => {
                let error = self.coerce(value, ty);
                self.give_up(handler, error, span, out);
            }
            None => out.push(Stmt { kind: StmtKind::Expr(self.error(span)), span }),
        }
    }

    /// `do { .. } catch (e : E) { .. }`.
    pub(crate) fn catch(
        &mut self,
        body: &ast::Block,
        (name, ty): (Option<ast::Ident>, Option<&ast::Expr>),
        handler: &ast::Block,
        span: Span,
    ) -> Block {
        let scope = self.scope;
        // Whoever does not name the error does not ask for its type.
        let any = ty.is_none() && name.is_none();
        let ty = match ty {
            Some(ty) => Some(self.cx.resolve_ty(ty, scope)),
            None => any.then(|| self.scalar(Scalar::Bool)),
        };
        let ty = ty
            .and_then(|ty| self.cx.names().optional_of(ty))
            .unwrap_or_else(|| self.cx.program.types.error());
        let (label, error) = (self.label(), self.temp("caught", ty, span));
        self.targets.push(Target { label, name: None, is_loop: false, hidden: true });
        self.errors.handlers.push(Handler { error, label: Some(label), any });
        let inner = self.block(&body.stmts);
        self.errors.handlers.pop();
        self.targets.pop();
        if self.cx.program.types.is_error(self.locals[error].ty) {
            return inner;
        }
        let begin = Stmt { kind: StmtKind::Let(error, None), span };
        let none = self.no_error(error, span);
        let caught = self.handler_block(name, error, handler, span);
        // A body that never comes to its end is left by errors alone.
        let always = !crate::bodies::returns::falls_through(&inner);
        let int = self.scalar(Scalar::I32);
        let selector = Expr::new(ExprKind::Const(Const::Int(0)), int, span);
        let case = Case { values: vec![], default: true, body: inner, span };
        let tried = Stmt { kind: StmtKind::Switch(label, selector, vec![case]), span };
        let kind = if always {
            StmtKind::Block(caught)
        } else {
            let value = self.local(error, span);
            let cond = self.named_member(value, "hasValue", span);
            StmtKind::If(cond, caught, vec![])
        };
        vec![begin, none, tried, Stmt { kind, span }]
    }

    fn handler_block(
        &mut self,
        name: Option<ast::Ident>,
        error: LocalId,
        handler: &ast::Block,
        span: Span,
    ) -> Block {
        self.scoped(|cx| {
            let mut block = vec![];
            if let Some(name) = name {
                let caught = cx.local(error, span);
                let value = cx.named_member(caught, "value", span);
                let local = cx.declare(name, value.ty);
                block.push(Stmt { kind: StmtKind::Let(local, Some(value)), span });
            }
            block.extend(cx.block(&handler.stmts));
            block
        })
    }
}

impl Rules<'_> {
    pub(crate) fn moved_try(&mut self, span: Span) {
        self.misplaced_try(span, "after another side effect of the same statement");
    }

    pub(crate) fn unsure_try(&mut self, span: Span) {
        self.misplaced_try(span, "in a position that may not be evaluated exactly once");
    }

    fn misplaced_try(&mut self, span: Span, place: &str) {
        let message = format!("`try` {place} is not supported yet");
        self.diagnostics.push(
            Diagnostic::new(codes::UNSUPPORTED, span, message)
                .help("move it to its own statement: `let value = try f(..);`"),
        );
    }
}

/// The `try` that a statement evaluates before all else.
pub(crate) fn whole_try(stmt: &ast::Stmt) -> Option<Span> {
    match &stmt.kind {
        ast::StmtKind::Expr(expr) => match &expr.kind {
            ast::ExprKind::Assign(None, _, value) => whole_of(value),
            _ => whole_of(expr),
        },
        ast::StmtKind::Return(Some(value)) => whole_of(value),
        _ => None,
    }
}

/// The `try`, or the `expand` with one in it, that an expression is.
pub(crate) fn whole_of(expr: &ast::Expr) -> Option<Span> {
    matches!(expr.kind, ast::ExprKind::Try(_) | ast::ExprKind::Expand(_)).then_some(expr.span)
}
