//! Generic parameters: their bounds, and the environment of assumptions in which code is checked.
//!
//! | module | subject |
//! |---|---|
//! | this one | parameters and bounds |
//! | [`table`] | the table of lists of parameters |
//! | [`arguments`] | generic arguments as written |
//! | [`infer`] | generic arguments from the arguments of a call |
//! | [`implied`] | generic arguments from conformances |
//! | [`optional`] | optional constraints |
//! | [`assumptions`] | what holds where the checker works now |
//! | [`worklist`] | bounds and structures to check later |

pub(crate) mod arguments;
pub(crate) mod assumptions;
mod implied;
pub(crate) mod infer;
mod optional;
pub(crate) mod table;
pub(crate) mod worklist;

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::Argument;
use crate::codes;
use crate::facts::Facts;
use crate::generics::assumptions::Saved;
use crate::hir::{
    Arg, Args, Bound, Expr, ExprKind, FuncId, FuncRef, GenericParam, GenericParamId, Generics, InterfaceRef,
    Program, Ty, TyKind, Types, Val, ValKind,
};
use crate::names::Names;
use crate::tables::{GenericsId, ScopeId, Tables};
use crate::types::packs::Packs;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_syntax::ast;
use std::sync::Arc;

impl Checked {
    /// All assumptions of a list and of those around it. Met again while it is being resolved, it is what is known
    /// so far: `<T : IFoo<T.A>>` may look at `T`'s earlier bounds.
    pub(crate) fn bounds(&mut self, id: GenericsId) -> Arc<[Bound]> {
        let info = &self.tables.generics[id];
        if let Some(bounds) = &info.bounds {
            return bounds.clone();
        }
        let parent = info.parent.map_or_else(|| Arc::new([]) as Arc<[Bound]>, |p| self.bounds(p));
        if self.tables.generics.begin_bounds(id) {
            let saved = self.tables.assumptions.replace(parent.to_vec());
            self.resolve_bounds(id);
            self.tables.assumptions.restore(saved);
            self.tables.generics.end_bounds(id);
        }
        let own = &self.tables.generics[id].own_bounds;
        let all: Arc<[Bound]> = parent.iter().chain(own).copied().collect();
        self.tables.generics.remember_bounds(id, &all);
        all
    }

    fn resolve_bounds(&mut self, id: GenericsId) {
        let info = &self.tables.generics[id];
        let (syntax, scope, own) = (info.syntax.clone(), info.scope, info.own.clone());
        if let Some(interface) = info.interface {
            let this = self.program.interfaces[interface].this;
            let this = self.program.types.ty(TyKind::Param(this));
            let reference = self.names().own_interface(interface);
            self.tables.assume(id, Bound::Conforms(this, reference));
        }
        for (number, (param, syntax)) in own.into_iter().zip(&syntax.params).enumerate() {
            match &syntax.kind {
                ast::GenericParamKind::Value(syntax) | ast::GenericParamKind::ValuePack(syntax) => {
                    let ty = self.resolve_ty(syntax, scope);
                    self.program.params[param].value = Some(self.counted_type(ty, syntax.span));
                }
                ast::GenericParamKind::Type(bounds) | ast::GenericParamKind::Pack(bounds) => {
                    let ty = self.program.types.ty(TyKind::Param(param));
                    let ty = self.program.bounded(ty);
                    for bound in bounds {
                        if let Some(interface) = self.resolve_interface(bound, scope) {
                            let assumed = Bound::Conforms(ty, interface);
                            self.rules().check_bound_order(id, number, assumed, bound.span);
                            self.tables.assume(id, assumed);
                        }
                    }
                }
                ast::GenericParamKind::Witness(ty, bound) => {
                    self.program.params[param].value =
                        Some(self.program.types.ty(TyKind::Scalar(Scalar::Bool)));
                    self.assume_optional(id, param, (ty, bound), scope);
                }
            }
        }
        for clause in &syntax.wheres {
            match clause {
                ast::Where::Conforms(ty, bounds) => {
                    let ty = self.resolve_ty(ty, scope);
                    let ty = self.program.bounded(ty);
                    self.assume_all(id, ty, bounds, scope);
                }
                ast::Where::Equal(a, b) => {
                    if let Some(bound) = self.equality(a, b, scope) {
                        self.tables.assume(id, bound);
                    }
                }
                ast::Where::Perhaps(a, b) => {
                    self.resolve_ty(a, scope);
                    self.resolve_ty(b, scope);
                }
                ast::Where::Coerces(to, from, implicit) => {
                    let (to, from) = (self.resolve_ty(to, scope), self.resolve_ty(from, scope));
                    self.tables.assume(id, Bound::Coerces(to, from, *implicit));
                }
                ast::Where::NonEmpty(pack) => {
                    if let Some(pack) = self.resolve_pack(pack, scope) {
                        self.tables.assume(id, Bound::NonEmpty(pack));
                    }
                }
            }
        }
    }

    /// `A == B` for types, or `countof(P) == N`.
    fn equality(&mut self, a: &ast::Expr, b: &ast::Expr, scope: ScopeId) -> Option<Bound> {
        if let ast::ExprKind::Measure(ast::Measure::CountOf, pack) = &a.kind {
            let pack = self.resolve_pack(pack, scope)?;
            return Some(Bound::Count(pack, self.const_val(b, scope)));
        }
        let (a, b) = (self.resolve_ty(a, scope), self.resolve_ty(b, scope));
        let a = if self.program.is_pack(b) { a } else { self.program.bounded(a) };
        Some(Bound::Equal(a, b))
    }

    /// A type that must be a pack.
    fn resolve_pack(&mut self, expr: &ast::Expr, scope: ScopeId) -> Option<Ty> {
        let ty = self.resolve_ty(expr, scope);
        if !self.program.is_pack(ty) && !self.program.types.is_error(ty) {
            self.rules().not_a_pack(ty, expr.span);
        }
        self.program.is_pack(ty).then_some(ty)
    }

    fn assume_all(&mut self, id: GenericsId, ty: Ty, bounds: &[ast::Expr], scope: ScopeId) {
        for bound in bounds {
            if let Some(interface) = self.resolve_interface(bound, scope) {
                self.tables.assume(id, Bound::Conforms(ty, interface));
            }
        }
    }

    /// Works under the assumptions of `id` from now on. Give the result to [`leave`](Self::leave).
    pub(crate) fn enter(&mut self, id: GenericsId) -> Saved {
        let bounds = self.bounds(id).to_vec();
        self.tables.assumptions.replace(bounds)
    }

    /// Goes back to earlier assumptions.
    pub(crate) fn leave(&mut self, saved: Saved) {
        self.tables.assumptions.restore(saved);
    }

    /// Parameters and bounds as the typed program has them.
    pub(crate) fn hir_generics(&mut self, id: GenericsId) -> Generics {
        let bounds = self.bounds(id).to_vec();
        let params = self.tables.generics[id].params.to_vec();
        Generics { params, bounds }
    }

    /// Checks that `args` satisfy the bounds of `id`; says so at `span` if not.
    pub(crate) fn check_bounds(&mut self, id: GenericsId, args: Args, span: Span) -> bool {
        match self.unmet_bound(id, args) {
            None => true,
            Some(bound) => {
                let message = self.facts().describe_unmet(bound);
                self.diagnostics.push(
                    Diagnostic::new(crate::derive::unmet_code(self, bound), span, message)
                        .help("give an argument that satisfies the bound, or add the conformance"),
                );
                false
            }
        }
    }

    /// A generic function under written arguments, those of what stands around it first; none if they do not fit, which is reported,
    /// or are too few, which is not.
    pub fn instance(&mut self, func: FuncId, written: &[ast::Expr]) -> Option<FuncRef> {
        self.ensure_func(func);
        let args = self.args_under(func, written)?;
        (!self.diagnostics.has_errors()).then_some(FuncRef { func, args })
    }

    /// The first bound of `id` that does not hold for `args`.
    pub(crate) fn unmet_bound(&mut self, id: GenericsId, args: Args) -> Option<Bound> {
        let bounds = self.bounds(id);
        let params = self.tables.generics[id].params.clone();
        for bound in bounds.iter() {
            let unmet = match *bound {
                Bound::Conforms(ty, interface) => {
                    let interface = self.replace_interface(interface, &params, args);
                    let mut types = self.replace_each(ty, &params, args).into_iter();
                    types.find(|ty| !self.conforms(*ty, interface)).map(|ty| Bound::Conforms(ty, interface))
                }
                Bound::Equal(a, b) => {
                    let b = self.replace(b, &params, args);
                    let mut types = self.replace_each(a, &params, args).into_iter();
                    types.find(|a| !self.program.types.same(*a, b)).map(|a| Bound::Equal(a, b))
                }
                Bound::Count(pack, count) => {
                    let pack = self.replace(pack, &params, args);
                    let count = self.replace_val(count, &params, args);
                    (!self.packs().has_count(pack, count)).then_some(Bound::Count(pack, count))
                }
                Bound::NonEmpty(pack) => {
                    let pack = self.replace(pack, &params, args);
                    (!self.facts().is_nonempty(pack)).then_some(Bound::NonEmpty(pack))
                }
                Bound::Coerces(to, from, implicit) => {
                    let to = self.replace(to, &params, args);
                    let from = self.replace(from, &params, args);
                    (!self.coerces(from, to, implicit)).then_some(Bound::Coerces(to, from, implicit))
                }
                Bound::Optional(..) => None,
            };
            if unmet.is_some() {
                return unmet;
            }
        }
        None
    }

    /// Whether a value of one type can be made from one of another, as `where T(U)` asks.
    fn coerces(&mut self, from: Ty, to: Ty, implicit: bool) -> bool {
        let assumed = |bound: &Bound| match *bound {
            Bound::Coerces(t, f, i) => t == to && f == from && (i || !implicit),
            _ => false,
        };
        if self.tables.assumptions.iter().any(assumed) || self.type_cost(from, to).is_some() {
            return true;
        }
        if implicit {
            return false;
        }
        let scope = self.tables.lang.scope().unwrap_or_else(|| cotangent_base::Entity::new(0));
        let mut cx = BodyCx::new(self, scope);
        let value = Expr::new(ExprKind::Undef, from, Span::none());
        cx.quietly(|cx| cx.construct(to, vec![Argument::Value(value)], Span::none())).1
    }

    /// The types that a bound must hold for: of an element of a pack, all of them.
    fn replace_each(&mut self, ty: Ty, params: &[GenericParamId], args: Args) -> Vec<Ty> {
        match self.program.types.kind(ty) {
            TyKind::Each(pack) => {
                let pack = self.replace(pack, params, args);
                self.packs().members_to_satisfy(pack)
            }
            _ => vec![self.replace(ty, params, args)],
        }
    }

    /// The type of a generic value: numbers that are counted, so that two instances are the same or not.
    fn counted_type(&mut self, ty: Ty, span: Span) -> Ty {
        let counted = match self.program.types.kind(ty) {
            TyKind::Scalar(scalar) => !scalar.is_float(),
            TyKind::Vector(..) | TyKind::Matrix(..) | TyKind::Array(..) | TyKind::Struct(..) => false,
            _ => true,
        };
        if counted {
            return ty;
        }
        let message = format!("a generic value cannot be of type `{}`", self.show(ty));
        let diagnostic = Diagnostic::new(codes::GENERIC_ARGS, span, message);
        self.diagnostics.push(diagnostic.help("use an integer, `bool` or an enumeration"));
        self.program.types.ty(TyKind::Error)
    }
}

impl Tables {
    pub(crate) fn assume(&mut self, id: GenericsId, bound: Bound) {
        self.generics.add_bound(id, bound);
        self.assumptions.add([bound]);
    }
}

impl Names<'_> {
    /// Each parameter as its own argument.
    pub(crate) fn identity(&mut self, id: GenericsId) -> Args {
        let params = self.tables.generics[id].params.clone();
        self.program.identity_of(&params)
    }

    /// An interface with its own parameters as arguments.
    pub(crate) fn own_interface(&mut self, interface: crate::hir::InterfaceId) -> InterfaceRef {
        let generics = self.tables.interfaces[interface].generics;
        let params = self.tables.generics[generics].params.clone();
        // The first parameter is `This`, which is no argument of the interface.
        let args = self.program.identity_of(&params[1..]);
        InterfaceRef { interface, args }
    }
}

impl Facts<'_> {
    /// A bound that does not hold, in words.
    pub(crate) fn describe_unmet(self, bound: Bound) -> String {
        match bound {
            Bound::Conforms(ty, interface) => {
                let base = match self.conforming_base(ty, interface) {
                    Some(base) => format!(", but its base `{base}` does: name both after its colon"),
                    None => String::new(),
                };
                format!("`{}` does not conform to `{}`{base}", self.show(ty), self.show_interface(interface))
            }
            Bound::Equal(a, b) => format!("`{}` is not `{}`", self.show(a), self.show(b)),
            Bound::Count(pack, count) => match self.program.types.elements_of(pack) {
                Some(items) => {
                    format!("a pack of {} elements is not one of {}", items.len(), self.show_val(count))
                }
                None => {
                    format!("`{}` may not have {} elements", self.show(pack), self.show_val(count))
                }
            },
            Bound::Coerces(to, from, implicit) => {
                let how = if implicit { " implicitly" } else { "" };
                format!("`{}` does not convert to `{}`{how}", self.show(from), self.show(to))
            }
            Bound::NonEmpty(pack) if self.program.types.elements_of(pack).is_some() => {
                "the pack is empty".into()
            }
            Bound::NonEmpty(pack) => format!("`{}` may be empty", self.show(pack)),
            Bound::Optional(ty, interface, _) => {
                format!("`{}` may not conform to `{}`", self.show(ty), self.show_interface(interface))
            }
        }
    }
}

impl Program {
    /// What a bound speaks of: of a pack, each of its elements.
    fn bounded(&mut self, ty: Ty) -> Ty {
        if self.is_pack(ty) { self.types.ty(TyKind::Each(ty)) } else { ty }
    }

    /// Each of `params` as its own argument.
    pub(crate) fn identity_of(&mut self, params: &[GenericParamId]) -> Args {
        let args: Vec<Arg> = params.iter().map(|p| self.param_arg(*p)).collect();
        self.types.args(&args)
    }

    /// A parameter as an argument.
    pub(crate) fn param_arg(&mut self, param: GenericParamId) -> Arg {
        let GenericParam { value, pack, .. } = self.params[param];
        if value.is_some() && !pack {
            Arg::Val(self.types.val(ValKind::Param(param)))
        } else {
            Arg::Ty(self.types.ty(TyKind::Param(param)))
        }
    }
}

impl Types {
    fn same(&self, a: Ty, b: Ty) -> bool {
        a == b || self.is_error(a) || self.is_error(b)
    }

    /// Whether a type is the result of a reported mistake.
    pub(crate) fn is_error(&self, ty: Ty) -> bool {
        self.kind(ty) == TyKind::Error
    }
}

impl Packs<'_> {
    fn has_count(&mut self, pack: Ty, count: Val) -> bool {
        let own = self.program.count_val(pack);
        let assumed = |bound: &Bound| *bound == Bound::Count(pack, count);
        own == count || self.program.types.is_error(pack) || self.assumptions.iter().any(assumed)
    }
}

impl Facts<'_> {
    /// Whether a pack is known to have elements.
    pub(crate) fn is_nonempty(self, pack: Ty) -> bool {
        match (self.program.types.elements_of(pack), self.program.types.kind(pack)) {
            (Some(items), _) => items.iter().any(|item| match item {
                Arg::Ty(ty) if self.program.is_pack(*ty) => self.is_nonempty(*ty),
                Arg::Ty(_) | Arg::Val(_) | Arg::Laid(..) => true,
            }),
            (None, TyKind::Expand(_, over)) => self.is_nonempty(over),
            (None, _) => {
                let counts = |count: Val| self.program.types.known(count).is_some_and(|n| n > 0);
                self.program.types.is_error(pack)
                    || self.tables.assumptions.iter().any(|bound| match *bound {
                        Bound::NonEmpty(assumed) => assumed == pack,
                        Bound::Count(assumed, count) => assumed == pack && counts(count),
                        Bound::Conforms(..) | Bound::Equal(..) | Bound::Optional(..) | Bound::Coerces(..) => {
                            false
                        }
                    })
            }
        }
    }
}
