//! The work list of the checker: structures whose fields are not resolved yet, and bounds of generic arguments.
//!
//! Resolving a type uses structures and applies generics. Resolving those immediately could recurse without end. So they are
//! added to this list, and [`Checked::settle`](crate::Checked::settle) processes it when a declaration or body is finished.

use crate::hir::{Args, Bound, StructId};
use crate::tables::GenericsId;
use cotangent_base::Span;

/// Generic arguments whose bounds are still to be checked, under the assumptions where they stand.
#[derive(Clone, Debug)]
pub(crate) struct Obligation {
    pub generics: GenericsId,
    pub args: Args,
    pub span: Span,
    pub assumed: Vec<Bound>,
}

/// All that was put off.
#[derive(Clone, Default, Debug)]
pub(crate) struct WorkList {
    structs: Vec<StructId>,
    obligations: Vec<Obligation>,
}

impl WorkList {
    /// The fields of a structure will be wanted.
    pub(crate) fn mention(&mut self, id: StructId) {
        if !self.structs.contains(&id) {
            self.structs.push(id);
        }
    }

    /// The structure that was mentioned last.
    pub(crate) fn next_struct(&mut self) -> Option<StructId> {
        self.structs.pop()
    }

    /// The bounds of arguments must be checked.
    pub(crate) fn owe(&mut self, obligation: Obligation) {
        self.obligations.push(obligation);
    }

    /// The obligation that was noted last.
    pub(crate) fn next_obligation(&mut self) -> Option<Obligation> {
        self.obligations.pop()
    }

    /// How many obligations there are, for [`Self::forget_since`] and [`Self::assume_for`].
    pub(crate) fn mark(&self) -> usize {
        self.obligations.len()
    }

    /// Drops the obligations noted since `mark`, of something that is not part of the program after all.
    pub(crate) fn forget_since(&mut self, mark: usize) {
        self.obligations.truncate(mark);
    }

    /// Adds assumptions under which the obligations from one mark to another are checked.
    pub(crate) fn assume_for(&mut self, marks: std::ops::Range<usize>, bounds: &[Bound]) {
        for obligation in &mut self.obligations[marks] {
            obligation.assumed.extend_from_slice(bounds);
        }
    }
}
