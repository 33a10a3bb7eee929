//! The variables of a body: the names under which they are visible, and what is known of each.

use crate::bodies::place::Frozen;
use crate::hir::{Expr, LocalId, Val};
use cotangent_base::{Map, Set, Symbol};
use std::sync::Arc;

/// The names of variables, innermost block last.
pub(crate) type Names = Vec<Arc<Map<Symbol, LocalId>>>;

/// The variables of a body.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    names: Names,
    /// Why a variable may not be assigned; nothing if it may.
    frozen: Map<LocalId, Frozen>,
    /// Parameters that are worked on where the argument lies.
    by_ref: Set<LocalId>,
    /// Variables that are constants known at compile time.
    constants: Map<LocalId, Val>,
    /// The values of `const` arrays and structures.
    aggregates: Map<LocalId, Expr>,
}

impl Default for Variables {
    fn default() -> Self {
        Self {
            names: vec![Arc::default()],
            frozen: Map::default(),
            by_ref: Set::default(),
            constants: Map::default(),
            aggregates: Map::default(),
        }
    }
}

impl Variables {
    /// The variable that a name stands for, in the innermost block that has it.
    pub(crate) fn find(&self, name: Symbol) -> Option<LocalId> {
        self.names.iter().rev().find_map(|block| block.get(&name)).copied()
    }
    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = Symbol> {
        self.names.iter().flat_map(|block| block.keys().copied())
    }
    /// Enters a variable under a name in the innermost block. Gives the one that had the name there.
    pub(crate) fn enter(&mut self, name: Symbol, local: LocalId) -> Option<LocalId> {
        let block = self.names.last_mut().expect("there is always a block");
        Arc::make_mut(block).insert(name, local)
    }
    /// Begins a block.
    pub(crate) fn begin_block(&mut self) {
        self.names.push(Arc::default());
    }
    /// Ends the innermost block.
    pub(crate) fn end_block(&mut self) {
        self.names.pop();
    }
    /// The names that are visible now.
    pub(crate) fn visible(&self) -> Names {
        self.names.clone()
    }
    /// Makes these names visible instead. Gives those that were.
    pub(crate) fn show(&mut self, names: Names) -> Names {
        std::mem::replace(&mut self.names, names)
    }
    /// Makes no name visible. Gives those that were, for [`Self::show`].
    pub(crate) fn hide(&mut self) -> Names {
        self.show(vec![Arc::default()])
    }

    /// Forbids assignments.
    pub(crate) fn freeze(&mut self, local: LocalId, why: Frozen) {
        self.frozen.insert(local, why);
    }
    /// Why a variable may not be assigned.
    pub(crate) fn frozen(&self, local: LocalId) -> Option<Frozen> {
        self.frozen.get(&local).copied()
    }
    /// Says that a parameter is worked on where the argument lies.
    pub(crate) fn set_by_ref(&mut self, local: LocalId) {
        self.by_ref.insert(local);
    }
    /// Whether a parameter is worked on where the argument lies.
    pub(crate) fn is_by_ref(&self, local: LocalId) -> bool {
        self.by_ref.contains(&local)
    }
    /// Sets the value of a constant that is known at compile time.
    pub(crate) fn set_constant(&mut self, local: LocalId, val: Val) {
        self.constants.insert(local, val);
    }
    /// The constants that are known at compile time.
    pub(crate) fn constants(&self) -> &Map<LocalId, Val> {
        &self.constants
    }
    /// Sets the value of a constant array or structure.
    pub(crate) fn set_aggregate(&mut self, local: LocalId, value: Expr) {
        self.aggregates.insert(local, value);
    }
    /// The value of a constant array or structure.
    pub(crate) fn aggregate(&self, local: LocalId) -> Option<&Expr> {
        self.aggregates.get(&local)
    }
}
