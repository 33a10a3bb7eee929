//! The order of the passes.
//!
//! [`tidy`] is the cheap cleanup that runs after every pass that writes code: it does not change what a function is
//! made of, only how much of it there is. [`optimize`] is the full list, for a finished module.

use crate::calls::Calls;
use crate::counted::counted;
use crate::cse::cse;
use crate::dce::dce;
use crate::effects::Effects;
use crate::exits::exits;
use crate::fold::fold;
use crate::hoist::hoist;
use crate::inline::{inline_known, is_single_exit};
use crate::pointers::pointers;
use crate::simplify::simplify;
use crate::types::holds_handle;
use cotangent_ir::{Func, Inline, Module, Types};

/// How often [`tidy`] starts again at most. What the second round finds is little, and what the fourth finds is
/// not worth the time.
const ROUNDS: usize = 4;

/// Functions of at most this many instructions are inlined unless they ask not to be.
const SMALL: usize = 12;

/// Folds, simplifies, merges and removes until nothing changes, or nearly so.
pub fn tidy(types: &mut Types, func: &mut Func, effects: &Effects) {
    for _ in 0..ROUNDS {
        let mut changed = fold(types, func);
        changed |= simplify(types, func);
        changed |= cse(types, func, effects);
        changed |= dce(func, effects);
        if !changed {
            break;
        }
    }
}

/// Whether code that is optimized may be differentiated afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// It may.
    BeforeDerivatives,
    /// All derivatives have been taken.
    Last,
}

/// Optimizes every function of a module, when all derivatives have been taken.
///
/// Small functions are inlined, callees first, then loops of one round become choices, loops that count become
/// counted, and invariant code leaves them. Functions that nobody calls any more stay: only the caller knows which
/// ones the host may start.
pub fn optimize(module: &mut Module) {
    let effects = Effects::of(module);
    for func in module.funcs.keys() {
        tidy(&mut module.types, &mut module.funcs[func], &effects);
    }
    let Calls { recursive, callees_first } = Calls::of(module);
    let types = module.types.clone();
    for func in callees_first {
        inline_known(module, func, &recursive, &|callee| is_worth_inlining(&types, callee));
    }
    let effects = Effects::of(module);
    for func in module.funcs.keys() {
        optimize_func(&mut module.types, &mut module.funcs[func], &effects, When::Last);
    }
}

/// Optimizes one function by itself.
pub fn optimize_func(types: &mut Types, func: &mut Func, effects: &Effects, when: When) {
    tidy(types, func, effects);
    let mut changed = pointers(types, func);
    changed |= exits(types, func);
    changed |= hoist(types, func, when);
    changed |= counted(types, func);
    if changed {
        tidy(types, func, effects);
        hoist(types, func, when);
        tidy(types, func, effects);
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
