//! Queries of lowering about a checked program.
//!
//! Input: a [`Checked`], which does not change and can be shared between threads. [`Queries`] computes what the program does
//! not contain yet: the body of a library function, which is checked on first use; a type with its generic arguments; the
//! function that satisfies a requirement. New types, instances and bodies go into an overlay that belongs to the handle. The
//! rest is shared with the program.
//!
//! Invariants: an ID of the program means the same in every handle made from it. An ID that a handle created is valid in that
//! handle only. Diagnostics of library bodies that were checked on demand are in [`Queries::take_diagnostics`].

use crate::Checked;
use crate::checked::Subst;
use crate::hir::{
    Arg, Args, Body, ConformanceRef, EnumId, FuncDiff, FuncId, FuncRef, GlobalId, InterfaceRef, Measure,
    StructId, Ty, TyKind, Val, Witness,
};
use cotangent_base::{Diagnostics, Scalar, Symbol};
use std::ops::Deref;
use std::sync::Arc;

/// Answers questions about a checked program without changing it. Everything that can be read from a [`Checked`] can be read
/// here too, with what was found out since.
#[derive(Clone)]
pub struct Queries {
    /// A copy-on-write clone of the program.
    checked: Checked,
}

impl Deref for Queries {
    type Target = Checked;
    fn deref(&self) -> &Checked {
        &self.checked
    }
}

impl Checked {
    /// A handle that answers questions about this program. It costs little: tables are shared until they change.
    pub fn queries(&self) -> Queries {
        let mut checked = self.clone();
        checked.diagnostics = Diagnostics::new();
        Queries { checked }
    }
}

impl Queries {
    /// What was reported since the handle was made or this was last called.
    pub fn take_diagnostics(&mut self) -> Diagnostics {
        std::mem::take(&mut self.checked.diagnostics)
    }

    /// The body of a function, or `None` if it has none. Checks it if that was not done yet.
    pub fn body(&mut self, func: FuncId) -> Option<Arc<Body>> {
        let body = self.checked.check_body(func);
        self.checked.settle();
        body
    }

    /// The integer type of an enumeration's values. One of the library may not have been needed before.
    pub fn underlying(&mut self, id: EnumId) -> Ty {
        self.checked.ensure_enum(id);
        self.checked.settle();
        self.checked.program.enums[id].underlying
    }

    /// Whether a structure has so many fields, counting nested ones, that visiting each would take too long.
    pub fn has_too_many_fields(&mut self, ty: Ty) -> bool {
        let too_many = self.checked.has_too_many_fields(ty);
        self.checked.settle();
        too_many
    }

    /// What is known of the derivatives of an instance.
    pub fn diff_of(&mut self, func: FuncRef) -> FuncDiff {
        let diff = self.checked.diff_of_instance(func);
        self.checked.settle();
        diff
    }

    /// The initializer of a global, as a body with one `return`.
    pub fn initializer(&mut self, global: GlobalId) -> Option<Arc<Body>> {
        let body = self.checked.check_initializer(global);
        self.checked.settle();
        body
    }

    /// `ty` with parameters replaced and associated types of known types looked up.
    pub fn subst(&mut self, ty: Ty, subst: &Subst) -> Ty {
        let ty = self.checked.rewrite(ty, subst.rewrite());
        self.checked.settle();
        ty
    }

    /// `val` with parameters replaced and arithmetic done.
    pub fn subst_val(&mut self, val: Val, subst: &Subst) -> Val {
        self.checked.rewrite_val(val, subst.rewrite())
    }

    /// The integer or truth value of a `static const` that an interface requires, given its (concrete) getter.
    pub fn required_constant(&mut self, getter: FuncRef) -> Option<i64> {
        if !self.checked.facts().is_required_constant(getter) {
            return None;
        }
        let val = self.checked.required_val(getter);
        self.checked.settle();
        self.checked.program.types.known(val)
    }

    /// A reference with the parameters in its arguments replaced.
    pub fn subst_func(&mut self, func: FuncRef, subst: &Subst) -> FuncRef {
        FuncRef { func: func.func, args: self.checked.rewrite_args(func.args, subst.rewrite()) }
    }

    /// A list of arguments with the parameters in it replaced.
    pub fn subst_args(&mut self, list: Args, subst: &Subst) -> Args {
        self.checked.rewrite_args(list, subst.rewrite())
    }

    /// How a (concrete) type conforms to an interface, if it does.
    pub fn conformance(&mut self, ty: Ty, interface: InterfaceRef) -> Option<ConformanceRef> {
        let found = self.checked.find_conformance(ty, interface)?;
        self.checked.complete_witnesses(found.conformance);
        self.checked.settle();
        Some(found)
    }

    /// What stands for a called requirement: `requirement.args` are the conforming type, the interface's arguments
    /// and the requirement's own. The result's arguments are concrete if those are.
    pub fn witness(&mut self, requirement: FuncRef) -> Option<Witness> {
        let witness = self.checked.find_witness(requirement);
        self.checked.settle();
        witness
    }

    /// The types of a structure's fields under its arguments.
    pub fn field_types(&mut self, id: StructId, args: Args) -> Vec<Ty> {
        let types = self.checked.fields_under(id, args);
        self.checked.settle();
        types
    }

    /// `T.Differential`, if the (concrete) type is differentiable.
    pub fn differential(&mut self, ty: Ty) -> Option<Ty> {
        let ty = self.checked.differential_of(ty);
        self.checked.settle();
        ty
    }

    /// Whether a (concrete) type conforms to an interface.
    pub fn satisfies(&mut self, ty: Ty, interface: InterfaceRef) -> bool {
        let conforms = self.checked.conforms(ty, interface);
        self.checked.settle();
        conforms
    }

    /// Whether a structure is one of the library.
    pub fn is_library_struct(&self, id: StructId) -> bool {
        self.checked.tables.scopes[self.checked.tables.structs[id].scope].is_library()
    }

    /// The user's types without generic parameters that conform to an interface, in the order of the program.
    pub fn conformers(&mut self, interface: InterfaceRef) -> Vec<Ty> {
        let none = self.checked.program.types.args(&[]);
        let mut all = vec![];
        for id in self.checked.program.structs.keys().collect::<Vec<_>>() {
            let data = &self.checked.program.structs[id];
            if self.is_library_struct(id)
                || data.differential_of.is_some()
                || !data.generics.params.is_empty()
            {
                continue;
            }
            let ty = self.checked.program.types.ty(TyKind::Struct(id, none));
            if self.checked.conforms(ty, interface) {
                all.push(ty);
            }
        }
        self.checked.settle();
        all
    }

    /// The type and the interface type of a conformance that the command line names with generic arguments.
    pub fn given_conformance(&mut self, ty: Symbol, interface: Symbol) -> Option<(Ty, Ty)> {
        self.checked.given_conformance(ty, interface)
    }

    /// An interface as a type.
    pub fn interface_ty(&mut self, interface: InterfaceRef) -> Ty {
        self.checked.program.types.ty(TyKind::Interface(interface.interface, interface.args))
    }

    /// A scalar type.
    pub fn scalar_ty(&mut self, scalar: Scalar) -> Ty {
        self.checked.program.types.ty(TyKind::Scalar(scalar))
    }

    /// The type `kind`.
    pub fn ty(&mut self, kind: TyKind) -> Ty {
        self.checked.program.types.ty(kind)
    }

    /// The argument list `args`.
    pub fn args(&mut self, args: &[Arg]) -> Args {
        self.checked.program.types.args(args)
    }

    /// A known compile-time integer.
    pub fn int_val(&mut self, n: i64) -> Val {
        self.checked.program.types.int_val(n)
    }

    /// The size or alignment of a type; `None` for a type that has no size.
    pub fn measure_val(&mut self, measure: Measure, ty: Ty) -> Option<Val> {
        self.checked.measure_val(measure, ty)
    }

    /// As [`Checked::root_args`].
    pub fn root_args(&mut self, func: FuncId) -> Option<Args> {
        self.checked.root_args(func)
    }

    /// Whether a function sees derivatives of its parameter or result of the declared type `ty`. In the user's functions the
    /// assumptions about generic parameters decide, not their arguments: an unconstrained `T` has no derivative. In functions of
    /// the library the arguments decide.
    pub fn sees_derivatives(&mut self, func: FuncId, ty: Ty) -> bool {
        self.checked.sees_derivatives(func, ty)
    }

    /// `DifferentialPtrPair<ty>`, if values of the type say where derivatives are kept.
    pub fn pointer_pair(&mut self, ty: Ty) -> Option<Ty> {
        self.checked.pointer_pair(ty)
    }

    /// Whether the type is `DifferentialPtrPair<..>`.
    pub fn is_pointer_pair(&self, ty: Ty) -> bool {
        self.checked.facts().is_pointer_pair(ty)
    }

    /// What `Optional<content>` holds, if the type is one.
    pub fn optional_content(&self, ty: Ty) -> Option<Ty> {
        self.checked.facts().optional_content(ty)
    }

    /// `Optional<content>`.
    pub fn optional_of(&mut self, content: Ty) -> Option<Ty> {
        self.checked.names().optional_of(content)
    }
}
