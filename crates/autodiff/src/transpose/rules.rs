//! The transposes of operations on numbers and aggregates.
//!
//! `y` is the cotangent of the result. A primal operand is written `%p`, a linear one `~a`.
//!
//! ```text
//! ~r = add ~a ~b             a += y; b += y
//! ~r = sub ~a ~b             a += y; b += -y
//! ~r = mul %p ~a             a += p * y
//! ~r = div ~a %p             a += y / p
//! ~r = select %c ~a ~b       a += select(c, y, 0); b += select(c, 0, y)
//! ~r = convert ~a            a += y, converted back
//! ~r = splat ~a              a += sum y
//! ~r = sum ~a                a += splat y
//! ~r = swizzle ~a [l..]      a[l] += y[i], for each lane
//! ~r = dot %p ~a             a += p * splat y
//! ~r = matvec %m ~a          a += vecmat y m;   of the matrix: outer y v
//! ~r = matmat %p ~a          a += matmat (transpose p) y
//! ~r = outer %p ~a           a += vecmat p y
//! ~r = pack ~a ~b            a += extract y [0]; b += extract y [1]
//! ~r = extract ~a [p]        a[p] += y
//! ~r = insert ~a ~v [p]      v += extract y [p]; a += y with 0 at [p]
//! ~r = insert_add ~a ~v [p]  v += extract y [p]; a += y
//! ```
//!
//! The rule of `insert` clears the part that was overwritten. Otherwise the old value of that part would get the cotangent of
//! the new one.

use super::Transposer;
use super::cotangent::Cotangent;
use crate::codes;
use crate::driver::Reported;
use cotangent_base::Diagnostic;
use cotangent_ir::{Inst, Linear, Math, Op, Path, Ty, Type, Value, op_group};

impl Transposer<'_, '_> {
    /// Transposes an operation with one result and no regions.
    pub(super) fn rule(&mut self, inst: Inst) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let Some(y) = self.cotangents.take(data.results[0]) else {
            return Ok(());
        };
        let operands = &data.operands[..];
        match &data.op {
            Op::Math(math) => return self.math_rule(inst, *math, operands, y),
            Op::Zero | Op::Undef => {}
            Op::Select => self.select_rule(operands, y),
            Op::Convert => self.reshape_rule(operands[0], Op::Convert, y),
            Op::Splat => self.reshape_rule(operands[0], Op::Sum, y),
            Op::Sum => self.reshape_rule(operands[0], Op::Splat, y),
            Op::Transpose => self.reshape_rule(operands[0], Op::Transpose, y),
            Op::Swizzle(lanes) => self.swizzle_rule(operands[0], lanes, y),
            Op::Dot => self.dot_rule(inst, y),
            Op::MatVec => self.matvec_rule(operands, y),
            Op::VecMat => self.vecmat_rule(operands, y),
            Op::MatMat => self.matmat_rule(operands, y),
            Op::Outer => self.outer_rule(operands, y),
            Op::Pack => self.pack_rule(operands, &y),
            Op::Extract(path) => {
                let indices = self.copy.all(&operands[1..]);
                self.add_part(operands[0], path, &indices, y);
            }
            Op::Insert(path) => self.insert_rule(operands, path, y),
            Op::InsertAdd(path) => self.insert_add_rule(operands, path, y),
            Op::Inject(member) => {
                let member = *member;
                self.add_mapped(operands[0], y, |t, y| t.build(|b, _| b.project(member, y)));
            }
            Op::Project(member) => {
                let (member, ty) = (*member, self.func().ty(operands[0]));
                self.add_mapped(operands[0], y, |t, y| t.build(|b, _| b.inject(member, y, ty)));
            }
            Op::Const(_)
            | Op::Bitcast
            | Op::Tag
            | Op::Detach
            | op_group!(memory | pointer | texture | threads | host | pixel | call | control | exit) => {
                return Err(self.not_linear(inst));
            }
        }
        Ok(())
    }

    /// A linear value was made by an operation that is not linear: a rule of the library broke its promise.
    pub(super) fn not_linear(&mut self, inst: Inst) -> Reported {
        let data = &self.func().insts[inst];
        let message = format!("`{}` of a tangent has no transpose", data.op.name());
        self.cx.report(Diagnostic::new(codes::NONLINEAR_RULE, data.span, message))
    }

    fn math_rule(
        &mut self,
        inst: Inst,
        math: Math,
        operands: &[Value],
        y: Cotangent,
    ) -> Result<(), Reported> {
        match math.linear() {
            Linear::Jointly if math == Math::Add => {
                self.add_cotangent(operands[0], y.clone());
                self.add_cotangent(operands[1], y);
            }
            Linear::Jointly if math == Math::Sub => {
                self.add_cotangent(operands[0], y.clone());
                self.add_mapped(operands[1], y, |t, y| t.math(Math::Neg, &[y]));
            }
            Linear::Jointly if math == Math::Neg => {
                self.add_mapped(operands[0], y, |t, y| t.math(Math::Neg, &[y]));
            }
            Linear::Each if math == Math::Mul => {
                let (p, a) = self.primal_and_linear(operands);
                self.add_scaled(inst, a, y, |t, y| t.math(Math::Mul, &[p, y]));
            }
            Linear::First
                if math == Math::Div && self.is_linear(operands[0]) && !self.is_linear(operands[1]) =>
            {
                let p = self.copy.get(operands[1]);
                self.add_scaled(inst, operands[0], y, |t, y| t.math(Math::Div, &[y, p]));
            }
            Linear::Jointly | Linear::Each | Linear::First | Linear::No | Linear::Inner => {
                return Err(self.not_linear(inst));
            }
        }
        Ok(())
    }

    /// Adds `map(y)` to the cotangent of `to`, unless nobody wants it.
    fn add_mapped(&mut self, to: Value, y: Cotangent, map: impl FnOnce(&mut Self, Value) -> Value) {
        if self.wants(to) {
            let y = self.value(y);
            let mapped = map(self, y);
            self.add(to, mapped);
        }
    }

    /// The same for the product `inst`. Where `y` may be zero because nobody used the result, zero times infinity is zero. The
    /// product by a finite number is left as it is: that is zero by itself, and how it grows with `y` matters to whoever
    /// differentiates again.
    fn add_scaled(
        &mut self,
        inst: Inst,
        to: Value,
        y: Cotangent,
        scale: impl FnOnce(&mut Self, Value) -> Value,
    ) {
        let is_doubtful = self.doubtful.contains(self.func().insts[inst].results[0]);
        self.add_mapped(to, y, |t, y| {
            let scaled = scale(t, y);
            if !is_doubtful {
                return scaled;
            }
            let (given, made) = (t.out.ty(y), t.out.ty(scaled));
            let none = t.zero(given);
            let is_unused = t.math(Math::Eq, &[y, none]);
            let is_lost = t.math(Math::IsNan, &[scaled]);
            let lanes = t.out.ty(is_lost);
            let is_unused = if made == given { is_unused } else { t.emit(Op::Splat, &[is_unused], lanes) };
            let is_nothing = t.math(Math::And, &[is_unused, is_lost]);
            let zero = if made == given { none } else { t.zero(made) };
            t.build(|b, _| b.select(is_nothing, zero, scaled))
        });
    }

    /// The primal operand, as it is called here, and the linear one.
    fn primal_and_linear(&self, operands: &[Value]) -> (Value, Value) {
        let [a, b] = operands else { unreachable!("a product has two factors") };
        if self.is_linear(*a) { (self.copy.get(*b), *a) } else { (self.copy.get(*a), *b) }
    }

    /// Emits an operation with one result.
    fn emit(&mut self, op: Op, operands: &[Value], ty: Ty) -> Value {
        self.build(|b, _| b.emit1(op, operands, ty))
    }

    fn reshape_rule(&mut self, a: Value, back: Op, y: Cotangent) {
        let ty = self.func().ty(a);
        self.add_mapped(a, y, |t, y| t.emit(back, &[y], ty));
    }

    fn select_rule(&mut self, operands: &[Value], y: Cotangent) {
        let cond = self.copy.get(operands[0]);
        let y = self.value(y);
        let ty = self.out.ty(y);
        for (index, &operand) in operands[1..].iter().enumerate() {
            if self.wants(operand) {
                let zero = self.zero(ty);
                let (then, otherwise) = if index == 0 { (y, zero) } else { (zero, y) };
                let part = self.build(|b, _| b.select(cond, then, otherwise));
                self.add(operand, part);
            }
        }
    }

    fn swizzle_rule(&mut self, a: Value, lanes: &[u8], y: Cotangent) {
        for (i, &lane) in lanes.iter().enumerate() {
            let part = if lanes.len() == 1 && self.is_scalar_cotangent(&y) {
                Some(y.clone())
            } else {
                self.part(&y, &Path::part(i as u32).0, &[])
            };
            if let Some(part) = part {
                self.add_part(a, &Path::part(lane.into()), &[], part);
            }
        }
    }

    fn is_scalar_cotangent(&self, y: &Cotangent) -> bool {
        match y {
            Cotangent::Whole(value) => {
                let ty = self.out.ty(*value);
                matches!(self.cx.module.types.get(ty), Type::Scalar(_))
            }
            Cotangent::Parts(..) => false,
        }
    }

    fn dot_rule(&mut self, inst: Inst, y: Cotangent) {
        let (p, a) = self.primal_and_linear(&self.func().insts[inst].operands);
        let ty = self.out.ty(p);
        self.add_scaled(inst, a, y, |t, y| {
            let wide = t.emit(Op::Splat, &[y], ty);
            t.math(Math::Mul, &[p, wide])
        });
    }

    fn matvec_rule(&mut self, operands: &[Value], y: Cotangent) {
        let [m, v] = [operands[0], operands[1]];
        let ty = |t: &Self, value| t.func().ty(value);
        if self.is_linear(m) {
            let v = self.copy.get(v);
            self.add_mapped(m, y, |t, y| t.emit(Op::Outer, &[y, v], ty(t, m)));
        } else {
            let m = self.copy.get(m);
            self.add_mapped(v, y, |t, y| t.emit(Op::VecMat, &[y, m], ty(t, v)));
        }
    }

    fn vecmat_rule(&mut self, operands: &[Value], y: Cotangent) {
        let [v, m] = [operands[0], operands[1]];
        let ty = |t: &Self, value| t.func().ty(value);
        if self.is_linear(m) {
            let v = self.copy.get(v);
            self.add_mapped(m, y, |t, y| t.emit(Op::Outer, &[v, y], ty(t, m)));
        } else {
            let m = self.copy.get(m);
            self.add_mapped(v, y, |t, y| t.emit(Op::MatVec, &[m, y], ty(t, v)));
        }
    }

    fn matmat_rule(&mut self, operands: &[Value], y: Cotangent) {
        let [a, b] = [operands[0], operands[1]];
        let is_left = self.is_linear(a);
        let (p, linear) = if is_left { (b, a) } else { (a, b) };
        let turned = self.turned(self.func().ty(p));
        let (p, ty) = (self.copy.get(p), self.func().ty(linear));
        self.add_mapped(linear, y, |t, y| {
            let p = t.emit(Op::Transpose, &[p], turned);
            let factors = if is_left { [y, p] } else { [p, y] };
            t.emit(Op::MatMat, &factors, ty)
        });
    }

    /// The type of the transpose of a matrix.
    fn turned(&mut self, ty: Ty) -> Ty {
        let types = &mut self.cx.module.types;
        match types.get(ty) {
            Type::Matrix(s, r, c) => types.intern(Type::Matrix(s, c, r)),
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Array(..)
            | Type::Struct(_)
            | Type::Sum(_)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => ty,
        }
    }

    fn outer_rule(&mut self, operands: &[Value], y: Cotangent) {
        let [a, b] = [operands[0], operands[1]];
        let ty = |t: &Self, value| t.func().ty(value);
        if self.is_linear(a) {
            let b = self.copy.get(b);
            self.add_mapped(a, y, |t, y| t.emit(Op::MatVec, &[y, b], ty(t, a)));
        } else {
            let a = self.copy.get(a);
            self.add_mapped(b, y, |t, y| t.emit(Op::VecMat, &[a, y], ty(t, b)));
        }
    }

    fn pack_rule(&mut self, parts: &[Value], y: &Cotangent) {
        for (i, &to) in parts.iter().enumerate().filter(|(_, v)| self.wants(**v)).collect::<Vec<_>>() {
            if let Some(part) = self.part(y, &Path::part(i as u32).0, &[]) {
                self.add_cotangent(to, part);
            }
        }
    }

    fn insert_rule(&mut self, operands: &[Value], path: &Path, y: Cotangent) {
        let (a, v) = (operands[0], operands[1]);
        let indices = self.copy.all(&operands[2..]);
        let part = if self.wants(v) { self.part(&y, &path.0, &indices) } else { None };
        if self.wants(a)
            && let Some(rest) = self.clear(y, &path.0, &indices)
        {
            self.add_cotangent(a, rest);
        }
        if let Some(part) = part {
            self.add_cotangent(v, part);
        }
    }

    fn insert_add_rule(&mut self, operands: &[Value], path: &Path, y: Cotangent) {
        let (a, v) = (operands[0], operands[1]);
        let indices = self.copy.all(&operands[2..]);
        if self.wants(v)
            && let Some(part) = self.part(&y, &path.0, &indices)
        {
            self.add_cotangent(v, part);
        }
        self.add_cotangent(a, y);
    }
}
