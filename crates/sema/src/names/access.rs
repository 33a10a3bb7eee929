//! Visibility: `public`, `internal` and `private`.
//!
//! Every scope belongs to a module and records which of its items are not public. A lookup result has its [`Access`], and
//! each lookup drops the items that are not visible from there.
//!
//! Unmarked items are public in a module that does not use visibility: no `module` line, no `__include`, no visibility
//! keyword, no `#language` of 2025 or later. In other modules they are internal, except that members of interfaces and
//! enumerations, and from 2026 those of structures, have the visibility of their type.

use crate::bodies::body::BodyCx;
use crate::codes;
use crate::facts::{Facts, Rules};
use crate::hir::{Ty, TyKind};
use crate::names::lookup::Found;
use crate::names::scopes::Scopes;
use crate::tables::{Item, Owner, ScopeId};
use crate::{Checked, Input};
use cotangent_base::{Diagnostic, Span, Symbol, entity};
use cotangent_syntax::ast::{self, DeclKind, ModifierKind, Version};

entity!(
    /// A module; the library is the first.
    ModuleId,
    "module"
);

/// From where a declaration can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// From everywhere.
    Public,
    /// From its module.
    Internal(ModuleId),
    /// From the type with this scope, its extensions and what is nested in them.
    Private(ScopeId),
}

impl Access {
    fn rank(self) -> u8 {
        match self {
            Access::Public => 2,
            Access::Internal(_) => 1,
            Access::Private(_) => 0,
        }
    }

    /// Whether it is visible to less code than the other.
    pub(crate) fn is_less_than(self, other: Access) -> bool {
        self.rank() < other.rank()
    }

    fn word(self) -> &'static str {
        match self {
            Access::Public => "public",
            Access::Internal(_) => "internal",
            Access::Private(_) => "private",
        }
    }
}

/// What is unmarked in some place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    /// What an unmarked declaration is here.
    pub access: Access,
    /// What the type around it is: no member can be more.
    pub around: Access,
    /// Whether members of structures are what their structure is.
    pub inherit: bool,
}

impl Defaults {
    /// Everything is public.
    pub(crate) const PUBLIC: Defaults =
        Defaults { access: Access::Public, around: Access::Public, inherit: false };

    /// What holds at the outer level of a module made of these files.
    pub(crate) fn of_module(module: ModuleId, files: &[&Input]) -> Self {
        let speaks =
            files.iter().any(|f| f.tree.version >= Version::V2025 || speaks_of_access(&f.tree.decls));
        let access = if speaks { Access::Internal(module) } else { Access::Public };
        let inherit = files.iter().any(|f| f.tree.version >= Version::V2026);
        Defaults { access, around: Access::Public, inherit }
    }

    /// What holds inside a type.
    pub(crate) fn inside(self, of: Access, always: bool) -> Self {
        let access = if always || self.inherit { of } else { self.access };
        Defaults { access, around: of, ..self }
    }
}

/// Whether the declarations of a file mention modules or visibility.
fn speaks_of_access(decls: &[ast::Decl]) -> bool {
    let word = |m: &ast::Modifier| {
        matches!(m.kind, ModifierKind::Public | ModifierKind::Internal | ModifierKind::Private)
    };
    decls.iter().any(|decl| {
        decl.modifiers.iter().any(word)
            || match &decl.kind {
                DeclKind::Module(_) | DeclKind::Include(_) | DeclKind::Implementing(_) => true,
                DeclKind::Struct(decl) => speaks_of_access(&decl.members),
                DeclKind::Interface(decl) => speaks_of_access(&decl.members),
                DeclKind::Extension(decl) => speaks_of_access(&decl.members),
                DeclKind::Namespace(_, decls) => speaks_of_access(decls),
                _ => false,
            }
    })
}

impl Rules<'_> {
    /// How far a declaration can be seen; reports words that are not allowed there.
    pub(crate) fn access_of(
        &mut self,
        modifiers: &[ast::Modifier],
        scope: ScopeId,
        owner: Owner,
        defaults: Defaults,
    ) -> Access {
        let module = self.tables.scopes[scope].module();
        if self.tables.scopes[scope].is_library() {
            return Access::Public;
        }
        let mut written = modifiers.iter().filter_map(|m| {
            let access = match m.kind {
                ModifierKind::Public => Access::Public,
                ModifierKind::Internal => Access::Internal(module),
                ModifierKind::Private => Access::Private(scope),
                _ => return None,
            };
            Some((access, m.span))
        });
        let Some((access, span)) = written.next() else {
            return defaults.access;
        };
        let in_type = matches!(owner, Owner::Struct(_) | Owner::Extension(_));
        if access.rank() == 0 && !in_type {
            self.diagnostics.push(
                Diagnostic::new(codes::BAD_ACCESS, span, "only members of structures can be `private`")
                    .help("use `internal` for declarations visible only in their module"),
            );
            return Access::Internal(module);
        }
        if access.rank() > defaults.around.rank() {
            let around = defaults.around.word();
            let message = format!("a member cannot be `{}` in a type that is `{around}`", access.word());
            self.diagnostics.push(
                Diagnostic::new(codes::BAD_ACCESS, span, message)
                    .help(format!("mark the type `{}` too", access.word())),
            );
            return defaults.around;
        }
        access
    }

    fn report_hidden(&mut self, hidden: Found, name: Symbol, span: Span) {
        let (message, help) = match hidden.access {
            Access::Private(_) => (
                format!("`{name}` is private to its type"),
                "use it in methods and extensions of the type".to_string(),
            ),
            Access::Internal(module) => {
                let module = self.tables.modules[module].name;
                let message = format!("`{name}` is internal to module `{module}`");
                (message, format!("mark it `public` in module `{module}`"))
            }
            Access::Public => return,
        };
        let mut diagnostic = Diagnostic::new(codes::NOT_ACCESSIBLE, span, message).help(help);
        if let Some(declared) = self.facts().item_span(hidden.item) {
            diagnostic = diagnostic.label(declared, "declared here");
        }
        self.diagnostics.push(diagnostic);
    }

    fn check_exposed(&mut self, name: Symbol, types: &[Ty], span: Span) {
        let Some(hidden) = types.iter().find_map(|ty| self.facts().less_visible(*ty)) else { return };
        let hidden = self.show(hidden);
        let message = format!("`{name}` is `public`, but the type `{hidden}` in its declaration is not");
        self.diagnostics.push(
            Diagnostic::new(codes::BAD_ACCESS, span, message)
                .help(format!("mark `{hidden}` `public` too, or make `{name}` `internal`")),
        );
    }
}

impl Checked {
    /// Whether something can be seen from a scope.
    pub(crate) fn can_see(&mut self, access: Access, from: ScopeId) -> bool {
        match access {
            Access::Public => true,
            Access::Internal(module) => self.tables.scopes[from].module() == module,
            Access::Private(inside) => self.is_inside(from, inside),
        }
    }

    /// Whether `from` lies in the type whose scope, or the scope of an extension of which, is `inside`.
    fn is_inside(&mut self, from: ScopeId, inside: ScopeId) -> bool {
        let wanted = self.type_scope(inside);
        let mut at = Some(from);
        while let Some(scope) = at {
            if scope == inside || (self.type_scope(scope).is_some() && self.type_scope(scope) == wanted) {
                return true;
            }
            at = self.tables.scopes[scope].parent();
        }
        false
    }

    /// The scope of the structure that a scope belongs to, be it the structure's own or that of an extension.
    fn type_scope(&mut self, scope: ScopeId) -> Option<ScopeId> {
        match self.tables.scopes[scope].owner() {
            Owner::Struct(id) => Some(self.tables.structs[id].scope),
            Owner::Extension(id) => {
                let target = self.ext_target(id)?;
                let (id, _) = self.names().struct_of(target)?;
                Some(self.tables.structs[id].scope)
            }
            Owner::Module | Owner::Interface(_) | Owner::Enum(_) => None,
        }
    }

    /// What can be seen of what was found under a name. If there was something and nothing of it can be seen, says so.
    pub(crate) fn seen(
        &mut self,
        found: Vec<Found>,
        name: Symbol,
        span: Span,
        from: ScopeId,
        report: bool,
    ) -> Option<Vec<Found>> {
        let hidden = found.first().copied();
        let seen: Vec<Found> = found.into_iter().filter(|f| self.can_see(f.access, from)).collect();
        if let (true, Some(hidden)) = (seen.is_empty(), hidden) {
            if report {
                self.rules().report_hidden(hidden, name, span);
            }
            return None;
        }
        Some(seen)
    }

    /// Says so if a plain name means something in an imported module that cannot be seen.
    pub(crate) fn report_hidden_name(&mut self, name: Symbol, span: Span, from: ScopeId) -> bool {
        let mut at = Some(from);
        while let Some(scope) = at {
            if let Some(hidden) = self.hidden_imports(scope, name).into_iter().next() {
                self.rules().report_hidden(hidden, name, span);
                return true;
            }
            at = self.tables.scopes[scope].parent();
        }
        false
    }

    /// Reports public functions, fields and aliases whose types cannot be seen as far as they can.
    pub(crate) fn check_exposed_types(&mut self) {
        for func in self.tables.funcs.user().to_vec() {
            let Some(scope) = self.tables.scopes[self.tables.funcs[func].scope].parent() else { continue };
            if self.tables.scopes.item_access(scope, Item::Func(func)) != Access::Public
                || !self.facts().is_guarded(scope)
            {
                continue;
            }
            let signature = &self.program.funcs[func];
            let span = signature.span;
            let mut types: Vec<Ty> =
                signature.params.iter().map(|p| p.ty).chain([signature.result]).collect();
            types.extend(self.disguised_interfaces(func));
            let name = self.program.funcs[func].name;
            self.rules().check_exposed(name, &types, span);
        }
        for id in self.tables.structs.keys() {
            let scope = self.tables.structs[id].scope;
            if !self.facts().is_guarded(scope) {
                continue;
            }
            let own = self.tables.structs[id].fields.len();
            let fields = self.program.structs[id].fields.clone();
            for (number, field) in fields.iter().rev().take(own).rev().enumerate() {
                if self.tables.scopes.item_access(scope, Item::Field(number as u32)) == Access::Public {
                    self.rules().check_exposed(field.name, &[field.ty], field.span);
                }
            }
        }
    }

    /// The interfaces of parameters of interface type, which are generic ones in disguise.
    fn disguised_interfaces(&mut self, func: crate::hir::FuncId) -> Vec<Ty> {
        let generics = self.program.funcs[func].generics.clone();
        let hidden = generics.params.iter().rev().take(self.tables.funcs[func].hidden);
        let is_hidden = |ty: Ty| hidden.clone().any(|p| self.program.types.kind(ty) == TyKind::Param(*p));
        let interface = |bound: &crate::hir::Bound| match bound {
            crate::hir::Bound::Conforms(ty, interface) if is_hidden(*ty) => Some(*interface),
            _ => None,
        };
        let interfaces: Vec<crate::hir::InterfaceRef> =
            generics.bounds.iter().filter_map(interface).collect();
        let ty = |i: crate::hir::InterfaceRef| self.program.types.ty(TyKind::Interface(i.interface, i.args));
        interfaces.into_iter().map(ty).collect()
    }
}

impl Scopes {
    /// The access of an item in the scope that declares it.
    pub(crate) fn item_access(&self, scope: ScopeId, item: Item) -> Access {
        self[scope].access(item)
    }
}

impl Facts<'_> {
    /// Whether a scope stands in a module where not everything is public.
    fn is_guarded(self, scope: ScopeId) -> bool {
        self.tables.modules[self.tables.scopes[scope].module()].guarded
    }

    /// A type that is not public, in a type.
    fn less_visible(self, ty: Ty) -> Option<Ty> {
        let types = &self.program.types;
        let (scope, item, args) = match types.kind(ty) {
            TyKind::Struct(id, args) => (self.tables.structs[id].scope, Item::Struct(id), Some(args)),
            TyKind::Interface(id, args) => {
                (self.tables.interfaces[id].scope, Item::Interface(id), Some(args))
            }
            TyKind::Enum(id) => (self.tables.enums[id].scope, Item::Enum(id), None),
            TyKind::Array(element, _) | TyKind::UnsizedArray(element) => return self.less_visible(element),
            _ => return None,
        };
        let around = self.tables.scopes[scope].parent()?;
        if self.tables.scopes.item_access(around, item) != Access::Public {
            return Some(ty);
        }
        types.list(args?).iter().find_map(|arg| self.less_visible(arg.ty()?))
    }
}

impl BodyCx<'_> {
    /// What can be seen from here of what was found under a name; nothing if that was reported.
    pub(crate) fn seen(&mut self, found: Vec<Found>, name: Symbol, span: Span) -> Option<Vec<Found>> {
        let scope = self.scope;
        self.cx.seen(found, name, span, scope, true)
    }
}
