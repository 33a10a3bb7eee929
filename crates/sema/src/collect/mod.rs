//! Collects declarations into tables: every declaration gets a number, a scope and an entry in a name table.
//!
//! Nothing is looked up here, so nothing depends on order. The syntax is moved into the tables; signatures and bodies are
//! resolved from there on demand.

mod bits;
mod link;
mod properties;
mod types;
mod values;

pub(crate) use link::Links;

use crate::codes;
use crate::declarations::attribute_rules;
use crate::declarations::attrs;
use crate::facts::{Facts, Rules};
use crate::hir::{GenericParam, GenericParamId, InterfaceId, Program, Ty, TyKind, Types};
use crate::names::access::{Access, Defaults};
use crate::names::scopes::Scopes;
use crate::tables::{GenericsId, GenericsInfo, Item, Module, Owner, Prefix, Progress, ScopeId, Tables};
use crate::{Checked, Input};
use cotangent_base::{Diagnostic, Diagnostics, Span, Symbol};
use cotangent_syntax::ast::{self, DeclKind};
use std::sync::Arc;

/// Where declarations are being collected.
#[derive(Clone, Copy)]
struct Place {
    scope: ScopeId,
    owner: Owner,
    generics: GenericsId,
    /// What is unmarked here.
    defaults: Defaults,
}

/// Collects declarations: adds to the program and the tables, and resolves nothing.
pub(crate) struct Collector<'a> {
    /// The typed program, which gets a placeholder for each declaration.
    pub program: &'a mut Program,
    /// Scopes, and the syntax of declarations.
    pub tables: &'a mut Tables,
    /// Where reports go.
    pub diagnostics: &'a mut Diagnostics,
    /// The visibility of the declaration that is being collected.
    access: Access,
}

impl Checked {
    /// Collects what is declared in bodies or on the command line.
    pub(crate) fn collector(&mut self) -> Collector<'_> {
        let Checked { program, tables, diagnostics } = self;
        Collector { program, tables, diagnostics, access: Access::Public }
    }
}

impl Collector<'_> {
    /// What is collected so far.
    fn facts(&self) -> Facts<'_> {
        Facts { program: self.program, tables: self.tables }
    }

    /// The rules for declarations as written.
    fn rules(&mut self) -> Rules<'_> {
        Rules { program: self.program, tables: self.tables, diagnostics: self.diagnostics }
    }

    /// Collects the files of the library into one scope.
    pub(crate) fn collect_library(&mut self, inputs: Vec<Input>) {
        let root = self.root_generics();
        self.tables.modules.push(Module {
            name: "std".into(),
            guarded: false,
            number: usize::MAX,
            version: ast::Version::default(),
            known: true,
            adds: false,
        });
        let core = self.new_scope(None, Owner::Module, root, "", true);
        self.tables.generics.set_scope(root, core);
        self.tables.lang.set_scope(core);
        for input in inputs {
            let place =
                Place { scope: core, owner: Owner::Module, generics: root, defaults: Defaults::PUBLIC };
            self.collect_decls(Arc::unwrap_or_clone(input.tree).decls, place);
        }
    }

    /// Collects the user's modules, each into a scope of its own, however many files it has. Around it lies that of the library.
    pub(crate) fn collect_modules(&mut self, inputs: Vec<Input>) {
        let Some(core) = self.tables.lang.scope() else { return };
        let root = self.tables.scopes[core].generics();
        let mut modules: Vec<usize> = inputs.iter().map(|i| i.module).collect();
        modules.sort_unstable();
        modules.dedup();
        let mut scopes = vec![];
        for &number in &modules {
            let files: Vec<&Input> = inputs.iter().filter(|i| i.module == number).collect();
            let id = self.tables.modules.next_key();
            let defaults = Defaults::of_module(id, &files);
            let name = files.iter().flat_map(|f| &f.tree.decls).find_map(|decl| match decl.kind {
                DeclKind::Module(name) => Some(name.name),
                _ => None,
            });
            let name = name.unwrap_or_else(|| files[0].name);
            self.tables.modules.push(Module {
                name,
                guarded: defaults.access != Access::Public,
                number,
                version: files.iter().map(|file| file.tree.version).max().unwrap_or_default(),
                known: files.iter().all(|file| file.known),
                adds: false,
            });
            let scope = self.new_scope(Some(core), Owner::Module, root, "", false);
            self.tables.scopes[scope].set_module(id);
            scopes.push((scope, defaults));
        }
        let place_of = |number: usize| scopes[modules.binary_search(&number).unwrap_or_default()];
        for &number in &modules {
            let imported = reachable(number, &inputs);
            let imports = imported.into_iter().map(|module| place_of(module).0);
            self.tables.scopes[place_of(number).0].import(imports);
        }
        for input in inputs {
            let (scope, defaults) = place_of(input.module);
            let place = Place { scope, owner: Owner::Module, generics: root, defaults };
            self.collect_decls(Arc::unwrap_or_clone(input.tree).decls, place);
        }
        for (scope, _) in scopes {
            self.join_namespaces(scope);
        }
    }

    /// Makes namespaces that imported modules have part of those of the same name here.
    fn join_namespaces(&mut self, scope: ScopeId) {
        let mut joined = vec![];
        for import in self.tables.scopes[scope].imports().to_vec() {
            let names = self.tables.scopes[import].entries();
            let spaces = names.filter_map(|(name, items)| Some((name, namespace_among(items)?)));
            let mut spaces: Vec<(Symbol, ScopeId)> = spaces.collect();
            spaces.sort_by_key(|(_, space)| *space);
            for (name, space) in spaces {
                let generics = self.tables.scopes[scope].generics();
                let items = self.tables.scopes[scope].items(name);
                let own = match namespace_among(items) {
                    Some(own) => own,
                    // Something else has the name here.
                    None if !items.is_empty() => continue,
                    None => {
                        let own = self.member_scope(scope, Owner::Module, generics, name.as_str());
                        self.tables.scopes[scope].set(name, Item::Namespace(own));
                        own
                    }
                };
                self.tables.scopes[own].import([space]);
                joined.push(own);
            }
        }
        joined.dedup();
        joined.into_iter().for_each(|own| self.join_namespaces(own));
    }

    fn root_generics(&mut self) -> GenericsId {
        let scope = self.tables.scopes.next_key();
        self.tables.generics.push(GenericsInfo {
            parent: None,
            own: vec![],
            params: Arc::new([]),
            syntax: Arc::default(),
            scope,
            resolved: Progress::Done,
            own_bounds: vec![],
            bounds: Some(Arc::new([])),
            interface: None,
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
        self.tables.scopes.add(parent, owner, generics, path, library)
    }

    /// A scope inside `parent` for the members of a declaration called `name`.
    fn member_scope(&mut self, parent: ScopeId, owner: Owner, generics: GenericsId, name: &str) -> ScopeId {
        let outer = &self.tables.scopes[parent];
        let (path, library) = (format!("{}{name}.", outer.path()), outer.is_library());
        self.new_scope(Some(parent), owner, generics, &path, library)
    }

    /// Declares the declarations of a block: local types and aliases.
    pub(crate) fn collect_local(&mut self, decl: ast::Decl, scope: ScopeId) {
        let generics = self.tables.scopes[scope].generics();
        let place = Place { scope, owner: Owner::Module, generics, defaults: Defaults::PUBLIC };
        self.collect_decls(vec![decl], place);
    }

    fn collect_decls(&mut self, mut decls: Vec<ast::Decl>, place: Place) {
        // Bit fields are made into properties before types are resolved, and may name an alias that is declared later.
        if decls.iter().any(bits::has_bit_fields) {
            decls.sort_by_key(|decl| !matches!(decl.kind, DeclKind::Alias(_)));
        }
        for decl in decls {
            self.collect_decl(decl, place);
        }
    }

    fn collect_decl(&mut self, decl: ast::Decl, place: Place) {
        let prefix = Prefix { attributes: decl.attributes.into(), modifiers: decl.modifiers.into() };
        let access = self.rules().access_of(&prefix.modifiers, place.scope, place.owner, place.defaults);
        self.access = access;
        if !self.tables.scopes[place.scope].is_library() {
            self.rules().check_placement(&prefix.attributes, spot(&decl.kind));
            self.rules().check_written(&decl.kind, &prefix.modifiers, place.scope, place.owner);
            self.rules().check_idle_words(&decl.kind, &prefix.modifiers, place.owner);
            if let Some(name) = declared_name(&decl.kind) {
                let on = self.tables.scopes.qualified(place.scope, name.as_str());
                self.note_user_attributes(&decl.kind, &prefix.attributes, on, place.scope);
            }
        }
        let linkage = link::Linkage::of(&decl.kind, &prefix.modifiers);
        let noted = attrs::has(&prefix.attributes, "RemovedSince")
            || attrs::has(&prefix.attributes, "deprecated") && !matches!(decl.kind, DeclKind::Func(_));
        let removed = noted.then(|| Some((declared_name(&decl.kind)?, prefix.attributes.clone()))).flatten();
        match decl.kind {
            DeclKind::Func(func) => self.collect_func(func, prefix, place),
            DeclKind::Var(var) => self.collect_var(var, prefix, place),
            DeclKind::Struct(decl) => {
                self.collect_struct(*decl, &prefix, place);
            }
            DeclKind::Interface(decl) => self.collect_interface(*decl, &prefix, place),
            DeclKind::Extension(ext) => self.collect_extension(*ext, place),
            DeclKind::Enum(decl) => self.collect_enum(decl.into(), prefix, place),
            DeclKind::Alias(decl) if decl.ty.is_none() && !matches!(place.owner, Owner::Module) => {
                self.rules().open_inside(decl.name);
            }
            DeclKind::Alias(decl) => self.collect_alias(decl.into(), place),
            DeclKind::Constraint(condition) => self.collect_constraint(*condition, decl.span, place),
            DeclKind::Assoc(decl) => self.collect_assoc(decl.into(), &prefix, place),
            DeclKind::Property(decl) => self.collect_property(*decl, &prefix, place),
            DeclKind::Subscript(sub) => self.collect_subscript(*sub, &prefix, decl.span, place),
            DeclKind::Namespace(path, decls) => {
                // What counts is how far the things inside can be seen.
                self.access = Access::Public;
                self.collect_namespace(&path, decls, place);
            }
            DeclKind::Using(path) => {
                let span = path.span;
                self.tables.scopes[place.scope].add_using(path.into(), span);
            }
            DeclKind::CBuffer(name, decls) => self.collect_cbuffer(name, decls, &prefix, place),
            // Who loads the files follows these.
            DeclKind::Import(_)
            | DeclKind::Module(_)
            | DeclKind::Include(_)
            | DeclKind::Implementing(_)
            | DeclKind::Error => {}
        }
        if let Some((name, attributes)) = removed
            && let Some(&item) = self.tables.scopes[place.scope].items(name).last()
        {
            self.note_removed(&attributes, name, item);
        }
        if let (Some(linkage), Owner::Module) = (linkage, place.owner) {
            self.note_link(linkage, place.scope);
        }
    }

    /// Enters a name. Functions share names; anything else may be declared once.
    fn declare(&mut self, scope: ScopeId, name: ast::Ident, item: Item) {
        let access = self.access;
        if access != Access::Public {
            self.tables.scopes[scope].restrict(item, access);
        }
        let library = self.tables.scopes[scope].is_library();
        let entry = self.tables.scopes[scope].items(name.name);
        let overloads = matches!(item, Item::Func(_)) && entry.iter().all(|i| matches!(i, Item::Func(_)));
        let subscript = matches!(item, Item::Property(_)) && name.name == attrs::SUBSCRIPT;
        // Interfaces of functions of the library differ in how many parameters there are.
        let is_interface = |i: &Item| matches!(i, Item::Interface(_));
        let family = library && is_interface(&item) && entry.iter().all(is_interface);
        let previous = entry.first().copied();
        self.tables.scopes[scope].enter(name.name, item);
        let Some(previous) = previous.filter(|_| !(overloads || subscript || family)) else { return };
        let mut diagnostic = Diagnostic::new(
            codes::REDECLARED,
            name.span,
            format!("`{}` is declared twice in this scope", name.name),
        );
        let first = match (previous, self.tables.scopes[scope].owner()) {
            (Item::Field(n), Owner::Struct(id)) => {
                self.tables.structs[id].fields.get(n as usize).map(|(field, _)| field.name.span)
            }
            _ => self.facts().item_span(previous),
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
        for param in &syntax.params {
            use ast::GenericParamKind::{Pack, Value, ValuePack, Witness};
            let pack = matches!(param.kind, Pack(_) | ValuePack(_));
            let witness = matches!(param.kind, Witness(..));
            if !witness {
                self.rules().check_pack_is_last(&own, param, pack);
            }
            let id = self.program.params.push(GenericParam {
                name: param.name.name,
                value: None,
                pack,
                witness,
                span: param.name.span,
            });
            if let Value(_) | ValuePack(_) | Witness(..) = param.kind {
                // Known to be a value at once; which type is resolved with the bounds.
                let error = self.program.types.error();
                self.program.params[id].value = Some(error);
            }
            if !witness {
                self.declare(scope, param.name, Item::Param(id));
            }
            own.push(id);
        }
        self.push_generics(parent, own, Arc::new(syntax.clone()), scope, None)
    }

    fn push_generics(
        &mut self,
        parent: GenericsId,
        own: Vec<GenericParamId>,
        syntax: Arc<ast::Generics>,
        scope: ScopeId,
        interface: Option<InterfaceId>,
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
        })
    }

    fn collect_namespace(&mut self, path: &[ast::Ident], decls: Vec<ast::Decl>, place: Place) {
        let Some((first, rest)) = path.split_first() else {
            return self.collect_decls(decls, place);
        };
        let existing = namespace_among(self.tables.scopes[place.scope].items(first.name));
        let scope = existing.unwrap_or_else(|| {
            let scope = self.member_scope(place.scope, Owner::Module, place.generics, first.name.as_str());
            self.declare(place.scope, *first, Item::Namespace(scope));
            scope
        });
        self.collect_namespace(rest, decls, Place { scope, ..place });
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
            ("NullDifferential", Item::Struct(id)) => lang.null_differential = Some(id),
            _ => {}
        }
    }
}

impl Scopes {
    /// `name` with the names around it.
    fn qualified(&self, scope: ScopeId, name: &str) -> Symbol {
        let path = &self[scope].path();
        if path.is_empty() { Symbol::new(name) } else { Symbol::new(&format!("{path}{name}")) }
    }
}

impl Rules<'_> {
    /// A pack takes all arguments that are left, so that none are left for what follows it.
    fn check_pack_is_last(&mut self, before: &[GenericParamId], param: &ast::GenericParam, pack: bool) {
        if pack || !before.iter().any(|p| self.program.params[*p].pack) {
            return;
        }
        let message = format!("`{}` follows a pack", param.name.name);
        self.diagnostics.push(
            Diagnostic::new(codes::MISPLACED, param.name.span, message)
                .help("a pack takes all remaining arguments; put it last"),
        );
    }
}

impl Facts<'_> {
    /// Where an item is declared.
    pub(crate) fn item_span(self, item: Item) -> Option<Span> {
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
            Item::Field(_) | Item::Namespace(_) | Item::Const(..) => None,
        }
    }
}

impl Types {
    /// The type of something wrong.
    pub(crate) fn error(&mut self) -> Ty {
        self.ty(TyKind::Error)
    }
}

/// The name that a declaration declares. Fields have names only together with their structure.
fn declared_name(kind: &DeclKind) -> Option<Symbol> {
    match kind {
        DeclKind::Func(decl) => Some(decl.name.name),
        DeclKind::Var(decl) => Some(decl.name.name),
        DeclKind::Struct(decl) => Some(decl.name.name),
        DeclKind::Interface(decl) => Some(decl.name.name),
        DeclKind::Enum(decl) => decl.name.map(|name| name.name),
        DeclKind::Alias(decl) => Some(decl.name.name),
        _ => None,
    }
}

/// The modules whose names a module sees: those it imports, and those that they export.
fn reachable(module: usize, inputs: &[Input]) -> Vec<usize> {
    let imports = |of: usize| inputs.iter().filter(move |i| i.module == of).flat_map(|i| &i.imports);
    let mut reached: Vec<usize> = vec![];
    let mut waiting: Vec<usize> = imports(module).map(|i| i.module).collect();
    while let Some(next) = waiting.pop() {
        if next != module && !reached.contains(&next) {
            reached.push(next);
            waiting.extend(imports(next).filter(|i| i.exported).map(|i| i.module));
        }
    }
    reached.sort_unstable();
    reached
}

/// The namespace among what a name stands for.
fn namespace_among(items: &[Item]) -> Option<ScopeId> {
    items.iter().find_map(|item| match item {
        Item::Namespace(scope) => Some(*scope),
        _ => None,
    })
}

/// What kind of place for attributes a declaration is.
fn spot(kind: &DeclKind) -> attribute_rules::Places {
    match kind {
        DeclKind::Func(_) => attribute_rules::FUNCTION,
        DeclKind::Var(_) => attribute_rules::VARIABLE,
        DeclKind::Enum(_) => attribute_rules::ENUM,
        DeclKind::Interface(_) => attribute_rules::INTERFACE,
        // What is said of both accessors may stand before the property.
        DeclKind::Property(_) | DeclKind::Subscript(_) => attribute_rules::FUNCTION | attribute_rules::OTHER,
        _ => attribute_rules::OTHER,
    }
}
