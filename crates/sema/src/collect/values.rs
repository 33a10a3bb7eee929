//! Collects functions and variables.

use super::Place;
use crate::capability::Targets;
use crate::codes;
use crate::collect::Collector;
use crate::declarations::{attrs, placement};
use crate::facts::Rules;
use crate::hir::{Func, FuncDiff, FuncId, FuncKind, Generics, Global, GlobalKind, Inline, StructId};
use crate::names::access::Defaults;
use crate::tables::{FuncInfo, FuncSource, GenericsId, GlobalInfo, Item, Owner, Prefix, Progress, ScopeId};
use cotangent_base::{Diagnostic, Wish};
use cotangent_syntax::ast::{self, ModifierKind};
use std::sync::Arc;

impl Collector<'_> {
    pub(super) fn collect_func(&mut self, decl: Arc<ast::FuncDecl>, prefix: Prefix, place: Place) {
        let name = match decl.kind {
            ast::FuncKind::Constructor => ast::Ident { name: attrs::INIT.into(), span: decl.name.span },
            ast::FuncKind::Operator => operator_ident(decl.name, &prefix),
            ast::FuncKind::Plain => decl.name,
        };
        let has_static = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
        let is_static = place.owner == Owner::Module || has_static || name.name == attrs::INIT;
        let id = self.push_func(name, FuncSource::Func(decl.clone()), prefix, is_static, place);
        let generics = self.collect_generics(&decl.generics, self.tables.funcs[id].scope, place.generics);
        self.set_func_generics(id, generics);
        let is_constructor = decl.kind == ast::FuncKind::Constructor;
        if is_constructor && !matches!(place.owner, Owner::Interface(_)) {
            self.program.funcs[id].kind = FuncKind::Constructor;
        }
        self.program.funcs[id].has_body = decl.body.is_some();
        if decl.extends.is_some() {
            // It has no name that anybody could write.
            return;
        }
        self.declare(place.scope, name, Item::Func(id));
        if let Owner::Interface(interface) = place.owner {
            self.program.interfaces[interface].requirements.push(id);
        }
    }

    pub(super) fn set_func_generics(&mut self, id: FuncId, generics: GenericsId) {
        let scope = self.tables.funcs[id].scope;
        self.tables.funcs.set_generics(id, generics);
        self.tables.scopes[scope].set_generics(generics);
    }

    /// A function with a scope for its generic parameters and nothing resolved.
    pub(super) fn push_func(
        &mut self,
        name: ast::Ident,
        source: FuncSource,
        prefix: Prefix,
        is_static: bool,
        place: Place,
    ) -> FuncId {
        let library = self.tables.scopes[place.scope].is_library();
        let path = self.tables.scopes[place.scope].path().clone();
        let scope = self.new_scope(Some(place.scope), Owner::Module, place.generics, &path, library);
        let kind = match place.owner {
            Owner::Interface(interface) => FuncKind::Requirement(interface),
            _ => FuncKind::Plain,
        };
        let result = self.program.types.error();
        let func = self.program.funcs.push(Func {
            name: self.tables.scopes.qualified(place.scope, name.name.as_str()),
            span: name.span,
            kind,
            generics: Generics::default(),
            this: None,
            params: vec![],
            result,
            no_diff_result: false,
            intrinsic: attrs::string(&prefix.attributes, attrs::INTRINSIC),
            diff: FuncDiff::default(),
            inline: Inline::Auto,
            entry: None,
            other_stage: None,
            varying: Default::default(),
            throws: None,
            targets: Targets::ALL,
            has_body: false,
        });
        self.note_lang(&prefix.attributes, Item::Func(func));
        let info = FuncInfo {
            source,
            prefix,
            scope,
            generics: place.generics,
            owner: place.owner,
            is_static,
            signature: Progress::New,
            hidden: 0,
        };
        if library { self.tables.funcs.push(info) } else { self.tables.funcs.push_user(info) }
    }

    pub(super) fn collect_var(&mut self, decl: Arc<ast::VarDecl>, prefix: Prefix, place: Place) {
        let has = |kind| prefix.modifiers.iter().any(|m| m.kind == kind);
        if let (Owner::Struct(id), false) = (place.owner, has(ModifierKind::Static)) {
            self.rules().not_shared(&decl, &prefix);
            let number = self.tables.structs[id].fields.len() as u32;
            self.declare(place.scope, decl.name, Item::Field(number));
            self.tables.structs.add_field(id, decl, prefix);
            return;
        }
        self.rules().no_bit_field(&decl);
        match place.owner {
            Owner::Interface(_) => {
                self.rules().check_requirement_kind(
                    &decl,
                    has(ModifierKind::Static),
                    has(ModifierKind::Const),
                );
                return self.collect_constant_requirement(&decl, &prefix, place);
            }
            Owner::Extension(_) if !has(ModifierKind::Static) => {
                let message = "an extension cannot add fields".to_string();
                self.diagnostics.push(
                    Diagnostic::new(codes::MISPLACED, decl.name.span, message)
                        .help("declare the field in the structure itself, or make it `static const`"),
                );
                return;
            }
            _ => {}
        }
        let specialized = decl.init.is_some()
            && (attrs::has(&prefix.attributes, "SpecializationConstant")
                || attrs::has(&prefix.attributes, "vk::constant_id"));
        let half_constant = has(ModifierKind::Const) && !has(ModifierKind::Static) && decl.init.is_some();
        if half_constant && !specialized {
            let message =
                format!("`{}` is `const` but not `static`, so it is a shader parameter", decl.name.name);
            self.diagnostics.push(
                Diagnostic::new(codes::MISPLACED, decl.name.span, message)
                    .help("write `static const` for a constant"),
            );
        }
        let kind = if has(ModifierKind::GroupShared) {
            GlobalKind::Shared
        } else if has(ModifierKind::Static) {
            if has(ModifierKind::Const) { GlobalKind::Const } else { GlobalKind::Static }
        } else if half_constant || specialized {
            // Taken as it was meant, so that its uses are not reported too.
            GlobalKind::Const
        } else {
            GlobalKind::Param
        };
        let name = decl.name;
        let wish = self.rules().wish(&prefix.attributes, decl.semantic);
        let id = self.push_global(decl, kind, None, place);
        self.program.globals[id].wish = wish;
        self.tables.globals.set_binding(id, placement::open_binding(&prefix.attributes));
        self.program.globals[id].specialized = specialized;
        if kind == GlobalKind::Param {
            self.program.globals[id].row_major = attrs::row_major(&prefix.modifiers);
        }
        self.declare(place.scope, name, Item::Global(id));
    }

    /// A global with nothing resolved.
    pub(super) fn push_global(
        &mut self,
        decl: Arc<ast::VarDecl>,
        kind: GlobalKind,
        buffer: Option<StructId>,
        place: Place,
    ) -> crate::hir::GlobalId {
        let ty = self.program.types.error();
        let params = self.tables.generics[place.generics].params.to_vec();
        let id = self.program.globals.push(Global {
            name: self.tables.scopes.qualified(place.scope, decl.name.name.as_str()),
            ty,
            kind,
            wish: Wish::default(),
            cbuffer: None,
            row_major: None,
            specialized: false,
            folded: false,
            params,
            span: decl.name.span,
        });
        self.tables.globals.push(GlobalInfo {
            decl,
            scope: place.scope,
            generics: place.generics,
            resolved: Progress::New,
            buffer,
            local: false,
            binding: vec![],
        });
        id
    }

    /// A function that gives the value of a static member, for an interface that requires one. It is inlined before derivatives
    /// are taken, so that loops it bounds have a known bound.
    pub(crate) fn getter_of(&mut self, global: crate::hir::GlobalId) -> FuncId {
        let info = &self.tables.globals[global];
        let (scope, generics, var) = (info.scope, info.generics, info.decl.clone());
        let (name, span) = (var.name, var.name.span);
        let value = ast::Expr { kind: ast::ExprKind::Name(name.name), span };
        let stmt = ast::Stmt { attributes: vec![], kind: ast::StmtKind::Return(Some(value)), span };
        let decl = ast::FuncDecl {
            kind: ast::FuncKind::Plain,
            name,
            generics: Default::default(),
            params: vec![],
            result: var.ty.clone(),
            no_diff_result: false,
            throws: None,
            semantic: None,
            body: Some(ast::Block { stmts: vec![stmt], span }.into()),
            extends: None,
        };
        let owner = self.tables.scopes[scope].owner();
        let place = Place { scope, owner, generics, defaults: Defaults::PUBLIC };
        let early = ast::Ident { name: "ForceInline".into(), span };
        let early = ast::Attribute { name: early, args: vec![], span };
        let prefix = Prefix { attributes: Arc::new([early]), ..Prefix::none() };
        let func = self.push_func(name, FuncSource::Func(decl.into()), prefix, true, place);
        self.program.funcs[func].has_body = true;
        func
    }

    /// A `static` variable inside a function.
    pub(crate) fn local_static(
        &mut self,
        decl: ast::VarDecl,
        kind: GlobalKind,
        scope: ScopeId,
    ) -> crate::hir::GlobalId {
        let generics = self.tables.scopes[scope].generics();
        let place = Place { scope, owner: Owner::Module, generics, defaults: Defaults::PUBLIC };
        let name = decl.name;
        let id = self.push_global(decl.into(), kind, None, place);
        self.tables.globals.set_local(id);
        self.declare(scope, name, Item::Global(id));
        id
    }

    /// `static const This maxValue;` in an interface is a static property that can be read.
    pub(super) fn collect_constant_requirement(
        &mut self,
        decl: &ast::VarDecl,
        prefix: &Prefix,
        place: Place,
    ) {
        let Some(ty) = decl.ty.clone() else {
            self.rules().unsupported(decl.name.span, "a requirement without a type");
            return;
        };
        let get = ast::Accessor {
            attributes: vec![],
            kind: ast::AccessorKind::Get,
            value: None,
            body: None,
            span: decl.name.span,
        };
        let property = ast::PropertyDecl { name: decl.name, ty, accessors: vec![get] };
        self.collect_property(property, prefix, place);
    }
}

impl Rules<'_> {
    /// Of variables, an interface may ask for constants only.
    fn check_requirement_kind(&mut self, decl: &ast::VarDecl, is_static: bool, is_const: bool) {
        let name = decl.name.name;
        let (message, help) = match (is_static, is_const) {
            (true, true) => return,
            (false, false) => (
                "an interface cannot have fields".to_string(),
                format!("declare a property, `property {name} : T {{ get; }}`, which a field can satisfy"),
            ),
            _ => (format!("the requirement `{name}` must be `static const`"), "write both words".to_string()),
        };
        self.diagnostics.push(Diagnostic::new(codes::MISPLACED, decl.name.span, message).help(help));
    }

    /// A field is where its structure is.
    fn not_shared(&mut self, decl: &ast::VarDecl, prefix: &Prefix) {
        let Some(shared) = prefix.modifiers.iter().find(|m| m.kind == ModifierKind::GroupShared) else {
            return;
        };
        let message = format!("the field `{}` cannot be `groupshared`", decl.name.name);
        let help = "declare variables of the structure `groupshared`, or make the field `static groupshared`";
        self.diagnostics.push(Diagnostic::new(codes::MISPLACED, shared.span, message).help(help));
    }
}

/// The name under which an operator is found: that of `++` and `--` says on which side they stand.
fn operator_ident(name: ast::Ident, prefix: &Prefix) -> ast::Ident {
    let text = name.name.as_str();
    let side = prefix.modifiers.iter().find_map(|m| match m.kind {
        ModifierKind::Prefix => Some(false),
        ModifierKind::Postfix => Some(true),
        _ => None,
    });
    let name_found = match side {
        Some(post) if text.ends_with("++") || text.ends_with("--") => attrs::step_name(text, post),
        _ => attrs::operator_name(text),
    };
    ast::Ident { name: name_found, span: name.span }
}
