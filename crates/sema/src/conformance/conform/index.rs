//! The index of conformances and extensions, and the state of a search in it.
//!
//! Both are indexed by the [`Head`] of their type, so that a search visits only those that may match.

use crate::hir::{Args, ConformanceId};
use crate::tables::{ExtId, GenericsId, Head, Progress};
use cotangent_base::Map;

/// Extensions and conformances by the head of their type.
#[derive(Clone, Default, Debug)]
pub(crate) struct ConformanceIndex {
    extensions: Map<Head, Vec<ExtId>>,
    conformances: Map<Head, Vec<ConformanceId>>,
    /// Whether the bases of the extensions of a head were resolved, so that its conformances are complete.
    bases: Map<Head, Progress>,
}

impl ConformanceIndex {
    /// Files an extension. What it states is not among the conformances of the head yet.
    pub(crate) fn add_extension(&mut self, head: Head, ext: ExtId) {
        self.extensions.entry(head).or_default().push(ext);
        self.bases.remove(&head);
    }

    /// The extensions of types of a head, in order.
    pub(crate) fn extensions(&self, head: Head) -> &[ExtId] {
        self.extensions.get(&head).map_or(&[], Vec::as_slice)
    }

    /// Files a conformance.
    pub(crate) fn add(&mut self, head: Head, conformance: ConformanceId) {
        self.conformances.entry(head).or_default().push(conformance);
    }

    /// The conformances that were filed for types of a head so far, in order.
    pub(crate) fn conformances(&self, head: Head) -> &[ConformanceId] {
        self.conformances.get(&head).map_or(&[], Vec::as_slice)
    }

    /// Says that the bases of the extensions of a head are being resolved; false if they were before.
    pub(crate) fn begin_bases(&mut self, head: Head) -> bool {
        self.bases.entry(head).or_default().begin()
    }

    /// Says that the bases of the extensions of a head are resolved.
    pub(crate) fn end_bases(&mut self, head: Head) {
        self.bases.insert(head, Progress::Done);
    }
}

/// How deep conformances may depend on each other. Beyond that, types are taken to nest without end.
const MAX_NESTING: u32 = 300;

/// The state of a search for conformances, which may need others.
#[derive(Clone, Default, Debug)]
pub(crate) struct Search {
    depth: u32,
    /// The answers so far: whether the bounds of a declaration hold for some arguments.
    met: Map<(GenericsId, Args), bool>,
}

impl Search {
    /// Begins a search, perhaps in another one; false if there are too many in each other. Each that begins must end.
    pub(crate) fn begin(&mut self) -> bool {
        if self.depth == 0 {
            self.met.clear();
        }
        let begins = self.depth <= MAX_NESTING;
        self.depth += u32::from(begins);
        begins
    }

    /// Ends a search.
    pub(crate) fn end(&mut self) {
        self.depth -= 1;
    }

    /// Whether bounds hold, if that is known.
    pub(crate) fn known(&self, generics: GenericsId, args: Args) -> Option<bool> {
        self.met.get(&(generics, args)).copied()
    }

    /// Remembers whether bounds hold.
    pub(crate) fn remember(&mut self, generics: GenericsId, args: Args, met: bool) {
        self.met.insert((generics, args), met);
    }
}
