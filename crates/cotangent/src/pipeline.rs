//! The passes that every program goes through, in order, and the table of all passes.
//!
//! Input: a lowered program. Output: the same program, optimized, with its derivatives written and its matrices in the layout
//! of the target. [`table`] lists these passes and those within them, from the tables of `passes` and `autodiff`;
//! `--dump-after` takes their names. In debug builds the verifier runs after each.

use cotangent_autodiff::report::Report;
use cotangent_autodiff::stages;
use cotangent_base::{Diagnostic, Diagnostics};
use cotangent_ir::FuncId;
use cotangent_ir::layout::Matrices;
use cotangent_ir::text::print_module;
use cotangent_lower::Lowered;
use cotangent_lower::codes::UNSUPPORTED_CONSTRUCT;
use cotangent_passes::columns;
use cotangent_passes::pass::{self, COLUMNS, OPTIMIZE, PRUNE, Pass, Run, SINK, TOTALS, UNROLL};
pub use cotangent_passes::watch::{Row, Watch};

/// A pass over a whole program.
struct Step {
    pass: &'static Pass,
    /// The passes that run within it.
    within: &'static [&'static [&'static Pass]],
    run: fn(&mut Lowered, Memory, &mut Watch) -> Diagnostics,
}

/// How matrices lie in memory that the host sees, in what the passes make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// As the program declares them.
    Declared,
    /// Row by row, whichever way they lie; this is how those do that say nothing themselves.
    Rows(Matrices),
}

const LOWER: &Pass = &Pass { name: "lower", does: "makes IR from the typed program", run: Run::Stage };

const AUTODIFF: &Pass =
    &Pass { name: "autodiff", does: "writes the derivatives that the program takes", run: Run::Stage };

const FINISH: &Pass = &Pass { name: "finish", does: "prunes again, after inlining", run: Run::Stage };

/// The passes over a program, in order.
const STEPS: &[Step] = &[
    Step { pass: LOWER, within: &[], run: |_, _, _| Diagnostics::new() },
    Step {
        pass: AUTODIFF,
        within: &[&[UNROLL, SINK], stages::PASSES],
        run: |lowered, _, watch| differentiate(lowered, watch),
    },
    Step { pass: PRUNE, within: &[], run: |lowered, _, _| prune(lowered) },
    Step {
        pass: OPTIMIZE,
        within: &[pass::WITHIN_OPTIMIZE],
        run: |lowered, _, watch| optimize(lowered, watch),
    },
    Step { pass: FINISH, within: &[], run: |lowered, _, _| prune(lowered) },
    Step { pass: TOTALS, within: &[], run: |lowered, _, watch| add_up(lowered, watch) },
    Step { pass: COLUMNS, within: &[], run: transpose_matrices },
];

fn differentiate(lowered: &mut Lowered, watch: &mut Watch) -> Diagnostics {
    cotangent_autodiff::differentiate_watched(&mut lowered.module, &lowered.roots, watch)
}

fn prune(lowered: &mut Lowered) -> Diagnostics {
    let new = cotangent_passes::prune::prune(&mut lowered.module, &lowered.roots);
    for func in lowered.roots.iter_mut().chain(&mut lowered.entries) {
        *func = new[func];
    }
    Diagnostics::new()
}

fn optimize(lowered: &mut Lowered, watch: &mut Watch) -> Diagnostics {
    cotangent_passes::optimize::optimize(&mut lowered.module, watch);
    Diagnostics::new()
}

/// Adds up in the loops of derived kernels.
fn add_up(lowered: &mut Lowered, watch: &mut Watch) -> Diagnostics {
    if !lowered.params.shadows.is_empty() {
        cotangent_passes::optimize::add_up(&mut lowered.module, watch);
        cotangent_passes::private_atomics::owned_atomics(&mut lowered.module, &lowered.params.owned);
        if lowered.params.wave_sums {
            cotangent_passes::wave_sums::wave_sums(&mut lowered.module);
        }
    }
    Diagnostics::new()
}

/// Transposes the matrices in memory that lie column by column, so that for all targets they lie row by row.
pub(crate) fn lay_out_matrices(lowered: &mut Lowered, memory: Memory) -> Diagnostics {
    transpose_matrices(lowered, memory, &mut Watch::default())
}

fn transpose_matrices(lowered: &mut Lowered, memory: Memory, watch: &mut Watch) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let Memory::Rows(matrices) = memory else { return diagnostics };
    match columns::columns(&mut lowered.module, &mut lowered.params, matrices) {
        Ok(turned) => {
            if turned.any {
                cotangent_passes::optimize::optimize(&mut lowered.module, watch);
            }
            lowered.turned = turned.params;
        }
        Err(span) => {
            let message = "matrices behind pointers, in interface values, and in buffers stored in variables are always row-major";
            diagnostics.push(
                Diagnostic::new(UNSUPPORTED_CONSTRUCT, span, message)
                    .help("remove `column_major` and `--matrix-layout column`"),
            );
        }
    }
    diagnostics
}

/// A row of the table of passes.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The pass.
    pub pass: &'static Pass,
    /// The pass over programs that it runs within, if any.
    pub within: Option<&'static str>,
}

/// All passes over programs in the order in which they run, each after those within it. A pass that runs in several places is
/// listed at the first.
pub fn table() -> Vec<Entry> {
    let mut table: Vec<Entry> = Vec::new();
    for step in STEPS {
        let inner = step.within.iter().copied().flatten();
        let inner = inner.map(|pass| Entry { pass, within: Some(step.pass.name) });
        table.extend(inner.chain([Entry { pass: step.pass, within: None }]));
    }
    table
}

/// The names that `--dump-after` takes, in the order of the table.
pub fn names() -> Vec<&'static str> {
    table().into_iter().map(|entry| entry.pass.name).collect()
}

/// Runs the passes, observed by `watch`. Stops at the first that reports an error.
pub fn run(lowered: &mut Lowered, memory: Memory, watch: &mut Watch) -> Diagnostics {
    run_steps(STEPS, lowered, memory, watch)
}

/// Writes the derivatives that the program asks for: the last pass in which a program can be found wrong.
pub fn write_derivatives(lowered: &mut Lowered, watch: &mut Watch) -> Diagnostics {
    run_steps(&STEPS[..after_autodiff()], lowered, Memory::Declared, watch)
}

/// As [`write_derivatives`], and reports what the backward derivatives `requests` cost.
pub(crate) fn report_derivatives(
    lowered: &mut Lowered,
    requests: &[FuncId],
    watch: &mut Watch,
) -> (Diagnostics, Vec<Report>) {
    watch.after_module(LOWER, &lowered.module);
    watch.begin(AUTODIFF, || lowered.module.size());
    let Lowered { module, roots, .. } = lowered;
    let (diagnostics, reports) = cotangent_autodiff::differentiate_reporting(module, roots, requests, watch);
    watch.end(|| lowered.module.size());
    if !diagnostics.has_errors() {
        watch.after_module(AUTODIFF, &lowered.module);
    }
    (diagnostics, reports)
}

/// Runs the passes on a program whose derivatives are written.
pub(crate) fn run_derived(lowered: &mut Lowered, memory: Memory, watch: &mut Watch) -> Diagnostics {
    run_steps(&STEPS[after_autodiff()..], lowered, memory, watch)
}

fn after_autodiff() -> usize {
    STEPS.iter().position(|step| step.pass.name == AUTODIFF.name).map_or(0, |at| at + 1)
}

fn run_steps(steps: &[Step], lowered: &mut Lowered, memory: Memory, watch: &mut Watch) -> Diagnostics {
    let mut all = Diagnostics::new();
    for step in steps {
        watch.begin(step.pass, || lowered.module.size());
        all.append((step.run)(lowered, memory, watch));
        watch.end(|| lowered.module.size());
        if all.has_errors() {
            watch.list(step.pass, || print_module(&lowered.module));
            break;
        }
        watch.after_module(step.pass, &lowered.module);
    }
    all
}
