//! Converts a value to the expected type, with a warning if information may be lost, or reports a mismatch.

use crate::bodies::body::BodyCx;
use crate::bodies::convert::{LOSSY, fits};
use crate::codes;
use crate::facts::{Facts, Rules};
use crate::hir::{Const, DiffMode, Expr, ExprKind, InterfaceRef, Ty, TyKind, Types, Val};
use cotangent_base::{Diagnostic, Scalar};

impl BodyCx<'_> {
    /// Converts implicitly; reports if that is impossible.
    pub(crate) fn coerce(&mut self, expr: Expr, to: Ty) -> Expr {
        if expr.ty == to {
            return expr;
        }
        if self.cx.program.types.is_error(expr.ty) || self.cx.program.types.is_error(to) {
            let span = expr.span;
            return Expr::new(ExprKind::Error, to, span);
        }
        match self.cx.cost(&expr, to) {
            Some(cost) => {
                if cost >= LOSSY {
                    self.warn_lossy(&expr, to);
                }
                self.cx.converted(expr, to)
            }
            None => {
                self.cx.rules().mismatch(&expr, to);
                Expr::new(ExprKind::Error, to, expr.span)
            }
        }
    }

    /// A word about an implicit conversion that may lose something. Literals are meant as they are written.
    fn warn_lossy(&mut self, expr: &Expr, to: Ty) {
        if let ExprKind::Const(value) = expr.kind
            && let Some((value, changed)) = self.cx.program.types.changed_literal(value, expr.ty, to)
        {
            let message = format!("{value} does not fit `{}` and becomes {changed}", self.show(to));
            let help = format!("if that is intended, write the conversion: `{}({value})`", self.show(to));
            self.report(Diagnostic::new(codes::DOES_NOT_FIT, expr.span, message).help(help));
            return;
        }
        if matches!(expr.kind, ExprKind::Const(_))
            || self.cx.program.types.is_truth(expr.ty)
            || self.keeps_value(expr, to)
        {
            return;
        }
        let message = format!(
            "implicit conversion from `{}` to `{}` may lose information",
            self.show(expr.ty),
            self.show(to)
        );
        let help = match expr.kind {
            ExprKind::Assign(..) if self.cx.program.types.is_truth(to) => {
                "`=` assigns, `==` compares; if the assignment is intended, write `bool(..)` around it".into()
            }
            _ => format!("write the conversion: `{}(..)`", self.show(to)),
        };
        self.report(Diagnostic::new(codes::LOSSY_CONVERSION, expr.span, message).help(help));
    }

    /// Whether an expression is a known integer that its new type can hold.
    fn keeps_value(&mut self, expr: &Expr, to: Ty) -> bool {
        let TyKind::Scalar(to) = self.kind(to) else { return false };
        let TyKind::Scalar(from) = self.kind(expr.ty) else { return false };
        let known = self.fold(expr).and_then(|val| self.cx.program.types.known(val));
        to.is_int() && known.is_some_and(|n| fits(n, from, to))
    }
}

impl Types {
    /// A literal and what it becomes in another type, if that is another number.
    fn changed_literal(&self, value: Const, from: Ty, to: Ty) -> Option<(String, i64)> {
        let (TyKind::Scalar(from), TyKind::Scalar(to)) = (self.kind(from), self.kind(to)) else {
            return None;
        };
        if !to.is_int() || to == Scalar::Bool {
            return None;
        }
        match value {
            Const::Int(n) if from.is_int() && from.bits() > to.bits() && !fits(n, from, to) => {
                let cut = n << (64 - to.bits());
                let wrapped = match to.is_signed() {
                    true => cut >> (64 - to.bits()),
                    false => (cut as u64 >> (64 - to.bits())) as i64,
                };
                Some((n.to_string(), wrapped))
            }
            Const::Float(x) if x.fract() != 0.0 => Some((x.to_string(), x as i64)),
            Const::Int(_) | Const::Float(_) | Const::Bool(_) => None,
        }
    }

    /// Whether a type is that of truth values, of which every number type has both.
    fn is_truth(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Scalar(scalar) => scalar == Scalar::Bool,
            TyKind::Vector(element, _) | TyKind::Matrix(element, ..) => self.is_truth(element),
            _ => false,
        }
    }
}

impl Rules<'_> {
    /// Reports a value of the wrong type.
    pub(crate) fn mismatch(&mut self, expr: &Expr, to: Ty) {
        let message = format!("expected `{}`, found `{}`", self.show(to), self.show(expr.ty));
        let mut diagnostic = Diagnostic::new(codes::MISMATCH, expr.span, message);
        match (self.program.types.kind(expr.ty), self.program.types.kind(to)) {
            (TyKind::Void, _) if is_backward(expr) => {
                diagnostic = diagnostic
                    .help("`bwd_diff` returns nothing: it writes derivatives to the `.d` of its arguments");
            }
            (TyKind::Struct(..), _) if self.facts().is_pair(expr.ty) && !self.facts().is_pair(to) => {
                diagnostic =
                    diagnostic.help("a pair has a value, `.p`, and a derivative, `.d`: use one of them");
            }
            (TyKind::Vector(_, m), TyKind::Vector(_, n)) if m != n => {
                diagnostic = diagnostic.help(self.facts().other_length(m, n, to));
            }
            (TyKind::Vector(..), TyKind::Scalar(_)) => {
                diagnostic = diagnostic.help("select one component, as in `.x`");
            }
            (TyKind::Scalar(_), TyKind::Enum(_) | TyKind::Struct(..)) => {
                diagnostic = diagnostic.help(format!("convert explicitly: `{}(..)`", self.show(to)));
            }
            (_, TyKind::Interface(interface, args)) => {
                let base = self.facts().conforming_base(expr.ty, InterfaceRef { interface, args });
                let but = base.map_or(String::new(), |base| format!(" itself; its base `{base}` does"));
                diagnostic =
                    diagnostic.help(format!("the type must declare that it conforms to the interface{but}"));
            }
            (TyKind::Struct(a, _), TyKind::Struct(b, _))
                if [a, b].iter().all(|id| self.tables.lambdas.contains(*id)) =>
            {
                diagnostic =
                    diagnostic.help("every lambda has its own type, even if the signatures are equal");
            }
            _ => {}
        }
        self.diagnostics.push(diagnostic);
    }
}

impl Facts<'_> {
    /// What to do with a vector of `from` components where one of `to` is wanted.
    fn other_length(self, from: Val, to: Val, ty: Ty) -> String {
        let known = |val| self.program.types.known(val);
        match (known(from), known(to)) {
            (Some(from), Some(to)) if from < to => {
                let rest = ", 0".repeat((to - from) as usize);
                let ty = self.show(ty);
                format!("conversions do not lengthen vectors; add the missing components: `{ty}(..{rest})`")
            }
            (Some(_), Some(to)) => {
                let first = "xyzw".get(..to as usize).unwrap_or("xy");
                format!("conversions do not shorten vectors; use a swizzle such as `.{first}`")
            }
            _ => "conversions do not change the length of a vector".into(),
        }
    }
}

/// Whether an expression asks for a derivative in reverse mode.
fn is_backward(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(call) if call.diff.last() == Some(&DiffMode::Backward))
}
