//! Reads the semantics, interpolation modes and locations of parameters, results and fields of entry points. Lowering checks
//! whether they are consistent.

use crate::codes;
use crate::declarations::attrs;
use crate::facts::Rules;
use crate::hir::{Interpolation, Varying};
use cotangent_base::Diagnostic;
use cotangent_syntax::ast::{Attribute, ExprKind, Ident, Modifier, ModifierKind};

/// How a modifier wants a value to be interpolated.
fn interpolation(kind: ModifierKind) -> Option<Interpolation> {
    match kind {
        ModifierKind::Linear => Some(Interpolation::Linear),
        ModifierKind::NoPerspective => Some(Interpolation::NoPerspective),
        ModifierKind::NoInterpolation => Some(Interpolation::Flat),
        ModifierKind::Centroid => Some(Interpolation::Centroid),
        ModifierKind::Sample => Some(Interpolation::Sample),
        _ => None,
    }
}

impl Rules<'_> {
    /// What a declaration with these attributes, modifiers and semantic is.
    pub(crate) fn varying(
        &mut self,
        attributes: &[Attribute],
        modifiers: &[Modifier],
        semantic: Option<Ident>,
    ) -> Varying {
        let words = modifiers.iter().filter_map(|m| Some((interpolation(m.kind)?, m.span)));
        let words: Vec<_> = words.collect();
        if let &[(_, first), (_, second), ..] = &words[..] {
            let message = "conflicting interpolation modifiers";
            let diagnostic = Diagnostic::new(codes::MISPLACED, second, message);
            self.diagnostics.push(diagnostic.label(first, "the first one is here"));
        }
        Varying {
            // A register or an offset is no semantic.
            semantic: semantic.map(|s| s.name).filter(|name| !name.as_str().contains('(')),
            interpolation: words.first().map_or(Interpolation::Auto, |word| word.0),
            location: self.location(attributes),
            uniform: modifiers.iter().any(|m| m.kind == ModifierKind::Uniform),
        }
    }

    /// `[[vk::location(n)]]`. No device has as many as 16 bits count, so there is room to count on from any of them.
    fn location(&mut self, attributes: &[Attribute]) -> Option<u32> {
        let attribute = attrs::find(attributes, "vk::location")?;
        let number = match &attribute.args[..] {
            [arg] => match arg.kind {
                ExprKind::Int(n, _) => u16::try_from(n).ok().map(u32::from),
                _ => None,
            },
            _ => None,
        };
        if number.is_none() {
            let message = "`vk::location` takes one number, up to 65535";
            self.diagnostics.push(Diagnostic::new(codes::BAD_BINDING, attribute.span, message));
        }
        number
    }
}
