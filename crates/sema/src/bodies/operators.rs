//! Checks operators.
//!
//! On built-in numbers, the shapes are joined (a scalar is splat), the element types are joined (see [`join_scalars`]), and
//! both operands are converted. If an operand has another type, the checker looks for a function `operator+`. For a generic
//! parameter, it looks for the method of an interface that stands for the operator: [`declared`]. For enumerations see
//! [`enums`].

mod declared;
mod enums;

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::hir::{Arg, Call, Const, Dir, Expr, ExprKind, FuncRef, Ty, TyKind, Types, UnaryOp, Val};
use crate::tables::Item;
use crate::types::show::binary_text;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_syntax::ast::BinaryOp;

/// The shape of a built-in number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Scalar,
    Vector(Val),
    Matrix(Val, Val),
}

impl Shape {
    /// The shape of an operation on two operands.
    fn join(self, other: Shape) -> Option<Shape> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Shape::Scalar, other) | (other, Shape::Scalar) => Some(other),
            _ => None,
        }
    }
}

/// A built-in number: element type and shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Number {
    element: Ty,
    shape: Shape,
}

/// What an operator does with the types of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Arithmetic,
    Bits,
    Shift,
    Compare,
    Logic,
}

fn family(op: BinaryOp) -> Family {
    use BinaryOp::*;
    match op {
        Add | Sub | Mul | Div | Rem | Comma => Family::Arithmetic,
        BitAnd | BitOr | BitXor => Family::Bits,
        Shl | Shr => Family::Shift,
        Eq | Ne | Lt | Le | Gt | Ge => Family::Compare,
        And | Or => Family::Logic,
    }
}

/// The type in which two different scalars meet. There is no promotion to `int`: the wider wins, of equal width the
/// unsigned one; any float beats any integer. Literals are no exception: `int16_t(1) + 1` is an `int`.
pub(crate) fn join_scalars(a: Scalar, b: Scalar) -> Scalar {
    match (a.is_float(), b.is_float()) {
        (true, false) => a,
        (false, true) => b,
        (true, true) => {
            if a.bits() >= b.bits() {
                a
            } else {
                b
            }
        }
        (false, false) => match a.bits().cmp(&b.bits()) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal if a.is_signed() => b,
            std::cmp::Ordering::Equal => a,
        },
    }
}

impl Types {
    fn numeric(&self, ty: Ty) -> Option<Number> {
        let (element, shape) = match self.kind(ty) {
            TyKind::Scalar(_) => (ty, Shape::Scalar),
            TyKind::Vector(t, n) => (t, Shape::Vector(n)),
            TyKind::Matrix(t, r, c) => (t, Shape::Matrix(r, c)),
            _ => return None,
        };
        Some(Number { element, shape })
    }

    fn shaped(&mut self, element: Ty, shape: Shape) -> Ty {
        match shape {
            Shape::Scalar => element,
            Shape::Vector(n) => self.ty(TyKind::Vector(element, n)),
            Shape::Matrix(r, c) => self.ty(TyKind::Matrix(element, r, c)),
        }
    }

    fn join_elements(&mut self, a: Ty, b: Ty) -> Option<Ty> {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Scalar(x), TyKind::Scalar(y)) => Some(self.scalar(join_scalars(x, y))),
            _ => (a == b).then_some(a),
        }
    }

    fn shift_amount(&mut self, element: Ty) -> Option<Ty> {
        match self.kind(element) {
            TyKind::Scalar(Scalar::Bool) => Some(self.scalar(Scalar::I32)),
            TyKind::Scalar(s) if s.is_float() => None,
            _ => Some(element),
        }
    }
}

impl BodyCx<'_> {
    /// `a op b`.
    pub(crate) fn binary(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if op == BinaryOp::Comma {
            self.cx.not_pack(a.ty, a.span, "an operand of `,`");
            let ty = self.cx.not_pack(b.ty, b.span, "an operand of `,`");
            return Expr::new(ExprKind::Sequence(a.into(), b.into()), ty, span);
        }
        if self.cx.program.types.is_error(a.ty) || self.cx.program.types.is_error(b.ty) {
            return self.error(span);
        }
        if let Some(result) = self.compare_with_none(op, &a, &b, span) {
            return result;
        }
        if a.ty == b.ty
            && self.cx.program.is_handle(a.ty)
            && let Some(call) = self.declared_operator(binary_text(op), &[a.clone(), b.clone()], span)
        {
            return call;
        }
        let (a, b) = (self.unwrap_block(a), self.unwrap_block(b));
        if let Some(result) = self.operator_on_enum(binary_text(op), &[&a, &b], span) {
            return result;
        }
        if let Some(result) = self.enum_operation(op, &a, &b, span) {
            return result;
        }
        let (a, b) = (self.enum_value(a), self.enum_value(b));
        match (self.cx.program.types.numeric(a.ty), self.cx.program.types.numeric(b.ty)) {
            (Some(x), Some(y)) => self.number_operation(op, (a, x), (b, y), span),
            // A generic scalar meets a vector of it.
            (Some(x), None) if x.element == b.ty => {
                let b = self.cx.converted(b, a.ty);
                self.number_operation(op, (a, x), (b, x), span)
            }
            (None, Some(y)) if y.element == a.ty => {
                let a = self.cx.converted(a, b.ty);
                self.number_operation(op, (a, y), (b, y), span)
            }
            _ => self.user_operation(op, a, b, span),
        }
    }

    /// What a constant buffer holds, where a number is wanted.
    fn unwrap_block(&mut self, expr: Expr) -> Expr {
        match self.cx.program.block_content(expr.ty) {
            Some(content) => self.cx.program.block_value(expr, content),
            None => expr,
        }
    }

    fn number_operation(
        &mut self,
        op: BinaryOp,
        (a, x): (Expr, Number),
        (b, y): (Expr, Number),
        span: Span,
    ) -> Expr {
        let Some(shape) = x.shape.join(y.shape) else {
            if let Some(call) = self.declared_operator(binary_text(op), &[a.clone(), b.clone()], span) {
                return call;
            }
            let is_matrix = |shape| matches!(shape, Shape::Matrix(..));
            let product = op == BinaryOp::Mul && (is_matrix(x.shape) || is_matrix(y.shape));
            let why = if product {
                "the shapes differ, and `*` works element by element; use `mul` for matrix products"
            } else {
                "the shapes differ"
            };
            return self.no_operator(binary_text(op), &[&a, &b], span, Some(why));
        };
        let family = family(op);
        let bool_ty = self.scalar(Scalar::Bool);
        let element = match family {
            Family::Logic => Some(bool_ty),
            Family::Shift => Some(x.element),
            Family::Arithmetic | Family::Bits | Family::Compare => {
                self.cx.program.types.join_elements(x.element, y.element)
            }
        };
        let Some(element) = element else {
            return self.no_operator(binary_text(op), &[&a, &b], span, Some("the element types differ"));
        };
        let Some(element) = self.admissible(op, family, element) else {
            let why = match op {
                BinaryOp::BitXor => "it needs integers; powers are written `pow(x, y)`",
                _ => "it needs integers",
            };
            return self.no_operator(binary_text(op), &[&a, &b], span, Some(why));
        };
        let operand = self.cx.program.types.shaped(element, shape);
        let right = match family {
            Family::Shift => match self.cx.program.types.shift_amount(y.element) {
                Some(amount) => self.cx.program.types.shaped(amount, shape),
                None => return self.no_operator(binary_text(op), &[&a, &b], span, Some("it needs integers")),
            },
            _ => operand,
        };
        let (a, b) = (self.cx.converted(a, operand), self.cx.converted(b, right));
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) && self.is_zero(&b) {
            self.report(Diagnostic::new(codes::DIVIDED_BY_ZERO, b.span, "division by zero"));
            return self.error(span);
        }
        let ty = match family {
            Family::Compare | Family::Logic => self.cx.program.types.shaped(bool_ty, shape),
            Family::Arithmetic | Family::Bits | Family::Shift => operand,
        };
        let remainder = if op == BinaryOp::Rem { self.float_remainder(a.ty) } else { None };
        match remainder {
            Some(callee) => {
                let args = vec![(Dir::In, a), (Dir::In, b)];
                let call = Call { callee, diff: vec![], args, through: None };
                Expr::new(ExprKind::Call(call.into()), ty, span)
            }
            None => Expr::new(ExprKind::Binary(op, a.into(), b.into()), ty, span),
        }
    }

    /// Whether this is an integer known to be zero.
    fn is_zero(&mut self, expr: &Expr) -> bool {
        let is_int = matches!(self.kind(expr.ty), TyKind::Scalar(s) if s.is_int());
        is_int && self.fold(expr).and_then(|v| self.cx.program.types.known(v)) == Some(0)
    }

    /// `a % b` on floats is the library's `fmod`, which has a derivative.
    fn float_remainder(&mut self, ty: Ty) -> Option<FuncRef> {
        let Item::Func(func) = *self.cx.tables.lang.get(&"fmod".into())? else { return None };
        self.cx.differential_of(ty)?;
        self.cx.ensure_func(func);
        Some(FuncRef { func, args: self.cx.program.types.args(&[Arg::Ty(ty)]) })
    }

    /// The element type an operator works in, given the one its operands meet in.
    fn admissible(&mut self, op: BinaryOp, family: Family, element: Ty) -> Option<Ty> {
        let TyKind::Scalar(scalar) = self.kind(element) else {
            // Of a generic element its bounds say what it can do.
            let method = match family {
                Family::Arithmetic => "add",
                Family::Bits | Family::Shift => "bitAnd",
                Family::Compare | Family::Logic => return Some(element),
            };
            return self.is_promised(element, method).then_some(element);
        };
        let int = |cx: &mut Self| Some(cx.scalar(Scalar::I32));
        match family {
            Family::Arithmetic if scalar == Scalar::Bool => int(self),
            Family::Compare if scalar == Scalar::Bool && !matches!(op, BinaryOp::Eq | BinaryOp::Ne) => {
                int(self)
            }
            Family::Shift if scalar == Scalar::Bool => int(self),
            Family::Bits | Family::Shift if scalar.is_float() => None,
            _ => Some(element),
        }
    }

    /// `-x`, `!x`, `~x`, `+x`.
    pub(crate) fn unary(&mut self, op: Option<UnaryOp>, operand: Expr, span: Span) -> Expr {
        if self.cx.program.types.is_error(operand.ty) {
            return self.error(span);
        }
        let operand = self.unwrap_block(operand);
        let text = match op {
            Some(UnaryOp::Neg) => "-",
            Some(UnaryOp::Not) => "!",
            Some(UnaryOp::BitNot) => "~",
            None => "+",
        };
        if let Some(result) = self.operator_on_enum(text, &[&operand], span) {
            return result;
        }
        let enum_ty = matches!(self.kind(operand.ty), TyKind::Enum(_)).then_some(operand.ty);
        let operand = self.enum_value(operand);
        let Some(number) = self.cx.program.types.numeric(operand.ty) else {
            return self.user_unary(op, text, operand, span);
        };
        let scalar = match self.kind(number.element) {
            TyKind::Scalar(scalar) => Some(scalar),
            _ => None,
        };
        let int = self.scalar(Scalar::I32);
        let bool_ty = self.scalar(Scalar::Bool);
        let build = |kind, operand: Expr| {
            let ty = operand.ty;
            Expr::new(ExprKind::Unary(kind, operand.into()), ty, span)
        };
        let result = match op {
            Some(UnaryOp::Neg) | None => {
                let operand = if scalar == Some(Scalar::Bool) {
                    let ty = self.cx.program.types.shaped(int, number.shape);
                    self.cx.converted(operand, ty)
                } else {
                    operand
                };
                if op.is_none() { operand } else { negated(operand, scalar, span) }
            }
            Some(UnaryOp::BitNot) => {
                let is_float = match scalar {
                    Some(scalar) => scalar.is_float(),
                    None => !self.is_promised(number.element, "bitNot"),
                };
                if is_float {
                    return self.no_operator(text, &[&operand], span, Some("it needs integers"));
                }
                build(UnaryOp::BitNot, operand)
            }
            Some(UnaryOp::Not) => {
                let ty = operand.ty;
                let truth = self.cx.program.types.shaped(bool_ty, number.shape);
                let truth = self.cx.converted(operand, truth);
                let result = build(UnaryOp::Not, truth);
                // Of an integer the result is an integer, 0 or 1; of all else a truth value.
                if scalar.is_some_and(Scalar::is_int) { self.cx.converted(result, ty) } else { result }
            }
        };
        match enum_ty {
            Some(ty) if op == Some(UnaryOp::BitNot) => Expr::new(ExprKind::Convert(result.into()), ty, span),
            _ => result,
        }
    }

    /// `c ? a : b`. A declared `operator?:` replaces it if `c` is not a number; it receives both sides.
    pub(crate) fn ternary(&mut self, cond: Expr, a: Expr, b: Expr, span: Span) -> Expr {
        if self.cx.program.types.numeric(cond.ty).is_none()
            && let Some(call) = self.declared_operator("?:", &[cond.clone(), a.clone(), b.clone()], span)
        {
            return call;
        }
        let Some(ty) = self.cx.join_types(a.ty, b.ty) else {
            let message = format!("`{}` and `{}` have no type in common", self.show(a.ty), self.show(b.ty));
            self.report(Diagnostic::new(codes::MISMATCH, span, message));
            return self.error(span);
        };
        let bool_ty = self.scalar(Scalar::Bool);
        match self.cx.program.types.numeric(cond.ty) {
            Some(Number { shape, .. }) if shape != Shape::Scalar => {
                let wanted = self
                    .cx
                    .program
                    .types
                    .numeric(ty)
                    .and_then(|n| n.shape.join(shape).map(|s| (n.element, s)));
                let Some((element, joined)) = wanted.filter(|(_, joined)| *joined == shape) else {
                    return self.no_operator("?:", &[&cond, &a, &b], span, Some("the shapes differ"));
                };
                let ty = self.cx.program.types.shaped(element, joined);
                let truth = self.cx.program.types.shaped(bool_ty, shape);
                let cond = self.cx.converted(cond, truth);
                let (a, b) = (self.coerce(a, ty), self.coerce(b, ty));
                Expr::new(ExprKind::Select(cond.into(), a.into(), b.into()), ty, span)
            }
            _ => {
                let cond = self.coerce(cond, bool_ty);
                let (a, b) = (self.coerce(a, ty), self.coerce(b, ty));
                Expr::new(ExprKind::Cond(cond.into(), a.into(), b.into()), ty, span)
            }
        }
    }
}

impl Checked {
    /// The type two types meet in: for branches of `?:` and for inference.
    pub(crate) fn join_types(&mut self, a: Ty, b: Ty) -> Option<Ty> {
        if a == b || self.program.types.is_error(b) {
            return Some(a);
        }
        if self.program.types.is_error(a) {
            return Some(b);
        }
        let (Some(x), Some(y)) = (self.program.types.numeric(a), self.program.types.numeric(b)) else {
            if let (Some(x), None) = (self.program.types.numeric(a), self.program.types.numeric(b)) {
                return (x.element == b).then_some(a);
            }
            if let (None, Some(y)) = (self.program.types.numeric(a), self.program.types.numeric(b)) {
                return (y.element == a).then_some(b);
            }
            return match (self.type_cost(a, b), self.type_cost(b, a)) {
                (Some(_), None) => Some(b),
                (None, Some(_)) => Some(a),
                _ => None,
            };
        };
        let shape = x.shape.join(y.shape)?;
        let element = self.program.types.join_elements(x.element, y.element)?;
        Some(self.program.types.shaped(element, shape))
    }
}

/// `-x`; of a literal a literal.
fn negated(operand: Expr, scalar: Option<Scalar>, span: Span) -> Expr {
    let ty = operand.ty;
    let kind = match operand.kind {
        ExprKind::Const(Const::Int(n)) => {
            let n = crate::bodies::constant::wrap(n.wrapping_neg(), scalar.unwrap_or(Scalar::I64));
            ExprKind::Const(Const::Int(n))
        }
        ExprKind::Const(Const::Float(x)) => ExprKind::Const(Const::Float(-x)),
        kind => ExprKind::Unary(UnaryOp::Neg, Expr { kind, ..operand }.into()),
    };
    Expr::new(kind, ty, span)
}

#[cfg(test)]
mod tests {
    use super::join_scalars;
    use cotangent_base::Scalar::*;

    #[test]
    fn scalars_meet_without_promotion() {
        assert_eq!(join_scalars(I8, U8), U8);
        assert_eq!(join_scalars(I32, U32), U32);
        assert_eq!(join_scalars(I64, U32), I64);
        assert_eq!(join_scalars(U64, I32), U64);
        assert_eq!(join_scalars(I64, F16), F16);
        assert_eq!(join_scalars(F16, F32), F32);
        assert_eq!(join_scalars(I16, I16), I16);
    }
}
