//! Evaluates compile-time integers: array sizes, generic values, enumerators, `case` labels, attribute arguments.
//!
//! A constant is an ordinary expression, which is checked and then folded. An expression that depends on generic parameters
//! folds to a symbolic [`Val`].

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::facts::Facts;
use crate::hir::{
    Body, Const, Expr, ExprKind, FuncRef, GlobalId, LocalId, StmtKind, Ty, TyKind, UnaryOp, Val, ValKind,
    Witness,
};
use crate::tables::{FuncSource, ScopeId};
use cotangent_base::{Diagnostic, Map, Scalar, Set};
use cotangent_syntax::ast::{self, BinaryOp};

impl Checked {
    /// The integer an expression stands for; reports if it is not known at compile time.
    pub(crate) fn const_val(&mut self, expr: &ast::Expr, scope: ScopeId) -> Val {
        if let ast::ExprKind::Int(n, _) = expr.kind {
            return self.program.types.int_val(n as i64);
        }
        if let ast::ExprKind::Name(name) = expr.kind
            && let Some(val) = self.local_constant(scope, name)
        {
            return val;
        }
        let checked = BodyCx::new(self, scope).expr(expr);
        if let Some(val) = self.fold(&checked) {
            self.note_folded(&checked, &mut Set::default());
            return val;
        }
        if !matches!(checked.kind, ExprKind::Error) && !self.program.types.is_error(checked.ty) {
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
            crate::tables::Item::Const(val, _) => Some(val),
            _ => None,
        }
    }

    /// Notes the specialization constants whose values went into a compile-time value, which fixes them. Each of the `seen`
    /// constants is followed once: constants that are sums of others would be followed exponentially often.
    fn note_folded(&mut self, expr: &Expr, seen: &mut Set<GlobalId>) {
        if let ExprKind::Global(id, _) = expr.kind
            && seen.insert(id)
        {
            if self.program.globals[id].specialized {
                self.program.globals[id].folded = true;
            } else if let Some(body) = self.check_initializer(id)
                && let Some(value) = returned(&body)
            {
                self.note_folded(value, seen);
            }
        }
        expr.operands().into_iter().for_each(|operand| self.note_folded(operand, seen));
    }

    /// The compile-time integer an expression evaluates to.
    pub(crate) fn fold(&mut self, expr: &Expr) -> Option<Val> {
        self.fold_with(expr, &Map::default())
    }

    /// The same in a body some of whose variables are constants.
    pub(crate) fn fold_with(&mut self, expr: &Expr, locals: &Map<LocalId, Val>) -> Option<Val> {
        match &expr.kind {
            ExprKind::Const(Const::Int(n)) => Some(self.program.types.int_val(*n)),
            ExprKind::Const(Const::Bool(b)) => Some(self.program.types.int_val(i64::from(*b))),
            ExprKind::Const(Const::Float(_)) => None,
            ExprKind::Val(val) => Some(*val),
            ExprKind::Measure(measure, ty) => self.measure_val(*measure, *ty),
            ExprKind::Local(local) => locals.get(local).copied(),
            ExprKind::Zero => match self.program.types.kind(expr.ty) {
                TyKind::Scalar(s) if !s.is_float() => Some(self.program.types.int_val(0)),
                _ => None,
            },
            ExprKind::Convert(inner) => self.fold_convert(inner, expr, locals),
            ExprKind::Unary(op, inner) => {
                let scalar = self.integer_type(inner.ty)?;
                let inner = self.fold_with(inner, locals)?;
                let (op, left) = match op {
                    UnaryOp::Neg => (BinaryOp::Sub, 0),
                    UnaryOp::Not => (BinaryOp::Eq, 0),
                    UnaryOp::BitNot => (BinaryOp::BitXor, -1),
                };
                let left = self.program.types.int_val(left);
                Some(self.program.types.binary_val(op, scalar, left, inner))
            }
            ExprKind::Binary(op, a, b) => {
                let scalar = self.integer_type(a.ty)?;
                let (a, b) = (self.fold_with(a, locals)?, self.fold_with(b, locals)?);
                let val = self.program.types.binary_val(*op, scalar, a, b);
                (self.program.types.val_kind(val) != ValKind::Error).then_some(val)
            }
            ExprKind::Cond(c, a, b) => {
                let c = self.fold_with(c, locals)?;
                match self.program.types.known(c) {
                    Some(0) => self.fold_with(b, locals),
                    Some(_) => self.fold_with(a, locals),
                    None => {
                        self.integer_type(expr.ty)?;
                        let (a, b) = (self.fold_with(a, locals)?, self.fold_with(b, locals)?);
                        Some(self.program.types.val(ValKind::Choice(c, a, b)))
                    }
                }
            }
            ExprKind::Element(..) | ExprKind::Field(..) => {
                let part = self.constant_part(expr)?;
                self.fold(&part)
            }
            ExprKind::Property { this: None, get: Some(get), .. }
                if self.facts().is_required_constant(*get) =>
            {
                self.integer_type(expr.ty)?;
                Some(self.required_val(*get))
            }
            ExprKind::Global(id, _) => {
                if self.program.globals[*id].kind != crate::hir::GlobalKind::Const {
                    return None;
                }
                if let Some(folded) = self.tables.bodies.folded(*id) {
                    return folded;
                }
                let Some(body) = self.check_initializer(*id) else {
                    return self.open_value(*id);
                };
                let value = returned(&body).and_then(|value| self.fold(value));
                self.tables.bodies.remember_folded(*id, value);
                value
            }
            _ => None,
        }
    }

    /// What a type has for a constant that its interface requires; open while the type is.
    pub(crate) fn required_val(&mut self, requirement: FuncRef) -> Val {
        match self.find_witness(requirement) {
            Some(Witness::Func(getter)) => {
                let value = self.check_body(getter.func).and_then(|body| returned(&body).cloned());
                let Some(val) = value.and_then(|value| self.fold(&value)) else {
                    return self.program.types.val(ValKind::Error);
                };
                let params = self.program.funcs[getter.func].generics.params.clone();
                self.replace_val(val, &params, getter.args)
            }
            _ => self.program.types.val(ValKind::Required(requirement)),
        }
    }

    /// What stands for a part of a constant array or structure where that is written.
    fn constant_part(&mut self, expr: &Expr) -> Option<Expr> {
        let (whole, number) = match &expr.kind {
            ExprKind::Global(id, _) if self.program.globals[*id].kind == crate::hir::GlobalKind::Const => {
                return returned(&*self.check_initializer(*id)?).cloned();
            }
            ExprKind::Construct(_) => return Some(expr.clone()),
            ExprKind::Element(whole, index) => {
                let index = self.fold(index)?;
                (whole, usize::try_from(self.program.types.known(index)?).ok()?)
            }
            ExprKind::Field(whole, number) => (whole, *number as usize),
            _ => return None,
        };
        let is_whole = matches!(self.program.types.kind(whole.ty), TyKind::Array(..) | TyKind::Struct(..));
        match self.constant_part(whole)?.kind {
            ExprKind::Construct(parts) if is_whole => parts.get(number).cloned(),
            _ => None,
        }
    }

    fn fold_convert(&mut self, inner: &Expr, outer: &Expr, locals: &Map<LocalId, Val>) -> Option<Val> {
        let target = self.program.types.kind(outer.ty);
        if let (ExprKind::Const(Const::Float(x)), TyKind::Scalar(s)) = (&inner.kind, target)
            && s.is_int()
        {
            return Some(self.program.types.int_val(wrap(*x as i64, s)));
        }
        let from = self.integer_type(inner.ty)?;
        let to = self.integer_type(outer.ty)?;
        let val = self.fold_with(inner, locals)?;
        let zero = self.program.types.int_val(0);
        if to == Scalar::Bool {
            return Some(self.program.types.binary_val(BinaryOp::Ne, from, val, zero));
        }
        if let Some(n) = self.program.types.known(val) {
            return Some(self.program.types.int_val(wrap(n, to)));
        }
        // A wider type or another sign changes nothing that using the value would not; less width is cut off by a sum.
        Some(if to.bits() < from.bits() {
            self.program.types.binary_val(BinaryOp::Add, to, val, zero)
        } else {
            val
        })
    }

    /// The type in which a compile-time integer is computed; none if it is something else.
    fn integer_type(&mut self, ty: Ty) -> Option<Scalar> {
        match self.program.types.kind(ty) {
            TyKind::Scalar(scalar) if !scalar.is_float() => Some(scalar),
            TyKind::Enum(id) => {
                self.ensure_enum(id);
                self.integer_type(self.program.enums[id].underlying)
            }
            _ => None,
        }
    }
}

impl Facts<'_> {
    /// Whether this is the value of a `static const` that an interface requires: `T.N`.
    pub(crate) fn is_required_constant(self, getter: FuncRef) -> bool {
        match self.tables.funcs[getter.func].source {
            FuncSource::Accessor(property, _) => self.tables.props[property].is_const,
            FuncSource::Func(_) => false,
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

/// Arithmetic on known integers of a type, which decides how comparisons, quotients and shifts read the bits and where
/// results wrap around; `None` where there is no result.
pub(crate) fn int_binary(op: BinaryOp, scalar: Scalar, a: i64, b: i64) -> Option<i64> {
    let shift = b as u32 % scalar.bits().max(1);
    let (a, b) = (wrap(a, scalar), wrap(b, scalar));
    // Narrower unsigned integers are positive as they are; those of 64 bits must be read as such.
    let (x, y) = (a as u64, b as u64);
    let unsigned = scalar == Scalar::U64;
    let order = if unsigned { x.cmp(&y) } else { a.cmp(&b) };
    let truth = |c: bool| Some(i64::from(c));
    let result = match op {
        BinaryOp::And => return truth(a != 0 && b != 0),
        BinaryOp::Or => return truth(a != 0 || b != 0),
        BinaryOp::Eq => return truth(order.is_eq()),
        BinaryOp::Ne => return truth(order.is_ne()),
        BinaryOp::Lt => return truth(order.is_lt()),
        BinaryOp::Le => return truth(order.is_le()),
        BinaryOp::Gt => return truth(order.is_gt()),
        BinaryOp::Ge => return truth(order.is_ge()),
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div if unsigned => x.checked_div(y)? as i64,
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Rem if unsigned => x.checked_rem(y)? as i64,
        BinaryOp::Rem => a.checked_rem(b)?,
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => a << shift,
        BinaryOp::Shr if unsigned => (x >> shift) as i64,
        BinaryOp::Shr => a >> shift,
        BinaryOp::Comma => b,
    };
    Some(wrap(result, scalar))
}
