//! What backward derivatives keep and compute twice.

use crate::compiler::{Compiler, Stop};
use cotangent_autodiff::differentiate_reporting;
use cotangent_autodiff::report::Report;
use cotangent_base::Symbol;
use cotangent_ir::Mode;
use cotangent_lower::{Lowered, Roots};
use cotangent_sema::hir::{DiffMode, Func};

impl Compiler<'_> {
    /// What the backward derivative of a function keeps and computes twice.
    pub fn report(&mut self, path: &str, func: Symbol) -> Result<Report, Stop> {
        let modes = vec![Mode::Backward];
        let mut lowered = self.lower(path, Roots::Derivatives { func, modes })?;
        let Lowered { module, roots, .. } = &mut lowered;
        let (diagnostics, report) = differentiate_reporting(module, roots, roots[1]);
        self.tell(diagnostics)?;
        Ok(report)
    }

    /// The differentiable functions of the module at `path`, with how much their backward derivatives keep.
    pub(crate) fn contexts(&self, path: &str) -> Result<Vec<(Symbol, u64)>, Stop> {
        let program = self.fresh().check(path)?.program;
        let is_root =
            |f: &Func| f.diff.differentiable == Some(DiffMode::Backward) && f.generics.params.is_empty();
        let funcs = program.user_funcs.iter().map(|id| &program.funcs[*id]).filter(|f| is_root(f));
        // What has no backward derivative of its own, or shares its name, is left out.
        let context = |f: &Func| self.fresh().report(path, f.name).ok().map(|report| (f.name, report.bytes));
        Ok(funcs.filter_map(context).collect())
    }
}
