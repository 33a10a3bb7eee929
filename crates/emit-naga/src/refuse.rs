//! Refusals of programs that need a [`Feature`] which the target does not have.

use crate::{Emitter, Result, unsupported};
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::capabilities::Feature;

impl Emitter<'_> {
    /// Refuses `what`, which needs `feature`, unless the target has it.
    pub(crate) fn require(&self, feature: Feature, span: Span, what: &str) -> Result<()> {
        if feature.is_in(self.target) { Ok(()) } else { refuse(feature, span, what) }
    }
}

/// Refuses `what`, which needs `feature`.
pub(crate) fn refuse<T>(feature: Feature, span: Span, what: impl Into<String>) -> Result<T> {
    unsupported(span, what).map_err(|mut diagnostic: Box<Diagnostic>| {
        diagnostic.notes.push(feature.note());
        diagnostic
    })
}
