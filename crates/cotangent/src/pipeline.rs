//! The passes every program goes through, in order.
//!
//! Each name is what `--dump-after` takes, and so are the names of the passes within `autodiff`. In debug builds the
//! verifier runs after each.

use cotangent_autodiff::{differentiate_showing, stages};
use cotangent_base::{Diagnostic, Diagnostics};
use cotangent_ir::layout::Matrices;
use cotangent_ir::text::print_module;
use cotangent_lower::Lowered;
use cotangent_lower::codes::UNSUPPORTED_CONSTRUCT;
use cotangent_passes::columns;

/// A pass over a whole module.
struct Pass {
    name: &'static str,
    run: fn(&mut Lowered, Memory) -> Diagnostics,
}

/// How matrices lie in memory that the host sees, in what the passes make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// As the program declares them.
    Declared,
    /// Row by row, whichever way they lie; this is how those do that say nothing themselves.
    Rows(Matrices),
}

/// The passes, in order.
const PASSES: &[Pass] = &[
    Pass { name: "lower", run: |_, _| Diagnostics::new() },
    Pass { name: "autodiff", run: |lowered, _| write_derivatives(lowered) },
    Pass { name: "prune", run: |lowered, _| prune(lowered) },
    Pass { name: "optimize", run: |lowered, _| optimize(lowered) },
    Pass { name: "finish", run: |lowered, _| prune(lowered) },
    Pass { name: "columns", run: lay_out_matrices },
];

/// Writes the derivatives that the program asks for: the last pass in which a program can be found wrong.
pub fn write_derivatives(lowered: &mut Lowered) -> Diagnostics {
    cotangent_autodiff::differentiate_also(&mut lowered.module, &lowered.roots)
}

fn prune(lowered: &mut Lowered) -> Diagnostics {
    let new = cotangent_passes::prune::prune(&mut lowered.module, &lowered.roots);
    for func in lowered.roots.iter_mut().chain(&mut lowered.entries) {
        *func = new[func];
    }
    Diagnostics::new()
}

fn optimize(lowered: &mut Lowered) -> Diagnostics {
    cotangent_passes::optimize::optimize(&mut lowered.module);
    Diagnostics::new()
}

/// Turns the matrices of memory that lie column by column, so that for all targets they lie row by row.
pub(crate) fn lay_out_matrices(lowered: &mut Lowered, memory: Memory) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let Memory::Rows(matrices) = memory else { return diagnostics };
    match columns::columns(&mut lowered.module, &mut lowered.params, matrices) {
        Ok(turned) => {
            if turned.any {
                cotangent_passes::optimize::optimize(&mut lowered.module);
            }
            lowered.turned = turned.params;
        }
        Err(span) => {
            let message = "matrices behind pointers, in interface values and in buffers that variables hold lie row by row";
            diagnostics.push(
                Diagnostic::new(UNSUPPORTED_CONSTRUCT, span, message)
                    .help("leave out `column_major` and `--matrix-layout column`"),
            );
        }
    }
    diagnostics
}

/// The names that `--dump-after` takes, in the order in which the passes run.
pub fn names() -> Vec<&'static str> {
    let inner = |pass: &Pass| if pass.name == "autodiff" { stages::PASSES } else { &[] };
    PASSES.iter().flat_map(|pass| inner(pass).iter().copied().chain([pass.name])).collect()
}

/// A listing of the code as some passes left it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// After which passes to list it.
    pub passes: Vec<String>,
    /// The pass and the text, in the order in which they were made.
    pub made: Vec<(&'static str, String)>,
}

impl Listing {
    fn wants(&self, pass: &str) -> bool {
        self.passes.iter().any(|p| p == pass)
    }
}

/// Runs the passes and lists what is wanted. Stops at the first that reports an error.
pub fn run(lowered: &mut Lowered, memory: Memory, listing: &mut Listing) -> Diagnostics {
    let mut all = Diagnostics::new();
    for pass in PASSES {
        let watched = pass.name == "autodiff" && stages::PASSES.iter().any(|p| listing.wants(p));
        all.append(if watched { watch(lowered, listing) } else { (pass.run)(lowered, memory) });
        if listing.wants(pass.name) {
            listing.made.push((pass.name, print_module(&lowered.module)));
        }
        if all.has_errors() {
            break;
        }
        if cfg!(debug_assertions)
            && let Err(error) = cotangent_ir::verify(&lowered.module)
        {
            panic!("internal error after {}: {error}", pass.name);
        }
    }
    all
}

/// Runs `autodiff` and lists what is wanted of the passes within it.
fn watch(lowered: &mut Lowered, listing: &mut Listing) -> Diagnostics {
    let (diagnostics, stages) = differentiate_showing(&mut lowered.module, &lowered.roots);
    for stage in stages {
        if listing.wants(stage.pass) {
            listing.made.push((stage.pass, stage.text));
        }
    }
    diagnostics
}
