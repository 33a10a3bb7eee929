//! The standard library: its text, built in, and which files of it a program needs.
//!
//! Much of the library is about things that most programs never name, and reading it is most of what checking a small program
//! costs. So a file may begin with the names that it declares,
//!
//! ```text
//! //names: Atomic InterlockedAdd InterlockedAnd
//! ```
//!
//! and is then read only if one of them stands in the program, or in another such file that is read. The others are always
//! read, and need none of these. Tests compare the lines with the declarations, and check what is always read by itself.

use crate::compiler::Compiler;
use cotangent_base::{Map, Symbol};
use cotangent_sema::Input;
use cotangent_syntax::{TokenKind, TokenStream};

macro_rules! library {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("std/", $name), include_str!(concat!("../../../std/", $name)))),*]
    };
}

/// Path and text of each file.
pub const FILES: &[(&str, &str)] = library![
    "atomics.slang",
    "bits.slang",
    "bytes.slang",
    "casts.slang",
    "core.slang",
    "diff.slang",
    "functions.slang",
    "geometry.slang",
    "math.slang",
    "memory.slang",
    "packing.slang",
    "pixels.slang",
    "resources.slang",
    "scalars.slang",
    "shapes.slang",
    "textures.slang",
    "truth.slang",
    "wave_parts.slang",
    "waves.slang",
];

/// Whether a file is read only if it is needed.
fn is_optional(text: &str) -> bool {
    names(text).next().is_some()
}

/// The names that a file says it declares: none if it is always read.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix("//names: ")).flat_map(str::split_whitespace)
}

/// Which files of the library a program needs.
pub(crate) struct Needs {
    /// The file that declares a name, by its place among [`FILES`].
    declared_in: Map<Symbol, usize>,
    /// For each file, whether it is needed.
    needed: Vec<bool>,
}

impl Needs {
    /// What a program needs that names nothing.
    pub(crate) fn new() -> Self {
        let needed = FILES.iter().map(|(_, text)| !is_optional(text)).collect();
        let of_file = |(file, (_, text)): (usize, &(&str, &'static str))| {
            names(text).map(move |name| (Symbol::new(name), file))
        };
        Needs { declared_in: FILES.iter().enumerate().flat_map(of_file).collect(), needed }
    }

    /// Adds what these tokens name.
    pub(crate) fn note(&mut self, stream: &TokenStream) {
        for token in &stream.tokens {
            if let TokenKind::Ident(name) = token.kind
                && let Some(file) = self.declared_in.get(&name)
            {
                self.needed[*file] = true;
            }
        }
    }

    /// The names of the library that were not needed.
    pub(crate) fn unread(&self) -> Vec<Symbol> {
        self.declared_in.iter().filter(|(_, file)| !self.needed[**file]).map(|(name, _)| *name).collect()
    }
}

impl Compiler<'_> {
    /// Reads what the program read so far needs of the library.
    pub(crate) fn library(&mut self) -> Vec<Input> {
        let mut inputs: Vec<Option<Input>> = FILES.iter().map(|_| None).collect();
        let next = |needs: &Needs, inputs: &[Option<Input>]| {
            (0..FILES.len()).find(|file| needs.needed[*file] && inputs[*file].is_none())
        };
        while let Some(number) = next(&self.needs, &inputs) {
            let (path, text) = FILES[number];
            let file = self.sources.add_library(path, text);
            let stream = self.preprocess(file, &[]);
            if is_optional(text) {
                self.needs.note(&stream);
            }
            let tree = cotangent_syntax::parse_library_tokens(stream, &self.sources, &mut self.diagnostics);
            inputs[number] = Some(Input::library(file, tree));
        }
        inputs.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_base::Files;
    use cotangent_syntax::ast::{Decl, DeclKind};
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_library_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../std");
        let names =
            std::fs::read_dir(folder).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.map(|n| format!("std/{n}")).collect();
        names.sort();
        assert_eq!(names, FILES.iter().map(|(path, _)| path.to_string()).collect::<Vec<_>>());
    }

    /// The name that a declaration at the top of a file gives to programs. Operators are about types of the file, which a
    /// program names to have values of them.
    fn declared(decl: &Decl) -> Option<Symbol> {
        match &decl.kind {
            DeclKind::Func(func) => {
                Some(func.name.name).filter(|name| !name.as_str().starts_with("operator"))
            }
            DeclKind::Var(var) => Some(var.name.name),
            DeclKind::Struct(item) => Some(item.name.name),
            DeclKind::Interface(item) => Some(item.name.name),
            DeclKind::Enum(item) => item.name.map(|name| name.name),
            DeclKind::Alias(item) => Some(item.name.name),
            _ => None,
        }
    }

    #[test]
    fn files_say_what_they_declare_and_no_two_the_same() {
        let mut seen = BTreeSet::new();
        for (path, text) in FILES.iter().filter(|(_, text)| is_optional(text)) {
            let mut compiler = Compiler::new(&Files(&[]), vec![]);
            let file = compiler.sources.add_library(*path, *text);
            let tree = compiler.parse(file, &[]);
            let found: BTreeSet<&str> = tree.decls.iter().filter_map(declared).map(Symbol::as_str).collect();
            let said: BTreeSet<&str> = names(text).collect();
            let line: Vec<&str> = found.iter().copied().collect();
            assert_eq!(said, found, "{path} should begin with\n//names: {}", line.join(" "));
            assert!(
                found.iter().all(|name| seen.insert(*name)),
                "{path} declares what another file declares"
            );
        }
    }

    #[test]
    fn what_is_always_read_needs_nothing_else() {
        let files = Files(&[("a.slang", "float f(float x) { return x * x; }")]);
        let mut compiler = Compiler::new(&files, vec![]);
        let mut checked = compiler.check("a.slang").unwrap();
        let optional = FILES.iter().filter(|(_, text)| is_optional(text)).count();
        assert_eq!(compiler.sources.files().count(), 1 + FILES.len() - optional);
        for func in checked.program.funcs.keys() {
            checked.body(func);
        }
        assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    }
}
