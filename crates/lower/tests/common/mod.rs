//! Slang source to IR, with the library of the repository and nothing else.

#![allow(dead_code, reason = "each test file uses a part of this")]

use cotangent_base::{Diagnostics, Files, Sources, Symbol};
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::{Module, text};
use cotangent_lower::{Lowered, Roots, lower};
use cotangent_sema::{Checked, Input};

/// The files of the library, in a fixed order.
const LIBRARY: &[(&str, &str)] = &[
    ("std/core.slang", include_str!("../../../../std/core.slang")),
    ("std/scalars.slang", include_str!("../../../../std/scalars.slang")),
    ("std/shapes.slang", include_str!("../../../../std/shapes.slang")),
    ("std/diff.slang", include_str!("../../../../std/diff.slang")),
    ("std/functions.slang", include_str!("../../../../std/functions.slang")),
    ("std/math.slang", include_str!("../../../../std/math.slang")),
    ("std/geometry.slang", include_str!("../../../../std/geometry.slang")),
    ("std/bits.slang", include_str!("../../../../std/bits.slang")),
    ("std/truth.slang", include_str!("../../../../std/truth.slang")),
    ("std/resources.slang", include_str!("../../../../std/resources.slang")),
    ("std/memory.slang", include_str!("../../../../std/memory.slang")),
    ("std/atomics.slang", include_str!("../../../../std/atomics.slang")),
    ("std/bytes.slang", include_str!("../../../../std/bytes.slang")),
];

/// Checks a program that has no errors.
pub fn check(source: &str) -> Checked {
    let mut sources = Sources::new();
    let mut diagnostics = Diagnostics::new();
    let mut inputs = Vec::new();
    for (path, text) in LIBRARY {
        let file = sources.add_library(*path, *text);
        let tree = cotangent_syntax::parse(
            &mut sources,
            &Files(&[]),
            file,
            &[],
            Default::default(),
            &mut diagnostics,
        );
        inputs.push(Input::library(file, tree));
    }
    let file = sources.add("test.slang", source);
    let tree =
        cotangent_syntax::parse(&mut sources, &Files(&[]), file, &[], Default::default(), &mut diagnostics);
    inputs.push(Input::module(file, tree));
    assert_clean(&diagnostics, &sources);
    let checked = cotangent_sema::check(inputs);
    assert_clean(&checked.diagnostics, &sources);
    checked
}

fn assert_clean(diagnostics: &Diagnostics, sources: &Sources) {
    let errors: Vec<String> = diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| format!("{}: {} {}", sources.place(d.primary.span), d.code.name, d.message))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Lowers what is asked for, whatever comes of it.
pub fn lower_roots(source: &str, roots: Roots) -> Lowered {
    let checked = check(source);
    let lowered = lower(&checked, roots);
    let late: Vec<_> = checked.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(late.is_empty(), "bodies of the library: {late:#?}");
    lowered
}

/// Lowers a whole module that must be accepted.
pub fn module(source: &str) -> Module {
    let lowered = lower_roots(source, Roots::Module);
    let told: Vec<String> =
        lowered.diagnostics.iter().map(|d| format!("{} {}", d.code.name, d.message)).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    cotangent_ir::verify(&lowered.module)
        .unwrap_or_else(|e| panic!("{e}\n{}", text::print_module(&lowered.module)));
    lowered.module
}

/// The text of some functions of a module.
pub fn text_of(source: &str, names: &[&str]) -> String {
    let module = module(source);
    let print = |name: &&str| {
        let id = module.func_named(Symbol::new(name)).unwrap_or_else(|| panic!("no function {name}"));
        text::print_func(&module, id)
    };
    names.iter().map(print).collect()
}

/// The codes of the diagnostics a module gives.
pub fn codes_of(source: &str) -> Vec<&'static str> {
    let lowered = lower_roots(source, Roots::Module);
    lowered.diagnostics.iter().map(|d| d.code.name).collect()
}

/// All outputs of a function. Nothing may be read that was not written.
fn run(source: &str, func: &str, inputs: Vec<Val>) -> Vec<Val> {
    let module = module(source);
    let id = module.func_named(Symbol::new(func)).unwrap_or_else(|| panic!("no function {func}"));
    let mut machine = Machine::new(&module, Options::default());
    let outputs = machine.call(id, inputs);
    let outputs = outputs.unwrap_or_else(|stop| panic!("{stop:?}\n{}", text::print_module(&module)));
    assert_eq!(machine.counters().undef_reads, 0, "{}", text::print_module(&module));
    outputs
}

/// The result of a function of integers.
pub fn run_int(source: &str, func: &str, args: &[i64]) -> i64 {
    let outputs = run(source, func, args.iter().map(|x| Val::int(*x)).collect());
    outputs[0].as_int().expect("the function gives an integer")
}

/// The results of a function of floats.
pub fn run_floats(source: &str, func: &str, args: &[f64]) -> Vec<f64> {
    let outputs = run(source, func, args.iter().map(|x| Val::float(*x)).collect());
    outputs.iter().map(|v| v.as_float().expect("the function gives floats")).collect()
}

/// The results of a function of one integer.
pub fn ints(source: &str, func: &str, args: &[i64]) -> Vec<i64> {
    args.iter().map(|x| run_int(source, func, &[*x])).collect()
}
