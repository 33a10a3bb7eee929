//! Does deferred work: resolves fields of structures that were mentioned, and checks bounds of generic arguments. Drops repeated
//! diagnostics.

use crate::Checked;
use cotangent_base::{Diagnostics, Set};

/// When to drop repeated diagnostics: whenever there are half as many more.
#[derive(Clone, Default, Debug)]
pub(crate) struct Repetitions {
    /// How many diagnostics there were when repetitions were last dropped.
    kept: usize,
}

impl Repetitions {
    fn due(&self, diagnostics: usize) -> bool {
        diagnostics > self.kept + self.kept / 2
    }
    fn dropped(&mut self, kept: usize) {
        self.kept = kept;
    }
}

impl Checked {
    /// Resolves what was mentioned and checks bounds that were put off, until nothing is left.
    pub(crate) fn settle(&mut self) {
        loop {
            if let Some(id) = self.tables.work.next_struct() {
                self.ensure_struct(id);
            } else if let Some(owed) = self.tables.work.next_obligation() {
                let saved = self.tables.assumptions.replace(owed.assumed);
                self.check_bounds(owed.generics, owed.args, owed.span);
                self.tables.assumptions.restore(saved);
            } else {
                break;
            }
        }
        // Looking at all of them each time would be slow in a program full of mistakes.
        if self.tables.repetitions.due(self.diagnostics.len()) {
            self.drop_repetitions();
        }
    }

    /// Overload resolution may look at one thing several times; each mistake is reported once.
    pub(crate) fn drop_repetitions(&mut self) {
        let mut seen = Set::default();
        let mut kept = Diagnostics::new();
        for diagnostic in std::mem::take(&mut self.diagnostics) {
            let key = (diagnostic.code.name, diagnostic.primary.span, diagnostic.message.clone());
            if seen.insert(key) {
                kept.push(diagnostic);
            }
        }
        self.tables.repetitions.dropped(kept.len());
        self.diagnostics = kept;
    }
}
