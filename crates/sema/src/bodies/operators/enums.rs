//! Operators on enumerations.

use super::{Family, family};
use crate::bodies::body::BodyCx;
use crate::bodies::convert::{Cost, FROM_ENUM};
use crate::bodies::overload::{Argument, Callee, Choice};
use crate::declarations::attrs;
use crate::hir::{Expr, ExprKind, TyKind};
use cotangent_base::Span;
use cotangent_syntax::ast::BinaryOp;

impl BodyCx<'_> {
    /// An operator that somebody declared for an enumeration goes before what its integers do, if it costs less than to
    /// make integers of them.
    pub(super) fn operator_on_enum(&mut self, text: &str, operands: &[&Expr], span: Span) -> Option<Expr> {
        let enums = operands.iter().filter(|e| matches!(self.kind(e.ty), TyKind::Enum(_))).count() as Cost;
        if enums == 0 {
            return None;
        }
        let name = attrs::operator_name(text);
        let scope = self.scope;
        let found = self.cx.lookup(scope, name);
        let callee = Callee::new(name, &found, span);
        let args: Vec<Argument> = operands.iter().map(|&operand| Argument::Value(operand.clone())).collect();
        match self.choose(&callee, &args) {
            Choice::One(fit) if fit.cost < enums * FROM_ENUM => {
                Some(self.emit_call(&callee, *fit, args, span))
            }
            Choice::One(_) | Choice::Many(_) | Choice::None(_) => None,
        }
    }

    /// Bits of, and comparisons between, values of one enumeration stay with it.
    pub(super) fn enum_operation(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
        if a.ty != b.ty || !matches!(self.kind(a.ty), TyKind::Enum(_)) || family(op) != Family::Bits {
            return None;
        }
        let ty = a.ty;
        let (a, b) = (self.enum_value(a.clone()), self.enum_value(b.clone()));
        let result = self.binary(op, a, b, span);
        Some(Expr::new(ExprKind::Convert(result.into()), ty, span))
    }

    /// An enumeration's value as its integer type.
    pub(super) fn enum_value(&mut self, expr: Expr) -> Expr {
        match self.kind(expr.ty) {
            TyKind::Enum(id) => {
                self.cx.ensure_enum(id);
                let underlying = self.cx.program.enums[id].underlying;
                self.cx.converted(expr, underlying)
            }
            _ => expr,
        }
    }
}
