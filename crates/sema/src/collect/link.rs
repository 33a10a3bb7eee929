//! Links modules: resolves `extern` declarations and other open declarations to definitions in other modules or on the
//! command line.
//!
//! | left open                                   | said by another module                    | on the command line       |
//! | ------------------------------------------- | ----------------------------------------- | ------------------------- |
//! | `extern struct X : IFoo;`, `.. = Default;`  | `export struct X : IFoo = Real;`          | `--specialize-global X=R` |
//! | `extern static const int N;`, `.. = 4;`     | `export static const int N = 8;`          | `--specialize-global N=8` |
//! | `extern float f(float x);`, `.. { .. }`     | `export float f(float x) { .. }`          |                           |
//! | `type_param T : IFoo;`                      |                                           | `--specialize-global T=R` |
//! | `IFoo p;`, `ParameterBlock<IFoo> p;`        |                                           | `--set-type p=R`          |
//! | `void main<T : IFoo>()`, `main(IFoo p)`     |                                           | `--specialize main=R`     |
//!
//! In the scope of an `extern` declaration, its name is bound to the exported item, so that no later stage sees a difference.
//! Types and constants are linked before any lookup, functions when parameter types can be compared. Compatibility is checked
//! when all declarations are known.

mod command_line;

use crate::collect::Collector;
use crate::facts::{Facts, Rules};
use crate::hir::{Bound, GenericParam, GenericParamId, GlobalId, InterfaceRef, Ty, TyKind, Val, ValKind};
use crate::names::scopes::Scopes;
use crate::tables::{Item, ScopeId};
use crate::{Checked, Given, codes};
use cotangent_base::{Diagnostic, Map, Span, Symbol};
use cotangent_syntax::ast::{self, DeclKind, ModifierKind};

/// Declarations that other modules complete or are completed by.
#[derive(Clone, Default, Debug)]
pub(crate) struct Links {
    externs: Vec<Linked>,
    exports: Vec<Linked>,
    /// What the command line says.
    given: Given,
    /// Where names on the command line are looked up.
    scope: Option<ScopeId>,
    /// What was linked to what.
    made: Vec<(Linked, Linked)>,
    /// Whether something stays open, as it may in a part of a program.
    open: bool,
    /// What is known of the types that do.
    open_types: Map<GenericParamId, Vec<InterfaceRef>>,
    /// What stands for the constants that do.
    open_values: Map<GlobalId, Val>,
}

impl Links {
    /// Names of the library whose files were not read.
    pub(crate) fn unread(&self) -> &[Symbol] {
        &self.given.unread
    }
    /// Whether matrices that say nothing themselves lie column by column.
    pub(crate) fn columns(&self) -> bool {
        self.given.columns
    }
}

/// A declaration marked `extern` or `export`.
#[derive(Clone, Debug)]
struct Linked {
    name: ast::Ident,
    scope: ScopeId,
    item: Item,
    bases: Vec<ast::Expr>,
    /// Whether it says itself what it stands for.
    complete: bool,
}

/// What the modifiers of a declaration say about other modules.
pub(super) struct Linkage {
    name: ast::Ident,
    export: bool,
    bases: Vec<ast::Expr>,
    complete: bool,
}

impl Linkage {
    pub fn of(kind: &DeclKind, modifiers: &[ast::Modifier]) -> Option<Self> {
        let has = |kind| modifiers.iter().any(|m| m.kind == kind);
        let export = has(ModifierKind::Export);
        if !export && !has(ModifierKind::Extern) {
            return None;
        }
        let (name, bases, complete) = match kind {
            DeclKind::Alias(decl) => (decl.name, decl.bases.clone(), decl.ty.is_some()),
            DeclKind::Struct(decl) => (decl.name, vec![], true),
            DeclKind::Func(decl) => (decl.name, vec![], decl.body.is_some()),
            DeclKind::Var(decl) if has(ModifierKind::Static) && has(ModifierKind::Const) => {
                (decl.name, vec![], decl.init.is_some())
            }
            _ => return None,
        };
        Some(Linkage { name, export, bases, complete })
    }
}

impl Links {
    /// Whether a constant is declared `extern`.
    pub fn is_extern(&self, id: GlobalId) -> bool {
        self.externs.iter().any(|e| matches!(e.item, Item::Global(global) if global == id))
    }
}

impl Collector<'_> {
    /// Remembers the declaration that was collected last under that name.
    pub(super) fn note_link(&mut self, linkage: Linkage, scope: ScopeId) {
        let Linkage { name, export, bases, complete } = linkage;
        let Some(&item) = self.tables.scopes[scope].items(name.name).last() else { return };
        let linked = Linked { name, scope, item, bases, complete };
        let links = &mut self.tables.links;
        if export { links.exports.push(linked) } else { links.externs.push(linked) }
    }

    /// Links types and constants.
    pub(crate) fn link_modules(&mut self, given: Given) {
        self.tables.links.given = given;
        self.command_line_scope();
        let said = self.give_globals();
        let exports = self.tables.links.exports.clone();
        for (i, export) in exports.iter().enumerate().filter(|(_, e)| !is_func(e)) {
            let path = self.tables.scopes.path_of(export);
            if let Some(first) = exports[..i].iter().find(|e| self.tables.scopes.path_of(e) == path) {
                self.rules().exported_twice(first, export);
            }
        }
        for wanted in self.tables.links.externs.clone().into_iter().filter(|e| !is_func(e)) {
            let path = self.tables.scopes.path_of(&wanted);
            let fits = |e: &&Linked| {
                is_type(e.item) == is_type(wanted.item) && self.tables.scopes.path_of(e) == path
            };
            match said.iter().chain(&exports).find(fits).cloned() {
                Some(found) => self.link(wanted, found),
                None if !wanted.complete => self.not_linked(&wanted),
                None => self.tables.links.made.push((wanted.clone(), wanted)),
            }
        }
    }

    fn not_linked(&mut self, wanted: &Linked) {
        if self.tables.links.stays_open() {
            return;
        }
        let name = wanted.name.name;
        let message = format!("`{name}` has no definition");
        let path = self.tables.scopes.path_of(wanted);
        let (export, value) = match wanted.item {
            Item::Global(id) => {
                let ty = self.tables.globals[id].decl.ty.as_ref().and_then(written_name).unwrap_or("..");
                (format!("static const {ty} {name} = ..;"), "VALUE".to_string())
            }
            _ => {
                let bases: Vec<&str> = wanted.bases.iter().filter_map(written_name).collect();
                let (written, fits) = match bases[..] {
                    [] => (String::new(), String::new()),
                    _ => (
                        format!(" : {}", bases.join(", ")),
                        format!("` with a type that conforms to `{}", bases.join("`, `")),
                    ),
                };
                (format!("struct {name}{written} = ..;"), format!("TYPE{fits}"))
            }
        };
        self.diagnostics.push(
            Diagnostic::new(codes::NOT_LINKED, wanted.name.span, message)
                .here("declared without a default")
                .help(format!(
                    "add a module with `export {export}` after the program, or use \
                     `--specialize-global {path}={value}`"
                )),
        );
    }
}

impl Checked {
    /// Links functions: what is exported under the name and takes the same types.
    pub(crate) fn link_functions(&mut self) {
        let exports = self.tables.links.exports.clone();
        for wanted in self.tables.links.externs.clone().into_iter().filter(is_func) {
            let path = self.tables.scopes.path_of(&wanted);
            let mut found: Vec<Linked> =
                exports.iter().filter(|e| self.tables.scopes.path_of(e) == path).cloned().collect();
            found.retain(|e| match (wanted.item, e.item) {
                (Item::Func(prototype), Item::Func(definition)) => {
                    self.is_prototype_of(prototype, definition)
                }
                _ => false,
            });
            if let [first, second, ..] = &found[..] {
                self.rules().exported_twice(first, second);
            }
            if let Some(found) = found.first() {
                self.collector().link(wanted, found.clone());
            }
        }
    }

    /// Whether what was linked fits, and whether the command line speaks of things that are there.
    pub(crate) fn check_links(&mut self) {
        for (wanted, found) in std::mem::take(&mut self.tables.links.made) {
            self.check_link(&wanted, &found);
        }
        self.rules().check_given_names();
    }

    fn check_link(&mut self, wanted: &Linked, found: &Linked) {
        match (wanted.item, found.item) {
            (Item::Global(a), Item::Global(b)) => {
                self.ensure_global(a);
                self.ensure_global(b);
                let [ours, theirs] = [a, b].map(|id| self.program.globals[id].ty);
                self.rules().must_equal(ours, theirs, wanted, found);
            }
            (Item::Func(a), Item::Func(b)) if a != b && self.program.funcs[a].generics.params.is_empty() => {
                self.check_no_diff(a, b);
                let [ours, theirs] = [a, b].map(|id| self.program.funcs[id].result);
                self.rules().must_equal(ours, theirs, wanted, found);
            }
            (_, Item::Alias(_) | Item::Struct(_) | Item::Enum(_)) => {
                let Some(ty) = self.linked_ty(found.item) else { return };
                for (linked, label) in [(wanted, Some(wanted.name.span)), (found, None)] {
                    for base in &linked.bases {
                        if let Some(interface) = self.resolve_interface(base, linked.scope) {
                            let label = label.filter(|l| *l != found.name.span);
                            self.must_conform(ty, interface, found.name.span, label);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn linked_ty(&mut self, item: Item) -> Option<Ty> {
        let none = self.program.types.args(&[]);
        match item {
            Item::Alias(id) if self.tables.aliases[id].decl.generics.params.is_empty() => {
                Some(self.alias_ty(id))
            }
            Item::Struct(id) if self.tables.structs[id].decl.generics.params.is_empty() => {
                Some(self.struct_ty(id, none))
            }
            Item::Enum(id) => Some(self.program.types.ty(TyKind::Enum(id))),
            _ => None,
        }
    }

    /// Reports a type that does not conform; says whether it does.
    fn must_conform(&mut self, ty: Ty, interface: InterfaceRef, span: Span, declared: Option<Span>) -> bool {
        if self.program.types.is_error(ty) || self.conforms(ty, interface) {
            return true;
        }
        let message = self.facts().describe_unmet(Bound::Conforms(ty, interface));
        let mut diagnostic = Diagnostic::new(codes::UNMET_BOUND, span, message);
        if let Some(declared) = declared {
            diagnostic = diagnostic.label(declared, "required here");
        }
        self.diagnostics.push(diagnostic.help("use a type that conforms, or add the conformance"));
        false
    }

    /// Whether something was left open. Nothing can be made of the program then.
    pub fn is_open(&self) -> bool {
        self.tables.links.open
    }

    /// What stands for a type that stays open: a parameter of which is known what the declaration says.
    pub(crate) fn open_type(&mut self, decl: &ast::AliasDecl, scope: ScopeId) -> Ty {
        // Of a generic type, or one that inherits from a structure, nothing is said.
        if !decl.generics.params.is_empty() {
            return self.program.types.error();
        }
        let mut bounds = vec![];
        for base in &decl.bases {
            let ty = self.resolve_ty(base, scope);
            match self.program.types.kind(ty) {
                TyKind::Interface(interface, args) => bounds.push(InterfaceRef { interface, args }),
                _ => return self.program.types.error(),
            }
        }
        let ast::Ident { name, span } = decl.name;
        let param = GenericParam { name, value: None, pack: false, witness: false, span };
        let param = self.program.params.push(param);
        self.tables.links.open_types.insert(param, bounds);
        self.program.types.ty(TyKind::Param(param))
    }

    /// What stands for a constant that stays open: a generic value.
    pub(crate) fn open_value(&mut self, id: GlobalId) -> Option<Val> {
        if !self.is_open() || !self.tables.links.is_extern(id) {
            return None;
        }
        if let Some(val) = self.tables.links.open_values.get(&id) {
            return Some(*val);
        }
        let crate::hir::Global { name, ty, span, .. } = self.program.globals[id];
        let param = GenericParam { name, value: Some(ty), pack: false, witness: false, span };
        let param = self.program.params.push(param);
        let val = self.program.types.val(ValKind::Param(param));
        self.tables.links.open_values.insert(id, val);
        Some(val)
    }
}

impl<'a> Facts<'a> {
    /// The interfaces of a type that stays open.
    pub(crate) fn open_bounds(self, ty: Ty) -> &'a [InterfaceRef] {
        match self.program.types.kind(ty) {
            TyKind::Param(param) => self.tables.links.open_types.get(&param).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }
}

impl Collector<'_> {
    /// Has a name stand for what is declared elsewhere.
    fn link(&mut self, wanted: Linked, found: Linked) {
        self.tables.scopes[wanted.scope].replace(wanted.name.name, wanted.item, found.item);
        self.tables.links.made.push((wanted, found));
    }
}

impl Rules<'_> {
    /// Reports a type in a function or another type that is left open: only declarations of modules are linked.
    pub(crate) fn open_inside(&mut self, name: ast::Ident) {
        let message = format!("`{}` can be left open outside functions and types only", name.name);
        self.diagnostics.push(Diagnostic::new(codes::MISPLACED, name.span, message).help("move it out"));
    }

    fn must_equal(&mut self, ours: Ty, theirs: Ty, wanted: &Linked, found: &Linked) {
        if ours == theirs || self.program.types.is_error(ours) || self.program.types.is_error(theirs) {
            return;
        }
        let [ours, theirs] = [ours, theirs].map(|ty| self.show(ty));
        let message = format!("`{}` is exported as `{theirs}`, but declared as `{ours}`", wanted.name.name);
        let diagnostic = Diagnostic::new(codes::BAD_LINK, found.name.span, message);
        self.diagnostics.push(diagnostic.label(wanted.name.span, "declared `extern` here"));
    }

    fn exported_twice(&mut self, first: &Linked, second: &Linked) {
        let message = format!("`{}` is exported twice", self.tables.scopes.path_of(second));
        self.diagnostics.push(
            Diagnostic::new(codes::EXPORTED_TWICE, second.name.span, message)
                .label(first.name.span, "exported here too")
                .help("use only one of the two modules"),
        );
    }
}

impl Scopes {
    fn path_of(&self, linked: &Linked) -> Symbol {
        self.qualified(linked.scope, linked.name.name.as_str())
    }
}

impl Links {
    /// Whether what is open may stay so, for whoever links the module with others. Remembers that it did.
    pub(crate) fn stays_open(&mut self) -> bool {
        let partial = self.given.partial;
        self.open |= partial;
        partial
    }
}

/// The name of a type without arguments.
fn written_name(base: &ast::Expr) -> Option<&'static str> {
    match base.kind {
        ast::ExprKind::Name(name) => Some(name.as_str()),
        _ => None,
    }
}

fn is_func(linked: &Linked) -> bool {
    matches!(linked.item, Item::Func(_))
}

fn is_type(item: Item) -> bool {
    matches!(item, Item::Alias(_) | Item::Struct(_) | Item::Enum(_) | Item::Interface(_))
}
