//! Error recovery: finds where parsing can continue, using the table of matching brackets.

use super::Parser;
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::Diagnostic;

/// For each opening bracket the index of its partner, or 0 (which no closing bracket has).
///
/// Braces are stronger than other brackets: a `}` closes its `{` over open parentheses, while a `)` does not
/// reach over an open `{`. So a forgotten parenthesis spoils one statement and not the file.
pub(super) fn partners(tokens: &[Token]) -> Vec<u32> {
    let mut partners = vec![0; tokens.len()];
    let mut open: Vec<(usize, Punct)> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let TokenKind::Punct(punct) = token.kind else {
            continue;
        };
        if let Some(closer) = punct.closer() {
            open.push((i, closer));
        } else if punct.is_closer() {
            let reach = open.iter().rev().take_while(|(_, c)| punct == Punct::RBrace || *c != Punct::RBrace);
            if let Some(skipped) = reach.clone().position(|(_, c)| *c == punct) {
                open.truncate(open.len() - skipped);
                if let Some((at, _)) = open.pop() {
                    partners[at] = i as u32;
                }
            }
        }
    }
    partners
}

/// Words that begin a statement when they begin a line.
fn begins_statement(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::If
            | Kw::For
            | Kw::While
            | Kw::Do
            | Kw::Switch
            | Kw::Return
            | Kw::Break
            | Kw::Continue
            | Kw::Let
            | Kw::Var
            | Kw::Case
    )
}

/// Words that begin a declaration when they begin a line.
fn begins_declaration(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::Struct
            | Kw::Class
            | Kw::Interface
            | Kw::Extension
            | Kw::Enum
            | Kw::Typedef
            | Kw::Typealias
            | Kw::Assoc
            | Kw::Property
            | Kw::Subscript
            | Kw::Init
            | Kw::Namespace
            | Kw::CBuffer
            | Kw::Import
            | Kw::Func
            | Kw::Generic
            | Kw::Static
            | Kw::Public
            | Kw::Internal
            | Kw::Private
    )
}

impl Parser<'_> {
    /// The index after the partner of the bracket at `open`.
    pub(super) fn behind(&self, open: usize) -> Option<usize> {
        match self.partners[open] {
            0 => None,
            partner => Some(partner as usize + 1),
        }
    }

    /// Skips one token, or a bracket with all that is in it.
    fn skip(&mut self) {
        match self.behind(self.pos) {
            Some(behind) => self.pos = behind,
            None => {
                self.bump();
            }
        }
    }

    /// Leaves the brackets that were opened since `start` and in the middle of which an error happened. Says
    /// whether that was a body in braces, after which something new begins.
    fn leave_brackets(&mut self, start: usize) -> bool {
        let mut i = start;
        while i < self.pos {
            let Some(behind) = self.behind(i) else {
                i += 1;
                continue;
            };
            let brace = self.tokens[i].is(Punct::LBrace);
            if behind <= self.pos {
                i = behind;
            } else if brace && self.is_initializer(i) {
                // A list whose end is missing has found a partner that closes something else.
                i += 1;
            } else {
                self.pos = behind;
                return brace;
            }
        }
        false
    }

    /// Whether the `{` at `open` begins a list of values and not a body.
    fn is_initializer(&self, open: usize) -> bool {
        let before = self.tokens[open.saturating_sub(1)];
        let operators =
            [Punct::Eq, Punct::LParen, Punct::Comma, Punct::LBrace, Punct::Question, Punct::Colon];
        before.kw == Kw::Return || operators.into_iter().any(|p| before.is(p))
    }

    /// Points at braces inside an unclosed one whose partners are indented differently: one of them is
    /// probably the one that lacks its partner.
    pub(super) fn suspect_indentation(&self, open: usize, error: Diagnostic) -> Diagnostic {
        if !self.tokens[open].is(Punct::LBrace) {
            return error;
        }
        let suspect = (open + 1..self.tokens.len()).find_map(|i| {
            let close = self.behind(i)? - 1;
            let pair = self.tokens[i].is(Punct::LBrace) && self.tokens[close].at_line_start();
            (pair && self.indentation(i) != self.indentation(close)).then_some((i, close))
        });
        let Some((inner, close)) = suspect else { return error };
        error
            .label(self.tokens[inner].span, "this one may be unclosed,")
            .label(self.tokens[close].span, "because the indentation here differs")
    }

    /// The column at which the line of a token begins.
    fn indentation(&self, pos: usize) -> u32 {
        let first = (0..=pos).rev().find(|i| self.tokens[*i].at_line_start()).unwrap_or(pos);
        let span = self.tokens[first].span;
        if span.is_none() { 0 } else { self.sources.location(span.file, span.start).column }
    }

    /// Skips to where the next statement may begin: after a `;` or a block, before a `}` or before a word
    /// that begins one on a new line.
    pub(super) fn sync_statement(&mut self, start: usize) {
        let begins = |p: &Self| begins_statement(p.peek().kw) || p.behind_bad();
        self.sync(start, begins, |p| p.peek().at_line_start() || p.peek().is_ident());
    }

    /// Whether the token before this is none. A string without its end swallowed the `;` of its line.
    fn behind_bad(&self) -> bool {
        matches!(self.tokens[self.pos.saturating_sub(1)].kind, TokenKind::Bad(_))
    }

    /// Skips to where the next declaration may begin.
    pub(super) fn sync_declaration(&mut self, start: usize) {
        let begins = |p: &Self| p.at(Punct::LBracket) || begins_declaration(p.peek().kw);
        self.sync(start, begins, |p| !p.at(Punct::Semi));
    }

    /// Skips to where something may begin: what `begins` it on a new line, or what is `behind` a block.
    fn sync(&mut self, start: usize, begins: impl Fn(&Self) -> bool, behind: impl Fn(&Self) -> bool) {
        if self.leave_brackets(start) && !self.at(Punct::Semi) {
            return;
        }
        loop {
            match self.peek().kind {
                TokenKind::Eof | TokenKind::Punct(Punct::RBrace) => return,
                TokenKind::Punct(Punct::Semi) => {
                    self.bump();
                    return;
                }
                TokenKind::Punct(Punct::LBrace) => {
                    self.skip();
                    if behind(self) {
                        return;
                    }
                }
                _ if self.pos > start && self.peek().at_line_start() && begins(self) => return,
                _ => self.skip(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;
    use cotangent_base::{Entity, FileId};

    fn pairs(text: &str) -> Vec<(u32, u32)> {
        let tokens = lex(FileId::new(0), text);
        let partners = partners(&tokens);
        let pair =
            |(i, p): (usize, &u32)| (*p != 0).then(|| (tokens[i].span.start, tokens[*p as usize].span.start));
        partners.iter().enumerate().filter_map(pair).collect()
    }

    #[test]
    fn brackets_find_their_partners() {
        assert_eq!(pairs("{(a)[b]}"), [(0, 7), (1, 3), (4, 6)]);
    }

    #[test]
    fn a_brace_closes_over_an_open_parenthesis_but_not_the_other_way() {
        assert_eq!(pairs("{(}"), [(0, 2)]);
        assert_eq!(pairs("({)}"), [(1, 3)]);
    }
}
