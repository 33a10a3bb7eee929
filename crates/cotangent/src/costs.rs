//! Reports what backward derivatives store and recompute.

use crate::function_names;
use crate::pipeline::{self, Watch};
use crate::session::Counters;
use cotangent_base::{Diagnostics, Symbol};
use cotangent_ir::{FuncId, Mode};
use cotangent_lower::{Options, Roots};
use cotangent_sema::Checked;
use cotangent_sema::hir::{self, DiffMode, Func};

/// The differentiable functions of a program, with the size of their contexts. What has no backward derivative of its own, or
/// shares its name, is left out.
pub(crate) fn contexts(checked: &Checked, options: &Options, counters: &Counters) -> Vec<(Symbol, u64)> {
    let program = &checked.program;
    // Operators, lambdas and functions that the compiler made have parentheses in their names. They are not listed.
    let is_root = |f: &Func| {
        f.diff.differentiable == Some(DiffMode::Backward)
            && f.generics.params.is_empty()
            && !function_names::is_exact(f.name.as_str())
    };
    let named = |name: Symbol| {
        let same = |id: &&hir::FuncId| {
            let f = &program.funcs[**id];
            f.name == name && f.has_body && f.generics.params.is_empty() != checked.is_given(**id)
        };
        program.user_funcs.iter().filter(same).count()
    };
    let roots = program.user_funcs.iter().filter(|id| {
        let f = &program.funcs[**id];
        is_root(f) && named(f.name) == 1
    });
    let roots: Vec<hir::FuncId> = roots.copied().collect();
    let mut checked = checked.clone();
    let mut found = vec![];
    Contexts { checked: &mut checked, options, counters }.add(&roots, &mut found);
    found
}

struct Contexts<'c> {
    checked: &'c mut Checked,
    options: &'c Options,
    counters: &'c Counters,
}

impl Contexts<'_> {
    /// Adds the contexts of some functions. They are lowered and differentiated together, so that what they call is lowered and
    /// differentiated once. An error would hide the other functions: then halves are tried, down to the function that has it.
    fn add(&mut self, funcs: &[hir::FuncId], found: &mut Vec<(Symbol, u64)>) {
        match self.bytes(funcs) {
            Some(bytes) => {
                let names = funcs.iter().map(|func| self.checked.program.funcs[*func].name);
                found.extend(names.zip(bytes));
            }
            None if funcs.len() > 1 => {
                let (first, second) = funcs.split_at(funcs.len() / 2);
                self.add(first, found);
                self.add(second, found);
            }
            None => {}
        }
    }

    /// The sizes of the contexts of some functions, unless one of them has errors.
    fn bytes(&mut self, funcs: &[hir::FuncId]) -> Option<Vec<u64>> {
        let mut instances = vec![];
        for &func in funcs {
            instances.push(hir::FuncRef { func, args: self.checked.root_args(func)? });
        }
        self.counters.lowered.add(1);
        self.checked.diagnostics = Diagnostics::new();
        let roots = Roots::DerivativesOf { funcs: instances, modes: vec![Mode::Backward] };
        let mut lowered = cotangent_lower::lower_with(self.checked, roots, self.options.clone());
        if self.checked.diagnostics.has_errors() || lowered.diagnostics.has_errors() {
            return None;
        }
        self.counters.derived.add(1);
        let requests: Vec<FuncId> = lowered.roots.iter().copied().skip(1).step_by(2).collect();
        if requests.len() != funcs.len() {
            return None;
        }
        let (diagnostics, reports) =
            pipeline::report_derivatives(&mut lowered, &requests, &mut Watch::default());
        (!diagnostics.has_errors()).then(|| reports.iter().map(|report| report.bytes).collect())
    }
}
