//! The recursive-descent parser. Input: tokens. Output: the tree of [`ast`].
//!
//! Each function parses one construct and returns it, or reports an error and returns [`Abort`], which unwinds to the nearest
//! statement or declaration. There [`recover`] skips to where the next one may begin. So independent mistakes have
//! independent diagnostics. A few simple mistakes, such as a missing `;`, are reported without unwinding.
//!
//! No word is reserved and names are not resolved, so some decisions need lookahead: whether a statement is a declaration,
//! whether `<` opens generic arguments, whether `(A)` is a cast. [`lookahead`] makes them by scanning tokens, without
//! building a tree. The table of matching brackets, made at the start, lets it jump.
//!
//! [`Limits::depth`] bounds recursion. [`Limits::height`] bounds chains that are parsed in a loop but make deep trees, such
//! as `a + b + c`. Exceeding either ends the parse with one diagnostic.

mod aggregate;
pub mod codes;
mod decl;
mod expr;
mod foreign;
mod func;
mod generics;
mod layout;
mod lookahead;
mod prefix;
mod primary;
mod recover;
mod reference;
mod stmt;
mod target_code;
mod types;

use crate::ast::{self, Ident, Version};
use crate::pp::TokenStream;
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::{Code, Diagnostic, Diagnostics, Sources, Span};

/// How deep trees may be. All stages walk them by recursion, so the stack decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Deepest nesting of statements, expressions and types the parser goes into.
    pub depth: u32,
    /// No expression is deeper than this many nodes, up to the constant few that one nesting level has, and no chain of
    /// `else if` is longer.
    pub height: u32,
}

impl Limits {
    /// For the stack that any thread has: 2 MiB.
    pub const ANY_STACK: Limits = Limits { depth: 128, height: 400 };
    /// For a stack of 256 MiB.
    pub const LARGE_STACK: Limits = Limits { depth: 1000, height: 10_000 };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::ANY_STACK
    }
}

/// After so many errors the rest of a file is not read.
const MAX_ERRORS: u32 = 100;

/// Parses the tokens of a file. The text in `sources` is only consulted for better messages.
pub fn parse_tokens(
    stream: TokenStream,
    sources: &Sources,
    limits: Limits,
    diags: &mut Diagnostics,
) -> ast::File {
    let mut parser = Parser::new(stream, sources, limits, diags);
    ast::File { decls: parser.file(), version: parser.version }
}

/// The same for a file of the library, which has no mistakes: bodies of functions are read when they are needed.
pub fn parse_library_tokens(stream: TokenStream, sources: &Sources, diags: &mut Diagnostics) -> ast::File {
    let mut parser = Parser::new(stream, sources, Limits::default(), diags);
    parser.lazy = true;
    ast::File { decls: parser.file(), version: parser.version }
}

/// Parses the tokens of a block of the library, from brace to brace; `first` is the index of the first one in its file.
pub(crate) fn parse_block(mut tokens: Vec<Token>, first: usize, version: Version) -> ast::Block {
    let last = tokens.last().expect("there are braces").span;
    tokens.push(Token { kind: TokenKind::Eof, span: last, ..tokens[0] });
    let (sources, mut diags) = (Sources::new(), Diagnostics::new());
    let stream = TokenStream { tokens, version: Some(version) };
    let mut parser = Parser::new(stream, &sources, Limits::default(), &mut diags);
    parser.first = first;
    let block = parser.block();
    debug_assert!(diags.is_empty(), "the library has mistakes: {diags:?}");
    block.unwrap_or_else(|Abort| ast::Block { stmts: vec![], span: last })
}

/// An error was reported; unwind to a place where parsing can go on.
struct Abort;

type Parse<T> = Result<T, Abort>;

struct Parser<'d> {
    sources: &'d Sources,
    /// The tokens; the last is the end of the file.
    tokens: Vec<Token>,
    /// For each opening bracket the index of its partner, or 0.
    partners: Vec<u32>,
    pos: usize,
    /// The index of the first token in its file, where a part of a file is parsed.
    first: usize,
    diags: &'d mut Diagnostics,
    limits: Limits,
    version: Version,
    depth: u32,
    /// The height of the expression that was read last.
    height: u32,
    /// The greatest height since a lambda began, whose body may hold many expressions.
    peak: u32,
    /// How many lists of generic arguments are open, in which `>` closes and does not compare.
    angles: u32,
    /// How many lambdas are open.
    lambdas: u32,
    /// Whether bodies of functions are set aside.
    lazy: bool,
    /// Where the last error was: one per token is enough.
    last_error: usize,
    /// How many errors there were.
    errors: u32,
    /// Parsing ended early and all further errors are consequences.
    gave_up: bool,
}

impl<'d> Parser<'d> {
    fn new(
        stream: TokenStream,
        sources: &'d Sources,
        limits: Limits,
        diags: &'d mut Diagnostics,
    ) -> Parser<'d> {
        Parser {
            partners: recover::partners(&stream.tokens),
            tokens: stream.tokens,
            pos: 0,
            first: 0,
            sources,
            diags,
            limits,
            version: stream.version.unwrap_or_default(),
            depth: 0,
            height: 0,
            peak: 0,
            angles: 0,
            lambdas: 0,
            lazy: false,
            last_error: usize::MAX,
            errors: 0,
            gave_up: false,
        }
    }
}

/// Looking at tokens.
impl Parser<'_> {
    fn peek(&self) -> Token {
        self.tokens[self.pos]
    }

    /// The token `n` further on.
    fn nth(&self, n: usize) -> Token {
        self.tokens[(self.pos + n).min(self.tokens.len() - 1)]
    }

    fn at(&self, punct: Punct) -> bool {
        self.peek().is(punct)
    }

    fn at_kw(&self, kw: Kw) -> bool {
        self.peek().kw == kw
    }

    fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::Eof
    }

    /// Whether the next token is the word `kw` followed by a name, as in `struct Ray`.
    fn at_kw_name(&self, kw: Kw) -> bool {
        self.at_kw(kw) && self.nth(1).is_ident()
    }

    /// Takes the next token. The end of the file is never passed.
    fn bump(&mut self) -> Token {
        let token = self.peek();
        self.pos = (self.pos + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, punct: Punct) -> bool {
        let found = self.at(punct);
        if found {
            self.bump();
        }
        found
    }

    fn eat_kw(&mut self, kw: Kw) -> bool {
        let found = self.at_kw(kw);
        if found {
            self.bump();
        }
        found
    }

    /// Takes one `>`, splitting `>>` and, in declarations, `>=` where they stand for two tokens.
    fn eat_gt(&mut self) -> bool {
        let rest = match self.peek().kind {
            TokenKind::Punct(Punct::Gt) => return self.eat(Punct::Gt),
            TokenKind::Punct(Punct::Shr) => Punct::Gt,
            TokenKind::Punct(Punct::Ge) => Punct::Eq,
            TokenKind::Punct(Punct::ShrEq) => Punct::Ge,
            _ => return false,
        };
        let token = &mut self.tokens[self.pos];
        token.kind = TokenKind::Punct(rest);
        token.span.start = (token.span.start + 1).min(token.span.end);
        true
    }

    /// The span of the token before this one.
    fn prev_span(&self) -> Span {
        self.tokens[self.pos.saturating_sub(1)].span
    }

    /// From `start` to the last token taken.
    fn span_from(&self, start: Span) -> Span {
        start.to(self.prev_span())
    }

    fn ident_at(&self, pos: usize) -> Option<Ident> {
        let token = self.tokens[pos];
        match token.kind {
            TokenKind::Ident(name) if token.is_name() => Some(Ident { name, span: token.span }),
            _ => None,
        }
    }
}

/// Asking for tokens and reporting what is wrong.
impl Parser<'_> {
    /// Reports, unless something was already reported here. What is no token was reported by the
    /// preprocessor, and errors around it are its consequences.
    fn report(&mut self, diagnostic: Diagnostic) {
        let is_bad = |pos: usize| matches!(self.tokens[pos].kind, TokenKind::Bad(_));
        let repeated = self.last_error == self.pos || is_bad(self.pos) || is_bad(self.pos.saturating_sub(1));
        if self.gave_up || (repeated && diagnostic.is_error()) {
            return;
        }
        if diagnostic.is_error() {
            self.last_error = self.pos;
            self.errors += 1;
        }
        let diagnostic = self.with_foreign_help(diagnostic);
        self.diags.push(diagnostic);
        if self.errors >= MAX_ERRORS {
            let message = "too many errors";
            let error = Diagnostic::new(codes::TOO_MANY_ERRORS, self.here(), message);
            self.diags.push(error.help("fix the first ones and try again"));
            self.give_up();
        }
    }

    /// Ends the parse: the tokens that are left are skipped and nothing more is reported.
    fn give_up(&mut self) {
        self.gave_up = true;
        self.pos = self.tokens.len() - 1;
    }

    /// Reports and unwinds.
    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parse<T> {
        self.report(diagnostic);
        Err(Abort)
    }

    /// Reports that something else was expected at the next token, and unwinds.
    fn expected<T>(&mut self, code: Code, what: &str) -> Parse<T> {
        let found = self.peek();
        let message = format!("expected {what}, found {}", found.describe());
        self.fail(Diagnostic::new(code, self.here(), message))
    }

    /// The place of the next token; the end of the file is shown after the last token.
    fn here(&self) -> Span {
        if self.at_end() { self.prev_span().after() } else { self.peek().span }
    }

    fn expect(&mut self, punct: Punct) -> Parse<Token> {
        if self.at(punct) {
            return Ok(self.bump());
        }
        self.expected(codes::EXPECTED_TOKEN, &format!("`{}`", punct.text()))
    }

    /// A name for `what`, which reads "a name for the structure".
    fn expect_name(&mut self, what: &str) -> Parse<Ident> {
        match self.ident_at(self.pos) {
            Some(name) => {
                self.bump();
                Ok(name)
            }
            None => {
                let found = self.peek();
                let message = format!("expected {what}, found {}", found.describe());
                let mut error = Diagnostic::new(codes::EXPECTED_NAME, self.here(), message);
                if matches!(found.kind, TokenKind::Number(_)) {
                    error = error.help("a name does not begin with a digit");
                }
                self.fail(error)
            }
        }
    }

    /// The `;` after a statement or declaration. If the next line goes on with something else, the `;` was
    /// forgotten and nothing needs to be skipped.
    fn semi(&mut self) -> Parse<()> {
        if self.eat(Punct::Semi) {
            return Ok(());
        }
        let found = self.peek();
        let message = format!("expected `;`, found {}", found.describe());
        let error = Diagnostic::new(codes::EXPECTED_SEMICOLON, self.prev_span().after(), message);
        self.report(error.here("add `;` here"));
        let forgotten = found.at_line_start() || found.is(Punct::RBrace);
        if forgotten { Ok(()) } else { Err(Abort) }
    }

    /// The bracket that closes the one at index `open`.
    fn close(&mut self, open: usize) -> Parse<()> {
        self.close_or(open, "")
    }

    /// The bracket that closes the one at index `open`, or else `other`, which reads "`,` or ".
    fn close_or(&mut self, open: usize, other: &str) -> Parse<()> {
        let opener = self.tokens[open];
        let TokenKind::Punct(punct) = opener.kind else {
            return Ok(());
        };
        let Some(closer) = punct.closer() else {
            return Ok(());
        };
        if self.eat(closer) {
            return Ok(());
        }
        if self.gave_up {
            return Err(Abort);
        }
        let unclosed = self.partners[open] == 0;
        let found = self.peek().describe();
        let error = if unclosed {
            let message = format!("this `{}` is never closed", punct.text());
            let error = Diagnostic::new(codes::UNCLOSED, opener.span, message)
                .label(self.here(), format!("a `{}` was expected before {found}", closer.text()));
            self.suspect_indentation(open, error)
        } else {
            let message = format!("expected {other}`{}`, found {found}", closer.text());
            Diagnostic::new(codes::EXPECTED_TOKEN, self.here(), message)
                .label(opener.span, format!("to close this `{}`", punct.text()))
        };
        self.fail(error)
    }

    /// Runs `read` one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= self.limits.depth {
            return self.too_deep();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Notes that an expression of this height was read.
    fn grown(&mut self, height: u32) -> Parse<()> {
        self.height = height;
        self.peak = self.peak.max(height);
        if height > self.limits.height { self.too_deep() } else { Ok(()) }
    }

    fn too_deep<T>(&mut self) -> Parse<T> {
        let error = Diagnostic::new(codes::TOO_DEEP, self.here(), "nested too deeply");
        self.last_error = usize::MAX;
        self.report(error.help("store intermediate results in variables or split the function"));
        self.give_up();
        Err(Abort)
    }

    /// Refuses a construct that is not implemented, and unwinds.
    fn unsupported<T>(&mut self, span: Span, what: &str, help: Option<&str>) -> Parse<T> {
        let mut error =
            Diagnostic::new(crate::codes::UNSUPPORTED_SYNTAX, span, format!("{what} is not supported yet"));
        error.help = help.map(Into::into);
        self.fail(error)
    }
}
