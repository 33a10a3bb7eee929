//! Checks all declarations and bodies of the user's modules.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::derive;
use crate::facts::Facts;
use crate::hir::{Arg, Func, FuncId, FuncKind, StructId, Ty, TyKind};
use crate::tables::{FuncSource, Owner, ScopeId, StructInfo, Tables};
use cotangent_base::{Diagnostic, Entity, Map, Set, Symbol};

/// The most types to search for a structure that contains itself.
const MOST_CONTAINED: usize = 2000;

impl Checked {
    /// Resolves every declaration of the user's and checks every body, those of known modules excepted.
    pub(crate) fn check_user_program(&mut self) {
        self.resolve_user_types();
        let mut next = 0;
        while let Some(func) = self.tables.funcs.user().get(next).copied() {
            self.ensure_func(func);
            next += 1;
        }
        self.check_duplicates();
        self.check_attributes();
        self.check_rules();
        self.check_exposed_types();
        self.check_links();
        self.resolve_user_globals();
        self.complete_user_conformances();
        self.settle();
        self.check_field_initializers();
        // Local types add functions while bodies are checked.
        let mut next = 0;
        while let Some(func) = self.tables.funcs.user().get(next).copied() {
            self.check_parameters(func);
            self.check_if_unknown(self.tables.funcs[func].scope, |checked| drop(checked.check_body(func)));
            next += 1;
        }
        self.resolve_user_attributes();
        derive::check_inlined(self);
        self.check_features();
        self.complete_user_conformances();
        self.check_overrides();
        self.settle();
        self.drop_repetitions();
        let is_root = |kind: FuncKind| !matches!(kind, FuncKind::Requirement(_));
        let funcs = self.tables.funcs.user().iter().copied();
        self.program.user_funcs = funcs
            .filter(|f| self.program.funcs[*f].has_body && is_root(self.program.funcs[*f].kind))
            .collect();
    }

    /// Checks something in a scope, unless its module is known. Notes whether that declares anything.
    pub(crate) fn check_if_unknown(&mut self, scope: ScopeId, check: impl FnOnce(&mut Checked)) {
        let module = self.tables.scopes[scope].module();
        if self.tables.modules[module].known {
            return;
        }
        let counts = |tables: &Tables| (tables.funcs.user().len(), tables.globals.len(), tables.enums.len());
        let (before, structs) = (counts(&self.tables), self.tables.structs.len());
        check(self);
        self.settle();
        // Differentials are made for whoever first needs them.
        let declared = |id: StructId| {
            self.facts().is_user(self.tables.structs[id].scope)
                && self.program.structs[id].differential_of.is_none()
        };
        if counts(&self.tables) != before || self.tables.structs.keys().skip(structs).any(declared) {
            self.tables.modules.note_added(module);
        }
    }

    /// Checks initializers of fields also if nobody constructs the structure.
    fn check_field_initializers(&mut self) {
        for id in self.tables.structs.keys() {
            let StructInfo { fields, scope, generics, .. } = &self.tables.structs[id];
            let (fields, scope, generics) = (fields.clone(), *scope, *generics);
            if !self.facts().is_user(scope) {
                continue;
            }
            let own = self.program.structs[id].fields.len().saturating_sub(fields.len());
            for (number, (decl, _)) in fields.iter().enumerate() {
                if let Some(init) = &decl.init {
                    let ty = self.program.structs[id].fields[own + number].ty;
                    self.check_if_unknown(scope, |checked| {
                        BodyCx::new(checked, scope).foreign(init, ty, scope, generics);
                    });
                }
            }
        }
    }

    fn resolve_user_types(&mut self) {
        for id in self.tables.scopes.keys() {
            self.resolve_usings(id);
        }
        let structs = self.tables.structs.keys();
        self.resolve_structs(
            structs.filter(|id| self.facts().is_user(self.tables.structs[*id].scope)).collect(),
        );
        for id in self.tables.enums.keys() {
            if self.facts().is_user(self.tables.enums[id].scope) {
                self.ensure_enum(id);
            }
        }
        for id in self.tables.aliases.keys() {
            if self.facts().is_user(self.tables.aliases[id].scope) {
                self.alias_ty(id);
            }
        }
        for id in self.tables.exts.keys() {
            if self.facts().is_user(self.tables.exts[id].scope) {
                self.ensure_ext_bases(id);
            }
        }
        for id in self.tables.interfaces.keys() {
            if self.facts().is_user(self.tables.interfaces[id].scope) {
                let own = self.names().own_interface(id);
                let this = self.program.interfaces[id].this;
                let this = self.program.types.ty(TyKind::Param(this));
                self.closure(this, vec![own]);
                self.program.interfaces[id].generics = self.hir_generics(self.tables.interfaces[id].generics);
                for assoc in self.program.interfaces[id].assocs.clone() {
                    self.ensure_assoc(assoc);
                }
            }
        }
    }

    /// Functions of one name in one scope must differ in their parameters.
    fn check_duplicates(&mut self) {
        let mut seen: Map<(ScopeId, Symbol), Vec<FuncId>> = Map::default();
        for func in self.tables.funcs.user().to_vec() {
            let info = &self.tables.funcs[func];
            let FuncSource::Func(decl) = &info.source else { continue };
            let (Some(scope), true) = (self.tables.scopes[info.scope].parent(), decl.body.is_some()) else {
                continue;
            };
            let Func { name, span, .. } = self.program.funcs[func];
            let earlier = seen.entry((scope, name)).or_default();
            earlier.push(func);
            let first = earlier[..earlier.len() - 1].iter().find(|f| self.same_types(**f, func));
            if let Some(&first) = first {
                let message = format!("`{}` is declared twice", self.facts().show_func(func));
                let first = self.program.funcs[first].span;
                self.diagnostics.push(
                    Diagnostic::new(codes::REDECLARED, span, message)
                        .label(first, "first declared here")
                        .help("functions with the same name must have different parameter types"),
                );
            }
        }
    }

    /// Resolves the fields of structures; those of a body when they are declared.
    pub(crate) fn resolve_structs(&mut self, structs: Vec<StructId>) {
        structs.iter().for_each(|id| self.ensure_struct(*id));
        for id in structs {
            self.check_containment(id);
            self.check_inherited_derivatives(id);
        }
    }

    /// A structure cannot have itself among its fields, or it would have no size.
    fn check_containment(&mut self, id: StructId) {
        for number in 0..self.program.structs[id].fields.len() {
            let field = self.program.structs[id].fields[number].clone();
            let mut seen = Set::default();
            if !self.contains(field.ty, id, &mut seen) {
                continue;
            }
            let name = self.program.structs[id].name;
            let message = format!("`{name}` contains itself through its field `{}`", field.name);
            self.diagnostics.push(
                Diagnostic::new(codes::CYCLE, field.span, message)
                    .help("store an index into a buffer of such values instead"),
            );
            self.program.structs[id].fields[number].ty = self.program.types.error();
        }
        self.tables.sizes.note_finite(id);
    }

    /// Whether a type contains the structure `id`. A structure that is known not to contain itself needs no search, unless it
    /// has generic arguments.
    fn contains(&mut self, ty: Ty, id: StructId, seen: &mut Set<Ty>) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Array(element, _) => self.contains(element, id, seen),
            TyKind::Tuple(args) => {
                let parts = self.program.types.list(args).to_vec();
                parts.into_iter().any(|part| matches!(part, Arg::Ty(part) if self.contains(part, id, seen)))
            }
            TyKind::Struct(other, _) if other == id => true,
            TyKind::Struct(other, args) => {
                // A block binds all that is in it, so that one of itself would bind without end. Buffers hold elements apart.
                if let Some(content) = self.program.block_content(ty) {
                    return self.contains(content, id, seen);
                }
                let plain = self.program.types.list(args).is_empty();
                if self.program.structs[other].magic.is_some()
                    || plain && self.tables.sizes.is_finite(other)
                    || seen.len() > MOST_CONTAINED
                    || !seen.insert(ty)
                {
                    return false;
                }
                self.ensure_struct(other);
                let fields = self.fields_under(other, args);
                fields.into_iter().any(|field| self.contains(field, id, seen))
            }
            _ => false,
        }
    }

    fn resolve_user_globals(&mut self) {
        for id in self.tables.globals.keys() {
            let scope = self.tables.globals[id].scope;
            if self.facts().is_user(scope) {
                self.ensure_global(id);
                self.check_if_unknown(scope, |checked| {
                    checked.check_initializer(id);
                    checked.rules().check_constant(id);
                });
            }
        }
    }

    fn complete_user_conformances(&mut self) {
        let mut next = 0;
        while next < self.tables.conformances.len() {
            let id = Entity::new(next);
            let scope = match self.tables.conformances[id].owner {
                Owner::Struct(id) => Some(self.tables.structs[id].scope),
                Owner::Extension(id) => Some(self.tables.exts[id].scope),
                _ => None,
            };
            if scope.is_some_and(|s| self.facts().is_user(s)) {
                self.complete_witnesses(id);
            }
            next += 1;
        }
    }

    /// Whether checking bodies of a module of the user's, by its number, declared something. What it declares is part of the
    /// program, so such a module cannot be [known](crate::Input::known).
    pub fn has_local_declarations(&self, module: usize) -> bool {
        self.tables.modules.values().any(|m| m.number == module && m.adds)
    }

    /// Whether the body of a function was checked so far.
    pub fn is_body_checked(&self, func: FuncId) -> bool {
        self.tables.bodies.of(func).is_some()
    }
}

impl Facts<'_> {
    fn is_user(self, scope: ScopeId) -> bool {
        !self.tables.scopes[scope].is_library()
    }
}
