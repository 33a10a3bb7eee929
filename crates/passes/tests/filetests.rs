//! Tests of the passes, as files of IR text in `tests/filetests`.

use cotangent_base::Symbol;
use cotangent_filetest::{Case, Pass, run};
use cotangent_ir::layout::Matrices;
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{Func, FuncId, Inline, Types, verify_linear};
use cotangent_passes::checks::checks;
use cotangent_passes::columns::columns;
use cotangent_passes::counted::counted;
use cotangent_passes::cse::cse;
use cotangent_passes::dce::dce;
use cotangent_passes::effects::Effects;
use cotangent_passes::exits::exits;
use cotangent_passes::fold::fold;
use cotangent_passes::hoist::hoist;
use cotangent_passes::inline::inline_calls;
use cotangent_passes::optimize::{When, optimize, tidy};
use cotangent_passes::pointers::pointers;
use cotangent_passes::prune::prune;
use cotangent_passes::simplify::simplify;
use cotangent_passes::sink::sink;
use cotangent_passes::sums::sums;
use cotangent_passes::unroll::unroll;

fn main() {
    run(
        "tests/filetests",
        &[
            Pass::new("effects", effects),
            Pass::new("dce", |case| each(case, |_, func, effects| _ = dce(func, effects))),
            Pass::new("simplify", |case| each(case, |types, func, _| _ = simplify(types, func))),
            Pass::new("cse", |case| each(case, |types, func, effects| _ = cse(types, func, effects))),
            Pass::new("hoist", |case| {
                each(case, |types, func, _| _ = hoist(types, func, When::BeforeDerivatives))
            }),
            Pass::new("hoist_last", |case| each(case, |types, func, _| _ = hoist(types, func, When::Last))),
            Pass::new("sink", |case| {
                each(case, |types, func, effects| sink(types, func, effects, &|_| true))
            }),
            Pass::new("counted", |case| each(case, |types, func, _| _ = counted(types, func))),
            Pass::new("exits", |case| each(case, |types, func, _| _ = exits(types, func))),
            Pass::new("pointers", |case| each(case, |types, func, _| _ = pointers(types, func))),
            Pass::new("inline", inline),
            Pass::new("prune", pruned),
            Pass::new("fold", |case| each(case, |types, func, _| _ = fold(types, func))),
            Pass::new("tidy", |case| each(case, tidy)),
            Pass::new("sums", structured),
            Pass::new("columns", turned),
            Pass::new("checks", |case| {
                checks(&mut case.module);
                cotangent_ir::text::print_module(&case.module)
            }),
            Pass::new("unroll", unrolled),
            Pass::new("optimize", optimized),
        ],
    )
}

/// Turns the matrices in memory that lie column by column, as all do but those that say otherwise.
fn turned(case: &mut Case) -> String {
    match columns(&mut case.module, &mut ShaderParams::default(), Matrices::Columns) {
        Ok(_) => cotangent_ir::text::print_module(&case.module),
        Err(_) => "not possible\n".to_string(),
    }
}

/// Makes the sums of the module structures.
fn structured(case: &mut Case) -> String {
    sums(&mut case.module);
    cotangent_ir::text::print_module(&case.module)
}

/// Runs a pass on each function of the module. What was linear must be so still.
fn each(case: &mut Case, pass: fn(&mut Types, &mut Func, &Effects)) -> String {
    let effects = Effects::of(&case.module);
    for func in case.module.funcs.values_mut() {
        pass(&mut case.module.types, func, &effects);
    }
    for (id, func) in case.module.funcs.iter() {
        if let Some(linear) = case.linear.get(&id) {
            verify_linear(func, linear, &case.module).expect("linear values stay linear");
        }
    }
    case.text()
}

/// Unrolls, tidies, and says how many loops could not be unrolled. The argument is the limit.
fn unrolled(case: &mut Case) -> String {
    let limit = case.args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1000);
    let effects = Effects::of(&case.module);
    let mut failed = String::new();
    for func in case.module.funcs.values_mut() {
        let left = unroll(&mut case.module.types, func, limit);
        tidy(&mut case.module.types, func, &effects);
        if !left.is_empty() {
            failed += &format!("; @{}: {} not unrolled\n", func.name, left.len());
        }
    }
    case.text() + &failed
}

fn optimized(case: &mut Case) -> String {
    optimize(&mut case.module);
    case.text()
}

/// Removes what nothing needs. The arguments are the roots besides entry points.
fn pruned(case: &mut Case) -> String {
    let root = |name: &String| case.module.func_named(Symbol::new(name)).expect("a root is a function");
    let roots: Vec<FuncId> = case.args.iter().map(root).collect();
    let new = prune(&mut case.module, &roots);
    let names: Vec<&str> = roots.iter().map(|id| case.module.funcs[new[id]].name.as_str()).collect();
    assert_eq!(names, case.args, "roots are found under their new numbers");
    case.text()
}

/// Inlines everything but what asks not to be.
fn inline(case: &mut Case) -> String {
    for func in case.module.funcs.keys() {
        inline_calls(&mut case.module, func, &|callee| callee.inline != Inline::Never);
    }
    case.text()
}

/// One line per function: what it does and what its derivatives may do.
fn effects(case: &mut Case) -> String {
    let effects = Effects::of(&case.module);
    let mut text = String::new();
    for (id, func) in case.module.funcs.iter() {
        let written: Vec<String> =
            effects.written(id).iter().map(|g| format!(" @{}", case.module.globals[*g].name)).collect();
        let words = |does: cotangent_passes::effects::Does| {
            let all = [(does.reads, " reads"), (does.writes, " writes"), (does.asserts, " asserts")];
            all.into_iter().filter(|(does, _)| *does).map(|(_, word)| word).collect::<String>()
        };
        let (runs, derivative) = (words(effects.func(id)), words(effects.derivative(id)));
        text += &format!("@{}:{runs}; derivatives:{derivative}; may write:{}\n", func.name, written.concat());
    }
    text
}
