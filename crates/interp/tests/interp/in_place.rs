//! What is not copied. Counting elements at N and 4N shows whether a loop is linear or quadratic; both give the right
//! numbers.

use crate::common::run;
use cotangent_interp::{Options, Val};

/// The elements copied or filled by a text in which `N` is replaced, beyond those of its one zero array.
fn elements(text: &str, n: i64) -> u64 {
    let (outcome, counters) = run(&text.replace("N", &n.to_string()), vec![Val::int(n)], Options::default());
    outcome.unwrap();
    assert_eq!(counters.undef_reads, 0);
    counters.elements - n as u64
}

/// Asserts that a text copies nothing at all, whatever the size.
fn assert_in_place(text: &str) {
    assert_eq!(elements(text, 64), 0, "{text}");
    assert_eq!(elements(text, 256), 0, "{text}");
}

#[test]
fn an_array_carried_round_a_loop_is_updated_in_place() {
    assert_in_place(
        "func @f(%n: i32) -> f32 { %a: [f32; N] = zero %i: i32 = const 3
         %r: [f32; N] = for %n (%a) body(%k: i32, %b: [f32; N]) {
           %x: f32 = extract %b [%k] %y: f32 = cos %x %c: [f32; N] = insert %b, %y [%k] yield %c }
         %e: f32 = extract %r [%i] return %e }",
    );
    assert_in_place(
        "func @f(%n: i32) -> f32 { %a: [f32; N] = zero %z: i32 = const 0 %one: i32 = const 1 %x: f32 = const 1.0
         %k: i32, %r: [f32; N] = while (%z, %a) cond(%k1: i32, %b1: [f32; N]) {
           %l: bool = lt %k1, %n %v: f32 = extract %b1 [0] %w: f32 = const 1e9 %l2: bool = lt %v, %w %l3: bool = and %l, %l2 yield %l3 }
         body(%k2: i32, %b2: [f32; N]) { %c: [f32; N] = insert_add %b2, %x [%k2] %k3: i32 = add %k2, %one yield %k3, %c }
         %e: f32 = extract %r [0] return %e }",
    );
}

#[test]
fn reading_the_old_version_after_an_update_costs_a_copy() {
    let text = "func @f(%n: i32) -> f32 { %a: [f32; N] = zero %x: f32 = const 1.0 %z: i32 = const 0
         %r: [f32; N] = for %n (%a) body(%k: i32, %b: [f32; N]) {
           %c: [f32; N] = insert %b, %x [%k] %old: f32 = extract %b [%k] %d: [f32; N] = insert_add %c, %old [%z] yield %d }
         %e: f32 = extract %r [0] return %e }";
    assert_eq!(elements(text, 64), 64 * 64);
    assert_eq!(elements(text, 256), 256 * 256);
}

#[test]
fn branches_and_exits_keep_updates_in_place() {
    assert_in_place(
        "func @f(%n: i32) -> f32 { %a: [f32; N] = zero %x: f32 = const 1.0 %two: i32 = const 2 %z: i32 = const 0 %lim: i32 = const 50
         %r: [f32; N] = for %n (%a) body(%k: i32, %b: [f32; N]) {
           %m: i32 = rem %k, %two %c: bool = eq %m, %z %stop: bool = gt %k, %lim
           if %stop { break 0 %b } else { yield }
           if %c { %w: [f32; N] = insert %b, %x [%k] continue 0 %w } else { yield }
           %d: [f32; N] = if %c { %u: [f32; N] = insert %b, %x [%k] yield %u } else { yield %b }
           %e: [f32; N] = insert_add %d, %x [%z]
           yield %e }
         %s: f32 = extract %r [0] return %s }",
    );
}

/// A loop that carries an array; each iteration packs it into a structure beside itself, does something, and then
/// updates the array it finds in the structure. In place only if nothing else still holds it.
fn packed(between: &str) -> String {
    format!(
        "struct $S {{ a: [f32; N], x: f32 }}
         func @f(%n: i32) -> f32 {{ %a: [f32; N] = zero %x: f32 = const 1.0 %one: i32 = const 1 %z: i32 = const 0
         %r: [f32; N] = for %n (%a) body(%k: i32, %b: [f32; N]) {{
           %b2: [f32; N] = insert %b, %x [%k]
           %s: $S = pack %b2, %x
           {between}
           %q: [f32; N] = extract %s [0]
           %d: [f32; N] = insert %q, %y [%k]
           yield %d }}
         %e: f32 = extract %r [0] return %e }}"
    )
}

#[test]
fn a_branch_lets_go_of_what_only_another_branch_uses() {
    assert_in_place(&packed(
        "%c: bool = lt %k, %z %y: f32 = if %c { %t: f32 = extract %b2 [0] yield %t } else { yield %x }",
    ));
}

#[test]
fn what_a_loop_captured_is_let_go_behind_it() {
    assert_in_place(&packed(
        "%y: f32 = for %one (%x) body(%j: i32, %acc: f32) { %t: f32 = extract %b2 [%j] %u: f32 = add %acc, %t yield %u }",
    ));
}

#[test]
fn an_exit_over_several_loops_lets_go_of_all_their_values() {
    assert_in_place(&packed(
        "%y: f32 = for %one (%x) body(%j: i32, %acc: f32) {
           %t: f32 = extract %b2 [%j] %p: [f32; N] = extract %s [0] continue 1 %p }",
    ));
}

#[test]
fn results_nobody_uses_hold_nothing() {
    assert_in_place(
        "func @f(%n: i32) -> f32 { %a: [f32; N] = zero %x: f32 = const 1.0 %one: i32 = const 1
         %r: [f32; N] = for %n (%a) body(%k: i32, %b: [f32; N]) {
           %p: [f32; N], %q: [f32; N] = for %one (%b, %b) body(%j: i32, %c: [f32; N], %d: [f32; N]) { yield %c, %c }
           %e: [f32; N] = insert %p, %x [%k]
           yield %e }
         %s: f32 = extract %r [0] return %s }",
    );
}

#[test]
fn a_call_updates_its_inout_argument_in_place() {
    assert_in_place(
        "func @upd(inout %a: [f32; N], %i: i32) { %x: f32 = extract %a [%i] %y: f32 = cos %x %b: [f32; N] = insert %a, %y [%i] return %b }
         func @f(%n: i32) -> f32 { %a: [f32; N] = zero
         %r: [f32; N] = for %n (%a) body(%k: i32, %b: [f32; N]) { %c: [f32; N] = call @upd(%b, %k) yield %c }
         %e: f32 = extract %r [0] return %e }",
    );
}

#[test]
fn a_field_about_to_be_replaced_is_moved_out() {
    assert_in_place(
        "struct $S { count: i32, a: [f32; N], b: f32x2 }
         func @upd(inout %a: [f32; N], %i: i32) { %x: f32 = extract %a [%i] %y: f32 = cos %x %b: [f32; N] = insert %a, %y [%i] return %b }
         func @f(%n: i32) -> f32 { %s: $S = zero %one: i32 = const 1
         %r: $S = for %n (%s) body(%k: i32, %t: $S) {
           %a: [f32; N] = extract %t [1] %c: i32 = extract %t [0]
           %a2: [f32; N] = call @upd(%a, %k) %c2: i32 = add %c, %one
           %t2: $S = insert %t, %c2 [0] %t3: $S = insert %t2, %a2 [1] yield %t3 }
         %e: f32 = extract %r [1, 0] return %e }",
    );
}

#[test]
fn a_field_that_is_still_read_is_not_moved_out() {
    // %t's field is read again between taking it and replacing it, so its value must still be there.
    let text = "struct $S { a: [f32; 2] }
         func @f(%x: f32) -> f32 { %s: $S = zero %a: [f32; 2] = extract %s [0] %a2: [f32; 2] = insert %a, %x [0]
         %old: f32 = extract %s [0, 0] %s2: $S = insert %s, %a2 [0] %new: f32 = extract %s2 [0, 0]
         %r: f32 = sub %new, %old return %r }";
    let (outcome, counters) = run(text, vec![Val::float(3.0)], Options::default());
    assert_eq!(outcome.unwrap(), [Val::float(3.0)]);
    assert_eq!(counters.undef_reads, 0);
}

#[test]
fn a_row_that_replaces_another_row_is_not_moved_out() {
    let text = "func @f(%x: f32, %i: i32, %j: i32) -> f32 { %s: [[f32; 2]; 2] = zero %s1: [[f32; 2]; 2] = insert %s, %x [%i, 0]
         %row: [f32; 2] = extract %s1 [%i] %row2: [f32; 2] = insert %row, %x [1] %s2: [[f32; 2]; 2] = insert %s1, %row2 [%j]
         %r: f32 = extract %s2 [%i, 0] return %r }";
    let (outcome, counters) = run(text, vec![Val::float(3.0), Val::int(0), Val::int(1)], Options::default());
    assert_eq!(outcome.unwrap(), [Val::float(3.0)]);
    assert_eq!(counters.undef_reads, 0);
}

#[test]
fn shared_parts_are_not_changed_through_one_another() {
    // Both fields begin as one array; changing one must not change the other.
    let text = "struct $S { a: [f32; 2], b: [f32; 2] }
         func @f(%x: f32) -> f32 { %z: [f32; 2] = zero %s: $S = pack %z, %z
         %a: [f32; 2] = extract %s [0] %a2: [f32; 2] = insert %a, %x [0] %s2: $S = insert %s, %a2 [0]
         %r: f32 = extract %s2 [1, 0] return %r }";
    assert_eq!(run(text, vec![Val::float(3.0)], Options::default()).0.unwrap(), [Val::float(0.0)]);
}

#[test]
fn thousands_of_elements_and_rounds_are_fine() {
    let text = "func @f(%n: i32) -> f32 { %a: [f32; 20000] = zero %x: f32 = const 1.0
         %r: [f32; 20000] = for %n (%a) body(%k: i32, %b: [f32; 20000]) { %c: [f32; 20000] = insert_add %b, %x [%k] yield %c }
         %e: f32 = sum %r return %e }";
    let (outcome, counters) = run(text, vec![Val::int(20000)], Options::default());
    assert_eq!(outcome.unwrap(), [Val::float(20000.0)]);
    assert_eq!(counters.elements, 40000);
}
