//! Parses declarations: determines their kind, and parses the simple kinds.

use super::prefix::Prefix;
use super::{Parse, Parser, codes};
use crate::ast::{
    AliasDecl, AssocDecl, Attribute, Decl, DeclKind, Expr, ExprKind, FuncKind, Generics, Ident,
    InterfaceDecl, Modifier, ModifierKind, PropertyDecl, VarDecl,
};
use crate::literal;
use crate::token::{Kw, Punct, TokenKind};
use cotangent_base::{Diagnostic, Symbol};

impl Parser<'_> {
    /// All declarations of a file.
    pub(super) fn file(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        loop {
            self.decls_until_brace(&mut decls);
            if self.at_end() {
                return decls;
            }
            let error = Diagnostic::new(codes::STRAY_CLOSER, self.here(), "this `}` closes nothing");
            self.report(error.help("remove it, or look above for a `{` that is missing"));
            self.bump();
        }
    }

    /// `{ declarations }`.
    pub(super) fn members(&mut self) -> Parse<Vec<Decl>> {
        let open = self.pos;
        self.expect(Punct::LBrace)?;
        let mut members = Vec::new();
        self.nested(|p| {
            p.decls_until_brace(&mut members);
            Ok(())
        })?;
        self.close(open)?;
        Ok(members)
    }

    fn decls_until_brace(&mut self, decls: &mut Vec<Decl>) {
        while !self.at(Punct::RBrace) && !self.at_end() {
            if self.eat(Punct::Semi) {
                continue;
            }
            let start = self.pos;
            if self.decl(decls).is_err() {
                self.sync_declaration(start);
                let span = self.span_from(self.tokens[start].span);
                decls.push(Decl { attributes: vec![], modifiers: vec![], kind: DeclKind::Error, span });
            }
            if self.pos == start && !self.at(Punct::RBrace) {
                self.bump();
            }
        }
    }

    /// One declaration, which may declare several names.
    pub(super) fn decl(&mut self, out: &mut Vec<Decl>) -> Parse<()> {
        let prefix = self.prefix()?;
        self.decl_behind(prefix, out)
    }

    /// A declaration after its attributes and modifiers.
    pub(super) fn decl_behind(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let next = self.nth(1);
        // A type is never followed by these, so the word is meant as one although its name is missing.
        let nameless =
            matches!(next.kind, TokenKind::Punct(Punct::LBrace | Punct::Semi) | TokenKind::Number(_));
        let named = next.is_ident() || nameless;
        match self.peek().kw {
            Kw::Struct | Kw::Class if named || next.is(Punct::LBracket) => self.structure(prefix, out),
            Kw::Interface if named => self.interface(prefix, out),
            Kw::Extension | Kw::Extension_ if named || next.is(Punct::Lt) => self.extension(prefix, out),
            Kw::Enum if named || next.is(Punct::Colon) => self.enumeration(prefix, out),
            Kw::Typedef if named => self.typedef(prefix, out),
            Kw::Typealias if named => self.typealias(prefix, out),
            Kw::TypeParam if named => self.type_param(prefix, out),
            Kw::Assoc if named => self.assoc(prefix, out),
            Kw::Constraint if next.is_ident() => self.constraint(prefix, out),
            Kw::Property if named => self.property(prefix, out),
            Kw::Subscript => self.subscript(prefix, out),
            Kw::Init if next.is(Punct::LParen) || next.is(Punct::Lt) => self.constructor(prefix, out),
            Kw::Func if named => self.func(prefix, out),
            Kw::Namespace if named => self.namespace(prefix, out),
            Kw::Using if named => self.using(prefix, out),
            Kw::CBuffer | Kw::TBuffer if named => self.cbuffer(prefix, out),
            Kw::Import | Kw::Include | Kw::Module | Kw::Implementing if self.at_module_line() => {
                self.module_line(prefix, out)
            }
            Kw::Let | Kw::Var if named => self.binding(prefix, out),
            Kw::FuncExtension => self.func_extension(prefix, out),
            _ if self.peek().is_ident() || self.at(Punct::ColonColon) => self.typed(prefix, out),
            _ => self.no_declaration(&prefix),
        }
    }

    fn no_declaration(&mut self, prefix: &Prefix) -> Parse<()> {
        if self.at(Punct::RBrace) || self.at_end() {
            self.check_not_dangling(&prefix.attributes, &prefix.modifiers);
            return Ok(());
        }
        self.expected(codes::EXPECTED_DECLARATION, "a declaration")
    }

    /// `float f(..)`, `float x = 1, y[2];`, `V operator+(..)`.
    fn typed(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.check_begins_typed()?;
        let ty = self.ty()?;
        if self.at_kw(Kw::Operator) {
            let name = self.operator_name()?;
            return self.func_rest(prefix, FuncKind::Operator, name, Some(ty), out);
        }
        let name = self.expect_name("a name after the type")?;
        if self.at(Punct::LParen) || self.at(Punct::Lt) {
            self.check_not_constructed(&ty, name)?;
            return self.func_rest(prefix, FuncKind::Plain, name, Some(ty), out);
        }
        self.declarators(prefix, ty, name, out)
    }

    /// Recognizes what is often written where a declaration must stand.
    fn check_begins_typed(&mut self) -> Parse<()> {
        let (first, next) = (self.peek(), self.nth(1));
        let error = |message: &str| Diagnostic::new(codes::EXPECTED_DECLARATION, first.span, message);
        match first.kw {
            Kw::If
            | Kw::For
            | Kw::While
            | Kw::Do
            | Kw::Switch
            | Kw::Return
            | Kw::Break
            | Kw::Continue
            | Kw::Else => {
                let error = error("statements are only allowed in the body of a function");
                self.fail(error.help("look for an extra `}` above, or move this into a function"))
            }
            _ if super::lookahead::is_pack_query(&first) => Ok(()),
            _ if next.is(Punct::LParen) => {
                let constructor = self.behind(self.pos + 1).is_some_and(|b| self.tokens[b].is(Punct::LBrace));
                let error = error("expected a declaration, found what looks like a call");
                let error = self.with_foreign_help(error);
                if error.help.is_some() {
                    return self.fail(error);
                }
                self.fail(error.help(match constructor {
                    true => "a function needs a result type; a constructor is written `__init(..) {..}`",
                    false => "calls are only allowed in the body of a function",
                }))
            }
            _ if next.is(Punct::Eq) => {
                let error = error("assignments are only allowed in the body of a function");
                self.fail(error.help("to declare a variable, write its type before its name"))
            }
            _ => Ok(()),
        }
    }

    /// The variables of one declaration, the first name already read.
    pub(super) fn declarators(
        &mut self,
        prefix: Prefix,
        ty: Expr,
        first: Ident,
        out: &mut Vec<Decl>,
    ) -> Parse<()> {
        let mut name = first;
        let height = self.height;
        loop {
            self.height = height;
            let full = self.array_suffixes(ty.clone())?;
            let bits = self.bit_count()?;
            let semantic = self.semantic()?;
            let init = if self.eat(Punct::Eq) { Some(self.assign()?) } else { None };
            let var = VarDecl { name, ty: Some(full), init, semantic, bits, is_let: false };
            if !self.finish_var(&prefix, var, out)? {
                return Ok(());
            }
            name = self.expect_name("another name after `,`")?;
        }
    }

    /// `let x = 1, y : float = 2;` and `var`.
    pub(super) fn binding(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let is_let = self.bump().kw == Kw::Let;
        loop {
            let name = self.expect_name("a name for the variable")?;
            let ty = if self.eat(Punct::Colon) { Some(self.ty()?) } else { None };
            let init = if self.eat(Punct::Eq) { Some(self.assign()?) } else { None };
            let var = VarDecl { name, ty, init, semantic: None, bits: None, is_let };
            if !self.finish_var(&prefix, var, out)? {
                return Ok(());
            }
        }
    }

    /// Reads what follows a variable; says whether that is another one.
    fn finish_var(&mut self, prefix: &Prefix, var: VarDecl, out: &mut Vec<Decl>) -> Parse<bool> {
        let more = self.eat(Punct::Comma);
        if !more {
            self.semi()?;
        }
        self.finish(prefix.clone(), DeclKind::Var(var.into()), out);
        Ok(more)
    }

    /// `typedef float3 Color, Palette[4];`.
    fn typedef(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        if self.at_kw(Kw::Struct) && (self.nth(1).is(Punct::LBrace) || self.nth(2).is(Punct::LBrace)) {
            return self.typedef_struct(prefix, out);
        }
        let ty = self.ty()?;
        loop {
            let name = self.expect_name("a name for the type")?;
            let full = self.array_suffixes(ty.clone())?;
            let more = self.eat(Punct::Comma);
            if !more {
                self.semi()?;
            }
            let alias = AliasDecl { name, generics: prefix.generics.clone(), bases: vec![], ty: Some(full) };
            self.finish(prefix.clone(), DeclKind::Alias(Box::new(alias)), out);
            if !more {
                return Ok(());
            }
        }
    }

    /// `typealias Name<T> = Type;`.
    fn typealias(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let name = self.expect_name("a name for the type")?;
        let mut generics = std::mem::take(&mut prefix.generics);
        generics.params.append(&mut self.generic_params()?);
        self.wheres(&mut generics)?;
        self.expect(Punct::Eq)?;
        let target = self.ty()?;
        if self.at(Punct::Amp) {
            return self.conjunction_alias(prefix, (name, generics), target, out);
        }
        let ty = Some(target);
        self.semi()?;
        let alias = AliasDecl { name, generics, bases: vec![], ty };
        self.finish(prefix, DeclKind::Alias(Box::new(alias)), out);
        Ok(())
    }

    /// `typealias IAB = IA & IB;` from the first `&` on: an interface of its own, to which every type conforms that conforms to
    /// all of them.
    fn conjunction_alias(
        &mut self,
        prefix: Prefix,
        (name, generics): (Ident, Generics),
        first: Expr,
        out: &mut Vec<Decl>,
    ) -> Parse<()> {
        let mut bases = vec![first];
        while self.eat(Punct::Amp) {
            bases.push(self.ty()?);
        }
        self.semi()?;
        let interface = InterfaceDecl { name, generics, bases, members: vec![], is_conjunction: true };
        self.finish(prefix, DeclKind::Interface(Box::new(interface)), out);
        Ok(())
    }

    /// `type_param Name : IBound;`, a type that is given from outside, as that of an `extern` structure is.
    fn type_param(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let span = self.bump().span;
        let name = self.expect_name("a name for the type")?;
        let bases = self.bases()?;
        self.semi()?;
        prefix.modifiers.push(Modifier { kind: ModifierKind::Extern, span });
        let alias = AliasDecl { name, generics: Generics::default(), bases, ty: None };
        self.finish(prefix, DeclKind::Alias(Box::new(alias)), out);
        Ok(())
    }

    /// `associatedtype Name : IBound where ..;`.
    fn assoc(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let name = self.expect_name("a name for the type")?;
        let bounds = self.bases()?;
        let mut generics = Generics::default();
        self.wheres(&mut generics)?;
        if let Some(optional) = generics.params.first() {
            return self.unsupported(
                optional.name.span,
                "an optional constraint of an associated type",
                None,
            );
        }
        let wheres = generics.wheres;
        self.semi()?;
        self.finish(prefix, DeclKind::Assoc(Box::new(AssocDecl { name, bounds, wheres })), out);
        Ok(())
    }

    /// `__constraint A : IFoo;` and `__constraint A == B;`, in an interface.
    fn constraint(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let condition = self.where_condition()?;
        self.semi()?;
        self.finish(prefix, DeclKind::Constraint(Box::new(condition)), out);
        Ok(())
    }

    /// `property float area {..}` or `property area : float {..}`.
    fn property(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let (name, ty) = if self.nth(1).is(Punct::Colon) {
            let name = self.expect_name("a name for the property")?;
            self.bump();
            (name, self.ty()?)
        } else {
            let ty = self.ty()?;
            (self.expect_name("a name for the property")?, ty)
        };
        let accessors = self.accessors()?;
        self.finish(prefix, DeclKind::Property(Box::new(PropertyDecl { name, ty, accessors })), out);
        Ok(())
    }

    /// `namespace a.b { .. }`.
    fn namespace(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let mut path = vec![self.expect_name("a name for the namespace")?];
        while self.eat(Punct::Dot) || self.eat(Punct::ColonColon) {
            path.push(self.expect_name("a name for the namespace")?);
        }
        let members = self.members()?;
        self.finish(prefix, DeclKind::Namespace(path, members), out);
        Ok(())
    }

    /// `using a.b;` or `using namespace a.b;`.
    fn using(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        if self.at_kw_name(Kw::Namespace) {
            self.bump();
        }
        let path = self.ty()?;
        self.semi()?;
        self.finish(prefix, DeclKind::Using(Box::new(path)), out);
        Ok(())
    }

    /// `cbuffer C : register(b0) { .. }`.
    fn cbuffer(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let name = self.expect_name("a name for the buffer")?;
        if self.at(Punct::Colon) {
            self.bump();
            let register = self.expect_name("`register`")?;
            let args = self.paren_args()?;
            prefix.attributes.push(Attribute { name: register, args, span: self.span_from(register.span) });
        }
        let members = self.members()?;
        self.finish(prefix, DeclKind::CBuffer(name, members), out);
        Ok(())
    }

    /// Whether `import`, `module` and the like act as words here: a path and a `;` must follow.
    fn at_module_line(&self) -> bool {
        match self.nth(1).kind {
            TokenKind::String(_) | TokenKind::Number(_) | TokenKind::Punct(Punct::Semi) => true,
            TokenKind::Ident(_) => !matches!(
                self.nth(2).kind,
                TokenKind::Punct(Punct::Eq | Punct::LParen | Punct::LBracket | Punct::Comma)
            ),
            _ => false,
        }
    }

    /// `import a.b;`, `__include "part.slang";`, `module m;`, `implementing m;`.
    fn module_line(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let word = self.bump().kw;
        let path = self.module_path()?;
        self.semi()?;
        let kind = match word {
            Kw::Import => DeclKind::Import(path),
            Kw::Include => DeclKind::Include(path),
            Kw::Module => DeclKind::Module(path),
            _ => DeclKind::Implementing(path),
        };
        self.finish(prefix, kind, out);
        Ok(())
    }

    fn module_path(&mut self) -> Parse<Ident> {
        let first = self.peek();
        if let TokenKind::String(spelling) = first.kind {
            self.bump();
            return match literal::string(spelling.as_str(), first.span) {
                Ok(path) => Ok(Ident { name: Symbol::new(&path), span: first.span }),
                Err(error) => self.fail(*error),
            };
        }
        let mut text = self.expect_name("the name of a module")?.name.to_string();
        while self.eat(Punct::Dot) || self.eat(Punct::ColonColon) || self.eat(Punct::Slash) {
            text.push('/');
            text.push_str(self.expect_name("the name of a module")?.name.as_str());
        }
        Ok(Ident { name: Symbol::new(&text), span: self.span_from(first.span) })
    }

    /// The type that a structure or enumeration just declared stands for.
    pub(super) fn named_type(name: Ident, generics: &Generics) -> Expr {
        let head = Expr { kind: ExprKind::Name(name.name), span: name.span };
        if generics.params.is_empty() {
            return head;
        }
        let arg =
            |p: &crate::ast::GenericParam| Expr { kind: ExprKind::Name(p.name.name), span: p.name.span };
        let args = generics.params.iter().map(arg).collect();
        Expr { kind: ExprKind::Apply(Box::new(head), args), span: name.span }
    }
}
