//! What the checker hands out: the typed program and the questions lowering may ask about it.
//!
//! Bodies of the user's functions are checked before anybody sees a [`Checked`]; those of the library when
//! they are first asked for.

use crate::hir::{
    Args, Body, ConformanceRef, FuncId, FuncRef, GenericParamId, Generics, GlobalId, InterfaceRef, Program,
    StructId, Ty, Val, Witness,
};
use cotangent_base::Diagnostics;
use std::rc::Rc;

/// A program without errors, or with those in `diagnostics`.
pub struct Checked {
    /// All declarations.
    pub program: Program,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// Arguments for generic parameters.
#[derive(Clone, Debug)]
pub struct Subst {
    /// The parameters.
    pub params: Vec<GenericParamId>,
    /// An argument for each.
    pub args: Args,
}

impl Subst {
    /// Arguments for the parameters of a declaration.
    pub fn new(generics: &Generics, args: Args) -> Self {
        Self {
            params: generics.params.clone(),
            args,
        }
    }
}

impl Checked {
    /// The body of a function, or `None` if it has none. Checks it if that was not done yet.
    pub fn body(&mut self, _func: FuncId) -> Option<Rc<Body>> {
        panic!("not yet")
    }

    /// The initializer of a global, as a body with one `return`.
    pub fn initializer(&mut self, _global: GlobalId) -> Option<Rc<Body>> {
        panic!("not yet")
    }

    /// `ty` with parameters replaced and associated types of known types looked up.
    pub fn subst(&mut self, _ty: Ty, _subst: &Subst) -> Ty {
        panic!("not yet")
    }

    /// `val` with parameters replaced and arithmetic done.
    pub fn subst_val(&mut self, _val: Val, _subst: &Subst) -> Val {
        panic!("not yet")
    }

    /// A reference with the parameters in its arguments replaced.
    pub fn subst_func(&mut self, _func: FuncRef, _subst: &Subst) -> FuncRef {
        panic!("not yet")
    }

    /// How a (concrete) type conforms to an interface, if it does.
    pub fn conformance(&mut self, _ty: Ty, _interface: InterfaceRef) -> Option<ConformanceRef> {
        panic!("not yet")
    }

    /// What stands for a called requirement: `requirement.args` are the conforming type, the interface's arguments
    /// and the requirement's own. The result's arguments are concrete if those are.
    pub fn witness(&mut self, _requirement: FuncRef) -> Option<Witness> {
        panic!("not yet")
    }

    /// The types of a structure's fields under its arguments.
    pub fn field_types(&mut self, _id: StructId, _args: Args) -> Vec<Ty> {
        panic!("not yet")
    }

    /// `T.Differential`, if the (concrete) type is differentiable.
    pub fn differential(&mut self, _ty: Ty) -> Option<Ty> {
        panic!("not yet")
    }

    /// A type as the user would write it.
    pub fn show(&self, _ty: Ty) -> String {
        panic!("not yet")
    }
}
