//! The assumptions about generic parameters that hold at the current point of the check.
//!
//! [`Checked::enter`](crate::Checked::enter) replaces the assumptions by those of a declaration, and
//! [`Checked::leave`](crate::Checked::leave) restores them. `if (T is IFoo)` adds one
//! ([`Assumptions::add`]), which [`Assumptions::forget_since`] removes.

use crate::hir::Bound;

/// The bounds that hold.
#[derive(Clone, Default, Debug)]
pub(crate) struct Assumptions {
    bounds: Vec<Bound>,
}

/// Assumptions to go back to.
#[must_use]
#[derive(Debug)]
pub(crate) struct Saved(Vec<Bound>);

impl Assumptions {
    /// All of them, those of outer declarations first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bound> {
        self.bounds.iter()
    }

    /// Whether nothing is assumed.
    pub(crate) fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// The bounds, to be checked under later.
    pub(crate) fn to_vec(&self) -> Vec<Bound> {
        self.bounds.clone()
    }

    /// Assumes these instead. Give the result to [`Self::restore`].
    pub(crate) fn replace(&mut self, bounds: Vec<Bound>) -> Saved {
        Saved(std::mem::replace(&mut self.bounds, bounds))
    }

    /// Assumes again what was assumed before [`Self::replace`].
    pub(crate) fn restore(&mut self, saved: Saved) {
        self.bounds = saved.0;
    }

    /// Assumes these too.
    pub(crate) fn add(&mut self, bounds: impl IntoIterator<Item = Bound>) {
        self.bounds.extend(bounds);
    }

    /// How much is assumed, for [`Self::forget_since`].
    pub(crate) fn mark(&self) -> usize {
        self.bounds.len()
    }

    /// Drops what was added since `mark`.
    pub(crate) fn forget_since(&mut self, mark: usize) {
        self.bounds.truncate(mark);
    }
}
