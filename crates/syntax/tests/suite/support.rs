//! What the tests of this crate share: a parse of a text.

use cotangent_base::{Diagnostics, Files, Sources};
use cotangent_syntax::{Limits, ast};

/// A parsed text with all that was found.
pub struct Parsed {
    /// The files.
    pub sources: Sources,
    /// The tree.
    pub file: ast::File,
    /// What is wrong.
    pub diags: Diagnostics,
}

/// Parses `text`, which may include one empty file.
pub fn parse(text: &str) -> Parsed {
    let mut sources = Sources::new();
    let id = sources.add("test.slang", text);
    let mut diags = Diagnostics::new();
    let (files, limits) = (Files(&[("lighting.slang", "")]), Limits::default());
    let file = cotangent_syntax::parse(&mut sources, &files, id, &[], limits, &mut diags);
    Parsed { sources, file, diags }
}

impl Parsed {
    /// Each diagnostic on a line, with its place.
    pub fn messages(&self) -> String {
        let line = |d: &cotangent_base::Diagnostic| {
            format!("{}: {:?} {}\n", self.sources.place(d.primary.span), d.code, d.message)
        };
        self.diags.iter().map(line).collect()
    }
}
