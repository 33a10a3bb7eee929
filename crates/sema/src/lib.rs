//! The checker: from syntax tree to typed program.
//!
//! [`check`] takes the files of a program, those of the library first, and returns a [`Checked`]: the typed program of [`hir`].
//! Lowering queries it through [`Queries`]. The steps:
//!
//! 1. `collect`: every declaration gets a number, a scope and an entry in a name table. The library comes first: [`collect_library`]
//!    makes what every check begins with, so that it can be kept for the next one.
//! 2. Extensions are filed under what they extend (`conformance`).
//! 3. The user's declarations are resolved and their bodies checked. Whatever they mention is resolved on the way, so that
//!    of the library only what is used costs anything. Resolution is on demand everywhere and remembered in `tables`.
//!
//! The folders follow the stages of checking; each `mod.rs` lists its files:
//!
//! | module | subject |
//! |---|---|
//! | [`hir`] | the typed program |
//! | `checked`, `queries` | what the checker hands out; what lowering asks |
//! | `facts` | views that read resolved declarations, and report |
//! | `tables` | the state beside the typed program, a list of what the folders below own |
//! | `collect` | declarations get numbers and scopes; modules are linked |
//! | `names` | what names mean |
//! | `declarations` | signatures, fields, enumerators, attributes |
//! | `types` | types as written, types as shown, substitution |
//! | `generics` | parameters, bounds, arguments, inference |
//! | `conformance` | which types conform to which interfaces, and how |
//! | `bodies` | statements, expressions, overloads, conversions, constants |
//! | [`mod@derive`] | derivatives |
//! | [`capability`] | targets and stages |
//! | `features` | features of SPIR-V that functions state and use |
//! | `program` | the user's modules, checked whole |
//! | [`codes`] | diagnostics |
//!
//! State has owners: types with private fields in the folder of their subject. These are `names` (scopes, modules, uses),
//! `declarations::table`, `generics` (lists of parameters, assumptions, work that is put off), `conformance` (conformances, their
//! index), `bodies` (checked bodies, lambdas), `derive` (derivatives of instances). An entry of a table can be read everywhere,
//! and changed only by methods of its table.
//!
//! A method has the narrowest receiver that it can have:
//!
//! | receiver | can |
//! |---|---|
//! | [`hir::Types`], [`hir::Program`] | read and make types |
//! | an owner of state | change that state |
//! | `types::matching::Matcher`, `types::packs::Packs` | match patterns; make types of packs, under the assumptions in force |
//! | `names::Names` | find what is declared under a name, and make types |
//! | `facts::Facts`, `facts::Rules` | read what is resolved; read and report |
//! | `collect::Collector` | add declarations |
//! | [`Checked`] | all that, and resolve declarations on the way |
//! | `bodies::body::BodyCx` | the same, with the variables of a body |
//!
//! A mistake gives one diagnostic: what depends on it has the error type, which fits everywhere.

mod bodies;
pub mod capability;
mod checked;
pub mod codes;
mod collect;
mod conformance;
mod declarations;
pub mod derive;
mod facts;
mod features;
mod generics;
pub mod hir;
mod names;
mod program;
mod queries;
mod tables;
mod types;

pub use checked::{Checked, Subst};
pub use names::uses::{ExprPlace, Meaning, Use};
pub use queries::Queries;

use crate::hir::FuncId;
use crate::tables::{ExtId, ScopeId};
use cotangent_base::{Entity, FileId, Symbol};
use cotangent_syntax::ast;
use std::sync::Arc;

/// A file to check.
#[derive(Clone)]
pub struct Input {
    /// Which file.
    pub file: FileId,
    /// Its syntax tree.
    pub tree: Arc<ast::File>,
    /// Whether it belongs to the standard library.
    pub library: bool,
    /// What its module is called if no `module` line says so.
    pub name: Symbol,
    /// The number of its module among the user's; the files of one module share it.
    pub module: usize,
    /// What it imports.
    pub imports: Vec<Import>,
    /// Whether its module was checked before and had nothing to report, with the same modules around it: of such a module
    /// declarations are resolved, and bodies are checked when somebody asks for them, as those of the library are.
    pub known: bool,
}

/// One module imported by another.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// The number of the module.
    pub module: usize,
    /// `__exported`: whoever imports the one imports the other.
    pub exported: bool,
}

impl Input {
    /// A file of the library.
    pub fn library(file: FileId, tree: impl Into<Arc<ast::File>>) -> Self {
        let tree = tree.into();
        Input { file, tree, library: true, name: "std".into(), module: 0, imports: vec![], known: false }
    }

    /// A module of one file that imports nothing.
    pub fn module(file: FileId, tree: impl Into<Arc<ast::File>>) -> Self {
        let tree = tree.into();
        Input { file, tree, library: false, name: "main".into(), module: 0, imports: vec![], known: false }
    }
}

/// What the checker is told about a program beside its text: types and values for what the program leaves open, as the
/// command line says.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// For `type_param` and `extern` declarations, and specialization constants.
    pub globals: Vec<(Symbol, ast::Expr)>,
    /// For shader parameters of interface type, by their names.
    pub types: Vec<(Symbol, ast::Expr)>,
    /// Types and interfaces of `--conformance` that have generic arguments, with how they are written.
    pub conformances: Vec<(Symbol, ast::Expr, ast::Expr)>,
    /// For the generic parameters of functions.
    pub functions: Vec<(Symbol, Vec<ast::Expr>)>,
    /// Names of the library that the program does not have and whose files were not read: suggestions may be among them.
    pub unread: Vec<Symbol>,
    /// Whether the program may be a part of another: without entry points it need not say what it leaves open.
    pub partial: bool,
    /// Whether matrices that say nothing themselves lie column by column.
    pub columns: bool,
}

/// Checks a program: the files of the library first, then the user's.
pub fn check(inputs: Vec<Input>) -> Checked {
    check_given(inputs, Given::default())
}

/// The same, under what the command line says.
pub fn check_given(inputs: Vec<Input>, given: Given) -> Checked {
    let (library, modules) = inputs.into_iter().partition(|input| input.library);
    check_modules(&collect_library(library), modules, given)
}

/// The library without a program: what every check of a program that uses these files begins with.
pub fn collect_library(inputs: Vec<Input>) -> Checked {
    let mut checked = Checked::default();
    checked.collector().collect_library(inputs);
    checked.index_extensions(ExtId::new(0));
    checked.drop_prototypes(ScopeId::new(0));
    derive::attach(&mut checked, FuncId::new(0));
    checked.settle();
    checked.share();
    checked
}

/// Checks the user's modules against a library that [`collect_library`] made.
pub fn check_modules(library: &Checked, modules: Vec<Input>, given: Given) -> Checked {
    let mut checked = library.clone();
    let tables = &checked.tables;
    let (exts, scopes, funcs) = (tables.exts.next_key(), tables.scopes.next_key(), tables.funcs.next_key());
    checked.collector().collect_modules(modules);
    checked.collector().link_modules(given);
    checked.index_extensions(exts);
    checked.drop_prototypes(scopes);
    checked.link_functions();
    derive::attach(&mut checked, funcs);
    checked.check_user_program();
    checked.share();
    checked
}
