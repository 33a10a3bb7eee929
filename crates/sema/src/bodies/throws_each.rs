//! Checks `try` under `expand`: the calls run in order, and none runs after the first that throws.
//!
//! The operand of `expand` is an expression, so control cannot exit within it. Instead, the elements after an error are
//! skipped, and control exits after the last:
//!
//! ```text
//! g(expand 2 * try f(each x))      error = none;
//!                                  all = tuple(expand error.hasValue ? undef
//!                                      : (tried = f(each x, error), error.hasValue ? undef : 2 * tried));
//!                                  if (error.hasValue) ..
//!                                  g(expand each all)
//! ```
//!
//! If there are several calls, each has its own error, and code after a call runs only if it has not thrown.

use crate::bodies::body::BodyCx;
use crate::bodies::throws::whole_of;
use crate::hir::{Arg, Block, Dir, Expr, ExprKind, LocalId, Program, Stmt, StmtKind, Ty, TyKind};
use cotangent_base::{Scalar, Span};
use cotangent_syntax::ast;

/// A `try` taken out of what is repeated.
struct Tried {
    error: LocalId,
    /// What takes the result, if there is one.
    result: Option<LocalId>,
    call: Expr,
    /// The statement that leaves.
    leave: Stmt,
}

impl BodyCx<'_> {
    /// What `expand` repeats, with what was taken out of it. Counts what else it does.
    pub(crate) fn pattern(&mut self, inner: &ast::Expr) -> (Block, Expr, usize) {
        if std::mem::replace(&mut self.errors.repeated, true) {
            let value = self.unsurely(|cx| cx.expr(inner));
            return (vec![], value, 0);
        }
        let effects = std::mem::take(&mut self.errors.effects);
        let whole = std::mem::replace(&mut self.errors.whole, whole_of(inner));
        let outer = std::mem::take(&mut self.errors.hoisted);
        let value = self.expr(inner);
        let taken = std::mem::replace(&mut self.errors.hoisted, outer);
        let done = self.errors.effects;
        self.errors.repeated = false;
        self.errors.whole = whole;
        self.errors.effects += effects;
        (taken, value, done)
    }

    /// `expand value` where something was taken out of the value, evaluated before the statement at hand.
    pub(crate) fn expand_tried(
        &mut self,
        (taken, done): (Block, usize),
        value: Expr,
        over: Ty,
        span: Span,
    ) -> Expr {
        let Some(tries) = tries(taken) else {
            self.cx.rules().unsure_try(span);
            return self.error(span);
        };
        let alone = done == 0 && !tries.iter().any(|tried| writes(&tried.call));
        if self.errors.effects > done || !(alone || self.errors.whole == Some(span)) {
            self.cx.rules().moved_try(span);
            return self.error(span);
        }
        let is_void = self.kind(value.ty) == TyKind::Void;
        let Some(value) = self.unless_thrown(&tries, value, span) else {
            self.cx.rules().unsure_try(span);
            return self.error(span);
        };
        let ty = self.cx.expand_ty(Arg::Ty(value.ty), over);
        let all = self.cx.program.tuple_of(vec![Expr::new(ExprKind::Expand(value.into()), ty, span)], span);
        let holder = self.temp("all", all.ty, span);
        for tried in &tries {
            let none = self.zero(self.locals[tried.error].ty, span);
            let mut stmt = |kind| self.errors.hoisted.push(Stmt { kind, span });
            stmt(StmtKind::Let(tried.error, Some(none)));
            if let Some(result) = tried.result {
                stmt(StmtKind::Let(result, None));
            }
        }
        self.errors.hoisted.push(Stmt { kind: StmtKind::Let(holder, Some(all)), span });
        self.errors.hoisted.extend(tries.into_iter().map(|tried| tried.leave));
        self.errors.effects = 0;
        if is_void {
            let ty = self.cx.program.types.ty(TyKind::Void);
            return self.zero(ty, span);
        }
        let all = self.local(holder, span);
        let element = self.cx.packs().each_ty(ty);
        let each = Expr::new(ExprKind::Each(all.into()), element, span);
        Expr::new(ExprKind::Expand(each.into()), ty, span)
    }

    /// The value for one element, or anything if there is an error by then.
    fn unless_thrown(&mut self, tries: &[Tried], value: Expr, span: Span) -> Option<Expr> {
        let is_void = self.kind(value.ty) == TyKind::Void;
        let mut value = value;
        for (number, tried) in tries.iter().enumerate().rev() {
            let is_last = number + 1 == tries.len();
            value = self.behind(tried, value, is_last, is_void)?;
        }
        Some(tries.iter().rev().fold(value, |value, tried| self.or_undefined(tried.error, value, span)))
    }

    /// The call of a `try`, and then the value, unless there is an error.
    fn behind(&mut self, tried: &Tried, value: Expr, is_last: bool, is_void: bool) -> Option<Expr> {
        let (call, span) = (tried.call.clone(), value.span);
        let is_result = |result| matches!(value.kind, ExprKind::Local(local) if local == result);
        let first = match tried.result {
            Some(result) if is_last && is_result(result) => {
                // Nobody needs the variable, which would have a type for each element.
                self.locals[result].ty = self.scalar(Scalar::I32);
                return Some(call);
            }
            // A variable has one type for all elements.
            Some(_) if !self.cx.program.is_same_for_all(call.ty) => return None,
            Some(result) => {
                let ty = call.ty;
                let place = self.local(result, span);
                Expr::new(ExprKind::Assign(place.into(), call.into()), ty, span)
            }
            None => call,
        };
        let value = if is_last && is_void { self.numbered(value) } else { value };
        let value = self.or_undefined(tried.error, value, span);
        Some(sequence(first, value))
    }

    /// What has no value, as a number.
    fn numbered(&mut self, idle: Expr) -> Expr {
        let (ty, span) = (self.scalar(Scalar::I32), idle.span);
        let zero = self.zero(ty, span);
        sequence(idle, zero)
    }

    fn or_undefined(&mut self, error: LocalId, value: Expr, span: Span) -> Expr {
        let thrown = self.local(error, span);
        let thrown = self.named_member(thrown, "hasValue", span);
        let ty = value.ty;
        let undefined = Expr::new(ExprKind::Undef, ty, span);
        Expr::new(ExprKind::Cond(thrown.into(), undefined.into(), value.into()), ty, span)
    }
}

impl Program {
    /// Whether a type that is not a pack surely has nothing of one in it.
    fn is_same_for_all(&self, ty: Ty) -> bool {
        match self.types.kind(ty) {
            TyKind::Scalar(_) | TyKind::Enum(_) | TyKind::Param(_) => true,
            TyKind::Struct(_, args) => self.types.list(args).is_empty(),
            TyKind::Vector(element, lanes) => {
                self.is_same_for_all(element) && self.types.known(lanes).is_some()
            }
            _ => false,
        }
    }
}

/// The `try`s in what was taken out, in order; nothing if something else was, too.
fn tries(taken: Block) -> Option<Vec<Tried>> {
    let mut taken = taken.into_iter();
    let mut tries = vec![];
    while let Some(declared) = taken.next() {
        let (called, leave) = (taken.next()?, taken.next()?);
        let StmtKind::Let(error, None) = declared.kind else { return None };
        let (result, call) = match called.kind {
            StmtKind::Let(result, Some(call)) => (Some(result), call),
            StmtKind::Expr(call) => (None, call),
            _ => return None,
        };
        tries.push(Tried { error, result, call, leave });
    }
    Some(tries)
}

/// Whether a call writes to more than its error.
fn writes(call: &Expr) -> bool {
    let ExprKind::Call(call) = &call.kind else { return true };
    call.args.iter().rev().skip(1).any(|(dir, _)| *dir != Dir::In)
}

fn sequence(first: Expr, then: Expr) -> Expr {
    let (ty, span) = (then.ty, then.span);
    Expr::new(ExprKind::Sequence(first.into(), then.into()), ty, span)
}
