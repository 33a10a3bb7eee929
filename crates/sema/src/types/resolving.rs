//! The context in which a type is resolved: the enclosing `expand`s, the alias, and whether it is the head of an extension.

use crate::hir::Ty;
use crate::tables::GenericsId;

/// The context of the type that is being resolved.
#[derive(Clone, Default, Debug)]
pub(crate) struct Resolving {
    /// The packs under `each` in the `expand`s around, innermost last.
    expanding: Vec<Vec<Ty>>,
    /// The generic parameters of the alias.
    alias: Option<GenericsId>,
    /// Whether it is the head of an extension or a generic argument.
    head: bool,
}

/// The enclosing alias or head, to return to.
#[must_use]
#[derive(Debug)]
pub(crate) struct Outer<T>(T);

impl Resolving {
    /// Begins an `expand`. Each that begins must end.
    pub(crate) fn begin_expand(&mut self) {
        self.expanding.push(vec![]);
    }
    /// Ends the innermost `expand`. Gives the packs that it expands.
    pub(crate) fn end_expand(&mut self) -> Vec<Ty> {
        self.expanding.pop().unwrap_or_default()
    }
    /// Says that the innermost `expand` expands a pack; false if there is no `expand`.
    pub(crate) fn expand(&mut self, pack: Ty) -> bool {
        let Some(packs) = self.expanding.last_mut() else { return false };
        packs.push(pack);
        true
    }

    /// Begins to resolve an alias.
    pub(crate) fn begin_alias(&mut self, generics: Option<GenericsId>) -> Outer<Option<GenericsId>> {
        Outer(std::mem::replace(&mut self.alias, generics))
    }
    /// Ends what [`Self::begin_alias`] began.
    pub(crate) fn end_alias(&mut self, outer: Outer<Option<GenericsId>>) {
        self.alias = outer.0;
    }
    /// The generic parameters of the alias, if it has some.
    pub(crate) fn alias(&self) -> Option<GenericsId> {
        self.alias
    }

    /// Begins to resolve the head of an extension or a generic argument.
    pub(crate) fn begin_head(&mut self) -> Outer<bool> {
        Outer(std::mem::replace(&mut self.head, true))
    }
    /// Ends what [`Self::begin_head`] began.
    pub(crate) fn end_head(&mut self, outer: Outer<bool>) {
        self.head = outer.0;
    }
    /// Whether it is the head of an extension or a generic argument.
    pub(crate) fn in_head(&self) -> bool {
        self.head
    }
}
