//! Compile-time integers: array sizes, generic values, enumerators, `case` labels, attribute arguments.
//!
//! A constant is an ordinary expression, checked like any other and then folded. What depends on generic
//! parameters folds to a [`Val`] that says how.

use crate::Checked;
use crate::body::BodyCx;
use crate::codes;
use crate::hir::{Body, Const, Expr, ExprKind, StmtKind, TyKind, UnaryOp, Val, ValKind};
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Scalar};
use cotangent_syntax::ast::{self, BinaryOp};

impl Checked {
    /// The integer an expression stands for; reports if it is not known at compile time.
    pub(crate) fn const_val(&mut self, expr: &ast::Expr, scope: ScopeId) -> Val {
        if let ast::ExprKind::Int(n, _) = expr.kind {
            return self.int_val(n as i64);
        }
        if let ast::ExprKind::Name(name) = expr.kind
            && let Some(val) = self.local_constant(scope, name)
        {
            return val;
        }
        let checked = BodyCx::new(self, scope).expr(expr);
        if let Some(val) = self.fold(&checked) {
            return val;
        }
        if !matches!(checked.kind, ExprKind::Error) && !self.is_error(checked.ty) {
            let message = "the value must be known at compile time";
            self.diagnostics.push(
                Diagnostic::new(codes::NOT_CONSTANT, expr.span, message)
                    .help("use a literal, a `static const`, an enumerator or a generic value parameter"),
            );
        }
        self.program.types.val(ValKind::Error)
    }

    /// A constant of a function body that stands in one of its scopes.
    fn local_constant(&mut self, scope: ScopeId, name: cotangent_base::Symbol) -> Option<Val> {
        match self.lookup(scope, name).first()?.item {
            crate::tables::Item::Const(val) => Some(val),
            _ => None,
        }
    }

    /// The compile-time integer an expression evaluates to.
    pub(crate) fn fold(&mut self, expr: &Expr) -> Option<Val> {
        match &expr.kind {
            ExprKind::Const(Const::Int(n)) => Some(self.int_val(*n)),
            ExprKind::Const(Const::Bool(b)) => Some(self.int_val(i64::from(*b))),
            ExprKind::Const(Const::Float(_)) => None,
            ExprKind::Val(val) => Some(*val),
            ExprKind::Zero => match self.program.types.kind(expr.ty) {
                TyKind::Scalar(s) if !s.is_float() => Some(self.int_val(0)),
                _ => None,
            },
            ExprKind::Convert(inner) => self.fold_convert(inner, expr),
            ExprKind::Unary(op, inner) => {
                let inner = self.fold(inner)?;
                Some(match op {
                    UnaryOp::Neg => {
                        let zero = self.int_val(0);
                        self.binary_val(BinaryOp::Sub, zero, inner)
                    }
                    UnaryOp::Not => {
                        let zero = self.int_val(0);
                        self.binary_val(BinaryOp::Eq, inner, zero)
                    }
                    UnaryOp::BitNot => {
                        let ones = self.int_val(-1);
                        self.binary_val(BinaryOp::BitXor, inner, ones)
                    }
                })
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.fold(a)?, self.fold(b)?);
                let val = self.binary_val(*op, a, b);
                (self.program.types.val_kind(val) != ValKind::Error).then_some(val)
            }
            ExprKind::Cond(c, a, b) => {
                let c = self.fold(c)?;
                match self.program.types.known(c)? {
                    0 => self.fold(b),
                    _ => self.fold(a),
                }
            }
            ExprKind::Global(id) => {
                if self.program.globals[*id].kind != crate::hir::GlobalKind::Const {
                    return None;
                }
                let body = self.check_initializer(*id)?;
                let value = returned(&body)?.clone();
                self.fold(&value)
            }
            _ => None,
        }
    }

    fn fold_convert(&mut self, inner: &Expr, outer: &Expr) -> Option<Val> {
        let target = self.program.types.kind(outer.ty);
        if let (ExprKind::Const(Const::Float(x)), TyKind::Scalar(s)) = (&inner.kind, target)
            && s.is_int()
        {
            return Some(self.int_val(*x as i64));
        }
        let val = self.fold(inner)?;
        match (target, self.program.types.known(val)) {
            (TyKind::Scalar(Scalar::Bool), Some(n)) => Some(self.int_val(i64::from(n != 0))),
            (TyKind::Scalar(s), Some(n)) if s.is_int() => Some(self.int_val(wrap(n, s))),
            (TyKind::Scalar(s), _) if s.is_float() => None,
            _ => Some(val),
        }
    }
}

/// The value of a body that is one `return`.
pub(crate) fn returned(body: &Body) -> Option<&Expr> {
    match &body.block.last()?.kind {
        StmtKind::Return(Some(value)) => Some(value),
        _ => None,
    }
}

/// An integer as a type of limited width holds it.
pub(crate) fn wrap(n: i64, scalar: Scalar) -> i64 {
    match scalar {
        Scalar::I8 => i64::from(n as i8),
        Scalar::I16 => i64::from(n as i16),
        Scalar::I32 => i64::from(n as i32),
        Scalar::U8 => i64::from(n as u8),
        Scalar::U16 => i64::from(n as u16),
        Scalar::U32 => i64::from(n as u32),
        Scalar::Bool | Scalar::I64 | Scalar::U64 | Scalar::F16 | Scalar::F32 | Scalar::F64 => n,
    }
}

/// Arithmetic on known integers; `None` where there is no result.
pub(crate) fn int_binary(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    let truth = |c: bool| Some(i64::from(c));
    match op {
        BinaryOp::Add => Some(a.wrapping_add(b)),
        BinaryOp::Sub => Some(a.wrapping_sub(b)),
        BinaryOp::Mul => Some(a.wrapping_mul(b)),
        BinaryOp::Div => a.checked_div(b),
        BinaryOp::Rem => a.checked_rem(b),
        BinaryOp::And => truth(a != 0 && b != 0),
        BinaryOp::Or => truth(a != 0 || b != 0),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::Shl => Some(a.wrapping_shl(b as u32)),
        BinaryOp::Shr => Some(a.wrapping_shr(b as u32)),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::Lt => truth(a < b),
        BinaryOp::Le => truth(a <= b),
        BinaryOp::Gt => truth(a > b),
        BinaryOp::Ge => truth(a >= b),
        BinaryOp::Comma => Some(b),
    }
}
