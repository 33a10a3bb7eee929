//! `[RemovedSince(version, "why")]`: a declaration that later versions of the language do not have. A use in a module of such a
//! version is an error. A use of a type or variable marked `[deprecated("why")]` is a warning, as a call of such a function is.

use crate::codes;
use crate::collect::Collector;
use crate::declarations::attrs;
use crate::facts::{Facts, Rules};
use crate::tables::{FuncSource, Item, ScopeId};
use cotangent_base::{Diagnostic, Map, Span, Symbol};
use cotangent_syntax::ast::{Attribute, Expr, ExprKind, UnaryOp, Version};
use std::sync::Arc;

/// Declarations that later versions of the language do not have, or that are deprecated, with their names and attributes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Removed {
    items: Map<Item, (Symbol, Arc<[Attribute]>)>,
}

impl Removed {
    fn note(&mut self, item: Item, name: Symbol, attributes: Arc<[Attribute]>) {
        self.items.insert(item, (name, attributes));
    }
    fn name(&self, item: Item) -> Option<Symbol> {
        self.items.get(&item).map(|(name, _)| *name)
    }
    fn attributes(&self, item: Item) -> Option<&[Attribute]> {
        self.items.get(&item).map(|(_, attributes)| &attributes[..])
    }
}

/// The version numbers that the attribute may name; -1 is every version.
const VERSIONS: std::ops::RangeInclusive<i64> = -1..=9999;

/// The number of a version of the language.
fn number(version: Version) -> i64 {
    match version {
        Version::Legacy => 2018,
        Version::V2025 => 2025,
        Version::V2026 => 2026,
    }
}

/// The integer that an argument is.
fn integer(arg: &Expr) -> Option<i64> {
    match &arg.kind {
        ExprKind::Int(n, _) => i64::try_from(*n).ok(),
        ExprKind::Unary(UnaryOp::Neg, inner) => integer(inner).map(|n| -n),
        _ => None,
    }
}

impl<'a> Facts<'a> {
    /// The version of the language that the code in a scope is written in.
    pub(crate) fn language(self, scope: ScopeId) -> Version {
        self.tables.modules[self.tables.scopes[scope].module()].version
    }

    fn removed_items(self, item: Item) -> Option<&'a [Attribute]> {
        self.tables.removed.attributes(item)
    }
}

impl Rules<'_> {
    /// Reports a use of a declaration with these attributes in code of a version that does not have it.
    pub(crate) fn check_not_removed(
        &mut self,
        attributes: &[Attribute],
        name: Symbol,
        span: Span,
        scope: ScopeId,
    ) {
        let Some(attribute) = attrs::find(attributes, "RemovedSince") else { return };
        let [version, _] = &attribute.args[..] else { return };
        let own = number(self.facts().language(scope));
        if integer(version).is_none_or(|since| since > own) {
            return;
        }
        let mut message = format!("`{name}` is not part of this version of the language");
        if let Some(ExprKind::String(why)) = attribute.args.get(1).map(|arg| &arg.kind) {
            message.push_str(&format!(": {why}"));
        }
        self.diagnostics
            .push(Diagnostic::new(codes::REMOVED, span, message).label(attribute.span, "removed here"));
    }

    /// The same for what a name was found to mean.
    pub(crate) fn check_item_not_removed(&mut self, item: Item, span: Span, scope: ScopeId) {
        let Some(attributes) = self.facts().removed_items(item) else { return };
        let attributes = attributes.to_vec();
        let name = self.tables.removed.name(item).unwrap_or_else(|| "_".into());
        self.check_not_removed(&attributes, name, span, scope);
        if let Some(text) = attrs::string(&attributes, "deprecated") {
            let message = format!("`{name}` is deprecated: {text}");
            self.diagnostics.push(Diagnostic::new(codes::DEPRECATED, span, message));
        }
    }
}

impl Collector<'_> {
    /// Remembers a declaration that some versions do not have, and checks the attribute that says so.
    pub(crate) fn note_removed(&mut self, attributes: &Arc<[Attribute]>, name: Symbol, item: Item) {
        let Some(attribute) = attrs::find(attributes, "RemovedSince") else {
            return self.tables.removed.note(item, name, attributes.clone());
        };
        if let Item::Func(func) = item
            && matches!(self.tables.funcs[func].source, FuncSource::Accessor(..))
        {
            return;
        }
        if let [version, why] = &attribute.args[..] {
            if integer(version).is_none_or(|n| !VERSIONS.contains(&n)) {
                let message = "the version must be a number from -1 to 9999";
                self.diagnostics.push(Diagnostic::new(codes::BAD_ATTRIBUTE, attribute.span, message));
            }
            if !matches!(why.kind, ExprKind::String(_)) {
                let message = "the reason must be a string in quotes";
                self.diagnostics.push(Diagnostic::new(codes::BAD_ATTRIBUTE, why.span, message));
            }
        }
        self.tables.removed.note(item, name, attributes.clone());
    }
}
