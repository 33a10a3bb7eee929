//! The generic parameters of declarations, with their bounds as far as they are resolved.

use crate::hir::{Arg, Bound, GenericParamId, InterfaceId};
use crate::tables::{GenericsId, Progress, ScopeId};
use cotangent_base::{CowMap, Map};
use cotangent_syntax::ast;
use std::ops::Index;
use std::sync::Arc;

/// Generic parameters.
#[derive(Clone, Debug)]
pub(crate) struct GenericsInfo {
    pub parent: Option<GenericsId>,
    /// Parameters of this list alone.
    pub own: Vec<GenericParamId>,
    /// All, those around first.
    pub params: Arc<[GenericParamId]>,
    pub syntax: Arc<ast::Generics>,
    /// Where names in bounds are looked up.
    pub scope: ScopeId,
    pub resolved: Progress,
    /// Own assumptions so far.
    pub own_bounds: Vec<Bound>,
    /// All assumptions, once resolved.
    pub bounds: Option<Arc<[Bound]>>,
    /// The interface whose list this is, which assumes that `This` conforms.
    pub interface: Option<InterfaceId>,
}

/// All lists of generic parameters.
#[derive(Clone, Default, Debug)]
pub(crate) struct GenericsTable {
    lists: CowMap<GenericsId, GenericsInfo>,
    /// What parameters that say how or where values are stored are bound to if nothing else binds them.
    usual: Map<GenericParamId, Arg>,
}

impl GenericsTable {
    /// Adds a list.
    pub(crate) fn push(&mut self, info: GenericsInfo) -> GenericsId {
        self.lists.push(info)
    }
    /// Sets where names in bounds are looked up.
    pub(crate) fn set_scope(&mut self, id: GenericsId, scope: ScopeId) {
        self.lists[id].scope = scope;
    }
    /// Begins to resolve the bounds of a list; false if that was done before.
    pub(crate) fn begin_bounds(&mut self, id: GenericsId) -> bool {
        self.lists[id].resolved == Progress::New && self.lists[id].resolved.begin()
    }
    /// Adds a bound of the list itself.
    pub(crate) fn add_bound(&mut self, id: GenericsId, bound: Bound) {
        self.lists[id].own_bounds.push(bound);
    }
    /// Ends what [`Self::begin_bounds`] began.
    pub(crate) fn end_bounds(&mut self, id: GenericsId) {
        self.lists[id].resolved = Progress::Done;
    }
    /// Remembers all bounds, own and around, if those of the list are resolved.
    pub(crate) fn remember_bounds(&mut self, id: GenericsId, all: &Arc<[Bound]>) {
        if self.lists[id].resolved == Progress::Done {
            self.lists[id].bounds = Some(all.clone());
        }
    }
    /// What a parameter that says how or where values are stored is bound to if nothing else binds it.
    pub(crate) fn usual(&self, param: GenericParamId) -> Option<Arg> {
        self.usual.get(&param).copied()
    }
    /// Says what [`Self::usual`] gives.
    pub(crate) fn set_usual(&mut self, param: GenericParamId, usual: Arg) {
        self.usual.insert(param, usual);
    }
    /// Lets clones share the lists.
    pub(crate) fn share(&mut self) {
        self.lists.share();
    }
}

impl Index<GenericsId> for GenericsTable {
    type Output = GenericsInfo;
    fn index(&self, id: GenericsId) -> &GenericsInfo {
        &self.lists[id]
    }
}
