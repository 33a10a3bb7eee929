//! Tests of derivatives in the front end: small programs, checked with the library.

mod custom;
mod flow;
mod library;
mod marks;
mod signature;
mod types;

use crate::derive::Signature;
use crate::hir::{DiffMode, FuncId, StructId, Ty, TyKind};
use crate::{Checked, Input};
use cotangent_base::{Diagnostics, Files, Sources};

/// A checked program with its text.
struct Program {
    checked: Checked,
    sources: Sources,
}

/// Checks a program together with the library.
fn program(text: &str) -> Program {
    program_with(library(), text)
}

/// Checks a program together with a library.
fn program_with(library: Vec<(String, String)>, text: &str) -> Program {
    let mut sources = Sources::new();
    let mut diagnostics = Diagnostics::new();
    let mut inputs = vec![];
    for (path, text) in library {
        let file = sources.add_library(path, text);
        let tree = cotangent_syntax::parse(
            &mut sources,
            &Files(&[]),
            file,
            &[],
            Default::default(),
            &mut diagnostics,
        );
        inputs.push(Input::library(file, tree));
    }
    let file = sources.add("test.slang", text);
    let tree =
        cotangent_syntax::parse(&mut sources, &Files(&[]), file, &[], Default::default(), &mut diagnostics);
    inputs.push(Input::module(file, tree));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let checked = crate::check(inputs);
    Program { checked, sources }
}

/// The files of the library, in order of their names.
fn library() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../std");
    let entries = std::fs::read_dir(folder).expect("the library is there");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        (path.display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}

/// Checks a program that must have no errors.
fn valid(text: &str) -> Program {
    let program = program(text);
    assert_eq!(program.problems(), Vec::<String>::new());
    program
}

/// What is wrong with a program: each code with the text it points at.
fn problems(text: &str) -> Vec<String> {
    program(text).problems()
}

impl Program {
    fn problems(&self) -> Vec<String> {
        let errors = self.checked.diagnostics.iter().filter(|d| d.is_error());
        errors
            .map(|d| format!("{} {} ({})", d.code.name, self.sources.snippet(d.primary.span), d.message))
            .map(|text| text.split_once(" (").map_or(text.clone(), |(front, _)| front.into()))
            .collect()
    }

    fn func(&self, name: &str) -> FuncId {
        let funcs = self.checked.program.funcs.iter();
        let mut named = funcs.filter(|(_, f)| f.name == name).map(|(id, _)| id);
        named.next().unwrap_or_else(|| panic!("no function `{name}`"))
    }

    fn structure(&self, name: &str) -> StructId {
        let structs = self.checked.program.structs.iter();
        let mut named = structs.filter(|(_, s)| s.name == name).map(|(id, _)| id);
        named.next().unwrap_or_else(|| panic!("no structure `{name}`"))
    }

    /// The type of a structure without parameters.
    fn ty(&mut self, name: &str) -> Ty {
        let id = self.structure(name);
        let args = self.checked.program.types.args(&[]);
        self.checked.program.types.ty(TyKind::Struct(id, args))
    }

    /// The differential of such a type, in words.
    fn differential(&mut self, name: &str) -> String {
        let ty = self.ty(name);
        match self.checked.differential_of(ty) {
            Some(ty) => self.checked.show(ty),
            None => "none".into(),
        }
    }

    /// The fields of a structure: `float x, int n`.
    fn fields(&mut self, name: &str) -> String {
        let id = self.structure(name);
        let fields = self.checked.program.structs[id].fields.iter();
        let fields: Vec<String> = fields.map(|f| format!("{} {}", self.checked.show(f.ty), f.name)).collect();
        fields.join(", ")
    }

    /// The signature of a derivative, innermost mode first.
    fn derived(&mut self, name: &str, modes: &[DiffMode]) -> String {
        let func = self.func(name);
        let saved = self.checked.enter(self.checked.tables.funcs[func].generics);
        let mut signature = Signature::of(&self.checked.program.funcs[func]);
        for mode in modes {
            signature = self.checked.derived(&signature, *mode);
        }
        self.checked.leave(saved);
        self.checked.facts().show_signature(&signature)
    }
}
