//! Inheritance of structures.
//!
//! A `struct D : Base` contains a `Base` as its first part. It converts to `Base` where one is read or written, and the
//! members of `Base` can satisfy requirements of the interfaces that `D` names. `D` does not inherit conformances: write
//! `struct D : Base, IShape`. This includes `IDifferentiable`; since omitting it loses derivatives, a warning reports that.

use crate::Checked;
use crate::codes;
use crate::conformance::witness::Wanted;
use crate::facts::Facts;
use crate::hir::{Conformance, ConformanceId, FuncId, InterfaceRef, StructId, Ty, TyKind, Witness};
use crate::names::lookup::Found;
use crate::tables::Item;
use cotangent_base::{Diagnostic, Symbol};
use cotangent_syntax::ast::AccessorKind;

impl Checked {
    /// How many structures down from `ty` the structure `base` is.
    pub(crate) fn levels_to_base(&mut self, mut ty: Ty, base: Ty) -> Option<u32> {
        let mut levels = 0;
        while ty != base {
            let (id, _) = self.names().struct_of(ty)?;
            ty = self.base_of(ty, id)?;
            levels += 1;
        }
        Some(levels)
    }

    /// What the nearest structure that `ty` derives from and that knows a name has under it.
    pub(crate) fn inherited_members(&mut self, mut ty: Ty, name: Symbol) -> Vec<Found> {
        let mut levels = 0;
        while let Some((id, _)) = self.names().struct_of(ty)
            && let Some(base) = self.base_of(ty, id)
        {
            (ty, levels) = (base, levels + 1);
            let found = self.own_members(ty, name);
            if !found.is_empty() {
                return found.into_iter().map(|f| Found { base: levels, ..f }).collect();
            }
        }
        vec![]
    }

    /// What a structure inherits that meets a requirement of an interface it names.
    pub(crate) fn inherited_witness(
        &mut self,
        id: ConformanceId,
        requirement: FuncId,
        wanted: &Wanted,
        accessor: Option<AccessorKind>,
    ) -> Option<Witness> {
        let ty = self.program.conformances[id].ty;
        let (name, _) = self.facts().requirement_name(requirement);
        let found = self.inherited_members(ty, name);
        if wanted.is_static {
            return found.iter().find_map(|member| self.meets(wanted, *member, accessor));
        }
        if accessor.is_some() {
            let signature = wanted.own.is_empty().then_some(&wanted.signature)?;
            return self.accessor_wrapper(id, requirement, signature, *found.first()?);
        }
        let is_func = |f: &Found| matches!(f.item, Item::Func(_));
        found.iter().any(is_func).then(|| self.wrapper(id, requirement, wanted, &found))?
    }

    /// Warns of a structure that derives from a differentiable one and is not differentiable itself, and of the other way round.
    pub(crate) fn check_inherited_derivatives(&mut self, id: StructId) {
        let generics = self.tables.structs[id].generics;
        let args = self.names().identity(generics);
        let this = self.struct_ty(id, args);
        let Some(base) = self.base_of(this, id) else { return };
        let saved = self.enter(generics);
        let of_base = self.has_derivative(base);
        let of_this = self.has_derivative(this);
        let lost = match (of_base, of_this) {
            (true, false) => true,
            (false, true) => self.fields_with_derivative(base),
            _ => false,
        };
        self.leave(saved);
        if !lost {
            return;
        }
        let (name, base) = (self.program.structs[id].name, self.show(base));
        let (message, help) = match of_base {
            true => (
                format!("`{name}` is not differentiable, but its base `{base}` is"),
                format!("declare `struct {name} : {base}, IDifferentiable`"),
            ),
            false => (
                format!(
                    "`{name}` is differentiable, but its base `{base}` is not: its fields have no derivatives"
                ),
                format!("declare `{base}` with `: IDifferentiable` too"),
            ),
        };
        let span = self.program.structs[id].span;
        self.diagnostics.push(Diagnostic::new(codes::BASE_LOSES, span, message).help(help));
    }

    fn has_derivative(&mut self, ty: Ty) -> bool {
        let Some(interface) = self.program.lang.differentiable else { return false };
        let interface = InterfaceRef { interface, args: self.program.types.args(&[]) };
        self.conforms(ty, interface)
    }

    fn fields_with_derivative(&mut self, ty: Ty) -> bool {
        let Some((id, args)) = self.names().struct_of(ty) else { return false };
        self.fields_under(id, args).into_iter().any(|field| self.has_derivative(field))
    }
}

impl Facts<'_> {
    /// The structure that `ty` derives from, if that conforms to an interface.
    pub(crate) fn conforming_base(self, ty: Ty, interface: InterfaceRef) -> Option<Symbol> {
        let TyKind::Struct(id, _) = self.program.types.kind(ty) else { return None };
        let base = self.tables.structs[id].base?;
        let TyKind::Struct(base_id, _) = self.program.types.kind(base) else { return None };
        let is_it = |conformance: &Conformance| {
            let TyKind::Struct(of, _) = self.program.types.kind(conformance.ty) else { return false };
            of == base_id && conformance.interface.interface == interface.interface
        };
        match self.program.conformances.values().any(is_it) {
            true => Some(self.program.structs[base_id].name),
            false => self.conforming_base(base, interface),
        }
    }
}
