//! The listings at the head of each pass are true: the first, run through the pass and rid of dead code, is the
//! second. Names of values do not count, for copies share them.

mod support;

use cotangent_ir::text::{parse_module, print_module};
use cotangent_ir::{Module, verify};
use cotangent_passes::dce::dce;
use cotangent_passes::effects::Effects;
use std::fs;
use std::path::Path;
use support::run;

/// The passes under `src`, each with its source: the files that begin the name of a public function with their own.
/// The driver is none of them.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in fs::read_dir(&src).expect("there are sources") {
        let path = entry.expect("sources can be read").path();
        let name = path.file_stem().expect("a source has a name").to_string_lossy().into_owned();
        let file = if path.is_dir() { path.join("mod.rs") } else { path };
        let source = fs::read_to_string(file).expect("sources can be read");
        if name != "optimize" && source.contains(&format!("\npub fn {name}")) {
            found.push((name, source));
        }
    }
    found.sort();
    found
}

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
    let sources = sources();
    assert!(sources.len() >= 10, "some passes are not found");
    for (name, source) in &sources {
        let mut modules = listings(source).into_iter();
        let (Some(mut before), Some(after)) = (modules.next(), modules.next()) else {
            panic!("{name} has no two listings");
        };
        verify(&after).unwrap_or_else(|e| panic!("{name}: {e}"));
        run(name, &mut before);
        let effects = Effects::of(&before);
        for func in before.funcs.values_mut() {
            dce(func, &effects);
        }
        assert_eq!(text(before), text(after), "{name}");
    }
}
