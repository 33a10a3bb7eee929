//! Parses types, which are expressions, and the declarators that add array brackets after a name.

use super::{Parse, Parser, codes};
use crate::ast::{Expr, ExprKind, Ident};
use crate::token::{Kw, Punct, TokenKind};
use cotangent_base::{Diagnostic, Span, Symbol};

impl Parser<'_> {
    /// A type. After a name, `<` always opens generic arguments.
    pub(super) fn ty(&mut self) -> Parse<Expr> {
        self.nested(Self::ty_inner)
    }

    fn ty_inner(&mut self) -> Parse<Expr> {
        let start = self.peek().span;
        let wrap: fn(Box<Expr>) -> ExprKind = match self.peek().kw {
            Kw::FuncType if self.nth(1).is(Punct::LParen) => return self.func_type(),
            kw if !super::lookahead::is_type_prefix(kw) || !self.nth(1).is_ident() => {
                return self.plain_type();
            }
            Kw::Expand => ExprKind::Expand,
            Kw::Each => ExprKind::Each,
            Kw::NoDiff => ExprKind::NoDiff,
            Kw::RowMajor => |inner| ExprKind::Laid(true, inner),
            Kw::ColumnMajor => |inner| ExprKind::Laid(false, inner),
            // `const`, `dyn`, `snorm` and the like change nothing about the type.
            _ => {
                self.bump();
                return self.ty();
            }
        };
        self.bump();
        let inner = self.ty()?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: wrap(Box::new(inner)), span: self.span_from(start) })
    }

    /// A path with generic arguments and the suffixes `*` and `[n]`.
    fn plain_type(&mut self) -> Parse<Expr> {
        let mut ty = self.type_path()?;
        loop {
            if self.at(Punct::LBracket) {
                let size = self.brackets()?;
                ty = self.array(ty, size)?;
            } else if self.eat(Punct::Star) {
                self.grown(self.height + 1)?;
                ty = Expr { span: self.span_from(ty.span), kind: ExprKind::Pointer(Box::new(ty)) };
            } else {
                return Ok(ty);
            }
        }
    }

    fn type_path(&mut self) -> Parse<Expr> {
        let first = self.peek();
        let kind = match first.kind {
            TokenKind::Ident(_) if first.kw == Kw::ThisType => ExprKind::ThisType,
            TokenKind::Ident(name) => ExprKind::Name(name),
            TokenKind::Punct(Punct::ColonColon) if self.nth(1).is_ident() => ExprKind::Root,
            _ => return self.expected(codes::EXPECTED_TYPE, "a type"),
        };
        if !matches!(kind, ExprKind::Root) {
            self.bump();
        }
        self.height = 0;
        let mut path = Expr { kind, span: first.span };
        if super::lookahead::is_pack_query(&first) && self.at(Punct::LParen) {
            return self.pack_query(path);
        }
        if first.kw == Kw::Unsigned && self.nth(1).is_ident() {
            return self.unsigned_type(path);
        }
        loop {
            if self.at(Punct::Lt) {
                path = self.apply(path)?;
            } else if (self.at(Punct::Dot) || self.at(Punct::ColonColon)) && self.nth(1).is_ident() {
                self.bump();
                let member = self.expect_name("a name")?;
                self.grown(self.height + 1)?;
                path =
                    Expr { span: self.span_from(path.span), kind: ExprKind::Member(Box::new(path), member) };
            } else {
                return Ok(path);
            }
        }
    }

    /// `__first(T)` and its kin, from the parenthesis on.
    fn pack_query(&mut self, word: Expr) -> Parse<Expr> {
        let open = self.pos;
        self.bump();
        let mut args = Vec::new();
        while !self.at(Punct::RParen) {
            args.push(self.outside_angles(Self::ty)?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.close(open)?;
        self.grown(self.height + 1)?;
        let span = self.span_from(word.span);
        let mut path = Expr { kind: ExprKind::Call(Box::new(word), args), span };
        while (self.at(Punct::Dot) || self.at(Punct::ColonColon)) && self.nth(1).is_ident() {
            self.bump();
            let member = self.expect_name("a name")?;
            path = Expr { span: self.span_from(path.span), kind: ExprKind::Member(Box::new(path), member) };
        }
        Ok(path)
    }

    /// `unsigned int` is C; here it is `uint`.
    fn unsigned_type(&mut self, path: Expr) -> Parse<Expr> {
        let span = path.span.to(self.peek().span);
        let error = Diagnostic::new(codes::EXPECTED_TYPE, span, "there is no type `unsigned`");
        self.report(error.help("write `uint`, or `uint8_t`, `uint16_t`, `uint64_t`"));
        self.bump();
        Ok(Expr { kind: ExprKind::Name(Symbol::new("uint")), span })
    }

    /// `head<args>`, from the `<` on.
    pub(super) fn apply(&mut self, head: Expr) -> Parse<Expr> {
        let open = self.expect(Punct::Lt)?;
        self.angles += 1;
        let depth = self.height;
        let args = self.nested(|p| p.generic_args(depth));
        self.angles -= 1;
        let args = args?;
        if !self.eat_gt() {
            let message = format!("expected `>`, found {}", self.peek().describe());
            let error = Diagnostic::new(codes::EXPECTED_TOKEN, self.here(), message);
            return self.fail(error.label(open.span, "to close this `<`"));
        }
        Ok(Expr { span: self.span_from(head.span), kind: ExprKind::Apply(Box::new(head), args) })
    }

    fn generic_args(&mut self, head_height: u32) -> Parse<Vec<Expr>> {
        let mut args = Vec::new();
        let mut height = head_height;
        while !self.at_gt() {
            args.push(self.generic_arg()?);
            height = height.max(self.height);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.grown(height + 1)?;
        Ok(args)
    }

    fn at_gt(&self) -> bool {
        matches!(self.peek().kind, TokenKind::Punct(Punct::Gt | Punct::Shr | Punct::Ge | Punct::ShrEq))
    }

    /// A type, or a value computed without comparisons.
    fn generic_arg(&mut self) -> Parse<Expr> {
        if let Some(behind) = self.skim_type(self.pos)
            && matches!(
                self.tokens[behind].kind,
                TokenKind::Punct(Punct::Comma | Punct::Gt | Punct::Shr | Punct::Ge)
            )
        {
            return self.ty();
        }
        self.generic_value()
    }

    /// `functype(A, B) -> R`.
    pub(super) fn func_type(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        let open = self.pos;
        self.expect(Punct::LParen)?;
        let mut params = Vec::new();
        while !self.at(Punct::RParen) {
            params.push(self.ty()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.close(open)?;
        self.expect(Punct::Arrow)?;
        let result = self.ty()?;
        self.grown(self.height + 1)?;
        Ok(Expr { kind: ExprKind::FuncType(params, Box::new(result)), span: self.span_from(start) })
    }

    /// `[n]` or `[]`, after a type or a name.
    fn brackets(&mut self) -> Parse<Vec<Expr>> {
        let (open, height, angles) = (self.pos, self.height, std::mem::take(&mut self.angles));
        self.expect(Punct::LBracket)?;
        let size = self.expr_list(Punct::RBracket);
        self.angles = angles;
        let size = size?;
        self.close(open)?;
        self.height = self.height.max(height);
        Ok(size)
    }

    fn array(&mut self, element: Expr, size: Vec<Expr>) -> Parse<Expr> {
        self.grown(self.height + 1)?;
        if self.height > self.limits.depth {
            return self.too_deep();
        }
        Ok(Expr { span: self.span_from(element.span), kind: ExprKind::Index(Box::new(element), size) })
    }

    /// The brackets after a declared name, applied to the type before it. They read as in C: the first is
    /// the outermost.
    pub(super) fn array_suffixes(&mut self, ty: Expr) -> Parse<Expr> {
        let mut sizes = Vec::new();
        let height = self.height;
        while self.at(Punct::LBracket) {
            sizes.push(self.brackets()?);
        }
        self.height = self.height.max(height);
        let mut ty = ty;
        while let Some(size) = sizes.pop() {
            ty = self.array(ty, size)?;
        }
        Ok(ty)
    }

    /// `: 4`, if there is one: how many bits a bit field has.
    pub(super) fn bit_count(&mut self) -> Parse<Option<(u64, Span)>> {
        if !self.at(Punct::Colon) || !matches!(self.nth(1).kind, TokenKind::Number(_)) {
            return Ok(None);
        }
        self.bump();
        let count = self.primary()?;
        match count.kind {
            ExprKind::Int(bits, _) => Ok(Some((bits, count.span))),
            _ => {
                let message = "the number of bits must be an integer";
                self.fail(Diagnostic::new(codes::EXPECTED_TOKEN, count.span, message))
            }
        }
    }

    /// `: SV_Position`, `: register(u0)`, if there is one. Of several the first counts.
    pub(super) fn semantic(&mut self) -> Parse<Option<Ident>> {
        let mut semantic = None;
        while self.eat(Punct::Colon) {
            let mut name = self.expect_name("a semantic such as `SV_DispatchThreadID`")?;
            if self.at(Punct::LParen) {
                let open = self.pos;
                self.bump();
                self.skip_to_closer(open)?;
                let spelled: String = self.tokens[open..self.pos].iter().map(|t| t.spelling()).collect();
                let text = format!("{}{spelled}", name.name);
                name = Ident { name: Symbol::new(&text), span: self.span_from(name.span) };
            }
            semantic = semantic.or(Some(name));
        }
        Ok(semantic)
    }

    fn skip_to_closer(&mut self, open: usize) -> Parse<()> {
        match self.behind(open) {
            Some(behind) => {
                self.pos = behind;
                Ok(())
            }
            None => self.close(open),
        }
    }
}
