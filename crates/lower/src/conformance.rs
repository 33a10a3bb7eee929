//! The numbers by which the host identifies the types that conform to an interface.
//!
//! The user sets them on the command line, `--conformance 'Circle:IShape=3'`; then only those types can come from outside.
//! For other interfaces, the conforming types are numbered from 0 in program order. Instances of generic types are among them only
//! if the user numbers them: `--conformance 'Box<float>:IShape<float>=4'`. `createDynamicObject` takes these numbers, and an
//! interface value in a buffer contains one.

use crate::instance::Lowerer;
use crate::{ConformanceId, codes};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_sema::hir::{InterfaceRef, Ty};

impl Lowerer<'_> {
    /// The types of the program that conform to an interface type: those the user numbered, or all.
    pub fn conformers(&mut self, sum: Ty) -> Vec<Ty> {
        let Some(interface) = self.interface(sum) else { return vec![] };
        let given = self.given_ids(sum);
        if given.is_empty() {
            return self.queries.conformers(interface);
        }
        given.into_iter().map(|(ty, _)| ty).collect()
    }

    /// What the user says about an interface: types and numbers. A type without a number gets the next one.
    fn given_ids(&mut self, sum: Ty) -> Vec<(Ty, u32)> {
        let mut next = 0;
        let mut ids = Vec::new();
        for given in self.options.conformances.clone() {
            let Some((ty, interface)) = self.numbered(&given) else { continue };
            if interface == sum {
                let id = given.id.unwrap_or(next);
                next = id + 1;
                ids.push((ty, id));
            }
        }
        // In the order of the program, as without numbers; instances after all others.
        let order = self.interface(sum).map_or(vec![], |interface| self.queries.conformers(interface));
        ids.sort_by_key(|(ty, _)| order.iter().position(|other| other == ty).unwrap_or(order.len()));
        ids
    }

    /// The type and the interface type that an item of the command line names, if the one conforms to the other.
    fn numbered(&mut self, given: &ConformanceId) -> Option<(Ty, Ty)> {
        if let Some((ty, interface)) = self.queries.given_conformance(given.ty, given.interface) {
            return Some((ty, interface));
        }
        let interface = self.interface_named(given.interface)?;
        let conformers = self.queries.conformers(interface);
        let ty = conformers.into_iter().find(|ty| self.queries.show(*ty) == given.ty.as_str())?;
        Some((ty, self.queries.interface_ty(interface)))
    }

    fn interface_named(&mut self, name: Symbol) -> Option<InterfaceRef> {
        let found = self.queries.program.interfaces.iter().find(|(_, data)| data.name == name);
        let interface = found.map(|(id, _)| id)?;
        Some(InterfaceRef { interface, args: self.queries.args(&[]) })
    }

    /// The number by which the host knows a member of an interface type, if it does.
    pub fn conformance_id(&mut self, sum: Ty, member: Ty) -> Option<u32> {
        let given = self.given_ids(sum);
        if given.is_empty() {
            return self.conformers(sum).iter().position(|ty| *ty == member).map(|i| i as u32);
        }
        given.into_iter().find(|(ty, _)| *ty == member).map(|(_, id)| id)
    }

    /// Reports what the user says about types that there are not, and numbers given twice.
    pub fn check_options(&mut self) {
        let given = self.options.conformances.clone();
        for (i, item) in given.iter().enumerate() {
            let (ty, interface) = (item.ty, item.interface);
            let is_generic = self.queries.is_given_conformance(ty, interface);
            let mut span = Span::none();
            if let Some(found) = self.interface_named(interface) {
                span = self.queries.program.interfaces[found.interface].span;
            } else if !is_generic {
                self.bad_conformance(span, format!("there is no interface `{interface}`"));
                continue;
            }
            if self.numbered(item).is_none() && !self.queries.diagnostics.has_errors() {
                self.bad_conformance(span, format!("there is no type `{ty}` that conforms to `{interface}`"));
            }
            let same = |other: &&ConformanceId| other.interface == interface && other.id == item.id;
            if item.id.is_some() && given[..i].iter().any(|other| same(&other)) {
                let id = item.id.unwrap_or(0);
                let message = format!("two types that conform to `{interface}` have the number {id}");
                self.bad_conformance(span, message);
            }
        }
    }

    fn bad_conformance(&mut self, span: Span, message: String) {
        let diagnostic = Diagnostic::new(codes::BAD_CONFORMANCE, span, message)
            .help("write `--conformance 'Type:Interface=number'`");
        self.diagnostics.push(diagnostic);
    }
}
