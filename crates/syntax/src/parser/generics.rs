//! Parses generic parameters, bounds and `where` clauses.

use super::{Parse, Parser, codes};
use crate::ast::{Expr, GenericParam, GenericParamKind, Generics, Ident, Where};
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::{Diagnostic, Symbol};

impl Parser<'_> {
    /// `<T : IFoo, let N : int>`, if the next token is `<`.
    pub(super) fn generic_params(&mut self) -> Parse<Vec<GenericParam>> {
        let mut params = Vec::new();
        let open = self.peek();
        if !self.eat(Punct::Lt) {
            return Ok(params);
        }
        self.angles += 1;
        let result = self.generic_param_list(&mut params);
        self.angles -= 1;
        result?;
        if !self.eat_gt() {
            let message = format!("expected `>`, found {}", self.peek().describe());
            let error = Diagnostic::new(codes::EXPECTED_TOKEN, self.here(), message);
            return self.fail(error.label(open.span, "to close this list of generic parameters"));
        }
        Ok(params)
    }

    fn generic_param_list(&mut self, params: &mut Vec<GenericParam>) -> Parse<()> {
        while self.peek().is_ident() {
            params.push(self.generic_param()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        Ok(())
    }

    fn generic_param(&mut self) -> Parse<GenericParam> {
        let next_is_name = self.nth(1).is_ident();
        match self.peek().kw {
            Kw::Let if next_is_name => {
                self.bump();
                return self.value_param();
            }
            Kw::Each if next_is_name => {
                self.bump();
                if self.nth(1).is_ident() {
                    // `each int N`, as `int N` is for one value.
                    let ty = self.ty()?;
                    let name = self.expect_name("a name for the pack")?;
                    let kind = GenericParamKind::ValuePack(ty);
                    return Ok(GenericParam { name, kind, default: self.default_arg()? });
                }
                let name = self.expect_name("a name for the pack")?;
                let bounds = self.optional_bounds()?;
                return Ok(GenericParam {
                    name,
                    kind: GenericParamKind::Pack(bounds),
                    default: self.default_arg()?,
                });
            }
            Kw::Typename if next_is_name => {
                self.bump();
            }
            _ if next_is_name => {
                let ty = self.ty()?;
                let name = self.expect_name("a name for the parameter")?;
                return Ok(GenericParam {
                    name,
                    kind: GenericParamKind::Value(ty),
                    default: self.default_arg()?,
                });
            }
            _ => {}
        }
        let name = self.expect_name("a generic parameter")?;
        let bounds = self.optional_bounds()?;
        Ok(GenericParam { name, kind: GenericParamKind::Type(bounds), default: self.default_arg()? })
    }

    /// `N : int` or `each N : int`, after `let`.
    fn value_param(&mut self) -> Parse<GenericParam> {
        let is_pack = self.at_kw_name(Kw::Each);
        if is_pack {
            self.bump();
        }
        let name = self.expect_name("a name for the parameter")?;
        self.expect(Punct::Colon)?;
        let ty = self.ty()?;
        let kind = if is_pack { GenericParamKind::ValuePack(ty) } else { GenericParamKind::Value(ty) };
        Ok(GenericParam { name, kind, default: self.default_arg()? })
    }

    fn default_arg(&mut self) -> Parse<Option<Expr>> {
        if !self.eat(Punct::Eq) {
            return Ok(None);
        }
        match self.skim_type(self.pos).map(|behind| self.tokens[behind].kind) {
            Some(TokenKind::Punct(Punct::Comma | Punct::Gt)) => self.ty().map(Some),
            _ => self.generic_value().map(Some),
        }
    }

    fn optional_bounds(&mut self) -> Parse<Vec<Expr>> {
        if self.eat(Punct::Colon) { self.conjunction() } else { Ok(vec![]) }
    }

    /// `IA & IB`.
    fn conjunction(&mut self) -> Parse<Vec<Expr>> {
        let mut bounds = vec![self.ty()?];
        while self.eat(Punct::Amp) {
            bounds.push(self.ty()?);
        }
        Ok(bounds)
    }

    /// `: IA, IB & IC`, if the next token is `:`.
    pub(super) fn bases(&mut self) -> Parse<Vec<Expr>> {
        let mut bases = Vec::new();
        if self.eat(Punct::Colon) {
            loop {
                bases.append(&mut self.conjunction()?);
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        }
        Ok(bases)
    }

    /// All `where` clauses that stand here.
    pub(super) fn wheres(&mut self, generics: &mut Generics) -> Parse<()> {
        while self.at_kw_name(Kw::Where) {
            self.bump();
            loop {
                if self.at_optional(self.pos) {
                    self.optional_condition(generics)?;
                } else {
                    generics.wheres.push(self.where_condition()?);
                }
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// `optional T : IA & IB`: whether it holds is a parameter for each interface.
    fn optional_condition(&mut self, generics: &mut Generics) -> Parse<()> {
        let start = self.bump();
        match self.where_condition()? {
            Where::Conforms(subject, bounds) => {
                for bound in bounds {
                    let name = Ident { name: Symbol::new("optional"), span: bound.span };
                    let kind = GenericParamKind::Witness(subject.clone(), bound);
                    generics.params.push(GenericParam { name, kind, default: None });
                }
            }
            Where::Equal(a, b) => generics.wheres.push(Where::Perhaps(a, b)),
            Where::NonEmpty(_) | Where::Coerces(..) | Where::Perhaps(..) => {
                let span = self.span_from(start.span);
                let help = "write `where optional T : IFoo` or `where optional T == U`";
                return self.unsupported(span, "an optional constraint of this form", Some(help));
            }
        }
        Ok(())
    }

    pub(super) fn where_condition(&mut self) -> Parse<Where> {
        if self.at_kw(Kw::NonEmpty) && self.nth(1).is(Punct::LParen) {
            self.bump();
            let open = self.pos;
            self.expect(Punct::LParen)?;
            let pack = self.ty()?;
            self.close(open)?;
            return Ok(Where::NonEmpty(pack));
        }
        let subject = match self.skim_type(self.pos).map(|behind| self.tokens[behind].kind) {
            Some(TokenKind::Punct(Punct::LParen)) if !self.at_kw(Kw::CountOf) => return self.coercion(),
            Some(TokenKind::Punct(Punct::Colon | Punct::EqEq)) => self.ty()?,
            _ => self.generic_operand()?,
        };
        if self.eat(Punct::EqEq) {
            let is_type = self.peek().is_ident() && !self.at_kw(Kw::CountOf);
            let other = if is_type { self.ty()? } else { self.generic_operand()? };
            return Ok(Where::Equal(subject, other));
        }
        if !self.eat(Punct::Colon) {
            return self.expected(codes::EXPECTED_TOKEN, "`:` or `==` in this condition");
        }
        let mut bounds = self.conjunction()?;
        // `where T : IA, IB` gives `T` two bounds; `where T : IA, U : IB` begins a new condition.
        while self.at(Punct::Comma) && !self.at_condition(self.pos + 1) {
            self.bump();
            bounds.append(&mut self.conjunction()?);
        }
        Ok(Where::Conforms(subject, bounds))
    }

    /// `T(U)` or `T(U) implicit`.
    fn coercion(&mut self) -> Parse<Where> {
        let to = self.ty()?;
        let open = self.pos;
        self.expect(Punct::LParen)?;
        let from = self.outside_angles(Self::ty)?;
        self.close(open)?;
        let implicit = self.at_kw(Kw::Implicit);
        if implicit {
            self.bump();
        }
        Ok(Where::Coerces(to, from, implicit))
    }

    fn at_optional(&self, pos: usize) -> bool {
        self.tokens[pos].kw == Kw::Optional && self.tokens.get(pos + 1).is_some_and(Token::is_ident)
    }

    fn at_condition(&self, pos: usize) -> bool {
        if self.at_optional(pos) {
            return true;
        }
        let behind = self.skim_type(pos).map(|behind| self.tokens[behind].kind);
        matches!(behind, Some(TokenKind::Punct(Punct::Colon | Punct::EqEq | Punct::LParen)))
    }
}
