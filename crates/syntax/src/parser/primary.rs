//! Parses operands: literals, names, brackets, and the calls, members and indices after them.

use super::expr::begins_expression;
use super::{Parse, Parser, codes};
use crate::ast::{
    DiffMode, Expr, ExprKind, Ident, Lambda, LambdaId, Measure, Stmt, StmtKind, UnaryOp, Version,
};
use crate::literal::{self, Number};
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, Scalar, Symbol};
use std::sync::Arc;

/// Deepest nesting of lambdas in lambdas. Each is checked once for every one around it.
const MAX_LAMBDAS: u32 = 64;

impl Parser<'_> {
    /// An operand with everything after it: `a.b[i](c)++`.
    pub(super) fn postfix(&mut self) -> Parse<Expr> {
        let mut value = self.primary()?;
        loop {
            let height = self.height;
            let start = value.span;
            let kind = match self.peek().kind {
                TokenKind::Punct(Punct::LParen) => {
                    let args = self.outside_angles(Self::paren_args)?;
                    ExprKind::Call(Box::new(value), args)
                }
                TokenKind::Punct(Punct::LBracket) => {
                    let open = self.pos;
                    self.bump();
                    let index = self.outside_angles(|p| p.expr_list(Punct::RBracket))?;
                    self.close(open)?;
                    ExprKind::Index(Box::new(value), index)
                }
                TokenKind::Punct(punct @ (Punct::Dot | Punct::Arrow | Punct::ColonColon)) => {
                    self.bump();
                    let member = self.member_name()?;
                    match punct {
                        Punct::Arrow => ExprKind::Arrow(Box::new(value), member),
                        _ => ExprKind::Member(Box::new(value), member),
                    }
                }
                TokenKind::Punct(op @ (Punct::PlusPlus | Punct::MinusMinus)) => {
                    self.bump();
                    let op = if op == Punct::PlusPlus { UnaryOp::PostInc } else { UnaryOp::PostDec };
                    ExprKind::Unary(op, Box::new(value))
                }
                TokenKind::Punct(Punct::Lt) if is_path(&value) && self.at_generic_args() => {
                    value = self.apply(value)?;
                    continue;
                }
                _ => return Ok(value),
            };
            self.grown(height.max(self.height) + 1)?;
            value = Expr { kind, span: self.span_from(start) };
        }
    }

    fn member_name(&mut self) -> Parse<Ident> {
        if self.at_kw(Kw::Operator) && !self.nth(1).is_ident() {
            return self.operator_name();
        }
        self.expect_name("the name of a member")
    }

    /// Expressions separated by commas up to `closer`, which is not taken. A comma may stand at the end.
    pub(super) fn expr_list(&mut self, closer: Punct) -> Parse<Vec<Expr>> {
        let mut list = Vec::new();
        let mut height = 0;
        while !self.at(closer) {
            list.push(self.assign()?);
            height = height.max(self.height);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.height = height;
        Ok(list)
    }

    pub(super) fn primary(&mut self) -> Parse<Expr> {
        let token = self.peek();
        self.height = 0;
        match token.kind {
            TokenKind::Ident(name) => self.word(token, name),
            TokenKind::Number(spelling) => self.number(token, spelling),
            TokenKind::Char(spelling) => {
                self.bump();
                match literal::character(spelling.as_str(), token.span) {
                    Ok(value) => Ok(Expr { kind: ExprKind::Int(value, Scalar::U32), span: token.span }),
                    Err(error) => self.bad_literal(token, *error),
                }
            }
            TokenKind::String(_) => self.strings(),
            TokenKind::Punct(Punct::LParen) => self.parenthesized(),
            TokenKind::Punct(Punct::LBrace) => self.list(),
            TokenKind::Bad(_) => {
                self.bump();
                Ok(Expr { kind: ExprKind::Error, span: token.span })
            }
            // The `::` of `::name` follows as after any path.
            TokenKind::Punct(Punct::ColonColon) if self.nth(1).is_ident() => {
                Ok(Expr { kind: ExprKind::Root, span: token.span })
            }
            _ => self.no_operand(token),
        }
    }

    fn no_operand(&mut self, token: Token) -> Parse<Expr> {
        let message = format!("expected an expression, found {}", token.describe());
        let mut error = Diagnostic::new(codes::EXPECTED_EXPRESSION, self.here(), message);
        let previous = self.tokens[self.pos.saturating_sub(1)];
        if let TokenKind::Punct(punct) = previous.kind
            && !begins_expression(&token)
            && !punct.is_closer()
            && punct.closer().is_none()
        {
            error = error.label(previous.span, format!("`{}` needs an operand after it", punct.text()));
        }
        self.fail(error)
    }

    /// A literal whose value is wrong: reported, and read as an error.
    fn bad_literal(&mut self, token: Token, error: Diagnostic) -> Parse<Expr> {
        self.diags.push(error);
        Ok(Expr { kind: ExprKind::Error, span: token.span })
    }

    fn number(&mut self, token: Token, spelling: Symbol) -> Parse<Expr> {
        self.bump();
        let diags = &mut *self.diags;
        let kind = match literal::number(spelling.as_str(), token.span, &mut |d| diags.push(d)) {
            Some(Number::Int(value, scalar)) => ExprKind::Int(value, scalar),
            Some(Number::Float(value, scalar)) => ExprKind::Float(value, scalar),
            None => ExprKind::Error,
        };
        Ok(Expr { kind, span: token.span })
    }

    /// Adjacent strings are one.
    pub(super) fn strings(&mut self) -> Parse<Expr> {
        let start = self.peek().span;
        let mut text = String::new();
        while let Token { kind: TokenKind::String(spelling), span, .. } = self.peek() {
            self.bump();
            match literal::string(spelling.as_str(), span) {
                Ok(part) => text.push_str(&part),
                Err(error) => self.diags.push(*error),
            }
        }
        Ok(Expr { kind: ExprKind::String(Symbol::new(&text)), span: self.span_from(start) })
    }

    /// A name, or one of the words that begin an operand.
    fn word(&mut self, token: Token, name: Symbol) -> Parse<Expr> {
        let called = self.nth(1).is(Punct::LParen);
        let kind = match token.kw {
            Kw::True => ExprKind::Bool(true),
            Kw::False => ExprKind::Bool(false),
            Kw::None_ => ExprKind::None,
            Kw::Nullptr => ExprKind::Null,
            Kw::This => ExprKind::This,
            Kw::ThisType => ExprKind::ThisType,
            Kw::FwdDiff | Kw::FwdDiff_ if called => return self.diff(DiffMode::Forward),
            Kw::BwdDiff | Kw::BwdDiff_ if called => return self.diff(DiffMode::Backward),
            Kw::SizeOf if called => return self.measure(Measure::SizeOf),
            Kw::AlignOf if called => return self.measure(Measure::AlignOf),
            Kw::CountOf if called => return self.measure(Measure::CountOf),
            Kw::SpirvAsm if self.nth(1).is(Punct::LBrace) => return self.spirv_asm(),
            Kw::RequirePrelude if called => return self.prelude(),
            Kw::FuncType if called => return self.func_type(),
            Kw::Operator if !self.nth(1).is_ident() => {
                let operator = self.operator_name()?;
                return Ok(Expr { kind: ExprKind::Name(operator.name), span: operator.span });
            }
            Kw::If | Kw::For | Kw::While | Kw::Switch | Kw::Return | Kw::Else | Kw::Case => {
                return self.no_operand(token);
            }
            _ => ExprKind::Name(name),
        };
        self.bump();
        Ok(Expr { kind, span: token.span })
    }

    /// `fwd_diff(f)` and `bwd_diff(f)`.
    fn diff(&mut self, mode: DiffMode) -> Parse<Expr> {
        let start = self.bump().span;
        let open = self.pos;
        self.bump();
        let func = self.outside_angles(Self::assign)?;
        self.close(open)?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::Diff(mode, Box::new(func)), span: self.span_from(start) })
    }

    /// `sizeof(T)` and its kin, of a type or a value.
    fn measure(&mut self, measure: Measure) -> Parse<Expr> {
        let start = self.bump().span;
        let open = self.pos;
        self.bump();
        let is_type = self.skim_type(self.pos).is_some_and(|b| self.tokens[b].is(Punct::RParen));
        let what = self.outside_angles(|p| if is_type { p.ty() } else { p.assign() })?;
        self.close(open)?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::Measure(measure, Box::new(what)), span: self.span_from(start) })
    }

    /// `(x)`, from 2026 on `(a, b)`, or a lambda.
    fn parenthesized(&mut self) -> Parse<Expr> {
        if self.at_lambda() {
            return self.outside_angles(Self::lambda);
        }
        let (open, start) = (self.pos, self.peek().span);
        self.bump();
        if self.version >= Version::V2026 {
            return self.tuple_or_paren(open);
        }
        let inner = self.outside_angles(Self::expr)?;
        self.close(open)?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::Paren(Box::new(inner)), span: self.span_from(start) })
    }

    fn tuple_or_paren(&mut self, open: usize) -> Parse<Expr> {
        let mut items = self.outside_angles(|p| p.expr_list(Punct::RParen))?;
        let height = self.height;
        self.close(open)?;
        self.grown(height + 1)?;
        let span = self.span_from(self.tokens[open].span);
        let single = items.len() == 1 && !self.tokens[self.pos - 2].is(Punct::Comma);
        let kind = match items.pop() {
            Some(inner) if single => ExprKind::Paren(Box::new(inner)),
            last => {
                items.extend(last);
                ExprKind::Tuple(items)
            }
        };
        Ok(Expr { kind, span })
    }

    /// `(float x) => x * k` and `(float x) => { .. }`.
    fn lambda(&mut self) -> Parse<Expr> {
        let start = self.peek().span;
        let id = Some(self.lambda_id());
        let params = self.params()?;
        self.expect(Punct::FatArrow)?;
        let body_start = self.peek().span;
        let peak = std::mem::take(&mut self.peak);
        self.lambdas += 1;
        let kind = self.lambda_body();
        self.lambdas -= 1;
        let kind = kind?;
        let body = Stmt { attributes: vec![], kind, span: self.span_from(body_start) };
        self.grown(self.peak + 1)?;
        self.peak = self.peak.max(peak);
        let kind = ExprKind::Lambda(Arc::new(Lambda { id, params, body }));
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// The identity of a lambda that begins here.
    fn lambda_id(&self) -> LambdaId {
        let end = self.tokens.last().expect("there is an end of the file");
        LambdaId { file: end.span.file, token: self.first + self.pos }
    }

    /// A block, or a value that is returned.
    fn lambda_body(&mut self) -> Parse<StmtKind> {
        if self.lambdas > MAX_LAMBDAS {
            return self.too_deep();
        }
        if self.at(Punct::LBrace) {
            return Ok(StmtKind::Block(self.nested(Self::block)?));
        }
        Ok(StmtKind::Return(Some(self.assign()?)))
    }

    /// `{a, b}`.
    fn list(&mut self) -> Parse<Expr> {
        let (open, start) = (self.pos, self.peek().span);
        self.bump();
        let items = self.outside_angles(|p| p.expr_list(Punct::RBrace))?;
        self.close_or(open, "`,` or ")?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::List(items), span: self.span_from(start) })
    }
}

/// Whether an expression may have generic arguments after it.
fn is_path(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Name(_) | ExprKind::Member(..) | ExprKind::Arrow(..) | ExprKind::ThisType)
}
