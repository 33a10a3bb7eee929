//! Directives: the lines that begin with `#`.

use super::{MAX_INCLUDE_DEPTH, MAX_INCLUDES, MAX_TOKENS, Preprocessor, Renumbered};
use crate::ast::Version;
use crate::codes;
use crate::lexer::lex;
use crate::token::{Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, FileId, Span};
use std::sync::Arc;

/// An `#if` that is not closed yet.
pub(super) struct Conditional {
    /// The directive's name.
    pub span: Span,
    state: State,
    /// Whether `#else` was seen.
    has_else: bool,
}

/// What becomes of the text inside a conditional.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It is kept.
    Live,
    /// It is skipped, but a later `#elif` or `#else` may be kept.
    Waiting,
    /// It is skipped, and so are all other branches.
    Done,
}

impl Conditional {
    /// Whether the text is kept.
    pub fn is_live(&self) -> bool {
        self.state == State::Live
    }
}

impl Preprocessor<'_> {
    /// Acts on the directive on `line`, the tokens after the `#`.
    pub(super) fn directive(
        &mut self,
        file: FileId,
        hash: Token,
        line: &[Token],
        conditionals: &mut Vec<Conditional>,
        depth: u32,
    ) {
        // A lone `#` is allowed and does nothing.
        let Some((&name, rest)) = line.split_first() else {
            return;
        };
        match name.spelling() {
            "if" | "ifdef" | "ifndef" => return self.open(name, rest, conditionals),
            "elif" | "else" | "endif" => return self.branch(name, rest, conditionals),
            _ => {}
        }
        if conditionals.last().is_some_and(|c| !c.is_live()) {
            return;
        }
        match name.spelling() {
            "define" => self.define(name, rest),
            "undef" => self.undefine(name, rest),
            "include" => self.include(file, name, rest, depth),
            "error" | "warning" => self.user_message(name, rest),
            "pragma" => self.pragma(file, rest),
            "line" => self.line(file, hash, name, rest),
            "language" | "lang" => self.language(name, rest),
            "version" | "extension" => {
                let message = format!("`#{}` belongs to GLSL, which is not supported", name.spelling());
                let error = Diagnostic::new(codes::UNSUPPORTED_SYNTAX, name.span, message);
                self.diags.push(error.help("remove the line, and write the program in Slang: `[shader(\"compute\")]`, `float3`, `RWStructuredBuffer`"));
            }
            _ => {
                let message = format!("`#{}` is not a directive", name.spelling());
                let error = Diagnostic::new(codes::UNKNOWN_DIRECTIVE, hash.span.to(name.span), message);
                self.diags.push(error.help("a comment begins with `//`"));
            }
        }
    }

    pub(super) fn malformed(&mut self, span: Span, message: impl Into<String>) {
        self.diags.push(Diagnostic::new(codes::BAD_DIRECTIVE, span, message));
    }

    /// Warns about what follows a complete directive.
    pub(super) fn end_of_directive(&mut self, rest: &[Token]) {
        if let [first, .., last] | [first @ last] = rest {
            let span = first.span.to(last.span);
            self.diags.push(Diagnostic::new(codes::EXTRA_TOKENS, span, "this is ignored").help("remove it"));
        }
    }

    /// `#if`, `#ifdef`, `#ifndef`.
    fn open(&mut self, name: Token, rest: &[Token], conditionals: &mut Vec<Conditional>) {
        let outer = conditionals.last().is_none_or(Conditional::is_live);
        let state = match outer {
            false => State::Done,
            true if self.holds(name, rest) => State::Live,
            true => State::Waiting,
        };
        conditionals.push(Conditional { span: name.span, state, has_else: false });
    }

    fn holds(&mut self, name: Token, rest: &[Token]) -> bool {
        if name.spelling() == "if" {
            return self.condition(name, rest);
        }
        let Some(TokenKind::Ident(tested)) = rest.first().map(|t| t.kind) else {
            let span = rest.first().map_or(name.span.after(), |t| t.span);
            self.malformed(span, format!("`#{}` needs the name of a macro", name.spelling()));
            return false;
        };
        self.end_of_directive(&rest[1..]);
        self.macros.contains_key(&tested) == (name.spelling() == "ifdef")
    }

    /// `#elif`, `#else`, `#endif`.
    fn branch(&mut self, name: Token, rest: &[Token], conditionals: &mut Vec<Conditional>) {
        let Some(open) = conditionals.last_mut() else {
            let message = format!("`#{}` without an `#if` before it", name.spelling());
            self.diags.push(Diagnostic::new(codes::STRAY_CONDITIONAL, name.span, message));
            return;
        };
        match name.spelling() {
            "endif" => {
                conditionals.pop();
                self.end_of_directive(rest);
            }
            word if open.has_else => {
                let message = format!("`#{word}` after the `#else` of the same conditional");
                let error = Diagnostic::new(codes::STRAY_CONDITIONAL, name.span, message);
                self.diags.push(error.label(open.span, "the conditional begins here"));
                open.state = State::Done;
            }
            "else" => {
                open.has_else = true;
                open.state = if open.state == State::Waiting { State::Live } else { State::Done };
                self.end_of_directive(rest);
            }
            _ => {
                open.state = match open.state {
                    State::Waiting if self.condition(name, rest) => State::Live,
                    State::Waiting => State::Waiting,
                    State::Live | State::Done => State::Done,
                };
            }
        }
    }

    /// The text of a directive's tokens, as written.
    fn text_of(&self, line: &[Token]) -> String {
        match line {
            [] => String::new(),
            [first, ..] => self.sources.snippet(first.span.to(line[line.len() - 1].span)).trim().into(),
        }
    }

    /// `#error` and `#warning`.
    fn user_message(&mut self, name: Token, rest: &[Token]) {
        let code = if name.spelling() == "error" { codes::USER_ERROR } else { codes::USER_WARNING };
        let text = self.text_of(rest);
        let span = rest.last().map_or(name.span, |last| name.span.to(last.span));
        let message =
            if text.is_empty() { format!("`#{}` without a message", name.spelling()) } else { text };
        self.diags.push(Diagnostic::new(code, span, message));
    }

    /// `#pragma once`; other pragmas mean nothing here.
    fn pragma(&mut self, file: FileId, rest: &[Token]) {
        if rest.first().is_some_and(|t| t.spelling() == "once") {
            let path = self.loader.identity(self.sources.path(file));
            self.once.insert(path);
        }
    }

    /// `#line 100 "file"`: what `__LINE__` and `__FILE__` say from the next line on. Messages show the files as they are.
    fn line(&mut self, file: FileId, hash: Token, name: Token, rest: &[Token]) {
        let mut line = Vec::new();
        self.expand(rest, &mut line, 0);
        let number = line.first().and_then(|t| t.spelling().parse::<u32>().ok());
        let path = match line.get(1) {
            None => self.renumbered.get(&file).and_then(|r| r.path),
            Some(Token { kind: TokenKind::String(path), .. }) => Some(*path),
            Some(other) => {
                return self.malformed(other.span, "`#line` needs the name of a file in quotes here");
            }
        };
        let Some(number) = number else {
            let span = rest.first().map_or(name.span.after(), |t| t.span);
            return self.malformed(span, "`#line` needs the number of the next line");
        };
        self.end_of_directive(line.get(2..).unwrap_or_default());
        let here = self.sources.location(file, hash.span.start).line;
        let shift = i64::from(number) - i64::from(here) - 1;
        self.renumbered.insert(file, Renumbered { shift, path });
    }

    /// `#language slang 2026`.
    fn language(&mut self, name: Token, rest: &[Token]) {
        let version = match rest.last().map_or("", Token::spelling) {
            "legacy" | "2018" => Version::Legacy,
            "2025" => Version::V2025,
            "2026" | "latest" => Version::V2026,
            _ => {
                let span = rest.last().map_or(name.span.after(), |t| t.span);
                let error = Diagnostic::new(codes::UNKNOWN_VERSION, span, "unknown language version");
                self.diags.push(error.help("the versions are `2018`, `2025` and `2026`"));
                return;
            }
        };
        self.version = Some(version);
    }

    /// `#include "file"`, `#include <file>` or a macro that stands for one of these.
    fn include(&mut self, file: FileId, name: Token, rest: &[Token], depth: u32) {
        let Some((wanted, span)) = self.included_name(name, rest) else {
            return;
        };
        if depth >= MAX_INCLUDE_DEPTH || self.includes >= MAX_INCLUDES || self.out.len() > MAX_TOKENS {
            // One report is enough: the files above would all hit the same wall.
            if self.includes != u32::MAX {
                let error = Diagnostic::new(
                    codes::INCLUDE_LIMIT,
                    span,
                    format!("`{wanted}` includes itself without end"),
                );
                self.diags.push(error.help("begin the included file with `#pragma once`"));
                self.includes = u32::MAX;
            }
            return;
        }
        self.includes += 1;
        let found = self.loader.resolve(self.sources.path(file), &wanted).and_then(|path| self.load(path));
        match found {
            Some(None) => {}
            Some(Some((id, tokens))) => self.file(id, &tokens, depth + 1),
            None => {
                let message = format!("cannot find the file `{wanted}`");
                let mut error = Diagnostic::new(codes::INCLUDE_NOT_FOUND, span, message);
                if let Some(limit) = self.loader.limit() {
                    error = error.note(limit);
                }
                self.diags.push(error.help(match is_header_of_cpp(&wanted) {
                    true => "remove the line: functions of the library need no header",
                    false => "check its spelling, or add its folder with `-I`",
                }));
            }
        }
    }

    /// The tokens of the file at `path`; nothing within if it wants to be included once and was.
    #[expect(clippy::option_option, reason = "not found, found but not wanted again, and found")]
    fn load(&mut self, path: String) -> Option<Option<(FileId, Arc<[Token]>)>> {
        if !self.once.is_empty() && self.once.contains(&self.loader.identity(&path)) {
            return Some(None);
        }
        if let Some((id, tokens)) = self.lexed.get(&path) {
            return Some(Some((*id, tokens.clone())));
        }
        let text = self.loader.load(&path)?;
        let id = self.sources.add(path.clone(), text.as_str());
        let tokens: Arc<[Token]> = lex(id, &text).into();
        self.lexed.insert(path, (id, tokens.clone()));
        Some(Some((id, tokens)))
    }

    /// The file that an `#include` names.
    fn included_name(&mut self, name: Token, rest: &[Token]) -> Option<(String, Span)> {
        let mut expanded = Vec::new();
        let direct = rest.first().is_some_and(|t| matches!(t.kind, TokenKind::String(_)) || t.is(Punct::Lt));
        if !direct {
            self.expand(rest, &mut expanded, 0);
        }
        let line = if direct { rest } else { &expanded };
        match line {
            [Token { kind: TokenKind::String(quoted), span, .. }, extra @ ..] => {
                self.end_of_directive(extra);
                Some((quoted.as_str().trim_matches('"').into(), *span))
            }
            [open, path @ .., close] if open.is(Punct::Lt) && close.is(Punct::Gt) => {
                let span = open.span.to(close.span);
                let path =
                    if direct { self.text_of(path) } else { path.iter().map(Token::spelling).collect() };
                Some((path, span))
            }
            _ => {
                let span = rest.first().map_or(name.span.after(), |t| t.span);
                self.malformed(span, "`#include` needs a file name in quotes or angle brackets");
                None
            }
        }
    }
}

/// Whether a header belongs to the libraries of C, C++ or CUDA.
fn is_header_of_cpp(path: &str) -> bool {
    let known = [
        "cmath",
        "math.h",
        "vector",
        "iostream",
        "algorithm",
        "array",
        "cstdint",
        "stdint.h",
        "stdio.h",
        "stdlib.h",
        "cstdio",
        "string",
        "limits",
        "float.h",
        "cfloat",
        "cuda_runtime.h",
        "cuda.h",
        "cuda_fp16.h",
        "metal_stdlib",
        "assert.h",
        "cassert",
        "functional",
        "utility",
        "tuple",
        "optional",
        "memory",
        "simd/simd.h",
        "glm/glm.hpp",
    ];
    known.contains(&path)
}
