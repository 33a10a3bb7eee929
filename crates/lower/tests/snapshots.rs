//! What small functions become.

mod common;

use common::text_of;
use expect_test::expect;

#[test]
fn an_assignment_in_one_branch_becomes_a_result() {
    let source = "float f(float x) { float y = x; if (x > 1.0) y = x * 2.0; return y; }";
    expect![[r#"
        func @f(%x.0: f32) -> f32 {
          %1: f32 = const 1.0
          %2: bool = gt %x.0, %1
          %y.3: f32 = if %2 {
            %4: f32 = const 2.0
            %y.5: f32 = mul %x.0, %4
            yield %y.5
          } else {
            yield %x.0
          }
          return %y.3
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn branches_that_both_return_return_behind_the_if() {
    let source = "float f(bool c, float a) { if (c) return a; else return -a; }";
    expect![[r#"
        func @f(%c.0: bool, %a.1: f32) -> f32 {
          %2: f32 = if %c.0 {
            yield %a.1
          } else {
            %3: f32 = neg %a.1
            yield %3
          }
          return %2
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn a_for_loop_carries_what_it_assigns_and_steps_before_continue() {
    let source = "int f(int n) {
        int s = 0;
        for (int i = 0; i < n; i++) { if (i == 3) continue; s += i; }
        return s;
    }";
    expect![[r#"
        func @f(%n.0: i32) -> i32 {
          %s.1: i32 = const 0
          %i.2: i32 = const 0
          %s.3: i32, %i.4: i32 = while (%s.1, %i.2) cond(%s.5: i32, %i.6: i32) {
            %7: bool = lt %i.6, %n.0
            yield %7
          } body(%s.8: i32, %i.9: i32) {
            %10: i32 = const 3
            %11: bool = eq %i.9, %10
            if %11 {
              %12: i32 = const 1
              %i.13: i32 = add %i.9, %12
              continue 0 %s.8, %i.13
            } else {
              yield
            }
            %s.14: i32 = add %s.8, %i.9
            %15: i32 = const 1
            %i.16: i32 = add %i.9, %15
            yield %s.14, %i.16
          }
          return %s.3
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn a_do_loop_skips_its_condition_in_the_first_round() {
    let source = "int f(int n) { do { n -= 3; } while (n > 0); return n; }";
    expect![[r#"
        func @f(%n.0: i32) -> i32 {
          %1: bool = const true
          %2: bool, %n.3: i32 = while (%1, %n.0) cond(%4: bool, %n.5: i32) {
            %6: bool = if %4 {
              %7: bool = const true
              yield %7
            } else {
              %8: i32 = const 0
              %9: bool = gt %n.5, %8
              yield %9
            }
            yield %6
          } body(%10: bool, %n.11: i32) {
            %12: i32 = const 3
            %n.13: i32 = sub %n.11, %12
            %14: bool = const false
            yield %14, %n.13
          }
          return %n.3
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn a_part_of_a_part_is_one_path() {
    let source = "struct S { float a[4]; int n; }
        float f(inout S s, int i) { s.a[i] += 1.0; s.n = 2; return s.a[0]; }";
    expect![[r#"
        func @f(inout %s.0: $S, %i.1: i32) -> f32 {
          %2: f32 = extract %s.0 [0, %i.1]
          %3: f32 = const 1.0
          %4: f32 = add %2, %3
          %s.5: $S = insert %s.0, %4 [0, %i.1]
          %6: i32 = const 2
          %s.7: $S = insert %s.5, %6 [1]
          %8: f32 = extract %s.7 [0, 0]
          return %8, %s.7
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn a_buffer_is_loaded_and_stored() {
    let source = "RWStructuredBuffer<float> data;
        void f(int i) { data[i] = data[i] * 2.0; }";
    expect![[r#"
        func @f(%i.0: i32) {
          %data.1: rwbuffer<f32> = global @data
          %data.2: rwbuffer<f32> = global @data
          %3: f32 = load %data.2 [%i.0]
          %4: f32 = const 2.0
          %5: f32 = mul %3, %4
          store %data.1, %5 [%i.0]
          return
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn a_break_in_an_if_needs_no_exit() {
    let source = "int f(int x) {
        int r = 0;
        switch (x) { case 0: if (x > 5) break; r = 1; break; default: r = 2; }
        return r;
    }";
    expect![[r#"
        func @f(%x.0: i32) -> i32 {
          %r.1: i32 = const 0
          %r.2: i32 = switch %x.0 case 0 {
            %3: i32 = const 5
            %4: bool = gt %x.0, %3
            %r.5: i32 = if %4 {
              yield %r.1
            } else {
              %r.6: i32 = const 1
              yield %r.6
            }
            yield %r.5
          } default {
            %r.7: i32 = const 2
            yield %r.7
          }
          return %r.2
        }
    "#]]
    .assert_eq(&text_of(source, &["f"]));
}

#[test]
fn integer_constants_are_written_as_their_type_holds_them() {
    let source = "enum Flag : uint8_t { All = -1 }
        uint8_t all() { return uint8_t(Flag.All); }
        static const uint MASK = uint(-1);
        uint mask() { return MASK; }
        int low() { return int(0xffffffffu); }";
    let text = text_of(source, &["all", "mask", "low"]);
    let written: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once("const ")?.1)).collect();
    assert_eq!(written, ["255", "4294967295", "-1"]);
}
