//! The generator's scope: the variables and functions that are visible at the current point.

use crate::program::Ty;

/// A variable that can be named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Whether it may be written to.
    pub mutable: bool,
}

/// How a function can be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Callable {
    /// Its name.
    pub name: String,
    /// The types of its parameters, and which are written to.
    pub params: Vec<(Ty, bool)>,
    /// Its result.
    pub ret: Option<Ty>,
}

/// A loop around.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Its label, which only a `break` from inside may need.
    pub label: String,
    /// Whether a `break` without a label would leave something inside of it.
    pub hidden: bool,
}

/// What can be named and done at a place.
#[derive(Clone, Default, Debug)]
pub struct Scope {
    /// The variables.
    pub vars: Vec<Var>,
    /// Integers that are not negative.
    pub ints: Vec<String>,
    /// The functions made so far.
    pub callables: Vec<Callable>,
    /// The loops around, innermost last.
    pub loops: Vec<Loop>,
    /// The result of the function.
    pub ret: Option<Ty>,
    /// How deep statements nest.
    pub depth: usize,
}

impl Scope {
    /// The names of the variables of a type.
    pub fn of(&self, ty: Ty) -> Vec<&str> {
        self.vars.iter().filter(|v| v.ty == ty).map(|v| v.name.as_str()).collect()
    }

    /// The names of those that may be written to.
    pub fn mutable(&self, ty: Ty) -> Vec<&str> {
        self.vars.iter().filter(|v| v.ty == ty && v.mutable).map(|v| v.name.as_str()).collect()
    }
}
