//! Parses the prefixes of a declaration: attributes, modifiers and `__generic<..>`.

use super::{Parse, Parser, codes, target_code};
use crate::ast::{Attribute, Decl, DeclKind, Expr, Generics, Ident, Modifier, ModifierKind};
use crate::token::{Kw, Punct};
use cotangent_base::{Diagnostic, Span, Symbol};

/// Attributes and modifiers that wait for their declaration.
#[derive(Clone)]
pub(super) struct Prefix {
    pub attributes: Vec<Attribute>,
    pub modifiers: Vec<Modifier>,
    /// From `__generic<..>`.
    pub generics: Generics,
    /// Where the declaration begins.
    pub start: Span,
}

impl Prefix {
    /// Takes a modifier out, if it is there.
    pub fn take(&mut self, kind: ModifierKind) -> bool {
        let before = self.modifiers.len();
        self.modifiers.retain(|m| m.kind != kind);
        self.modifiers.len() < before
    }
}

/// The modifier a word stands for.
pub(super) fn modifier_kind(kw: Kw) -> Option<ModifierKind> {
    Some(match kw {
        Kw::Static => ModifierKind::Static,
        Kw::Const | Kw::ConstExpr => ModifierKind::Const,
        Kw::Uniform => ModifierKind::Uniform,
        Kw::GroupShared => ModifierKind::GroupShared,
        Kw::Public => ModifierKind::Public,
        Kw::Internal => ModifierKind::Internal,
        Kw::Private => ModifierKind::Private,
        Kw::Extern => ModifierKind::Extern,
        Kw::Export | Kw::Exported => ModifierKind::Export,
        Kw::Inline => ModifierKind::Inline,
        Kw::Override => ModifierKind::Override,
        Kw::NoDiff => ModifierKind::NoDiff,
        Kw::In => ModifierKind::In,
        Kw::Out => ModifierKind::Out,
        Kw::InOut => ModifierKind::InOut,
        Kw::Ref_ => ModifierKind::Ref,
        Kw::ConstRef => ModifierKind::ConstRef,
        Kw::RowMajor => ModifierKind::RowMajor,
        Kw::ColumnMajor => ModifierKind::ColumnMajor,
        Kw::Prefix => ModifierKind::Prefix,
        Kw::Postfix => ModifierKind::Postfix,
        Kw::NoInterpolation => ModifierKind::NoInterpolation,
        Kw::NoPerspective => ModifierKind::NoPerspective,
        Kw::Linear => ModifierKind::Linear,
        Kw::Centroid => ModifierKind::Centroid,
        Kw::Sample => ModifierKind::Sample,
        Kw::Dyn => ModifierKind::Dyn,
        Kw::GloballyCoherent => ModifierKind::Idle("globallycoherent"),
        Kw::Coherent => ModifierKind::Idle("coherent"),
        Kw::ReadOnly => ModifierKind::Idle("readonly"),
        Kw::WriteOnly => ModifierKind::Idle("writeonly"),
        Kw::Restrict => ModifierKind::Idle("restrict"),
        Kw::PerVertex => ModifierKind::Idle("pervertex"),
        Kw::Volatile => ModifierKind::Volatile,
        Kw::Precise
        | Kw::SNorm
        | Kw::UNorm
        | Kw::Shared
        | Kw::Param
        | Kw::ExternCpp
        | Kw::Lowp
        | Kw::Mediump
        | Kw::Highp => ModifierKind::Ignored,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Attributes, modifiers and generic parameters, in any order.
    pub(super) fn prefix(&mut self) -> Parse<Prefix> {
        let start = self.peek().span;
        let mut prefix =
            Prefix { attributes: vec![], modifiers: vec![], generics: Generics::default(), start };
        loop {
            let kw = self.peek().kw;
            if self.at(Punct::LBracket) {
                self.attributes(&mut prefix.attributes)?;
            } else if self.nth(1).is(Punct::LParen)
                && (kw == Kw::ImplicitConversion || target_code::is_prefix(self.peek().spelling()))
            {
                let name = self.expect_name("a name")?;
                let args = self.paren_args()?;
                prefix.attributes.push(Attribute { name, args, span: self.span_from(name.span) });
            } else if self.at_layout() {
                self.layout(&mut prefix.attributes)?;
            } else if kw == Kw::Generic && self.nth(1).is(Punct::Lt) {
                self.bump();
                prefix.generics.params.append(&mut self.generic_params()?);
            } else if !self.modifier(&mut prefix.modifiers) {
                return Ok(prefix);
            }
        }
    }

    /// A modifier, if there is one. Since no word is reserved, it must be followed by what it modifies.
    pub(super) fn modifier(&mut self, modifiers: &mut Vec<Modifier>) -> bool {
        let Some(kind) = modifier_kind(self.peek().kw) else {
            return false;
        };
        let next = self.nth(1);
        let modifies = next.is_ident() || next.is(Punct::LBracket);
        if modifies {
            if self.at_kw(Kw::ConstExpr) {
                let message = "`constexpr` is treated as `const`";
                self.report(Diagnostic::new(codes::CONSTEXPR, self.here(), message).help("write `const`"));
            }
            modifiers.push(Modifier { kind, span: self.bump().span });
        }
        modifies
    }

    /// `[a, b(c)]` or `[[vk::binding(0)]]`.
    pub(super) fn attributes(&mut self, out: &mut Vec<Attribute>) -> Parse<()> {
        let open = self.pos;
        self.bump();
        let inner = self.at(Punct::LBracket).then_some(self.pos);
        if inner.is_some() {
            self.bump();
        }
        while !self.at(Punct::RBracket) {
            let attribute = self.attribute()?;
            out.push(attribute);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        if let Some(inner) = inner {
            self.close(inner)?;
        }
        self.close(open)
    }

    fn attribute(&mut self) -> Parse<Attribute> {
        let mut name = self.expect_name("the name of an attribute")?;
        while self.at(Punct::ColonColon) || self.at(Punct::Dot) {
            self.bump();
            let part = self.expect_name("the name of an attribute")?;
            name = Ident {
                name: Symbol::new(&format!("{}::{}", name.name, part.name)),
                span: name.span.to(part.span),
            };
        }
        let args = if self.at(Punct::LParen) { self.paren_args()? } else { vec![] };
        Ok(Attribute { name, args, span: self.span_from(name.span) })
    }

    /// Arguments in parentheses.
    pub(super) fn paren_args(&mut self) -> Parse<Vec<Expr>> {
        let open = self.pos;
        self.expect(Punct::LParen)?;
        let args = self.expr_list(Punct::RParen)?;
        self.close_or(open, "`,` or ")?;
        Ok(args)
    }

    /// Completes a declaration whose last token was just taken.
    pub(super) fn finish(&mut self, prefix: Prefix, kind: DeclKind, out: &mut Vec<Decl>) {
        let span = self.span_from(prefix.start);
        out.push(Decl { attributes: prefix.attributes, modifiers: prefix.modifiers, kind, span });
    }

    /// Reports attributes and modifiers with nothing after them.
    pub(super) fn check_not_dangling(&mut self, attributes: &[Attribute], modifiers: &[Modifier]) {
        let span = attributes.first().map(|a| a.span).or(modifiers.first().map(|m| m.span));
        if let Some(span) = span {
            let error = Diagnostic::new(
                codes::DANGLING_PREFIX,
                span,
                "there is no declaration or statement after this",
            );
            self.report(error.help("remove it, or add the declaration or statement"));
        }
    }
}
