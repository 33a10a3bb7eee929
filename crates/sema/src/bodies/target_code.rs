//! Checks code that is not Slang: `__intrinsic_asm`, `__intrinsic_op`, `spirv_asm` and `__requirePrelude`.
//!
//! The checker does not read such code. Text is what the function returns, in the type that the function declares; assembly has
//! the type that it says. Lowering decides whether the target can take it.

use crate::bodies::body::BodyCx;
use crate::hir::{Expr, ExprKind, LocalId, StmtKind, TyKind};
use cotangent_base::Span;
use cotangent_syntax::ast::{CodeKind, TargetCode};

impl BodyCx<'_> {
    /// Code as an expression.
    pub(crate) fn target_code(&mut self, code: &TargetCode, span: Span) -> Expr {
        let ty = match &code.ty {
            Some(ty) => self.cx.resolve_ty(ty, self.scope),
            None => self.ty(TyKind::Void),
        };
        let args = match code.kind {
            CodeKind::Prelude | CodeKind::Assembly => vec![],
            CodeKind::Text | CodeKind::Operation => self.all_params(span),
        };
        Expr::new(ExprKind::TargetCode(code.kind, code.text, args), ty, span)
    }

    /// Code as what the function does and returns.
    pub(crate) fn return_target_code(&mut self, code: &TargetCode, span: Span) -> StmtKind {
        let mut value = self.target_code(code, span);
        if self.constructor {
            if let Some(this) = self.this {
                value.ty = self.local(this, span).ty;
            }
        } else if let Some(result) = self.result {
            value.ty = result;
        }
        StmtKind::Return(Some(value))
    }

    /// What the parameters hold, `this` first. In a constructor there is nothing yet that `this` holds.
    fn all_params(&mut self, span: Span) -> Vec<Expr> {
        let is_made = self.constructor;
        let this = self.this;
        let params: Vec<LocalId> = self.params.clone();
        let params = params.into_iter().filter(|param| !(is_made && Some(*param) == this));
        params.map(|param| self.local(param, span)).collect()
    }
}
