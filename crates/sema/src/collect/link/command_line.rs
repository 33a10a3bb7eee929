//! Definitions on the command line: [`Given`](crate::Given).
//!
//! Names are looked up in a scope that sees all modules. A definition of a `type_param` or an `extern` declaration acts as an
//! export. Generic arguments of functions and types of shader parameters are applied where those are resolved.

use super::{Linked, is_func};
use crate::collect::Collector;
use crate::facts::Rules;
use crate::generics::arguments::Share;
use crate::hir::{
    Arg, Args, Bound, FuncId, FuncKind, GenericParamId, GlobalId, GlobalKind, InterfaceRef, Ty, TyKind, Types,
};
use crate::tables::{AliasInfo, Item, Owner, Progress, ScopeId};
use crate::{Checked, codes};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

/// What a conformance with generic arguments is found by.
fn conformance_name(ty: Symbol, interface: Symbol) -> Symbol {
    Symbol::new(&format!("{ty}:{interface}"))
}

impl Collector<'_> {
    /// A scope from which all modules can be seen, in the first one's module.
    pub(super) fn command_line_scope(&mut self) {
        let core = self.tables.lang.scope();
        let modules = self.tables.scopes.iter().filter(|(_, s)| !s.is_library() && s.parent() == core);
        let modules: Vec<ScopeId> =
            modules.filter(|(_, s)| s.owner() == Owner::Module).map(|(id, _)| id).collect();
        let (Some(core), Some(&main)) = (core, modules.first()) else { return };
        let (generics, module) = (self.tables.scopes[main].generics(), self.tables.scopes[main].module());
        let scope = self.new_scope(Some(core), Owner::Module, generics, "", false);
        self.tables.scopes[scope].import(modules);
        self.tables.scopes[scope].set_module(module);
        self.tables.links.scope = Some(scope);
    }

    /// What the command line says of globals, as declarations.
    pub(super) fn give_globals(&mut self) -> Vec<Linked> {
        let mut said = vec![];
        let Some(scope) = self.tables.links.scope else { return said };
        for (name, expr) in std::mem::take(&mut self.tables.links.given.globals) {
            let externs = self.tables.links.externs.iter();
            let wanted =
                externs.clone().find(|e| !is_func(e) && self.tables.scopes.path_of(e) == name).cloned();
            if wanted.is_none() && (self.give_constant(name, &expr) || self.give_length(name, &expr)) {
                continue;
            }
            let Some(wanted) = wanted else {
                let externs = self.tables.links.externs.iter();
                let known = externs
                    .filter(|e| !is_func(e))
                    .map(|e| format!("`{}`", self.tables.scopes.path_of(e)))
                    .collect();
                let message = format!("the program has no `extern` type or constant `{name}`");
                self.rules().nothing_to_give(expr.span, message, known);
                continue;
            };
            let ident = ast::Ident { name: wanted.name.name, span: expr.span };
            let item = match wanted.item {
                Item::Global(id) => Item::Global(self.given_constant(id, ident, expr, scope)),
                _ => Item::Alias(self.given_alias(ident, expr, scope)),
            };
            let around = wanted.scope;
            said.push(Linked { name: ident, scope: around, item, bases: vec![], complete: true });
        }
        said
    }

    /// Gives a specialization constant a value of the command line instead of its default; says whether there is such a constant.
    fn give_constant(&mut self, name: Symbol, value: &ast::Expr) -> bool {
        let globals = self.program.globals.iter();
        let named: Vec<GlobalId> =
            globals.filter(|(_, g)| g.specialized && g.name == name).map(|(id, _)| id).collect();
        for &id in &named {
            let decl = &self.tables.globals[id].decl;
            let decl = ast::VarDecl { init: Some(value.clone()), ..ast::VarDecl::clone(decl) };
            self.tables.globals.set_decl(id, decl);
        }
        !named.is_empty()
    }

    /// Sets the length of a shader parameter that is an array without one. Returns whether there is such a parameter.
    fn give_length(&mut self, name: Symbol, length: &ast::Expr) -> bool {
        let named: Vec<GlobalId> =
            self.program.globals.iter().filter(|(_, g)| g.name == name).map(|(id, _)| id).collect();
        let mut given = false;
        for id in named {
            let mut decl = ast::VarDecl::clone(&self.tables.globals[id].decl);
            if self.program.globals[id].kind == GlobalKind::Param
                && let Some(ty) = &mut decl.ty
                && let ast::ExprKind::Index(_, sizes) = &mut ty.kind
                && sizes.is_empty()
            {
                sizes.push(length.clone());
                self.tables.globals.set_decl(id, decl);
                given = true;
            }
        }
        given
    }

    fn given_alias(&mut self, name: ast::Ident, ty: ast::Expr, scope: ScopeId) -> crate::tables::AliasId {
        let decl = ast::AliasDecl { name, generics: Default::default(), bases: vec![], ty: Some(ty) };
        let generics = self.tables.scopes[scope].generics();
        self.tables.aliases.push(AliasInfo {
            decl: decl.into(),
            scope,
            generics,
            resolved: Progress::New,
            ty: None,
        })
    }

    fn given_constant(
        &mut self,
        id: GlobalId,
        name: ast::Ident,
        init: ast::Expr,
        scope: ScopeId,
    ) -> GlobalId {
        let wanted = self.tables.globals[id].decl.clone();
        let decl = ast::VarDecl { name, init: Some(init), ..ast::VarDecl::clone(&wanted) };
        let generics = self.tables.scopes[scope].generics();
        let place = crate::collect::Place {
            scope,
            owner: Owner::Module,
            generics,
            defaults: crate::names::access::Defaults::PUBLIC,
        };
        self.push_global(Arc::new(decl), GlobalKind::Const, None, place)
    }
}

impl Checked {
    /// The type of a shader parameter, where the command line says more than the program.
    pub(crate) fn given_type(&mut self, id: GlobalId, ty: Ty) -> Ty {
        let crate::hir::Global { name, kind, .. } = self.program.globals[id];
        let given = self.tables.links.given.types.iter().find(|(n, _)| *n == name);
        let (Some((_, expr)), GlobalKind::Param) = (given.cloned(), kind) else { return ty };
        if let Some(interface) = self.program.types.interface_of(ty) {
            return self.given_member(&expr, interface);
        }
        // A block of an interface is a block of the type.
        if let TyKind::Struct(block, args) = self.program.types.kind(ty)
            && let [Arg::Ty(inner)] = self.program.types.list(args)[..]
            && self.program.structs[block].magic.is_some()
            && let Some(interface) = self.program.types.interface_of(inner)
        {
            let given = self.given_member(&expr, interface);
            let args = self.program.types.args(&[Arg::Ty(given)]);
            return self.struct_ty(block, args);
        }
        let message = format!("`{name}` has type `{}`, which is not an interface", self.show(ty));
        self.rules().nothing_to_give(expr.span, message, vec![]);
        ty
    }

    /// A type of the command line in place of an interface.
    fn given_member(&mut self, expr: &ast::Expr, interface: InterfaceRef) -> Ty {
        let Some(scope) = self.tables.links.scope else { return self.program.types.error() };
        let ty = self.resolve_ty(expr, scope);
        if self.must_conform(ty, interface, expr.span, None) { ty } else { self.program.types.error() }
    }

    /// Whether the command line numbers a type with generic arguments, so written, for an interface.
    pub fn is_given_conformance(&self, ty: Symbol, interface: Symbol) -> bool {
        let name = conformance_name(ty, interface);
        self.tables.links.given.conformances.iter().any(|(n, ..)| *n == name)
    }

    /// The type and the interface type of such a conformance, if it holds.
    pub(crate) fn given_conformance(&mut self, ty: Symbol, interface: Symbol) -> Option<(Ty, Ty)> {
        let name = conformance_name(ty, interface);
        let all = &self.tables.links.given.conformances;
        let (_, ty, interface) = all.iter().find(|(n, ..)| *n == name)?.clone();
        let scope = self.tables.links.scope?;
        let interface = self.resolve_interface(&interface, scope)?;
        let ty = self.resolve_ty(&ty, scope);
        self.settle();
        let conforms =
            !self.program.types.is_error(ty) && self.must_conform(ty, interface, Span::none(), None);
        conforms.then(|| (ty, self.program.types.ty(TyKind::Interface(interface.interface, interface.args))))
    }

    /// Whether the command line has arguments for a function.
    pub fn is_given(&self, func: FuncId) -> bool {
        let name = self.program.funcs[func].name;
        self.tables.links.given.functions.iter().any(|(n, _)| *n == name)
    }

    /// Arguments for the generic parameters of a function that nobody calls: those of the command line, defaults, and for a
    /// parameter of interface type that interface. Nothing if that is not enough.
    pub fn root_args(&mut self, func: FuncId) -> Option<Args> {
        self.ensure_func(func);
        let name = self.program.funcs[func].name;
        let given = &self.tables.links.given.functions;
        let given: Vec<ast::Expr> =
            given.iter().find(|(n, _)| *n == name).map(|(_, args)| args.clone()).unwrap_or_default();
        self.args_under(func, &given)
    }

    /// The same with these arguments of the command line. Reports arguments that do not fit.
    pub(crate) fn args_under(&mut self, func: FuncId, given: &[ast::Expr]) -> Option<Args> {
        let span = self.program.funcs[func].span;
        let generics = self.tables.funcs[func].generics;
        let params = self.tables.generics[generics].params.clone();
        let at = given.first().map_or(span, |first| first.span);
        let Some(shares) = self.shares(&params, given) else {
            let message = format!("expected {1} generic arguments, found {0}", given.len(), params.len());
            let more = given.get(params.len()).map_or(at, |more| more.span);
            self.diagnostics
                .push(Diagnostic::new(codes::GENERIC_ARGS, more, message).label(span, "declared here"));
            return None;
        };
        let mut args: Vec<Arg> = vec![];
        for (&param, share) in params.iter().zip(shares) {
            let scope = self.tables.links.scope?;
            let arg = match share {
                Share::One(expr) => Some(self.generic_arg(param, expr, scope)),
                Share::Pack(exprs) => Some(self.pack_arg(param, exprs, scope)),
                Share::Open => {
                    self.hidden_arg(func, param).or_else(|| self.default_arg(generics, param, &args))
                }
            };
            args.push(arg?);
        }
        let args = self.program.types.args(&args);
        let fits = self.check_bounds(generics, args, at);
        self.settle();
        fits.then_some(args)
    }

    /// What stands for a generic parameter that is a parameter of interface type in disguise.
    fn hidden_arg(&mut self, func: FuncId, param: GenericParamId) -> Option<Arg> {
        let generics = self.tables.funcs[func].generics;
        let is_param = |ty: Ty| self.program.types.kind(ty) == TyKind::Param(param);
        let name = self.program.funcs[func].params.iter().find(|p| is_param(p.ty))?.name;
        let hidden = self.tables.generics[generics].params.iter().rev().take(self.tables.funcs[func].hidden);
        if !hidden.into_iter().any(|p| *p == param) {
            return None;
        }
        let bounds = self.bounds(generics);
        let is_param = |ty: Ty| self.program.types.kind(ty) == TyKind::Param(param);
        let interface = bounds.iter().find_map(|bound| match *bound {
            Bound::Conforms(ty, interface) if is_param(ty) => Some(interface),
            _ => None,
        })?;
        let given = self.tables.links.given.types.iter().find(|(n, _)| *n == name).cloned();
        Some(Arg::Ty(match given {
            Some((_, expr)) => self.given_member(&expr, interface),
            None => self.program.types.ty(TyKind::Interface(interface.interface, interface.args)),
        }))
    }
}

impl Types {
    fn interface_of(&self, ty: Ty) -> Option<InterfaceRef> {
        match self.kind(ty) {
            TyKind::Interface(interface, args) => Some(InterfaceRef { interface, args }),
            _ => None,
        }
    }
}

impl Rules<'_> {
    /// Names on the command line that the program does not have.
    pub(super) fn check_given_names(&mut self) {
        let funcs: Vec<FuncId> = self.tables.funcs.user().to_vec();
        let generic = |f: &FuncId| {
            let func = &self.program.funcs[*f];
            !func.generics.params.is_empty() && !matches!(func.kind, FuncKind::Requirement(_))
        };
        let generics: Vec<FuncId> = funcs.into_iter().filter(generic).collect();
        let mut wrong = vec![];
        for (name, args) in &self.tables.links.given.functions {
            if !generics.iter().any(|f| self.program.funcs[*f].name == *name) {
                let known = generics.iter().map(|f| format!("`{}`", self.program.funcs[*f].name)).collect();
                let span = args.first().map_or(Span::none(), |arg| arg.span);
                wrong.push((span, format!("there is no generic function `{name}`"), known));
            }
        }
        for (name, expr) in &self.tables.links.given.types {
            let global = |g: &crate::hir::Global| g.name == *name && g.kind == GlobalKind::Param;
            let param = |f: &FuncId| {
                let data = &self.program.funcs[*f];
                data.entry.is_some() && data.params.iter().any(|p| p.name == *name)
            };
            if !self.program.globals.values().any(global) && !generics.iter().any(param) {
                wrong.push((expr.span, format!("there is no parameter `{name}` of interface type"), vec![]));
            }
        }
        for (span, message, known) in wrong {
            self.nothing_to_give(span, message, known);
        }
    }

    fn nothing_to_give(&mut self, span: Span, message: String, known: Vec<String>) {
        let diagnostic = Diagnostic::new(codes::NOT_GENERIC, span, message);
        self.diagnostics.push(match &known[..] {
            [] => diagnostic,
            known => diagnostic.help(format!("the program has {}", known.join(", "))),
        });
    }
}
