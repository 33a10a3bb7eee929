//! The first stage: text to syntax tree.
//!
//! [`lex`] makes raw tokens of a text, [`preprocess`] acts on directives and expands macros, [`parse_tokens`]
//! builds the tree of [`ast`]; [`parse`] is all three. Each is a pure function of its input: files come
//! through the [`Loader`], and what is wrong goes to the [`Diagnostics`]. There is always a tree, with error
//! nodes where the text made no sense, and nothing here panics, recurses without bound or loops on any input.
//!
//! This stage knows no names: whether `a` is a type or a variable is decided by the checker.

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
