//! Tests of the passes, as files of IR text in `tests/filetests`. The first line names a pass of the table; the passes with
//! arguments or a result to show, and the analyses, are here.

use cotangent_base::Symbol;
use cotangent_filetest::{Case, Pass, run};
use cotangent_ir::layout::Matrices;
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{FuncId, verify_linear};
use cotangent_passes::columns::columns;
use cotangent_passes::effects::Effects;
use cotangent_passes::pass::{self, HOIST, PASSES, TIDY, When};
use cotangent_passes::prune::prune;
use cotangent_passes::uniform::{Rules, Uniform};
use cotangent_passes::unroll::unroll;

fn main() {
    let mut passes = vec![
        Pass::new("effects", effects),
        Pass::new("hoist_last", |case: &mut Case| alone(case, HOIST, When::Last)),
        Pass::new("prune", pruned),
        Pass::new("columns", transposed),
        Pass::new("uniform", varying),
        Pass::new("unroll", unrolled),
    ];
    let row = |pass: &'static pass::Pass| {
        Pass::new(pass.name, move |case: &mut Case| alone(case, pass, When::BeforeDerivatives))
    };
    passes.extend(PASSES.iter().map(|pass| row(pass)));
    run("tests/filetests", &passes)
}

/// Runs a pass of the table. What was linear must be so still.
fn alone(case: &mut Case, pass: &pass::Pass, when: When) -> String {
    pass.run_alone(&mut case.module, when);
    for (id, func) in case.module.funcs.iter() {
        if let Some(linear) = case.linear.get(&id) {
            verify_linear(func, linear, &case.module).expect("linear values stay linear");
        }
    }
    case.text()
}

/// Transposes the matrices in memory that lie column by column, as all do but those that say otherwise.
fn transposed(case: &mut Case) -> String {
    match columns(&mut case.module, &mut ShaderParams::default(), Matrices::Columns) {
        Ok(_) => case.text(),
        Err(_) => "not possible\n".to_string(),
    }
}

/// Unrolls, tidies, and says how many loops could not be unrolled. The argument is the limit.
fn unrolled(case: &mut Case) -> String {
    let limit = case.args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1000);
    let mut failed = String::new();
    for func in case.module.funcs.values_mut() {
        let left = unroll(&mut case.module.types, func, limit);
        if !left.is_empty() {
            failed += &format!("; @{}: {} not unrolled\n", func.name, left.len());
        }
    }
    TIDY.run_alone(&mut case.module, When::BeforeDerivatives);
    case.text() + &failed
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

/// For each function the values that vary, and the branches and loops that lanes may go through differently. With the argument
/// `at_once` lanes read memory at once, with `ends_together` they end reversed loops together.
fn varying(case: &mut Case) -> String {
    let is_given = |word: &str| case.args.iter().any(|arg| arg == word);
    let (reads_at_once, ends_together) = (is_given("at_once"), is_given("ends_together"));
    let rules = Rules { reads_at_once, ends_together, ..Rules::default() };
    let mut text = String::new();
    for func in case.module.funcs.values() {
        let uniform = Uniform::of(&case.module.types, func, rules);
        let names = func.values.keys().filter(|value| uniform.varies(*value)).map(|v| format!(" {v}"));
        let names: String = names.collect();
        let insts = func.all_insts();
        let apart = insts.iter().filter(|inst| uniform.splits(**inst));
        let apart: String = apart.map(|inst| format!(" {}", func.insts[*inst].op.name())).collect();
        text += &format!("@{}: vary{names}; lanes part at{apart}\n", func.name);
    }
    text
}
