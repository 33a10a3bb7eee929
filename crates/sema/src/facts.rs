//! Views of the checker's state that resolve nothing.
//!
//! Most methods of [`Checked`] may resolve a declaration, which may change any table. Methods that only read resolved declarations
//! belong to [`Facts`], rules that read and report to [`Rules`]. So the receiver shows what a call can change. The methods are in
//! the files of their subjects.

use crate::Checked;
use crate::hir::{FuncId, Program, Ty};
use crate::tables::Tables;
use cotangent_base::Diagnostics;

/// Reads the typed program and the tables.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// The typed program so far.
    pub program: &'a Program,
    /// What is known beside it.
    pub tables: &'a Tables,
}

/// Reads the same, and reports broken rules.
pub(crate) struct Rules<'a> {
    /// The typed program so far.
    pub program: &'a Program,
    /// What is known beside it.
    pub tables: &'a Tables,
    /// Where reports go.
    pub diagnostics: &'a mut Diagnostics,
}

impl Checked {
    /// What is resolved so far.
    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts { program: &self.program, tables: &self.tables }
    }

    /// The rules that need only what is resolved.
    pub(crate) fn rules(&mut self) -> Rules<'_> {
        Rules { program: &self.program, tables: &self.tables, diagnostics: &mut self.diagnostics }
    }
}

impl Facts<'_> {
    /// Whether a function belongs to the library.
    pub(crate) fn is_library(self, func: FuncId) -> bool {
        self.tables.scopes[self.tables.funcs[func].scope].is_library()
    }
}

impl<'a> Rules<'a> {
    /// What is resolved so far.
    pub(crate) fn facts(&self) -> Facts<'a> {
        Facts { program: self.program, tables: self.tables }
    }

    /// A type as the user would write it.
    pub(crate) fn show(&self, ty: Ty) -> String {
        self.facts().show(ty)
    }
}
