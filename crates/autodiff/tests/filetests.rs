//! The passes on IR text.
//!
//! - `linearize <mask>`: linearizes the last function of the file; `d` marks inputs that have a tangent.
//! - `prepare`: removes the early exits of every function.
//! - `unzip`, `transpose`: see `passes/reverse.rs`.
//! - `add`, `zero`: writes the sum of the two parameters, or the zero, of the last function, of any differential type.
//! - `differentiate`: gives every request its body; if that fails, shows what was told.

#[path = "passes/reverse.rs"]
mod reverse;

use cotangent_autodiff::differentiate;
use cotangent_autodiff::linearize::linearize;
use cotangent_autodiff::prepare::prepare;
use cotangent_autodiff::tangent;
use cotangent_base::Diagnostics;
use cotangent_filetest::{Case, Pass, run};
use cotangent_ir::{
    Builder, DiffTable, Func, FuncId, InputMask, Mode, Module, Op, Value, text, verify_linear,
};

fn main() {
    run(
        "tests/filetests",
        &[
            Pass::new("linearize", run_linearize),
            Pass::new("prepare", run_prepare),
            Pass::new("add", run_add),
            Pass::new("zero", run_zero),
            Pass::new("differentiate", run_differentiate),
            Pass::new("unzip", reverse::run_unzip),
            Pass::new("transpose", reverse::run_transpose),
        ],
    );
}

fn run_linearize(case: &mut Case) -> String {
    let id = case.module.funcs.keys().last().expect("the file has a function");
    let mask: InputMask = case.args[0].chars().map(|c| c == 'd').collect();
    let mut diagnostics = Diagnostics::new();
    let func = case.module.funcs[id].clone();
    let linearized = linearize(&mut case.module, func, &mask, Mode::Backward, &mut diagnostics);
    if !diagnostics.is_empty() {
        return told(&diagnostics);
    }
    let text = text::print_linear_func(&case.module, &linearized.func, &linearized.lin);
    verify_linear(&linearized.func, &linearized.lin, &case.module)
        .unwrap_or_else(|e| panic!("the linear law is broken: {e}\n\n{text}"));
    case.module.funcs[id] = linearized.func;
    text
}

fn run_prepare(case: &mut Case) -> String {
    for id in case.module.funcs.keys() {
        let prepared = prepare(&mut case.module.types, &case.module.funcs[id]);
        case.module.funcs[id] = prepared.func;
    }
    case.text()
}

fn run_add(case: &mut Case) -> String {
    write_body(case, |b, diff| {
        let (x, y) = (b.func.inputs()[0], b.func.inputs()[1]);
        tangent::add(b, diff, x, y)
    })
}

fn run_zero(case: &mut Case) -> String {
    write_body(case, |b, diff| {
        let ty = b.func.sig.ret.expect("a result").ty;
        tangent::zero(b, diff, ty)
    })
}

/// Gives the last function a body that returns what `build` builds.
fn write_body(case: &mut Case, build: impl FnOnce(&mut Builder<'_>, &DiffTable) -> Value) -> String {
    let id = case.module.funcs.keys().last().expect("the file has a function");
    let Module { types, diff, funcs, .. } = &mut case.module;
    let old = &funcs[id];
    let mut func = Func::new(old.name, old.sig.clone(), old.span);
    let mut b = Builder::new(types, &mut func);
    let value = build(&mut b, diff);
    b.emit(Op::Return, &[value], &[]);
    funcs[id] = func;
    text::print_func(&case.module, id)
}

/// The functions that are new or not what they were: requests with a body, and nothing else.
fn run_differentiate(case: &mut Case) -> String {
    let shown = |module: &Module| -> Vec<(FuncId, String)> {
        module.funcs.keys().map(|f| (f, text::print_func(module, f))).collect()
    };
    let old = shown(&case.module);
    let diagnostics = differentiate(&mut case.module);
    if !diagnostics.is_empty() {
        return told(&diagnostics);
    }
    let new = shown(&case.module).into_iter().filter(|f| !old.contains(f));
    new.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

fn told(diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    for d in diagnostics.iter() {
        text += &format!("; {}: {}\n", d.code.name, d.message);
        if let Some(help) = &d.help {
            text += &format!(";   help: {help}\n");
        }
    }
    text
}
