//! Branches, loops and exits from every depth, with results derived by hand.

use crate::common::{outputs, run};
use cotangent_base::{Entity, FileId, Span, Symbol};
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::{Op, Trap};

fn ints(text: &str, inputs: &[i64]) -> Vec<i64> {
    let outputs = outputs(text, inputs.iter().map(|i| Val::int(*i)).collect());
    outputs.iter().map(|v| v.as_int().expect("an integer")).collect()
}

#[test]
fn a_branch_gives_what_it_yields() {
    let text = "func @f(%a: i32, %b: i32) -> i32 { %c: bool = lt %a, %b
        %r: i32 = if %c { yield %b } else { %d: i32 = sub %a, %b yield %d } return %r }";
    assert_eq!(ints(text, &[1, 5]), [5]);
    assert_eq!(ints(text, &[9, 5]), [4]);
}

#[test]
fn a_switch_runs_the_case_or_the_default() {
    let text = "func @f(%s: u32) -> i32 { %ten: i32 = const 10 %twenty: i32 = const 20 %thirty: i32 = const 30
        %r: i32 = switch %s case 1 { yield %ten } case -1 { yield %twenty } default { yield %thirty } return %r }";
    assert_eq!(ints(text, &[1]), [10]);
    assert_eq!(ints(text, &[u32::MAX.into()]), [20]);
    assert_eq!(ints(text, &[7]), [30]);
}

#[test]
fn a_while_gives_the_arguments_with_which_its_condition_failed() {
    // Halves until below 10 and counts.
    let text = "func @f(%n: i32) -> i32 { %zero: i32 = const 0 %one: i32 = const 1 %two: i32 = const 2 %ten: i32 = const 10
        %x: i32, %k: i32 = while (%n, %zero) cond(%a: i32, %b: i32) { %c: bool = ge %a, %ten yield %c }
        body(%a2: i32, %b2: i32) { %half: i32 = div %a2, %two %i: i32 = add %b2, %one yield %half, %i }
        %h: i32 = const 100 %m: i32 = mul %k, %h %r: i32 = add %m, %x return %r }";
    assert_eq!(ints(text, &[100]), [406]);
    assert_eq!(ints(text, &[3]), [3]);
}

#[test]
fn slots_are_exchanged_all_at_once() {
    let text = "func @f(%n: i32, %a: i32, %b: i32) -> i32 {
        %x: i32, %y: i32 = for %n (%a, %b) body(%k: i32, %p: i32, %q: i32) { yield %q, %p }
        %h: i32 = const 100 %m: i32 = mul %x, %h %r: i32 = add %m, %y return %r }";
    assert_eq!(ints(text, &[3, 1, 2]), [201]);
    assert_eq!(ints(text, &[4, 1, 2]), [102]);
}

#[test]
fn counted_loops_run_either_way_and_not_at_all() {
    // Appends the digit of each iteration.
    let text = |rev: &str| {
        format!(
            "func @f(%n: i32) -> i32 {{ %z: i32 = const 0 %ten: i32 = const 10
             %r: i32 = for %n (%z) {rev} body(%k: i32, %a: i32) {{ %s: i32 = mul %a, %ten %t: i32 = add %s, %k yield %t }} return %r }}"
        )
    };
    assert_eq!(ints(&text(""), &[4]), [123]);
    assert_eq!(ints(&text("rev"), &[4]), [3210]);
    assert_eq!(ints(&text(""), &[0]), [0]);
    assert_eq!(ints(&text("rev"), &[-3]), [0]);
}

/// Two nested loops over `i < 4`, `j < 4` that count; at `(i, j) = (2, 1)` the given exit is taken. The outer loop
/// carries its count, the inner one too; after the inner loop 100 is added, after the outer one 10000.
fn nested(exit: &str) -> String {
    format!(
        "func @f() -> i32 {{
           %zero: i32 = const 0 %one: i32 = const 1 %two: i32 = const 2 %four: i32 = const 4
           %hundred: i32 = const 100 %more: i32 = const 10000
           %o: i32 = for %four (%zero) body(%i: i32, %a: i32) {{
             %p: i32 = for %four (%a) body(%j: i32, %b: i32) {{
               %e: bool = eq %i, %two %g: bool = eq %j, %one %h: bool = and %e, %g
               if %h {{ {exit} }} else {{ yield }}
               %c: i32 = add %b, %one
               yield %c
             }}
             %q: i32 = add %p, %hundred
             yield %q
           }}
           %r: i32 = add %o, %more
           return %r
         }}"
    )
}

#[test]
fn exits_leave_exactly_the_loops_they_name() {
    assert_eq!(ints(&nested("yield"), &[]), [10416]);
    // Misses 3 of 16 iterations.
    assert_eq!(ints(&nested("break 0 %b"), &[]), [10413]);
    // Misses 1 of 16 iterations.
    assert_eq!(ints(&nested("continue 0 %b"), &[]), [10415]);
    // 9 iterations, then the end of the outer loop.
    assert_eq!(ints(&nested("break 1 %b"), &[]), [10209]);
    // 9 iterations, no hundred for this outer iteration, 4 more iterations.
    assert_eq!(ints(&nested("continue 1 %b"), &[]), [10313]);
    assert_eq!(ints(&nested("return %b"), &[]), [209]);
    // Out of a loop inside the branch.
    let inside = "for %four () body(%k: i32) { break 2 %b } yield";
    assert_eq!(ints(&nested(inside), &[]), [10209]);
}

#[test]
fn a_loop_inside_a_condition_is_only_a_condition() {
    // The least n with 1 + 2 + .. + n > 20, found by summing anew each time, is 6.
    let text = "func @f() -> i32 { %z: i32 = const 0 %one: i32 = const 1 %twenty: i32 = const 20
        %n: i32 = while (%z) cond(%a: i32) {
          %s: i32 = for %a (%z) body(%k: i32, %t: i32) { %m: i32 = add %k, %one %u: i32 = add %t, %m yield %u }
          %c: bool = le %s, %twenty yield %c
        } body(%b: i32) { %d: i32 = add %b, %one yield %d }
        return %n }";
    assert_eq!(ints(text, &[]), [6]);
}

#[test]
fn recursion_is_as_deep_as_allowed_and_no_deeper() {
    let text = "func @f(%n: i32) -> i32 { %z: i32 = const 0 %one: i32 = const 1 %c: bool = le %n, %z
        %r: i32 = if %c { yield %z } else { %m: i32 = sub %n, %one %s: i32 = call @f(%m) %t: i32 = add %s, %n yield %t } return %r }";
    assert_eq!(ints(text, &[5000]), [12_502_500]);
    let (outcome, _) = run(text, vec![Val::int(i64::from(i32::MAX))], Options::default());
    let stopped = outcome.unwrap_err();
    assert_eq!(stopped.trap, Trap::CallDepth);
    assert_eq!(stopped.calls.len(), 9_999);
    let (outcome, _) = run(text, vec![Val::int(10)], Options { max_depth: 10, ..Options::default() });
    assert_eq!(outcome.unwrap_err().trap, Trap::CallDepth);
    let (outcome, _) = run(text, vec![Val::int(9)], Options { max_depth: 10, ..Options::default() });
    assert_eq!(outcome.unwrap(), [Val::int(45)]);
}

#[test]
fn every_trap_stops_the_program() {
    let stops = |text: &str, inputs: &[i64]| {
        let inputs = inputs.iter().map(|i| Val::int(*i)).collect();
        run(text, inputs, Options { max_steps: 1000, ..Options::default() }).0.unwrap_err().trap
    };
    let index = "func @f(%i: i32) -> i32 { %a: [i32; 4] = zero %r: i32 = extract %a [%i] return %r }";
    assert_eq!(stops(index, &[4]), Trap::OutOfBounds);
    assert_eq!(stops(index, &[-1]), Trap::OutOfBounds);
    assert_eq!(ints(index, &[3]), [0]);
    let insert = "func @f(%i: i32) -> i32 { %a: f32x2x3 = zero %z: f32 = zero %b: f32x2x3 = insert %a, %z [1, %i] return %i }";
    assert_eq!(stops(insert, &[3]), Trap::OutOfBounds);
    let load = "global @b: buffer<i32> param func @f() -> i32 { %b: buffer<i32> = global @b %r: i32 = load %b [0] return %r }";
    assert_eq!(stops(load, &[]), Trap::OutOfBounds);
    let store = "global @b: rwbuffer<i32> param func @f(%i: i32) { %b: rwbuffer<i32> = global @b store %b, %i [%i] return }";
    assert_eq!(stops(store, &[0]), Trap::OutOfBounds);
    let divide = "func @f(%i: i32) -> i32 { %r: i32 = rem %i, %i return %r }";
    assert_eq!(stops(divide, &[0]), Trap::DivisionByZero);
    let assert = "func @f() { %c: bool = const false assert loop_bound %c return }";
    assert_eq!(stops(assert, &[]), Trap::LoopBound);
    let forever = "func @f() { %c: bool = const true while () cond() { yield %c } body() { yield } return }";
    assert_eq!(stops(forever, &[]), Trap::StepLimit);
}

#[test]
fn a_stop_says_where_and_for_whom() {
    let text = "global @b: rwbuffer<u32> param
        func @g(%i: u32) { %b: rwbuffer<u32> = global @b store %b, %i [%i] return }
        func @main(%d: u32x3) entry(4, 1, 1)(dispatch_thread_id) { %x: u32 = extract %d [0] call @g(%x) return }";
    let mut module = crate::common::module(text);
    let span = |start| Span::new(FileId::new(0), start, start + 1);
    for func in module.funcs.values_mut() {
        for inst in func.all_insts() {
            match func.insts[inst].op {
                Op::Store(_) => func.insts[inst].span = span(7),
                Op::Call(_) => func.insts[inst].span = span(9),
                _ => {}
            }
        }
    }
    let mut machine = Machine::new(&module, Options::default());
    machine.set_global(module.global_named(Symbol::new("b")).unwrap(), Val::ints(&[0; 6]));
    let stopped = machine.dispatch(module.func_named(Symbol::new("main")).unwrap(), [2, 1, 1]).unwrap_err();
    assert_eq!(
        (stopped.trap, stopped.span, &stopped.calls[..]),
        (Trap::OutOfBounds, span(7), &[span(9)][..])
    );
    assert_eq!(stopped.thread, Some([6, 0, 0]));
    assert_eq!(stopped.to_string(), "index out of bounds in `g`, thread (6, 0, 0)");
    let diagnostic = stopped.diagnostic();
    assert_eq!(
        (diagnostic.code.name, diagnostic.primary.span, diagnostic.labels.len()),
        ("E0801", span(7), 1)
    );
}
