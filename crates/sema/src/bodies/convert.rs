//! Conversions: which exist, what they cost, and the expressions that perform them.
//!
//! Overload resolution adds up costs, so the table of costs is part of the language. A literal is cheaper to convert than a
//! variable of its type. A converted literal becomes a literal of the new type.

use crate::Checked;
use crate::declarations::attrs;
use crate::derive;
use crate::facts::Facts;
use crate::hir::{
    Arg, Call, Const, Dir, Expr, ExprKind, FuncRef, InterfaceRef, Param, Program, StructId, Ty, TyKind,
};
use crate::names::Names;
use crate::tables::Item;
use cotangent_base::Scalar;
use cotangent_syntax::ast;

/// The cost of a conversion; 0 for none.
pub(crate) type Cost = u32;

/// From a scalar to a vector, beyond that of the scalars.
const SPLAT_VECTOR: Cost = 2;
/// From a scalar to a matrix, beyond that of the scalars.
const SPLAT_MATRIX: Cost = 10;
/// From a vector of one lane to a scalar or back, beyond that of the scalars.
const ONE_LANE: Cost = 1;
/// From a structure to its base.
pub(crate) const TO_BASE: Cost = 50;
/// To a value of some type that conforms to an interface.
const TO_INTERFACE: Cost = 50;
/// From a value, or none, to an optional one.
const TO_OPTIONAL: Cost = 150;
/// From what a descriptor heap holds to a resource.
const FROM_HEAP: Cost = 100;
/// From an array to one without a size.
const UNSIZED: Cost = 30;
/// From an enumeration to its integer type, the only one it converts to by itself.
pub(crate) const FROM_ENUM: Cost = 100;
/// What cannot be undone: narrowing, float to integer, ...
pub(crate) const LOSSY: Cost = 900;
/// An `out` or `inout` argument of an integer type of the other signedness.
pub(crate) const PLACE: Cost = 800;

/// The cost of converting a scalar that is not a literal.
pub(crate) fn scalar_cost(from: Scalar, to: Scalar) -> Cost {
    if from == to {
        return 0;
    }
    let unsigned = |s: Scalar| !s.is_signed() && !s.is_float();
    let wider = to.bits() > from.bits();
    match () {
        () if from == Scalar::Bool && to == Scalar::I32 => 120,
        () if from == Scalar::Bool && to.is_float() => LOSSY,
        () if to == Scalar::Bool => LOSSY,
        () if from.is_float() && to.is_float() && wider => 150,
        () if from.is_signed() && to.is_signed() && wider => 150,
        () if unsigned(from) && unsigned(to) && wider => 150,
        () if unsigned(from) && to.is_signed() && wider => 200,
        () if from.is_signed() && unsigned(to) && to.bits() >= from.bits() => 250,
        () if unsigned(from) && to.is_signed() && to.bits() == from.bits() => 300,
        () if from.is_int() && matches!(to, Scalar::F32 | Scalar::F64) => 400,
        () if from.is_int() && to == Scalar::F16 => 500,
        () => LOSSY,
    }
}

/// The cost of converting an integer literal to another integer type, if it fits.
fn literal_cost(value: i64, from: Scalar, to: Scalar) -> Option<Cost> {
    if from == to || !from.is_int() || !to.is_int() || !fits(value, from, to) {
        return None;
    }
    Some(match (from.is_signed(), to.is_signed()) {
        (true, false) => 32,
        (false, true) => 81,
        _ => 23,
    })
}

/// Whether an integer keeps its value in another integer type.
pub(crate) fn fits(value: i64, from: Scalar, to: Scalar) -> bool {
    let wide = if from == Scalar::U64 { i128::from(value as u64) } else { i128::from(value) };
    let bits = to.bits();
    let (low, high) = if to.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    (low..=high).contains(&wide)
}

impl Checked {
    /// What it costs to convert an expression implicitly, or `None` if that is impossible.
    pub(crate) fn cost(&mut self, expr: &Expr, to: Ty) -> Option<Cost> {
        if let (ExprKind::Const(Const::Int(value)), TyKind::Scalar(from)) =
            (&expr.kind, self.program.types.kind(expr.ty))
        {
            return self.literal_to(*value, from, to);
        }
        self.type_cost(expr.ty, to)
    }

    fn literal_to(&mut self, value: i64, from: Scalar, to: Ty) -> Option<Cost> {
        let (element, extra) = match self.program.types.kind(to) {
            TyKind::Scalar(_) => (to, 0),
            TyKind::Vector(t, _) => (t, SPLAT_VECTOR),
            TyKind::Matrix(t, _, _) => (t, SPLAT_MATRIX),
            _ => {
                let ty = self.program.types.ty(TyKind::Scalar(from));
                return self.type_cost(ty, to);
            }
        };
        let TyKind::Scalar(target) = self.program.types.kind(element) else {
            return None;
        };
        let cost = literal_cost(value, from, target).unwrap_or_else(|| scalar_cost(from, target));
        Some(cost + extra)
    }

    /// What it costs to convert a value of one type to another.
    pub(crate) fn type_cost(&mut self, from: Ty, to: Ty) -> Option<Cost> {
        use TyKind::{Array, Assoc, Enum, Error, Interface, Matrix, Scalar, Struct, UnsizedArray, Vector};
        if from == to {
            return Some(0);
        }
        match (self.program.types.kind(from), self.program.types.kind(to)) {
            (Error, _) | (_, Error) => Some(0),
            (_, Interface(interface, args)) => {
                let interface = InterfaceRef { interface, args };
                self.conforms(from, interface).then_some(TO_INTERFACE)
            }
            (Struct(..), Struct(..)) if self.of_heap(from, to).is_some() => Some(FROM_HEAP),
            (TyKind::None, Struct(..))
                if self.program.pointee(to).is_some() || self.facts().is_optional_differential(to) =>
            {
                Some(TO_OPTIONAL)
            }
            (_, Struct(..)) if self.facts().conditional_content(to).is_some() => {
                let content = self.facts().conditional_content(to)?;
                Some(self.type_cost(from, content)? + TO_OPTIONAL)
            }
            (_, Struct(..)) if self.facts().optional_content(to).is_some() => {
                let content = self.facts().optional_content(to)?;
                if self.facts().conditional_content(from) == Some(content) {
                    return Some(TO_OPTIONAL);
                }
                if self.program.types.kind(from) == TyKind::None {
                    return Some(TO_OPTIONAL);
                }
                if let Some(cost) = self.mapped_cost(from, content) {
                    return Some(cost);
                }
                Some(self.type_cost(from, content)? + TO_OPTIONAL)
            }
            (_, Struct(id, _))
                if self.tables.structs[id].converts && !self.program.is_same_struct(from, id) =>
            {
                self.implicit_constructor(from, to).map(|(cost, ..)| cost)
            }
            (Scalar(a), Scalar(b)) => Some(scalar_cost(a, b)),
            (Scalar(_) | TyKind::Param(_) | Assoc(..), Vector(t, _)) => {
                Some(self.type_cost(from, t)? + SPLAT_VECTOR)
            }
            (Scalar(_) | TyKind::Param(_) | Assoc(..), Matrix(t, _, _)) => {
                Some(self.type_cost(from, t)? + SPLAT_MATRIX)
            }
            (TyKind::Param(_), Scalar(cotangent_base::Scalar::Bool)) if self.is_enumeration(from) => {
                Some(LOSSY)
            }
            (Vector(t, n), Scalar(_)) if self.program.types.known(n) == Some(1) => {
                Some(self.type_cost(t, to)? + ONE_LANE)
            }
            (Vector(a, m), Vector(b, n)) if m == n => self.program.element_cost(a, b),
            (Matrix(a, r, c), Matrix(b, s, d)) if r == s && c == d => self.program.element_cost(a, b),
            (Array(a, _), UnsizedArray(b)) if a == b => Some(UNSIZED),
            (Enum(id), Scalar(b)) => {
                self.ensure_enum(id);
                let is_own = self.program.enums[id].underlying == to;
                let is_bool = b == cotangent_base::Scalar::Bool;
                (is_own || is_bool).then_some(if is_own { FROM_ENUM } else { LOSSY })
            }
            (Struct(..), Struct(..)) if derive::pair_contents(self, from, to).is_some() => {
                let (a, b) = derive::pair_contents(self, from, to)?;
                self.type_cost(a, b)
            }
            (Struct(id, _), Struct(..)) if self.tables.lambdas.is_converted(id, to) => Some(PLACE),
            (Struct(id, _), Struct(..)) => {
                if self.program.block_content(from) == Some(to) {
                    return Some(10);
                }
                let base = self.base_of(from, id)?;
                Some(self.type_cost(base, to)? + TO_BASE)
            }
            (Struct(..), _) => {
                let content = self.program.block_content(from)?;
                Some(self.type_cost(content, to)? + 10)
            }
            _ => None,
        }
    }

    /// The function that makes a resource of what a descriptor heap holds.
    fn of_heap(&mut self, from: Ty, to: Ty) -> Option<FuncRef> {
        let (Some(&Item::Struct(item)), Some(&Item::Func(func))) =
            (self.tables.lang.get(&"HeapItem".into()), self.tables.lang.get(&"heapItem".into()))
        else {
            return None;
        };
        if !self.program.is_same_struct(from, item) || !self.program.is_handled(to) {
            return None;
        }
        self.ensure_func(func);
        let args = self.program.types.args(&[Arg::Ty(to)]);
        Some(FuncRef { func, args })
    }

    /// Whether a type not yet known is an enumeration by its bounds.
    fn is_enumeration(&mut self, ty: Ty) -> bool {
        self.bounds_of(ty).iter().any(|bound| self.facts().is_enum_interface(bound.interface))
    }

    /// The cheapest constructor marked `__implicit_conversion(cost)` that takes a value of a type: the cost, the constructor,
    /// and the type of its parameter.
    fn implicit_constructor(&mut self, from: Ty, to: Ty) -> Option<(Cost, FuncRef, Ty)> {
        let TyKind::Struct(id, args) = self.program.types.kind(to) else { return None };
        let scope = self.tables.structs[id].scope;
        let mut best: Option<(Cost, FuncRef, Ty)> = None;
        for item in self.tables.scopes[scope].items(attrs::INIT.into()).to_vec() {
            let Item::Func(func) = item else { continue };
            let attributes = self.tables.funcs[func].prefix.attributes.clone();
            let Some(marked) = attrs::find(&attributes, attrs::IMPLICIT) else { continue };
            let own = match marked.args.first().map(|arg| &arg.kind) {
                Some(ast::ExprKind::Int(cost, _)) => Cost::try_from(*cost).unwrap_or(LOSSY),
                _ => TO_BASE,
            };
            self.ensure_func(func);
            let generics = self.program.funcs[func].generics.params.clone();
            let [Param { ty, dir: Dir::In, .. }] = self.program.funcs[func].params[..] else { continue };
            if generics.len() != self.program.types.list(args).len() {
                continue;
            }
            let ty = self.replace(ty, &generics, args);
            // One conversion at a time: what a constructor takes is not made by another one.
            let made = matches!(self.program.types.kind(ty), TyKind::Struct(id, _) if self.tables.structs[id].converts);
            if made && ty != from {
                continue;
            }
            if let Some(cost) = self.type_cost(from, ty).map(|cost| cost + own)
                && best.as_ref().is_none_or(|(least, ..)| cost < *least)
            {
                best = Some((cost, FuncRef { func, args }, ty));
            }
        }
        best
    }

    /// The cost of converting the content of an optional value while it stays optional: `none` stays `none`.
    fn mapped_cost(&mut self, from: Ty, content: Ty) -> Option<Cost> {
        let held = self.facts().optional_content(from)?;
        let wrapped = derive::pair_contents(self, held, content).is_some()
            || self.program.block_content(held).is_some()
            || self.facts().conditional_content(held).is_some()
            || self.facts().conditional_content(content).is_some();
        if wrapped && held != content {
            return None;
        }
        self.type_cost(held, content)
    }

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
                if self.facts().conditional_content(expr.ty).is_some() {
                    let of = expr.ty;
                    return self.conditional_call("conditionalGet", expr, of, to);
                }
                let content = self.facts().optional_content(to).unwrap_or(to);
                if self.mapped_cost(expr.ty, content).is_some() {
                    return make(ExprKind::Convert(expr.into()), to);
                }
                self.optional_value(expr, to)
            }
            (_, Struct(id, _))
                if self.tables.structs[id].converts && !self.program.is_same_struct(expr.ty, id) =>
            {
                let Some((_, callee, ty)) = self.implicit_constructor(expr.ty, to) else {
                    return make(ExprKind::Error, to);
                };
                let value = self.converted(expr, ty);
                let call = Call { callee, diff: vec![], args: vec![(Dir::In, value)], through: None };
                make(ExprKind::Call(call.into()), to)
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
            (Struct(..), Struct(..)) if derive::pair_contents(self, expr.ty, to).is_some() => {
                derive::converted_pair(self, expr, to)
            }
            (Struct(id, _), _) if self.tables.lambdas.is_converted(id, to) => {
                let fields = match expr.kind {
                    ExprKind::Construct(fields) => fields,
                    kind => self.fields_of(Expr { kind, ..expr }),
                };
                make(ExprKind::Construct(fields), to)
            }
            (Struct(id, _), _) => {
                if let Some(content) = self.program.block_content(expr.ty) {
                    let inner = self.program.block_value(expr, content);
                    return self.converted(inner, to);
                }
                match self.base_of(expr.ty, id) {
                    Some(base) => {
                        let inner = make(ExprKind::Convert(expr.into()), base);
                        self.converted(inner, to)
                    }
                    None => make(ExprKind::Error, to),
                }
            }
            _ => make(ExprKind::Convert(expr.into()), to),
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

    fn element_cost(&mut self, from: Ty, to: Ty) -> Option<Cost> {
        match (self.types.kind(from), self.types.kind(to)) {
            (TyKind::Scalar(a), TyKind::Scalar(b)) => Some(scalar_cost(a, b)),
            _ => (from == to).then_some(0),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_language() {
        use Scalar::*;
        assert_eq!(scalar_cost(I32, I64), 150);
        assert_eq!(scalar_cost(F16, F64), scalar_cost(F16, F32));
        assert_eq!(scalar_cost(I32, U32), 250);
        assert_eq!(scalar_cost(U32, I32), 300);
        assert_eq!(scalar_cost(U32, I64), 200);
        assert_eq!(scalar_cost(I64, F32), 400);
        assert_eq!(scalar_cost(I64, I32), LOSSY);
        assert_eq!(scalar_cost(Bool, I32), 120);
    }

    #[test]
    fn a_literal_fits_by_its_value() {
        use Scalar::*;
        assert!(fits(255, I32, U8));
        assert!(!fits(256, I32, U8));
        assert!(!fits(-1, I32, U32));
        assert!(!fits(-1, U64, I64));
    }
}
