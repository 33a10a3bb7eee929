//! Looks up names.
//!
//! A plain name is looked up from the innermost scope outwards. The first scope that contains it decides, except that
//! functions do not hide functions: overload sets merge across scopes, and each candidate records its distance. In the scope
//! of a type, its members are visible: its own, those of matching extensions, those of its base, and those that its
//! interfaces provide.

use crate::Checked;
use crate::codes;
use crate::facts::Facts;
use crate::hir::{Arg, Args, InterfaceRef, Program, StructId, Ty, TyKind};
use crate::names::Names;
use crate::names::access::Access;
use crate::tables::{Builtin, ExtId, Head, Item, Owner, ScopeId};
use cotangent_base::{Diagnostic, Span, Symbol};

/// An item found under a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Added {
    /// By the declaration of the type, or in no type.
    ByItself,
    /// By an extension of the type.
    ToType,
    /// By an extension of all types that conform to something.
    ToAll,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// What it is.
    pub item: Item,
    /// Arguments for the generic parameters around it.
    pub args: Args,
    /// How far away it is declared: two for each scope outwards, and inwards to a namespace in use; one for another module.
    pub depth: u32,
    /// Whether an extension declares it.
    pub extension: Added,
    /// The type it is a member of.
    pub of: Option<Ty>,
    /// How many base structures down it is.
    pub base: u32,
    /// From where it can be seen.
    pub access: Access,
}

impl Found {
    /// Something that is known already, wherever it can be seen from.
    pub(crate) fn plain(item: Item, args: Args) -> Self {
        Found { item, args, depth: 0, extension: Added::ByItself, of: None, base: 0, access: Access::Public }
    }
}

/// With more diagnostics than this, unknown names get no suggestions.
const MAX_SUGGESTIONS: usize = 100;

impl Checked {
    /// Everything a plain name can mean in `scope`: one item, or functions.
    pub(crate) fn lookup(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let mut found: Vec<Found> = vec![];
        let mut at = Some(scope);
        let mut depth = 0;
        while let Some(scope) = at {
            let mut level = self.level(scope, name);
            level.iter_mut().for_each(|f| f.depth += depth);
            let is_func = |f: &Found| matches!(f.item, Item::Func(_));
            if found.is_empty() && level.first().is_some_and(|f| !is_func(f)) {
                level.truncate(1);
                return level;
            }
            for new in level.into_iter().filter(is_func) {
                if !found.iter().any(|f| f.item == new.item) {
                    found.push(new);
                }
            }
            depth += 2;
            at = self.tables.scopes[scope].parent();
        }
        found
    }

    /// The type or namespace a plain name means.
    pub(crate) fn lookup_type(&mut self, scope: ScopeId, name: Symbol) -> Option<Found> {
        let mut at = Some(scope);
        while let Some(scope) = at {
            let level = self.level(scope, name);
            if let Some(found) = level.into_iter().find(|f| self.program.is_type_item(f.item)) {
                return Some(found);
            }
            at = self.tables.scopes[scope].parent();
        }
        None
    }

    /// What a name means in one scope, not looking further out.
    pub(crate) fn level(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let owner = self.tables.scopes[scope].owner();
        let mut found = vec![];
        let direct = self.names().direct(scope, name);
        match owner {
            Owner::Module | Owner::Enum(_) => found.extend(direct),
            Owner::Struct(_) | Owner::Extension(_) | Owner::Interface(_) => {
                found.extend(direct.into_iter().filter(|f| matches!(f.item, Item::Param(_))));
                if found.is_empty()
                    && let Some(this) = self.owner_ty(owner)
                {
                    let members = self.members(this, name);
                    found = members.into_iter().filter(|f| self.can_see(f.access, scope)).collect();
                }
                if found.is_empty() {
                    // While a type's own header is resolved its members may not be reachable as members yet.
                    found = self.names().direct(scope, name);
                }
            }
        }
        // Functions of other modules join those of this one; anything else is hidden by what is nearer.
        if found.iter().all(|f| matches!(f.item, Item::Func(_))) {
            let only_funcs = !found.is_empty();
            let others = self.imported(scope, name);
            found.extend(others.into_iter().filter(|f| !only_funcs || matches!(f.item, Item::Func(_))));
        }
        found
    }

    fn imported(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        self.resolve_usings(scope);
        let mut found = self.names().import_candidates(scope, name);
        found.retain(|f| self.can_see(f.access, scope));
        found.sort_by_key(|f| f.depth);
        found
    }

    /// What imported modules declare under a name that cannot be seen from `scope`.
    pub(crate) fn hidden_imports(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let found = self.names().import_candidates(scope, name);
        found.into_iter().filter(|f| !self.can_see(f.access, scope)).collect()
    }

    /// What a name means in a namespace.
    pub(crate) fn lookup_in_namespace(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let mut found = self.names().direct(scope, name);
        let is_func = |f: &Found| matches!(f.item, Item::Func(_));
        if found.iter().all(is_func) {
            let only_funcs = !found.is_empty();
            let others = self.imported(scope, name);
            found.extend(others.into_iter().filter(|f| !only_funcs || is_func(f)));
        }
        // The library stands around modules, so `::name` may be one of its names.
        let around =
            self.tables.scopes[scope].parent().filter(|parent| Some(*parent) == self.tables.lang.scope());
        if let (true, Some(core)) = (found.is_empty(), around) {
            found = self.names().direct(core, name);
        }
        if found.is_empty() { self.hidden_imports(scope, name) } else { found }
    }

    /// The members of a type under a name.
    pub(crate) fn members(&mut self, ty: Ty, name: Symbol) -> Vec<Found> {
        match self.program.types.kind(ty) {
            TyKind::Error | TyKind::None => vec![],
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                self.open_members(ty, name)
            }
            TyKind::Interface(interface, args) => {
                let all = self.closure(ty, vec![InterfaceRef { interface, args }]);
                self.promised_members(ty, all, name)
            }
            TyKind::Enum(id) => {
                let scope = self.tables.enums[id].scope;
                let mut found = self.names().direct(scope, name);
                found.extend(self.extension_members(Head::Enum(id), ty, name));
                found
            }
            _ => self.struct_members(ty, name),
        }
    }

    /// Members of a type that is not known yet: what its bounds promise.
    fn open_members(&mut self, ty: Ty, name: Symbol) -> Vec<Found> {
        let bounds = self.bounds_of(ty);
        self.promised_members(ty, bounds, name)
    }

    /// Members that interfaces promise, and those that extensions give to all that conform.
    fn promised_members(&mut self, ty: Ty, interfaces: Vec<InterfaceRef>, name: Symbol) -> Vec<Found> {
        let mut found: Vec<Found> = vec![];
        for interface in interfaces {
            for new in self.names().interface_members(ty, interface, name) {
                if !found.iter().any(|f| f.item == new.item) {
                    found.push(new);
                }
            }
        }
        found.extend(self.extension_members(Head::Any, ty, name));
        found
    }

    fn struct_members(&mut self, ty: Ty, name: Symbol) -> Vec<Found> {
        let mut found = self.own_members(ty, name);
        if found.is_empty() {
            found = self.inherited_members(ty, name);
        }
        // What interfaces promise comes last: the type's own before those of its base.
        if found.is_empty() {
            for interface in self.interfaces_of(ty) {
                let new = self.names().interface_members(ty, interface, name);
                let new = new.into_iter().filter(|f| !matches!(f.item, Item::Param(_)));
                found.extend(new);
                if !found.is_empty() {
                    break;
                }
            }
        }
        if found.is_empty() {
            for interface in self.assumed_interfaces(ty) {
                found.extend(self.names().interface_members(ty, interface, name));
            }
        }
        if found.is_empty()
            && let Some((id, _)) = self.names().struct_of(ty)
            && let Some(base) = self.base_of(ty, id)
        {
            found = self.members(base, name);
            found.iter_mut().for_each(|f| f.base += 1);
        }
        found
    }

    /// What a type itself and extensions of it declare under a name.
    pub(crate) fn own_members(&mut self, ty: Ty, name: Symbol) -> Vec<Found> {
        let mut found = vec![];
        if let Some((id, args)) = self.names().struct_of(ty) {
            let scope = self.tables.structs[id].scope;
            let items = self.tables.scopes[scope].items(name).iter();
            let items = items.filter(|i| !matches!(i, Item::Param(_)));
            found.extend(items.map(|item| Found {
                item: *item,
                args,
                depth: 0,
                extension: Added::ByItself,
                of: Some(ty),
                base: 0,
                access: self.tables.scopes.item_access(scope, *item),
            }));
            found.extend(self.extension_members(Head::Struct(id), ty, name));
        } else if let TyKind::Enum(id) = self.program.types.kind(ty) {
            found.extend(self.extension_members(Head::Enum(id), ty, name));
        }
        found.extend(self.extension_members(Head::Any, ty, name));
        found
    }

    fn extension_members(&mut self, head: Head, ty: Ty, name: Symbol) -> Vec<Found> {
        let mut found = vec![];
        for ext in self.tables.index.extensions(head).to_vec() {
            let scope = self.tables.exts[ext].scope;
            let items = self.tables.scopes[scope].items(name).to_vec();
            if items.iter().all(|i| matches!(i, Item::Param(_))) {
                continue;
            }
            let Some(args) = self.extension_fits(ext, ty) else {
                continue;
            };
            let items = items.into_iter().filter(|i| !matches!(i, Item::Param(_)));
            found.extend(items.map(|item| Found {
                item,
                args,
                depth: 0,
                extension: if head == Head::Any { Added::ToAll } else { Added::ToType },
                of: Some(ty),
                base: 0,
                access: self.tables.scopes.item_access(scope, item),
            }));
        }
        found
    }

    /// Arguments for an extension's parameters under which it extends `ty`.
    fn extension_fits(&mut self, ext: ExtId, ty: Ty) -> Option<Args> {
        let target = self.ext_target(ext)?;
        let generics = self.tables.exts[ext].generics;
        self.match_under(generics, target, ty)
    }

    /// The structure `ty` inherits from.
    pub(crate) fn base_of(&mut self, ty: Ty, id: StructId) -> Option<Ty> {
        self.ensure_bases(id);
        let base = self.tables.structs[id].base?;
        let (_, args) = self.names().struct_of(ty)?;
        let params = self.tables.generics[self.tables.structs[id].generics].params.clone();
        Some(self.replace(base, &params, args))
    }

    /// Reports an unknown type, with what it may have meant.
    pub(crate) fn unknown_type(&mut self, name: Symbol, span: Span, scope: ScopeId) {
        if crate::names::unavailable::is_missing(name.as_str()) {
            return self.rules().unsupported(span, &format!("`{name}`"));
        }
        if self.report_hidden_name(name, span, scope) {
            return;
        }
        let message = format!("unknown type `{name}`");
        let mut diagnostic = Diagnostic::new(codes::UNKNOWN_TYPE, span, message);
        if let Some(instead) = crate::names::foreign::instead_of(name.as_str()) {
            return self.diagnostics.push(diagnostic.help(instead));
        }
        if !self.suggests() {
            return self.diagnostics.push(diagnostic);
        }
        let len = self.diagnostics.len();
        let names = self.facts().visible_names(scope, true);
        self.diagnostics.truncate(len);
        if let Some(near) = cotangent_base::nearest(name.as_str(), names.iter().map(|n| n.as_str())) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.diagnostics.push(diagnostic);
    }

    /// Whether to look for what a name may have meant: not if so much is wrong that nobody reads it.
    pub(crate) fn suggests(&self) -> bool {
        self.diagnostics.len() < MAX_SUGGESTIONS
    }

    /// The names of a type's own members, for suggestions.
    pub(crate) fn member_names(&mut self, ty: Ty) -> Vec<Symbol> {
        let mut names = vec![];
        if let Some((id, _)) = self.names().struct_of(ty) {
            let scope = self.tables.structs[id].scope;
            names.extend(self.tables.scopes[scope].entries().map(|(name, _)| name));
        }
        for interface in self.bounds_of(ty) {
            let scope = self.tables.interfaces[interface.interface].scope;
            names.extend(self.tables.scopes[scope].entries().map(|(name, _)| name));
        }
        if let TyKind::Enum(id) = self.program.types.kind(ty) {
            let scope = self.tables.enums[id].scope;
            names.extend(self.tables.scopes[scope].entries().map(|(name, _)| name));
        }
        names
    }
}

impl Names<'_> {
    /// The names declared in a scope itself.
    pub(crate) fn direct(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let items = self.tables.scopes[scope].items(name).to_vec();
        if items.is_empty() {
            return vec![];
        }
        let args = self.identity(self.tables.scopes[scope].generics());
        let found = |item| {
            let access = self.tables.scopes.item_access(scope, item);
            Found { item, args, depth: 0, extension: Added::ByItself, of: None, base: 0, access }
        };
        items.into_iter().map(found).collect()
    }

    fn import_candidates(&mut self, scope: ScopeId, name: Symbol) -> Vec<Found> {
        let imports = self.tables.scopes[scope].imports().to_vec();
        let mut found = vec![];
        for import in imports {
            let depth = self.tables.scopes.detour(scope, import);
            found.extend(self.direct(import, name).into_iter().map(|f| Found { depth, ..f }));
        }
        found
    }

    /// What an interface declares under a name, seen from a conforming type.
    pub(crate) fn interface_members(&mut self, ty: Ty, interface: InterfaceRef, name: Symbol) -> Vec<Found> {
        let scope = self.tables.interfaces[interface.interface].scope;
        let items = self.tables.scopes[scope].items(name).to_vec();
        if items.is_empty() {
            return vec![];
        }
        let args = self.program.interface_args(ty, interface);
        let items = items.into_iter().filter(|i| !matches!(i, Item::Param(_)));
        let found = |item| {
            let access = self.tables.scopes.item_access(scope, item);
            Found { item, args, depth: 0, extension: Added::ByItself, of: Some(ty), base: 0, access }
        };
        items.map(found).collect()
    }

    /// The structure that describes a type, with arguments.
    pub(crate) fn struct_of(&mut self, ty: Ty) -> Option<(StructId, Args)> {
        let builtin = |cx: &Self, b: Builtin| cx.tables.lang.builtin(b);
        let (id, args) = match self.program.types.kind(ty) {
            TyKind::Struct(id, args) => return Some((id, args)),
            TyKind::Tuple(list) => {
                let items = self.program.types.list(list).to_vec();
                (builtin(self, Builtin::Tuple)?, vec![Arg::Ty(self.program.pack_of(&items))])
            }
            TyKind::Scalar(s) => (builtin(self, Builtin::Scalar(s))?, vec![]),
            TyKind::Void => (builtin(self, Builtin::Void)?, vec![]),
            TyKind::String => (builtin(self, Builtin::String)?, vec![]),
            TyKind::Vector(t, n) => (builtin(self, Builtin::Vector)?, vec![Arg::Ty(t), Arg::Val(n)]),
            TyKind::Matrix(t, r, c) => {
                (builtin(self, Builtin::Matrix)?, vec![Arg::Ty(t), Arg::Val(r), Arg::Val(c)])
            }
            TyKind::Array(t, n) => (builtin(self, Builtin::Array)?, vec![Arg::Ty(t), Arg::Val(n)]),
            TyKind::Error
            | TyKind::UnsizedArray(_)
            | TyKind::Enum(_)
            | TyKind::Interface(..)
            | TyKind::Param(_)
            | TyKind::Pack(_)
            | TyKind::Expand(..)
            | TyKind::Each(_)
            | TyKind::Part(..)
            | TyKind::Assoc(..)
            | TyKind::None => return None,
        };
        Some((id, self.program.types.args(&args)))
    }
}

impl Facts<'_> {
    /// The scope of the module that `scope` is in, where `::name` is looked up.
    pub(crate) fn file_scope(self, scope: ScopeId) -> ScopeId {
        let mut at = scope;
        while let Some(parent) = self.tables.scopes[at].parent()
            && Some(parent) != self.tables.lang.scope()
        {
            at = parent;
        }
        at
    }

    /// The names visible in a scope, for suggestions.
    pub(crate) fn visible_names(self, scope: ScopeId, types: bool) -> Vec<Symbol> {
        let mut names = vec![];
        let mut at = Some(scope);
        while let Some(id) = at {
            let scope = &self.tables.scopes[id];
            let wanted = |items: &[Item]| !types || items.iter().any(|i| self.program.is_type_item(*i));
            names.extend(scope.entries().filter(|(_, items)| wanted(items)).map(|(name, _)| name));
            at = scope.parent();
        }
        names.extend(self.tables.links.unread());
        names
    }
}

impl Program {
    /// Arguments for an interface's parameters: the conforming type, then its own.
    pub(crate) fn interface_args(&mut self, ty: Ty, interface: InterfaceRef) -> Args {
        let mut args = vec![Arg::Ty(ty)];
        args.extend_from_slice(self.types.list(interface.args));
        self.types.args(&args)
    }
}
