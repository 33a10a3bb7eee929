//! Macro expansion.
//!
//! Text is read from a stack of frames. A use of a macro pushes its substituted body as a new frame, so that the body is
//! scanned again and may use other macros. While the frame of a macro is on the stack, its name is not expanded. A name found
//! in that state is marked and never expanded later. This is C's rule against endless recursion.
//!
//! Tokens of a body have the span of the macro's use. Tokens of arguments keep their own span.

use super::Preprocessor;
use super::macros::{Body, Macro};
use crate::codes;
use crate::lexer::lex;
use crate::token::{Flags, Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, Entity, FileId, Symbol};
use std::sync::Arc;

/// Deepest chain of macros that expand to macros.
const MAX_FRAMES: usize = 1000;
/// Deepest nesting of macro uses in arguments of macros.
const MAX_ARGUMENT_DEPTH: u32 = 64;

/// A macro's body being read.
struct Frame {
    name: Symbol,
    tokens: Vec<Token>,
    pos: usize,
}

/// The text being expanded and the frames above it.
struct Reader<'t> {
    text: &'t [Token],
    frames: Vec<Frame>,
}

impl Reader<'_> {
    /// The next token. One whose macro is being expanded is marked.
    fn next(&mut self) -> Option<Token> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(&token) = frame.tokens.get(frame.pos) {
                frame.pos += 1;
                return Some(self.marked(token));
            }
            self.frames.pop();
        }
        let (&token, rest) = self.text.split_first()?;
        self.text = rest;
        Some(token)
    }

    fn marked(&self, mut token: Token) -> Token {
        if let TokenKind::Ident(name) = token.kind
            && self.frames.iter().any(|f| f.name == name)
        {
            token.flags = token.flags.with(Flags::NO_EXPAND);
        }
        token
    }

    /// Whether the next token is a `(`; frames that are read to their end do not hide it.
    fn at_paren(&self) -> bool {
        let open = self.frames.iter().rev().find_map(|f| f.tokens.get(f.pos));
        open.or(self.text.first()).is_some_and(|t| t.is(Punct::LParen))
    }
}

impl Preprocessor<'_> {
    /// Appends `text` to `out` with its macros expanded. `depth` counts macro arguments around it.
    pub(super) fn expand(&mut self, text: &[Token], out: &mut Vec<Token>, depth: u32) {
        let mut reader = Reader { text, frames: Vec::new() };
        // A macro that stands for nothing leaves its white space to what follows.
        let mut spacing = Flags::NONE;
        while let Some(mut token) = reader.next() {
            token.flags = token.flags.with(spacing);
            spacing = Flags::NONE;
            match token.kind {
                TokenKind::Ident(name) => {
                    if let Some(used) = self.usable(name, token)
                        && (used.params.is_none() || reader.at_paren())
                    {
                        let body = self.use_macro(name, token, &used, &mut reader, depth);
                        if body.is_empty() {
                            spacing = token.flags.spacing();
                        }
                        reader.frames.push(Frame { name, tokens: body, pos: 0 });
                        continue;
                    }
                    out.push(token);
                }
                TokenKind::Bad(error) => {
                    self.report_bad(error, token.span);
                    out.push(token);
                }
                _ => out.push(token),
            }
        }
    }

    /// The macro that a name stands for, if it may be expanded.
    fn usable(&self, name: Symbol, token: Token) -> Option<Arc<Macro>> {
        if token.flags.has(Flags::NO_EXPAND) || self.budget == 0 {
            return None;
        }
        self.macros.get(&name).cloned()
    }

    /// The tokens that a use of a macro stands for, its arguments substituted.
    fn use_macro(
        &mut self,
        name: Symbol,
        token: Token,
        used: &Macro,
        reader: &mut Reader<'_>,
        depth: u32,
    ) -> Vec<Token> {
        let mut body = match &used.body {
            Body::Line => {
                let line = i64::from(self.sources.location(token.span.file, token.span.start).line);
                let line = line + self.renumbered.get(&token.span.file).map_or(0, |r| r.shift);
                vec![Token::new(TokenKind::Number(Symbol::new(&line.to_string())), token.span)]
            }
            Body::File => {
                let given = self.renumbered.get(&token.span.file).and_then(|r| r.path);
                let path = given.unwrap_or_else(|| Symbol::new(&quote(self.sources.path(token.span.file))));
                vec![Token::new(TokenKind::String(path), token.span)]
            }
            Body::Tokens(_) => {
                let arguments = match &used.params {
                    Some(_) => self.arguments(name, token, used, reader),
                    None => Some(vec![]),
                };
                match arguments {
                    Some(raw) => Substitution { used, token, raw, expanded: vec![], depth }.run(self),
                    // The name alone, so that the parser finds an operand.
                    None => vec![token.flagged(token.flags.with(Flags::NO_EXPAND))],
                }
            }
        };
        if let Some(first) = body.first_mut() {
            first.flags = first.flags.stepped(token.flags);
        }
        let cost = body.len() as u32 + 1;
        if self.budget < cost || reader.frames.len() >= MAX_FRAMES {
            self.give_up(token, "macros expand to too much code");
            return vec![];
        }
        self.budget -= cost;
        body
    }

    /// Reports an expansion that got out of hand and stops expanding for good.
    fn give_up(&mut self, token: Token, message: &str) {
        if self.budget > 0 {
            let error =
                Diagnostic::new(codes::EXPANSION_LIMIT, token.span, message).here("while expanding this");
            self.diags.push(error.help("look for macros that each use another one twice"));
            self.budget = 0;
        }
    }

    /// Reads the arguments of a macro from the `(` on. `None` after an error.
    fn arguments(
        &mut self,
        name: Symbol,
        token: Token,
        used: &Macro,
        reader: &mut Reader<'_>,
    ) -> Option<Vec<Vec<Token>>> {
        let params = used.params.as_ref().map_or(0, Vec::len);
        let open = reader.next()?;
        let mut arguments = vec![vec![]];
        let mut depth = 0u32;
        loop {
            let Some(next) = reader.next() else {
                let message = format!("the arguments of the macro `{name}` have no closing `)`");
                self.diags.push(Diagnostic::new(codes::UNCLOSED_MACRO_CALL, open.span, message));
                return None;
            };
            match next.kind {
                TokenKind::Punct(Punct::RParen) if depth == 0 => break,
                TokenKind::Punct(Punct::Comma)
                    if depth == 0 && !(used.variadic && arguments.len() >= params) =>
                {
                    arguments.push(vec![]);
                    continue;
                }
                TokenKind::Punct(Punct::LParen) => depth += 1,
                TokenKind::Punct(Punct::RParen) => depth -= 1,
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(next);
            }
        }
        if arguments.len() == 1 && arguments[0].is_empty() && params == 0 {
            arguments.clear();
        }
        // The variadic parameter may get nothing.
        if used.variadic && arguments.len() + 1 == params {
            arguments.push(vec![]);
        }
        if arguments.len() == params {
            return Some(arguments);
        }
        let plural = if params == 1 { "argument" } else { "arguments" };
        let message = format!("the macro `{name}` takes {params} {plural}, not {}", arguments.len());
        self.diags.push(
            Diagnostic::new(codes::MACRO_ARGUMENTS, token.span, message).label(used.span, "defined here"),
        );
        None
    }
}

/// Putting arguments in place of parameters.
struct Substitution<'m> {
    used: &'m Macro,
    /// The macro's name where it is used.
    token: Token,
    /// The arguments as written, for `#` and `##`.
    raw: Vec<Vec<Token>>,
    /// The arguments with their macros expanded, each computed when first needed.
    expanded: Vec<Option<Vec<Token>>>,
    depth: u32,
}

impl Substitution<'_> {
    fn run(mut self, pp: &mut Preprocessor<'_>) -> Vec<Token> {
        self.expanded.resize(self.raw.len(), None);
        let body = self.used.tokens();
        let mut out: Vec<Token> = Vec::with_capacity(body.len());
        let (mut i, mut paste, mut left_empty) = (0, false, true);
        while i < body.len() {
            if body[i].is(Punct::HashHash) {
                (paste, i) = (true, i + 1);
                continue;
            }
            let next_pastes = body.get(i + 1).is_some_and(|t| t.is(Punct::HashHash));
            let start = i;
            let mut piece = if body[i].is(Punct::Hash) && self.used.params.is_some() {
                i += 1;
                let argument = self.used.param(&body[i]).unwrap_or(0);
                vec![Token::new(
                    TokenKind::String(Symbol::new(&stringize(&self.raw[argument]))),
                    self.token.span,
                )]
            } else if let Some(argument) = self.used.param(&body[i]) {
                if paste && self.swallows_comma(argument, &mut out) {
                    (paste, left_empty) = (false, true);
                }
                let raw = paste || next_pastes;
                if raw { self.raw[argument].clone() } else { self.expanded(argument, pp) }
            } else {
                vec![Token { span: self.token.span, ..body[i] }]
            };
            i += 1;
            if let Some(first) = piece.first_mut() {
                first.flags = first.flags.stepped(body[start].flags);
            }
            let empty = piece.is_empty();
            if !paste || left_empty {
                out.append(&mut piece);
                left_empty = empty;
            } else if !empty {
                self.paste(&mut out, piece, pp);
            }
            paste = false;
            if pp.budget == 0 || out.len() as u32 > pp.budget {
                break;
            }
        }
        out
    }

    /// `, ## __VA_ARGS__`: without further arguments the comma goes as well; with them nothing is glued.
    fn swallows_comma(&self, argument: usize, out: &mut Vec<Token>) -> bool {
        let rest = self.used.variadic && argument + 1 == self.raw.len();
        if !rest || !out.last().is_some_and(|t| t.is(Punct::Comma)) {
            return false;
        }
        if self.raw[argument].is_empty() {
            out.pop();
        }
        true
    }

    fn expanded(&mut self, argument: usize, pp: &mut Preprocessor<'_>) -> Vec<Token> {
        if let Some(done) = &self.expanded[argument] {
            return done.clone();
        }
        let mut tokens = Vec::new();
        if self.depth < MAX_ARGUMENT_DEPTH {
            pp.expand(&self.raw[argument], &mut tokens, self.depth + 1);
        } else {
            pp.give_up(self.token, "macro calls are nested too deeply");
        }
        self.expanded[argument] = Some(tokens.clone());
        tokens
    }

    /// Glues the first token of `piece` to the last of `out`.
    fn paste(&self, out: &mut Vec<Token>, piece: Vec<Token>, pp: &mut Preprocessor<'_>) {
        let (Some(left), Some((right, rest))) = (out.pop(), piece.split_first()) else {
            return;
        };
        let text = format!("{}{}", left.spelling(), right.spelling());
        let glued = lex(FileId::new(0), &text);
        match glued[..] {
            [token, end] if end.kind == TokenKind::Eof && !matches!(token.kind, TokenKind::Bad(_)) => {
                out.push(Token { span: self.token.span, flags: left.flags, ..token });
            }
            _ => {
                let message =
                    format!("`{}` and `{}` do not form one token", left.spelling(), right.spelling());
                pp.diags.push(
                    Diagnostic::new(codes::BAD_PASTE, self.token.span, message)
                        .label(self.used.span, "in this macro")
                        .help("remove the `##`"),
                );
                out.extend([left, *right]);
            }
        }
        out.extend(rest);
    }
}

/// The string that `#` makes of an argument.
fn stringize(argument: &[Token]) -> String {
    let mut text = String::new();
    for (i, token) in argument.iter().enumerate() {
        if i > 0 && token.flags.has(Flags::SPACE) {
            text.push(' ');
        }
        text.push_str(token.spelling());
    }
    // Only quotes and backslashes inside literals need care, but outside of them there are none.
    quote(&text)
}

/// `text` as a string literal.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
