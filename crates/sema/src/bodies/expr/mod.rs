//! Checks expressions.

mod assign;
mod call;
mod index;
mod member;
mod misread;
pub(crate) mod pack;
mod path;
mod pointer;
mod print;

use crate::bodies::body::BodyCx;
use crate::bodies::overload::Callee;
use crate::codes;
use crate::derive;
use crate::hir::{self, Const, Expr, ExprKind, Measure, Ty, TyKind, Types};
use crate::names::lookup::Found;
use crate::tables::ScopeId;
use assign::Step;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_syntax::ast::{self, DiffMode, UnaryOp};

/// What an expression stands for before it is known what is wanted.
pub(crate) enum Entity {
    /// A value or place.
    Value(Expr),
    /// A type.
    Type(Ty),
    /// A type that wants generic arguments.
    Open(Found),
    /// A namespace.
    Namespace(ScopeId),
    /// Functions to be called.
    Funcs(Callee),
}

impl BodyCx<'_> {
    /// An expression as a value or place.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        let entity = self.entity(expr);
        self.value_of(entity, expr.span)
    }

    /// An expression as a value of a type.
    pub(crate) fn expr_as(&mut self, expr: &ast::Expr, ty: Ty) -> Expr {
        match &expr.kind {
            ast::ExprKind::List(items) => self.list_as(items, ty, expr.span),
            ast::ExprKind::Paren(inner) => self.expr_as(inner, ty),
            _ => {
                let value = self.expr(expr);
                self.coerce(value, ty)
            }
        }
    }

    /// An entity where a value must stand.
    fn value_of(&mut self, entity: Entity, span: Span) -> Expr {
        let message = match entity {
            Entity::Value(value) => return value,
            Entity::Type(ty) if self.cx.program.types.is_error(ty) => return self.error(span),
            Entity::Type(ty) => format!("`{}` is a type, not a value", self.show(ty)),
            Entity::Open(_) => "this is a generic type, not a value".into(),
            Entity::Namespace(_) => "this is a namespace, not a value".into(),
            Entity::Funcs(callee) => match self.function_object(&callee, span) {
                Some(object) => return object,
                None => format!("`{}` is a function; it must be called", callee.name),
            },
        };
        self.report(Diagnostic::new(codes::NOT_A_VALUE, span, message));
        self.error(span)
    }

    fn value(&self, kind: ExprKind, ty: Ty, span: Span) -> Entity {
        Entity::Value(Expr::new(kind, ty, span))
    }

    /// What an expression stands for.
    pub(crate) fn entity(&mut self, expr: &ast::Expr) -> Entity {
        let span = expr.span;
        self.repeats.note_expression();
        match &expr.kind {
            ast::ExprKind::Name(name) => self.name(*name, span),
            // The word is not reserved: a variable may have the name.
            ast::ExprKind::None if self.is_variable("none".into()) => self.name("none".into(), span),
            ast::ExprKind::Member(base, name) => self.member(base, *name, span),
            ast::ExprKind::Arrow(base, name) => self.arrow(base, *name, span),
            ast::ExprKind::Apply(base, args) => self.apply(base, args, span),
            ast::ExprKind::Paren(inner) => self.entity(inner),
            ast::ExprKind::ThisType => match self.cx.this_type(self.scope) {
                Some(ty) => Entity::Type(ty),
                None => {
                    let message = "`This` outside a type";
                    self.report(Diagnostic::new(codes::MISPLACED, span, message));
                    Entity::Value(self.error(span))
                }
            },
            ast::ExprKind::Index(base, indices) => self.index(base, indices, span),
            ast::ExprKind::Root => Entity::Namespace(self.cx.facts().file_scope(self.scope)),
            ast::ExprKind::Call(callee, args) if let Some(part) = pack::query(callee, args) => {
                self.pack_query(part, &args[0], expr)
            }
            ast::ExprKind::Call(callee, args) => Entity::Value(self.call_expr(callee, args, span)),
            ast::ExprKind::Each(inner) => self.each(inner, span),
            ast::ExprKind::Laid(..) => Entity::Type(self.cx.resolve_ty(expr, self.scope)),
            _ => Entity::Value(self.plain(expr)),
        }
    }

    /// Expressions that are always values.
    fn plain(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        let make = |kind, ty| Expr::new(kind, ty, span);
        match &expr.kind {
            ast::ExprKind::Int(n, scalar) => {
                let ty = self.scalar(*scalar);
                make(ExprKind::Const(Const::Int(*n as i64)), ty)
            }
            ast::ExprKind::Float(x, scalar) => {
                let ty = self.scalar(*scalar);
                make(ExprKind::Const(Const::Float(*x)), ty)
            }
            ast::ExprKind::Bool(b) => {
                let ty = self.scalar(Scalar::Bool);
                make(ExprKind::Const(Const::Bool(*b)), ty)
            }
            ast::ExprKind::String(text) => {
                let ty = self.ty(TyKind::String);
                make(ExprKind::String(*text), ty)
            }
            ast::ExprKind::None | ast::ExprKind::Null => {
                let ty = self.ty(TyKind::None);
                make(ExprKind::Zero, ty)
            }
            ast::ExprKind::This => self.this(span),
            ast::ExprKind::Unary(op, operand) => self.unary_expr(*op, operand, span),
            ast::ExprKind::Binary(op, a, b) => self.binary_expr(*op, a, b, span),
            ast::ExprKind::Assign(op, place, value) => self.assign(*op, place, value, span),
            ast::ExprKind::Ternary(cond, a, b) => {
                let cond = self.expr(cond);
                let sides = [a, b].map(|side| self.aside(|cx| cx.expr(side)));
                self.choice(cond, sides, span)
            }
            ast::ExprKind::Cast(ty, value) => self.cast_expr(ty, value, span),
            ast::ExprKind::List(_) => {
                let message = "the type of this initializer list is unknown";
                self.report(
                    Diagnostic::new(codes::BAD_LIST, span, message)
                        .help("declare the variable with its type, or write `T(..)`"),
                );
                self.error(span)
            }
            ast::ExprKind::Tuple(items) => self.tuple(items, span),
            ast::ExprKind::NoDiff(inner) => self.no_diff(inner, span),
            ast::ExprKind::Measure(measure, inner) => self.measure(*measure, inner, span),
            ast::ExprKind::Diff(mode, _) => {
                let operator = match mode {
                    DiffMode::Forward => "fwd_diff",
                    DiffMode::Backward => "bwd_diff",
                };
                let message = format!("a derivative must be called: `{operator}(f)(..)`");
                self.report(Diagnostic::new(codes::NOT_A_VALUE, span, message));
                self.error(span)
            }
            ast::ExprKind::Pointer(_) => {
                let message = "expected a value, found a type";
                self.report(Diagnostic::new(codes::NOT_A_VALUE, span, message));
                self.error(span)
            }
            ast::ExprKind::Is(value, ty) => self.is_as(value, ty, true, span),
            ast::ExprKind::As(value, ty) => self.is_as(value, ty, false, span),
            ast::ExprKind::Expand(inner) => self.expand(inner, span),
            ast::ExprKind::Try(inner) => self.try_(inner, span),
            ast::ExprKind::Lambda(lambda) => self.lambda(lambda, span),
            ast::ExprKind::TargetCode(code) => self.target_code(code, span),
            ast::ExprKind::FuncType(..) => self.refuse(span, "a function type"),
            ast::ExprKind::Error => self.error(span),
            ast::ExprKind::Name(_)
            | ast::ExprKind::Root
            | ast::ExprKind::Member(..)
            | ast::ExprKind::Arrow(..)
            | ast::ExprKind::Apply(..)
            | ast::ExprKind::Paren(_)
            | ast::ExprKind::ThisType
            | ast::ExprKind::Index(..)
            | ast::ExprKind::Each(_)
            | ast::ExprKind::Laid(..)
            | ast::ExprKind::Call(..) => self.expr(expr),
        }
    }

    fn refuse(&mut self, span: Span, what: &str) -> Expr {
        self.cx.rules().unsupported(span, what);
        self.error(span)
    }

    /// `this`.
    pub(crate) fn this(&mut self, span: Span) -> Expr {
        match self.this {
            Some(this) => {
                let this = self.local(this, span);
                self.captured_object(&this, span).unwrap_or(this)
            }
            None => {
                self.report(
                    Diagnostic::new(codes::NO_THIS, span, "there is no `this` here")
                        .help("`this` exists in methods and constructors that are not static"),
                );
                self.error(span)
            }
        }
    }

    fn unary_expr(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        match op {
            UnaryOp::PreInc => self.increment(Step::Up, operand, false, span),
            UnaryOp::PreDec => self.increment(Step::Down, operand, false, span),
            UnaryOp::PostInc => self.increment(Step::Up, operand, true, span),
            UnaryOp::PostDec => self.increment(Step::Down, operand, true, span),
            UnaryOp::Deref => self.deref(operand, span),
            UnaryOp::AddressOf => self.address_of(operand, span),
            UnaryOp::Plus => self.signed(None, operand, span),
            UnaryOp::Neg => self.signed(Some(hir::UnaryOp::Neg), operand, span),
            UnaryOp::Not => self.signed(Some(hir::UnaryOp::Not), operand, span),
            UnaryOp::BitNot => self.signed(Some(hir::UnaryOp::BitNot), operand, span),
        }
    }

    /// An operator before a value; none is `+`.
    fn signed(&mut self, op: Option<hir::UnaryOp>, operand: &ast::Expr, span: Span) -> Expr {
        let operand = self.expr(operand);
        self.unary(op, operand, span)
    }

    fn binary_expr(&mut self, op: ast::BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
        // `(T) - x` reads as a difference, but is a cast if `T` is a type.
        if let ast::ExprKind::Paren(inner) = &a.kind
            && let Some(sign) = sign_of(op)
            && let ast::ExprKind::Name(_) | ast::ExprKind::Member(..) | ast::ExprKind::Apply(..) = &inner.kind
            && let (Entity::Type(ty), true) = self.quietly(|cx| cx.entity(inner))
        {
            let operand = self.expr(b);
            let operand = self.unary(sign, operand, span);
            return self.cast(operand, ty, span);
        }
        let a = self.expr(a);
        if let ast::BinaryOp::And | ast::BinaryOp::Or = op {
            let side = self.aside(|cx| cx.expr(b));
            return self.shortcut(op, a, side, span);
        }
        let b = self.expr(b);
        self.binary(op, a, b, span)
    }

    fn cast_expr(&mut self, ty: &ast::Expr, value: &ast::Expr, span: Span) -> Expr {
        let scope = self.scope;
        let (target, _) = self.quietly(|cx| cx.entity(ty));
        let may_be_called = match target {
            Entity::Funcs(_) => true,
            // A variable does not hide a type where only a type can stand.
            Entity::Value(value) => {
                !self.cx.program.types.is_error(value.ty) && !self.quietly(|cx| cx.cx.resolve_ty(ty, scope)).1
            }
            Entity::Type(_) | Entity::Open(_) | Entity::Namespace(_) => false,
        };
        if may_be_called && let Some(call) = misread::call(ty, value) {
            return self.expr(&call);
        }
        let ty = self.cx.resolve_ty(ty, scope);
        match &value.kind {
            ast::ExprKind::List(items) => self.list_as(items, ty, span),
            _ => {
                let value = self.expr(value);
                if self.kind(ty) == TyKind::Void {
                    let nothing = Expr::new(ExprKind::Zero, ty, span);
                    return Expr::new(
                        ExprKind::Binary(ast::BinaryOp::Comma, value.into(), nothing.into()),
                        ty,
                        span,
                    );
                }
                self.cast(value, ty, span)
            }
        }
    }

    /// `x is T` and `x as T`.
    fn is_as(&mut self, value: &ast::Expr, ty: &ast::Expr, test: bool, span: Span) -> Expr {
        if let (true, Some(known)) = (test, self.type_is(value, ty, span)) {
            return known;
        }
        let value = self.expr(value);
        let scope = self.scope;
        let to = self.cx.resolve_ty(ty, scope);
        if self.cx.program.types.is_error(value.ty) || self.cx.program.types.is_error(to) {
            return self.error(span);
        }
        if value.ty != to && self.cx.program.types.is_known(value.ty) && self.cx.program.types.is_known(to) {
            let message = format!("a `{}` is never a `{}`", self.show(value.ty), self.show(to));
            self.report(Diagnostic::new(codes::NEVER_OF_TYPE, span, message));
            return self.error(span);
        }
        if test {
            let ty = self.scalar(Scalar::Bool);
            return Expr::new(ExprKind::Is(value.into(), to), ty, span);
        }
        let Some(ty) = self.cx.names().optional_of(to) else { return self.error(span) };
        Expr::new(ExprKind::As(value.into(), to), ty, span)
    }

    fn tuple(&mut self, items: &[ast::Expr], span: Span) -> Expr {
        let items: Vec<Expr> = items.iter().map(|i| self.expr(i)).collect();
        self.cx.program.tuple_of(items, span)
    }

    fn no_diff(&mut self, inner: &ast::Expr, span: Span) -> Expr {
        let value = self.expr(inner);
        let is_call = matches!(
            value.kind,
            ExprKind::Call(_) | ExprKind::Property { .. } | ExprKind::Element(..) | ExprKind::Error
        );
        // What has no derivative anyway may be constructed under `no_diff` too.
        let is_call = is_call
            || matches!(inner.kind, ast::ExprKind::Call(..)) && self.cx.differential_of(value.ty).is_none();
        if !is_call {
            self.report(
                Diagnostic::new(derive::codes::NO_DIFF_CALL, span, "`no_diff` applies to calls only")
                    .help("use `detach(..)`"),
            );
        }
        let ty = value.ty;
        Expr::new(ExprKind::NoDiff(value.into()), ty, span)
    }

    /// `sizeof(..)`, `alignof(..)` and `countof(..)` of a type or of what a value would be.
    fn measure(&mut self, measure: ast::Measure, inner: &ast::Expr, span: Span) -> Expr {
        let mut measured = self.measured(inner);
        if measured.is_none() {
            // In a constant the variables around it have no values, but they have sizes. `this` is none of them.
            let this = self.this.take();
            self.swap_locals();
            measured = self.measured(inner);
            self.swap_locals();
            self.this = this;
        }
        let int = self.scalar(Scalar::I32);
        if let (Some(ty), ast::Measure::CountOf) = (measured, measure)
            && let Some(n) = self.cx.program.count(ty)
        {
            return Expr::new(ExprKind::Val(n), int, span);
        }
        let asked = match measure {
            ast::Measure::SizeOf => Measure::Size,
            ast::Measure::AlignOf => Measure::Align,
            ast::Measure::CountOf => return self.counted(measured, inner, span),
        };
        match measured {
            Some(ty) => Expr::new(ExprKind::Measure(asked, ty), int, span),
            // Once more, to hear what is wrong.
            None => self.expr(inner),
        }
    }

    /// `countof(..)` of what is neither array nor vector.
    fn counted(&mut self, measured: Option<Ty>, inner: &ast::Expr, span: Span) -> Expr {
        let Some(ty) = measured else { return self.expr(inner) };
        if let TyKind::Tuple(elements) = self.kind(ty) {
            let count = self.cx.program.types.list(elements).len() as i64;
            let int = self.scalar(Scalar::I32);
            return Expr::new(ExprKind::Const(Const::Int(count)), int, span);
        }
        if !self.cx.program.types.is_error(ty) {
            let message = format!("`countof` takes an array, a vector or a tuple, not `{}`", self.show(ty));
            self.report(Diagnostic::new(codes::MISMATCH, inner.span, message));
        }
        self.error(span)
    }

    /// The type that is measured, if nothing is wrong with what stands there.
    fn measured(&mut self, inner: &ast::Expr) -> Option<Ty> {
        match self.quietly(|cx| cx.entity(inner)) {
            (Entity::Type(ty), true) => Some(ty),
            (Entity::Value(value), true) => Some(value.ty),
            _ => None,
        }
    }
}

impl Types {
    /// Whether a type is neither an interface nor depends on a generic parameter.
    fn is_known(&self, ty: Ty) -> bool {
        !matches!(
            self.kind(ty),
            TyKind::Interface(..) | TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..)
        )
    }
}

/// An operator between values as one before a value, if it can be: none is `+`.
fn sign_of(op: ast::BinaryOp) -> Option<Option<hir::UnaryOp>> {
    match op {
        ast::BinaryOp::Sub => Some(Some(hir::UnaryOp::Neg)),
        ast::BinaryOp::Add => Some(None),
        _ => None,
    }
}
