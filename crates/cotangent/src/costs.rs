//! What backward derivatives keep and compute twice.

use crate::asked;
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
        let lowered = self.lower(path, Roots::Derivatives { func, modes: vec![Mode::Backward] })?;
        self.report_lowered(lowered)
    }

    fn report_lowered(&mut self, mut lowered: Lowered) -> Result<Report, Stop> {
        let Lowered { module, roots, .. } = &mut lowered;
        let (diagnostics, report) = differentiate_reporting(module, roots, roots[1]);
        self.tell(diagnostics)?;
        Ok(report)
    }

    /// The differentiable functions of the module at `path`, with the size of their contexts. The program is checked once. Each
    /// function is lowered alone, so that an error in one derivative does not hide the others.
    pub(crate) fn contexts(&self, path: &str) -> Result<Vec<(Symbol, u64)>, Stop> {
        let mut checked = self.fresh().check(path)?;
        // Operators, lambdas and functions that the compiler made have parentheses in their names. They are not listed.
        let is_root = |f: &Func| {
            f.diff.differentiable == Some(DiffMode::Backward)
                && f.generics.params.is_empty()
                && !asked::is_exact(f.name.as_str())
        };
        let program = &checked.program;
        let funcs = program.user_funcs.iter().map(|id| &program.funcs[*id]).filter(|f| is_root(f));
        let names: Vec<Symbol> = funcs.map(|f| f.name).collect();
        // What has no backward derivative of its own, or shares its name, is left out.
        let context = |func: Symbol| {
            let mut compiler = self.fresh();
            let roots = Roots::Derivatives { func, modes: vec![Mode::Backward] };
            let lowered = compiler.lower_checked(&mut checked, roots).ok()?;
            Some((func, compiler.report_lowered(lowered).ok()?.bytes))
        };
        Ok(names.into_iter().filter_map(context).collect())
    }
}
