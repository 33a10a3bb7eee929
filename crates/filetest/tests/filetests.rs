//! The runner on files of its own, and the texts it must refuse.

use cotangent_filetest::{Case, Pass, blessed, output, run};
use cotangent_ir::Math;

fn passes() -> Vec<Pass> {
    vec![
        Pass::new("print", |case: &mut Case| case.text()),
        Pass::new("args", |case: &mut Case| case.args.join("+")),
        Pass::new("break", |case: &mut Case| {
            let func = case.module.funcs.values_mut().next().expect("the file has a function");
            let inst = func.all_insts()[0];
            func.insts[inst].op = cotangent_ir::Op::Math(Math::Add);
            case.text()
        }),
    ]
}

/// What is said of a text that must be refused.
fn refusal(text: &str) -> String {
    output(text, &passes()).expect_err("the text must be refused")
}

fn main() {
    let func = "func @f() -> i32 {\n  %0: i32 = const 2\n  return %0\n}\n";
    assert_eq!(refusal(func), "the first line is not `; test <pass>`");
    assert_eq!(refusal("; test frob\n"), "there is no pass `frob`; there are: print, args, break");
    assert_eq!(refusal("; test print\nfunc"), "2:5: expected a function: `@name`");
    assert_eq!(refusal("; test print\nfunc @f() {}"), "before the pass: @f: region0 is empty");
    assert!(refusal(&format!("; test break\n{func}")).starts_with("after the pass: @f: "));
    let file = format!("; test print\n{func}");
    let once = blessed(&file, func);
    assert_eq!(once, format!("{file}\n; expect\n{func}").replace("}\n\n;", "}\n;"));
    assert_eq!(blessed(&once, func), once);
    run("tests/cases", &passes());
}
