//! Conversions: which exist, what they cost, and the expressions that perform them.
//!
//! Overload resolution adds up costs, so the table of costs is part of the language. A literal is cheaper to convert than a
//! variable of its type. A converted literal becomes a literal of the new type.

mod cost;

pub(crate) use cost::{Cost, FROM_ENUM, LOSSY, PLACE, TO_BASE, fits};

use crate::Checked;
use crate::derive;
use crate::facts::Facts;
use crate::hir::{Arg, Call, Const, Dir, Expr, ExprKind, FuncRef, Program, StructId, Ty, TyKind};
use crate::names::Names;
use crate::tables::Item;
use cotangent_base::Scalar;

impl Checked {
    /// Converts an expression, which must be possible. Literals become literals of the other type.
    pub(crate) fn converted(&mut self, expr: Expr, to: Ty) -> Expr {
        use TyKind::{Array, Assoc, Enum, Error, Interface, Matrix, Scalar, Struct, UnsizedArray, Vector};
        if expr.ty == to {
            return expr;
        }
        let span = expr.span;
        let make = |kind, ty| Expr::new(kind, ty, span);
        match (self.program.types.kind(expr.ty), self.program.types.kind(to)) {
            (Error, _) | (_, Error) => make(ExprKind::Error, to),
            (_, Interface(..)) => make(ExprKind::Convert(expr.into()), to),
            (Struct(..), Struct(..)) if self.of_heap(expr.ty, to).is_some() => {
                let Some(callee) = self.of_heap(expr.ty, to) else { return make(ExprKind::Error, to) };
                let call = Call { callee, diff: vec![], args: vec![(Dir::In, expr)], through: None };
                make(ExprKind::Call(call.into()), to)
            }
            (TyKind::None, Struct(..))
                if self.program.pointee(to).is_some() || self.facts().is_optional_differential(to) =>
            {
                make(ExprKind::Zero, to)
            }
            (_, Struct(..)) if self.facts().conditional_content(to).is_some() => {
                let content = self.facts().conditional_content(to).unwrap_or(to);
                let value = self.converted(expr, content);
                self.conditional_call("conditionalOf", value, to, to)
            }
            (_, Struct(..)) if self.facts().optional_content(to).is_some() => {
                self.converted_to_optional(expr, to)
            }
            (_, Struct(id, _))
                if self.tables.structs[id].converts && !self.program.is_same_struct(expr.ty, id) =>
            {
                self.constructed(expr, to)
            }
            (Scalar(from), Scalar(target)) => {
                if let ExprKind::Const(value) = expr.kind
                    && let Some(value) = convert_const(value, from, target)
                {
                    return make(ExprKind::Const(value), to);
                }
                make(ExprKind::Convert(expr.into()), to)
            }
            (Scalar(_) | TyKind::Param(_) | Assoc(..), Vector(t, _) | Matrix(t, _, _)) => {
                let element = self.converted(expr, t);
                make(ExprKind::Splat(element.into()), to)
            }
            (Vector(t, _), Scalar(_)) => {
                let lane = make(ExprKind::Convert(expr.into()), t);
                self.converted(lane, to)
            }
            (Array(..), UnsizedArray(_)) => expr,
            (Enum(id), Scalar(_)) => {
                let underlying = self.program.enums[id].underlying;
                let value = match expr.kind {
                    ExprKind::Const(value) => make(ExprKind::Const(value), underlying),
                    kind => make(ExprKind::Convert(Expr { kind, ..expr }.into()), underlying),
                };
                self.converted(value, to)
            }
            (Struct(id, _), _) => self.converted_struct(expr, id, to),
            _ => make(ExprKind::Convert(expr.into()), to),
        }
    }

    /// A value in an optional, or an optional whose content is converted.
    fn converted_to_optional(&mut self, expr: Expr, to: Ty) -> Expr {
        if self.facts().conditional_content(expr.ty).is_some() {
            let of = expr.ty;
            return self.conditional_call("conditionalGet", expr, of, to);
        }
        let content = self.facts().optional_content(to).unwrap_or(to);
        if self.mapped_cost(expr.ty, content).is_some() {
            let span = expr.span;
            return Expr::new(ExprKind::Convert(expr.into()), to, span);
        }
        self.optional_value(expr, to)
    }

    /// A call of the constructor that converts to a structure.
    fn constructed(&mut self, expr: Expr, to: Ty) -> Expr {
        let span = expr.span;
        let Some((_, callee, ty)) = self.implicit_constructor(expr.ty, to) else {
            return Expr::new(ExprKind::Error, to, span);
        };
        let value = self.converted(expr, ty);
        let call = Call { callee, diff: vec![], args: vec![(Dir::In, value)], through: None };
        Expr::new(ExprKind::Call(call.into()), to, span)
    }

    /// The conversions of a structure: to another pair, from a lambda to its function, from a block to its content, to a base.
    fn converted_struct(&mut self, expr: Expr, id: StructId, to: Ty) -> Expr {
        let span = expr.span;
        let is_struct = matches!(self.program.types.kind(to), TyKind::Struct(..));
        if is_struct && derive::pair_contents(self, expr.ty, to).is_some() {
            return derive::converted_pair(self, expr, to);
        }
        if self.tables.lambdas.is_converted(id, to) {
            let fields = match expr.kind {
                ExprKind::Construct(fields) => fields,
                kind => self.fields_of(Expr { kind, ..expr }),
            };
            return Expr::new(ExprKind::Construct(fields), to, span);
        }
        if let Some(content) = self.program.block_content(expr.ty) {
            let inner = self.program.block_value(expr, content);
            return self.converted(inner, to);
        }
        match self.base_of(expr.ty, id) {
            Some(base) => {
                let inner = Expr::new(ExprKind::Convert(expr.into()), base, span);
                self.converted(inner, to)
            }
            None => Expr::new(ExprKind::Error, to, span),
        }
    }

    /// The fields of a structure.
    fn fields_of(&mut self, whole: Expr) -> Vec<Expr> {
        let TyKind::Struct(id, args) = self.program.types.kind(whole.ty) else { return vec![] };
        let span = whole.span;
        let whole = std::sync::Arc::new(whole);
        let field = |(number, ty)| Expr::new(ExprKind::Field(whole.clone(), number as u32), ty, span);
        self.fields_under(id, args).into_iter().enumerate().map(field).collect()
    }

    /// A call of the library's function from or to the conditional type `of`.
    fn conditional_call(&mut self, lang: &str, value: Expr, of: Ty, to: Ty) -> Expr {
        let span = value.span;
        let (Some(&Item::Func(func)), TyKind::Struct(_, args)) =
            (self.tables.lang.get(&lang.into()), self.program.types.kind(of))
        else {
            return Expr::new(ExprKind::Error, to, span);
        };
        self.ensure_func(func);
        let callee = FuncRef { func, args };
        let call = Call { callee, diff: vec![], args: vec![(Dir::In, value)], through: None };
        Expr::new(ExprKind::Call(call.into()), to, span)
    }

    /// A value, or `none`, as an optional one.
    fn optional_value(&mut self, expr: Expr, to: Ty) -> Expr {
        let Some(content) = self.facts().optional_content(to) else {
            return expr;
        };
        if self.program.types.kind(expr.ty) == TyKind::None {
            let nothing = Expr::new(ExprKind::Zero, content, expr.span);
            return self.program.optional_parts(false, nothing, to);
        }
        let value = self.converted(expr, content);
        self.program.optional_parts(true, value, to)
    }
}

impl Program {
    fn is_same_struct(&self, ty: Ty, id: StructId) -> bool {
        matches!(self.types.kind(ty), TyKind::Struct(other, _) if other == id)
    }

    /// What a constant buffer or parameter block holds; it converts to that.
    pub(crate) fn block_content(&mut self, ty: Ty) -> Option<Ty> {
        let TyKind::Struct(id, args) = self.types.kind(ty) else {
            return None;
        };
        let magic = self.structs[id].magic?;
        if !matches!(magic.as_str(), "constantbuffer" | "texturebuffer" | "parameterblock" | "handle") {
            return None;
        }
        self.types.list(args).first()?.ty()
    }

    /// A value of the content's type as an optional value that is present.
    pub(crate) fn present(&mut self, value: Expr, to: Ty) -> Expr {
        self.optional_parts(true, value, to)
    }

    /// An optional value, made of its flag and its content.
    fn optional_parts(&mut self, present: bool, value: Expr, to: Ty) -> Expr {
        let span = value.span;
        let ty = self.types.ty(TyKind::Scalar(Scalar::Bool));
        let present = Expr::new(ExprKind::Const(Const::Bool(present)), ty, span);
        Expr::new(ExprKind::Construct(vec![present, value]), to, span)
    }

    /// What stands in a constant buffer: its only element.
    pub(crate) fn block_value(&mut self, block: Expr, content: Ty) -> Expr {
        let span = block.span;
        let index =
            Expr::new(ExprKind::Const(Const::Int(0)), self.types.ty(TyKind::Scalar(Scalar::I32)), span);
        Expr::new(ExprKind::Element(block.into(), index.into()), content, span)
    }
}

impl Facts<'_> {
    /// What an `Optional` may hold.
    pub fn optional_content(self, ty: Ty) -> Option<Ty> {
        self.content_of("Optional", ty)
    }

    /// Whether values are derivatives of optional values, where `none` is zero.
    fn is_optional_differential(self, ty: Ty) -> bool {
        self.content_of("OptionalDifferential", ty).is_some()
    }

    /// What a `Conditional` may hold.
    fn conditional_content(self, ty: Ty) -> Option<Ty> {
        self.content_of("Conditional", ty)
    }

    /// The first argument of a structure of the library that goes by this name.
    fn content_of(self, lang: &str, ty: Ty) -> Option<Ty> {
        let TyKind::Struct(id, args) = self.program.types.kind(ty) else {
            return None;
        };
        if self.tables.lang.get(&lang.into()) != Some(&Item::Struct(id)) {
            return None;
        }
        self.program.types.list(args).first()?.ty()
    }
}

impl Names<'_> {
    /// `Optional<T>`.
    pub(crate) fn optional_of(&mut self, content: Ty) -> Option<Ty> {
        let Some(&Item::Struct(id)) = self.tables.lang.get(&"Optional".into()) else { return None };
        let args = self.program.types.args(&[Arg::Ty(content)]);
        Some(self.program.types.ty(TyKind::Struct(id, args)))
    }
}

/// A constant in another scalar type, if that can be said without rounding rules of a target.
fn convert_const(value: Const, from: Scalar, to: Scalar) -> Option<Const> {
    match value {
        Const::Int(n) if to.is_int() => Some(Const::Int(crate::bodies::constant::wrap(n, to))),
        Const::Int(n) if to.is_float() => {
            let exact = n.unsigned_abs() <= 1 << 53 && (from != Scalar::U64 || n >= 0);
            exact.then_some(Const::Float(n as f64))
        }
        Const::Int(n) if to == Scalar::Bool => Some(Const::Bool(n != 0)),
        Const::Bool(b) if to.is_int() => Some(Const::Int(i64::from(b))),
        Const::Bool(b) if to.is_float() => Some(Const::Float(f64::from(u8::from(b)))),
        Const::Float(x) if to.is_float() && to.bits() >= from.bits() && from != Scalar::F16 => {
            // A float literal is rounded to its own type first.
            let x = if from == Scalar::F32 { f64::from(x as f32) } else { x };
            Some(Const::Float(x))
        }
        Const::Int(_) | Const::Bool(_) | Const::Float(_) => None,
    }
}
