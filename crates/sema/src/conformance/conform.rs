//! Conformances: which types conform to which interfaces, and how.
//!
//! A structure or extension that names an interface states a conformance to it and to each interface that it inherits.
//! Conformances are indexed by the head of the type ([`stated`]) and found by matching. Associated types are filled in on
//! first use. Witnesses of other requirements follow later, because signatures need associated types.

mod index;
mod stated;

pub(crate) use index::{ConformanceIndex, Search};

use crate::Checked;
use crate::codes;
use crate::derive;
use crate::facts::Facts;
use crate::hir::{
    Arg, Args, AssocId, Bound, ConformanceId, ConformanceRef, FuncKind, FuncRef, InterfaceId, InterfaceRef,
    Ty, TyKind, Witness,
};
use crate::tables::{GenericsId, Head, Item, Owner};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;

impl Checked {
    /// Resolves the bounds of an associated type.
    pub(crate) fn ensure_assoc(&mut self, id: AssocId) {
        if !self.tables.assocs.begin(id) {
            return;
        }
        let decl = self.tables.assocs[id].decl.clone();
        let interface = self.program.assocs[id].interface;
        let scope = self.tables.interfaces[interface].scope;
        let mut equal = vec![];
        for bound in &decl.bounds {
            if let Some(bound) = self.resolve_interface(bound, scope) {
                self.program.assocs[id].bounds.push(bound);
            }
        }
        for clause in &decl.wheres {
            if let ast::Where::Equal(a, b) = clause {
                equal.push((self.resolve_ty(a, scope), self.resolve_ty(b, scope)));
            }
        }
        self.tables.assocs.end(id, equal);
    }

    /// The interfaces that a type not yet known conforms to, by the assumptions in force.
    pub(crate) fn bounds_of(&mut self, ty: Ty) -> Vec<InterfaceRef> {
        let mut interfaces: Vec<InterfaceRef> = vec![];
        let asked = self.program.types.whole_element(ty).unwrap_or(ty);
        for bound in self.tables.assumptions.iter() {
            if let Bound::Conforms(bounded, interface) = bound
                && *bounded == asked
            {
                interfaces.push(*interface);
            }
        }
        interfaces.extend_from_slice(self.facts().open_bounds(ty));
        if let TyKind::Assoc(base, assoc, args) = self.program.types.kind(ty) {
            self.ensure_assoc(assoc);
            let interface = self.program.assocs[assoc].interface;
            let list = self.program.interface_args(base, InterfaceRef { interface, args });
            let params = self.facts().interface_params(interface);
            for bound in self.program.assocs[assoc].bounds.clone() {
                interfaces.push(self.replace_interface(bound, &params, list));
            }
            for bound in self.constraints_on(ty) {
                match bound {
                    Bound::Conforms(on, interface) if on == ty => interfaces.push(interface),
                    _ => {}
                }
            }
        }
        self.closure(ty, interfaces)
    }

    /// Every interface a known type conforms to.
    pub(crate) fn interfaces_of(&mut self, ty: Ty) -> Vec<InterfaceRef> {
        let found = self.conformances_for(ty);
        found.into_iter().map(|(_, interface)| interface).collect()
    }

    /// How a known type conforms to an interface: with which arguments of it.
    pub(crate) fn conformances_to(&mut self, ty: Ty, interface: InterfaceId) -> Vec<InterfaceRef> {
        let mut found = vec![];
        for id in self.filed_conformances(ty, Some(interface)) {
            if let Some((_, interface)) = self.conformance_fits(id, ty)
                && !found.contains(&interface)
            {
                found.push(interface);
            }
        }
        found
    }

    /// Every conformance of a known type.
    pub(crate) fn conformances_for(&mut self, ty: Ty) -> Vec<(ConformanceRef, InterfaceRef)> {
        let mut found = vec![];
        for id in self.filed_conformances(ty, None) {
            if let Some(pair) = self.conformance_fits(id, ty) {
                found.push(pair);
            }
        }
        found
    }

    /// The conformances filed under a type's head, then those for any type.
    fn filed_conformances(&mut self, ty: Ty, interface: Option<InterfaceId>) -> Vec<ConformanceId> {
        let mut ids = vec![];
        for head in self.names().head_of(ty).into_iter().chain([Head::Any]) {
            self.ensure_conformances(head);
            let filed = self.tables.index.conformances(head);
            let wanted = |id: &&ConformanceId| {
                interface.is_none_or(|i| self.program.conformances[**id].interface.interface == i)
            };
            ids.extend(filed.iter().filter(wanted));
        }
        ids
    }

    fn conformance_fits(&mut self, id: ConformanceId, ty: Ty) -> Option<(ConformanceRef, InterfaceRef)> {
        let generics = self.facts().owner_generics(self.tables.conformances[id].owner);
        let (pattern, interface) =
            (self.program.conformances[id].ty, self.program.conformances[id].interface);
        let args = self.match_under(generics, pattern, ty)?;
        let params = self.tables.generics[generics].params.clone();
        let interface = self.replace_interface(interface, &params, args);
        let reference = ConformanceRef { conformance: id, args };
        Some((reference, interface))
    }

    /// How a known type conforms to an interface.
    pub(crate) fn find_conformance(&mut self, ty: Ty, interface: InterfaceRef) -> Option<ConformanceRef> {
        for id in self.filed_conformances(ty, Some(interface.interface)) {
            if let Some((reference, found)) = self.conformance_fits(id, ty)
                && found == interface
            {
                return Some(reference);
            }
        }
        None
    }

    /// Whether a type, known or not, conforms to an interface.
    pub(crate) fn conforms(&mut self, ty: Ty, interface: InterfaceRef) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Error => true,
            _ if self.tables.interfaces[interface.interface].decl.is_conjunction => {
                let params = self.facts().interface_params(interface.interface);
                let args = self.program.interface_args(ty, interface);
                let all = self.closure(ty, vec![interface]);
                let direct = self.program.interfaces[interface.interface].bases.clone();
                let direct = direct.into_iter().map(|base| self.replace_interface(base, &params, args));
                let direct: Vec<InterfaceRef> = direct.collect();
                direct.into_iter().all(|base| all.contains(&base) && self.conforms(ty, base))
            }
            TyKind::Each(pack) if self.program.types.elements_of(pack).is_some() => {
                let types = self.packs().members_to_satisfy(pack);
                types.into_iter().all(|ty| self.conforms(ty, interface))
            }
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                self.bounds_of(ty).contains(&interface) || self.find_conformance(ty, interface).is_some()
            }
            TyKind::Interface(id, args) => {
                let own = InterfaceRef { interface: id, args };
                self.closure(ty, vec![own]).contains(&interface)
            }
            TyKind::Enum(_) if self.facts().is_enum_interface(interface.interface) => true,
            TyKind::Tuple(_) if self.program.lang.differentiable == Some(interface.interface) => {
                derive::tuple_differential(self, ty).is_some()
            }
            _ => self.find_conformance(ty, interface).is_some() || self.is_assumed(ty, interface),
        }
    }

    /// Whether the assumptions in force speak of a type that is more than a parameter: `where vector<T, N> : IArithmetic`.
    fn is_assumed(&mut self, ty: Ty, interface: InterfaceRef) -> bool {
        self.assumed_interfaces(ty).contains(&interface)
    }

    /// The interfaces that assumptions give to such a type.
    pub(crate) fn assumed_interfaces(&mut self, ty: Ty) -> Vec<InterfaceRef> {
        let stated = |bound: &Bound| match *bound {
            Bound::Conforms(of, interface) if of == ty => Some(interface),
            _ => None,
        };
        let stated: Vec<InterfaceRef> = self.tables.assumptions.iter().filter_map(stated).collect();
        if stated.is_empty() { stated } else { self.closure(ty, stated) }
    }

    /// The associated type of a known type.
    pub(crate) fn assoc_of(&mut self, ty: Ty, assoc: AssocId, interface: InterfaceRef) -> Option<Ty> {
        if let TyKind::Tuple(_) = self.program.types.kind(ty)
            && self.program.lang.differential == Some(assoc)
        {
            return derive::tuple_differential(self, ty);
        }
        if let TyKind::Enum(id) = self.program.types.kind(ty)
            && self.facts().is_enum_interface(interface.interface)
        {
            self.ensure_enum(id);
            return Some(self.program.enums[id].underlying);
        }
        let found = self.find_conformance(ty, interface)?;
        self.complete_assocs(found.conformance);
        let known = *self.program.conformances[found.conformance].assocs.get(&assoc)?;
        let params = self.program.conformances[found.conformance].generics.params.clone();
        Some(self.replace(known, &params, found.args))
    }

    /// Finds what stands for the associated types of a conformance.
    pub(crate) fn complete_assocs(&mut self, id: ConformanceId) {
        if !self.tables.conformances.begin_assocs(id) {
            return;
        }
        let owner = self.tables.conformances[id].owner;
        let saved = self.enter(self.facts().owner_generics(owner));
        let (ty, interface) = (self.program.conformances[id].ty, self.program.conformances[id].interface);
        for assoc in self.program.interfaces[interface.interface].assocs.clone() {
            let name = self.program.assocs[assoc].name;
            let members = self.own_members(ty, name);
            let mut members =
                members.into_iter().filter(|f| self.program.is_type_item(f.item)).collect::<Vec<_>>();
            // Each of several extensions may say what the type has for its own interface.
            if let Owner::Extension(ext) = owner {
                let own = self.tables.scopes[self.tables.exts[ext].scope].items(name);
                members.sort_by_key(|f| !own.contains(&f.item));
            }
            let member = members.into_iter().next();
            let scope = self.tables.scopes.keys().next();
            let path = match (member, scope) {
                (Some(found), Some(scope)) => self.found_path(found, Span::none(), scope, false),
                _ => None,
            };
            let known = match path {
                Some(crate::types::resolve::Path::Ty(ty)) => Some(ty),
                _ => derive::associated_type(self, id, assoc),
            };
            match known {
                Some(known) => {
                    self.program.conformances[id].assocs.insert(assoc, known);
                }
                None => self.missing_assoc(id, assoc),
            }
        }
        self.leave(saved);
        self.tables.conformances.end_assocs(id);
    }

    fn missing_assoc(&mut self, id: ConformanceId, assoc: AssocId) {
        let conformance = &self.program.conformances[id];
        let (ty, span) = (conformance.ty, conformance.span);
        let interface = conformance.interface;
        let name = self.program.assocs[assoc].name;
        let message = format!(
            "`{}` does not define `{name}` of `{}`",
            self.show(ty),
            self.facts().show_interface(interface)
        );
        let declared = self.program.assocs[assoc].span;
        self.diagnostics.push(
            Diagnostic::new(codes::MISSING_REQUIREMENT, span, message)
                .label(declared, "required here")
                .help(format!("add `typealias {name} = ..;`")),
        );
        let error = self.program.types.error();
        self.program.conformances[id].assocs.insert(assoc, error);
    }

    /// What stands for a requirement; see [`Queries::witness`](crate::Queries::witness).
    pub(crate) fn find_witness(&mut self, requirement: FuncRef) -> Option<Witness> {
        let FuncKind::Requirement(interface) = self.program.funcs[requirement.func].kind else {
            return None;
        };
        let list = self.program.types.list(requirement.args).to_vec();
        let count = self.facts().interface_params(interface).len();
        let Some((Arg::Ty(ty), rest)) = list.split_first() else {
            return None;
        };
        let (iface_args, own) = rest.split_at((count - 1).min(rest.len()));
        let args = self.program.types.args(iface_args);
        let differentiable = self.program.lang.differentiable == Some(interface);
        if differentiable && matches!(self.program.types.kind(*ty), TyKind::Tuple(_)) {
            return derive::witness(self, requirement.func);
        }
        let found = self.find_conformance(*ty, InterfaceRef { interface, args })?;
        self.complete_witnesses(found.conformance);
        let conformance = &self.program.conformances[found.conformance];
        let witness = *conformance.witnesses.get(&requirement.func)?;
        let Witness::Func(func) = witness else {
            return Some(witness);
        };
        let mut params = conformance.generics.params.clone();
        let own_params = &self.program.funcs[requirement.func].generics.params[count..];
        params.extend_from_slice(own_params);
        let mut args = self.program.types.list(found.args).to_vec();
        args.extend_from_slice(own);
        let args: Args = self.program.types.args(&args);
        Some(Witness::Func(self.replace_func(func, &params, args)))
    }

    /// `T.Differential`, if the type is differentiable.
    pub(crate) fn differential_of(&mut self, ty: Ty) -> Option<Ty> {
        let (interface, assoc) = (self.program.lang.differentiable?, self.program.lang.differential?);
        let args = self.program.types.args(&[]);
        let reference = InterfaceRef { interface, args };
        if !self.conforms(ty, reference) {
            return None;
        }
        Some(self.project(ty, assoc, args))
    }
}

impl Facts<'_> {
    /// Whether an extension of all types states conformances to an interface.
    pub(crate) fn is_stated_for_all(self, interface: InterfaceId) -> bool {
        let all = self.tables.index.conformances(Head::Any);
        all.iter().any(|id| self.program.conformances[*id].interface.interface == interface)
    }

    /// Whether an interface is the one that all enumerations conform to.
    pub(crate) fn is_enum_interface(self, interface: InterfaceId) -> bool {
        self.tables.lang.get(&"__EnumType".into()) == Some(&Item::Interface(interface))
    }

    /// The parameters of a declaration with members.
    pub(crate) fn owner_generics(self, owner: Owner) -> GenericsId {
        match owner {
            Owner::Struct(id) => self.tables.structs[id].generics,
            Owner::Extension(id) => self.tables.exts[id].generics,
            Owner::Interface(id) => self.tables.interfaces[id].generics,
            Owner::Enum(id) => self.tables.scopes[self.tables.enums[id].scope].generics(),
            Owner::Module => cotangent_base::Entity::new(0),
        }
    }
}
