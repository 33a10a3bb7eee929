//! Parses functions in both notations, their parameters, and accessors.

use super::prefix::Prefix;
use super::{Parse, Parser, codes, reference, target_code};
use crate::ast::{
    Accessor, AccessorKind, Body, Decl, DeclKind, Expr, ExprKind, Extends, ExtensionPart, FuncDecl, FuncKind,
    Generics, Ident, ModifierKind, Param, SubscriptDecl,
};
use crate::token::{Kw, Punct, TokenKind};
use cotangent_base::{Diagnostic, Span, Symbol};

impl Parser<'_> {
    /// The rest of a function after its name.
    pub(super) fn func_rest(
        &mut self,
        mut prefix: Prefix,
        kind: FuncKind,
        name: Ident,
        result: Option<Expr>,
        out: &mut Vec<Decl>,
    ) -> Parse<()> {
        let mut generics = std::mem::take(&mut prefix.generics);
        generics.params.append(&mut self.generic_params()?);
        self.func_behind_generics(prefix, kind, name, (generics, result, None), out)
    }

    /// The rest of a function after its generic parameters, of which some may follow in `where` clauses.
    fn func_behind_generics(
        &mut self,
        mut prefix: Prefix,
        kind: FuncKind,
        name: Ident,
        (generics, result, extends): (Generics, Option<Expr>, Option<Extends>),
        out: &mut Vec<Decl>,
    ) -> Parse<()> {
        let params = self.params_or_skip()?;
        let broken = params.is_none();
        let params = params.unwrap_or_default();
        let no_diff_result = prefix.take(ModifierKind::NoDiff);
        let mut func = FuncDecl {
            kind,
            name,
            generics,
            params,
            result,
            no_diff_result,
            throws: None,
            semantic: None,
            body: None,
            extends,
        };
        self.func_trailer(&mut func)?;
        if self.at(Punct::LBrace) {
            func.body = Some(self.body()?);
        } else if !self.eat(Punct::Semi) {
            return self.expected(codes::EXPECTED_TOKEN, "`{` or `;` after the function signature");
        }
        target_code::add_targets(&mut prefix, &mut func);
        let kind = if broken { DeclKind::Error } else { DeclKind::Func(func.into()) };
        self.finish(prefix, kind, out);
        Ok(())
    }

    /// The parameters; or nothing if they cannot be read but a body follows, whose own errors are worth
    /// reporting.
    fn params_or_skip(&mut self) -> Parse<Option<Vec<Param>>> {
        let open = self.pos;
        match (self.params(), self.behind(open)) {
            (Ok(params), _) => Ok(Some(params)),
            (Err(_), Some(behind)) if self.tokens[behind].is(Punct::LBrace) && !self.gave_up => {
                self.pos = behind;
                Ok(None)
            }
            (Err(abort), _) => Err(abort),
        }
    }

    /// `throws E`, `-> T`, `: SV_Target` and `where` clauses, in any order.
    fn func_trailer(&mut self, func: &mut FuncDecl) -> Parse<()> {
        loop {
            if self.at_kw_name(Kw::Throws) {
                self.bump();
                func.throws = Some(self.ty()?);
            } else if self.at_kw_name(Kw::Where) {
                self.wheres(&mut func.generics)?;
            } else if self.at(Punct::Arrow) && may_follow(func) {
                self.bump();
                if self.at_kw_name(Kw::NoDiff) {
                    self.bump();
                    func.no_diff_result = true;
                }
                func.result = Some(self.ty()?);
            } else if self.at(Punct::Colon) {
                func.semantic = self.semantic()?;
            } else {
                return Ok(());
            }
        }
    }

    /// `func name(a : float) -> float`.
    pub(super) fn func(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let (name, kind) = match self.peek().kw {
            Kw::Operator => (self.operator_name()?, FuncKind::Operator),
            _ => (self.expect_name("a name for the function")?, FuncKind::Plain),
        };
        let void = Expr { kind: ExprKind::Name(Symbol::new("void")), span: name.span };
        self.func_rest(prefix, kind, name, Some(void), out)
    }

    /// `__func_extension<T> fwd_diff(f)(..) -> R {..}`. The function is called after what it is given for; nobody can write
    /// that name.
    pub(super) fn func_extension(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let mut generics = std::mem::take(&mut prefix.generics);
        generics.params.append(&mut self.generic_params()?);
        let word = self.peek();
        let part = match word.kw {
            Kw::FwdDiff | Kw::FwdDiff_ => ExtensionPart::Forward,
            Kw::BwdDiff | Kw::BwdDiff_ => ExtensionPart::Backward,
            Kw::Apply_ => ExtensionPart::Apply,
            _ => return self.expected(codes::EXPECTED_TOKEN, "`fwd_diff(f)`, `bwd_diff(f)` or `__apply(f)`"),
        };
        self.bump();
        let open = self.pos;
        self.expect(Punct::LParen)?;
        let target = self.outside_angles(Self::assign)?;
        let text: String = self.tokens[open + 1..self.pos].iter().map(|t| t.spelling()).collect();
        self.close(open)?;
        let span = self.span_from(word.span);
        let name = Symbol::new(&format!("{}({text})", word.spelling()));
        let void = Expr { kind: ExprKind::Name(Symbol::new("void")), span };
        let extends = Extends { part, target, span };
        let rest = (generics, Some(void), Some(extends));
        self.func_behind_generics(prefix, FuncKind::Plain, Ident { name, span }, rest, out)
    }

    /// `__init(..)`.
    pub(super) fn constructor(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let name = self.expect_name("`__init`")?;
        self.func_rest(prefix, FuncKind::Constructor, name, None, out)
    }

    /// `operator+`, with the operator as part of the name.
    pub(super) fn operator_name(&mut self) -> Parse<Ident> {
        let start = self.bump().span;
        let op = self.peek();
        let text = match op.kind {
            TokenKind::Punct(Punct::LParen) if self.nth(1).is(Punct::RParen) => {
                self.bump();
                "()"
            }
            TokenKind::Punct(Punct::Question) if self.nth(1).is(Punct::Colon) => {
                self.bump();
                "?:"
            }
            TokenKind::Punct(punct) if is_declarable(punct) => punct.text(),
            _ => return self.expected(codes::BAD_OPERATOR_NAME, "an operator after `operator`"),
        };
        self.bump();
        Ok(Ident { name: Symbol::new(&format!("operator{text}")), span: self.span_from(start) })
    }

    /// Parameters in parentheses.
    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        let open = self.pos;
        self.expect(Punct::LParen)?;
        let mut params = Vec::new();
        // `f(void)` is C's way to say that there are none.
        if self.peek().spelling() == "void" && self.nth(1).is(Punct::RParen) {
            self.bump();
        }
        while !self.at(Punct::RParen) && !self.at_end() {
            params.push(self.param()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.close_or(open, "`,` or ")?;
        Ok(params)
    }

    /// At the word of a parameter that says what geometry and mesh shaders take or make, before a type and a name.
    fn at_primitive(&self) -> bool {
        const WORDS: [&str; 9] = [
            "point",
            "line",
            "triangle",
            "lineadj",
            "triangleadj",
            "vertices",
            "indices",
            "primitives",
            "payload",
        ];
        let behind = self.nth(2);
        self.nth(1).is_ident()
            && (behind.is_ident() || behind.is(Punct::Lt))
            && WORDS.contains(&self.peek().spelling())
    }

    /// `inout float x[2] : SEMANTIC = 1` or `inout x : float = 1`.
    fn param(&mut self) -> Parse<Param> {
        let start = self.peek().span;
        let (mut attributes, mut modifiers) = (Vec::new(), Vec::new());
        loop {
            if self.at(Punct::LBracket) {
                self.attributes(&mut attributes)?;
            } else if self.at_primitive() {
                // Only stages that no target has take it, so it says nothing.
                self.bump();
            } else if !self.modifier(&mut modifiers) {
                break;
            }
        }
        let (name, ty, semantic) = if self.peek().is_ident() && self.nth(1).is(Punct::Colon) {
            let name = self.expect_name("a name")?;
            self.bump();
            (Some(name), self.ty()?, None)
        } else {
            let ty = self.ty()?;
            let name = self.ident_at(self.pos);
            if name.is_some() {
                self.bump();
            }
            let ty = self.array_suffixes(ty)?;
            (name, ty, self.semantic()?)
        };
        let default = if self.eat(Punct::Eq) { Some(self.assign()?) } else { None };
        // The default may also stand before the semantic.
        let semantic = semantic.or(self.semantic()?);
        let span = self.span_from(start);
        Ok(Param { attributes, modifiers, name, ty, default, semantic, span })
    }

    /// `__subscript(int i) -> T { get; set; }`.
    pub(super) fn subscript(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let mut generics = std::mem::take(&mut prefix.generics);
        generics.params.append(&mut self.generic_params()?);
        let params = self.params()?;
        if !self.eat(Punct::Arrow) {
            return self.expected(codes::EXPECTED_TOKEN, "`->` and the type of an element");
        }
        let result = self.ty()?;
        self.wheres(&mut generics)?;
        let accessors = self.accessors()?;
        let subscript = SubscriptDecl { generics, params, result, accessors };
        self.finish(prefix, DeclKind::Subscript(Box::new(subscript)), out);
        Ok(())
    }

    /// `{ get {..} set(v) {..} }`; a `;` alone stands for `{ get; }`.
    pub(super) fn accessors(&mut self) -> Parse<Vec<Accessor>> {
        let (open, span) = (self.pos, self.peek().span);
        if self.eat(Punct::Semi) {
            return Ok(vec![accessor(AccessorKind::Get, span)]);
        }
        if !self.eat(Punct::LBrace) {
            return self.expected(codes::EXPECTED_TOKEN, "`{` and accessors such as `get;`");
        }
        let mut accessors = Vec::new();
        while !self.at(Punct::RBrace) && !self.at_end() {
            if !self.eat(Punct::Semi) {
                accessors.push(self.accessor()?);
            }
        }
        self.close(open)?;
        Ok(reference::without(accessors))
    }

    fn accessor(&mut self) -> Parse<Accessor> {
        let prefix = self.prefix()?;
        let kind = match self.peek().kw {
            Kw::Get => AccessorKind::Get,
            Kw::Set => AccessorKind::Set,
            Kw::Ref | Kw::Ref_ => AccessorKind::Ref,
            _ => return self.expected(codes::EXPECTED_TOKEN, "`get`, `set` or `ref`"),
        };
        self.bump();
        let mut accessor = Accessor { attributes: prefix.attributes, ..accessor(kind, prefix.start) };
        if self.at(Punct::LParen) {
            let open = self.peek().span;
            accessor.value = self.setter_param()?;
            if kind != AccessorKind::Set && (accessor.value.is_some()) {
                let message = "only `set` takes a parameter";
                let error = Diagnostic::new(codes::EXPECTED_TOKEN, open, message);
                self.report(error.help("remove it"));
            }
        }
        if self.at(Punct::LBrace) {
            accessor.body = Some(self.body()?);
        } else {
            self.semi()?;
        }
        accessor.span = self.span_from(prefix.start);
        Ok(accessor)
    }

    /// `{ .. }`; in a library it is set aside.
    fn body(&mut self) -> Parse<Body> {
        let close = self.partners[self.pos] as usize;
        if !self.lazy || close <= self.pos {
            return Ok(self.block()?.into());
        }
        let body = Body::unread(&self.tokens[self.pos..=close], self.first + self.pos, self.version);
        self.pos = close;
        self.bump();
        Ok(body)
    }

    /// `(v)`, `(float v)` or `(v : float)`.
    fn setter_param(&mut self) -> Parse<Option<Ident>> {
        if self.nth(1).is_ident() && self.nth(2).is(Punct::RParen) {
            self.bump();
            let name = self.expect_name("a name for the new value")?;
            self.bump();
            return Ok(Some(name));
        }
        let mut params = self.params()?;
        Ok(params.pop().and_then(|p| p.name))
    }

    /// `float3 v(1, 2, 3);` looks like a constructor call in C++ and like a broken function here.
    pub(super) fn check_not_constructed(&mut self, ty: &Expr, name: Ident) -> Parse<()> {
        let value = matches!(self.nth(1).kind, TokenKind::Number(_) | TokenKind::String(_));
        if !self.at(Punct::LParen) || !value {
            return Ok(());
        }
        let error =
            Diagnostic::new(codes::EXPECTED_TOKEN, self.here(), "invalid initialization of a variable");
        let ty = match &ty.kind {
            ExprKind::Name(ty) => ty.as_str(),
            _ => "T",
        };
        let name = name.name;
        self.fail(error.help(format!("write `{ty} {name} = {ty}(..)`")))
    }
}

fn accessor(kind: AccessorKind, span: Span) -> Accessor {
    Accessor { attributes: vec![], kind, value: None, body: None, span }
}

fn is_declarable(punct: Punct) -> bool {
    use Punct::*;
    let other = matches!(
        punct,
        LParen
            | RParen
            | LBracket
            | RBracket
            | LBrace
            | RBrace
            | Semi
            | Dot
            | Question
            | Colon
            | ColonColon
            | At
            | Dollar
            | Ellipsis
            | FatArrow
            | Hash
            | HashHash
            | Backslash
            | Arrow
    );
    !other
}

/// Generic parameters and conditions with those of a `__generic<..>` before them.
pub(super) fn joined(mut first: Generics, mut second: Generics) -> Generics {
    first.params.append(&mut second.params);
    first.wheres.append(&mut second.wheres);
    first
}

/// Whether the result type may follow the parameters: not if another one stands before the name.
fn may_follow(func: &FuncDecl) -> bool {
    func.result.as_ref().is_none_or(|result| result.span == func.name.span)
}
