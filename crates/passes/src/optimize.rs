//! The order of the passes that clean up and optimize.
//!
//! [`tidy`] is a cheap cleanup that runs after every pass that generates code. [`optimize`] is the full list, for a finished
//! module. Both take the passes from the [table](crate::pass) and run them through a [`Watch`].

use crate::calls::{Calls, callees};
use crate::effects::Effects;
use crate::inline::{inline_known, is_single_exit};
use crate::pass::{
    COUNTED, CSE, DCE, EXITS, FOLD, Facts, HOIST, INLINE, POINTERS, Pass, SIMPLIFY, TOTALS, When,
};
use crate::types::holds_handle;
use crate::watch::Watch;
use cotangent_base::{Map, Set, Symbol};
use cotangent_ir::layout::layout;
use cotangent_ir::{Func, FuncId, Inline, Module, Ty, Types};

/// What [`tidy`] runs, in order.
const TIDY: &[&Pass] = &[FOLD, SIMPLIFY, CSE, DCE];

/// How often [`tidy`] starts again at most. What the second repetition finds is little, and what the fourth finds is
/// not worth the time.
const REPETITIONS: usize = 4;

/// What [`optimize_func`] runs between two cleanups, in order.
const LOOPS: &[&Pass] = &[POINTERS, EXITS, HOIST, COUNTED];

/// Functions of at most this many instructions are inlined unless they ask not to be.
const SMALL: usize = 12;

/// Folds, simplifies, merges and removes until nothing changes, or nearly so. `func` is not in the module, or there is
/// another version of it there.
pub fn tidy(module: &mut Module, func: &mut Func, facts: &Facts<'_>, watch: &mut Watch) {
    for _ in 0..REPETITIONS {
        if !run(TIDY, module, func, facts, watch) {
            break;
        }
    }
}

/// Runs passes in order. Says whether one of them changed the function.
fn run(passes: &[&Pass], module: &mut Module, func: &mut Func, facts: &Facts<'_>, watch: &mut Watch) -> bool {
    passes.iter().fold(false, |changed, pass| watch.run(pass, module, func, facts) | changed)
}

/// Tidies every function of a module whose derivatives have been taken.
pub fn tidy_module(module: &mut Module) {
    let effects = Effects::of(module);
    each(module, &Facts { effects: &effects, when: When::Last }, &mut Watch::default(), tidy);
}

/// Runs something on each function of a module.
fn each(
    module: &mut Module,
    facts: &Facts<'_>,
    watch: &mut Watch,
    run: fn(&mut Module, &mut Func, &Facts<'_>, &mut Watch),
) {
    for id in module.funcs.keys() {
        let mut func = module.detach(id);
        run(module, &mut func, facts, watch);
        module.funcs[id] = func;
    }
}

/// Optimizes every function of a module, when all derivatives have been taken.
///
/// Inlines, callees first, small functions and those that are called once with large values. Then loops of one iteration become
/// choices, loops that count become counted, and invariant code leaves them. Functions that nobody calls any more stay: only the caller knows which
/// ones the host may start.
pub fn optimize(module: &mut Module, watch: &mut Watch) {
    let effects = Effects::of(module);
    each(module, &Facts { effects: &effects, when: When::Last }, watch, tidy);
    inline_small(module, watch);
    let effects = Effects::of(module);
    each(module, &Facts { effects: &effects, when: When::Last }, watch, optimize_func);
}

/// Adds up in the loops of a derived kernel what it adds to memory.
pub fn add_up(module: &mut Module, watch: &mut Watch) {
    let effects = Effects::of(module);
    each(module, &Facts { effects: &effects, when: When::Last }, watch, |module, func, facts, watch| {
        if watch.run(TOTALS, module, func, facts) {
            tidy(module, func, facts, watch);
        }
    });
}

/// Inlines what is worth it, callees first.
fn inline_small(module: &mut Module, watch: &mut Watch) {
    watch.begin(INLINE, || module.size());
    let Calls { recursive, callees_first } = Calls::of(module);
    let types = module.types.clone();
    let once = called_once(module);
    for func in callees_first {
        let want = |callee: &Func| {
            is_worth_inlining(&types, callee) || once.contains(&callee.name) && passes_much(&types, callee)
        };
        inline_known(module, func, &recursive, &want);
    }
    watch.end(|| module.size());
    watch.after_module(INLINE, module);
}

/// The functions that are called in one place only. Each has a name of its own.
fn called_once(module: &Module) -> Set<Symbol> {
    let mut calls: Map<FuncId, u32> = Map::default();
    for func in module.funcs.values() {
        callees(func).into_iter().for_each(|callee| *calls.entry(callee).or_default() += 1);
    }
    let once = calls.into_iter().filter(|(_, count)| *count == 1);
    once.map(|(callee, _)| module.funcs[callee].name).collect()
}

/// More bytes than this are better not passed by value.
const MUCH: u32 = 64;

/// Whether a function takes or gives a large value, as the halves of a derivative do with their context. In line, its parts are
/// variables of the caller.
fn passes_much(types: &Types, callee: &Func) -> bool {
    let is_large = |ty: Ty| layout(types, ty).is_none_or(|layout| layout.size > MUCH);
    let mut passed = callee.sig.inputs().map(|p| p.ty).chain(callee.sig.outputs().map(|o| o.ty));
    callee.inline != Inline::Never && is_single_exit(callee) && passed.any(is_large)
}

/// Inlines functions that take buffers or pointers, so that accesses name their memory. Functions with derivatives of their own stay.
pub fn inline_handles(module: &mut Module) {
    let Calls { recursive, callees_first } = Calls::of(module);
    let types = module.types.clone();
    let takes_handles = |callee: &Func| callee.sig.params.iter().any(|p| holds_handle(&types, p.ty));
    let is_plain = |callee: &Func| !callee.diff.is_custom() && callee.diff.is_from_body();
    for func in callees_first {
        inline_known(module, func, &recursive, &|callee| takes_handles(callee) && is_plain(callee));
    }
}

/// Optimizes one function by itself. It is not in the module, or there is another version of it there.
pub fn optimize_func(module: &mut Module, func: &mut Func, facts: &Facts<'_>, watch: &mut Watch) {
    tidy(module, func, facts, watch);
    if run(LOOPS, module, func, facts, watch) {
        tidy(module, func, facts, watch);
        watch.run(HOIST, module, func, facts);
        tidy(module, func, facts, watch);
    }
}

/// Functions that are given buffers or pointers are inlined whatever their size: then it is known which ones.
fn is_worth_inlining(types: &Types, callee: &Func) -> bool {
    match callee.inline {
        Inline::Early => true,
        Inline::Never => false,
        Inline::Auto if callee.sig.params.iter().any(|p| holds_handle(types, p.ty)) => true,
        Inline::Auto => is_single_exit(callee) && callee.all_insts().len() <= SMALL,
    }
}
