//! The preprocessor. Input: raw tokens of a file and its includes. Output: the tokens that the parser reads.
//!
//! A file is a sequence of directive lines with text between them. [`directive`] executes directives, [`expand`] replaces
//! macros in the text, and [`condition`] evaluates `#if`. Everything is bounded: the depth and number of includes, the number
//! of tokens that macros produce, and the depth of macros in arguments. So hostile input ends with a diagnostic.

mod condition;
mod directive;
mod expand;
mod macros;

use crate::ast::Version;
use crate::codes;
use crate::lexer::lex;
use crate::token::{LexError, Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, Diagnostics, FileId, Loader, Map, Set, Sources, Span, Symbol};
use directive::Conditional;
use macros::Macro;
use std::sync::Arc;

/// Deepest nesting of `#include`.
const MAX_INCLUDE_DEPTH: u32 = 64;
/// Most files one file may pull in, counting each time.
const MAX_INCLUDES: u32 = 4096;
/// Most pieces of text that are no tokens to report.
const MAX_STRAY: u32 = 20;
/// Most tokens of a file with all it includes: some two hundred thousand lines.
const MAX_TOKENS: usize = 2_000_000;
/// Most tokens that macros may produce for one file.
const MAX_EXPANSION: u32 = 2_000_000;

/// What the parser reads: the tokens of a file, the last of which is [`TokenKind::Eof`].
#[derive(Clone, Debug)]
pub struct TokenStream {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// The version of the language the file asks for, if it does.
    pub version: Option<Version>,
}

/// Preprocesses `file`. Included files are read through `loader` and added to `sources`; `defines` are
/// macros with their values, as from a command line.
pub fn preprocess(
    sources: &mut Sources,
    loader: &dyn Loader,
    file: FileId,
    defines: &[(String, String)],
    diags: &mut Diagnostics,
) -> TokenStream {
    let mut pp = Preprocessor {
        sources,
        loader,
        diags,
        macros: macros::predefined(),
        out: Vec::new(),
        once: Set::default(),
        lexed: Map::default(),
        renumbered: Map::default(),
        includes: 0,
        budget: MAX_EXPANSION,
        version: None,
        stray: 0,
    };
    pp.define_all(defines);
    let tokens: Arc<[Token]> = lex(file, &pp.sources.text(file)).into();
    pp.out.reserve(tokens.len());
    pp.file(file, &tokens, 0);
    pp.out.extend(tokens.last());
    TokenStream { tokens: pp.out, version: pp.version }
}

/// What `#line` says of the lines after it.
#[derive(Clone, Copy)]
struct Renumbered {
    /// What is added to the number of a line.
    shift: i64,
    /// The path that `__FILE__` gives, in quotes.
    path: Option<Symbol>,
}

pub(crate) struct Preprocessor<'a> {
    sources: &'a mut Sources,
    loader: &'a dyn Loader,
    diags: &'a mut Diagnostics,
    macros: Map<Symbol, Arc<Macro>>,
    out: Vec<Token>,
    /// The files with `#pragma once`, by [`Loader::identity`].
    once: Set<String>,
    /// Included files by path: each is read once.
    lexed: Map<String, (FileId, Arc<[Token]>)>,
    /// Files in which `#line` was met.
    renumbered: Map<FileId, Renumbered>,
    includes: u32,
    /// How many more tokens macros may produce.
    budget: u32,
    version: Option<Version>,
    /// How many pieces of text that are no tokens were reported.
    stray: u32,
}

impl Preprocessor<'_> {
    /// Defines macros from outside by preprocessing a text that defines them.
    fn define_all(&mut self, defines: &[(String, String)]) {
        if defines.is_empty() {
            return;
        }
        let line = |(name, value): &(String, String)| {
            format!("#define {name} {}\n", value.replace(['\n', '\r'], " "))
        };
        let text: String = defines.iter().map(line).collect();
        let file = self.sources.add("<command line>", text.as_str());
        self.file(file, &lex(file, &text).into(), 0);
        self.out.clear();
    }

    /// Preprocesses one file into `out`.
    fn file(&mut self, file: FileId, tokens: &Arc<[Token]>, depth: u32) {
        self.report_open_comment(tokens);
        self.renumbered.remove(&file);
        let mut conditionals = Vec::new();
        let mut pos = 0;
        while tokens[pos].kind != TokenKind::Eof {
            if is_directive(&tokens[pos]) {
                let end = line_end(tokens, pos + 1);
                self.directive(file, tokens[pos], &tokens[pos + 1..end], &mut conditionals, depth);
                pos = end;
                continue;
            }
            let end = text_end(tokens, pos);
            if conditionals.last().is_none_or(Conditional::is_live) {
                if self.out.len() + (end - pos) > MAX_TOKENS {
                    return self.too_long(tokens[pos]);
                }
                let mut out = std::mem::take(&mut self.out);
                self.expand(&tokens[pos..end], &mut out, 0);
                self.out = out;
            }
            pos = end;
        }
        for open in conditionals {
            self.diags.push(
                Diagnostic::new(codes::UNCLOSED_CONDITIONAL, open.span, "this conditional has no `#endif`")
                    .help("add `#endif` before the end of the file"),
            );
        }
    }

    /// Reports a program that is too long to be read, and drops the rest of it.
    fn too_long(&mut self, token: Token) {
        let message = format!("the program has more than {MAX_TOKENS} tokens with this");
        let error = Diagnostic::new(codes::EXPANSION_LIMIT, token.span, message);
        self.diags.push(error.help("split it into modules"));
    }

    /// A comment without an end swallows directives, so it is reported even where text is skipped.
    fn report_open_comment(&mut self, tokens: &[Token]) {
        let open =
            tokens.iter().rev().nth(1).filter(|t| t.kind == TokenKind::Bad(LexError::UnterminatedComment));
        if let Some(open) = open {
            self.diags.push(
                Diagnostic::new(codes::UNTERMINATED_COMMENT, open.span, "unterminated comment")
                    .help("close it with `*/`"),
            );
        }
    }

    /// Reports a piece of text that is not a token.
    fn report_bad(&mut self, error: LexError, span: Span) {
        let diagnostic = match error {
            LexError::StrayCharacter(c) => stray_character(c, span),
            LexError::UnterminatedLiteral => {
                Diagnostic::new(codes::UNTERMINATED_LITERAL, span, "this literal has no closing quote")
                    .help("a string ends on the line it begins on")
            }
            // Already reported for the file as a whole.
            LexError::UnterminatedComment => return,
        };
        // A file that is no text at all is full of these.
        if self.stray < MAX_STRAY {
            self.stray += 1;
            self.diags.push(diagnostic);
        }
    }
}

/// The message for a character that begins no token, with what was probably meant.
fn stray_character(c: char, span: Span) -> Diagnostic {
    if c == char::REPLACEMENT_CHARACTER {
        let error = Diagnostic::new(codes::STRAY_CHARACTER, span, "the file is not UTF-8 here");
        return error.help("save it as UTF-8, or remove the character");
    }
    let shown =
        if c.is_control() || c.is_whitespace() { c.escape_unicode().to_string() } else { c.to_string() };
    let error = Diagnostic::new(codes::STRAY_CHARACTER, span, format!("unexpected character `{shown}`"));
    let meant = match c {
        '\u{2018}' | '\u{2019}' => "'",
        '\u{201c}' | '\u{201d}' => "\"",
        '\u{2013}' | '\u{2014}' | '\u{2212}' => "-",
        '\u{d7}' | '\u{b7}' => "*",
        '\u{37e}' => ";",
        _ if c.is_whitespace() => " ",
        _ => return error.help("remove it; names consist of ASCII letters, digits and `_`"),
    };
    error.help(format!("write the ASCII character `{meant}` instead"))
}

fn is_directive(token: &Token) -> bool {
    token.is(Punct::Hash) && token.at_line_start()
}

/// The index of the first token from `pos` that begins a line.
fn line_end(tokens: &[Token], pos: usize) -> usize {
    (pos..tokens.len()).find(|i| tokens[*i].at_line_start()).unwrap_or(tokens.len() - 1)
}

/// The index of the first directive, or the end of the file, after `pos`.
fn text_end(tokens: &[Token], pos: usize) -> usize {
    (pos..tokens.len() - 1).find(|i| is_directive(&tokens[*i])).unwrap_or(tokens.len() - 1)
}

#[cfg(test)]
mod tests;
