//! Generic parameters replaced throughout an expression: default arguments and field initializers are checked once,
//! where they stand, and used under other arguments.

use crate::Checked;
use crate::hir::{Args, Expr, ExprKind, GenericParamId};

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
            ExprKind::Const(_)
            | ExprKind::String(_)
            | ExprKind::Zero
            | ExprKind::Undef
            | ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Error => {}
            ExprKind::Measure(_, ty) => *ty = self.replace(*ty, params, args),
            ExprKind::Val(val) => *val = self.replace_val(*val, params, args),
            ExprKind::Field(a, _)
            | ExprKind::Swizzle(a, _)
            | ExprKind::MatrixSwizzle(a, _)
            | ExprKind::Unary(_, a)
            | ExprKind::Convert(a)
            | ExprKind::Splat(a)
            | ExprKind::Truncate(a)
            | ExprKind::NoDiff(a) => self.replace_in(a, params, args),
            ExprKind::Element(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Sequence(a, b)
            | ExprKind::Assign(a, b) => {
                self.replace_in(a, params, args);
                self.replace_in(b, params, args);
            }
            ExprKind::Cond(a, b, c) | ExprKind::Select(a, b, c) => {
                self.replace_in(a, params, args);
                self.replace_in(b, params, args);
                self.replace_in(c, params, args);
            }
            ExprKind::Concat(parts) | ExprKind::Construct(parts) => {
                parts.iter_mut().for_each(|p| self.replace_in(p, params, args));
            }
            ExprKind::Modify { place, right, new, .. } => {
                self.replace_in(place, params, args);
                right.iter_mut().for_each(|(_, r)| self.replace_in(r, params, args));
                self.replace_in(new, params, args);
            }
            ExprKind::Property { this, args: indices, get, set, .. } => {
                this.iter_mut().for_each(|t| self.replace_in(t, params, args));
                indices.iter_mut().for_each(|i| self.replace_in(i, params, args));
                for func in get.iter_mut().chain(set) {
                    *func = self.replace_func(*func, params, args);
                }
            }
            ExprKind::Call(call) => {
                call.callee = self.replace_func(call.callee, params, args);
                call.args.iter_mut().for_each(|(_, a)| self.replace_in(a, params, args));
            }
        }
    }
}
