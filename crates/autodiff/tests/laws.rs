//! Laws that hold of every program, tried on random ones.

mod random;

use cotangent_autodiff::linearize::linearize;
use cotangent_autodiff::prepare::prepare;
use cotangent_base::{Diagnostics, Symbol};
use cotangent_ir::{Module, Op, text, verify, verify_linear};

const PROGRAMS: u64 = 300;

fn func(module: &Module, name: &str) -> cotangent_ir::FuncId {
    module.func_named(Symbol::new(name)).expect("the function is there")
}

#[test]
fn random_programs_are_valid_and_rich_in_exits() {
    let mut exits = 0;
    for seed in 0..PROGRAMS {
        let module = random::module(seed);
        verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", text::print_module(&module)));
        let f = &module.funcs[func(&module, "f")];
        let is_early = |op: &Op| matches!(op, Op::Break(_) | Op::Continue(_));
        exits += f.all_insts().iter().filter(|i| is_early(&f.insts[**i].op)).count();
    }
    assert!(exits > 2 * PROGRAMS as usize, "only {exits} exits");
}

// req: IR-NORM-2 IR-NORM-13 IR-NORM-14
#[test]
fn after_prepare_the_only_exit_is_the_last_return() {
    for seed in 0..PROGRAMS {
        let mut module = random::module(seed);
        let f = func(&module, "f");
        let prepared = prepare(&mut module.types, &module.funcs[f]).func;
        let last = *prepared.regions[prepared.body].insts.last().expect("a return");
        for inst in prepared.all_insts() {
            let op = &prepared.insts[inst].op;
            assert!(!matches!(op, Op::Break(_) | Op::Continue(_)), "seed {seed}");
            assert!(*op != Op::Return || inst == last, "seed {seed}");
        }
        module.funcs[f] = prepared;
        verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

// req: IR-LIN-1 IR-LIN-2 IR-LIN-5 IR-LIN-6 IR-LIN-9 IR-LIN-10
#[test]
fn every_linear_instruction_is_linear_and_no_primal_one_reads_a_tangent() {
    for seed in 0..PROGRAMS {
        for mask in [[true, true, true, true], [true, false, false, false], [false, false, false, true]] {
            for prepared in [false, true] {
                let mut module = random::module(seed);
                let f = func(&module, "f");
                let mut body = module.funcs[f].clone();
                if prepared {
                    body = prepare(&mut module.types, &body).func;
                }
                let inputs: Vec<bool> = mask.into_iter().chain([false]).collect();
                let mut diagnostics = Diagnostics::new();
                let linearized = linearize(&mut module, body, &inputs, &mut diagnostics);
                assert!(diagnostics.is_empty());
                let (func, lin) = (&linearized.func, &linearized.lin);
                verify_linear(func, lin, &module).unwrap_or_else(|e| {
                    panic!("seed {seed}: {e}\n{}", text::print_linear_func(&module, func, lin))
                });
                module.funcs[f] = linearized.func;
                verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            }
        }
    }
}
