//! The variables around a constant in a body. They are no constants, and a message should say so; but their sizes are.

use crate::hir::{Expr, Local, LocalId, Ty};
use cotangent_base::{EntityMap, Map, Symbol};
use std::sync::Arc;

/// The variables, while a constant or a type in a body is worked on outside it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Around {
    names: Vec<Arc<Map<Symbol, LocalId>>>,
    locals: EntityMap<LocalId, Local>,
    aggregates: Map<LocalId, Expr>,
}

impl Around {
    /// Exchanges these variables and those of a body: blocks of names, variables, and the values of constant arrays and
    /// structures.
    pub(crate) fn swap(
        &mut self,
        names: &mut Vec<Arc<Map<Symbol, LocalId>>>,
        locals: &mut EntityMap<LocalId, Local>,
        aggregates: &mut Map<LocalId, Expr>,
    ) {
        std::mem::swap(&mut self.names, names);
        std::mem::swap(&mut self.locals, locals);
        std::mem::swap(&mut self.aggregates, aggregates);
    }
    /// The variable of that name.
    fn local(&self, name: Symbol) -> Option<LocalId> {
        self.names.iter().rev().find_map(|block| block.get(&name)).copied()
    }
    /// Whether there is a variable of that name.
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.local(name).is_some()
    }
    /// The type of the variable of that name.
    pub(crate) fn ty(&self, name: Symbol) -> Option<Ty> {
        Some(self.locals[self.local(name)?].ty)
    }
    /// The value of the constant array or structure of that name.
    pub(crate) fn aggregate(&self, name: Symbol) -> Option<&Expr> {
        self.aggregates.get(&self.local(name)?)
    }
}
