//! The table of passes: every pass of this crate with its name, its purpose and the function that runs it.
//!
//! [`PASSES`] registers each pass once, and filetests run the passes by these names. The stages of reverse mode are registered in
//! `cotangent_autodiff::stages`, in the same form. `cotangent::pipeline` puts both in order; `--dump-after`, `--time-passes` and
//! the list in ARCHITECTURE.md follow that. A pass that [`optimize`](mod@crate::optimize) runs is also in
//! [`WITHIN_OPTIMIZE`] and in one of the lists of steps there.
//!
//! [`Watch`](crate::watch::Watch) runs passes, verifies what they made in debug builds, and lists or times it on request.

use crate::effects::Effects;
use crate::{
    checks, columns, counted, cse, dce, exits, fold, hoist, idle, inline, optimize, pointers, prints,
    private_atomics, prune, resource_arrays, simplify, sink, sums, totals, unroll, wave_sums, widen,
};
use cotangent_ir::layout::Matrices;
use cotangent_ir::{Func, Inline, Module, Types};

/// A pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its file, its function, its filetests and the argument of `--dump-after`.
    pub name: &'static str,
    /// What it does, in one phrase.
    pub does: &'static str,
    /// How to run it on its own.
    pub run: Run,
}

/// How a pass runs on its own. A driver may give it other parameters.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// On one function. The result says whether the function changed.
    Func(fn(&mut Types, &mut Func, &Facts<'_>) -> bool),
    /// On a module.
    Module(fn(&mut Module)),
    /// Only as a stage of something else, which has the inputs that it needs besides the code.
    Stage,
}

/// What a pass over functions may know besides the function.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// What the functions of the module do to memory.
    pub effects: &'a Effects,
    /// Whether derivatives of the code may be taken afterwards.
    pub when: When,
}

/// Whether code that is optimized may be differentiated afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// It may.
    BeforeDerivatives,
    /// All derivatives have been taken.
    Last,
}

/// Computes constants.
pub const FOLD: &Pass = &Pass {
    name: "fold",
    does: "computes operations on constants",
    run: Run::Func(|types, func, _| fold::fold(types, func)),
};

/// Applies the algebra of numbers, aggregates and carried values.
pub const SIMPLIFY: &Pass = &Pass {
    name: "simplify",
    does: "simplifies arithmetic, aggregates and values that loops carry",
    run: Run::Func(|types, func, facts| simplify::simplify(types, func, facts.when)),
};

/// Merges equal computations.
pub const CSE: &Pass = &Pass {
    name: "cse",
    does: "computes equal expressions once",
    run: Run::Func(|types, func, facts| cse::cse(types, func, facts.effects)),
};

/// Removes dead code.
pub const DCE: &Pass = &Pass {
    name: "dce",
    does: "removes dead instructions, results and loop slots",
    run: Run::Func(|_, func, facts| dce::dce(func, facts.effects)),
};

/// Names the buffer of each access.
pub const POINTERS: &Pass = &Pass {
    name: "pointers",
    does: "replaces pointers of known origin by their buffer and index",
    run: Run::Func(|types, func, _| pointers::pointers(types, func)),
};

/// Removes loops of one iteration.
pub const EXITS: &Pass = &Pass {
    name: "exits",
    does: "removes loops of one iteration, which inlining and unrolling leave",
    run: Run::Func(|types, func, _| exits::exits(types, func)),
};

/// Moves invariant code out of loops.
pub const HOIST: &Pass = &Pass {
    name: "hoist",
    does: "moves invariant code out of loops",
    run: Run::Func(|types, func, facts| hoist::hoist(types, func, facts.when)),
};

/// Makes loops that count counted loops.
pub const COUNTED: &Pass = &Pass {
    name: "counted",
    does: "turns `while` loops that count into `for` loops",
    run: Run::Func(|types, func, _| counted::counted(types, func)),
};

/// Replaces calls by bodies.
pub const INLINE: &Pass = &Pass {
    name: "inline",
    does: "replaces calls by the bodies of the callees",
    run: Run::Module(|module| {
        for func in module.funcs.keys() {
            inline::inline_calls(module, func, &|callee| callee.inline != Inline::Never);
        }
    }),
};

/// Moves code into branches.
pub const SINK: &Pass = &Pass {
    name: "sink",
    does: "moves code into the branches that use it",
    run: Run::Func(|types, func, facts| sink::sink(types, func, facts.effects, &|_| true)),
};

/// Unrolls loops.
pub const UNROLL: &Pass = &Pass {
    name: "unroll",
    does: "unrolls loops marked `[ForceUnroll]`",
    run: Run::Func(|types, func, _| {
        unroll::unroll(types, func, 2000);
        true
    }),
};

/// Runs the cheap passes until nothing changes.
pub const TIDY: &Pass = &Pass {
    name: "tidy",
    does: "runs `fold`, `simplify`, `cse` and `dce` until nothing changes",
    run: Run::Module(optimize::tidy_module),
};

/// Runs the passes of `WITHIN_OPTIMIZE` over a finished module.
pub const OPTIMIZE: &Pass = &Pass {
    name: "optimize",
    does: "optimizes a module whose derivatives are written",
    run: Run::Module(|module| optimize::optimize(module, &mut crate::watch::Watch::default())),
};

/// Removes functions that are not reachable.
pub const PRUNE: &Pass = &Pass {
    name: "prune",
    does: "removes functions that no entry point or root reaches",
    run: Run::Module(|module| _ = prune::prune(module, &[])),
};

/// Adds up in loops.
pub const TOTALS: &Pass = &Pass {
    name: "totals",
    does: "adds up in loops what derived kernels add to memory",
    run: Run::Func(|types, func, facts| totals::totals(types, func, facts.effects)),
};

/// Sums in waves.
pub const WAVE_SUMS: &Pass = &Pass {
    name: "wave_sums",
    does: "adds up what the lanes of a wave add to one element, in derived kernels that may use waves",
    run: Run::Module(wave_sums::wave_sums),
};

/// Makes memory row-major.
pub const COLUMNS: &Pass = &Pass {
    name: "columns",
    does: "transposes matrices that the host lays out column by column",
    run: Run::Module(|module| _ = columns::columns(module, &mut Default::default(), Matrices::Columns)),
};

/// Makes sums structures.
pub const SUMS: &Pass = &Pass {
    name: "sums",
    does: "replaces values of interface type by structures, on the copy that naga gets",
    run: Run::Module(sums::sums),
};

/// Makes atomic operations that no other thread can see plain ones.
pub const PRIVATE_ATOMICS: &Pass = &Pass {
    name: "private_atomics",
    does: "replaces atomic operations on variables of one thread, on the copy that naga gets",
    run: Run::Module(private_atomics::private_atomics),
};

/// Makes a choice between resources one between accesses.
pub const RESOURCE_ARRAYS: &Pass = &Pass {
    name: "resource_arrays",
    does: "replaces accesses to a resource that an index chooses, on the copy that naga gets",
    run: Run::Module(resource_arrays::resource_arrays),
};

/// Has a module store what it prints.
pub const PRINTS: &Pass = &Pass {
    name: "prints",
    does: "replaces `printf` by stores to a buffer, on the copy that naga gets",
    run: Run::Module(|module| _ = prints::prints(module)),
};

/// Tests indices and divisors.
pub const CHECKS: &Pass = &Pass {
    name: "checks",
    does: "adds tests of indices and divisors, for targets on which they do not trap",
    run: Run::Module(checks::checks),
};

/// Lets lanes without a thread leave.
pub const IDLE: &Pass = &Pass {
    name: "idle",
    does: "lets lanes without a thread leave, for drivers that run them",
    run: Run::Module(idle::idle),
};

/// Makes narrow floats wide ones.
pub const WIDEN: &Pass = &Pass {
    name: "widen",
    does: "replaces half and float by binary64, on the copy that native code runs for finite differences",
    run: Run::Module(widen::widen),
};

/// All passes of this crate: first those that [`optimize`](mod@crate::optimize) is made of.
pub const PASSES: &[&Pass] = &[
    FOLD,
    SIMPLIFY,
    CSE,
    DCE,
    TIDY,
    INLINE,
    POINTERS,
    EXITS,
    HOIST,
    COUNTED,
    OPTIMIZE,
    SINK,
    UNROLL,
    PRUNE,
    TOTALS,
    WAVE_SUMS,
    COLUMNS,
    SUMS,
    PRIVATE_ATOMICS,
    RESOURCE_ARRAYS,
    PRINTS,
    CHECKS,
    IDLE,
    WIDEN,
];

/// The passes within [`OPTIMIZE`], in the order in which they first run.
pub const WITHIN_OPTIMIZE: &[&Pass] = &[FOLD, SIMPLIFY, CSE, DCE, INLINE, POINTERS, EXITS, HOIST, COUNTED];

/// The pass of that name.
pub fn named(name: &str) -> Option<&'static Pass> {
    PASSES.iter().copied().find(|pass| pass.name == name)
}

impl Pass {
    /// Runs the pass on every function of a module, with nothing known but the module.
    ///
    /// # Panics
    ///
    /// If the pass is a stage of another.
    pub fn run_alone(&self, module: &mut Module, when: When) {
        match self.run {
            Run::Module(run) => run(module),
            Run::Func(run) => {
                let effects = Effects::of(module);
                for func in module.funcs.values_mut() {
                    run(&mut module.types, func, &Facts { effects: &effects, when });
                }
            }
            Run::Stage => panic!("`{}` needs more than a module", self.name),
        }
    }
}
