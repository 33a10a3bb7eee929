//! Macros: the definitions that `#define` creates.

use super::Preprocessor;
use crate::codes;
use crate::token::{Flags, Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, Map, Span, Symbol};
use std::sync::Arc;

/// A macro.
pub(super) struct Macro {
    /// The parameters of a macro that takes arguments.
    pub params: Option<Vec<Symbol>>,
    /// Whether the last parameter takes all further arguments.
    pub variadic: bool,
    /// What it stands for.
    pub body: Body,
    /// Where it was defined.
    pub span: Span,
}

/// What a macro stands for.
pub(super) enum Body {
    /// These tokens.
    Tokens(Vec<Token>),
    /// The line it is used on.
    Line,
    /// The path of the file it is used in.
    File,
}

impl Macro {
    /// The tokens it stands for; empty for the computed ones.
    pub fn tokens(&self) -> &[Token] {
        match &self.body {
            Body::Tokens(tokens) => tokens,
            Body::Line | Body::File => &[],
        }
    }

    /// The number of the parameter of this name.
    pub fn param(&self, token: &Token) -> Option<usize> {
        let TokenKind::Ident(name) = token.kind else {
            return None;
        };
        self.params.as_ref()?.iter().position(|p| *p == name)
    }

    /// Whether defining one after the other changes nothing.
    fn same_as(&self, other: &Macro) -> bool {
        let same = |(a, b): (&Token, &Token)| a.kind == b.kind;
        self.params == other.params
            && self.variadic == other.variadic
            && self.tokens().len() == other.tokens().len()
            && self.tokens().iter().zip(other.tokens()).all(same)
    }
}

/// The macros that exist before the first line.
pub(super) fn predefined() -> Map<Symbol, Arc<Macro>> {
    let number = |text: &str| Body::Tokens(vec![Token::new(TokenKind::Number(text.into()), Span::none())]);
    let all = [
        ("__SLANG__", number("1")),
        ("__SLANG_COMPILER__", number("1")),
        ("__HLSL__", number("1")),
        ("__HLSL_VERSION", number("2018")),
        ("__LINE__", Body::Line),
        ("__FILE__", Body::File),
    ];
    let object = |body| Arc::new(Macro { params: None, variadic: false, body, span: Span::none() });
    all.into_iter().map(|(name, body)| (Symbol::new(name), object(body))).collect()
}

impl Preprocessor<'_> {
    /// `#define NAME body` and `#define NAME(params) body`.
    pub(super) fn define(&mut self, hash: Token, line: &[Token]) {
        let Some((name_token, rest)) = line.split_first() else {
            return self.malformed(hash.span, "`#define` needs the name of a macro");
        };
        let TokenKind::Ident(name) = name_token.kind else {
            return self.malformed(name_token.span, "`#define` needs the name of a macro");
        };
        let mut new =
            Macro { params: None, variadic: false, body: Body::Tokens(vec![]), span: name_token.span };
        let mut body = rest;
        if let [open, rest @ ..] = rest
            && open.is(Punct::LParen)
            && !open.flags.has(Flags::SPACE)
        {
            match self.macro_params(open.span, rest, &mut new) {
                Some(after) => body = after,
                None => return,
            }
        }
        let tokens = self.macro_body(body, &new);
        new.body = Body::Tokens(tokens);
        if let Some(old) = self.macros.get(&name)
            && !old.same_as(&new)
        {
            let message = format!("the macro `{name}` is redefined with a different body");
            let mut warning = Diagnostic::new(codes::MACRO_REDEFINED, new.span, message);
            if !old.span.is_none() {
                warning = warning.label(old.span, "it was defined here");
            }
            self.diags.push(warning.help(format!("if that is intended, write `#undef {name}` first")));
        }
        self.macros.insert(name, Arc::new(new));
    }

    /// Reads the parameters up to the `)`; gives what follows it.
    fn macro_params<'t>(
        &mut self,
        open: Span,
        mut rest: &'t [Token],
        new: &mut Macro,
    ) -> Option<&'t [Token]> {
        let mut params = Vec::new();
        let mut after_name = false;
        loop {
            let (&token, after) = match rest.split_first() {
                Some(split) => split,
                None => {
                    self.malformed(open, "the parameters of this macro have no closing `)`");
                    return None;
                }
            };
            rest = after;
            match token.kind {
                TokenKind::Punct(Punct::RParen) => break,
                TokenKind::Punct(Punct::Comma) if after_name && !new.variadic => {}
                TokenKind::Punct(Punct::Ellipsis) if !new.variadic => {
                    new.variadic = true;
                    // `args...` names the rest; a bare `...` is called `__VA_ARGS__`.
                    if !after_name {
                        params.push(Symbol::new("__VA_ARGS__"));
                    }
                }
                TokenKind::Ident(name) if !new.variadic && !params.contains(&name) => params.push(name),
                _ => {
                    self.malformed(
                        token.span,
                        format!("unexpected {} in a parameter list", token.describe()),
                    );
                    return None;
                }
            }
            after_name = token.is_ident();
        }
        new.params = Some(params);
        Some(rest)
    }

    /// The body of a macro, checked for `#` and `##` where they make no sense.
    fn macro_body(&mut self, line: &[Token], new: &Macro) -> Vec<Token> {
        let mut body = Vec::with_capacity(line.len());
        for token in line {
            match token.kind {
                TokenKind::Bad(error) => self.report_bad(error, token.span),
                _ => body.push(*token),
            }
        }
        let edge = [body.first(), body.last()].into_iter().flatten().find(|t| t.is(Punct::HashHash)).copied();
        if let Some(edge) = edge {
            let error = Diagnostic::new(codes::BAD_PASTE, edge.span, "`##` needs a token on either side");
            self.diags.push(error.help("remove it"));
            body.retain(|t| !t.is(Punct::HashHash));
        }
        if new.params.is_some() {
            let bad = |i: &usize| {
                body[*i].is(Punct::Hash) && body.get(i + 1).is_none_or(|t| new.param(t).is_none())
            };
            if let Some(at) = (0..body.len()).find(bad) {
                let message = "`#` must precede a parameter of the macro";
                self.diags.push(Diagnostic::new(codes::BAD_STRINGIZE, body[at].span, message));
                body.clear();
            }
        }
        body
    }

    /// `#undef NAME`.
    pub(super) fn undefine(&mut self, hash: Token, line: &[Token]) {
        match line.first().map(|t| t.kind) {
            Some(TokenKind::Ident(name)) => {
                self.macros.remove(&name);
                self.end_of_directive(&line[1..]);
            }
            _ => self
                .malformed(line.first().map_or(hash.span, |t| t.span), "`#undef` needs the name of a macro"),
        }
    }
}
