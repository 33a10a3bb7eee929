//! Validates a user-defined `Differential`.
//!
//! It must conform to `IDifferentiable` and be its own differential. Each differentiable field of the structure must name the
//! field of the differential that holds its derivative, with `[DerivativeMember(D.x)]`, or be `no_diff`.

use super::codes;
use crate::Checked;
use crate::hir::{ConformanceId, Field, Program, Ty, TyKind};
use cotangent_base::{Diagnostic, Symbol};

impl Checked {
    /// Checks the `Differential` of a conformance to `IDifferentiable`; does nothing for other interfaces.
    pub(crate) fn check_differential(&mut self, id: ConformanceId) {
        let conformance = &self.program.conformances[id];
        if self.program.lang.differentiable != Some(conformance.interface.interface) {
            return;
        }
        let differential = self.program.lang.differential;
        let Some(chosen) = differential.and_then(|assoc| conformance.assocs.get(&assoc).copied()) else {
            return;
        };
        let (ty, bounds) = (conformance.ty, conformance.generics.bounds.clone());
        if self.program.types.is_error(chosen) {
            return;
        }
        // A synthesized differential has a field of the same name for every field.
        let written = chosen != ty && !self.program.is_synthesised(chosen);
        let saved = self.tables.assumptions.replace(bounds);
        if !written || self.is_own_differential(id, chosen) {
            self.check_ties(ty, chosen, written);
        }
        self.tables.assumptions.restore(saved);
    }

    fn is_own_differential(&mut self, id: ConformanceId, chosen: Ty) -> bool {
        let span = self.program.conformances[id].span;
        let shown = self.show(chosen);
        let diagnostic = match self.differential_of(chosen) {
            Some(again) if again == chosen => return true,
            None => {
                let message = format!("the `Differential` `{shown}` does not conform to `IDifferentiable`");
                let help =
                    format!("declare it `struct {} : IDifferentiable`", self.facts().show_declared(chosen));
                Diagnostic::new(codes::DIFFERENTIAL_CONFORMS, span, message).help(help)
            }
            Some(again) => {
                let again = self.show(again);
                let message = format!("the `Differential` `{shown}` has a different differential, `{again}`");
                let help =
                    format!("use `{again}`, or give `{shown}` only fields that are their own differential");
                Diagnostic::new(codes::DIFFERENTIAL_ITSELF, span, message).help(help)
            }
        };
        self.diagnostics.push(diagnostic);
        false
    }

    /// Checks the places in the chosen differential that fields are tied to. If it was written by hand, every field with a
    /// derivative must have one.
    fn check_ties(&mut self, ty: Ty, chosen: Ty, written: bool) {
        let TyKind::Struct(id, args) = self.program.types.kind(ty) else {
            return;
        };
        let types = self.fields_under(id, args);
        let fields = self.program.structs[id].fields.clone();
        for (field, ty) in fields.iter().zip(types) {
            if field.no_diff {
                continue;
            }
            let Some(differential) = self.differential_of(ty) else {
                continue;
            };
            match field.derivative {
                Some(member) => self.check_tie(field, differential, chosen, member),
                None if written => self.untied(field, differential, chosen),
                None => {}
            }
        }
    }

    fn untied(&mut self, field: &Field, differential: Ty, chosen: Ty) {
        let shown = self.show(chosen);
        let message = format!("`{shown}` has no field for the derivative of `{}`", field.name);
        let help = match self.likely_member(field, differential, chosen) {
            Some(member) => format!("write `[DerivativeMember({shown}.{member})]` before it, or `no_diff`"),
            None => format!(
                "add a field of type `{}` to `{shown}` and name it in `[DerivativeMember({shown}.{})]`, or write `no_diff`",
                self.show(differential),
                field.name
            ),
        };
        self.diagnostics.push(Diagnostic::new(codes::UNTIED_FIELD, field.span, message).help(help));
    }

    /// The field of a chosen differential that best fits a field: of the right type, and of a similar name if there is one.
    fn likely_member(&mut self, field: &Field, differential: Ty, chosen: Ty) -> Option<Symbol> {
        let TyKind::Struct(id, args) = self.program.types.kind(chosen) else {
            return None;
        };
        let types = self.fields_under(id, args);
        let names = self.program.structs[id].fields.iter().map(|f| f.name);
        let fitting: Vec<Symbol> =
            names.zip(types).filter(|(_, ty)| *ty == differential).map(|(name, _)| name).collect();
        let similar = |name: &&Symbol| name.as_str().contains(field.name.as_str());
        fitting.iter().find(similar).or(fitting.first()).copied()
    }

    fn check_tie(&mut self, field: &Field, differential: Ty, chosen: Ty, member: Symbol) {
        let shown = self.show(chosen);
        let found = self.field_under(chosen, member);
        let message = match found {
            Some(ty) if ty == differential => return,
            Some(ty) => format!(
                "`{shown}.{member}` is `{}`, but the derivative of `{}` is `{}`",
                self.show(ty),
                field.name,
                self.show(differential)
            ),
            None => format!("`{shown}` has no field `{member}`"),
        };
        self.diagnostics.push(Diagnostic::new(codes::DERIVATIVE_MEMBER, field.span, message));
    }

    /// The type of a field of a structure.
    fn field_under(&mut self, ty: Ty, name: Symbol) -> Option<Ty> {
        let TyKind::Struct(id, args) = self.program.types.kind(ty) else {
            return None;
        };
        let types = self.fields_under(id, args);
        let number = self.program.structs[id].fields.iter().position(|f| f.name == name)?;
        types.get(number).copied()
    }
}

impl Program {
    fn is_synthesised(&self, ty: Ty) -> bool {
        match self.types.kind(ty) {
            TyKind::Struct(id, _) => self.structs[id].differential_of.is_some(),
            _ => false,
        }
    }
}
