//! The passes every program goes through, in order.
//!
//! Each name is what `--dump-after` takes. In debug builds the verifier runs after each.

use cotangent_base::Diagnostics;
use cotangent_ir::{FuncId, Module};

/// A pass over a whole module.
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    run: fn(&mut Module, &[FuncId]) -> Diagnostics,
}

/// Sees the module after each pass.
pub type Observer<'a> = dyn FnMut(&str, &Module) + 'a;

/// The passes, in order.
pub const PASSES: &[Pass] = &[
    Pass { name: "lower", run: |_, _| Diagnostics::new() },
    Pass { name: "autodiff", run: cotangent_autodiff::differentiate_also },
    Pass {
        name: "optimize",
        run: |module, _| {
            cotangent_passes::optimize::optimize(module);
            Diagnostics::new()
        },
    },
];

/// Runs them, showing `observe` the module after each. Stops at the first that reports an error. `roots` are what was
/// asked for by name; they are kept, and derivatives among them are written though nobody calls them.
pub fn run(module: &mut Module, roots: &[FuncId], observe: &mut Observer<'_>) -> Diagnostics {
    let mut all = Diagnostics::new();
    for pass in PASSES {
        all.append((pass.run)(module, roots));
        observe(pass.name, module);
        if all.has_errors() {
            break;
        }
        if cfg!(debug_assertions)
            && let Err(error) = cotangent_ir::verify(module)
        {
            panic!("internal error after {}: {error}", pass.name);
        }
    }
    all
}
