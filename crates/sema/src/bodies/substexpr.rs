//! Substitutes generic parameters in an expression. Default arguments and field initializers are checked once, where they are
//! written, and used with other generic arguments.

use crate::Checked;
use crate::hir::{Args, Expr, ExprKind, GenericParamId};
use std::sync::Arc;

impl Checked {
    /// An expression with parameters replaced.
    pub(crate) fn replace_expr(&mut self, mut expr: Expr, params: &[GenericParamId], args: Args) -> Expr {
        if !params.is_empty() {
            self.replace_in(&mut expr, params, args);
        }
        expr
    }

    fn replace_in(&mut self, expr: &mut Expr, params: &[GenericParamId], args: Args) {
        expr.ty = self.replace(expr.ty, params, args);
        match &mut expr.kind {
            ExprKind::Measure(_, ty) | ExprKind::Is(_, ty) | ExprKind::As(_, ty) => {
                *ty = self.replace(*ty, params, args)
            }
            ExprKind::Global(_, list) => *list = self.replace_args(*list, params, args),
            ExprKind::Val(val) | ExprKind::Assert(val, _) => *val = self.replace_val(*val, params, args),
            ExprKind::Property { get, set, .. } => {
                for func in get.iter_mut().chain(set) {
                    *func = self.replace_func(*func, params, args);
                }
            }
            ExprKind::Call(call) => {
                let call = Arc::make_mut(call);
                call.callee = self.replace_func(call.callee, params, args);
            }
            _ => {}
        }
        for inner in expr.operands_mut() {
            self.replace_in(inner, params, args);
        }
    }
}
