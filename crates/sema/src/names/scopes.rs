//! Scopes: the names of a block, type, namespace or module, and what is around them.
//!
//! [`crate::collect`] makes scopes and enters names; checking a body adds scopes for local types and constants. The fields of a
//! [`Scope`] are private: names are entered by [`Scope::enter`] and read by [`Scope::items`].

use crate::hir::FuncId;
use crate::names::access::{Access, ModuleId};
use crate::tables::{GenericsId, Item, Owner, ScopeId};
use cotangent_base::{CowMap, Map, Span, Symbol};
use cotangent_syntax::ast;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Names and what is around them.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Where to look next.
    parent: Option<ScopeId>,
    /// The names; functions may share one.
    names: Map<Symbol, Vec<Item>>,
    /// Whose members these are.
    owner: Owner,
    /// Scopes whose names are visible as if they stood here: `using`, `import`.
    imports: Vec<ScopeId>,
    /// Those of them that `using` names.
    used: Vec<ScopeId>,
    /// `using` paths not looked up yet.
    usings: Vec<(Arc<ast::Expr>, Span)>,
    /// Dotted names around, for display: `Outer.`.
    path: Arc<str>,
    /// The generic parameters in force.
    generics: GenericsId,
    /// Whether it belongs to the library.
    library: bool,
    /// The module it belongs to.
    module: ModuleId,
    /// Its items that are less than public.
    access: Map<Item, Access>,
}

impl Scope {
    /// Where to look next.
    pub(crate) fn parent(&self) -> Option<ScopeId> {
        self.parent
    }
    /// Whose members these are.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }
    /// Dotted names around, for display: `Outer.`.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }
    /// The generic parameters in force.
    pub(crate) fn generics(&self) -> GenericsId {
        self.generics
    }
    /// Whether it belongs to the library.
    pub(crate) fn is_library(&self) -> bool {
        self.library
    }
    /// The module it belongs to.
    pub(crate) fn module(&self) -> ModuleId {
        self.module
    }
    /// Scopes whose names are visible as if they stood here.
    pub(crate) fn imports(&self) -> &[ScopeId] {
        &self.imports
    }
    /// The imports that `using` names.
    pub(crate) fn used(&self) -> &[ScopeId] {
        &self.used
    }
    /// What a name stands for in this scope alone.
    pub(crate) fn items(&self, name: Symbol) -> &[Item] {
        self.names.get(&name).map_or(&[], Vec::as_slice)
    }
    /// Whether something was declared under a name, even if it is gone.
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.names.contains_key(&name)
    }
    /// All names, in no order, with what they stand for.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Symbol, &[Item])> {
        self.names.iter().map(|(name, items)| (*name, items.as_slice()))
    }
    /// From where an item of this scope can be seen.
    pub(crate) fn access(&self, item: Item) -> Access {
        self.access.get(&item).copied().unwrap_or(Access::Public)
    }

    /// Enters an item under a name, beside those that have it.
    pub(crate) fn enter(&mut self, name: Symbol, item: Item) {
        self.names.entry(name).or_default().push(item);
    }
    /// Enters an item under a name, instead of those that have it.
    pub(crate) fn set(&mut self, name: Symbol, item: Item) {
        self.names.insert(name, vec![item]);
    }
    /// Has a name stand for another item.
    pub(crate) fn replace(&mut self, name: Symbol, old: Item, new: Item) {
        for item in self.names.get_mut(&name).into_iter().flatten() {
            if *item == old {
                *item = new;
            }
        }
        if let Some(access) = self.access.get(&old).copied() {
            self.access.insert(new, access);
        }
    }
    /// Removes a function.
    pub(crate) fn forget_func(&mut self, func: FuncId) {
        for items in self.names.values_mut() {
            items.retain(|item| *item != Item::Func(func));
        }
    }
    /// Says that an item is less than public.
    pub(crate) fn restrict(&mut self, item: Item, access: Access) {
        self.access.insert(item, access);
    }
    /// Sets the generic parameters in force.
    pub(crate) fn set_generics(&mut self, generics: GenericsId) {
        self.generics = generics;
    }
    /// Sets the module.
    pub(crate) fn set_module(&mut self, module: ModuleId) {
        self.module = module;
    }
    /// Makes the names of other scopes visible here.
    pub(crate) fn import(&mut self, scopes: impl IntoIterator<Item = ScopeId>) {
        self.imports.extend(scopes);
    }
    /// Makes the names of other scopes visible here, by `using`.
    pub(crate) fn use_scopes(&mut self, scopes: &[ScopeId]) {
        self.used.extend(scopes);
        self.imports.extend(scopes);
    }
    /// Notes a `using` path, to be looked up later.
    pub(crate) fn add_using(&mut self, path: Arc<ast::Expr>, span: Span) {
        self.usings.push((path, span));
    }
    /// Whether there are `using` paths that were not looked up yet. To ask does not copy a scope that clones share.
    pub(crate) fn has_usings(&self) -> bool {
        !self.usings.is_empty()
    }
    /// The `using` paths that were not looked up yet.
    pub(crate) fn take_usings(&mut self) -> Vec<(Arc<ast::Expr>, Span)> {
        std::mem::take(&mut self.usings)
    }
}

/// All scopes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Scopes {
    all: CowMap<ScopeId, Scope>,
}

impl Scopes {
    /// A scope without names.
    pub(crate) fn add(
        &mut self,
        parent: Option<ScopeId>,
        owner: Owner,
        generics: GenericsId,
        path: &str,
        library: bool,
    ) -> ScopeId {
        let module = parent.map_or_else(|| cotangent_base::Entity::new(0), |parent| self.all[parent].module);
        self.all.push(Scope {
            parent,
            names: Map::default(),
            owner,
            imports: vec![],
            used: vec![],
            usings: vec![],
            path: path.into(),
            generics,
            library,
            module,
            access: Map::default(),
        })
    }
    /// The scope that the next [`Self::add`] will make.
    pub(crate) fn next_key(&self) -> ScopeId {
        self.all.next_key()
    }
    /// All scopes, in order. The iterator does not borrow them.
    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = ScopeId> + use<> {
        self.all.keys()
    }
    /// All scopes, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ScopeId, &Scope)> {
        self.all.iter()
    }
    /// Lets clones share them.
    pub(crate) fn share(&mut self) {
        self.all.share();
    }
}

impl Index<ScopeId> for Scopes {
    type Output = Scope;
    fn index(&self, scope: ScopeId) -> &Scope {
        &self.all[scope]
    }
}

impl IndexMut<ScopeId> for Scopes {
    fn index_mut(&mut self, scope: ScopeId) -> &mut Scope {
        &mut self.all[scope]
    }
}
