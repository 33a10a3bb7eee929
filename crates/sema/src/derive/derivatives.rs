//! What the checker found out about derivatives beside the typed program.

use super::Special;
use super::flow::Givers;
use crate::hir::{FuncId, Ty};
use cotangent_base::{EntitySet, Map};

/// Derivatives of instances, differentials of tuples, and functions whose bodies are still to be checked.
#[derive(Clone, Default, Debug)]
pub(crate) struct Derivatives {
    /// Derivatives of instances, by function.
    special: Map<FuncId, Vec<Special>>,
    /// Functions of the user's that a derivative goes into although they are not marked, as they are inlined early.
    inlined: EntitySet<FuncId>,
    /// The differentials of tuples, where nothing is assumed.
    tuples: Map<Ty, Ty>,
    /// Functions that give derivatives although none goes in.
    givers: Givers,
}

impl Derivatives {
    /// Adds a derivative of some instances of a function.
    pub(super) fn add_special(&mut self, original: FuncId, special: Special) {
        self.special.entry(original).or_default().push(special);
    }
    /// The derivatives of some instances of a function.
    pub(super) fn special(&self, original: FuncId) -> &[Special] {
        self.special.get(&original).map_or(&[], Vec::as_slice)
    }
    /// Notes that a derivative goes into a function that is inlined early and not marked.
    pub(super) fn note_inlined(&mut self, func: FuncId) {
        self.inlined.insert(func);
    }
    /// The functions noted since the last call.
    pub(super) fn take_inlined(&mut self) -> EntitySet<FuncId> {
        std::mem::take(&mut self.inlined)
    }
    /// What is known about functions that give derivatives although none goes in.
    pub(super) fn givers(&mut self) -> &mut Givers {
        &mut self.givers
    }
    /// The differential of a tuple, if it is known.
    pub(super) fn of_tuple(&self, tuple: Ty) -> Option<Ty> {
        self.tuples.get(&tuple).copied()
    }
    /// Remembers the differential of a tuple, found where nothing is assumed.
    pub(super) fn remember_tuple(&mut self, tuple: Ty, differential: Ty) {
        self.tuples.insert(tuple, differential);
    }
}
