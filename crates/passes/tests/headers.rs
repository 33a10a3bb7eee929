//! The listings at the head of each pass are true: the first, run through the pass and rid of dead code, is the
//! second. Names of values do not count, for copies share them.

mod support;

use cotangent_ir::text::{parse_module, print_module};
use cotangent_ir::{Module, verify};
use cotangent_passes::dce::dce;
use cotangent_passes::effects::Effects;
use support::PASSES;

const SOURCES: &[(&str, &str)] = &[
    ("counted", include_str!("../src/counted/mod.rs")),
    ("cse", include_str!("../src/cse.rs")),
    ("dce", include_str!("../src/dce.rs")),
    ("exits", include_str!("../src/exits.rs")),
    ("fold", include_str!("../src/fold.rs")),
    ("hoist", include_str!("../src/hoist.rs")),
    ("inline", include_str!("../src/inline.rs")),
    ("simplify", include_str!("../src/simplify/mod.rs")),
    ("unroll", include_str!("../src/unroll.rs")),
];

/// The modules listed at the head of a source file.
fn listings(source: &str) -> Vec<Module> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: String = lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("text\n"));
    blocks.take(2).map(|block| parse_module(block).unwrap_or_else(|e| panic!("{e}\n{block}"))).collect()
}

/// The text of a module without names of values.
fn text(mut module: Module) -> String {
    for func in module.funcs.values_mut() {
        func.values.values_mut().for_each(|value| value.name = None);
    }
    print_module(&module)
}

#[test]
fn the_listings_at_the_head_of_each_pass_are_true() {
    for (name, source) in SOURCES {
        let mut modules = listings(source).into_iter();
        let (Some(mut before), Some(after)) = (modules.next(), modules.next()) else {
            panic!("{name} has no two listings");
        };
        verify(&after).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (_, pass) = PASSES.iter().find(|(pass, _)| pass == name).expect("every pass is listed");
        pass(&mut before);
        let effects = Effects::of(&before);
        for func in before.funcs.values_mut() {
            dce(func, &effects);
        }
        assert_eq!(text(before), text(after), "{name}");
    }
}
