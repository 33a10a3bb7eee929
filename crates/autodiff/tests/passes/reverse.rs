//! The passes of reverse mode on IR text.
//!
//! - `unzip <mask> <prefer> <free>`: takes the last function of the file apart; `d` marks inputs that have a tangent,
//!   policies are `all`, `cut` and `min`, and `free` has a `d` for each input that costs nothing.
//! - `transpose <outputs> <inputs>`: transposes the last function; `d` marks what has a cotangent.

use cotangent_autodiff::checkpoint::work::Works;
use cotangent_autodiff::checkpoint::{self, checkpoint};
use cotangent_autodiff::linearize::linearize;
use cotangent_autodiff::prepare::prepare;
use cotangent_autodiff::steep::steep;
use cotangent_autodiff::transpose::reach::Reach;
use cotangent_autodiff::transpose::{Seeds, declare, tangents, transpose};
use cotangent_autodiff::unzip::{LinearFunc, Whole, unzip};
use cotangent_autodiff::{Context, codes};
use cotangent_base::{Diagnostics, EntitySet, Map};
use cotangent_filetest::Case;
use cotangent_ir::layout::layout;
use cotangent_ir::{InputMask, Mask, Mode, Op, Prefer, TangentMask, Value, text, verify_func, verify_linear};
use cotangent_passes::dce::dce;
use cotangent_passes::effects::Effects;

fn mask<Of>(word: &str) -> Mask<Of> {
    word.chars().map(|c| c == 'd').collect()
}

fn last(case: &Case) -> LinearFunc {
    let id = case.module.funcs.keys().last().expect("the file has a function");
    let func = case.module.funcs[id].clone();
    let lin = case.linear.get(&id).cloned().unwrap_or_default();
    let steep = steep(&case.module, &func, &lin);
    let is_choice = |v: &Value| matches!(func.op(*v), Some(Op::Select));
    let choices = lin.iter().filter(is_choice).collect();
    let sources = EntitySet::new();
    LinearFunc { name: func.name, func, lin, steep, choices, sources }
}

/// Takes a function apart and shows both halves.
pub fn run_unzip(case: &mut Case) -> String {
    let id = case.module.funcs.keys().last().expect("the file has a function");
    let (name, sig) = (case.module.funcs[id].name, case.module.funcs[id].sig.clone());
    let inputs: InputMask = mask(&case.args[0]);
    case.module.prefer = match case.args.get(1).map(String::as_str) {
        Some("all") => Prefer::Checkpoint,
        Some("min") => Prefer::Recompute,
        _ => Prefer::Auto,
    };
    let free = case.args.get(2).map_or_else(|| InputMask::filled(false, inputs.len()), |w| mask(w));
    let prepared = prepare(&mut case.module.types, &case.module.funcs[id]);
    let mut diagnostics = Diagnostics::new();
    let mut linearized =
        linearize(&mut case.module, prepared.func, &inputs, Mode::Backward, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    dce(&mut linearized.func, &Effects::of(&case.module));
    let (calls, sources) = (Map::default(), EntitySet::new());
    let plan = checkpoint(&checkpoint::Input {
        price: 1,
        module: &case.module,
        linearized: &linearized,
        induction: &prepared.induction,
        calls: &calls,
        sources: &sources,
        unrepeatable: &|_| true,
        works: &Works::default(),
        free: &free,
    });
    let plan = match plan {
        Ok(plan) => plan,
        Err(refusal) => {
            let diagnostic = refusal.diagnostic;
            return format!("; {}: {}\n", diagnostic.code.name, diagnostic.message);
        }
    };
    let whole = Whole {
        sig: &sig,
        linearized: &linearized,
        induction: &prepared.induction,
        calls: &calls,
        sources: &sources,
        plan: &plan,
    };
    let halves = unzip(&mut case.module, name, whole);
    let linear = &halves.linear;
    verify_func(&case.module, &halves.primal).unwrap_or_else(|e| panic!("the primal half is not valid: {e}"));
    verify_func(&case.module, &linear.func).unwrap_or_else(|e| panic!("the linear half is not valid: {e}"));
    verify_linear(&linear.func, &linear.lin, &case.module)
        .unwrap_or_else(|e| panic!("the linear law is broken: {e}"));
    let mut shown = String::new();
    if let Some(context) = halves.context {
        let layout = layout(&case.module.types, context).expect("a context has a layout");
        shown += &format!("; context: {} bytes\n", layout.size);
    }
    shown += &text::print_linear_func(&case.module, &halves.primal, &Default::default());
    shown += "\n";
    shown + &text::print_linear_func(&case.module, &linear.func, &linear.lin)
}

/// Transposes a linear function.
pub fn run_transpose(case: &mut Case) -> String {
    let linear = last(case);
    let outputs = mask(&case.args[0]);
    let inputs =
        case.args.get(1).map_or_else(|| TangentMask::filled(false, tangents(&linear).len()), |w| mask(w));
    let mut cx = Context::new(&mut case.module);
    let seeds = Seeds { outputs, inputs, certain: true };
    let transposed = Reach::of(&mut cx, &linear, &seeds.outputs).and_then(|reach| {
        let contributes = reach.contributions();
        let declared = declare(cx.module, &linear, &seeds, contributes);
        transpose(&mut cx, declared, &linear, &seeds, &reach, contributes)
    });
    let diagnostics: Diagnostics = std::mem::take(&mut cx.diagnostics);
    match transposed {
        Ok(mut transposed) => {
            dce(&mut transposed, &Effects::default());
            verify_func(&case.module, &transposed)
                .unwrap_or_else(|e| panic!("the transpose is not valid: {e}"));
            text::print_linear_func(&case.module, &transposed, &Default::default())
        }
        Err(_) => {
            assert!(diagnostics.iter().all(|d| codes::CODES.contains(&d.code)));
            diagnostics.iter().map(|d| format!("; {}: {}\n", d.code.name, d.message)).collect()
        }
    }
}
