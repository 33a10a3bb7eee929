//! Declarations into tables: every declaration gets its number, its scope and its place in a name table.
//!
//! Nothing is looked up here, so nothing depends on order. The syntax is taken apart and moved into the tables;
//! signatures and bodies are resolved from there on demand.

use crate::attrs;
use crate::codes;
use crate::hir::{
    Assoc, Enum, EnumId, Func, FuncDiff, FuncId, FuncKind, GenericParam, Generics, Global, GlobalKind,
    Inline, Interface, InterfaceId, Struct, StructId, Ty, TyKind,
};
use crate::tables::{
    AliasInfo, AssocInfo, Builtin, ElementAccess, EnumInfo, ExtInfo, FuncInfo, FuncSource, GenericsId,
    GenericsInfo, GlobalInfo, InterfaceInfo, Item, Owner, Prefix, Progress, PropId, PropInfo, Scope, ScopeId,
    StructInfo,
};
use crate::{Checked, Input};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_syntax::ast::{self, DeclKind, ModifierKind};
use std::rc::Rc;

/// Where declarations are being collected.
#[derive(Clone, Copy)]
struct Place {
    scope: ScopeId,
    owner: Owner,
    generics: GenericsId,
}

impl Checked {
    /// Collects all files: those of the library into one scope, each of the user's into its own around which the
    /// library's lies.
    pub(crate) fn collect(&mut self, inputs: Vec<Input>) {
        let root = self.root_generics();
        let core = self.new_scope(None, Owner::Module, root, "", true);
        self.tables.generics[root].scope = core;
        self.tables.core = Some(core);
        let mut users: Vec<(ScopeId, bool)> = vec![];
        for input in inputs {
            let scope =
                if input.library { core } else { self.new_scope(Some(core), Owner::Module, root, "", false) };
            let imports = input.tree.decls.iter().any(|d| matches!(d.kind, DeclKind::Import(_)));
            if !input.library {
                users.push((scope, imports));
            }
            let place = Place { scope, owner: Owner::Module, generics: root };
            self.collect_decls(input.tree.decls, place);
        }
        for &(scope, imports) in &users {
            if imports {
                let others = users.iter().map(|u| u.0).filter(|s| *s != scope).collect();
                self.tables.scopes[scope].imports = others;
            }
        }
    }

    fn root_generics(&mut self) -> GenericsId {
        let scope = self.tables.scopes.next_key();
        self.tables.generics.push(GenericsInfo {
            parent: None,
            own: vec![],
            params: Rc::new([]),
            syntax: Rc::default(),
            scope,
            resolved: Progress::Done,
            own_bounds: vec![],
            bounds: Some(Rc::new([])),
            interface: None,
            variadic: false,
        })
    }

    /// A scope inside `parent`.
    pub(crate) fn new_scope(
        &mut self,
        parent: Option<ScopeId>,
        owner: Owner,
        generics: GenericsId,
        path: &str,
        library: bool,
    ) -> ScopeId {
        self.tables.scopes.push(Scope {
            parent,
            names: Default::default(),
            owner,
            imports: vec![],
            usings: vec![],
            path: path.into(),
            generics,
            library,
        })
    }

    /// A scope inside `parent` for the members of a declaration called `name`.
    fn member_scope(&mut self, parent: ScopeId, owner: Owner, generics: GenericsId, name: &str) -> ScopeId {
        let outer = &self.tables.scopes[parent];
        let (path, library) = (format!("{}{name}.", outer.path), outer.library);
        self.new_scope(Some(parent), owner, generics, &path, library)
    }

    /// `name` with the names around it.
    fn qualified(&self, scope: ScopeId, name: &str) -> Symbol {
        let path = &self.tables.scopes[scope].path;
        if path.is_empty() { Symbol::new(name) } else { Symbol::new(&format!("{path}{name}")) }
    }

    /// Declares the declarations of a block: local types and aliases.
    pub(crate) fn collect_local(&mut self, decl: ast::Decl, scope: ScopeId) {
        let generics = self.tables.scopes[scope].generics;
        let place = Place { scope, owner: Owner::Module, generics };
        self.collect_decls(vec![decl], place);
    }

    fn collect_decls(&mut self, decls: Vec<ast::Decl>, place: Place) {
        for decl in decls {
            self.collect_decl(decl, place);
        }
    }

    fn collect_decl(&mut self, decl: ast::Decl, place: Place) {
        let prefix = Prefix { attributes: decl.attributes.into(), modifiers: decl.modifiers.into() };
        match decl.kind {
            DeclKind::Func(func) => self.collect_func(func.into(), prefix, place),
            DeclKind::Var(var) => self.collect_var(var.into(), prefix, place),
            DeclKind::Struct(decl) => {
                self.collect_struct(*decl, &prefix, place);
            }
            DeclKind::Interface(decl) => self.collect_interface(*decl, &prefix, place),
            DeclKind::Extension(ext) => self.collect_extension(*ext, place),
            DeclKind::Enum(decl) => self.collect_enum(decl.into(), prefix, place),
            DeclKind::Alias(decl) => self.collect_alias(decl.into(), place),
            DeclKind::Assoc(decl) => self.collect_assoc(decl.into(), &prefix, place),
            DeclKind::Property(decl) => self.collect_property(*decl, &prefix, place),
            DeclKind::Subscript(sub) => self.collect_subscript(*sub, &prefix, decl.span, place),
            DeclKind::Namespace(path, decls) => self.collect_namespace(&path, decls, place),
            DeclKind::Using(path) => {
                let span = path.span;
                self.tables.scopes[place.scope].usings.push((path.into(), span));
            }
            DeclKind::CBuffer(name, decls) => self.collect_cbuffer(name, decls, place),
            DeclKind::Import(_) | DeclKind::Module(_) | DeclKind::Error => {}
            DeclKind::Include(name) | DeclKind::Implementing(name) => {
                self.unsupported(name.span, "modules of several files");
            }
        }
    }

    /// Enters a name. Functions share names; anything else may be declared once.
    fn declare(&mut self, scope: ScopeId, name: ast::Ident, item: Item) {
        let entry = self.tables.scopes[scope].names.entry(name.name).or_default();
        let overloads = matches!(item, Item::Func(_)) && entry.iter().all(|i| matches!(i, Item::Func(_)));
        let subscript = matches!(item, Item::Property(_)) && name.name == attrs::SUBSCRIPT;
        if entry.is_empty() || overloads || subscript {
            entry.push(item);
            return;
        }
        let previous = entry[0];
        entry.push(item);
        let mut diagnostic = Diagnostic::new(
            codes::REDECLARED,
            name.span,
            format!("`{}` is declared twice in this scope", name.name),
        );
        let first = match (previous, self.tables.scopes[scope].owner) {
            (Item::Field(n), Owner::Struct(id)) => {
                self.tables.structs[id].fields.get(n as usize).map(|(field, _)| field.name.span)
            }
            _ => self.item_span(previous),
        };
        if let Some(span) = first {
            diagnostic = diagnostic.label(span, "first declared here");
        }
        self.diagnostics.push(diagnostic.help("rename or remove one of them"));
    }

    /// Generic parameters inside `place`, with their names in `scope`. An empty list is that of the place.
    fn collect_generics(&mut self, syntax: &ast::Generics, scope: ScopeId, parent: GenericsId) -> GenericsId {
        if syntax.params.is_empty() && syntax.wheres.is_empty() {
            return parent;
        }
        let mut own = vec![];
        let mut variadic = false;
        for param in &syntax.params {
            variadic |= matches!(param.kind, ast::GenericParamKind::Pack(_));
            let id = self.program.params.push(GenericParam {
                name: param.name.name,
                value: None,
                span: param.name.span,
            });
            if let ast::GenericParamKind::Value(_) = param.kind {
                // Known to be a value at once; which type is resolved with the bounds.
                let error = self.error_ty();
                self.program.params[id].value = Some(error);
            }
            self.declare(scope, param.name, Item::Param(id));
            own.push(id);
        }
        self.push_generics(parent, own, Rc::new(syntax.clone()), scope, None, variadic)
    }

    fn push_generics(
        &mut self,
        parent: GenericsId,
        own: Vec<crate::hir::GenericParamId>,
        syntax: Rc<ast::Generics>,
        scope: ScopeId,
        interface: Option<InterfaceId>,
        variadic: bool,
    ) -> GenericsId {
        let around = self.tables.generics[parent].params.clone();
        let params = around.iter().copied().chain(own.iter().copied()).collect();
        self.tables.generics.push(GenericsInfo {
            parent: Some(parent),
            own,
            params,
            syntax,
            scope,
            resolved: Progress::New,
            own_bounds: vec![],
            bounds: None,
            interface,
            variadic,
        })
    }

    fn collect_func(&mut self, decl: Rc<ast::FuncDecl>, prefix: Prefix, place: Place) {
        let name = match decl.kind {
            ast::FuncKind::Constructor => ast::Ident { name: attrs::INIT.into(), span: decl.name.span },
            ast::FuncKind::Operator => {
                ast::Ident { name: attrs::operator_name(decl.name.name.as_str()), span: decl.name.span }
            }
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
        self.declare(place.scope, name, Item::Func(id));
        if let Owner::Interface(interface) = place.owner {
            self.program.interfaces[interface].requirements.push(id);
        }
    }

    fn set_func_generics(&mut self, id: FuncId, generics: GenericsId) {
        let scope = self.tables.funcs[id].scope;
        self.tables.funcs[id].generics = generics;
        self.tables.scopes[scope].generics = generics;
    }

    /// A function with a scope for its generic parameters and nothing resolved.
    fn push_func(
        &mut self,
        name: ast::Ident,
        source: FuncSource,
        prefix: Prefix,
        is_static: bool,
        place: Place,
    ) -> FuncId {
        let library = self.tables.scopes[place.scope].library;
        let path = self.tables.scopes[place.scope].path.clone();
        let scope = self.new_scope(Some(place.scope), Owner::Module, place.generics, &path, library);
        let kind = match place.owner {
            Owner::Interface(interface) => FuncKind::Requirement(interface),
            _ => FuncKind::Plain,
        };
        let result = self.error_ty();
        let func = self.program.funcs.push(Func {
            name: self.qualified(place.scope, name.name.as_str()),
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
            has_body: false,
        });
        self.note_lang(&prefix.attributes, Item::Func(func));
        self.tables.funcs.push(FuncInfo {
            source,
            prefix,
            scope,
            generics: place.generics,
            owner: place.owner,
            is_static,
            signature: Progress::New,
            checking: Progress::New,
            body: None,
            hidden: 0,
        });
        if !library {
            self.tables.user_funcs.push(func);
        }
        func
    }

    fn collect_var(&mut self, decl: Rc<ast::VarDecl>, prefix: Prefix, place: Place) {
        let has = |kind| prefix.modifiers.iter().any(|m| m.kind == kind);
        if let (Owner::Struct(id), false) = (place.owner, has(ModifierKind::Static)) {
            let number = self.tables.structs[id].fields.len() as u32;
            self.declare(place.scope, decl.name, Item::Field(number));
            self.tables.structs[id].fields.push((decl, prefix));
            return;
        }
        match place.owner {
            Owner::Interface(_) => {
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
        let half_constant = has(ModifierKind::Const) && !has(ModifierKind::Static) && decl.init.is_some();
        if half_constant {
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
        } else if half_constant {
            // Taken as it was meant, so that its uses are not reported too.
            GlobalKind::Const
        } else {
            GlobalKind::Param
        };
        let name = decl.name;
        let id = self.push_global(decl, kind, None, place);
        self.declare(place.scope, name, Item::Global(id));
    }

    /// A global with nothing resolved.
    fn push_global(
        &mut self,
        decl: Rc<ast::VarDecl>,
        kind: GlobalKind,
        buffer: Option<StructId>,
        place: Place,
    ) -> crate::hir::GlobalId {
        let ty = self.error_ty();
        let id = self.program.globals.push(Global {
            name: self.qualified(place.scope, decl.name.name.as_str()),
            ty,
            kind,
            span: decl.name.span,
        });
        self.tables.globals.push(GlobalInfo {
            decl,
            scope: place.scope,
            generics: place.generics,
            resolved: Progress::New,
            checking: Progress::New,
            init: None,
            buffer,
        });
        id
    }

    /// A function that gives the value of a static member, for an interface that requires one.
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
            body: Some(ast::Block { stmts: vec![stmt], span }),
        };
        let owner = self.tables.scopes[scope].owner;
        let place = Place { scope, owner, generics };
        let func = self.push_func(name, FuncSource::Func(decl.into()), Prefix::none(), true, place);
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
        let generics = self.tables.scopes[scope].generics;
        let place = Place { scope, owner: Owner::Module, generics };
        let name = decl.name;
        let id = self.push_global(decl.into(), kind, None, place);
        self.declare(scope, name, Item::Global(id));
        id
    }

    /// `static const This maxValue;` in an interface is a static property that can be read.
    fn collect_constant_requirement(&mut self, decl: &ast::VarDecl, prefix: &Prefix, place: Place) {
        let Some(ty) = decl.ty.clone() else {
            self.unsupported(decl.name.span, "a requirement without a type");
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

    fn collect_struct(&mut self, mut decl: ast::StructDecl, prefix: &Prefix, place: Place) -> StructId {
        let members = std::mem::take(&mut decl.members);
        let decl = Rc::new(decl);
        let id = self.tables.structs.next_key();
        let owner = Owner::Struct(id);
        let scope = self.member_scope(place.scope, owner, place.generics, decl.name.name.as_str());
        let magic = attrs::string(&prefix.attributes, attrs::MAGIC);
        let builtin = magic.and_then(builtin_type);
        self.program.structs.push(Struct {
            name: self.qualified(place.scope, decl.name.name.as_str()),
            span: decl.name.span,
            generics: Generics::default(),
            fields: vec![],
            magic,
            differential_of: None,
        });
        self.note_lang(&prefix.attributes, Item::Struct(id));
        self.tables.structs.push(StructInfo {
            decl: decl.clone(),
            fields: vec![],
            scope,
            generics: place.generics,
            resolved: Progress::New,
            bases: Progress::New,
            base: None,
            builtin,
        });
        if let Some(builtin) = builtin {
            self.tables.builtins.insert(builtin, id);
        }
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.structs[id].generics = generics;
        self.tables.scopes[scope].generics = generics;
        self.declare(place.scope, decl.name, Item::Struct(id));
        self.collect_decls(members, Place { scope, owner, generics });
        id
    }

    fn collect_interface(&mut self, mut decl: ast::InterfaceDecl, prefix: &Prefix, place: Place) {
        let members = std::mem::take(&mut decl.members);
        let decl = Rc::new(decl);
        let id = self.tables.interfaces.next_key();
        let owner = Owner::Interface(id);
        let scope = self.member_scope(place.scope, owner, place.generics, decl.name.name.as_str());
        let this =
            self.program.params.push(GenericParam { name: "This".into(), value: None, span: decl.name.span });
        self.program.interfaces.push(Interface {
            name: self.qualified(place.scope, decl.name.name.as_str()),
            span: decl.name.span,
            generics: Generics::default(),
            this,
            bases: vec![],
            assocs: vec![],
            requirements: vec![],
        });
        self.note_lang(&prefix.attributes, Item::Interface(id));
        let around = self.push_generics(place.generics, vec![this], Rc::default(), scope, None, false);
        let own = self.collect_generics(&decl.generics, scope, around);
        let generics = self.push_generics(own, vec![], Rc::default(), scope, Some(id), false);
        self.tables.interfaces.push(InterfaceInfo {
            decl: decl.clone(),
            scope,
            generics,
            bases: Progress::New,
        });
        self.tables.scopes[scope].generics = generics;
        self.declare(place.scope, decl.name, Item::Interface(id));
        self.collect_decls(members, Place { scope, owner, generics });
    }

    fn collect_extension(&mut self, mut decl: ast::ExtensionDecl, place: Place) {
        let members = std::mem::take(&mut decl.members);
        let decl = Rc::new(decl);
        let id = self.tables.exts.next_key();
        let owner = Owner::Extension(id);
        let name = crate::show::syntax(&decl.target);
        let scope = self.member_scope(place.scope, owner, place.generics, &name);
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.scopes[scope].generics = generics;
        self.tables.exts.push(ExtInfo {
            decl,
            scope,
            generics,
            resolved: Progress::New,
            bases: Progress::New,
            target: None,
        });
        self.collect_decls(members, Place { scope, owner, generics });
    }

    fn collect_enum(&mut self, decl: Rc<ast::EnumDecl>, prefix: Prefix, place: Place) {
        let id: EnumId = self.tables.enums.next_key();
        let anonymous = decl.name.is_none();
        let name = decl.name.map_or("enum", |n| n.name.as_str());
        let scope = self.member_scope(place.scope, Owner::Enum(id), place.generics, name);
        let underlying = self.error_ty();
        let span = decl.name.map(|n| n.span).or(decl.cases.first().map(|c| c.0.span));
        self.program.enums.push(Enum {
            name: self.qualified(place.scope, name),
            underlying,
            cases: decl.cases.iter().map(|c| (c.0.name, 0)).collect(),
            span: span.unwrap_or(Span::none()),
        });
        let unscoped = anonymous || attrs::has(&prefix.attributes, "UnscopedEnum");
        self.tables.enums.push(EnumInfo { decl: decl.clone(), prefix, scope, resolved: Progress::New });
        for (number, (case, _)) in decl.cases.iter().enumerate() {
            let item = Item::Case(id, number as u32);
            self.declare(scope, *case, item);
            if unscoped {
                self.declare(place.scope, *case, item);
            }
        }
        if let Some(name) = decl.name {
            self.declare(place.scope, name, Item::Enum(id));
        }
    }

    fn collect_alias(&mut self, decl: Rc<ast::AliasDecl>, place: Place) {
        let library = self.tables.scopes[place.scope].library;
        let path = self.tables.scopes[place.scope].path.clone();
        let scope = self.new_scope(Some(place.scope), Owner::Module, place.generics, &path, library);
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.scopes[scope].generics = generics;
        let name = decl.name;
        let id =
            self.tables.aliases.push(AliasInfo { decl, scope, generics, resolved: Progress::New, ty: None });
        self.declare(place.scope, name, Item::Alias(id));
    }

    fn collect_assoc(&mut self, decl: Rc<ast::AssocDecl>, prefix: &Prefix, place: Place) {
        let Owner::Interface(interface) = place.owner else {
            let message = "`associatedtype` stands outside an interface";
            let help = "an interface requires an associated type; a structure states it with `typealias`";
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, decl.name.span, message).help(help));
            return;
        };
        let id = self.program.assocs.push(Assoc {
            name: decl.name.name,
            interface,
            bounds: vec![],
            span: decl.name.span,
        });
        self.program.interfaces[interface].assocs.push(id);
        self.note_lang(&prefix.attributes, Item::Assoc(id));
        self.declare(place.scope, decl.name, Item::Assoc(id));
        self.tables.assocs.push(AssocInfo { decl, resolved: Progress::New, equal: vec![] });
    }

    fn collect_property(&mut self, decl: ast::PropertyDecl, prefix: &Prefix, place: Place) {
        let is_static = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
        let id = self.push_property(
            PropInfo {
                name: Some(decl.name.name),
                span: decl.name.span,
                params: Rc::new([]),
                ty: Rc::new(decl.ty),
                accessors: decl.accessors.into(),
                get: None,
                set: None,
                element: None,
                is_static: is_static || place.owner == Owner::Module,
                generics: place.generics,
                scope: place.scope,
            },
            place,
        );
        self.declare(place.scope, decl.name, Item::Property(id));
    }

    fn collect_subscript(&mut self, decl: ast::SubscriptDecl, prefix: &Prefix, span: Span, place: Place) {
        let library = self.tables.scopes[place.scope].library;
        let path = self.tables.scopes[place.scope].path.clone();
        let scope = self.new_scope(Some(place.scope), Owner::Module, place.generics, &path, library);
        let generics = self.collect_generics(&decl.generics, scope, place.generics);
        self.tables.scopes[scope].generics = generics;
        let inner = Place { scope, generics, ..place };
        let is_static = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
        let id = self.push_property(
            PropInfo {
                name: None,
                span,
                params: decl.params.into(),
                ty: Rc::new(decl.result),
                accessors: decl.accessors.into(),
                get: None,
                set: None,
                element: None,
                is_static,
                generics,
                scope,
            },
            inner,
        );
        let name = ast::Ident { name: attrs::SUBSCRIPT.into(), span };
        self.declare(place.scope, name, Item::Property(id));
    }

    /// Enters a property and makes a function of each accessor.
    fn push_property(&mut self, property: PropInfo, place: Place) -> PropId {
        let accessors = property.accessors.clone();
        let is_static = property.is_static;
        let base = property.name.map_or("subscript", Symbol::as_str);
        let id = self.tables.props.push(property);
        for (number, accessor) in accessors.iter().enumerate() {
            let intrinsic = attrs::string(&accessor.attributes, attrs::INTRINSIC);
            let is_element = intrinsic.is_some_and(|i| i == attrs::ELEMENT);
            if is_element || accessor.kind == ast::AccessorKind::Ref {
                self.element_accessor(id, accessor, is_element);
                continue;
            }
            let word = match accessor.kind {
                ast::AccessorKind::Get => "get",
                ast::AccessorKind::Set => "set",
                ast::AccessorKind::Ref => "ref",
            };
            let name = ast::Ident { name: Symbol::new(&format!("{base}.{word}")), span: accessor.span };
            let prefix = Prefix { attributes: accessor.attributes.clone().into(), modifiers: Rc::new([]) };
            let source = FuncSource::Accessor(id, number);
            let func = self.push_func(name, source, prefix, is_static, place);
            self.program.funcs[func].has_body = accessor.body.is_some();
            let slot = match accessor.kind {
                ast::AccessorKind::Set => &mut self.tables.props[id].set,
                _ => &mut self.tables.props[id].get,
            };
            *slot = Some(func);
            if let Owner::Interface(interface) = place.owner {
                self.program.interfaces[interface].requirements.push(func);
            }
        }
        id
    }

    fn element_accessor(&mut self, id: PropId, accessor: &ast::Accessor, is_element: bool) {
        if !is_element {
            self.unsupported(accessor.span, "a `ref` accessor");
            return;
        }
        let access = match accessor.kind {
            ast::AccessorKind::Get => ElementAccess::Get,
            ast::AccessorKind::Set | ast::AccessorKind::Ref => ElementAccess::Ref,
        };
        let slot = &mut self.tables.props[id].element;
        if *slot != Some(ElementAccess::Ref) {
            *slot = Some(access);
        }
    }

    fn collect_namespace(&mut self, path: &[ast::Ident], decls: Vec<ast::Decl>, place: Place) {
        let Some((first, rest)) = path.split_first() else {
            return self.collect_decls(decls, place);
        };
        let existing = self.tables.scopes[place.scope].names.get(&first.name);
        let existing = existing.and_then(|items| {
            items.iter().find_map(|i| match i {
                Item::Namespace(scope) => Some(*scope),
                _ => None,
            })
        });
        let scope = existing.unwrap_or_else(|| {
            let scope = self.member_scope(place.scope, Owner::Module, place.generics, first.name.as_str());
            self.declare(place.scope, *first, Item::Namespace(scope));
            scope
        });
        self.collect_namespace(rest, decls, Place { scope, ..place });
    }

    /// A `cbuffer` is a global of a structure of its members; their names are visible around it.
    fn collect_cbuffer(&mut self, name: ast::Ident, decls: Vec<ast::Decl>, place: Place) {
        let names: Vec<_> = decls
            .iter()
            .filter_map(|d| match &d.kind {
                DeclKind::Var(var) => Some(var.name),
                _ => None,
            })
            .collect();
        let decl = ast::StructDecl {
            name: ast::Ident { name: Symbol::new(&format!("cbuffer {}", name.name)), ..name },
            generics: Default::default(),
            bases: vec![],
            members: decls,
        };
        let id = self.collect_struct(decl, &Prefix::none(), place);
        let var = ast::VarDecl { name, ty: None, init: None, semantic: None, is_let: false };
        let global = self.push_global(var.into(), GlobalKind::Param, Some(id), place);
        for (number, name) in names.into_iter().enumerate() {
            self.declare(place.scope, name, Item::BufferField(global, number as u32));
        }
    }

    fn note_lang(&mut self, attributes: &[ast::Attribute], item: Item) {
        let Some(name) = attrs::string(attributes, attrs::LANG) else {
            return;
        };
        self.tables.lang.insert(name, item);
        let lang = &mut self.program.lang;
        match (name.as_str(), item) {
            ("IDifferentiable", Item::Interface(id)) => lang.differentiable = Some(id),
            ("Differential", Item::Assoc(id)) => lang.differential = Some(id),
            ("dzero", Item::Func(id)) => lang.dzero = Some(id),
            ("dadd", Item::Func(id)) => lang.dadd = Some(id),
            ("DifferentialPair", Item::Struct(id)) => lang.pair = Some(id),
            _ => {}
        }
    }

    /// Where an item is declared.
    pub(crate) fn item_span(&self, item: Item) -> Option<Span> {
        let program = &self.program;
        match item {
            Item::Func(id) => Some(program.funcs[id].span),
            Item::Struct(id) => Some(program.structs[id].span),
            Item::Interface(id) => Some(program.interfaces[id].span),
            Item::Enum(id) => Some(program.enums[id].span),
            Item::Case(id, n) => self.tables.enums[id].decl.cases.get(n as usize).map(|c| c.0.span),
            Item::Alias(id) => Some(self.tables.aliases[id].decl.name.span),
            Item::Assoc(id) => Some(program.assocs[id].span),
            Item::Global(id) | Item::BufferField(id, _) => Some(program.globals[id].span),
            Item::Property(id) => Some(self.tables.props[id].span),
            Item::Param(id) => Some(program.params[id].span),
            Item::Field(_) | Item::Namespace(_) | Item::Const(_) => None,
        }
    }

    /// The type of something wrong.
    pub(crate) fn error_ty(&mut self) -> Ty {
        self.program.types.ty(TyKind::Error)
    }
}

/// The built-in type that `[__magic("..")]` describes; other words are for lowering.
fn builtin_type(magic: Symbol) -> Option<Builtin> {
    let word = magic.as_str();
    if let Some(scalar) = Scalar::from_name(word) {
        return Some(Builtin::Scalar(scalar));
    }
    match word {
        "vector" => Some(Builtin::Vector),
        "matrix" => Some(Builtin::Matrix),
        "array" => Some(Builtin::Array),
        "tuple" => Some(Builtin::Tuple),
        "string" => Some(Builtin::String),
        "void" => Some(Builtin::Void),
        _ => None,
    }
}
