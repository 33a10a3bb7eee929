//! The bodies that were checked so far, each once, and what constants were found to be.

use crate::hir::{Body, FuncId, GlobalId, Val};
use crate::tables::Progress;
use cotangent_base::{CowMap, Entity, Map};
use std::sync::Arc;

/// A body and how far it was checked.
#[derive(Clone, Default, Debug)]
struct Slot {
    progress: Progress,
    body: Option<Arc<Body>>,
}

/// All bodies.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bodies {
    funcs: CowMap<FuncId, Slot>,
    globals: CowMap<GlobalId, Slot>,
    /// Constants of modules as compile-time integers, none for those that are not integers.
    folded: Map<GlobalId, Option<Val>>,
}

impl Bodies {
    /// Begins to check a function; false if that was done before.
    pub(crate) fn begin(&mut self, func: FuncId) -> bool {
        let new = self.funcs.get(func).is_none_or(|slot| slot.progress == Progress::New);
        new && slot(&mut self.funcs, func).progress.begin()
    }
    /// Ends what [`Self::begin`] began.
    pub(crate) fn end(&mut self, func: FuncId, body: Arc<Body>) {
        *slot(&mut self.funcs, func) = Slot { progress: Progress::Done, body: Some(body) };
    }
    /// The body of a function, if it was checked.
    pub(crate) fn of(&self, func: FuncId) -> Option<&Arc<Body>> {
        self.funcs.get(func)?.body.as_ref()
    }

    /// How far the initializer of a global was checked.
    pub(crate) fn initializer_progress(&self, global: GlobalId) -> Progress {
        self.globals.get(global).map_or(Progress::New, |slot| slot.progress)
    }
    /// Begins to check the initializer of a global.
    pub(crate) fn begin_initializer(&mut self, global: GlobalId) {
        slot(&mut self.globals, global).progress = Progress::Busy;
    }
    /// Ends what [`Self::begin_initializer`] began; there is no body if the initializer has no effect.
    pub(crate) fn end_initializer(&mut self, global: GlobalId, body: Option<Arc<Body>>) {
        *slot(&mut self.globals, global) = Slot { progress: Progress::Done, body };
    }
    /// The initializer of a global, if it was checked and has an effect.
    pub(crate) fn initializer(&self, global: GlobalId) -> Option<&Arc<Body>> {
        self.globals.get(global)?.body.as_ref()
    }

    /// What a constant is as a compile-time integer, if that was asked before.
    pub(crate) fn folded(&self, global: GlobalId) -> Option<Option<Val>> {
        self.folded.get(&global).copied()
    }
    /// Remembers what a constant is as a compile-time integer.
    pub(crate) fn remember_folded(&mut self, global: GlobalId, value: Option<Val>) {
        self.folded.insert(global, value);
    }

    /// Lets clones share them.
    pub(crate) fn share(&mut self) {
        self.funcs.share();
        self.globals.share();
    }
}

/// The slot of a declaration, to be changed. Declarations before it get theirs too.
fn slot<K: Entity>(slots: &mut CowMap<K, Slot>, key: K) -> &mut Slot {
    while slots.len() <= key.index() {
        slots.push(Slot::default());
    }
    &mut slots[key]
}
