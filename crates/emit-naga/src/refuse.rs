//! Refusals of programs that need a [`Feature`] which the target does not have.

use crate::{Emitter, Result, unsupported};
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::Ty;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::layout;

/// The size of the largest value whose zeros are written one by one.
const MOST_BYTES: u32 = 4 << 20;

impl Emitter<'_> {
    /// Refuses `what`, which needs `feature`, unless the target has it.
    pub(crate) fn require(&self, feature: Feature, span: Span, what: &str) -> Result<()> {
        if feature.is_in(self.target) { Ok(()) } else { refuse(feature, span, what) }
    }

    /// Refuses a variable or a zero value whose initial value would be too long as text.
    pub(crate) fn require_room(&self, ty: Ty, span: Span) -> Result<()> {
        let size = layout(&self.module.types, ty).map_or(0, |layout| layout.size);
        if size <= MOST_BYTES {
            return Ok(());
        }
        self.require(Feature::LargeValue, span, "a variable of more than 4 MiB is not supported")
    }
}

/// Refuses `what`, which needs `feature`.
pub(crate) fn refuse<T>(feature: Feature, span: Span, what: impl Into<String>) -> Result<T> {
    unsupported(span, what).map_err(|mut diagnostic: Box<Diagnostic>| {
        diagnostic.notes.push(feature.note());
        diagnostic
    })
}
