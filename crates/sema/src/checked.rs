//! What the checker hands out: the typed program and the questions lowering may ask about it.
//!
//! Bodies of the user's functions are checked before anybody sees a [`Checked`]; those of the library when
//! they are first asked for. The same value is the checker's own state while it works: the other modules of
//! this crate add their part to it.

use crate::hir::{
    Args, Body, ConformanceRef, FuncId, FuncRef, GenericParamId, Generics, GlobalId, InterfaceRef, Program,
    StructId, Synth, Ty, TyKind, Val, Witness,
};
use crate::tables::Tables;
use cotangent_base::{Diagnostics, Scalar};
use std::sync::Arc;

/// A program without errors, or with those in `diagnostics`.
#[derive(Clone, Default)]
pub struct Checked {
    /// All declarations.
    pub program: Program,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
    /// Scopes and syntax behind the declarations.
    pub(crate) tables: Tables,
}

/// Arguments for generic parameters.
#[derive(Clone, Debug)]
pub struct Subst {
    /// The parameters.
    pub params: Vec<GenericParamId>,
    /// An argument for each.
    pub args: Args,
    /// The element that `each` stands for.
    pub at: Option<usize>,
}

impl Subst {
    /// Arguments for the parameters of a declaration.
    pub fn new(generics: &Generics, args: Args) -> Self {
        Self { params: generics.params.clone(), args, at: None }
    }
}

impl Checked {
    /// Makes clones cheap: they share all that they do not change.
    pub(crate) fn share(&mut self) {
        self.program.share();
        self.tables.share();
    }

    /// The body of a function, or `None` if it has none. Checks it if that was not done yet.
    pub fn body(&mut self, func: FuncId) -> Option<Arc<Body>> {
        let body = self.check_body(func);
        self.settle();
        body
    }

    /// The initializer of a global, as a body with one `return`.
    pub fn initializer(&mut self, global: GlobalId) -> Option<Arc<Body>> {
        let body = self.check_initializer(global);
        self.settle();
        body
    }

    /// `ty` with parameters replaced and associated types of known types looked up.
    pub fn subst(&mut self, ty: Ty, subst: &Subst) -> Ty {
        let ty = self.rewrite(ty, subst.rewrite());
        self.settle();
        ty
    }

    /// `val` with parameters replaced and arithmetic done.
    pub fn subst_val(&mut self, val: Val, subst: &Subst) -> Val {
        self.rewrite_val(val, subst.rewrite())
    }

    /// The integer or truth value of a `static const` that an interface requires, given its (concrete) getter.
    pub fn required_constant(&mut self, getter: FuncRef) -> Option<i64> {
        if !self.is_required_constant(getter) {
            return None;
        }
        let val = self.required_val(getter);
        self.settle();
        self.program.types.known(val)
    }

    /// A reference with the parameters in its arguments replaced.
    pub fn subst_func(&mut self, func: FuncRef, subst: &Subst) -> FuncRef {
        FuncRef { func: func.func, args: self.rewrite_args(func.args, subst.rewrite()) }
    }

    /// A list of arguments with the parameters in it replaced.
    pub fn subst_args(&mut self, list: Args, subst: &Subst) -> Args {
        self.rewrite_args(list, subst.rewrite())
    }

    /// How a (concrete) type conforms to an interface, if it does.
    pub fn conformance(&mut self, ty: Ty, interface: InterfaceRef) -> Option<ConformanceRef> {
        let found = self.find_conformance(ty, interface)?;
        self.complete_witnesses(found.conformance);
        self.settle();
        Some(found)
    }

    /// What stands for a called requirement: `requirement.args` are the conforming type, the interface's arguments
    /// and the requirement's own. The result's arguments are concrete if those are.
    pub fn witness(&mut self, requirement: FuncRef) -> Option<Witness> {
        let witness = self.find_witness(requirement);
        self.settle();
        witness
    }

    /// The types of a structure's fields under its arguments.
    pub fn field_types(&mut self, id: StructId, args: Args) -> Vec<Ty> {
        let types = self.fields_under(id, args);
        self.settle();
        types
    }

    /// `T.Differential`, if the (concrete) type is differentiable.
    pub fn differential(&mut self, ty: Ty) -> Option<Ty> {
        let ty = self.differential_of(ty);
        self.settle();
        ty
    }

    /// Whether a (concrete) type conforms to an interface.
    pub fn satisfies(&mut self, ty: Ty, interface: InterfaceRef) -> bool {
        let conforms = self.conforms(ty, interface);
        self.settle();
        conforms
    }

    /// The user's types without generic parameters that conform to an interface, in the order of the program.
    pub fn conformers(&mut self, interface: InterfaceRef) -> Vec<Ty> {
        let none = self.program.types.args(&[]);
        let mut all = vec![];
        for id in self.program.structs.keys().collect::<Vec<_>>() {
            let data = &self.program.structs[id];
            let library = self.tables.scopes[self.tables.structs[id].scope].library;
            if library || data.differential_of.is_some() || !data.generics.params.is_empty() {
                continue;
            }
            let ty = self.program.types.ty(TyKind::Struct(id, none));
            if self.conforms(ty, interface) {
                all.push(ty);
            }
        }
        self.settle();
        all
    }

    /// What the compiler makes for this requirement of `IDifferentiable`.
    pub fn synthesized(&self, requirement: FuncId) -> Option<Synth> {
        match self.synthesized_witness(requirement)? {
            Witness::Synth(synth) => Some(synth),
            Witness::Func(_) | Witness::Field(_) => None,
        }
    }

    /// A scalar type.
    pub fn scalar_ty(&mut self, scalar: Scalar) -> Ty {
        self.program.types.ty(TyKind::Scalar(scalar))
    }

    /// The enumerators that the user declares, with their types: `Kind.Round` and its number.
    pub fn user_enumerators(&self) -> Vec<(String, i64)> {
        let own = self.tables.enums.iter().filter(|(_, info)| !self.tables.scopes[info.scope].library);
        own.flat_map(|(id, _)| {
            let data = &self.program.enums[id];
            data.cases.iter().map(|(case, value)| (format!("{}.{case}", data.name), *value))
        })
        .collect()
    }

    /// Whether a function belongs to the library.
    pub fn is_library(&self, func: FuncId) -> bool {
        self.tables.scopes[self.tables.funcs[func].scope].library
    }

    /// A type as the user would write it.
    pub fn show(&self, ty: Ty) -> String {
        self.show_ty(ty)
    }
}

#[cfg(test)]
mod tests {
    use super::Checked;

    #[test]
    fn a_checked_program_can_be_shared_between_threads() {
        fn shared<T: Clone + Send + Sync>() {}
        shared::<Checked>();
    }
}
