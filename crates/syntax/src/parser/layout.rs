//! Parses GLSL's `layout(binding = 0, set = 1)` before a declaration, as the attributes of the same meaning.
//!
//! `layout` is an ordinary name otherwise: it is a qualifier only where a word follows the parentheses.

use super::{Parse, Parser, codes};
use crate::ast::{Attribute, Expr, Ident};
use crate::token::Punct;
use cotangent_base::{Diagnostic, Symbol};

/// Qualifiers and the attributes that mean the same, with the number given.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("binding", "vk::binding"),
    ("constant_id", "vk::constant_id"),
    ("push_constant", "vk::push_constant"),
    ("location", "vk::location"),
    ("index", "vk::index"),
    ("offset", "vk::offset"),
    ("input_attachment_index", "vk::input_attachment_index"),
    ("shaderRecordNV", "vk::shader_record"),
    ("shaderRecordEXT", "vk::shader_record"),
];

/// How the names of texel formats begin, which are qualifiers too.
const FORMATS: &[&str] = &["rgba", "rgb10", "rg", "r8", "r16", "r32", "r64", "r11f"];

impl Parser<'_> {
    /// Whether `layout(..)` qualifies a declaration here.
    pub(super) fn at_layout(&self) -> bool {
        self.peek().spelling() == "layout"
            && self.nth(1).is(Punct::LParen)
            && self
                .behind(self.pos + 1)
                .is_some_and(|after| self.tokens[after].is_ident() && !self.tokens[after + 1].is(Punct::Semi))
    }

    /// `layout(binding = 0, set = 1)`.
    pub(super) fn layout(&mut self, out: &mut Vec<Attribute>) -> Parse<()> {
        self.bump();
        let open = self.pos;
        self.bump();
        let mut set = None;
        let first = out.len();
        while !self.at(Punct::RParen) {
            let name = self.expect_name("a layout qualifier")?;
            let args = if self.eat(Punct::Eq) { vec![self.assign()?] } else { vec![] };
            match self.layout_attribute(name, args.len()) {
                Some("set") => set = args.into_iter().next(),
                Some(attribute) => {
                    let name = Ident { name: Symbol::new(attribute), span: name.span };
                    out.push(Attribute { name, args, span: self.span_from(name.span) });
                }
                None => {}
            }
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.close_or(open, "`,` or ")?;
        self.add_set(&mut out[first..], set);
        Ok(())
    }

    /// The attribute that a qualifier stands for.
    fn layout_attribute(&mut self, name: Ident, given: usize) -> Option<&'static str> {
        let word = name.name.as_str();
        if word == "set" && given == 1 {
            return Some("set");
        }
        if given == 0 && FORMATS.iter().any(|format| word.starts_with(format)) {
            return Some("vk::image_format");
        }
        let known = ATTRIBUTES.iter().find(|(qualifier, _)| *qualifier == word);
        if known.is_none() {
            let message = format!("`{word}` is not a layout qualifier here");
            let help = match word {
                "local_size_x" | "local_size_y" | "local_size_z" => {
                    "write `[numthreads(x, y, z)]` before the entry point"
                }
                _ => {
                    "`layout` takes `binding`, `set`, `location`, `constant_id`, `push_constant` and formats of texels"
                }
            };
            self.report(Diagnostic::new(codes::MISPLACED_WORD, name.span, message).help(help));
        }
        known.map(|(_, attribute)| *attribute)
    }

    /// Completes the binding among the attributes of a `layout` with its set.
    fn add_set(&mut self, attributes: &mut [Attribute], set: Option<Expr>) {
        let Some(set) = set else { return };
        match attributes.iter_mut().find(|attribute| attribute.name.name == *"vk::binding") {
            Some(binding) => binding.args.push(set),
            None => {
                let message = "a `set` without a `binding` is not supported";
                let help = "write `layout(set = 1, binding = 0)`";
                self.report(Diagnostic::new(codes::MISPLACED_WORD, set.span, message).help(help));
            }
        }
    }
}
