//! What several tests share.

#![allow(dead_code, reason = "not every test uses all of it")]

pub mod generate;

use cotangent_ir::Module;
use cotangent_passes::pass::{INLINE, OPTIMIZE, PASSES, UNROLL, When};

/// Runs the pass of that name, or all of them for `everything`.
pub fn run(name: &str, module: &mut Module) {
    let passes = match name {
        "everything" => vec![INLINE, UNROLL, OPTIMIZE],
        name => PASSES.iter().copied().filter(|pass| pass.name == name).collect(),
    };
    assert!(!passes.is_empty(), "there is no pass `{name}`");
    passes.into_iter().for_each(|pass| pass.run_alone(module, When::BeforeDerivatives));
}

/// The names of all passes, and of all together.
pub fn names() -> impl Iterator<Item = &'static str> {
    PASSES.iter().map(|pass| pass.name).chain(["everything"])
}
