//! Stated conformances: who states each, and how far it was completed.

use crate::hir::{ConformanceId, FuncId};
use crate::tables::{Owner, Progress};
use cotangent_base::CowMap;
use std::ops::Index;

/// A conformance beside its [`hir::Conformance`](crate::hir::Conformance).
#[derive(Clone, Debug)]
pub(crate) struct ConformanceInfo {
    /// The structure or extension that states it.
    pub owner: Owner,
    pub assocs: Progress,
    pub witnesses: Progress,
}

/// All stated conformances.
#[derive(Clone, Default, Debug)]
pub(crate) struct Conformances {
    all: CowMap<ConformanceId, ConformanceInfo>,
    /// Requirements with the functions that meet them, since [`Self::take_met`].
    met: Vec<(FuncId, FuncId)>,
    /// Whether some interface has a `__constraint`.
    constrained: bool,
}

impl Conformances {
    /// Adds a conformance.
    pub(crate) fn push(&mut self, owner: Owner) -> ConformanceId {
        self.all.push(ConformanceInfo { owner, assocs: Progress::New, witnesses: Progress::New })
    }
    /// Adds a conformance whose associated types and witnesses are known.
    pub(crate) fn push_complete(&mut self, owner: Owner) -> ConformanceId {
        self.all.push(ConformanceInfo { owner, assocs: Progress::Done, witnesses: Progress::Done })
    }
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
    /// Begins to find the associated types; false if that was done before.
    pub(crate) fn begin_assocs(&mut self, id: ConformanceId) -> bool {
        self.all[id].assocs == Progress::New && self.all[id].assocs.begin()
    }
    /// Ends what [`Self::begin_assocs`] began.
    pub(crate) fn end_assocs(&mut self, id: ConformanceId) {
        self.all[id].assocs = Progress::Done;
    }
    /// Begins to find the witnesses; false if that was done before.
    pub(crate) fn begin_witnesses(&mut self, id: ConformanceId) -> bool {
        self.all[id].witnesses == Progress::New && self.all[id].witnesses.begin()
    }
    /// Ends what [`Self::begin_witnesses`] began.
    pub(crate) fn end_witnesses(&mut self, id: ConformanceId) {
        self.all[id].witnesses = Progress::Done;
    }
    /// Notes that a function meets a requirement.
    pub(crate) fn meet(&mut self, requirement: FuncId, func: FuncId) {
        self.met.push((requirement, func));
    }
    /// The requirements that were met since the last call, with the functions that meet them.
    pub(crate) fn take_met(&mut self) -> Vec<(FuncId, FuncId)> {
        std::mem::take(&mut self.met)
    }
    /// Says that some interface has a `__constraint`.
    pub(crate) fn note_constraint(&mut self) {
        self.constrained = true;
    }
    /// Whether some interface has a `__constraint`.
    pub(crate) fn has_constraints(&self) -> bool {
        self.constrained
    }
    /// Lets clones share them.
    pub(crate) fn share(&mut self) {
        self.all.share();
    }
}

impl Index<ConformanceId> for Conformances {
    type Output = ConformanceInfo;
    fn index(&self, id: ConformanceId) -> &ConformanceInfo {
        &self.all[id]
    }
}
