//! Running IR text.

use cotangent_base::Symbol;
use cotangent_interp::{Counters, Machine, Options, Stopped, Val};
use cotangent_ir::text::parse_module;
use cotangent_ir::{Module, verify};

/// A valid module.
pub fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&module).unwrap_or_else(|e| panic!("{e}\n{text}"));
    module
}

/// Runs `@f` of a text, with the cost.
pub fn run(text: &str, inputs: Vec<Val>, options: Options) -> (Result<Vec<Val>, Stopped>, Counters) {
    let module = module(text);
    let mut machine = Machine::new(&module, options);
    let func = module.func_named(Symbol::new("f")).expect("there is a function `@f`");
    let outcome = machine.call(func, inputs);
    (outcome, machine.counters())
}

/// The outputs of `@f`.
pub fn outputs(text: &str, inputs: Vec<Val>) -> Vec<Val> {
    run(text, inputs, Options::default()).0.unwrap_or_else(|e| panic!("{e}\n{text}"))
}
