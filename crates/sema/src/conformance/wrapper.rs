//! Makes wrappers for members that satisfy a requirement, and for derivatives that match, only up to conversions.
//!
//! A member with another signature satisfies a requirement if a call of it with the required arguments checks and its result
//! converts: `double` for a `float` parameter, `int` for a `float` result, additional parameters with defaults. The witness
//! is then a wrapper with the required signature that makes this call. The same holds for a function that is named as the
//! derivative of another.
//!
//! A wrapper of a generic requirement has the same generic parameters and passes them on unchanged.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::bodies::convert::LOSSY;
use crate::bodies::overload::{Argument, Callee, Choice};
use crate::bodies::place::Frozen;
use crate::codes;
use crate::conformance::witness::Wanted;
use crate::declarations::attrs;
use crate::derive::{SigParam, Signature};
use crate::hir::{
    Arg, Body, ConformanceId, DiffMode, Dir, Expr, ExprKind, Func, FuncDiff, FuncId, FuncKind, FuncRef,
    GenericParam, GenericParamId, Inline, Param, Program, Stmt, StmtKind, This, Ty, TyKind, Witness,
};
use crate::names::lookup::Found;
use crate::tables::{FuncInfo, FuncSource, GenericsId, GenericsInfo, Item, Owner, Prefix, Progress, ScopeId};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

/// What a wrapper is seen as by those who call it.
struct Head {
    name: Symbol,
    this: Option<This>,
    params: Vec<Param>,
    result: Ty,
    no_diff_result: bool,
}

/// Where a wrapper stands.
struct Around {
    scope: ScopeId,
    generics: GenericsId,
    owner: Owner,
}

/// What a wrapper has of what it calls.
struct Wrapped {
    span: Span,
    differentiable: Option<DiffMode>,
}

impl Program {
    fn wrapped(&self, func: FuncId) -> Wrapped {
        let called = &self.funcs[func];
        Wrapped { span: called.span, differentiable: called.diff.differentiable }
    }

    /// Whether a generic parameter and an argument are both types, both values or both packs.
    fn kind_fits(&self, param: GenericParamId, arg: Arg) -> bool {
        let GenericParam { value, pack, .. } = self.params[param];
        match arg {
            Arg::Ty(ty) => pack == self.is_pack(ty) && (pack || value.is_none()),
            Arg::Val(_) => value.is_some() && !pack,
            Arg::Laid(..) => false,
        }
    }
}

impl Checked {
    /// A function with the required signature that calls one of `members`, if that checks.
    pub(crate) fn wrapper(
        &mut self,
        id: ConformanceId,
        requirement: FuncId,
        wanted: &Wanted,
        members: &[Found],
    ) -> Option<Witness> {
        let name = members.first().map(|_| self.program.funcs[requirement].name)?;
        if self.program.funcs[requirement].throws.is_some() {
            return None;
        }
        let generics = self.wrapper_generics(id, requirement, wanted);
        let scope = self.tables.generics[generics].scope;
        let members: Vec<Found> = members.iter().filter_map(|m| self.member_under(*m, &wanted.own)).collect();
        let saved = self.enter(generics);
        let made = self.wrapping_body(scope, name, &wanted.signature, &members);
        self.leave(saved);
        let (body, called) = made?;
        if !self.facts().passes_alike(requirement, called) {
            return None;
        }
        let called = self.program.wrapped(called);
        Some(self.required_wrapper(id, requirement, &wanted.signature, generics, body, called))
    }

    /// The generic parameters of what stands for a requirement: those of the conforming type, and the requirement's own with what is
    /// assumed of them.
    fn wrapper_generics(&mut self, id: ConformanceId, requirement: FuncId, wanted: &Wanted) -> GenericsId {
        let parent = self.facts().owner_generics(self.tables.conformances[id].owner);
        if wanted.own.is_empty() {
            return parent;
        }
        let required = self.tables.funcs[requirement].generics;
        let interface = self.program.conformances[id].interface.interface;
        let outer = self.facts().interface_params(interface).len();
        let own: Vec<_> = self.tables.generics[required].params[outer..].to_vec();
        let own_bounds = wanted.bounds.clone();
        let params = self.tables.generics[parent].params.iter().chain(&own).copied().collect();
        let bounds = self.bounds(parent).iter().chain(&own_bounds).copied().collect();
        self.tables.generics.push(GenericsInfo {
            parent: Some(parent),
            own,
            params,
            syntax: Arc::default(),
            scope: self.tables.generics[parent].scope,
            resolved: Progress::Done,
            own_bounds,
            bounds: Some(bounds),
            interface: None,
        })
    }

    /// A member with `own` as its generic arguments, if it has such parameters.
    fn member_under(&mut self, member: Found, own: &[Arg]) -> Option<Found> {
        let Item::Func(func) = member.item else { return Some(member) };
        if own.is_empty() {
            return Some(member);
        }
        self.ensure_func(func);
        let args = [self.program.types.list(member.args), own].concat();
        let params = self.program.funcs[func].generics.params.clone();
        let behind = params.get(args.len() - own.len()..)?.to_vec();
        let fits = behind.len() == own.len()
            && behind.into_iter().zip(own).all(|(param, arg)| self.program.kind_fits(param, *arg));
        fits.then(|| Found { args: self.program.types.args(&args), ..member })
    }

    /// A function with the required signature that gets or sets `member`, a field or property of a base.
    pub(crate) fn accessor_wrapper(
        &mut self,
        id: ConformanceId,
        requirement: FuncId,
        signature: &Signature,
        member: Found,
    ) -> Option<Witness> {
        let (name, accessor) = self.facts().requirement_name(requirement);
        let is_set = accessor? == ast::AccessorKind::Set;
        let owner = self.tables.conformances[id].owner;
        let scope = self.tables.generics[self.facts().owner_generics(owner)].scope;
        let span = self.program.conformances[id].span;
        let called = match member.item {
            Item::Property(property) => {
                let info = &self.tables.props[property];
                let func = if is_set { info.set } else { info.get }?;
                self.ensure_func(func);
                self.program.wrapped(func)
            }
            _ => Wrapped { span, differentiable: self.program.funcs[requirement].diff.differentiable },
        };
        let mut cx = BodyCx::new(self, scope);
        let params: Vec<_> = signature.params.iter().map(|p| cx.temp(p.name.as_str(), p.ty, span)).collect();
        let mut values: Vec<Expr> = params.iter().map(|local| cx.local(*local, span)).collect();
        let new = is_set.then(|| values.pop()).flatten();
        let this = values.remove(0);
        let place = match name == attrs::SUBSCRIPT {
            true => cx.subscript(this, values, span),
            false => cx.named_member(this, name.as_str(), span),
        };
        let result = match new {
            Some(new) if new.ty == place.ty && cx.not_a_place(&place).is_none() => {
                let ty = place.ty;
                Expr::new(ExprKind::Assign(place.into(), new.into()), ty, span)
            }
            Some(_) => return None,
            None => place,
        };
        let block = wrapped_result(&mut cx, result, signature)?;
        let body = cx.finish(params, block);
        let generics = self.facts().owner_generics(owner);
        Some(self.required_wrapper(id, requirement, signature, generics, body, called))
    }

    /// What makes the default value of the conforming type.
    pub(crate) fn default_value_wrapper(
        &mut self,
        id: ConformanceId,
        requirement: FuncId,
        signature: &Signature,
    ) -> Option<Witness> {
        let generics = self.facts().owner_generics(self.tables.conformances[id].owner);
        let scope = self.tables.generics[generics].scope;
        let span = self.program.conformances[id].span;
        let mut cx = BodyCx::new(self, scope);
        let (value, fine) = cx.quietly(|cx| cx.list_as(&[], signature.result, span));
        if !fine {
            return None;
        }
        let block = vec![Stmt { kind: StmtKind::Return(Some(value)), span }];
        let body = cx.finish(vec![], block);
        let called = Wrapped { span, differentiable: self.program.funcs[requirement].diff.differentiable };
        Some(self.required_wrapper(id, requirement, signature, generics, body, called))
    }

    /// Adds what meets a requirement by a body made for it.
    fn required_wrapper(
        &mut self,
        id: ConformanceId,
        requirement: FuncId,
        signature: &Signature,
        generics: GenericsId,
        body: Body,
        called: Wrapped,
    ) -> Witness {
        let owner = self.tables.conformances[id].owner;
        let scope = self.tables.generics[generics].scope;
        let name = self.program.funcs[requirement].name;
        let required = self.program.funcs[requirement].clone();
        let has_this = usize::from(required.this.is_some());
        let params = required.params.iter().zip(&signature.params[has_this..]);
        let head = Head {
            name,
            this: required.this.map(|this| This { ty: signature.params[0].ty, ..this }),
            params: params.map(|(param, own)| Param { ty: own.ty, ..*param }).collect(),
            result: signature.result,
            no_diff_result: signature.no_diff_result,
        };
        let func = self.push_wrapper(head, body, called, Around { scope, generics, owner });
        let args = self.names().identity(generics);
        Witness::Func(FuncRef { func, args })
    }

    /// A function with the signature that a derivative of `original` must have, that calls one of `members`, if that checks.
    pub(crate) fn derivative_wrapper(
        &mut self,
        original: FuncId,
        signature: &Signature,
        members: &[Found],
    ) -> Option<FuncRef> {
        let info = &self.tables.funcs[original];
        let (scope, generics, owner) = (info.scope, info.generics, info.owner);
        if signature.params.iter().any(|param| param.name == "this") {
            return None;
        }
        let name = self.program.funcs[original].name;
        let (body, called) = self.wrapping_body(scope, name, signature, members)?;
        let span = self.program.funcs[called].span;
        let param = |param: &SigParam| Param {
            name: param.name,
            ty: param.ty,
            dir: param.dir,
            by_ref: false,
            no_diff: false,
            varying: Default::default(),
            row_major: None,
            span,
        };
        let head = Head {
            name: self.program.funcs[called].name,
            this: None,
            params: signature.params.iter().map(param).collect(),
            result: signature.result,
            no_diff_result: false,
        };
        let called = self.program.wrapped(called);
        let func = self.push_wrapper(head, body, called, Around { scope, generics, owner });
        let args = self.names().identity(generics);
        Some(FuncRef { func, args })
    }

    /// Adds a function that does nothing but call `called`. It is differentiable if that is, but has no custom derivatives: those
    /// of `called` have other signatures, and are found through the call.
    fn push_wrapper(&mut self, head: Head, body: Body, called: Wrapped, around: Around) -> FuncId {
        let Head { name, this, params, result, no_diff_result } = head;
        let Around { scope, generics, owner } = around;
        let Wrapped { span, differentiable } = called;
        let generics_of = self.hir_generics(generics);
        let func = self.program.funcs.push(Func {
            name,
            span,
            kind: FuncKind::Plain,
            generics: generics_of,
            this,
            params,
            result,
            no_diff_result,
            throws: None,
            intrinsic: None,
            diff: FuncDiff { differentiable, ..FuncDiff::default() },
            inline: Inline::Early,
            entry: None,
            other_stage: None,
            varying: Default::default(),
            targets: crate::capability::Targets::ALL,
            has_body: true,
        });
        // Where the call stops derivatives it must stay one.
        if self.program.funcs[func].stops_derivatives() {
            self.program.funcs[func].inline = Inline::Auto;
        }
        self.tables.bodies.end(func, Arc::new(body));
        self.tables.funcs.push(FuncInfo {
            source: FuncSource::Func(no_syntax(name).into()),
            prefix: Prefix::none(),
            scope,
            generics,
            owner,
            is_static: this.is_none(),
            signature: Progress::Done,
            hidden: 0,
        });
        func
    }

    /// The call, with parameters of the required types, and what it calls.
    fn wrapping_body(
        &mut self,
        scope: ScopeId,
        name: Symbol,
        signature: &Signature,
        members: &[Found],
    ) -> Option<(Body, FuncId)> {
        let span = members.first().and_then(|m| self.facts().item_span(m.item))?;
        let mut cx = BodyCx::new(self, scope);
        let mut params = vec![];
        let mut callee = Callee::new(name, members, span);
        let mut args = vec![];
        for param in &signature.params {
            let local = cx.temp(param.name.as_str(), param.ty, span);
            params.push(local);
            let value = cx.local(local, span);
            if param.name == "this" {
                if param.dir == Dir::In {
                    cx.frozen.insert(local, Frozen::This);
                }
                callee.this = Some(value);
            } else {
                args.push(Argument::Value(value));
            }
        }
        let Choice::One(fit) = cx.choose(&callee, &args) else {
            return None;
        };
        let called = fit.candidate.func;
        if cx.cx.program.funcs[called].throws.is_some() {
            return None;
        }
        let call = cx.emit_call(&callee, *fit, args, span);
        let block = wrapped_result(&mut cx, call, signature)?;
        Some((cx.finish(params, block), called))
    }
}

fn wrapped_result(cx: &mut BodyCx<'_>, call: Expr, signature: &Signature) -> Option<Vec<Stmt>> {
    let span = call.span;
    if cx.kind(signature.result) == TyKind::Void {
        let kind = StmtKind::Expr(call);
        return Some(vec![Stmt { kind, span }]);
    }
    if cx.cx.type_cost(call.ty, signature.result)? >= LOSSY {
        let (given, required) = (cx.show(call.ty), cx.show(signature.result));
        let message = format!(
            "this returns `{given}`, but `{required}` is required; the conversion may lose information"
        );
        let warning = Diagnostic::new(codes::LOSSY_CONVERSION, span, message);
        cx.report(warning.help(format!("return `{required}`")));
    }
    let value = cx.cx.converted(call, signature.result);
    let kind = StmtKind::Return(Some(value));
    Some(vec![Stmt { kind, span }])
}

/// Syntax of a function that nobody wrote.
fn no_syntax(name: Symbol) -> ast::FuncDecl {
    ast::FuncDecl {
        kind: ast::FuncKind::Plain,
        name: ast::Ident { name, span: Span::none() },
        generics: Default::default(),
        params: vec![],
        result: None,
        no_diff_result: false,
        throws: None,
        semantic: None,
        body: None,
        extends: None,
    }
}
