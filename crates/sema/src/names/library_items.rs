//! Declarations of the library that the checker itself needs: those marked `[__lang("..")]`, and the structures that describe
//! built-in types.

use crate::hir::StructId;
use crate::tables::{Builtin, Item, ScopeId};
use cotangent_base::{Map, Symbol};

/// What the checker knows of the library.
#[derive(Clone, Default, Debug)]
pub(crate) struct LibraryItems {
    /// The scope of the library.
    scope: Option<ScopeId>,
    /// Declarations marked `[__lang("..")]`, by that name.
    marked: Map<Symbol, Item>,
    /// The structures that describe built-in types.
    builtins: Map<Builtin, StructId>,
}

impl LibraryItems {
    /// The scope of the library, once it is collected.
    pub(crate) fn scope(&self) -> Option<ScopeId> {
        self.scope
    }
    /// Sets the scope of the library.
    pub(crate) fn set_scope(&mut self, scope: ScopeId) {
        self.scope = Some(scope);
    }
    /// The declaration marked `[__lang("name")]`.
    pub(crate) fn get(&self, name: &Symbol) -> Option<&Item> {
        self.marked.get(name)
    }
    /// Adds a declaration marked `[__lang("name")]`.
    pub(crate) fn insert(&mut self, name: Symbol, item: Item) {
        self.marked.insert(name, item);
    }
    /// The structure that describes a built-in type.
    pub(crate) fn builtin(&self, builtin: Builtin) -> Option<StructId> {
        self.builtins.get(&builtin).copied()
    }
    /// Sets the structure that describes a built-in type.
    pub(crate) fn set_builtin(&mut self, builtin: Builtin, id: StructId) {
        self.builtins.insert(builtin, id);
    }
}
