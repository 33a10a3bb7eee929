//! Writes synthesized functions: accessors for fields that satisfy a required property, and the members of `IDifferentiable`
//! that follow from the fields. All of them are differentiable.
//!
//! `dzero()`, `dadd(a, b)` and `dmul(s, d)` process the parts of the differential type: numbers are zero, added or scaled,
//! elements of arrays in a loop. For a structure, they call the member of *that* type, which may be user-defined.

use crate::instance::Lowerer;
use cotangent_base::{Scalar, Span};
use cotangent_ir::{self as ir, Builder, Dir, LoopInfo, Math, Mode, Op, Path, Type, Value};
use cotangent_sema::hir::{Arg, FuncRef, Synth, Ty, TyKind};
use cotangent_sema::kind_group;

/// The accessor of a property for which a field stands: `get(this)`, or `set(inout this, value)`.
pub(crate) fn accessor(lowerer: &mut Lowerer<'_>, id: ir::FuncId, field: u32) {
    let mut func = lowerer.module.funcs[id].clone();
    let inputs = func.inputs().to_vec();
    let Some(&this) = inputs.first() else {
        return lowerer.internal(func.span, "a field stands for a requirement without `this`");
    };
    let setter = func.sig.params[0].dir == Dir::InOut && inputs.len() == 2;
    let types = &mut lowerer.module.types;
    let part = types.part_at(func.ty(this), &Path::part(field));
    let wanted = if setter { Some(func.ty(inputs[1])) } else { func.sig.ret.map(|r| r.ty) };
    if part.is_none() || part != wanted {
        return lowerer.internal(func.span, "a field stands for a property of another type");
    }
    let mut b = Builder::new(types, &mut func);
    let result = if setter { b.insert(this, inputs[1], Path::part(field), &[]) } else { b.part(this, field) };
    let outputs =
        if !setter && b.func.sig.params[0].dir == Dir::InOut { vec![result, this] } else { vec![result] };
    b.emit(Op::Return, &outputs, &[]);
    func.diff.differentiable.get_or_insert(Mode::Backward);
    lowerer.module.funcs[id] = func;
}

/// A member of `IDifferentiable`. `requirement` is the member for the type at hand.
pub(crate) fn member(lowerer: &mut Lowerer<'_>, id: ir::FuncId, requirement: FuncRef, synth: Synth) {
    let sig = lowerer.source_sig(id);
    let mut func = lowerer.module.funcs[id].clone();
    func.diff.differentiable.get_or_insert(Mode::Backward);
    let span = func.span;
    let inputs = func.inputs().to_vec();
    let Some((ty, _)) = sig.ret else {
        return lowerer.internal(span, "a synthesised member has no result");
    };
    let region = func.body;
    let mut parts = Parts { lowerer, func: &mut func, region, span, requirement, synth };
    let result = match (synth, &inputs[..]) {
        (Synth::DZero, []) => parts.zero(ty),
        (Synth::DAdd | Synth::DMul, &[a, b]) => parts.combine(ty, a, b),
        _ => None,
    };
    let Some(result) = result else {
        let text = lowerer.queries.show(ty);
        return lowerer
            .internal(span, format!("cannot synthesise a member for differentials of type `{text}`"));
    };
    parts.b().emit(Op::Return, &[result], &[]);
    lowerer.module.funcs[id] = func;
}

/// Walks the parts of a differential type.
struct Parts<'a, 'c> {
    lowerer: &'a mut Lowerer<'c>,
    func: &'a mut ir::Func,
    region: ir::Region,
    span: Span,
    requirement: FuncRef,
    synth: Synth,
}

impl Parts<'_, '_> {
    fn b(&mut self) -> Builder<'_> {
        let types = &mut self.lowerer.module.types;
        Builder { types, func: self.func, region: self.region, span: self.span }
    }

    /// The zero of a type, structures in it being asked for theirs.
    fn zero(&mut self, ty: Ty) -> Option<Value> {
        let lowered = self.lowerer.lower_ty(ty, self.span);
        let types = match self.lowerer.queries.program.types.kind(ty) {
            TyKind::Struct(id, args) => self.lowerer.queries.field_types(id, args),
            TyKind::Tuple(args) => self.lowerer.tuple_types(args),
            TyKind::Array(elem, _) if self.has_structs(elem) => {
                let elem = self.zero_part(elem)?;
                return Some(self.b().emit1(Op::Splat, &[elem], lowered));
            }
            kind_group!(number | list | named | open | special) => return Some(self.b().zero(lowered)),
        };
        if !types.iter().any(|ty| self.has_structs(*ty)) {
            return Some(self.b().zero(lowered));
        }
        let parts: Option<Vec<Value>> = types.iter().map(|ty| self.zero_part(*ty)).collect();
        Some(self.b().pack(&parts?, lowered))
    }

    fn zero_part(&mut self, ty: Ty) -> Option<Value> {
        if !matches!(self.lowerer.queries.program.types.kind(ty), TyKind::Struct(..)) {
            return self.zero(ty);
        }
        let callee = self.member_of(ty)?;
        let ret = self.lowerer.module.funcs[callee].sig.ret?.ty;
        (ret == self.lowerer.lower_ty(ty, self.span)).then(|| self.b().emit1(Op::Call(callee), &[], ret))
    }

    /// Whether a type is or contains a structure, whose members the user may have written.
    fn has_structs(&mut self, ty: Ty) -> bool {
        match self.lowerer.queries.program.types.kind(ty) {
            TyKind::Struct(..) => true,
            TyKind::Array(elem, _) => self.has_structs(elem),
            TyKind::Tuple(args) => self.lowerer.tuple_types(args).iter().any(|ty| self.has_structs(*ty)),
            kind_group!(number | list | named | open | special) => false,
        }
    }

    /// The sum of `a` and `b`, or `b` scaled by `a`. `ty` is the type of the result.
    fn combine(&mut self, ty: Ty, a: Value, b: Value) -> Option<Value> {
        match self.lowerer.queries.program.types.kind(ty) {
            TyKind::Scalar(s) if s.is_float() => Some(self.number(a, b)),
            TyKind::Vector(..) | TyKind::Matrix(..) => Some(self.number(a, b)),
            TyKind::Array(elem, _) => self.array(elem, a, b),
            TyKind::Struct(id, args) => {
                let types = self.lowerer.queries.field_types(id, args);
                self.fields(ty, &types, a, b)
            }
            TyKind::Tuple(args) => {
                let types = self.lowerer.tuple_types(args);
                self.fields(ty, &types, a, b)
            }
            kind_group!(number | list | named | open | special) => None,
        }
    }

    fn number(&mut self, a: Value, b: Value) -> Value {
        let ty = self.func.ty(b);
        let a = if self.synth == Synth::DMul { self.fit(a, ty) } else { a };
        let math = if self.synth == Synth::DMul { Math::Mul } else { Math::Add };
        self.b().math(math, &[a, b])
    }

    /// A scalar as a number of type `ty`.
    fn fit(&mut self, scalar: Value, ty: ir::Ty) -> Value {
        let target = self.lowerer.module.types.scalar_of(ty).unwrap_or(Scalar::F32);
        let target = self.lowerer.module.types.scalar(target);
        let mut scalar = scalar;
        if self.func.ty(scalar) != target {
            scalar = self.b().emit1(Op::Convert, &[scalar], target);
        }
        if target == ty { scalar } else { self.b().emit1(Op::Splat, &[scalar], ty) }
    }

    /// Element by element, in a loop.
    fn array(&mut self, elem: Ty, a: Value, b: Value) -> Option<Value> {
        let ty = self.func.ty(b);
        let Type::Array(_, n) = self.lowerer.module.types.get(ty) else {
            return None;
        };
        let n = self.b().int(n.into());
        let int = self.func.ty(n);
        let body = self.func.new_region();
        let [k, sum] = [int, ty].map(|ty| self.func.add_arg(body, ty));
        let outer = std::mem::replace(&mut self.region, body);
        let y = self.b().extract(b, Path::index(), &[k]);
        let x = if self.synth == Synth::DMul { a } else { self.b().extract(a, Path::index(), &[k]) };
        let z = self.part(elem, x, y)?;
        let next = self.b().insert(sum, z, Path::index(), &[k]);
        self.b().yield_(&[next]);
        self.region = outer;
        let inst = self.b().emit(Op::For(LoopInfo::default()), &[n, b], &[ty]);
        self.func.insts[inst].regions.push(body);
        Some(self.func.insts[inst].results[0])
    }

    fn fields(&mut self, ty: Ty, types: &[Ty], a: Value, b: Value) -> Option<Value> {
        let mut parts = Vec::new();
        for (i, &field) in types.iter().enumerate() {
            let y = self.b().part(b, i as u32);
            let x = if self.synth == Synth::DMul { a } else { self.b().part(a, i as u32) };
            parts.push(self.part(field, x, y)?);
        }
        let ty = self.lowerer.lower_ty(ty, self.span);
        Some(self.b().pack(&parts, ty))
    }

    /// A part: a structure's own member is called, since the user may have written it.
    fn part(&mut self, ty: Ty, a: Value, b: Value) -> Option<Value> {
        if !matches!(self.lowerer.queries.program.types.kind(ty), TyKind::Struct(..)) {
            return self.combine(ty, a, b);
        }
        let callee = self.member_of(ty)?;
        let ret = self.lowerer.module.funcs[callee].sig.ret?.ty;
        (ret == self.func.ty(b)).then(|| self.b().emit1(Op::Call(callee), &[a, b], ret))
    }

    /// The member that is being made, of another type.
    fn member_of(&mut self, ty: Ty) -> Option<ir::FuncId> {
        let mut args = self.lowerer.queries.program.types.list(self.requirement.args).to_vec();
        *args.first_mut()? = Arg::Ty(ty);
        let args = self.lowerer.queries.args(&args);
        self.lowerer.callee(FuncRef { args, ..self.requirement }, self.span)
    }
}
