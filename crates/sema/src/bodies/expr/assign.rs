//! Assignments, compound assignments and increments.

use crate::bodies::body::BodyCx;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{Arg, Args, Call, Const, Dir, Expr, ExprKind, FuncRef, LocalId, Program, Ty, TyKind};
use crate::tables::Item;
use crate::types::show::binary_text;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_syntax::ast::{self, BinaryOp};
use std::sync::Arc;

/// Which way an increment goes.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// `++`.
    Up,
    /// `--`.
    Down,
}

impl BodyCx<'_> {
    /// `place = value` and `place op= value`.
    pub(super) fn assign(
        &mut self,
        op: Option<BinaryOp>,
        place: &ast::Expr,
        value: &ast::Expr,
        span: Span,
    ) -> Expr {
        let target = self.expr(place);
        let assigned = match op {
            None => {
                let ty = target.ty;
                if let Some(stored) = self.assign_atomic(&target, value, span) {
                    return stored;
                }
                let value = if self.cx.program.types.is_error(ty) {
                    self.expr(value)
                } else {
                    self.expr_as(value, ty)
                };
                self.require_place(&target);
                Expr::new(ExprKind::Assign(target.into(), value.into()), ty, span)
            }
            Some(op) => {
                let value = self.expr(value);
                self.compound(op, target, value, span)
            }
        };
        self.errors.effects += 1;
        assigned
    }

    /// `place = number` for an `Atomic`.
    fn assign_atomic(&mut self, target: &Expr, value: &ast::Expr, span: Span) -> Option<Expr> {
        let Some(&Item::Func(func)) = self.cx.tables.lang.get(&"assignAtomic".into()) else { return None };
        self.cx.ensure_func(func);
        let TyKind::Struct(atomic, args) = self.kind(target.ty) else { return None };
        let param = self.cx.program.funcs[func].params.first()?.ty;
        let is_atomic = matches!(self.kind(param), TyKind::Struct(id, _) if id == atomic);
        let number = self.cx.program.types.list(args).first()?.ty().filter(|_| is_atomic)?;
        let value = self.expr(value);
        if value.ty == target.ty {
            let message = format!("a value of type `{}` cannot be copied", self.show(target.ty));
            self.report(Diagnostic::new(codes::MISMATCH, value.span, message).help("write `.load()`"));
            return Some(self.error(span));
        }
        let value = self.coerce(value, number);
        self.require_place(target);
        self.errors.effects += 1;
        let args = vec![(Dir::InOut, target.clone()), (Dir::In, value)];
        let call = Call {
            callee: FuncRef { func, args: self.cx.program.args_of(number) },
            diff: vec![],
            args,
            through: None,
        };
        Some(Expr::new(ExprKind::Call(call.into()), number, span))
    }

    fn compound(&mut self, op: BinaryOp, place: Expr, value: Expr, span: Span) -> Expr {
        if self.cx.program.types.is_error(place.ty) || self.cx.program.types.is_error(value.ty) {
            return self.error(span);
        }
        if self.cx.facts().is_user_type(place.ty) && self.cx.program.pointee(place.ty).is_none() {
            let text = format!("{}=", binary_text(op));
            if let Some(call) = self.declared_operator(&text, &[place.clone(), value.clone()], span) {
                return call;
            }
            if !matches!(
                self.kind(place.ty),
                TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) | TyKind::Enum(_)
            ) {
                return self.no_operator(
                    &text,
                    &[&place, &value],
                    span,
                    Some("the operator without `=` does not provide it"),
                );
            }
        }
        if is_quiet(&value) {
            return self.modify(place, None, false, span, |cx, old| cx.binary(op, old, value, span));
        }
        let right = self.temp("right", value.ty, value.span);
        let bound = self.local(right, value.span);
        let right = Some((right, value.into()));
        self.modify(place, right, false, span, |cx, old| cx.binary(op, old, bound, span))
    }

    /// `++place` and its kin; with `post`, the value is the one before.
    pub(super) fn increment(&mut self, step: Step, operand: &ast::Expr, post: bool, span: Span) -> Expr {
        let place = self.expr(operand);
        if self.cx.program.types.is_error(place.ty) {
            return self.error(span);
        }
        let (binary, text) = match step {
            Step::Up => (BinaryOp::Add, "++"),
            Step::Down => (BinaryOp::Sub, "--"),
        };
        if self.cx.facts().is_user_type(place.ty) && self.cx.program.pointee(place.ty).is_none() {
            let name = attrs::step_name(text, post);
            if let Some(call) = self.declared_operator(name.as_str(), std::slice::from_ref(&place), span) {
                return call;
            }
            let side = if post {
                "only one marked `__postfix` matches"
            } else {
                "only one marked `__prefix` matches"
            };
            return self.no_operator(text, &[&place], span, Some(side));
        }
        let one = Expr::new(ExprKind::Const(Const::Int(1)), self.scalar(Scalar::I32), span);
        self.modify(place, None, post, span, |cx, old| {
            let ty = old.ty;
            let one = if cx.cx.program.pointee(ty).is_some() { one } else { cx.cx.converted(one, ty) };
            cx.binary(binary, old, one, span)
        })
    }

    /// Replaces what a place holds by something computed from it.
    fn modify(
        &mut self,
        place: Expr,
        right: Option<(LocalId, Arc<Expr>)>,
        post: bool,
        span: Span,
        new: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Expr {
        self.require_place(&place);
        let ty = place.ty;
        let old = self.temp("old", ty, span);
        let value = self.local(old, place.span);
        let new = new(self, value);
        // `x += y` converts back as a cast would: `int8_t x; x += 1000;` is accepted.
        let new =
            if self.cx.cost(&new, ty).is_some() { self.cx.converted(new, ty) } else { self.coerce(new, ty) };
        Expr::new(ExprKind::Modify { place: place.into(), right, old, new: new.into(), post }, ty, span)
    }
}

impl Program {
    fn args_of(&mut self, ty: Ty) -> Args {
        self.types.args(&[Arg::Ty(ty)])
    }
}

impl Facts<'_> {
    fn is_user_type(self, ty: Ty) -> bool {
        !matches!(self.program.types.kind(ty), TyKind::Scalar(_) | TyKind::Vector(..) | TyKind::Matrix(..))
    }
}

/// Whether evaluating an expression changes nothing, so that it does not matter when it is done.
fn is_quiet(expr: &Expr) -> bool {
    let acts = matches!(
        expr.kind,
        ExprKind::Property { .. } | ExprKind::Assign(..) | ExprKind::Modify { .. } | ExprKind::Call(_)
    );
    !acts && expr.operands().into_iter().all(is_quiet)
}
