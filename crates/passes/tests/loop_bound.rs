//! How many rounds a loop can have, written as in a program: what it starts with, whether it goes on, what comes next.

use cotangent_ir::Op;
use cotangent_ir::text::parse_module;
use cotangent_passes::loop_bound::most;
use cotangent_passes::shape::{Loop, Shape};

/// A loop of one slot. The texts are instructions; the last of each defines `%start`, `%goes`, `%next`.
struct Case {
    ty: &'static str,
    before: &'static str,
    asks: &'static str,
    moves: &'static str,
}

fn rounds(case: &Case) -> Option<u32> {
    let Case { ty, before, asks, moves } = case;
    let text = format!(
        "func @f(%n: {ty}, %m: {ty}, %b: bool) -> {ty} {{
           {before}
           %r: {ty} = while (%start) cond(%i: {ty}) {{
             {asks}
             yield %goes
           }} body(%k: {ty}) {{
             {moves}
             yield %next
           }}
           return %r
         }}"
    );
    bound_of_first_loop(&text)
}

fn bound_of_first_loop(text: &str) -> Option<u32> {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    let func = module.funcs.values().next().expect("there is a function");
    let is_loop = |i: &cotangent_ir::Inst| matches!(func.insts[*i].op, Op::While(_) | Op::For(_));
    let insts = func.all_insts();
    let innermost = insts.iter().copied().rfind(is_loop).expect("there is a loop");
    let looped = Loop::of(func, innermost).expect("it is a loop");
    most(&module.types, func, &Shape::of(func), looped)
}

const FROM_0: &str = "%start: i32 = const 0";
const UP_1: &str = "%one: i32 = const 1  %next: i32 = add %k, %one";

#[test]
fn a_counter_is_bounded_by_what_its_limit_can_be() {
    let case = |before, asks| rounds(&Case { ty: "i32", before, asks, moves: UP_1 });
    assert_eq!(case(FROM_0, "%goes: bool = lt %i, %n"), None);
    let min = "%start: i32 = const 0  %c: i32 = const 16  %l: i32 = min %n, %c";
    assert_eq!(case(min, "%goes: bool = lt %i, %l"), Some(16));
    assert_eq!(case(min, "%goes: bool = gt %l, %i"), Some(16));
    assert_eq!(case(min, "%goes: bool = le %i, %l"), Some(17));
    let clamped = "%start: i32 = const 2  %a: i32 = const -3  %c: i32 = const 9  %x: i32 = max %n, %a  %l: i32 = min %x, %c";
    assert_eq!(case(clamped, "%goes: bool = lt %i, %l"), Some(7));
    let masked = "%start: i32 = const 0  %c: i32 = const 7  %l: i32 = and %n, %c";
    assert_eq!(case(masked, "%goes: bool = lt %i, %l"), Some(7));
    let remainder = "%start: i32 = const 0  %c: i32 = const 5  %l: i32 = rem %n, %c";
    assert_eq!(case(remainder, "%goes: bool = lt %i, %l"), Some(4));
    let chosen = "%start: i32 = const 0  %a: i32 = const 6  %c: i32 = const 11  %l: i32 = select %b, %a, %c";
    assert_eq!(case(chosen, "%goes: bool = lt %i, %l"), Some(11));
    let from_somewhere = "%c: i32 = const 3  %start: i32 = max %n, %c";
    assert_eq!(case(from_somewhere, "%l: i32 = const 20  %goes: bool = lt %i, %l"), Some(17));
}

#[test]
fn steps_may_differ_but_not_turn_round() {
    let case = |before, moves| {
        let asks = "%l: i32 = const 20  %goes: bool = lt %i, %l";
        rounds(&Case { ty: "i32", before, asks, moves })
    };
    let at_least_2 = "%two: i32 = const 2  %four: i32 = const 4  %s: i32 = select %b, %two, %four  %next: i32 = add %k, %s";
    assert_eq!(case(FROM_0, at_least_2), Some(10));
    let some = "%c: i32 = const 3  %d: i32 = const 9  %lo: i32 = max %m, %c  %s: i32 = min %lo, %d  %next: i32 = add %k, %s";
    assert_eq!(case(FROM_0, some), Some(7));
    let maybe_zero = "%zero: i32 = const 0  %two: i32 = const 2  %s: i32 = select %b, %two, %zero  %next: i32 = add %k, %s";
    assert_eq!(case(FROM_0, maybe_zero), None);
    // A step of 3 at most may lead beyond the largest number.
    let huge = "%c: i32 = const 3  %next: i32 = add %k, %c";
    let asks = "%l: i32 = const 2147483646  %goes: bool = lt %i, %l";
    assert_eq!(
        rounds(&Case { ty: "i32", before: "%start: i32 = const 2147483000", asks, moves: huge }),
        None
    );
}

#[test]
fn counters_go_down_grow_and_shrink() {
    let i32 = |before, asks, moves| rounds(&Case { ty: "i32", before, asks, moves });
    let down = "%one: i32 = const 1  %next: i32 = sub %k, %one";
    let from_min = "%c: i32 = const 12  %start: i32 = min %n, %c";
    assert_eq!(i32(from_min, "%z: i32 = const 0  %goes: bool = gt %i, %z", down), Some(12));
    assert_eq!(i32(from_min, "%z: i32 = const 0  %goes: bool = ge %i, %z", down), Some(13));
    let twice = "%two: i32 = const 2  %next: i32 = mul %k, %two";
    let from_1 = "%start: i32 = const 1";
    assert_eq!(i32(from_1, "%l: i32 = const 1000  %goes: bool = lt %i, %l", twice), Some(10));
    let limited = "%start: i32 = const 1  %c: i32 = const 100  %l: i32 = min %n, %c";
    assert_eq!(i32(limited, "%goes: bool = le %i, %l", twice), Some(7));
    // Of unknown size it may wrap around and start again.
    assert_eq!(i32(from_1, "%goes: bool = lt %i, %n", twice), None);
    let shifted = "%one: i32 = const 1  %next: i32 = shl %k, %one";
    assert_eq!(i32(limited, "%goes: bool = le %i, %l", shifted), Some(7));
    let halved = "%two: i32 = const 2  %next: i32 = div %k, %two";
    let from_n = "%z: i32 = const 0  %start: i32 = add %n, %z";
    assert_eq!(i32(from_n, "%z2: i32 = const 0  %goes: bool = gt %i, %z2", halved), Some(31));
    assert_eq!(i32(from_n, "%z2: i32 = const 0  %goes: bool = ne %i, %z2", halved), Some(32));
    let shifted = "%one: i32 = const 1  %next: i32 = shr %k, %one";
    assert_eq!(i32(from_n, "%z2: i32 = const 0  %goes: bool = gt %i, %z2", shifted), Some(31));
    // A negative number shifted stays negative.
    assert_eq!(i32(from_n, "%z2: i32 = const 0  %goes: bool = ne %i, %z2", shifted), None);
    let before = "%z: u32 = const 0  %start: u32 = add %n, %z";
    let moves = "%one: u32 = const 1  %next: u32 = shr %k, %one";
    assert_eq!(
        rounds(&Case { ty: "u32", before, asks: "%z2: u32 = const 0  %goes: bool = ne %i, %z2", moves }),
        Some(32)
    );
}

#[test]
fn what_is_a_constant_away_from_a_counter_counts_too() {
    let case = |ty, before, asks| {
        let moves = if ty == "u32" { "%one: u32 = const 1  %next: u32 = add %k, %one" } else { UP_1 };
        rounds(&Case { ty, before, asks, moves })
    };
    let limit = "%start: i32 = const 0  %d: i32 = const 2  %c: i32 = const 16  %l: i32 = min %n, %c";
    assert_eq!(case("i32", limit, "%j: i32 = add %i, %d  %goes: bool = lt %j, %l"), Some(14));
    assert_eq!(case("i32", limit, "%j: i32 = add %d, %i  %goes: bool = ge %l, %j"), Some(15));
    assert_eq!(case("i32", limit, "%j: i32 = sub %i, %d  %goes: bool = lt %j, %l"), Some(18));
    // Two below zero an unsigned counter is nearly at its largest.
    let unsigned = "%start: u32 = const 0  %d: u32 = const 2  %c: u32 = const 16  %l: u32 = min %n, %c";
    assert_eq!(case("u32", unsigned, "%j: u32 = sub %i, %d  %goes: bool = gt %l, %j"), None);
    // One that doubles is not twice as far from a place next to it.
    let doubles = Case {
        ty: "i32",
        before: "%start: i32 = const 1  %d: i32 = const 2  %c: i32 = const 16  %l: i32 = min %n, %c",
        asks: "%j: i32 = add %i, %d  %goes: bool = lt %j, %l",
        moves: "%two: i32 = const 2  %next: i32 = mul %k, %two",
    };
    assert_eq!(rounds(&doubles), None);
}

#[test]
fn a_shift_beyond_the_width_is_a_smaller_one() {
    let positive = "%z2: i32 = const 0  %goes: bool = gt %i, %z2";
    let from_n = "%z: i32 = const 0  %start: i32 = add %n, %z";
    let i32 = |before, asks, moves| rounds(&Case { ty: "i32", before, asks, moves });
    // By 33 is by 1, which takes 31 iterations, and by 32 nothing moves; of neither a bound is claimed.
    assert_eq!(i32(from_n, positive, "%s: i32 = const 31  %next: i32 = shr %k, %s"), Some(1));
    assert_eq!(i32(from_n, positive, "%s: i32 = const 33  %next: i32 = shr %k, %s"), None);
    assert_eq!(i32(from_n, positive, "%s: i32 = const 32  %next: i32 = shr %k, %s"), None);
    let below_100 = "%l: i32 = const 100  %goes: bool = lt %i, %l";
    let from_n_up = "%one: i32 = const 1  %start: i32 = max %n, %one";
    assert_eq!(i32(from_n_up, below_100, "%s: i32 = const 1  %next: i32 = shl %k, %s"), Some(7));
    assert_eq!(i32(from_n_up, below_100, "%s: i32 = const 33  %next: i32 = shl %k, %s"), None);
    // The limit of a counter is one of 31 bits, not none at all.
    let limited = "%start: i32 = const 0  %s: i32 = const 33  %l: i32 = shr %n, %s";
    assert_eq!(i32(limited, "%goes: bool = lt %i, %l", UP_1), None);
    let i64 = |moves| {
        let before = "%z: i64 = const 0  %start: i64 = add %n, %z";
        rounds(&Case { ty: "i64", before, asks: "%z2: i64 = const 0  %goes: bool = gt %i, %z2", moves })
    };
    assert_eq!(i64("%s: i64 = const 33  %next: i64 = shr %k, %s"), Some(2));
}

#[test]
fn what_follows_from_constants_is_tried() {
    let tenth = "%step: f32 = const 0.25  %next: f32 = add %k, %step";
    let asks = "%l: f32 = const 2.0  %goes: bool = lt %i, %l";
    let f32 = |before, asks, moves| rounds(&Case { ty: "f32", before, asks, moves });
    assert_eq!(f32("%start: f32 = const 0.0", asks, tenth), Some(8));
    let half = "%h: f32 = const 0.5  %next: f32 = mul %k, %h";
    assert_eq!(
        f32("%start: f32 = const 1.0", "%l: f32 = const 0.01  %goes: bool = gt %i, %l", half),
        Some(7)
    );
    assert_eq!(f32("%start: f32 = const 1.0", "%goes: bool = gt %i, %n", half), None);
    let odd = "%two: i32 = const 2  %one: i32 = const 1  %d: i32 = mul %k, %two  %next: i32 = add %d, %one";
    let asks = "%l: i32 = const 100  %goes: bool = lt %i, %l";
    assert_eq!(rounds(&Case { ty: "i32", before: "%start: i32 = const 0", asks, moves: odd }), Some(7));
    // Nor does anybody wait for one that does not end.
    let still = "%z: i32 = const 0  %next: i32 = mul %k, %z";
    assert_eq!(rounds(&Case { ty: "i32", before: "%start: i32 = const 0", asks, moves: still }), None);
}

#[test]
fn the_first_round_of_a_late_test_is_free() {
    let text = |start: i32, compare: &str| {
        format!(
            "func @f() -> i32 {{
               %yes: bool = const true
               %start: i32 = const {start}
               %f: bool, %r: i32 = while (%yes, %start) cond(%first: bool, %i: i32) {{
                 %goes: bool = if %first {{
                   %t: bool = const true
                   yield %t
                 }} else {{
                   %l: i32 = const 8
                   %c: bool = {compare} %i, %l
                   yield %c
                 }}
                 yield %goes
               }} body(%g: bool, %k: i32) {{
                 %no: bool = const false
                 %one: i32 = const 1
                 %next: i32 = add %k, %one
                 yield %no, %next
               }}
               return %r
             }}"
        )
    };
    assert_eq!(bound_of_first_loop(&text(0, "lt")), Some(8));
    assert_eq!(bound_of_first_loop(&text(50, "lt")), Some(1));
    // From the limit itself the first step leads past it.
    assert_eq!(bound_of_first_loop(&text(8, "ne")), None);
}

#[test]
fn a_guard_in_the_body_bounds_unless_a_round_can_avoid_it() {
    let text = |before: &str| {
        format!(
            "func @f(%b: bool) -> i32 {{
               %start: i32 = const 0
               %r: i32 = while (%start) cond(%i: i32) {{
                 %goes: bool = const true
                 yield %goes
               }} body(%k: i32) {{
                 %one: i32 = const 1
                 %next: i32 = add %k, %one
                 {before}
                 %l: i32 = const 8
                 %over: bool = ge %k, %l
                 if %over {{
                   break 0 %k
                 }} else {{
                   yield
                 }}
                 yield %next
               }}
               return %r
             }}"
        )
    };
    assert_eq!(bound_of_first_loop(&text("")), Some(9));
    assert_eq!(bound_of_first_loop(&text("if %b { continue 0 %next } else { yield }")), None);
    assert_eq!(bound_of_first_loop(&text("if %b { break 0 %next } else { yield }")), Some(9));
}

#[test]
fn an_inner_loop_is_bounded_by_the_counter_of_the_outer() {
    let text = |outer: &str| {
        format!(
            "func @f(%n: i32) -> i32 {{
               %zero: i32 = const 0
               %ten: i32 = const 10
               %r: i32 = {outer} {{
                 %s: i32 = while (%zero) cond(%j0: i32) {{
                   %d: bool = lt %j0, %k
                   yield %d
                 }} body(%j: i32) {{
                   %one: i32 = const 1
                   %j1: i32 = add %j, %one
                   yield %j1
                 }}
                 %two: i32 = const 1
                 %k1: i32 = add %k, %two
                 yield %k1
               }}
               return %r
             }}"
        )
    };
    let triangle = "while (%zero) cond(%i0: i32) { %c: bool = lt %i0, %ten yield %c } body(%k: i32)";
    assert_eq!(bound_of_first_loop(&text(triangle)), Some(9));
    let open = "while (%zero) cond(%i0: i32) { %c: bool = lt %i0, %n yield %c } body(%k: i32)";
    assert_eq!(bound_of_first_loop(&text(open)), None);
}

#[test]
fn a_counted_loop_is_bounded_by_its_count() {
    let text = |count: &str| {
        format!(
            "func @f(%n: i32, %x: f32) -> f32 {{
               {count}
               %r: f32 = for %count (%x) body(%k: i32, %y: f32) {{
                 %z: f32 = mul %y, %y
                 yield %z
               }}
               return %r
             }}"
        )
    };
    assert_eq!(bound_of_first_loop(&text("%c: i32 = const 5  %count: i32 = min %n, %c")), Some(5));
    assert_eq!(bound_of_first_loop(&text("%c: i32 = const -5  %count: i32 = min %n, %c")), Some(0));
    assert_eq!(bound_of_first_loop(&text("%c: i32 = const 0  %count: i32 = max %n, %c")), None);
}

#[test]
fn a_flag_that_every_round_clears_allows_one() {
    let case = |before, moves| {
        rounds(&Case { ty: "bool", before, asks: "%goes: bool = and %i, %i", moves }).zip(
            // The variable itself is the condition.
            bound_of_first_loop(&format!(
                "func @f(%n: bool, %m: bool) -> bool {{
                   {before}
                   %r: bool = while (%start) cond(%i: bool) {{ yield %i }} body(%k: bool) {{ {moves} yield %next }}
                   return %r
                 }}"
            )),
        )
    };
    let clears = "%next: bool = const false";
    assert_eq!(case("%start: bool = const true", clears), Some((1, 1)));
    assert_eq!(case("%start: bool = not %n", clears), Some((1, 1)));
    assert_eq!(case("%start: bool = const true", "%next: bool = and %k, %m"), None);
    assert_eq!(case("%start: bool = not %n", "%next: bool = not %k"), None);
}
