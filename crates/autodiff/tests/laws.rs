//! Laws that hold of every program, tried on random ones.

mod random;
mod running;

use cotangent_autodiff::linearize::linearize;
use cotangent_autodiff::prepare::prepare;
use cotangent_base::{Diagnostics, Symbol};
use cotangent_interp::Val;
use cotangent_ir::{Mode, Module, Op, text, verify, verify_linear};
use running::{Run, all_floats, inputs, shifted};

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

// req: IR-NORM-2, IR-NORM-13, IR-NORM-14, IR-NORM-15
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

// req: IR-LIN-2, IR-LIN-5, IR-LIN-6, IR-LIN-9, IR-LIN-10
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
                let linearized = linearize(
                    &mut module,
                    body,
                    &inputs.iter().copied().collect(),
                    Mode::Forward,
                    &mut diagnostics,
                );
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

// req: IR-NORM-1, IR-NORM-10, LOOP-09
#[test]
fn a_prepared_function_computes_the_same_bits() {
    for seed in 0..PROGRAMS {
        let mut module = random::module(seed);
        let f = func(&module, "f");
        let prepared = prepare(&mut module.types, &module.funcs[f]).func;
        let mut changed = module.clone();
        changed.funcs[f] = prepared;
        for start in 0..4 {
            let arguments = inputs(seed, start);
            let before = Run::narrow(&module).call(f, arguments.clone());
            let after = Run::narrow(&changed).call(f, arguments);
            assert_eq!(before, after, "seed {seed}, start {start}\n{}", text::print_func(&module, f));
        }
    }
}

/// Compares each tangent with a central difference along the same direction.
fn check_forward(
    seed: u64,
    module: &Module,
    f: cotangent_ir::FuncId,
    fwd: cotangent_ir::FuncId,
    values: &[f64],
) {
    let direction = running::direction(seed, values.len());
    for start in 0..3 {
        let along = |h: f64| all_floats(&Run::wide(module).call(f, shifted(values, &direction, h, start)));
        let h = 1e-5;
        let (above, below) = (along(h), along(-h));
        let expected: Vec<f64> = above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * h)).collect();
        let mut arguments = shifted(values, &direction, 0.0, start);
        arguments.extend(running::state(&direction));
        let mut run = Run::wide(module);
        let outputs = run.call(fwd, arguments);
        let got = all_floats(&outputs[3..]);
        assert_eq!(run.undef_reads(), 0, "seed {seed}");
        for (i, (e, g)) in expected.iter().zip(&got).enumerate() {
            let tolerance = 1e-6 * (1.0 + e.abs());
            assert!((e - g).abs() < tolerance, "seed {seed} start {start}: {i} should be {e}, is {g}");
        }
        let primal = Run::wide(module).call(f, shifted(values, &direction, 0.0, start));
        assert_eq!(primal[..], outputs[..3], "seed {seed}: the derivative also gives the values");
    }
}

// req: OP-15, OP-16, OP-22, IR-FWD-6, LOOP-01, LOOP-02, LOOP-08
#[test]
fn tangents_agree_with_central_differences() {
    for seed in 0..PROGRAMS {
        let mut module = random::module(seed);
        let f = func(&module, "f");
        let fwd = forward(&mut module, f, &[true, true, true, true, false]);
        check_forward(seed, &module, f, fwd, &running::values(seed));
    }
}

fn forward(module: &mut Module, f: cotangent_ir::FuncId, mask: &[bool]) -> cotangent_ir::FuncId {
    let mut cx = cotangent_autodiff::Context::new(module);
    let fwd = cotangent_autodiff::forward::function(&mut cx, f, &mask.iter().copied().collect());
    assert!(cx.diagnostics.is_empty(), "{:?}", cx.diagnostics);
    verify(module).unwrap_or_else(|e| panic!("{e}"));
    fwd.expect("nothing was told")
}

// req: NODIFF-01, OP-16
#[test]
fn an_inactive_input_is_one_whose_tangent_is_zero() {
    for seed in 0..PROGRAMS {
        let mut module = random::module(seed);
        let f = func(&module, "f");
        let full = forward(&mut module, f, &[true, true, true, true, false]);
        for active in 0..3 {
            let mask: Vec<bool> = (0..5).map(|i| i == active).collect();
            let partial = forward(&mut module, f, &mask);
            let mut arguments = inputs(seed, 1);
            arguments.push(Val::float(1.0));
            let got = all_floats(&Run::wide(&module).call(partial, arguments));
            let mut arguments = inputs(seed, 1);
            let unit: Vec<f64> = (0..running::FLOATS).map(|i| f64::from(i == active)).collect();
            arguments.extend(running::state(&unit));
            let expected = all_floats(&Run::wide(&module).call(full, arguments));
            let close = |(e, g): (&f64, &f64)| (e - g).abs() < 1e-12 * (1.0 + e.abs());
            assert!(expected.iter().zip(&got).all(close), "seed {seed}: {expected:?}, not {got:?}");
        }
    }
}

// req: HO-02, HO-07
#[test]
fn derivatives_of_derivatives_agree_with_central_differences() {
    for seed in 0..PROGRAMS / 2 {
        let mut module = random::module(seed);
        let f = func(&module, "f");
        let first = forward(&mut module, f, &[true, true, true, true, false]);
        let mask = [true, true, true, true, false, true, true, true, true];
        let second = forward(&mut module, first, &mask);
        let (values, v, w) =
            (running::values(seed), running::direction(seed, 7), running::direction(seed + 1, 7));
        let at = |h: f64| {
            let mut arguments = shifted(&values, &w, h, 1);
            arguments.extend(running::state(&v));
            all_floats(&Run::wide(&module).call(first, arguments))
        };
        let h = 1e-5;
        let (above, below) = (at(h), at(-h));
        let mut arguments = shifted(&values, &w, 0.0, 1);
        arguments.extend(running::state(&v));
        arguments.extend(running::state(&w));
        arguments.extend(running::state(&[0.0; running::FLOATS]));
        let outputs = Run::wide(&module).call(second, arguments);
        let got = all_floats(&outputs[5..]);
        assert_eq!(got.len(), above.len());
        for ((a, b), g) in above.iter().zip(&below).zip(&got) {
            let e = (a - b) / (2.0 * h);
            assert!((e - g).abs() < 1e-5 * (1.0 + e.abs()), "seed {seed}: {e}, not {g}");
        }
    }
}

// req: IR-LIN-11
#[test]
fn what_forward_mode_makes_is_ordinary_code() {
    for seed in 0..40 {
        let mut module = random::module(seed);
        let f = func(&module, "f");
        let fwd = forward(&mut module, f, &[true, true, true, true, false]);
        let made = &module.funcs[fwd];
        let is_half = |op: &Op| matches!(op, Op::DiffCall(_) | Op::LinCall(_));
        assert!(made.all_insts().iter().all(|inst| !is_half(&made.insts[*inst].op)), "seed {seed}");
        let printed = text::print_module(&module);
        let read = text::parse_module(&printed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(printed, text::print_module(&read), "seed {seed}");
    }
}

// req: IR-PASS-8
#[test]
fn without_requests_nothing_changes_and_originals_never_do() {
    for seed in 0..20 {
        let mut module = random::module(seed);
        let before = text::print_module(&module);
        assert!(cotangent_autodiff::differentiate(&mut module).is_empty());
        assert_eq!(before, text::print_module(&module));
        let f = func(&module, "f");
        let original = text::print_func(&module, f);
        forward(&mut module, f, &[true, true, true, true, false]);
        assert_eq!(original, text::print_func(&module, f));
    }
}
