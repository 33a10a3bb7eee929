//! The modules of a program.

use crate::names::access::ModuleId;
use cotangent_base::{CowMap, Symbol};
use cotangent_syntax::ast;
use std::ops::Index;

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// Its name.
    pub name: Symbol,
    /// Whether something in it may be less than public.
    pub guarded: bool,
    /// Its number among the user's.
    pub number: usize,
    /// The version of the language it is written in: the latest that one of its files asks for.
    pub version: ast::Version,
    /// Whether bodies are checked only where somebody asks for them, since they were checked before.
    pub known: bool,
    /// Whether its bodies declare something: local types, lambdas, static variables.
    pub adds: bool,
}

/// All modules, the library first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Modules {
    all: CowMap<ModuleId, Module>,
}

impl Modules {
    /// Adds a module.
    pub(crate) fn push(&mut self, module: Module) -> ModuleId {
        self.all.push(module)
    }
    /// The number that the next module will get.
    pub(crate) fn next_key(&self) -> ModuleId {
        self.all.next_key()
    }
    /// All modules, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Module> {
        self.all.values()
    }
    /// Says that the bodies of a module declare something.
    pub(crate) fn note_added(&mut self, module: ModuleId) {
        self.all[module].adds = true;
    }
    /// Lets clones share them.
    pub(crate) fn share(&mut self) {
        self.all.share();
    }
}

impl Index<ModuleId> for Modules {
    type Output = Module;
    fn index(&self, module: ModuleId) -> &Module {
        &self.all[module]
    }
}
