//! The numbers by which the host identifies the types that conform to an interface.
//!
//! The user sets them on the command line, `--conformance 'Circle:IShape=3'`; then only those types can come from outside.
//! For other interfaces, the conforming types are numbered from 0 in program order. `createDynamicObject` takes these
//! numbers, and an interface value in a buffer contains one.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Span};
use cotangent_sema::hir::{InterfaceRef, Ty};

impl Lowerer<'_> {
    /// The types of the program that conform to an interface type: those the user numbered, or all.
    pub fn conformers(&mut self, sum: Ty) -> Vec<Ty> {
        let Some(interface) = self.interface(sum) else { return vec![] };
        let all = self.queries.conformers(interface);
        let given = self.given_ids(sum);
        if given.is_empty() {
            return all;
        }
        all.into_iter().filter(|ty| given.iter().any(|(name, _)| *name == self.queries.show(*ty))).collect()
    }

    /// What the user says about an interface: types and numbers. Who has no number gets the next.
    fn given_ids(&self, sum: Ty) -> Vec<(String, u32)> {
        let interface = self.queries.show(sum);
        let mut next = 0;
        let mut ids = Vec::new();
        for given in self.options.conformances.iter().filter(|c| c.interface.as_str() == interface) {
            let id = given.id.unwrap_or(next);
            next = id + 1;
            ids.push((given.ty.to_string(), id));
        }
        ids
    }

    /// The number by which the host knows a member of an interface type, if it does.
    pub fn conformance_id(&mut self, sum: Ty, member: Ty) -> Option<u32> {
        let given = self.given_ids(sum);
        if given.is_empty() {
            return self.conformers(sum).iter().position(|ty| *ty == member).map(|i| i as u32);
        }
        let name = self.queries.show(member);
        given.into_iter().find(|(ty, _)| *ty == name).map(|(_, id)| id)
    }

    /// Reports what the user says about types that there are not, and numbers given twice.
    pub fn check_options(&mut self) {
        let given = self.options.conformances.clone();
        for (i, item) in given.iter().enumerate() {
            let (ty, interface) = (item.ty, item.interface);
            let found = self.queries.program.interfaces.iter().find(|(_, data)| data.name == interface);
            let Some(id) = found.map(|(id, _)| id) else {
                self.bad_conformance(Span::none(), format!("there is no interface `{interface}`"));
                continue;
            };
            let span = self.queries.program.interfaces[id].span;
            let args = self.queries.args(&[]);
            let conformers = self.queries.conformers(InterfaceRef { interface: id, args });
            if !conformers.iter().any(|c| self.queries.show(*c) == ty.as_str()) {
                self.bad_conformance(span, format!("there is no type `{ty}` that conforms to `{interface}`"));
            }
            let same = |other: &&crate::ConformanceId| other.interface == interface && other.id == item.id;
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
