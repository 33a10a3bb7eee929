//! Adapts values whose types depend on a type parameter, where the parameter is an interface outside and a known type inside.

use super::Deferred;
use crate::func::Frame;
use crate::instance::Origin;
use cotangent_ir::{self as ir, LoopInfo, Math, Op, Path, Value};
use cotangent_sema::hir::{self, Ty, TyKind};

impl Frame<'_, '_> {
    /// A value of one type as one of another that differs from it where one of them says an interface.
    pub fn adapt(&mut self, value: Value, from: Ty, to: Ty) -> Value {
        if from == to {
            return value;
        }
        let span = self.span;
        let target = self.lowerer.lower_ty(to, span);
        let held = |ty| self.lowerer.queries.optional_content(ty);
        if let (None, Some(content)) = (held(from), held(to)) {
            let value = self.adapt(value, from, content);
            let present = self.b().bool(true);
            return self.b().pack(&[present, value], target);
        }
        match (self.lowerer.is_sum(from), self.lowerer.is_sum(to)) {
            (true, true) => {
                let origin = Origin::Deferred(Deferred::Convert(from, to));
                let callee = self.lowerer.origin(origin);
                return callee.map_or(value, |callee| self.b().emit1(Op::Call(callee), &[value], target));
            }
            (true, false) => return self.held(value, from, to),
            (false, true) => {
                let member = self.lowerer.member(to, from, span);
                return self.b().inject(member, value, target);
            }
            (false, false) => {}
        }
        let types = &self.lowerer.queries.program.types;
        match (types.kind(from), types.kind(to)) {
            (TyKind::Struct(a, x), TyKind::Struct(b, y)) if a == b => {
                let from = self.lowerer.queries.field_types(a, x);
                let to = self.lowerer.queries.field_types(b, y);
                self.adapt_parts(value, &from, &to, target)
            }
            (TyKind::Tuple(x), TyKind::Tuple(y)) => {
                let (from, to) = (self.lowerer.tuple_types(x), self.lowerer.tuple_types(y));
                self.adapt_parts(value, &from, &to, target)
            }
            (TyKind::Array(x, _), TyKind::Array(y, n)) => self.adapt_elements(value, (x, y), n, target),
            (TyKind::Scalar(_), TyKind::Vector(element, _) | TyKind::Matrix(element, ..)) => {
                let value = self.adapt(value, from, element);
                self.splat(value, target)
            }
            _ => self.convert(value, target),
        }
    }

    /// What a sum holds, which must be that member.
    fn held(&mut self, value: Value, sum: Ty, member: Ty) -> Value {
        let member = self.lowerer.member(sum, member, self.span);
        let mut b = self.b();
        let (tag, wanted) = (b.tag(value), b.int(member.into()));
        let fits = b.math(Math::Eq, &[tag, wanted]);
        b.emit(Op::Assert(ir::Trap::UnknownType), &[fits], &[]);
        b.project(member, value)
    }

    fn adapt_parts(&mut self, value: Value, from: &[Ty], to: &[Ty], target: ir::Ty) -> Value {
        let part = |(i, (from, to)): (usize, (&Ty, &Ty))| {
            let part = self.b().part(value, i as u32);
            self.adapt(part, *from, *to)
        };
        let parts: Vec<Value> = from.iter().zip(to).enumerate().map(part).collect();
        self.b().pack(&parts, target)
    }

    fn adapt_elements(&mut self, value: Value, (from, to): (Ty, Ty), n: hir::Val, target: ir::Ty) -> Value {
        let n = self.known(n).unwrap_or(0);
        let count = self.b().int(n);
        let start = self.b().undef(target);
        let int = self.func.ty(count);
        let (body, ()) = self.nested(&[int, target], |f, args| {
            let element = f.b().extract(value, Path::index(), &[args[0]]);
            let element = f.adapt(element, from, to);
            let next = f.b().insert(args[1], element, Path::index(), &[args[0]]);
            f.b().yield_(&[next]);
        });
        let info = LoopInfo { max_iters: u32::try_from(n).ok(), ..LoopInfo::default() };
        let inst = self.b().emit(Op::For(info), &[count, start], &[target]);
        self.func.insts[inst].regions.push(body);
        self.func.insts[inst].results[0]
    }
}
