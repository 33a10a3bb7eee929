//! What backward derivatives keep and compute twice.
//!
//! The derivative of a function that takes something that says where derivatives are kept, a value of an `IDifferentiablePtrType`,
//! is that of a copy of it, `paired(f)`, whose parameters are pairs. Lowering makes one where the program takes a derivative of it,
//! so that is where its cost is read off. If the program takes none, the cost is not known.

use crate::compiler::{Compiler, Stop};
use cotangent_autodiff::differentiate_reporting;
use cotangent_autodiff::report::Report;
use cotangent_base::{Span, Symbol};
use cotangent_ir::{FuncId, FuncKind, Mode, Module};
use cotangent_lower::{Lowered, Roots};
use cotangent_sema::Checked;
use cotangent_sema::hir::{DiffMode, Dir, Func};

impl Compiler<'_> {
    /// What the backward derivative of a function keeps and computes twice.
    pub fn report(&mut self, path: &str, func: Symbol) -> Result<Report, Stop> {
        let mut checked = self.check(path)?;
        let with_pointers = with_pointers(&mut checked);
        let modes = vec![Mode::Backward];
        let mut lowered = self.lower_asked(checked, Roots::Derivatives { func, modes })?;
        let Lowered { module, roots, .. } = &mut lowered;
        let plain = &module.funcs[roots[0]];
        if with_pointers.contains(&plain.span) {
            return self.report_paired(path, plain.name, plain.span);
        }
        let (diagnostics, report) = differentiate_reporting(module, roots, roots[1]);
        self.tell(diagnostics)?;
        Ok(report)
    }

    /// The same of the copy that takes pairs.
    fn report_paired(&self, path: &str, name: Symbol, span: Span) -> Result<Report, Stop> {
        // All there is to tell about the program has been told.
        let mut compiler = self.fresh();
        let mut lowered = compiler.lower(path, Roots::Module)?;
        let Some(request) = backward_of_paired(&lowered.module, name, span) else {
            return Err(Stop::Usage(format!(
                "what the backward pass of `{name}` keeps is not known: it takes something that says where derivatives are \
                 kept, and nothing in the program calls `bwd_diff({name})`"
            )));
        };
        let Lowered { module, roots, .. } = &mut lowered;
        let (diagnostics, report) = differentiate_reporting(module, roots, request);
        compiler.tell(diagnostics)?;
        Ok(report)
    }

    /// The differentiable functions of the module at `path`, with how much their backward derivatives keep.
    pub(crate) fn contexts(&self, path: &str) -> Result<Vec<(Symbol, u64)>, Stop> {
        let program = self.fresh().check(path)?.program;
        let is_root =
            |f: &Func| f.diff.differentiable == Some(DiffMode::Backward) && f.generics.params.is_empty();
        let funcs = program.user_funcs.iter().map(|id| &program.funcs[*id]).filter(|f| is_root(f));
        // What has no backward derivative of its own, shares its name or is not known is left out.
        let context = |f: &Func| self.fresh().report(path, f.name).ok().map(|report| (f.name, report.bytes));
        Ok(funcs.filter_map(context).collect())
    }
}

/// The functions that take something that says where derivatives are kept, by their places. Those with a derivative of the user's own
/// keep nothing.
fn with_pointers(checked: &mut Checked) -> Vec<Span> {
    let mut found = vec![];
    for id in checked.program.user_funcs.clone() {
        let Func { span, this, params, diff, .. } = checked.program.funcs[id].clone();
        let this = this.filter(|this| !this.no_diff && !this.mutating).map(|this| this.ty);
        let params = params.into_iter().filter(|p| !p.no_diff && p.dir == Dir::In).map(|p| p.ty);
        let mut types = this.into_iter().chain(params);
        if diff.backward.is_none() && types.any(|ty| checked.pointer_pair(ty).is_some()) {
            found.push(span);
        }
    }
    found
}

/// The backward derivative that the program takes of the copy of a function.
fn backward_of_paired(module: &Module, name: Symbol, span: Span) -> Option<FuncId> {
    let paired = format!("paired({name})");
    let is_it = |of: FuncId| module.funcs[of].name == *paired && module.funcs[of].span == span;
    module.funcs.iter().find_map(|(id, func)| match func.kind {
        FuncKind::Request(Mode::Backward, of) if is_it(of) => Some(id),
        _ => None,
    })
}
