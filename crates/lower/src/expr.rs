//! Lowers expressions.
//!
//! [`Frame::eval`] returns the value of an expression, or none if its type is `void`. Operands are evaluated from left to
//! right; `&&`, `||` and `?:` short-circuit.

use crate::assigned::{self, Assigned};
use crate::dispatch::Deferred;
use crate::func::Frame;
use crate::instance::Origin;
use crate::place::Place;
use cotangent_base::printf::{self, Piece, Takes};
use cotangent_base::{Scalar, Symbol};
use cotangent_ir::eval::Eval;
use cotangent_ir::{Const, Math, Op, Ty, Type, Value};
use cotangent_sema::hir::{self, BinaryOp, Expr, ExprKind, UnaryOp};

impl Frame<'_, '_> {
    /// The value of an expression that has one.
    pub fn expr(&mut self, e: &Expr) -> Value {
        if let Some(value) = self.eval(e) {
            return value;
        }
        let ty = self.ty(e.ty);
        self.b().undef(ty)
    }

    /// Evaluates an expression. Instructions stand for its place in the source.
    pub fn eval(&mut self, e: &Expr) -> Option<Value> {
        let outer = std::mem::replace(&mut self.span, e.span);
        let value = self.eval_kind(e);
        self.span = outer;
        value
    }

    fn eval_kind(&mut self, e: &Expr) -> Option<Value> {
        let value = match &e.kind {
            ExprKind::Const(c) => self.constant(*c, e.ty),
            ExprKind::Val(val) => {
                let n = self.known(*val)?;
                self.constant(hir::Const::Int(n), e.ty)
            }
            ExprKind::Zero => {
                let ty = self.ty(e.ty);
                self.b().zero(ty)
            }
            ExprKind::Undef => {
                let ty = self.ty(e.ty);
                self.b().undef(ty)
            }
            ExprKind::Local(_)
            | ExprKind::Global(..)
            | ExprKind::Field(..)
            | ExprKind::Element(..)
            | ExprKind::Swizzle(..)
            | ExprKind::MatrixSwizzle(..)
            | ExprKind::Property { .. } => {
                let place = self.place(e);
                self.read(&place)
            }
            ExprKind::Unary(op, a) => self.unary(*op, a),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::Cond(c, a, b) => return self.cond(c, a, b),
            ExprKind::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|e| self.expr(e));
                self.b().select(c, a, b)
            }
            ExprKind::Sequence(a, b) => {
                self.eval(a);
                return self.eval(b);
            }
            ExprKind::Convert(a) => {
                let value = self.expr(a);
                self.converted(value, a.ty, e.ty)
            }
            ExprKind::Is(a, to) => return self.is(a, *to),
            ExprKind::As(a, to) => return self.as_(a, *to, e.ty),
            ExprKind::Splat(a) => {
                let (value, to) = (self.expr(a), self.ty(e.ty));
                self.splat(value, to)
            }
            ExprKind::Concat(parts) => {
                let parts: Vec<Value> = parts.iter().map(|p| self.expr(p)).collect();
                let to = self.ty(e.ty);
                self.concat(&parts, to)
            }
            ExprKind::Truncate(a) => {
                let (value, to) = (self.expr(a), self.ty(e.ty));
                self.truncate(value, to)
            }
            ExprKind::Construct(parts) => {
                let parts: Vec<Value> = parts.iter().map(|p| self.expr(p)).collect();
                let ty = self.ty(e.ty);
                self.construct(&parts, ty)
            }
            ExprKind::Assign(place, value) => {
                let (place, value) = self.assign(place, value);
                // What a setter makes of the value is for the getter to say.
                if place.has_getter() { self.read(&place) } else { value }
            }
            ExprKind::Modify { place, right, old, new, post } => {
                let place = self.place(place);
                if let Some((local, right)) = right {
                    self.vars[*local] = Some(self.expr(right));
                }
                self.modify(&place, *old, new, *post)
            }
            ExprKind::Call(call) => {
                let value = self.call(call, false)?;
                let ty = self.ty(e.ty);
                self.convert(value, ty)
            }
            ExprKind::Print(format, values) => {
                let values: Vec<Value> = values.iter().map(|v| self.expr(v)).collect();
                if self.fits_format(*format, &values) {
                    self.b().emit(Op::Print(*format), &values, &[]);
                }
                return None;
            }
            ExprKind::TargetCode(kind, text, args) => return self.target_code(*kind, *text, args, e.ty),
            ExprKind::AddressOf(place) => return self.address_of(place),
            ExprKind::NoDiff(inner) => return self.no_diff(inner),
            ExprKind::Measure(measure, of) => return self.measure(*measure, *of, e.ty),
            ExprKind::Assert(val, message) => {
                self.assert_static(*val, *message);
                return None;
            }
            // A text is its hash: nothing else can be asked of it when the program runs.
            ExprKind::String(text) => {
                let ty = self.lowerer.module.types.scalar(Scalar::U32);
                self.b().constant(Const::Int(i64::from(hir::hash_of(*text))), ty)
            }
            ExprKind::Pack(_) | ExprKind::Expand(_) | ExprKind::Each(_) | ExprKind::Part(..) => {
                return self.unexpected("a pack was not taken apart");
            }
            ExprKind::Platform(_) => return self.unexpected("the target is asked for outside a switch"),
            ExprKind::Error => return self.unexpected("an expression with an error was lowered"),
        };
        Some(value)
    }

    /// A conversion between types of the language.
    fn converted(&mut self, value: Value, from: hir::Ty, to: hir::Ty) -> Value {
        let [source, target] = [from, to].map(|ty| self.lowerer.queries.subst(ty, &self.subst));
        let optional = self.lowerer.queries.optional_content(target).is_some();
        if optional || self.lowerer.is_sum(target) {
            self.adapt(value, source, target)
        } else {
            let to = self.ty(to);
            self.convert(value, to)
        }
    }

    /// Writes `new`, which reads the variable `old`, to a place; gives the value before or after.
    fn modify(&mut self, place: &Place, old: hir::LocalId, new: &Expr, post: bool) -> Value {
        let before = self.read(place);
        self.vars[old] = Some(before);
        let after = self.expr(new);
        self.write(place, after);
        if post { before } else { after }
    }

    fn unexpected(&mut self, what: &str) -> Option<Value> {
        self.internal(what);
        None
    }

    /// Whether values, some of which may come from packs, are what a format shows; says so if not.
    fn fits_format(&mut self, format: Symbol, values: &[Value]) -> bool {
        let pieces = printf::parse(format.as_str()).unwrap_or_default();
        let takes: Vec<Takes> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Value(conversion) => Some(conversion.takes()),
                Piece::Text(_) => None,
            })
            .collect();
        let shown = |(takes, value): (&Takes, &Value)| {
            if let Type::Scalar(scalar) = self.lowerer.module.types.get(self.func.ty(*value)) {
                scalar.is_float() == (*takes == Takes::Float)
            } else {
                false
            }
        };
        let message = if takes.len() != values.len() {
            format!("the format expects {} values, but the pack provides {}", takes.len(), values.len())
        } else if !takes.iter().zip(values).all(shown) {
            "the format does not match the types in the pack".to_string()
        } else {
            return true;
        };
        self.lowerer.error(cotangent_sema::codes::BAD_FORMAT, self.span, message);
        false
    }

    /// `place = value`.
    pub fn assign(&mut self, place: &Expr, value: &Expr) -> (Place, Value) {
        let place = self.place(place);
        let value = self.expr(value);
        self.write(&place, value);
        (place, value)
    }

    /// `x is T`: known, unless `x` is of interface type.
    fn is(&mut self, a: &Expr, to: hir::Ty) -> Option<Value> {
        let [from, to] = [a.ty, to].map(|ty| self.lowerer.queries.subst(ty, &self.subst));
        // Of `T is U` there is no value.
        if let ExprKind::Undef = a.kind {
            return Some(self.b().bool(from == to));
        }
        let value = self.expr(a);
        if from == to || !self.lowerer.is_sum(from) {
            let is = self.lowerer.is_a(from, to);
            return Some(self.b().bool(is));
        }
        let callee = self.lowerer.origin(Origin::Deferred(Deferred::Is(from, to)))?;
        let ty = self.lowerer.module.types.scalar(Scalar::Bool);
        Some(self.b().emit1(Op::Call(callee), &[value], ty))
    }

    /// `x as T`: the value as that type, or none.
    fn as_(&mut self, a: &Expr, to: hir::Ty, optional: hir::Ty) -> Option<Value> {
        let value = self.expr(a);
        let ty = self.ty(optional);
        let types = [a.ty, to, optional].map(|ty| self.lowerer.queries.subst(ty, &self.subst));
        let [from, to, optional] = types;
        if from != to && self.lowerer.is_sum(from) {
            let callee = self.lowerer.origin(Origin::Deferred(Deferred::As(from, to, optional)))?;
            return Some(self.b().emit1(Op::Call(callee), &[value], ty));
        }
        if !self.lowerer.is_a(from, to) {
            return Some(self.b().zero(ty));
        }
        let value = self.adapt(value, from, to);
        let present = self.b().bool(true);
        Some(self.b().pack(&[present, value], ty))
    }

    /// `static_assert` under the generic arguments of this instance.
    fn assert_static(&mut self, val: hir::Val, message: Symbol) {
        if self.known(val) == Some(0) {
            let span = self.span;
            self.lowerer.error(cotangent_sema::codes::ASSERTION_FAILS, span, message.as_str());
        }
    }

    /// The size or alignment of a type.
    fn measure(&mut self, measure: hir::Measure, of: hir::Ty, ty: hir::Ty) -> Option<Value> {
        let queries = &mut self.lowerer.queries;
        let known = queries.subst(of, &self.subst);
        let known = queries.measure_val(measure, known).and_then(|val| queries.program.types.known(val));
        if let Some(bytes) = known {
            return Some(self.constant(hir::Const::Int(bytes), ty));
        }
        let of = self.ty(of);
        self.lowerer.expose_inside(of);
        let Some(layout) = crate::sums::seen_layout(&self.lowerer.module.types, of) else {
            self.unsupported("the size of a resource is");
            return None;
        };
        let bytes = match measure {
            hir::Measure::Size => layout.size,
            hir::Measure::Align => layout.align,
        };
        Some(self.constant(hir::Const::Int(bytes.into()), ty))
    }

    /// A constant in the type it has; an enumerator is an integer.
    fn constant(&mut self, value: hir::Const, ty: hir::Ty) -> Value {
        let ty = self.ty(ty);
        let scalar = self.lowerer.module.types.scalar_of(ty);
        let value = match (value, scalar) {
            (hir::Const::Int(n), Some(s)) if s.is_float() => Const::float(n as f64),
            (hir::Const::Int(n), Some(Scalar::Bool)) => Const::Bool(n != 0),
            (hir::Const::Int(n), Some(s)) => Eval::default().constant(Const::Int(n), s),
            (hir::Const::Int(n), None) => Const::Int(n),
            (hir::Const::Bool(b), Some(s)) if s.is_int() => Const::Int(b.into()),
            (hir::Const::Bool(b), _) => Const::Bool(b),
            (hir::Const::Float(x), _) => Const::float(x),
        };
        self.b().constant(value, ty)
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr) -> Value {
        let value = self.expr(a);
        let math = match op {
            UnaryOp::Neg => Math::Neg,
            UnaryOp::Not | UnaryOp::BitNot => Math::Not,
        };
        self.b().math(math, &[value])
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Value {
        let math = match op {
            BinaryOp::And | BinaryOp::Or => return self.logical(op, a, b),
            BinaryOp::Comma => {
                self.eval(a);
                return self.expr(b);
            }
            BinaryOp::Add => Math::Add,
            BinaryOp::Sub => Math::Sub,
            BinaryOp::Mul => Math::Mul,
            BinaryOp::Div => Math::Div,
            BinaryOp::Rem => Math::Rem,
            BinaryOp::BitAnd => Math::And,
            BinaryOp::BitOr => Math::Or,
            BinaryOp::BitXor => Math::Xor,
            BinaryOp::Shl => Math::Shl,
            BinaryOp::Shr => Math::Shr,
            BinaryOp::Eq => Math::Eq,
            BinaryOp::Ne => Math::Ne,
            BinaryOp::Lt => Math::Lt,
            BinaryOp::Le => Math::Le,
            BinaryOp::Gt => Math::Gt,
            BinaryOp::Ge => Math::Ge,
        };
        let (a, mut b) = (self.expr(a), self.expr(b));
        if matches!(math, Math::Shl | Math::Shr) {
            let ty = self.func.ty(a);
            b = self.convert(b, ty);
        }
        self.b().math(math, &[a, b])
    }

    /// `&&` and `||`: lane by lane on vectors; on scalars the right side runs only if it matters.
    fn logical(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Value {
        let and = op == BinaryOp::And;
        let left = self.expr(a);
        let ty = self.func.ty(left);
        if !matches!(self.lowerer.module.types.get(ty), Type::Scalar(_)) {
            let right = self.expr(b);
            return self.b().math(if and { Math::And } else { Math::Or }, &[left, right]);
        }
        let mut assigned = Assigned::new();
        assigned::expr(b, &mut assigned);
        let value = self.branch(Op::If, left, 2, &assigned, Some(ty), |f, arm| {
            let right = (arm == 0) == and;
            Some(if right { f.expr(b) } else { f.b().bool(!and) })
        });
        value.unwrap_or(left)
    }

    fn cond(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Option<Value> {
        let cond = self.expr(c);
        let mut assigned = Assigned::new();
        assigned::expr(a, &mut assigned);
        assigned::expr(b, &mut assigned);
        let ty = Some(self.ty(a.ty)).filter(|ty| self.lowerer.module.types.get(*ty) != Type::Unit);
        self.branch(Op::If, cond, 2, &assigned, ty, |f, arm| f.eval(if arm == 0 { a } else { b }))
    }

    /// An aggregate of all its parts.
    fn construct(&mut self, parts: &[Value], ty: Ty) -> Value {
        let types = &mut self.lowerer.module.types;
        if let (Type::Scalar(_), &[only]) = (types.get(ty), parts) {
            return only;
        }
        let all = types.arity(ty) == Some(parts.len() as u32);
        let fits = |(i, v): (usize, &Value)| types.part(ty, Some(i as u32)) == Some(self.func.ty(*v));
        if !all || !parts.iter().enumerate().all(fits) {
            self.internal("a value is constructed of other parts than it has");
            return self.b().undef(ty);
        }
        self.b().pack(parts, ty)
    }

    /// `no_diff f(x)`: nothing flows in or out.
    fn no_diff(&mut self, inner: &Expr) -> Option<Value> {
        if let ExprKind::Call(call) = &inner.kind {
            let value = self.call(call, true);
            value.map(|v| self.detach(v))
        } else {
            let place = self.place(inner);
            Some(self.read_no_diff(place))
        }
    }

    /// The value without its derivative.
    pub fn detach(&mut self, value: Value) -> Value {
        let ty = self.func.ty(value);
        self.b().emit1(Op::Detach, &[value], ty)
    }
}
