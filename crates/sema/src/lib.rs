//! The checker: from syntax tree to typed program.
//!
//! [`check`] takes the files of a program, those of the library first, and gives a [`Checked`]: the typed program of [`hir`] and
//! the questions lowering asks about it. The way there:
//!
//! 1. `collect`: every declaration gets a number, a scope and an entry in a name table.
//! 2. Extensions are filed under what they extend (`conform`).
//! 3. The user's declarations are resolved and their bodies checked. Whatever they mention is resolved on the way, so that
//!    of the library only what is used costs anything. Resolution is on demand everywhere and remembered in `tables`.
//!
//! Where to find what:
//!
//! | subject | modules |
//! |---|---|
//! | the state, and what lowering may ask | `checked`, `tables` |
//! | names, attributes | `lookup`, `access`, `missing`, `attrs`, `known` |
//! | types as written, types as shown | `resolve`, `show` |
//! | generic parameters, bounds, arguments | `generics`, `arguments`, `matching`, `subst`, `substexpr`, `infer`, `packs` |
//! | interfaces: who conforms, and how | `conform`, `witness`, `wrapper`, `inherited` |
//! | signatures, fields, enumerators, globals | `signature`, `prototypes` |
//! | where parameters are to be bound | `placement` |
//! | conversions, operators, overloads | `convert`, `operators`, `overload`, `passing`, `misfit` |
//! | expressions, places, construction, lists | `expr`, `place`, `construct`, `init`, `foreign` |
//! | statements, bodies, whole programs | `stmt`, `loops`, `defer`, `body`, `returns`, `assigned`, `program` |
//! | lambdas | `lambda` |
//! | optional constraints | `optional` |
//! | errors | `throws` |
//! | targets and stages | `platform`, `capability` |
//! | compile-time integers | `constant`, `measure` |
//! | derivatives | `derive` |
//!
//! A mistake gives one diagnostic: what depends on it has the error type, which fits everywhere.

mod access;
mod arguments;
mod assigned;
mod attrs;
mod body;
pub mod capability;
mod checked;
pub mod codes;
mod collect;
mod conform;
mod constant;
mod construct;
mod convert;
mod defer;
pub mod derive;
mod direction;
mod enums;
mod expr;
mod foreign;
mod generics;
pub mod hir;
mod infer;
mod inherited;
mod init;
mod known;
mod lacking;
mod lambda;
mod lookup;
mod loops;
mod matching;
mod measure;
mod misfit;
mod missing;
mod operators;
mod optional;
mod overload;
mod packs;
mod passing;
mod place;
mod placement;
mod platform;
mod program;
mod prototypes;
mod resolve;
mod returns;
mod show;
mod signature;
mod stmt;
mod subst;
mod substexpr;
mod tables;
mod throws;
mod throws_each;
mod unreadable;
mod usings;
mod varying;
mod witness;
mod wrapper;

pub use checked::{Checked, Subst};

use cotangent_base::{FileId, Symbol};
use cotangent_syntax::ast;

/// A file to check.
pub struct Input {
    /// Which file.
    pub file: FileId,
    /// Its syntax tree.
    pub tree: ast::File,
    /// Whether it belongs to the standard library.
    pub library: bool,
    /// What its module is called if no `module` line says so.
    pub name: Symbol,
    /// The number of its module among the user's; the files of one module share it.
    pub module: usize,
    /// What it imports.
    pub imports: Vec<Import>,
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
    pub fn library(file: FileId, tree: ast::File) -> Self {
        Input { file, tree, library: true, name: "std".into(), module: 0, imports: vec![] }
    }

    /// A module of one file that imports nothing.
    pub fn module(file: FileId, tree: ast::File) -> Self {
        Input { file, tree, library: false, name: "main".into(), module: 0, imports: vec![] }
    }
}

/// What the checker is told about a program beside its text: types and values for what the program leaves open, as the
/// command line says.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// For `type_param` and `extern` declarations.
    pub globals: Vec<(Symbol, ast::Expr)>,
    /// For shader parameters of interface type, by their names.
    pub types: Vec<(Symbol, ast::Expr)>,
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
    let mut checked = Checked::default();
    checked.collect(inputs);
    checked.link_modules(given);
    checked.index_extensions();
    checked.drop_prototypes();
    checked.link_functions();
    derive::attach(&mut checked);
    checked.check_user_program();
    checked.share();
    checked
}
