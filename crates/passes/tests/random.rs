//! Every pass keeps the meaning of random programs, and the cost of their arrays.
//!
//! `SEEDS=30000` in the environment runs more of them than the few hundred of an ordinary run.

mod support;

use cotangent_base::Symbol;
use cotangent_interp::{Counters, Machine, Options, Val};
use cotangent_ir::text::print_module;
use cotangent_ir::{Const, Func, Inst, Module, Op, verify};
use support::generate::{self, Choices};
use support::names;

/// What a program gives: its outputs, what it leaves in the buffer, and what it cost.
struct Outcome {
    scalars: Vec<Const>,
    counters: Counters,
}

fn run(module: &Module, choices: &mut Choices) -> Outcome {
    let mut float = || [0.0, -0.5, 1.25, 3.0, -2.0][choices.below(5) as usize];
    let buffer = Val::floats(&[float(), float(), float(), float()]);
    let array = Val::floats(&[float(), float(), float(), float()]);
    let (x, y) = (Val::float(float()), Val::float(float()));
    let inputs = vec![x, y, Val::int(choices.below(9) as i64 - 3), array, Val::bool(choices.below(2) == 0)];
    let out = module.global_named(Symbol::new("out")).expect("there is a buffer");
    let main = module.func_named(Symbol::new("main")).expect("there is a main function");
    let mut machine = Machine::new(module, Options { max_steps: 10_000_000, ..Options::default() });
    machine.set_global(out, buffer);
    let mut scalars: Vec<Const> = match machine.call(main, inputs) {
        Ok(outputs) => outputs.iter().flat_map(Val::scalars).collect(),
        Err(stopped) => panic!("random programs end, but: {stopped:?}\n{}", print_module(module)),
    };
    scalars.extend(machine.global(out).scalars());
    Outcome { scalars: scalars.into_iter().map(unsigned_zero).collect(), counters: machine.counters() }
}

/// The sign of a zero may change where nothing was added to it.
fn unsigned_zero(value: Const) -> Const {
    if value == Const::float(-0.0) { Const::float(0.0) } else { value }
}

fn check(seed: u64, module: &Module, name: &str) {
    let mut changed = module.clone();
    support::run(name, &mut changed);
    let show = || format!("{}\n; after {name}\n{}", print_module(module), print_module(&changed));
    verify(&changed).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{}", show()));
    for round in 0..3 {
        let before = run(module, &mut Choices::new(seed * 8 + round));
        let after = run(&changed, &mut Choices::new(seed * 8 + round));
        assert_eq!(before.scalars, after.scalars, "seed {seed}, {name}, run {round}\n{}", show());
    }
    if deals_with_exits(name, module) {
        return;
    }
    let before = without_dead_code(module);
    let after = without_dead_code(&changed);
    for round in 0..3 {
        let [before, after] = [&before, &after].map(|m| run(m, &mut Choices::new(seed * 8 + round)).counters);
        let elements = [before.elements, after.elements];
        assert!(elements[1] <= elements[0], "seed {seed}, {name}: elements {elements:?}\n{}", show());
        let reads = [before.undef_reads, after.undef_reads];
        assert!(reads[1] <= reads[0], "seed {seed}, {name}: reads of undef {reads:?}\n{}", show());
    }
}

/// Where a loop of one iteration was, or is, code that left early now goes on for a while, and takes along what it might
/// have updated in place. Inlining and unrolling make such loops.
fn deals_with_exits(name: &str, module: &Module) -> bool {
    let is_once = |func: &Func, inst: Inst| {
        let data = &func.insts[inst];
        matches!(data.op, Op::For(_)) && matches!(func.op(data.operands[0]), Some(Op::Const(Const::Int(1))))
    };
    let has_once = |func: &Func| func.all_insts().into_iter().any(|inst| is_once(func, inst));
    ["inline", "unroll", "everything"].contains(&name) || module.funcs.values().any(has_once)
}

/// Dead updates of arrays cost copies, and passes leave dead code behind.
fn without_dead_code(module: &Module) -> Module {
    let mut module = module.clone();
    support::run("dce", &mut module);
    module
}

#[test]
fn passes_keep_the_results_of_random_programs() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for seed in 0..seeds {
        let module = generate::module(seed);
        verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", print_module(&module)));
        // Nothing starts these programs, so pruning leaves nothing of them.
        for pass in names().filter(|name| *name != "prune") {
            check(seed, &module, pass);
        }
    }
}
