//! Programs whose results were worked out by hand, lowered and run on the interpreter.

mod common;

use common::{ints, run_int};

#[test]
fn cases_fall_through_and_break() {
    let source = "int f(int x) {
        int r = 0;
        switch (x) {
        case 0: r += 1;
        case 1: r += 10; break;
        case 2: case 3: r += 100; if (x == 3) break; r += 1000; break;
        default: r = -1;
        }
        return r;
    }";
    assert_eq!(ints(source, "f", &[0, 1, 2, 3, 9]), [11, 10, 1100, 100, -1]);
}

#[test]
fn a_default_in_the_middle_falls_into_what_follows() {
    let source = "int f(int x) {
        int r = 0;
        switch (x) { case 1: r = 1; break; default: r += 2; case 5: r += 5; }
        return r;
    }";
    assert_eq!(ints(source, "f", &[1, 5, 7]), [1, 5, 7]);
}

#[test]
fn a_variable_declared_in_a_case_is_in_scope_of_the_next() {
    let source = "int f(int x) {
        int r = 0;
        switch (x) { case 0: int y = 3; r = y; break; case 1: y = 7; if (x > 0) y += 1; r = y; break; }
        return r;
    }";
    assert_eq!(ints(source, "f", &[0, 1, 2]), [3, 8, 0]);
}

#[test]
fn loops_are_left_and_continued_from_inside_a_switch() {
    let source = "int f(int n) {
        int acc = 0;
        for (int i = 0; i < n; i++) {
            switch (i % 4) {
            case 0: acc += 1; continue;
            case 1: if (acc > 120) return acc * 1000; acc += 2; break;
            default: if (i == 6) { acc += 50; break; } acc += 3;
            }
            acc += 10;
        }
        return acc;
    }";
    // i: 0 -> 1; 1 -> 13; 2 -> 26; 3 -> 39; 4 -> 40; 5 -> 52; 6 -> 112; 7 -> 125; 8 -> 126; 9 -> 126000.
    assert_eq!(ints(source, "f", &[0, 2, 5, 7, 8, 20]), [0, 13, 40, 112, 125, 126000]);
}

#[test]
fn a_condition_that_assigns_is_evaluated_once_more_than_the_body() {
    let source = "int f(int n) { int k = 0; while (n-- > 0) k += n; return k * 10 + n; }";
    assert_eq!(ints(source, "f", &[4, 0]), [59, -1]);
}

#[test]
fn a_do_loop_tests_after_continue() {
    let source = "int f(int n) {
        int c = 0;
        do { c += n; if (c == 3) continue; c += 100; } while (--n > 0);
        return c * 10 + n;
    }";
    // n = 3: c = 3, continue, n = 2; c = 105, n = 1; c = 206, n = 0. n = -5: c = 95, n = -6.
    assert_eq!(ints(source, "f", &[3, -5]), [2060, 944]);
}

#[test]
fn a_pure_do_condition_sees_the_round_before_it() {
    let source = "int f(int x) {
        int steps = 0;
        do { x = x % 2 == 0 ? x / 2 : 3 * x + 1; steps++; } while (x != 1);
        return steps;
    }";
    // 6, 3, 10, 5, 16, 8, 4, 2, 1.
    assert_eq!(ints(source, "f", &[6, 2]), [8, 1]);
}

#[test]
fn a_labelled_break_leaves_both_loops() {
    let source = "int f(int n) {
        int s = 0;
        outer: for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++) { if (i * 10 + j == n) break outer; s++; }
        return s;
    }";
    assert_eq!(ints(source, "f", &[0, 37, 500]), [0, 37, 100]);
}

#[test]
fn the_right_side_of_a_logical_operator_runs_only_if_it_matters() {
    let source = "bool bump(inout int x) { x++; return true; }
        int f(int a) {
            int n = 0;
            if (a > 0 && bump(n)) n += 10;
            if (a > 0 || bump(n)) n += 100;
            return n;
        }";
    assert_eq!(ints(source, "f", &[1, 0]), [111, 101]);
}

#[test]
fn a_place_is_evaluated_once() {
    let source = "int next(inout int i) { return i++; }
        int f(int x) {
            int a[3] = { 10, 20, 30 };
            int i = 0;
            a[next(i)] += x;
            a[next(i)]++;
            return a[0] * 10000 + a[1] * 100 + a[2] + i * 1000000;
        }";
    assert_eq!(run_int(source, "f", &[5]), 2_152_130);
}

#[test]
fn of_two_parameters_for_one_variable_the_last_wins() {
    let source = "void set(inout int a, inout int b) { a = 10; b = b + a; }
        int f(int y) { set(y, y); return y; }";
    assert_eq!(run_int(source, "f", &[1]), 11);
}

#[test]
fn swizzles_are_written_lane_by_lane() {
    let source = "void swap(inout int2 v) { v = v.yx; }
        int f(int x) {
            int4 v = int4(1, 2, 3, x);
            v.wx = int2(7, 8);
            swap(v.yz);
            v[2] += 3;
            return v.x * 1000 + v.y * 100 + v.z * 10 + v.w;
        }";
    // (1, 2, 3, x), (8, 2, 3, 7), (8, 3, 2, 7), (8, 3, 5, 7).
    assert_eq!(run_int(source, "f", &[4]), 8357);
}

#[test]
fn matrices_are_rows() {
    let source = "int f(int x) {
        int2x3 m = int2x3(1, 2, 3, 4, 5, x);
        m[1][0] = 9;
        m._m00_m11 = int2(7, 8);
        int3 row = m[1];
        return m._m00 * 1000 + row.x * 100 + row.y * 10 + row.z;
    }";
    assert_eq!(run_int(source, "f", &[6]), 7986);
}

#[test]
fn properties_and_methods_change_the_object() {
    let source = "struct Box {
            int w; int h;
            property int area { get { return w * h; } set { w = newValue / h; } }
            [mutating] void grow(int n) { h += n; }
        }
        int f(int x) {
            Box b = { 3, 4 };
            b.area += x;
            b.grow(2);
            return b.w * 100 + b.h;
        }";
    assert_eq!(run_int(source, "f", &[8]), 506);
}

#[test]
fn an_integer_of_the_other_sign_is_converted_both_ways() {
    let source = "void inc(inout uint x) { x = x + 1u; }
        int f(int x) { inc(x); return x; }";
    assert_eq!(ints(source, "f", &[-1, 5]), [0, 6]);
}

#[test]
fn generics_are_specialized_by_type_and_value() {
    let source = "interface IShape { int area(); }
        struct Square : IShape { int a; int area() { return a * a; } }
        struct Rect : IShape { int w; int h; int area() { return w * h; } }
        int total<T : IShape, let N : int>(T shapes[N]) {
            int sum = 0;
            for (int i = 0; i < N; i++) sum += shapes[i].area();
            return sum * N;
        }
        int f(int x) {
            Square s[2] = { { x }, { 3 } };
            Rect r[1] = { { x, 5 } };
            return total<Square, 2>(s) * 1000 + total<Rect, 1>(r);
        }";
    // (16 + 9) * 2 and 20 * 1.
    assert_eq!(run_int(source, "f", &[4]), 50_020);
}

#[test]
fn a_default_of_an_interface_is_specialized_for_the_type() {
    let source = "interface IAnimal { int legs(); int shoes() { return legs() * 2; } }
        struct Cat : IAnimal { int legs() { return 4; } }
        int shoes<T : IAnimal>(T t) { return t.shoes(); }
        int f(int x) { Cat c; return shoes(c) + x; }";
    assert_eq!(run_int(source, "f", &[1]), 9);
}

#[test]
fn constants_of_the_module_are_evaluated_where_they_are_used() {
    let source = "static const int base = 4;
        static const int table[3] = { base, base * 10, base * 100 };
        int f(int i) { int s = 0; for (int k = 0; k <= i; k++) s += table[k]; return s; }";
    assert_eq!(ints(source, "f", &[0, 1, 2]), [4, 44, 444]);
}

#[test]
fn static_variables_keep_their_value_between_calls() {
    let source = "static int count = 5;
        int next() { count += 1; return count; }
        int f(int x) { return next() * 100 + next() * 10 + x; }";
    assert_eq!(run_int(source, "f", &[3]), 673);
}

#[test]
fn enumerators_are_integers() {
    let source = "enum Mode { A = 3, B }
        int f(int x) { Mode m = x > 0 ? Mode.B : Mode.A; switch (m) { case Mode.B: return 40; default: return int(m); } }";
    assert_eq!(ints(source, "f", &[1, 0]), [40, 3]);
}

#[test]
fn many_cases_that_fall_through_stand_one_behind_the_other() {
    let cases: String = (0..60).map(|i| format!("case {i}: int v{i} = {i}; r += v{i}; ")).collect();
    let source = format!(
        "int f(int x) {{
            int r = 0;
            switch (x) {{ {cases} case 60: case 61: if (x == 61) break; default: r += 1000; v59 = x; r += v59; break; case 70: r = 7; }}
            return r;
        }}"
    );
    // From 58 on: 58 + 59, then 1000 and x; at 61 nothing; without a case 1000 and x.
    assert_eq!(ints(&source, "f", &[58, 60, 61, 70, 99]), [1175, 1060, 0, 7, 1099]);
}

#[test]
fn breaks_in_a_case_skip_what_follows_them() {
    let source = "int f(int x) {
        int r = 0;
        switch (x / 10) {
        case 0:
            if (x == 1) { r = 1; break; }
            { if (x == 2) { r = 2; } else { if (x == 3) break; r = 4; } r += 10; }
            r += 100;
        case 1:
            if (x > 12) { if (x == 14) break; r += 5; }
            r += 1000;
            for (int i = 0; i < 3; i++) { if (i == x) break; r += 10000; }
            break;
        case 2:
            if (x == 20) break; else return -1;
            r = 77;
        }
        return r;
    }";
    // 0: 4 + 10 + 100, then 1000 and no iteration of the loop; 2: 2 + 10 + 100 + 1000 + two iterations; 5: three iterations.
    let points = [0, 1, 2, 3, 5, 12, 13, 14, 20, 21, 30];
    let results = [1114, 1, 21112, 0, 31114, 31000, 31005, 0, 0, -1, 0];
    assert_eq!(ints(source, "f", &points), results);
}
