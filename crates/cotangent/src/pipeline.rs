//! The passes every program goes through, in order.
//!
//! Each name is what `--dump-after` takes. In debug builds the verifier runs after each.

use cotangent_base::Diagnostics;
use cotangent_ir::Module;
use cotangent_lower::Lowered;

/// A pass over a whole module.
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    run: fn(&mut Lowered) -> Diagnostics,
}

/// Sees the module after each pass.
pub type Observer<'a> = dyn FnMut(&str, &Module) + 'a;

/// The passes, in order.
pub const PASSES: &[Pass] = &[
    Pass { name: "lower", run: |_| Diagnostics::new() },
    Pass { name: "autodiff", run: |l| cotangent_autodiff::differentiate_also(&mut l.module, &l.roots) },
    Pass { name: "prune", run: prune },
    Pass { name: "optimize", run: optimize },
    Pass { name: "finish", run: prune },
];

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

/// Runs them, showing `observe` the module after each. Stops at the first that reports an error.
pub fn run(lowered: &mut Lowered, observe: &mut Observer<'_>) -> Diagnostics {
    let mut all = Diagnostics::new();
    for pass in PASSES {
        all.append((pass.run)(lowered));
        observe(pass.name, &lowered.module);
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
