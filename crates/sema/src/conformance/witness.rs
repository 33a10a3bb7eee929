//! Finds the witness of each requirement of a conformance: the declaration that satisfies it.
//!
//! A requirement is satisfied by a member of the conforming type or its extensions with the same name and, after substitution
//! of the interface's parameters, the same signature. A field can satisfy a property. Inherited members, the requirement's
//! default body, and synthesized members of `IDifferentiable` count too.

use crate::Checked;
use crate::codes;
use crate::declarations::attrs;
use crate::derive::{self, Signature};
use crate::facts::{Facts, Rules};
use crate::hir::{
    Arg, Args, Assoc, Bound, Conformance, ConformanceId, FuncId, FuncRef, GenericParamId, Program, TyKind,
    Witness,
};
use crate::names::lookup::Found;
use crate::tables::{FuncSource, Item};
use cotangent_base::{Diagnostic, Symbol};
use cotangent_syntax::ast::{AccessorKind, FuncKind as Written, ModifierKind};

/// A requirement as a conforming type must meet it.
pub(crate) struct Wanted {
    func: FuncId,
    pub(crate) signature: Signature,
    pub(crate) is_static: bool,
    /// The requirement's own generic parameters, as arguments.
    pub(crate) own: Vec<Arg>,
    /// What may be assumed of these.
    pub(crate) bounds: Vec<Bound>,
}

impl Checked {
    /// Finds what stands for each requirement of a conformance, and reports what is missing.
    pub(crate) fn complete_witnesses(&mut self, id: ConformanceId) {
        if !self.tables.conformances.begin_witnesses(id) {
            return;
        }
        self.complete_assocs(id);
        let owner = self.tables.conformances[id].owner;
        let saved = self.enter(self.facts().owner_generics(owner));
        let interface = self.program.conformances[id].interface;
        for requirement in self.program.interfaces[interface.interface].requirements.clone() {
            self.ensure_func(requirement);
            match self.witness_for(id, requirement) {
                Some(witness) => {
                    if let Witness::Func(func) = witness {
                        derive::check_witness(self, requirement, func.func);
                        self.tables.conformances.meet(requirement, func.func);
                        self.rules().check_override(requirement, func.func);
                    }
                    self.program.conformances[id].witnesses.insert(requirement, witness);
                }
                None => self.missing_requirement(id, requirement),
            }
        }
        self.check_assoc_bounds(id);
        self.check_constraints(id);
        self.leave(saved);
        self.tables.conformances.end_witnesses(id);
        derive::check_conformance(self, id);
    }

    /// Checks that the types that stand for associated types conform to what is asked of these.
    fn check_assoc_bounds(&mut self, id: ConformanceId) {
        let Conformance { ty, interface, span, .. } = self.program.conformances[id];
        if self.program.lang.differentiable == Some(interface.interface) {
            // A differential must hold to more than its bounds; whoever checks that says it better.
            return;
        }
        let params = self.facts().interface_params(interface.interface);
        let args = self.program.interface_args(ty, interface);
        for assoc in self.program.interfaces[interface.interface].assocs.clone() {
            self.ensure_assoc(assoc);
            let Some(chosen) = self.program.conformances[id].assocs.get(&assoc).copied() else {
                continue;
            };
            for bound in self.program.assocs[assoc].bounds.clone() {
                let bound = self.replace_interface(bound, &params, args);
                if !self.conforms(chosen, bound) {
                    let unmet = self.facts().describe_unmet(Bound::Conforms(chosen, bound));
                    let Assoc { name, span: declared, .. } = self.program.assocs[assoc];
                    let message = format!("`{name}` of `{}` is not suitable: {unmet}", self.show(ty));
                    let diagnostic = Diagnostic::new(codes::UNMET_BOUND, span, message);
                    self.diagnostics.push(diagnostic.label(declared, "required here"));
                }
            }
        }
    }

    fn witness_for(&mut self, id: ConformanceId, requirement: FuncId) -> Option<Witness> {
        let (wanted, around) = self.wanted(id, requirement);
        let ty = self.program.conformances[id].ty;
        let (name, accessor) = self.facts().requirement_name(requirement);
        let found = self.own_members(ty, name);
        let found: Vec<Found> = found.into_iter().filter(|f| !self.program.is_requirement(f.item)).collect();
        for member in &found {
            if let Some(witness) = self.meets(&wanted, *member, accessor) {
                return Some(witness);
            }
        }
        let is_func = |f: &Found| matches!(f.item, Item::Func(_));
        if accessor.is_none()
            && found.iter().any(is_func)
            && let Some(witness) = self.wrapper(id, requirement, &wanted, &found)
        {
            return Some(witness);
        }
        if let ([member], Some(_)) = (&found[..], accessor)
            && matches!(member.item, Item::Property(property) if self.tables.props[property].name.is_none())
            && let Some(witness) = self.accessor_wrapper(id, requirement, &wanted.signature, *member)
        {
            return Some(witness);
        }
        if found.is_empty()
            && let Some(witness) = self.inherited_witness(id, requirement, &wanted, accessor)
        {
            return Some(witness);
        }
        if self.program.funcs[requirement].has_body {
            let args = self.program.types.args(&around);
            return Some(Witness::Func(FuncRef { func: requirement, args }));
        }
        derive::witness(self, requirement).or_else(|| self.default_constructor(id, requirement, &wanted))
    }

    /// The constructor without parameters of a structure that declares none: its default value.
    fn default_constructor(
        &mut self,
        id: ConformanceId,
        requirement: FuncId,
        wanted: &Wanted,
    ) -> Option<Witness> {
        let is_constructor = match &self.tables.funcs[requirement].source {
            FuncSource::Func(decl) => decl.kind == Written::Constructor,
            FuncSource::Accessor(..) => false,
        };
        let (ty, own) = (self.program.conformances[id].ty, &wanted.signature.params);
        let TyKind::Struct(of, _) = self.program.types.kind(ty) else { return None };
        let scope = self.tables.structs[of].scope;
        if !is_constructor || !own.is_empty() || self.tables.scopes[scope].has(attrs::INIT.into()) {
            return None;
        }
        self.default_value_wrapper(id, requirement, &wanted.signature)
    }

    /// The requirement seen from the conforming type, and the arguments under which it is seen.
    pub(crate) fn wanted(&mut self, id: ConformanceId, requirement: FuncId) -> (Wanted, Vec<Arg>) {
        let (ty, interface) = (self.program.conformances[id].ty, self.program.conformances[id].interface);
        let params = self.program.funcs[requirement].generics.params.clone();
        let outer = self.facts().interface_params(interface.interface).len();
        let own: Vec<Arg> =
            params[outer.min(params.len())..].iter().map(|p| self.program.param_arg(*p)).collect();
        let mut around = vec![Arg::Ty(ty)];
        around.extend_from_slice(self.program.types.list(interface.args));
        around.extend_from_slice(&own);
        let args = self.program.types.args(&around);
        let signature = self.signature_under(requirement, &params, args);
        let is_static = self.tables.funcs[requirement].is_static;
        let bounds = self.own_bounds(id, requirement);
        (Wanted { func: requirement, signature, is_static, own, bounds }, around)
    }

    /// What a requirement assumes of its own generic parameters, seen from the conforming type.
    fn own_bounds(&mut self, id: ConformanceId, requirement: FuncId) -> Vec<Bound> {
        let Conformance { ty, interface, .. } = self.program.conformances[id];
        let all = self.bounds(self.tables.funcs[requirement].generics);
        let outer = self.bounds(self.tables.interfaces[interface.interface].generics).len();
        let params = self.facts().interface_params(interface.interface);
        let args = self.program.interface_args(ty, interface);
        all[outer..].iter().map(|bound| self.replace_bound(*bound, &params, args)).collect()
    }

    fn signature_under(&mut self, func: FuncId, params: &[GenericParamId], args: Args) -> Signature {
        let mut signature = Signature::of(&self.program.funcs[func]);
        for param in &mut signature.params {
            param.ty = self.replace(param.ty, params, args);
        }
        signature.result = self.replace(signature.result, params, args);
        signature
    }

    /// Whether a member meets a requirement.
    pub(crate) fn meets(
        &mut self,
        wanted: &Wanted,
        member: Found,
        accessor: Option<AccessorKind>,
    ) -> Option<Witness> {
        match (member.item, accessor) {
            (Item::Func(func), None) => self.func_meets(wanted, func, member),
            (Item::Property(property), Some(kind)) if self.tables.props[property].element.is_some() => {
                // Elements are places; the library has methods that read and write them.
                let name = match kind {
                    AccessorKind::Set => attrs::ELEMENT_SET,
                    AccessorKind::Get | AccessorKind::Ref => attrs::ELEMENT_GET,
                };
                let found = self.own_members(member.of?, name.into());
                found.into_iter().find_map(|member| match member.item {
                    Item::Func(func) => self.func_meets(wanted, func, member),
                    _ => None,
                })
            }
            (Item::Property(property), Some(kind)) => {
                let info = &self.tables.props[property];
                let func = match kind {
                    AccessorKind::Set => info.set,
                    AccessorKind::Get | AccessorKind::Ref => info.get,
                };
                self.func_meets(wanted, func?, member)
            }
            (Item::Field(number), Some(kind)) if !wanted.is_static => {
                let of = member.of?;
                let (id, args) = self.names().struct_of(of)?;
                let types = self.fields_under(id, args);
                let offset = types.len() - self.tables.structs[id].fields.len();
                let index = number as usize + offset;
                let required = match kind {
                    AccessorKind::Set => wanted.signature.params.last()?.ty,
                    AccessorKind::Get | AccessorKind::Ref => wanted.signature.result,
                };
                (types.get(index) == Some(&required)).then_some(Witness::Field(index as u32))
            }
            (Item::Global(global), Some(AccessorKind::Get)) => {
                self.ensure_global(global);
                let getter = self.collector().getter_of(global);
                self.func_meets(wanted, getter, member)
            }
            _ => None,
        }
    }

    fn func_meets(&mut self, wanted: &Wanted, func: FuncId, member: Found) -> Option<Witness> {
        self.ensure_func(func);
        if self.tables.funcs[func].is_static != wanted.is_static {
            return None;
        }
        let mut args = self.program.types.list(member.args).to_vec();
        args.extend_from_slice(&wanted.own);
        let params = self.program.funcs[func].generics.params.clone();
        if params.len() != args.len() {
            return None;
        }
        let args = self.program.types.args(&args);
        let own = self.signature_under(func, &params, args);
        let (own, required) = (self.program.unpacked(own), self.program.unpacked(wanted.signature.clone()));
        let same =
            |a: &derive::SigParam, b: &derive::SigParam| a.ty == b.ty && (a.dir == b.dir || a.name == "this");
        let throws = |func: FuncId| self.program.funcs[func].throws;
        if throws(func) != throws(wanted.func) {
            return None;
        }
        let this_fits = match (self.program.funcs[func].this, self.program.funcs[wanted.func].this) {
            (Some(own), Some(required)) => required.mutating || !own.mutating,
            _ => true,
        };
        let fits = own.params.len() == required.params.len()
            && own.params.iter().zip(&required.params).all(|(a, b)| same(a, b))
            && own.result == required.result
            && this_fits
            && self.facts().passes_alike(wanted.func, func)
            && !self.program.drops_elsewhere(&own, &required, wanted.func)
            && !self.is_pickier(wanted, func, args);
        fits.then_some(Witness::Func(FuncRef { func, args }))
    }

    /// Whether a generic member asks more of its arguments than the requirement. Who knows only the requirement may give it others.
    fn is_pickier(&mut self, wanted: &Wanted, func: FuncId, args: Args) -> bool {
        if wanted.own.is_empty() {
            return false;
        }
        let before = self.tables.assumptions.mark();
        self.tables.assumptions.add(wanted.bounds.iter().copied());
        let unmet = self.unmet_bound(self.tables.funcs[func].generics, args);
        self.tables.assumptions.forget_since(before);
        unmet.is_some()
    }
}

impl Rules<'_> {
    /// What replaces a default must say `override`, so that a default added later replaces nothing by accident.
    fn check_override(&mut self, requirement: FuncId, witness: FuncId) {
        let info = &self.tables.funcs[witness];
        let marked = info.prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Override);
        let library = self.tables.scopes[info.scope].is_library();
        if marked || library || requirement == witness || !self.program.funcs[requirement].has_body {
            return;
        }
        let name = self.program.funcs[witness].name;
        let (span, declared) = (self.program.funcs[witness].span, self.program.funcs[requirement].span);
        let message = format!("`{name}` replaces a default of its interface without `override`");
        self.diagnostics.push(
            Diagnostic::new(codes::MISSING_OVERRIDE, span, message)
                .label(declared, "the default")
                .help("write `override` before it"),
        );
    }
}

impl Facts<'_> {
    /// The name under which a requirement is met, and which accessor of it.
    pub(crate) fn requirement_name(self, requirement: FuncId) -> (Symbol, Option<AccessorKind>) {
        match &self.tables.funcs[requirement].source {
            FuncSource::Func(decl) => match decl.kind {
                Written::Constructor => (attrs::INIT.into(), None),
                Written::Operator => (attrs::operator_name(decl.name.name.as_str()), None),
                Written::Plain => (decl.name.name, None),
            },
            FuncSource::Accessor(property, number) => {
                let info = &self.tables.props[*property];
                let name = info.name.unwrap_or_else(|| attrs::SUBSCRIPT.into());
                (name, Some(info.accessors[*number].kind))
            }
        }
    }
}

impl Program {
    fn is_requirement(&self, item: Item) -> bool {
        match item {
            Item::Func(func) => matches!(self.funcs[func].kind, crate::hir::FuncKind::Requirement(_)),
            _ => false,
        }
    }

    /// Whether a member says `no_diff` elsewhere than the requirement. The derivative of the requirement has the signature that
    /// follows from the requirement, so the member is called through a wrapper then.
    fn drops_elsewhere(&self, own: &Signature, required: &Signature, requirement: FuncId) -> bool {
        let differs =
            |(own, required): (&derive::SigParam, &derive::SigParam)| required.no_diff != own.no_diff;
        self.funcs[requirement].diff.is_differentiable()
            && (own.params.iter().zip(&required.params).any(differs)
                || required.no_diff_result != own.no_diff_result)
    }

    /// A signature in which known packs are replaced by their elements.
    fn unpacked(&self, mut signature: Signature) -> Signature {
        let element =
            |param: &derive::SigParam, item: Arg| Some(derive::SigParam { ty: item.ty()?, ..*param });
        let params = std::mem::take(&mut signature.params);
        for param in params {
            match self.types.elements_of(param.ty).filter(|_| self.is_pack(param.ty)) {
                Some(items) => signature.params.extend(items.into_iter().filter_map(|i| element(&param, i))),
                None => signature.params.push(param),
            }
        }
        signature
    }
}
