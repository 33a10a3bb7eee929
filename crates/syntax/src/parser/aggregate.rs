//! Parses structures, interfaces, extensions and enumerations.

use super::func::joined;
use super::prefix::Prefix;
use super::{Parse, Parser, codes};
use crate::ast::{
    AliasDecl, Decl, DeclKind, EnumDecl, Expr, ExprKind, ExtensionDecl, Generics, Ident, InterfaceDecl,
    ModifierKind, StructDecl,
};
use crate::token::{Kw, Punct};
use cotangent_base::{Diagnostic, Symbol};

impl Parser<'_> {
    /// Generic parameters after a name, bases and conditions, with those of a `__generic<..>`.
    fn head(&mut self, prefix: &mut Prefix) -> Parse<(Generics, Vec<Expr>)> {
        let mut own = Generics { params: self.generic_params()?, wheres: vec![] };
        let bases = self.bases()?;
        self.wheres(&mut own)?;
        Ok((joined(std::mem::take(&mut prefix.generics), own), bases))
    }

    /// `struct Name<T> : Bases { .. } variables;`.
    pub(super) fn structure(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let word = self.bump();
        while self.at(Punct::LBracket) {
            self.attributes(&mut prefix.attributes)?;
        }
        let name = match self.ident_at(self.pos) {
            Some(name) => {
                self.bump();
                name
            }
            // A structure without a name, for variables declared right after it.
            None => {
                let text = format!("__anonymous_{}", word.span.start);
                Ident { name: Symbol::new(&text), span: word.span }
            }
        };
        let (generics, bases) = self.head(&mut prefix)?;
        let is_extern = prefix.modifiers.iter().any(|m| m.kind == ModifierKind::Extern);
        if is_extern && self.eat(Punct::Semi) {
            // Another module says which type it is.
            let alias = AliasDecl { name, generics, bases, ty: None };
            self.finish(prefix, DeclKind::Alias(Box::new(alias)), out);
            return Ok(());
        }
        if bases.is_empty() && self.eat(Punct::Semi) {
            // A forward declaration, which nothing needs: order does not matter.
            return Ok(());
        }
        if self.eat(Punct::Eq) {
            // `extern struct X : IA = Default;` and `export struct X : IA = Real;` are other names of types.
            let ty = Some(self.ty()?);
            self.expect(Punct::Semi)?;
            self.finish(prefix, DeclKind::Alias(Box::new(AliasDecl { name, generics, bases, ty })), out);
            return Ok(());
        }
        if self.at(Punct::Semi) {
            let help = "declare the structure with its members";
            return self.unsupported(name.span, "a structure without members", Some(help));
        }
        if !self.at(Punct::LBrace) && self.peek().is_ident() && generics.params.is_empty() && bases.is_empty()
        {
            // `struct Ray r;` as in C: the word is redundant.
            let ty = Self::named_type(name, &generics);
            let variable = self.expect_name("a name")?;
            return self.declarators(prefix, ty, variable, out);
        }
        let members = self.members()?;
        let ty = Self::named_type(name, &generics);
        let inner = Prefix { attributes: vec![], ..prefix.clone() };
        let structure = StructDecl { name, is_class: word.kw == Kw::Class, generics, bases, members };
        self.finish(prefix, DeclKind::Struct(Box::new(structure)), out);
        self.after_body(inner, ty, out)
    }

    /// What may follow the `}` of a structure or enumeration: nothing, if the line ends there; a `;`; or the
    /// names of variables.
    fn after_body(&mut self, prefix: Prefix, ty: Expr, out: &mut Vec<Decl>) -> Parse<()> {
        let next = self.peek();
        if self.eat(Punct::Semi) || next.at_line_start() || next.is(Punct::RBrace) || self.at_end() {
            return Ok(());
        }
        let behind = self.nth(1);
        let is_name = next.is_ident()
            && [Punct::Semi, Punct::Eq, Punct::Comma, Punct::LBracket, Punct::Colon]
                .into_iter()
                .any(|p| behind.is(p));
        if is_name {
            let name = self.expect_name("a name")?;
            return self.declarators(prefix, ty, name, out);
        }
        let error = Diagnostic::new(
            codes::SAME_LINE,
            self.prev_span().after(),
            "two declarations on one line need a `;` between them",
        );
        self.report(
            error
                .here("add `;` here")
                .label(next.span, "without it, this would be a variable of the type before it"),
        );
        Ok(())
    }

    /// `struct Tag { .. } Name;` after `typedef`: a structure called `Name`, and `Tag` as well.
    pub(super) fn typedef_struct(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let tag = self.ident_at(self.pos);
        if tag.is_some() {
            self.bump();
        }
        let members = self.members()?;
        let name = self.expect_name("a name for the type")?;
        self.semi()?;
        let plain = Prefix { attributes: vec![], ..prefix.clone() };
        let structure =
            StructDecl { name, is_class: false, generics: Generics::default(), bases: vec![], members };
        self.finish(prefix, DeclKind::Struct(Box::new(structure)), out);
        if let Some(tag) = tag.filter(|tag| tag.name != name.name) {
            let ty = Self::named_type(name, &Generics::default());
            let alias = AliasDecl { name: tag, generics: Generics::default(), bases: vec![], ty: Some(ty) };
            self.finish(plain, DeclKind::Alias(Box::new(alias)), out);
        }
        Ok(())
    }

    /// `interface IName : IBase { .. }`.
    pub(super) fn interface(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let name = self.expect_name("a name for the interface")?;
        let (generics, bases) = self.head(&mut prefix)?;
        let members = self.members()?;
        self.finish(
            prefix,
            DeclKind::Interface(Box::new(InterfaceDecl {
                name,
                generics,
                bases,
                members,
                is_conjunction: false,
            })),
            out,
        );
        Ok(())
    }

    /// `extension<T> Type : IBase { .. }`.
    pub(super) fn extension(&mut self, mut prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        self.bump();
        let mut own = Generics { params: self.generic_params()?, wheres: vec![] };
        let target = self.ty()?;
        let bases = self.bases()?;
        self.wheres(&mut own)?;
        let members = self.members()?;
        let generics = joined(std::mem::take(&mut prefix.generics), own);
        self.finish(
            prefix,
            DeclKind::Extension(Box::new(ExtensionDecl { generics, target, bases, members })),
            out,
        );
        Ok(())
    }

    /// `enum Name : int { A, B = 2 }`.
    pub(super) fn enumeration(&mut self, prefix: Prefix, out: &mut Vec<Decl>) -> Parse<()> {
        let word = self.bump();
        let is_class = self.eat_kw(Kw::Class);
        let name = self.ident_at(self.pos);
        if name.is_some() {
            self.bump();
        }
        let underlying = if self.eat(Punct::Colon) { Some(self.ty()?) } else { None };
        let cases = self.cases()?;
        let ty = match name {
            Some(name) => Self::named_type(name, &Generics::default()),
            None => Expr { kind: ExprKind::Name(Symbol::new("int")), span: word.span },
        };
        let inner = Prefix { attributes: vec![], ..prefix.clone() };
        self.finish(prefix, DeclKind::Enum(Box::new(EnumDecl { name, is_class, underlying, cases })), out);
        self.after_body(inner, ty, out)
    }

    fn cases(&mut self) -> Parse<Vec<(Ident, Option<Expr>)>> {
        let open = self.pos;
        self.expect(Punct::LBrace)?;
        let mut cases = Vec::new();
        while !self.at(Punct::RBrace) && !self.at_end() {
            // Attributes of a case have no meaning here.
            while self.at(Punct::LBracket) {
                self.attributes(&mut vec![])?;
            }
            let name = self.expect_name("a case of the enumeration")?;
            let value = if self.eat(Punct::Eq) { Some(self.assign()?) } else { None };
            cases.push((name, value));
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.close_or(open, "`,` or ")?;
        Ok(cases)
    }
}
