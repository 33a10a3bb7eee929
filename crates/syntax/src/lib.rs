//! The first stage: parses text to a syntax tree.
//!
//! [`lex`] splits a text into raw tokens, [`preprocess`] executes directives and expands macros, and [`parse_tokens`] builds
//! the tree of [`ast`]; [`parse`] does all three. Each is a pure function of its input: files come through the [`Loader`],
//! and errors go to the [`Diagnostics`]. There is always a tree, with error nodes for invalid text. On no input does this
//! stage panic, recurse without bound or loop forever.
//!
//! This stage does not resolve names: the checker decides whether `a` is a type or a variable.

pub mod ast;
pub mod codes;
mod lexer;
mod literal;
mod parser;
mod pp;
mod token;

pub use lexer::lex;
pub use parser::codes as parser_codes;
pub use parser::{Limits, parse_library_tokens, parse_tokens};
pub use pp::{TokenStream, preprocess};
pub use token::{Flags, Kw, LexError, Punct, Token, TokenKind};

use cotangent_base::{Diagnostics, FileId, Loader, Sources};

/// Preprocesses and parses one file. Files that it includes are added to `sources`; files that it imports are
/// not read. `defines` are macros with their values, as from a command line.
pub fn parse(
    sources: &mut Sources,
    loader: &dyn Loader,
    file: FileId,
    defines: &[(String, String)],
    limits: Limits,
    diags: &mut Diagnostics,
) -> ast::File {
    let stream = preprocess(sources, loader, file, defines, diags);
    parse_tokens(stream, sources, limits, diags)
}
