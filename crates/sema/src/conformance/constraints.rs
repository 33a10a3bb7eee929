//! `__constraint A : IFoo;` and `__constraint A == B;` in an interface: conditions on associated types, mostly on those that it
//! inherits. Conforming types are held to them, and code that knows only the interface may rely on them.

use crate::Checked;
use crate::codes;
use crate::hir::{Bound, Conformance, ConformanceId, InterfaceId, InterfaceRef, Ty, TyKind};
use cotangent_base::Diagnostic;
use cotangent_syntax::ast;

impl Checked {
    /// The constraints that an interface states itself, in terms of its parameters.
    fn constraints(&mut self, id: InterfaceId) -> Vec<Bound> {
        let none = self.tables.interfaces[id].constraints.is_empty();
        if none || !self.tables.interfaces.begin_constraints(id) {
            return self.tables.interfaces[id].constraint_bounds.clone();
        }
        let info = &self.tables.interfaces[id];
        let (clauses, scope, generics) = (info.constraints.clone(), info.scope, info.generics);
        let saved = self.enter(generics);
        for clause in clauses.iter() {
            match clause {
                ast::Where::Conforms(ty, bounds) => {
                    let ty = self.resolve_ty(ty, scope);
                    for bound in bounds {
                        if let Some(interface) = self.resolve_interface(bound, scope) {
                            let bound = Bound::Conforms(ty, interface);
                            self.tables.interfaces.add_constraint_bound(id, bound);
                        }
                    }
                }
                ast::Where::Equal(a, b) => {
                    let bound = Bound::Equal(self.resolve_ty(a, scope), self.resolve_ty(b, scope));
                    self.tables.interfaces.add_constraint_bound(id, bound);
                }
                ast::Where::NonEmpty(at) | ast::Where::Coerces(at, ..) | ast::Where::Perhaps(at, _) => {
                    self.rules().unsupported(at.span, "a `__constraint` of this form");
                }
            }
        }
        self.leave(saved);
        self.tables.interfaces.end_constraints(id);
        self.tables.interfaces[id].constraint_bounds.clone()
    }

    /// What the interfaces of a type say about its associated types, and theirs.
    pub(crate) fn constraints_on(&mut self, ty: Ty) -> Vec<Bound> {
        let mut found = vec![];
        if !self.tables.conformances.has_constraints() {
            return found;
        }
        let mut at = ty;
        while let TyKind::Assoc(base, ..) = self.program.types.kind(at) {
            let interfaces = match self.program.types.kind(base) {
                TyKind::Interface(interface, args) => {
                    self.closure(base, vec![InterfaceRef { interface, args }])
                }
                _ => self.bounds_of(base),
            };
            for interface in interfaces {
                let bounds = self.constraints(interface.interface);
                let params = self.facts().interface_params(interface.interface);
                let args = self.program.interface_args(base, interface);
                // Only what the constraint speaks of is replaced, so that `T.A == X` does not become `X == X`.
                for bound in bounds {
                    found.extend(self.constraint_under(bound, &params, args));
                }
            }
            at = base;
        }
        found
    }

    /// A constraint seen from a type; none if it says nothing about an associated type of it.
    fn constraint_under(
        &mut self,
        bound: Bound,
        params: &[crate::hir::GenericParamId],
        args: crate::hir::Args,
    ) -> Option<Bound> {
        match bound {
            Bound::Conforms(ty, interface) => {
                let ty = self.open_under(ty, params, args);
                Some(Bound::Conforms(ty, self.replace_interface(interface, params, args)))
            }
            Bound::Equal(a, b) => {
                let a = self.open_under(a, params, args);
                Some(Bound::Equal(a, self.replace(b, params, args)))
            }
            Bound::Count(..) | Bound::NonEmpty(_) | Bound::Optional(..) | Bound::Coerces(..) => None,
        }
    }

    /// A path of associated types with parameters replaced, which stays a path.
    fn open_under(&mut self, ty: Ty, params: &[crate::hir::GenericParamId], args: crate::hir::Args) -> Ty {
        let TyKind::Assoc(base, assoc, list) = self.program.types.kind(ty) else {
            return self.replace(ty, params, args);
        };
        let base = self.open_under(base, params, args);
        let list = self.replace_args(list, params, args);
        self.program.types.ty(TyKind::Assoc(base, assoc, list))
    }

    /// Checks that a conforming type holds to the constraints of its interface.
    pub(crate) fn check_constraints(&mut self, id: ConformanceId) {
        let Conformance { ty, interface, span, .. } = self.program.conformances[id];
        let params = self.facts().interface_params(interface.interface);
        let args = self.program.interface_args(ty, interface);
        for bound in self.constraints(interface.interface) {
            let bound = self.replace_bound(bound, &params, args);
            let met = match bound {
                Bound::Conforms(ty, interface) => self.conforms(ty, interface),
                Bound::Equal(a, b) => {
                    a == b || self.program.types.is_error(a) || self.program.types.is_error(b)
                }
                Bound::Count(..) | Bound::NonEmpty(_) | Bound::Optional(..) | Bound::Coerces(..) => true,
            };
            if !met {
                let unmet = self.facts().describe_unmet(bound);
                let message = format!("`{}` breaks a `__constraint`: {unmet}", self.show(ty));
                let declared = self.program.interfaces[interface.interface].span;
                let diagnostic = Diagnostic::new(codes::UNMET_BOUND, span, message);
                self.diagnostics.push(diagnostic.label(declared, "the interface that states it"));
            }
        }
    }
}
