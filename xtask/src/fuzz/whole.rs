//! The stage `whole`: takes an accepted program through all commands.
//!
//! | what | how |
//! | --- | --- |
//! | every target | the module as WGSL, SPIR-V, GLSL, HLSL, Metal, C++ and CUDA; for one of them also compiled for it alone |
//! | `run` | every compute entry point, over small buffers, with a limit on steps |
//! | `grad` | both modes of a few differentiable functions, with a limit on steps |
//! | `report`, `reflect` | the first of these functions; the module, for the target that was chosen |
//!
//! A program may be refused and may trap anywhere. It fails if a diagnostic says that the compiler is at fault, or if
//! something panics.

use super::stage::{PATH, Result, blameless, judge, kind};
use cotangent::gradient::{Evaluator, Functions};
use cotangent::interp;
use cotangent::ir::layout::{Target, layout};
use cotangent::ir::{Mode, Stage, Type, text as listing};
use cotangent::runtime::{Data, Launch, Params, Runner};
use cotangent::{Diagnostic, Emitted, Lowered, Program, Request, Roots, Session, Sources, Symbol, Texts};
use std::sync::Arc;

/// The most steps that a run or a derivative may take.
const STEPS: u64 = 100_000;
/// The most functions of a program whose derivatives are computed.
const DERIVATIVES: usize = 3;
/// The most rows and columns of a Jacobian that are computed, each by a run.
const ENTRIES: usize = 8;
/// How many elements a buffer gets that the header of a program does not set.
const ELEMENTS: usize = 16;
/// The repeated content of such buffers and uniforms: as floats 1, 2 and -0.5; as tags of interface values, small and large ones.
const PATTERN: [u32; 6] = [0x3f80_0000, 1, 0, 0x4000_0000, 2, 0xbf00_0000];

/// Takes a program through everything.
pub fn whole(text: &str) -> Result {
    let session = Session::new(Texts::new([(PATH, text)]));
    let plain = session.program(&Request::new(PATH));
    let compiled = plain.compile(Roots::Module);
    judge(&compiled)?;
    let Ok(lowered) = compiled.result else { return Ok(false) };
    listing::print_module(&lowered.module);
    for &target in Target::ALL {
        emit(&lowered, &compiled.sources, target)?;
    }

    // Compile for one target alone too, since lowering depends on it. The text determines which, so that shrinking mostly keeps it.
    let target = Target::ALL[text.len() % Target::ALL.len()];
    let chosen = session.program(&for_target(target)).compile(Roots::Module);
    judge(&chosen)?;
    if let Ok(lowered) = &chosen.result {
        emit(lowered, &chosen.sources, target)?;
    }
    judge(&plain.reflect(Roots::Module, target))?;

    let running = session.program(&for_target(Target::Cpp)).compile(Roots::Entries(vec![]));
    judge(&running)?;
    if let Ok(lowered) = &running.result {
        execute(lowered, text);
    }
    derivatives(&lowered, &plain)?;
    Ok(true)
}

fn for_target(target: Target) -> Request {
    let mut request = Request::new(PATH);
    request.options.target = Some(target);
    request
}

fn derivatives(lowered: &Lowered, program: &Program) -> std::result::Result<(), String> {
    let marked = |f: &&cotangent::ir::Func| f.diff.differentiable == Some(Mode::Backward);
    let names: Vec<Symbol> = lowered.module.funcs.values().filter(marked).map(|f| f.name).collect();
    for name in names.into_iter().take(DERIVATIVES) {
        let modes = vec![Mode::Forward, Mode::Backward];
        let compiled = program.compile(Roots::Derivatives { func: name, modes });
        judge(&compiled)?;
        if let Ok(lowered) = &compiled.result {
            evaluate(lowered);
        }
        judge(&program.report(name))?;
    }
    Ok(())
}

/// Emits a module, whatever it is lowered for.
fn emit(lowered: &Lowered, sources: &Sources, target: Target) -> std::result::Result<(), String> {
    let refused: std::result::Result<(), Box<Diagnostic>> = match target {
        Target::Cpp => cotangent::cpp(lowered, sources, PATH, false).map(drop),
        Target::Cuda => cotangent::cuda(lowered, sources, PATH, false).map(drop),
        Target::SpirV => cotangent::shader(lowered, target, Some(sources)).and_then(|made| match made {
            Emitted::Text(_) => Ok(()),
            Emitted::Words(words) => cotangent::disassemble(&words).map(drop),
        }),
        Target::Wgsl | Target::Glsl | Target::Hlsl | Target::Metal => {
            cotangent::shader(lowered, target, None).map(drop)
        }
    };
    match refused {
        Err(refused) if cotangent::is_internal(refused.code) => {
            Err(format!("{} {} ({})", refused.code.name, kind(&refused.message), target.name()))
        }
        Err(refused) => {
            let mut told = cotangent::Diagnostics::new();
            told.push(*refused);
            super::stage::render(sources, &told);
            blameless(&told)
        }
        Ok(()) => Ok(()),
    }
}

/// Runs the compute entry points; traps are fine.
fn execute(lowered: &Lowered, text: &str) {
    let options = interp::Options { max_steps: STEPS, ..interp::Options::default() };
    for &entry in &lowered.entries {
        let stage = lowered.module.funcs[entry].entry.as_ref().map(|entry| entry.stage);
        if stage != Some(Stage::Compute) {
            continue;
        }
        let mut params = Params::new(&lowered.module);
        params.turned = lowered.turned.clone();
        params.declare(&lowered.params);
        fill(&mut params, lowered);
        for (name, data) in settings(text) {
            // The header may not fit the changed program.
            let _ = params.set(&name, &data);
        }
        let backend = Arc::new(interp::Interpreter::new(options));
        if let Ok(mut runner) = Runner::with_params(backend, cotangent::compiled(lowered), params) {
            let _ = runner.launch_id(entry, [1, 1, 1], Launch::default());
        }
    }
}

/// Gives every buffer some elements, and every uniform a value.
fn fill(params: &mut Params, lowered: &Lowered) {
    let types = &lowered.module.types;
    let sizes: Vec<(Symbol, usize)> = params
        .iter()
        .filter_map(|(name, _, ty, _)| match types.get(ty) {
            Type::Buffer(elem, _) => Some((name, layout(types, elem)?.size as usize * ELEMENTS)),
            _ => Some((name, layout(types, ty)?.size as usize)),
        })
        .filter(|(_, size)| *size < 1 << 16)
        .collect();
    for (name, size) in sizes {
        let bytes = PATTERN.iter().flat_map(|word| word.to_le_bytes()).cycle().take(size).collect();
        let _ = params.set(name.as_str(), &Data::Bytes(None, bytes));
    }
}

/// What the header of a run test sets: `--set 'name=data'`.
fn settings(text: &str) -> Vec<(String, Data)> {
    let quoted = text.split("--set '").skip(1).filter_map(|rest| rest.split('\'').next());
    let read = |item: &str| {
        let (name, data) = item.split_once('=')?;
        // A mutation may have joined digits to very large numbers.
        let long = data.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 5);
        let data = (!long).then(|| Data::parse(data).ok())??;
        Some((name.to_string(), data))
    };
    quoted.filter_map(read).collect()
}

/// Runs both modes for some numbers; traps are fine.
fn evaluate(lowered: &Lowered) {
    let [primal, forward, backward] = lowered.roots[..] else { return };
    let functions = Functions { primal, forward: Some(forward), backward: Some(backward) };
    let options = interp::Options { max_steps: STEPS, ..interp::Options::default() };
    let mut evaluator = Evaluator::new(lowered.module.clone(), functions, options);
    if evaluator.resource().is_some() || evaluator.outputs().is_err() {
        return;
    }
    for mode in [Mode::Forward, Mode::Backward] {
        let mut part = evaluator.shape(&|_| true);
        part.rows.truncate(ENTRIES);
        part.columns.truncate(ENTRIES);
        part.entries = vec![vec![0.0; part.columns.len()]; part.rows.len()];
        let _ = evaluator.fill(mode, &mut part);
    }
}
