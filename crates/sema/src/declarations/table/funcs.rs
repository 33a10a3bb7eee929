//! Functions: their syntax, scopes and generic parameters.

use super::Table;
use crate::hir::FuncId;
use crate::tables::{GenericsId, Owner, Prefix, Progress, PropId, ScopeId};
use cotangent_syntax::ast;
use std::ops::Index;
use std::sync::Arc;

/// What a function was written as.
#[derive(Clone, Debug)]
pub(crate) enum FuncSource {
    /// A function, operator or constructor.
    Func(Arc<ast::FuncDecl>),
    /// An accessor of a property or subscript: which, and its number there.
    Accessor(PropId, usize),
}

/// A function beside its [`hir::Func`](crate::hir::Func).
#[derive(Clone, Debug)]
pub(crate) struct FuncInfo {
    pub source: FuncSource,
    pub prefix: Prefix,
    /// The scope of its generic parameters.
    pub scope: ScopeId,
    pub generics: GenericsId,
    pub owner: Owner,
    pub is_static: bool,
    pub signature: Progress,
    /// How many hidden generic parameters were made for parameters of interface type.
    pub hidden: usize,
}

/// All functions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Funcs {
    table: Table<FuncId, FuncInfo>,
    /// Those of the user's modules, in order.
    user: Vec<FuncId>,
}

impl Funcs {
    /// Adds a function that the compiler makes, or one of the library.
    pub(crate) fn push(&mut self, info: FuncInfo) -> FuncId {
        self.table.push(info)
    }
    /// Adds a function of the user's modules.
    pub(crate) fn push_user(&mut self, info: FuncInfo) -> FuncId {
        let func = self.table.push(info);
        self.user.push(func);
        func
    }
    /// The functions of the user's modules, in order.
    pub(crate) fn user(&self) -> &[FuncId] {
        &self.user
    }
    /// Removes a function from those of the user's modules.
    pub(crate) fn forget(&mut self, func: FuncId) {
        self.user.retain(|f| *f != func);
    }
    /// The number that the next function will get.
    pub(crate) fn next_key(&self) -> FuncId {
        self.table.next_key()
    }
    /// All functions, in order. The iterator does not borrow the table.
    pub(crate) fn keys(&self) -> impl Iterator<Item = FuncId> + use<> {
        self.table.keys()
    }
    /// Lets clones share the entries.
    pub(crate) fn share(&mut self) {
        self.table.share();
    }

    /// Begins to resolve a signature; false if that was done before.
    pub(crate) fn begin_signature(&mut self, func: FuncId) -> bool {
        self.table[func].signature == Progress::New && self.table.edit(func).signature.begin()
    }
    /// Ends what [`Self::begin_signature`] began.
    pub(crate) fn end_signature(&mut self, func: FuncId) {
        self.table.edit(func).signature = Progress::Done;
    }
    /// Sets the generic parameters.
    pub(crate) fn set_generics(&mut self, func: FuncId, generics: GenericsId) {
        self.table.edit(func).generics = generics;
    }
    /// Sets the generic parameters to a list with one more hidden parameter.
    pub(crate) fn hide_generic(&mut self, func: FuncId, generics: GenericsId) {
        let info = self.table.edit(func);
        info.generics = generics;
        info.hidden += 1;
    }
    /// Replaces the syntax.
    pub(crate) fn set_source(&mut self, func: FuncId, source: FuncSource) {
        self.table.edit(func).source = source;
    }
    /// Adds attributes after those that are written.
    pub(crate) fn add_attributes(&mut self, func: FuncId, added: Vec<ast::Attribute>) {
        let attributes = &mut self.table.edit(func).prefix.attributes;
        *attributes = attributes.iter().cloned().chain(added).collect();
    }
    /// Makes a function a method of a type.
    pub(crate) fn make_method(&mut self, func: FuncId, owner: Owner) {
        let info = self.table.edit(func);
        (info.owner, info.is_static) = (owner, false);
    }
}

impl Index<FuncId> for Funcs {
    type Output = FuncInfo;
    fn index(&self, func: FuncId) -> &FuncInfo {
        &self.table[func]
    }
}
