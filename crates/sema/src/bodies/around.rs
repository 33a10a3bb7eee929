//! The variables around a constant in a body. They are no constants, and a message should say so; but their sizes are.

use crate::bodies::variables::Variables;
use crate::hir::{Expr, Local, LocalId, Ty};
use cotangent_base::{EntityMap, Symbol};

/// The variables, while a constant or a type in a body is worked on outside it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Around {
    variables: Variables,
    locals: EntityMap<LocalId, Local>,
}

impl Around {
    /// Exchanges these variables and those of a body.
    pub(crate) fn swap(&mut self, variables: &mut Variables, locals: &mut EntityMap<LocalId, Local>) {
        std::mem::swap(&mut self.variables, variables);
        std::mem::swap(&mut self.locals, locals);
    }
    /// Whether there is a variable of that name.
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.variables.find(name).is_some()
    }
    /// The type of the variable of that name.
    pub(crate) fn ty(&self, name: Symbol) -> Option<Ty> {
        Some(self.locals[self.variables.find(name)?].ty)
    }
    /// The value of the constant array or structure of that name.
    pub(crate) fn aggregate(&self, name: Symbol) -> Option<&Expr> {
        self.variables.aggregate(self.variables.find(name)?)
    }
}
