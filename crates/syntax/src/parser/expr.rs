//! Parses expressions with operators, by precedence climbing; operands are in [`primary`](super::primary).
//!
//! Every function stores the height of its tree in `height`, so that loops which build deep trees stop in time.

use super::{Parse, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp, Version};
use crate::literal::{self, Number};
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::{Scalar, Span};

/// The precedence of `<<`.
const SHIFT: u8 = 8;
const RELATIONAL: u8 = 7;
const EQUALITY: u8 = 6;

impl Parser<'_> {
    /// A whole expression. From 2026 on it has no comma operator.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        if self.version >= Version::V2026 { self.assign() } else { self.comma_expr() }
    }

    /// An expression with the comma operator.
    pub(super) fn comma_expr(&mut self) -> Parse<Expr> {
        let mut left = self.assign()?;
        while self.at(Punct::Comma) {
            let height = self.height;
            self.bump();
            let right = self.assign()?;
            self.grown(height.max(self.height) + 1)?;
            left = binary(BinaryOp::Comma, left, right);
        }
        Ok(left)
    }

    /// An expression without a comma at its top, as in an argument. Assignments associate to the right.
    pub(super) fn assign(&mut self) -> Parse<Expr> {
        self.nested(|p| {
            let left = p.ternary()?;
            let TokenKind::Punct(punct) = p.peek().kind else {
                return Ok(left);
            };
            let Some(op) = assignment(punct) else {
                return Ok(left);
            };
            if p.angles > 0 {
                return Ok(left);
            }
            p.bump();
            let height = p.height;
            let right = p.assign()?;
            p.grown(height.max(p.height) + 1)?;
            let span = left.span.to(right.span);
            Ok(Expr { kind: ExprKind::Assign(op, Box::new(left), Box::new(right)), span })
        })
    }

    fn ternary(&mut self) -> Parse<Expr> {
        let cond = self.binary(0)?;
        if !self.at(Punct::Question) {
            return Ok(cond);
        }
        let mut height = self.height;
        self.bump();
        let then = self.nested(Self::expr)?;
        height = height.max(self.height);
        self.expect(Punct::Colon)?;
        let otherwise = self.assign()?;
        self.grown(height.max(self.height) + 1)?;
        let span = cond.span.to(otherwise.span);
        Ok(Expr { kind: ExprKind::Ternary(Box::new(cond), Box::new(then), Box::new(otherwise)), span })
    }

    /// A value as a generic argument, in which `>` and `>>` close the list.
    pub(super) fn generic_value(&mut self) -> Parse<Expr> {
        self.nested(|p| p.binary(0))
    }

    /// A value as one side of a `==` in a `where` clause.
    pub(super) fn generic_operand(&mut self) -> Parse<Expr> {
        self.nested(|p| p.binary(SHIFT))
    }

    /// Operators of at least this precedence, all of which associate to the left.
    fn binary(&mut self, least: u8) -> Parse<Expr> {
        let mut left = self.unary()?;
        loop {
            let height = self.height;
            if least <= RELATIONAL && self.at_type_test() {
                left = self.type_test(left)?;
                continue;
            }
            let TokenKind::Punct(punct) = self.peek().kind else {
                return Ok(left);
            };
            let Some((op, level)) = operator(punct).filter(|(_, level)| *level >= least) else {
                return Ok(left);
            };
            if self.angles > 0 && (level == RELATIONAL || punct == Punct::Shr) {
                return Ok(left);
            }
            self.bump();
            let right = self.binary(level + 1)?;
            self.grown(height.max(self.height) + 1)?;
            left = binary(op, left, right);
        }
    }

    /// Whether `is` or `as` acts as a word here: a type must follow.
    fn at_type_test(&self) -> bool {
        matches!(self.peek().kw, Kw::Is | Kw::As) && self.nth(1).is_ident()
    }

    /// `x is T` and `x as T`.
    fn type_test(&mut self, value: Expr) -> Parse<Expr> {
        let height = self.height;
        let test = self.bump().kw == Kw::Is;
        let ty = Box::new(self.ty()?);
        self.grown(height.max(self.height) + 1)?;
        let (span, value) = (value.span.to(ty.span), Box::new(value));
        let kind = if test { ExprKind::Is(value, ty) } else { ExprKind::As(value, ty) };
        Ok(Expr { kind, span })
    }

    /// Whether `(..).` follows the next token.
    fn at_object_in_parens(&self) -> bool {
        let behind = self.nth(1).is(Punct::LParen).then(|| self.behind(self.pos + 1)).flatten();
        behind.is_some_and(|b| self.tokens[b].is(Punct::Dot))
    }

    /// Prefix operators and casts.
    pub(super) fn unary(&mut self) -> Parse<Expr> {
        let token = self.peek();
        let wrap: Box<dyn FnOnce(Box<Expr>) -> ExprKind> = match token.kind {
            TokenKind::Punct(Punct::Minus) => match self.negated_minimum() {
                Some(done) => return Ok(done),
                None => Box::new(|x| ExprKind::Unary(UnaryOp::Neg, x)),
            },
            TokenKind::Punct(punct) => match prefix_operator(punct) {
                Some(op) => Box::new(move |x| ExprKind::Unary(op, x)),
                None if punct == Punct::LParen && !self.at_lambda() && self.at_cast() => return self.cast(),
                None => return self.postfix(),
            },
            TokenKind::Ident(_) => match token.kw {
                Kw::NoDiff => Box::new(ExprKind::NoDiff),
                Kw::Try if self.nth(1).is_ident() || self.at_object_in_parens() => Box::new(ExprKind::Try),
                Kw::Each if self.nth(1).is_ident() => Box::new(ExprKind::Each),
                Kw::Expand if self.at_expand() => Box::new(ExprKind::Expand),
                _ => return self.postfix(),
            },
            _ => return self.postfix(),
        };
        self.bump();
        // `expand` takes all that follows: `expand s += each x`.
        let operand = match token.kw {
            Kw::Expand => self.assign()?,
            _ => self.nested(Self::unary)?,
        };
        self.grown(self.height + 1)?;
        let span = token.span.to(operand.span);
        Ok(Expr { kind: wrap(Box::new(operand)), span })
    }

    /// Whether `expand` maps an expression over a pack here, and is not the name of a function.
    fn at_expand(&self) -> bool {
        let next = self.nth(1);
        next.is_ident()
            || (next.is(Punct::LParen)
                && self
                    .behind(self.pos + 1)
                    .is_some_and(|b| self.tokens[self.pos..b].iter().any(|t| t.kw == Kw::Each)))
    }

    /// `-2147483648` is an `int` although 2147483648 is not; likewise for 64 bits.
    fn negated_minimum(&mut self) -> Option<Expr> {
        let (minus, number) = (self.peek().span, self.nth(1));
        let TokenKind::Number(spelling) = number.kind else {
            return None;
        };
        let scalar = match spelling.as_str() {
            "2147483648" => Scalar::I32,
            "9223372036854775808" | "9223372036854775808ll" | "9223372036854775808LL" => Scalar::I64,
            _ => return None,
        };
        let behind = self.nth(2);
        if behind.is(Punct::Dot) || behind.is(Punct::LBracket) {
            return None;
        }
        let Some(Number::Int(value, _)) = literal::number(spelling.as_str(), number.span, &mut |_| {}) else {
            return None;
        };
        self.bump();
        self.bump();
        self.height = 1;
        let operand = Box::new(Expr { kind: ExprKind::Int(value, scalar), span: number.span });
        Some(Expr { kind: ExprKind::Unary(UnaryOp::Neg, operand), span: minus.to(number.span) })
    }

    /// `(T)x`.
    fn cast(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        let ty = self.outside_angles(Self::ty)?;
        let height = self.height;
        self.expect(Punct::RParen)?;
        let operand = self.nested(Self::unary)?;
        self.grown(height.max(self.height) + 1)?;
        Ok(Expr { kind: ExprKind::Cast(Box::new(ty), Box::new(operand)), span: self.span_from(start) })
    }

    /// Reads something in brackets, where `>` compares again.
    pub(super) fn outside_angles<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let angles = std::mem::take(&mut self.angles);
        let result = read(self);
        self.angles = angles;
        result
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span: Span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}

fn prefix_operator(punct: Punct) -> Option<UnaryOp> {
    Some(match punct {
        Punct::Plus => UnaryOp::Plus,
        Punct::Bang => UnaryOp::Not,
        Punct::Tilde => UnaryOp::BitNot,
        Punct::PlusPlus => UnaryOp::PreInc,
        Punct::MinusMinus => UnaryOp::PreDec,
        Punct::Star => UnaryOp::Deref,
        Punct::Amp => UnaryOp::AddressOf,
        _ => return None,
    })
}

/// The operator of an assignment; within, that of `+=` and its kin.
#[expect(clippy::option_option, reason = "no assignment, a plain one, a compound one")]
fn assignment(punct: Punct) -> Option<Option<BinaryOp>> {
    Some(match punct {
        Punct::Eq => None,
        Punct::PlusEq => Some(BinaryOp::Add),
        Punct::MinusEq => Some(BinaryOp::Sub),
        Punct::StarEq => Some(BinaryOp::Mul),
        Punct::SlashEq => Some(BinaryOp::Div),
        Punct::PercentEq => Some(BinaryOp::Rem),
        Punct::AmpEq => Some(BinaryOp::BitAnd),
        Punct::PipeEq => Some(BinaryOp::BitOr),
        Punct::CaretEq => Some(BinaryOp::BitXor),
        Punct::ShlEq => Some(BinaryOp::Shl),
        Punct::ShrEq => Some(BinaryOp::Shr),
        _ => return None,
    })
}

/// A binary operator with its precedence, as in C.
fn operator(punct: Punct) -> Option<(BinaryOp, u8)> {
    Some(match punct {
        Punct::OrOr => (BinaryOp::Or, 1),
        Punct::AndAnd => (BinaryOp::And, 2),
        Punct::Pipe => (BinaryOp::BitOr, 3),
        Punct::Caret => (BinaryOp::BitXor, 4),
        Punct::Amp => (BinaryOp::BitAnd, 5),
        Punct::EqEq => (BinaryOp::Eq, EQUALITY),
        Punct::Ne => (BinaryOp::Ne, EQUALITY),
        Punct::Lt => (BinaryOp::Lt, RELATIONAL),
        Punct::Le => (BinaryOp::Le, RELATIONAL),
        Punct::Gt => (BinaryOp::Gt, RELATIONAL),
        Punct::Ge => (BinaryOp::Ge, RELATIONAL),
        Punct::Shl => (BinaryOp::Shl, SHIFT),
        Punct::Shr => (BinaryOp::Shr, SHIFT),
        Punct::Plus => (BinaryOp::Add, 9),
        Punct::Minus => (BinaryOp::Sub, 9),
        Punct::Star => (BinaryOp::Mul, 10),
        Punct::Slash => (BinaryOp::Div, 10),
        Punct::Percent => (BinaryOp::Rem, 10),
        _ => return None,
    })
}

/// Whether a token may begin an expression, so that its absence is what is wrong.
pub(super) fn begins_expression(token: &Token) -> bool {
    match token.kind {
        TokenKind::Ident(_) | TokenKind::Number(_) | TokenKind::String(_) | TokenKind::Char(_) => true,
        TokenKind::Punct(punct) => {
            prefix_operator(punct).is_some() || matches!(punct, Punct::Minus | Punct::LParen | Punct::LBrace)
        }
        TokenKind::Bad(_) | TokenKind::Eof => false,
    }
}
