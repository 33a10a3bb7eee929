//! Resolves the interfaces after the colon of a structure, an extension or an interface.
//!
//! Each list is resolved when its type is first needed, and indexed by the head of the type, together with all inherited
//! interfaces.

use crate::Checked;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::{Facts, Rules};
use crate::hir::{Conformance, ConformanceId, InterfaceId, InterfaceRef, StructId, Ty, TyKind, ValKind};
use crate::names::Names;
use crate::tables::{ExtId, GenericsId, Head, Owner};
use cotangent_base::{Diagnostic, Entity, Span};
use cotangent_syntax::ast;

/// The largest `n` of `[anyValueSize(n)]`.
const MAX_ANY_VALUE: i64 = 32767;

impl Checked {
    /// Files every extension under the head of the type it extends.
    pub(crate) fn index_extensions(&mut self, first: ExtId) {
        let mut owed = vec![];
        for ext in self.tables.exts.keys().skip(first.index()) {
            let first = self.tables.work.mark();
            let Some(target) = self.ext_target(ext) else {
                continue;
            };
            owed.push((ext, first..self.tables.work.mark()));
            let head = match self.program.types.kind(target) {
                TyKind::Param(_) => Some(Head::Any),
                TyKind::Error => None,
                TyKind::Interface(..) => {
                    let message = "an interface cannot be extended";
                    let span = self.tables.exts[ext].decl.target.span;
                    self.diagnostics.push(
                        Diagnostic::new(codes::MISPLACED, span, message)
                            .help("extend every conforming type instead: `extension<T : IFoo> T { .. }`"),
                    );
                    None
                }
                _ => self.names().head_of(target),
            };
            if let Some(head) = head {
                self.tables.index.add_extension(head, ext);
            }
        }
        // Bounds may need the index, so what they allow the targets to be comes last.
        for (ext, range) in owed {
            let bounds = self.bounds(self.tables.exts[ext].generics);
            self.tables.work.assume_for(range, &bounds);
        }
    }

    /// The type an extension extends, in terms of its parameters.
    pub(crate) fn ext_target(&mut self, ext: ExtId) -> Option<Ty> {
        if self.tables.exts.begin_target(ext) {
            let info = &self.tables.exts[ext];
            let (decl, scope) = (info.decl.clone(), info.scope);
            let outer = self.tables.resolving.begin_head();
            let ty = self.resolve_ty(&decl.target, scope);
            self.tables.resolving.end_head(outer);
            self.tables.exts.end_target(ext, ty);
        }
        self.tables.exts[ext].target
    }

    /// Resolves what follows the colon of a structure.
    pub(crate) fn ensure_bases(&mut self, id: StructId) {
        if !self.tables.structs.begin_bases(id) {
            return;
        }
        let info = &self.tables.structs[id];
        let (decl, scope, generics) = (info.decl.clone(), info.scope, info.generics);
        let args = self.names().identity(generics);
        let this = self.struct_ty(id, args);
        let saved = self.enter(generics);
        for base in &decl.bases {
            let ty = self.resolve_ty(base, scope);
            match self.program.types.kind(ty) {
                TyKind::Interface(interface, args) => {
                    let interface = InterfaceRef { interface, args };
                    self.state_conformance(generics, this, interface, Owner::Struct(id), base.span);
                }
                TyKind::Struct(of, _) if self.descends(of, id) => {
                    let message = format!("`{}` inherits from itself", self.program.structs[id].name);
                    self.diagnostics.push(Diagnostic::new(codes::CYCLE, base.span, message));
                }
                TyKind::Struct(of, _) => {
                    self.rules().check_no_class(id, of, base);
                    self.rules().check_inherits(scope, base, ty);
                    self.tables.structs.set_base(id, ty);
                }
                TyKind::Error => {}
                _ => self.rules().bad_base(ty, base),
            }
        }
        self.leave(saved);
        self.tables.structs.end_bases(id);
    }

    /// Whether a structure is another one or inherits from it.
    fn descends(&mut self, mut id: StructId, ancestor: StructId) -> bool {
        loop {
            if id == ancestor {
                return true;
            }
            self.ensure_bases(id);
            let Some(base) = self.tables.structs[id].base else {
                return false;
            };
            match self.program.types.kind(base) {
                TyKind::Struct(next, _) => id = next,
                _ => return false,
            }
        }
    }

    /// Resolves the conformances that structures and extensions state for types of a head.
    pub(super) fn ensure_conformances(&mut self, head: Head) {
        if let Head::Struct(id) = head {
            self.ensure_bases(id);
        }
        if !self.tables.index.begin_bases(head) {
            return;
        }
        for ext in self.tables.index.extensions(head).to_vec() {
            self.ensure_ext_bases(ext);
        }
        self.tables.index.end_bases(head);
    }

    pub(crate) fn ensure_ext_bases(&mut self, ext: ExtId) {
        if !self.tables.exts.begin_bases(ext) {
            return;
        }
        let info = &self.tables.exts[ext];
        let (decl, scope, generics) = (info.decl.clone(), info.scope, info.generics);
        let Some(target) = self.ext_target(ext) else {
            return;
        };
        let saved = self.enter(generics);
        for base in &decl.bases {
            if let Some(interface) = self.resolve_interface(base, scope) {
                self.state_conformance(generics, target, interface, Owner::Extension(ext), base.span);
            }
        }
        self.leave(saved);
        self.tables.exts.end_bases(ext);
    }

    /// Files a conformance and those to inherited interfaces.
    pub(crate) fn state_conformance(
        &mut self,
        generics: GenericsId,
        ty: Ty,
        interface: InterfaceRef,
        owner: Owner,
        span: Span,
    ) {
        let head = match self.program.types.kind(ty) {
            TyKind::Param(_) => Head::Any,
            _ => match self.names().head_of(ty) {
                Some(head) => head,
                None => return,
            },
        };
        for interface in self.closure(ty, vec![interface]) {
            let filed = self.tables.index.conformances(head);
            let program = &self.program;
            let same = |c: &ConformanceId| {
                program.conformances[*c].ty == ty && program.conformances[*c].interface == interface
            };
            if filed.iter().any(same) {
                continue;
            }
            let generics = self.hir_generics(generics);
            let id = self.program.conformances.push(Conformance {
                generics,
                ty,
                interface,
                witnesses: Default::default(),
                assocs: Default::default(),
                span,
            });
            self.tables.conformances.push(owner);
            self.tables.index.add(head, id);
        }
    }

    /// Interfaces and all that they inherit, for the conforming type `ty`, each once, the given ones first.
    pub(crate) fn closure(&mut self, ty: Ty, mut interfaces: Vec<InterfaceRef>) -> Vec<InterfaceRef> {
        let mut next = 0;
        while next < interfaces.len() {
            let interface = interfaces[next];
            self.ensure_interface_bases(interface.interface);
            let args = self.program.interface_args(ty, interface);
            let params = self.facts().interface_params(interface.interface);
            for base in self.program.interfaces[interface.interface].bases.clone() {
                let base = self.replace_interface(base, &params, args);
                if !interfaces.contains(&base) {
                    interfaces.push(base);
                }
            }
            next += 1;
        }
        interfaces
    }

    fn ensure_interface_bases(&mut self, id: InterfaceId) {
        if !self.tables.interfaces.begin_bases(id) {
            return;
        }
        let (decl, scope) = (self.tables.interfaces[id].decl.clone(), self.tables.interfaces[id].scope);
        let attributes = self.tables.interfaces[id].attributes.clone();
        if let Some(size) = attrs::find(&attributes, "anyValueSize").and_then(|a| a.args.first()) {
            let bytes = self.const_val(size, scope);
            self.program.interfaces[id].any_value_size = Some(bytes);
            let known = self.program.types.known(bytes).is_some_and(|n| (0..=MAX_ANY_VALUE).contains(&n));
            if !known && !matches!(self.program.types.val_kind(bytes), ValKind::Error) {
                let message = format!("the size must be a constant from 0 to {MAX_ANY_VALUE}");
                self.diagnostics.push(Diagnostic::new(codes::BAD_ATTRIBUTE, size.span, message));
            }
        }
        for base in &decl.bases {
            let Some(interface) = self.resolve_interface(base, scope) else {
                continue;
            };
            if self.interface_descends(interface.interface, id) {
                let message = format!("`{}` inherits from itself", self.program.interfaces[id].name);
                self.diagnostics.push(Diagnostic::new(codes::CYCLE, base.span, message));
            } else {
                self.program.interfaces[id].bases.push(interface);
            }
        }
        self.tables.interfaces.end_bases(id);
    }

    /// Whether an interface is another one or inherits from it, whatever their arguments: [`closure`](Self::closure)
    /// ends because this never holds of a base and what it is the base of.
    fn interface_descends(&mut self, id: InterfaceId, ancestor: InterfaceId) -> bool {
        let mut all = vec![id];
        let mut next = 0;
        while let Some(&id) = all.get(next) {
            self.ensure_interface_bases(id);
            for base in &self.program.interfaces[id].bases {
                if !all.contains(&base.interface) {
                    all.push(base.interface);
                }
            }
            next += 1;
        }
        all.contains(&ancestor)
    }
}

impl Names<'_> {
    /// What stands at the front of a known type.
    pub(crate) fn head_of(&mut self, ty: Ty) -> Option<Head> {
        match self.program.types.kind(ty) {
            TyKind::Enum(id) => Some(Head::Enum(id)),
            _ => self.struct_of(ty).map(|(id, _)| Head::Struct(id)),
        }
    }
}

impl Rules<'_> {
    /// Only structures inherit from one another.
    fn check_no_class(&mut self, id: StructId, of: StructId, base: &ast::Expr) {
        let (own, other) = (&self.tables.structs[id].decl, &self.tables.structs[of].decl);
        let (name, parent) = (own.name.name, other.name.name);
        let message = match (own.is_class, other.is_class) {
            (false, false) => return,
            (true, _) => format!("the class `{name}` can inherit from interfaces only, not from `{parent}`"),
            (false, true) => format!("`{name}` cannot inherit from the class `{parent}`"),
        };
        self.diagnostics.push(
            Diagnostic::new(codes::NOT_AN_INTERFACE, base.span, message)
                .help("declare both as `struct`, or make one a field of the other"),
        );
    }

    fn bad_base(&mut self, ty: Ty, base: &ast::Expr) {
        let message = format!("`{}` is neither an interface nor a structure", self.show(ty));
        self.diagnostics.push(Diagnostic::new(codes::NOT_AN_INTERFACE, base.span, message));
    }
}

impl Facts<'_> {
    /// An interface's parameters: `This`, then its own.
    pub(crate) fn interface_params(self, id: InterfaceId) -> std::sync::Arc<[crate::hir::GenericParamId]> {
        self.tables.generics[self.tables.interfaces[id].generics].params.clone()
    }
}
