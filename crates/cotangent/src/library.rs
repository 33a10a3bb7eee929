//! The standard library: its text, built in, and the files of it that a program needs.
//!
//! Most programs use only a small part of the library, and reading it dominates the time to check a small program. So a file
//! may begin with the names that it declares,
//!
//! ```text
//! //names: Atomic InterlockedAdd InterlockedAnd
//! ```
//!
//! and is then read only if one of these names occurs in the program, or in another such file that is read. The other files
//! are always read and use none of these names. Tests compare the lists with the declarations, and check the files that are
//! always read by themselves.
//!
//! [`MODULES`] are no part of the library: a program imports them by name, and a file of the program with that name goes first.

use crate::session::Memo;
use cotangent_base::{Diagnostics, Entity, FileId, Files, Map, Sources, Span, Symbol};
use cotangent_sema::{Checked, Input};
use cotangent_syntax::{TokenKind, TokenStream, ast};
use std::sync::{Arc, LazyLock, OnceLock};

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
    "cooperative.slang",
    "core.slang",
    "diff.slang",
    "functions.slang",
    "geometry.slang",
    "gradients.slang",
    "heaps.slang",
    "image_gradients.slang",
    "images.slang",
    "math.slang",
    "memory.slang",
    "packing.slang",
    "pixels.slang",
    "rays.slang",
    "residency.slang",
    "resources.slang",
    "samplers.slang",
    "scalars.slang",
    "shapes.slang",
    "stages.slang",
    "tensors.slang",
    "texture_gradients.slang",
    "textures.slang",
    "torch.slang",
    "truth.slang",
    "wave_parts.slang",
    "waves.slang",
];

/// Path and text of each module that programs can import although there is no such file.
const MODULES: &[(&str, &str)] =
    &[("<built-in>/slangpy.slang", include_str!("../../../modules/slangpy.slang"))];

/// The path of the built-in module whose file would have this name.
pub(crate) fn module(file: &str) -> Option<&'static str> {
    MODULES.iter().map(|(path, _)| *path).find(|path| path.strip_prefix("<built-in>/") == Some(file))
}

/// The text of a built-in module.
pub(crate) fn module_text(path: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

/// Whether a file is read only if it is needed.
fn is_optional(text: &str) -> bool {
    names(text).next().is_some()
}

/// The names that a file says it declares: none if it is always read.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix("//names: ")).flat_map(str::split_whitespace)
}

/// The file that declares a name, by its place among [`FILES`].
static DECLARED_IN: LazyLock<Map<Symbol, usize>> = LazyLock::new(|| {
    let of_file = |(file, (_, text)): (usize, &(&str, &'static str))| {
        names(text).map(move |name| (Symbol::new(name), file))
    };
    FILES.iter().enumerate().flat_map(of_file).collect()
});

/// The files of the library as source files: each has its place among [`FILES`] as its number, in every session.
static SOURCES: LazyLock<Sources> = LazyLock::new(|| {
    let mut sources = Sources::new();
    for (path, text) in FILES {
        sources.add_library(*path, *text);
    }
    sources.share();
    sources
});

/// The files of the library, to add others to.
pub(crate) fn sources() -> Sources {
    SOURCES.clone()
}

/// Whether a place is in the library.
pub(crate) fn contains(span: Span) -> bool {
    span.file.index() < FILES.len()
}

/// A set of files of the library.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Needs(u32);

const _: () = assert!(FILES.len() <= u32::BITS as usize);

impl Needs {
    /// What is always read.
    pub(crate) fn always() -> Self {
        let always = FILES.iter().enumerate().filter(|(_, (_, text))| !is_optional(text));
        Needs(always.map(|(file, _)| 1 << file).sum())
    }

    /// What these tokens name.
    pub(crate) fn of(stream: &TokenStream) -> Self {
        let mut needs = Needs::default();
        for token in &stream.tokens {
            if let TokenKind::Ident(name) = token.kind
                && let Some(file) = DECLARED_IN.get(&name)
            {
                needs.0 |= 1 << file;
            }
        }
        needs
    }

    /// Adds what another part of the program needs.
    pub(crate) fn add(&mut self, other: Needs) {
        self.0 |= other.0;
    }

    fn has(self, file: usize) -> bool {
        self.0 >> file & 1 == 1
    }

    /// With what the files themselves need.
    pub(crate) fn closed(mut self) -> Self {
        loop {
            let before = self;
            for file in (0..FILES.len()).filter(|file| before.has(*file)) {
                self.add(parsed(file).needs);
            }
            if self == before {
                return self;
            }
        }
    }

    /// The names of the library that are not needed.
    pub(crate) fn unread(self) -> Vec<Symbol> {
        DECLARED_IN.iter().filter(|(_, file)| !self.has(**file)).map(|(name, _)| *name).collect()
    }

    /// These files, collected: once per process.
    pub(crate) fn collected(self) -> Arc<Checked> {
        static COLLECTED: LazyLock<Memo<Needs, Checked>> = LazyLock::new(Memo::default);
        COLLECTED.get(&self, || {
            let files = (0..FILES.len()).filter(|file| self.has(*file));
            let inputs = files.map(|file| Input::library(FileId::new(file), parsed(file).tree.clone()));
            cotangent_sema::collect_library(inputs.collect())
        })
    }
}

/// A parsed file.
struct Parsed {
    tree: Arc<ast::File>,
    /// What it needs beside what is always read.
    needs: Needs,
}

/// A file of the library, parsed on first use: once per process.
fn parsed(file: usize) -> &'static Parsed {
    static PARSED: [OnceLock<Parsed>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    PARSED[file].get_or_init(|| {
        let (mut sources, mut diagnostics) = (sources(), Diagnostics::new());
        let id = FileId::new(file);
        let stream = cotangent_syntax::preprocess(&mut sources, &Files(&[]), id, &[], &mut diagnostics);
        let needs = if is_optional(FILES[file].1) { Needs::of(&stream) } else { Needs::default() };
        let tree = cotangent_syntax::parse_library_tokens(stream, &sources, &mut diagnostics);
        debug_assert!(diagnostics.is_empty(), "the library has mistakes: {diagnostics:?}");
        Parsed { tree: tree.into(), needs }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, Session, Texts};
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
        assert_eq!(std::fs::read_dir(format!("{folder}/../modules")).unwrap().count(), MODULES.len());
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
        let of = |file: usize| parsed(file).tree.decls.iter().filter_map(declared).map(Symbol::as_str);
        let files = || FILES.iter().enumerate();
        let always = files().filter(|(_, (_, text))| !is_optional(text));
        let always: BTreeSet<&str> = always.flat_map(|(file, _)| of(file)).collect();
        let mut seen = BTreeSet::new();
        for (file, (path, text)) in files().filter(|(_, (_, text))| is_optional(text)) {
            let said: BTreeSet<&str> = names(text).collect();
            // An overload of what is always there is like an operator: it is about types of the file. Names for the library itself
            // begin with two underscores.
            let is_own = |name: &&str| name.starts_with("__") && !said.contains(name);
            let found: BTreeSet<&str> =
                of(file).filter(|name| !always.contains(name) && !is_own(name)).collect();
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
        let session = Session::new(Texts::new([("a.slang", "float f(float x) { return x * x; }")]));
        let program = session.program(&Request::new("a.slang"));
        assert_eq!(program.needs(), Needs::always());
        let mut queries = program.checked().unwrap().queries();
        for func in queries.program.funcs.keys() {
            queries.body(func);
        }
        assert!(queries.diagnostics.is_empty(), "{:?}", queries.diagnostics);
    }
}
