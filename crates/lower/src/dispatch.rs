//! Writes functions that depend on all members of an interface type.
//!
//! A call through an interface value calls a function that tests the tag and calls the implementation of that member. More
//! generally: if a function with a type parameter `T : I` is called with `T = I` and has a parameter of type `T`, it is
//! *opened*: for each member, it calls the instance for that member. A method of the interface is the case `T = This`.
//! Another case is `f(IShape s)`, which is `f<S : IShape>(S s)`.
//!
//! ```text
//! func @IShape.area(%this: $IShape) -> f32 {
//!   %1: i32 = tag %this
//!   %2: f32 = switch %1 case 0 {
//!     %3: $Circle = project 0 %this      %4: f32 = call @Circle.area(%3)      yield %4
//!   } default {
//!     %5: $Square = project 1 %this      %6: f32 = call @Square.area(%5)      yield %6
//!   }
//!   return %2
//! }
//! ```
//!
//! Differentiation needs no special case: the tag has no derivative, and each call has its own derivative.
//!
//! Types that depend on `T` are adapted: a result of type `T` or `T.A` is an interface value outside and has a known type
//! inside. If no parameter has type `T`, as for a field that is an array of `T`, the function is an ordinary instance with `T
//! = I`, and the calls inside it are opened.
//!
//! `x is T`, `x as T` and conversions between interfaces work in the same way. All these functions are written last, and
//! rewritten if members were added.

mod adapt;

use crate::codes;
use crate::func::Frame;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, EntityMap, Span};
use cotangent_ir::{self as ir, DiffInfo, Dir, Math, Mode, Op, Region, Value};
use cotangent_sema::Subst;
use cotangent_sema::hir::{self, Arg, Body, FuncRef, Synth, Ty, TyKind};
use std::sync::Arc;

/// A function that is written when all members are known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Deferred {
    /// A function opened at the generic parameter of that number.
    Open(FuncRef, u32),
    /// A static method of the interface, called for the type that a value of it is.
    Static(FuncRef, Ty),
    /// A value of one interface as a value of another.
    Convert(Ty, Ty),
    /// `x is T`.
    Is(Ty, Ty),
    /// `x as T`; the third is the optional type.
    As(Ty, Ty, Ty),
    /// `dzero` and `dadd` of a differential whose type is not known.
    Differential(FuncRef, Ty, Synth),
    /// `createDynamicObject<I, D>(id, data)`.
    Create(Ty, Ty),
}

impl Deferred {
    /// The interface whose members it goes through.
    fn sum(self, lowerer: &Lowerer<'_>) -> Option<Ty> {
        match self {
            Deferred::Open(func, at) => {
                match lowerer.queries.program.types.list(func.args).get(at as usize) {
                    Some(Arg::Ty(ty)) => Some(*ty),
                    _ => None,
                }
            }
            Deferred::Convert(ty, _) | Deferred::Is(ty, _) | Deferred::As(ty, ..) => Some(ty),
            Deferred::Differential(_, ty, _) | Deferred::Create(ty, _) => Some(ty),
            Deferred::Static(_, ty) => Some(ty),
        }
    }
}

/// How many members the interface has that a function depends on.
pub(crate) fn member_count(lowerer: &mut Lowerer<'_>, deferred: Deferred) -> usize {
    deferred.sum(lowerer).map_or(0, |sum| lowerer.members(sum, Span::none()).len())
}

/// Whether calls are replaced by the body: what only looks at its argument is.
pub(crate) fn inline(deferred: Deferred) -> ir::Inline {
    match deferred {
        Deferred::Open(..) | Deferred::Static(..) => ir::Inline::Auto,
        Deferred::Differential(..) | Deferred::Create(..) => ir::Inline::Auto,
        Deferred::Convert(..) | Deferred::Is(..) | Deferred::As(..) => ir::Inline::Early,
    }
}

/// The function that goes through the members of an interface in place of a reference, if one must.
pub(crate) fn deferred(lowerer: &mut Lowerer<'_>, func: FuncRef, span: Span) -> Option<Deferred> {
    if let Some(data) = created(lowerer, func, span) {
        return Some(data);
    }
    let at = opened(lowerer, func)?;
    let opened = Deferred::Open(func, at);
    let synth = lowerer.queries.synthesized(func.func).filter(|_| at == 0);
    let differential = synth.zip(opened.sum(lowerer));
    Some(differential.map_or(opened, |(synth, sum)| Deferred::Differential(func, sum, synth)))
}

/// `createDynamicObject`: any conforming type may come of it.
fn created(lowerer: &mut Lowerer<'_>, func: FuncRef, span: Span) -> Option<Deferred> {
    let name = lowerer.queries.program.funcs[func.func].intrinsic?;
    let &[Arg::Ty(interface), Arg::Ty(data)] = lowerer.queries.program.types.list(func.args) else {
        return None;
    };
    if name.as_str() != "create_dynamic_object" {
        return None;
    }
    if lowerer.interface(interface).is_none() {
        let message = format!("`{}` is not an interface", lowerer.queries.show(interface));
        lowerer.error(cotangent_sema::codes::NOT_AN_INTERFACE, span, message);
    }
    lowerer.expose(interface);
    Some(Deferred::Create(interface, data))
}

/// Whether a function must be opened: at which of its generic parameters.
pub(crate) fn opened(lowerer: &mut Lowerer<'_>, func: FuncRef) -> Option<u32> {
    lowerer.resolve(func.func);
    let args = lowerer.queries.program.types.list(func.args).to_vec();
    let data = &lowerer.queries.program.funcs[func.func];
    let is_requirement = matches!(data.kind, hir::FuncKind::Requirement(_));
    for (at, arg) in args.iter().enumerate() {
        let Arg::Ty(ty) = *arg else { continue };
        let Some(&param) = data.generics.params.get(at) else { continue };
        if !lowerer.is_sum(ty) {
            continue;
        }
        let types = &lowerer.queries.program.types;
        let is_param = |ty: Ty| types.kind(ty) == TyKind::Param(param);
        let bounded = |b: &hir::Bound| matches!(b, hir::Bound::Conforms(ty, _) if is_param(*ty));
        let count = opened_params(lowerer, func.func, param).len();
        let this = is_requirement && at == 0;
        if this || (data.generics.bounds.iter().any(bounded) && count == 1) {
            return Some(at as u32);
        }
    }
    None
}

/// The parameters, `this` first, whose type is just this generic parameter.
fn opened_params(lowerer: &Lowerer<'_>, func: hir::FuncId, param: hir::GenericParamId) -> Vec<usize> {
    let data = &lowerer.queries.program.funcs[func];
    let types = data.this.iter().map(|this| this.ty).chain(data.params.iter().map(|p| p.ty));
    let is_param = |ty: Ty| lowerer.queries.program.types.kind(ty) == TyKind::Param(param);
    types.enumerate().filter(|(_, ty)| is_param(*ty)).map(|(i, _)| i).collect()
}

/// What is known of the derivatives of an opened function: that it has them if what it calls has.
pub(crate) fn info(lowerer: &Lowerer<'_>, deferred: Deferred) -> DiffInfo {
    let (Deferred::Open(func, _) | Deferred::Static(func, _)) = deferred else {
        return DiffInfo { differentiable: Some(Mode::Backward), ..DiffInfo::default() };
    };
    let diff = lowerer.queries.program.funcs[func.func].diff;
    let generated = diff.differentiable.map(crate::diff::mode);
    DiffInfo {
        differentiable: generated.or(diff.is_differentiable().then_some(Mode::Backward)),
        constant: diff.constant,
        ..DiffInfo::default()
    }
}

/// Writes the body.
pub(crate) fn define(lowerer: &mut Lowerer<'_>, id: ir::FuncId, deferred: Deferred) {
    let old = &lowerer.module.funcs[id];
    let mut fresh = ir::Func::new(old.name, old.sig.clone(), old.span);
    (fresh.diff, fresh.inline, fresh.origin) = (old.diff.clone(), old.inline, old.origin);
    if !matches!(deferred, Deferred::Open(..) | Deferred::Static(..)) {
        fresh.span = lowerer.mentions.get(&id).copied().unwrap_or(fresh.span);
    }
    let span = fresh.span;
    lowerer.module.funcs[id] = fresh;
    let Some(sum) = deferred.sum(lowerer) else { return };
    let members = lowerer.members(sum, span);
    let args = lowerer.queries.args(&[]);
    let body = Arc::new(Body::new(EntityMap::new(), vec![], vec![], false));
    let frame = Frame::new(lowerer, id, Subst { params: vec![], args, at: None }, body);
    Writer { frame, id, sum }.write(deferred, &members);
}

/// A body under construction.
struct Writer<'a, 'c> {
    frame: Frame<'a, 'c>,
    id: ir::FuncId,
    sum: Ty,
}

impl Writer<'_, '_> {
    fn write(mut self, deferred: Deferred, members: &[Ty]) {
        let outputs: Vec<ir::Ty> = self.frame.func.sig.outputs().map(|o| o.ty).collect();
        let inputs = self.frame.func.inputs().to_vec();
        let at = self.position(deferred);
        let selector = match (deferred, at.and_then(|at| inputs.get(at))) {
            (Deferred::Create(..), Some(&id)) => id,
            (_, Some(&value)) => self.frame.b().tag(value),
            (_, None) => return self.unknown_type(deferred),
        };
        let mut regions: Vec<(i64, Region)> = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let case = if let Deferred::Create(interface, _) = deferred {
                match self.frame.lowerer.conformance_id(interface, *member) {
                    Some(id) => i64::from(id),
                    None => continue,
                }
            } else {
                number as i64
            };
            let (region, ()) = self.frame.nested(&[], |_, _| {});
            let outer = std::mem::replace(&mut self.frame.region, region);
            let values = self.case(deferred, number as u32, *member, &inputs);
            let values = values.unwrap_or_else(|| self.undefined(&outputs));
            self.frame.b().yield_(&values);
            self.frame.region = outer;
            regions.push((case, region));
        }
        if regions.is_empty() {
            if !matches!(deferred, Deferred::Differential(..)) {
                // No type conforms, so a value can only come from memory that was never filled.
                let never = self.frame.b().bool(false);
                self.frame.b().emit(Op::Assert(ir::Trap::UnknownType), &[never], &[]);
            }
            let values = self.undefined(&outputs);
            self.frame.b().emit(Op::Return, &values, &[]);
            return self.finish();
        }
        if let Deferred::Create(..) = deferred {
            // The number comes from outside and may be any.
            let (region, ()) = self.frame.nested(&[], |_, _| {});
            let outer = std::mem::replace(&mut self.frame.region, region);
            let never = self.frame.b().bool(false);
            self.frame.b().emit(Op::Assert(ir::Trap::UnknownType), &[never], &[]);
            let values = self.undefined(&outputs);
            self.frame.b().yield_(&values);
            self.frame.region = outer;
            regions.push((0, region));
        }
        // The last case stands for all other values.
        let cases = regions[..regions.len() - 1].iter().map(|(case, _)| *case).collect();
        let inst = self.frame.b().emit(Op::Switch(cases), &[selector], &outputs);
        self.frame.func.insts[inst].regions.extend(regions.iter().map(|(_, region)| *region));
        let results = self.frame.func.insts[inst].results.to_vec();
        self.frame.b().emit(Op::Return, &results, &[]);
        self.finish();
    }

    fn finish(self) {
        self.frame.lowerer.module.funcs[self.id] = self.frame.func;
    }

    fn undefined(&mut self, types: &[ir::Ty]) -> Vec<Value> {
        types.iter().map(|ty| self.frame.b().undef(*ty)).collect()
    }

    /// Which input says which member it is.
    fn position(&mut self, deferred: Deferred) -> Option<usize> {
        let (func, at) = match deferred {
            Deferred::Open(func, at) => (func, at),
            Deferred::Differential(..) => return Some(1).filter(|_| self.frame.func.inputs().len() == 2),
            Deferred::Static(..) | Deferred::Convert(..) | Deferred::Is(..) => return Some(0),
            Deferred::As(..) | Deferred::Create(..) => return Some(0),
        };
        let lowerer = &*self.frame.lowerer;
        let param = lowerer.queries.program.funcs[func.func].generics.params[at as usize];
        let params = opened_params(lowerer, func.func, param);
        let &[first] = &params[..] else { return None };
        let before = self.frame.func.sig.params[..first].iter().filter(|p| p.dir != Dir::Out).count();
        (self.frame.func.sig.params[first].dir != Dir::Out).then_some(before)
    }

    /// No input says which member it is, or two do.
    fn unknown_type(mut self, deferred: Deferred) {
        match deferred {
            Deferred::Differential(_, ty, Synth::DZero) => {
                let ty = self.frame.lowerer.lower_ty(ty, self.frame.span);
                let zero = self.frame.b().zero(ty);
                self.frame.b().emit(Op::Return, &[zero], &[]);
            }
            Deferred::Open(func, _) => {
                let outputs: Vec<ir::Ty> = self.frame.func.sig.outputs().map(|o| o.ty).collect();
                let values = self.undefined(&outputs);
                self.frame.b().emit(Op::Return, &values, &[]);
                no_member(self.frame.lowerer, func, self.sum, self.id);
            }
            Deferred::Static(..)
            | Deferred::Convert(..)
            | Deferred::Is(..)
            | Deferred::As(..)
            | Deferred::Differential(..)
            | Deferred::Create(..) => self.frame.internal("a function of members has no value to go by"),
        }
        self.finish();
    }

    /// What one member does: the outputs, or nothing if they are undefined.
    fn case(&mut self, deferred: Deferred, number: u32, member: Ty, inputs: &[Value]) -> Option<Vec<Value>> {
        match deferred {
            Deferred::Open(func, at) => {
                let chosen = self.position(deferred);
                self.call(func, at, (number, member), inputs, chosen)
            }
            Deferred::Static(func, _) => self.call(func, 0, (number, member), inputs, None),
            Deferred::Convert(_, to) => {
                let value = self.frame.b().project(number, inputs[0]);
                Some(vec![self.frame.adapt(value, member, to)])
            }
            Deferred::Is(_, to) => {
                let is = self.frame.lowerer.is_a(member, to);
                Some(vec![self.frame.b().bool(is)])
            }
            Deferred::As(_, to, optional) => {
                let optional = self.frame.lowerer.lower_ty(optional, self.frame.span);
                if !self.frame.lowerer.is_a(member, to) {
                    return Some(vec![self.frame.b().zero(optional)]);
                }
                let value = self.frame.b().project(number, inputs[0]);
                let value = self.frame.adapt(value, member, to);
                let present = self.frame.b().bool(true);
                Some(vec![self.frame.b().pack(&[present, value], optional)])
            }
            Deferred::Differential(func, ..) => {
                if number == 0 && inputs.len() == 2 && self.frame.lowerer.is_differential(self.sum) {
                    // Nothing was added yet: the other one, or nothing again.
                    let is_sum = self.frame.func.ty(inputs[0]) == self.frame.func.ty(inputs[1]);
                    return Some(vec![inputs[usize::from(!is_sum)]]);
                }
                let callee = self.frame.lowerer.instance_at(func, 0, member)?;
                let y = self.frame.b().project(number, inputs[1]);
                let ty = self.frame.func.ty(inputs[1]);
                let is_sum = self.frame.func.ty(inputs[0]) == ty;
                let x = if is_sum { self.frame.b().project(number, inputs[0]) } else { inputs[0] };
                let inner = self.frame.func.ty(y);
                let sum = self.frame.b().emit1(Op::Call(callee), &[x, y], inner);
                let sum = self.frame.b().inject(number, sum, ty);
                if !is_sum {
                    return Some(vec![sum]);
                }
                // If the other one is nothing, nothing is added.
                let mut b = self.frame.b();
                let (tag, none) = (b.tag(inputs[0]), b.int(0));
                let nothing = b.math(Math::Eq, &[tag, none]);
                Some(vec![b.select(nothing, inputs[1], sum)])
            }
            Deferred::Create(..) => {
                let member = self.frame.lowerer.lower_ty(member, self.frame.span);
                let value = self.frame.reinterpret(inputs[1], member)?;
                let sum = self.frame.lowerer.lower_ty(self.sum, self.frame.span);
                Some(vec![self.frame.b().inject(number, value, sum)])
            }
        }
    }

    /// Calls the instance for a member. The input `chosen` is of its type; without one the first is only there to choose.
    fn call(
        &mut self,
        func: FuncRef,
        at: u32,
        (number, member): (u32, Ty),
        inputs: &[Value],
        chosen: Option<usize>,
    ) -> Option<Vec<Value>> {
        let mut own = self.frame.lowerer.source_sig(self.id);
        let mut inputs = inputs;
        if chosen.is_none() {
            own.params.remove(0);
            inputs = &inputs[1..];
        }
        let callee = self.frame.lowerer.instance_at(func, at, member)?;
        let theirs = self.frame.lowerer.source_sig(callee);
        let sig = self.frame.lowerer.module.funcs[callee].sig.clone();
        let (mut operands, mut given) = (Vec::new(), inputs.iter().enumerate());
        for (mine, their) in own.params.iter().zip(&theirs.params) {
            if mine.dir == Dir::Out {
                continue;
            }
            let (i, &value) = given.next()?;
            let (mut value, mut from) = (value, mine.ty);
            if Some(i) == chosen {
                (value, from) = (self.frame.b().project(number, value), member);
            }
            if their.dir != Dir::Out {
                operands.push(self.frame.adapt(value, from, their.ty));
            }
        }
        let types: Vec<ir::Ty> = sig.outputs().map(|o| o.ty).collect();
        let inst = self.frame.b().emit(Op::Call(callee), &operands, &types);
        let results = self.frame.func.insts[inst].results.clone();
        let mut results = results.into_iter();
        let mut outputs = Vec::new();
        if let (Some((to, _)), Some((from, _))) = (own.ret, theirs.ret) {
            let value = results.next()?;
            outputs.push(self.frame.adapt(value, from, to));
        }
        let mut given = inputs.iter();
        for (mine, their) in own.params.iter().zip(&theirs.params) {
            let input = if mine.dir == Dir::Out { None } else { given.next() };
            match (mine.dir, their.dir) {
                (Dir::In, _) => {}
                (Dir::Out | Dir::InOut, Dir::In) => outputs.push(*input?),
                (Dir::Out | Dir::InOut, Dir::Out | Dir::InOut) => {
                    let value = results.next()?;
                    outputs.push(self.frame.adapt(value, their.ty, mine.ty));
                }
            }
        }
        Some(outputs)
    }
}

fn no_member(lowerer: &mut Lowerer<'_>, func: FuncRef, sum: Ty, id: ir::FuncId) {
    let hir::Func { name, span: declared, .. } = lowerer.queries.program.funcs[func.func].clone();
    let span = lowerer.mentions.get(&id).copied().unwrap_or(declared);
    let sum = lowerer.queries.show(sum);
    let message = format!("cannot call `{name}` on a `{sum}`: no single argument determines the type");
    let diagnostic = Diagnostic::new(codes::UNKNOWN_MEMBER, span, message)
        .label(declared, "declared here")
        .help("call it in a generic function with a type parameter that conforms to the interface");
    lowerer.diagnostics.push(diagnostic);
}

impl Lowerer<'_> {
    /// The instance of a function for a known type in place of an interface.
    fn instance_at(&mut self, func: FuncRef, at: u32, member: Ty) -> Option<ir::FuncId> {
        let mut args = self.queries.program.types.list(func.args).to_vec();
        args[at as usize] = Arg::Ty(member);
        let args = self.queries.args(&args);
        let span = self.queries.program.funcs[func.func].span;
        self.callee(FuncRef { args, ..func }, span)
    }

    /// Whether every value of a type is a value of another: the same type, or one that conforms.
    pub fn is_a(&mut self, ty: Ty, to: Ty) -> bool {
        match self.interface(to) {
            Some(interface) => self.queries.satisfies(ty, interface),
            None => ty == to,
        }
    }
}
