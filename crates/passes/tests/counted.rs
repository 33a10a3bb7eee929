//! The number of iterations of a counted loop is right at both ends of the numbers.

use cotangent_ir::text::{parse_module, print_module};
use cotangent_ir::{Const, Op, verify};
use cotangent_passes::counted::counted;
use cotangent_passes::inline::inline_calls;
use cotangent_passes::pass::{TIDY, When};

/// A loop from `start` to `bound`, and a call of it with constants.
fn source(ty: &str, compare: &str, step: i64, start: i64, bound: i64) -> String {
    let (op, size) = if step < 0 { ("sub", -step) } else { ("add", step) };
    format!(
        "func @loop(%start: {ty}, %bound: {ty}) -> {ty} {{
           %i: {ty} = while (%start) cond(%i0: {ty}) {{
             %c: bool = {compare} %i0, %bound
             yield %c
           }} body(%i1: {ty}) {{
             %step: {ty} = const {size}
             %i2: {ty} = {op} %i1, %step
             yield %i2
           }}
           return %i
         }}
         func @main() -> {ty} {{
           %a: {ty} = const {start}
           %b: {ty} = const {bound}
           %r: {ty} = call @loop(%a, %b)
           return %r
         }}"
    )
}

/// What the loop gives if it ends soon.
fn expected(signed: bool, compare: &str, step: i64, start: i64, bound: i64) -> Option<i64> {
    let wrap = |n: i64| if signed { i64::from(n as i32) } else { i64::from(n as u32) };
    let mut i = start;
    for _ in 0..100 {
        let goes_on = match compare {
            "lt" => i < bound,
            "le" => i <= bound,
            "gt" => i > bound,
            "ge" => i >= bound,
            "ne" => i != bound,
            other => panic!("{other} is no comparison"),
        };
        if !goes_on {
            return Some(i);
        }
        i = wrap(i + step);
    }
    None
}

/// What the loop gives after it was made a counted one, which is then dead but for its count.
fn computed(text: &str) -> Option<i64> {
    let mut module = parse_module(text).expect("the text is right");
    let [callee, main] = ["loop", "main"].map(|name| module.func_named(name.into()).expect("it is there"));
    if !counted(&mut module.types, &mut module.funcs[callee]) {
        return None;
    }
    verify(&module).unwrap_or_else(|e| panic!("{e}\n{}", print_module(&module)));
    inline_calls(&mut module, main, &|_| true);
    TIDY.run_alone(&mut module, When::Last);
    let func = &module.funcs[main];
    let result = func.exit(func.body).operands[0];
    match func.op(result) {
        Some(Op::Const(Const::Int(n))) => Some(*n),
        Some(Op::Zero) => Some(0),
        other => panic!("not folded: {other:?}\n{}", print_module(&module)),
    }
}

#[test]
fn counts_are_right_at_both_ends_of_the_numbers() {
    let mut checked = 0;
    for (ty, low, high) in
        [("i32", i64::from(i32::MIN), i64::from(i32::MAX)), ("u32", 0, i64::from(u32::MAX))]
    {
        let middle = if ty == "i32" { 0 } else { 1 << 31 };
        let near = |n: i64| [n - 7, n - 3, n - 1, n, n + 1, n + 2, n + 5];
        let numbers: Vec<i64> = [near(low), near(middle), near(high)]
            .concat()
            .into_iter()
            .filter(|n| (low..=high).contains(n))
            .collect();
        for compare in ["lt", "le", "gt", "ge", "ne"] {
            for step in [1, 2, 3, 7, 1024, -1, -2, -5] {
                for (&start, &bound) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a, b))) {
                    let Some(expected) = expected(ty == "i32", compare, step, start, bound) else { continue };
                    let text = source(ty, compare, step, start, bound);
                    if let Some(computed) = computed(&text) {
                        assert_eq!(computed, expected, "{ty} {start} {compare} {bound} step {step}");
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "only {checked} loops became counted");
}
