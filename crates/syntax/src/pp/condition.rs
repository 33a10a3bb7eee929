//! Evaluates the constant expressions of `#if` and `#elif`.
//!
//! `defined` is evaluated first. Then macros are expanded, and the rest is computed in 64-bit integers with C's precedence. A
//! name that is not a macro is 0. The operand of `&&`, `||` and `?:` that is not selected is parsed, but may divide by zero.

use super::Preprocessor;
use crate::codes;
use crate::literal::{self, Number};
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, Span, Symbol};

/// Deepest nesting of parentheses and operators.
const MAX_DEPTH: u32 = 100;

impl Preprocessor<'_> {
    /// Whether the condition on `line` holds; one that cannot be computed does not.
    pub(super) fn condition(&mut self, hash: Token, line: &[Token]) -> bool {
        let Some(last) = line.last() else {
            self.diags.push(Diagnostic::new(codes::BAD_CONDITION, hash.span, "this `#if` has no condition"));
            return false;
        };
        let mut tokens = Vec::new();
        let answered = self.answer_defined(line);
        self.expand(&answered, &mut tokens, 0);
        let mut reader = Condition { tokens: &tokens, end: last.span, depth: 0 };
        let result = reader.ternary(true).and_then(|value| match reader.tokens.first() {
            None => Ok(value),
            Some(extra) => Err(reader.error(extra.span, format!("unexpected {}", extra.describe()))),
        });
        match result {
            Ok(value) => value != 0,
            Err(error) => {
                self.diags.push(*error);
                false
            }
        }
    }

    /// Replaces `defined X` and `defined(X)` by 1 or 0.
    fn answer_defined(&mut self, line: &[Token]) -> Vec<Token> {
        let defined = TokenKind::Ident(Symbol::new("defined"));
        let mut out = Vec::with_capacity(line.len());
        let mut rest = line;
        while let [token, after @ ..] = rest {
            let found = match after {
                _ if token.kind != defined => None,
                [name, after @ ..] if name.is_ident() => Some((name, after)),
                [open, name, close, after @ ..] if open.is(Punct::LParen) && close.is(Punct::RParen) => {
                    Some((name, after))
                }
                _ => None,
            };
            rest = after;
            match found {
                Some((Token { kind: TokenKind::Ident(name), .. }, after)) => {
                    let answer = if self.macros.contains_key(name) { "1" } else { "0" };
                    out.push(Token { kind: TokenKind::Number(answer.into()), kw: Kw::None, ..*token });
                    rest = after;
                }
                _ => out.push(*token),
            }
        }
        out
    }
}

type Value = Result<i64, Box<Diagnostic>>;

struct Condition<'t> {
    tokens: &'t [Token],
    end: Span,
    depth: u32,
}

impl Condition<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(codes::BAD_CONDITION, span, message))
    }

    fn eat(&mut self, punct: Punct) -> bool {
        let found = self.tokens.first().is_some_and(|t| t.is(punct));
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn expect(&mut self, punct: Punct) -> Result<(), Box<Diagnostic>> {
        if self.eat(punct) {
            return Ok(());
        }
        let span = self.tokens.first().map_or(self.end.after(), |t| t.span);
        Err(self.error(span, format!("expected `{}` in this condition", punct.text())))
    }

    fn ternary(&mut self, live: bool) -> Value {
        let condition = self.binary(0, live)?;
        if !self.eat(Punct::Question) {
            return Ok(condition);
        }
        let then = self.ternary_branch(live && condition != 0)?;
        self.expect(Punct::Colon)?;
        let otherwise = self.ternary_branch(live && condition == 0)?;
        Ok(if condition != 0 { then } else { otherwise })
    }

    fn ternary_branch(&mut self, live: bool) -> Value {
        self.enter()?;
        let value = self.ternary(live);
        self.depth -= 1;
        value
    }

    fn enter(&mut self) -> Result<(), Box<Diagnostic>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(self.end, "this condition is nested too deeply"));
        }
        Ok(())
    }

    fn binary(&mut self, least: u8, live: bool) -> Value {
        let mut left = self.unary(live)?;
        while let Some(&Token { kind: TokenKind::Punct(op), span, .. }) = self.tokens.first() {
            let Some(level) = precedence(op).filter(|level| *level >= least) else {
                break;
            };
            self.tokens = &self.tokens[1..];
            let live = live
                && match op {
                    Punct::AndAnd => left != 0,
                    Punct::OrOr => left == 0,
                    _ => true,
                };
            let right = self.binary(level + 1, live)?;
            left = match apply(op, left, right) {
                Some(value) => value,
                None if live => return Err(self.error(span, "this condition divides by zero")),
                None => 0,
            };
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Value {
        self.enter()?;
        let value = self.operand(live);
        self.depth -= 1;
        value
    }

    fn operand(&mut self, live: bool) -> Value {
        let Some((&token, rest)) = self.tokens.split_first() else {
            return Err(self.error(self.end.after(), "this condition is incomplete"));
        };
        self.tokens = rest;
        match token.kind {
            TokenKind::Punct(Punct::LParen) => {
                let value = self.ternary(live)?;
                self.expect(Punct::RParen)?;
                Ok(value)
            }
            TokenKind::Punct(Punct::Bang) => Ok(i64::from(self.unary(live)? == 0)),
            TokenKind::Punct(Punct::Minus) => Ok(self.unary(live)?.wrapping_neg()),
            TokenKind::Punct(Punct::Plus) => self.unary(live),
            TokenKind::Punct(Punct::Tilde) => Ok(!self.unary(live)?),
            // `true` is no macro either.
            TokenKind::Ident(_) => Ok(0),
            TokenKind::Char(spelling) => literal::character(spelling.as_str(), token.span).map(|c| c as i64),
            TokenKind::Number(spelling) => {
                match literal::number(spelling.as_str(), token.span, &mut |_| {}) {
                    Some(Number::Int(value, _)) => Ok(value as i64),
                    _ => Err(self.error(token.span, format!("`{spelling}` is not an integer"))),
                }
            }
            _ => Err(self.error(token.span, format!("{} is not a value", token.describe()))),
        }
    }
}

fn precedence(op: Punct) -> Option<u8> {
    Some(match op {
        Punct::OrOr => 1,
        Punct::AndAnd => 2,
        Punct::Pipe => 3,
        Punct::Caret => 4,
        Punct::Amp => 5,
        Punct::EqEq | Punct::Ne => 6,
        Punct::Lt | Punct::Le | Punct::Gt | Punct::Ge => 7,
        Punct::Shl | Punct::Shr => 8,
        Punct::Plus | Punct::Minus => 9,
        Punct::Star | Punct::Slash | Punct::Percent => 10,
        _ => return None,
    })
}

/// The value of `a op b`; `None` if that divides by zero.
fn apply(op: Punct, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        Punct::OrOr => i64::from(a != 0 || b != 0),
        Punct::AndAnd => i64::from(a != 0 && b != 0),
        Punct::Pipe => a | b,
        Punct::Caret => a ^ b,
        Punct::Amp => a & b,
        Punct::EqEq => i64::from(a == b),
        Punct::Ne => i64::from(a != b),
        Punct::Lt => i64::from(a < b),
        Punct::Le => i64::from(a <= b),
        Punct::Gt => i64::from(a > b),
        Punct::Ge => i64::from(a >= b),
        Punct::Shl => a.wrapping_shl(b as u32),
        Punct::Shr => a.wrapping_shr(b as u32),
        Punct::Plus => a.wrapping_add(b),
        Punct::Minus => a.wrapping_sub(b),
        Punct::Star => a.wrapping_mul(b),
        Punct::Slash => (b != 0).then(|| a.wrapping_div(b))?,
        Punct::Percent => (b != 0).then(|| a.wrapping_rem(b))?,
        _ => 0,
    })
}
