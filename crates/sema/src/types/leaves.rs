//! Counts the fields of a structure, including nested ones.
//!
//! `struct Two<T> { T a; T b; }` nested n times has 2^n fields. Code that visits fields one by one would not terminate in
//! reasonable time, so it tests this count first.

use crate::Checked;
use crate::hir::{StructId, Ty, TyKind};
use cotangent_base::{Map, Set};

/// The most fields of a structure, counting those of its fields, that are visited one by one.
pub(crate) const MOST_FIELDS: u64 = 1 << 16;

/// What is known of the sizes of types.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sizes {
    /// How many values types have in their fields.
    leaves: Map<Ty, u64>,
    /// Structures that do not contain themselves.
    finite: Set<StructId>,
}

impl Sizes {
    fn leaves(&self, ty: Ty) -> Option<u64> {
        self.leaves.get(&ty).copied()
    }
    fn set_leaves(&mut self, ty: Ty, leaves: u64) {
        self.leaves.insert(ty, leaves);
    }
    /// Whether a structure is known not to contain itself.
    pub(crate) fn is_finite(&self, id: StructId) -> bool {
        self.finite.contains(&id)
    }
    /// Says that a structure does not contain itself.
    pub(crate) fn note_finite(&mut self, id: StructId) {
        self.finite.insert(id);
    }
}

impl Checked {
    /// Whether a structure has so many fields, counting nested ones, that visiting each would take too long. Structures that
    /// double at each level soon do.
    pub(crate) fn has_too_many_fields(&mut self, ty: Ty) -> bool {
        self.leaves(ty) > MOST_FIELDS
    }

    /// How many values a structure has in its fields and in the fields of those. Of an array one element counts.
    fn leaves(&mut self, ty: Ty) -> u64 {
        let (id, args) = match self.program.types.kind(ty) {
            TyKind::Array(element, _) => return self.leaves(element),
            TyKind::Struct(id, args) => (id, args),
            _ => return 1,
        };
        if let Some(known) = self.tables.sizes.leaves(ty) {
            return known;
        }
        // A structure that contains itself is reported elsewhere.
        self.tables.sizes.set_leaves(ty, 1);
        let fields = self.fields_under(id, args);
        let leaves = fields.into_iter().fold(0u64, |sum, field| sum.saturating_add(self.leaves(field)));
        self.tables.sizes.set_leaves(ty, leaves);
        leaves
    }
}
