//! Types and generic code: programs whose results were worked out by hand.

mod common;

use common::{ints, run_floats, run_int};

#[test]
fn synthesised_zero_and_sum_go_through_the_fields() {
    let source = "struct Inner : IDifferentiable { float a; int skip; }
        struct Outer : IDifferentiable { Inner inner; float2 v; float list[3]; }
        T.Differential twice<T : IDifferentiable>(T.Differential d) { return T.dadd(T.dadd(T.dzero(), d), d); }
        float f(float x) {
            Outer.Differential d;
            d.inner.a = x;
            d.v = float2(2.0 * x, 3.0 * x);
            d.list = { 4.0, 5.0, x };
            let r = twice<Outer>(d);
            return r.inner.a + 10.0 * r.v.x + 100.0 * r.v.y + 1000.0 * r.list[1] + 10000.0 * r.list[2];
        }";
    // Twice (1, (2, 3), {4, 5, 1}): 2 + 40 + 600 + 10000 + 20000.
    assert_eq!(run_floats(source, "f", &[1.0]), [30642.0]);
}

// req: TYPE-22
#[test]
fn synthesised_scaling_goes_through_the_fields() {
    let source = "struct Inner : IDifferentiable { float a; }
        struct Outer : IDifferentiable { Inner inner; float2 v; }
        float f(float x) {
            Outer.Differential d;
            d.inner.a = 1.0;
            d.v = float2(2.0, 3.0);
            let r = Outer.dmul(x, d);
            return r.inner.a + 10.0 * r.v.x + 100.0 * r.v.y;
        }";
    assert_eq!(run_floats(source, "f", &[2.0]), [642.0]);
}

// req: TYPE-21
#[test]
fn a_hand_written_zero_and_sum_are_used_inside_synthesised_ones() {
    let source = "struct Odd : IDifferentiable {
            typealias Differential = Odd;
            float a;
            static Odd dzero() { return { 3.0 }; }
            static Odd dadd(Odd x, Odd y) { return { x.a + y.a + 0.5 }; }
        }
        struct Pair2 : IDifferentiable { Odd odd; float b; }
        float f(float x) {
            Pair2.Differential d;
            d.odd.a = x;
            d.b = x;
            let r = Pair2.dadd(d, Pair2.dzero());
            return r.odd.a * 100.0 + r.b;
        }";
    // 1 + 3 + 0.5 and 1 + 0.
    assert_eq!(run_floats(source, "f", &[1.0]), [451.0]);
}

#[test]
fn a_field_stands_for_a_property() {
    let source = "interface IHasSize { property int size { get; set; } }
        struct A : IHasSize { int unused; int size; }
        void grow<T : IHasSize>(inout T t) { t.size = t.size * 2; }
        int f(int x) { A a = { 1, x }; grow(a); return a.unused * 100 + a.size; }";
    assert_eq!(run_int(source, "f", &[7]), 114);
}

#[test]
fn associated_types_are_looked_up() {
    let source = "interface IBox { associatedtype Item : IArithmetic; Item get(); }
        struct IntBox : IBox { typealias Item = int; int v; int get() { return v; } }
        T.Item sum<T : IBox>(T a, T b) { return a.get() + b.get(); }
        int f(int x) { IntBox a = { x }; IntBox b = { 40 }; return sum(a, b); }";
    assert_eq!(run_int(source, "f", &[2]), 42);
}

#[test]
fn a_base_is_a_part_of_what_derives_from_it() {
    let source = "struct B { int x; int y; int sum() { return x + y; } [mutating] void grow() { x += 10; } }
        struct D : B { int z; }
        int total(B b) { return b.sum(); }
        int f(int n) {
            D d;
            d.x = n; d.y = 2; d.z = 3;
            d.grow();
            return total(d) * 10 + d.z;
        }";
    assert_eq!(run_int(source, "f", &[1]), 133);
}

#[test]
fn arrays_and_structures_are_values() {
    let source = "struct S { int a[2]; }
        S changed(S s) { s.a[0] = 9; return s; }
        int f(int x) {
            S s = { { x, 2 } };
            S t = changed(s);
            s.a[1] = 5;
            return s.a[0] * 1000 + s.a[1] * 100 + t.a[0] * 10 + t.a[1];
        }";
    assert_eq!(run_int(source, "f", &[1]), 1592);
}

#[test]
fn nested_arrays_are_indexed_from_the_left() {
    let source = "int f(int i) {
        int m[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
        m[i][2 - i] += 10;
        return m[0][2] * 100 + m[1][1];
    }";
    assert_eq!(ints(source, "f", &[0, 1]), [1305, 315]);
}

#[test]
fn a_generic_structure_is_made_once_for_its_arguments() {
    let source = "struct Stack<T, let N : int> {
            T items[N]; int count;
            __init() { count = 0; }
            [mutating] void push(T x) { items[count] = x; count += 1; }
            T top() { return items[count - 1]; }
            static int capacity() { return N; }
        }
        int f(int x) {
            Stack<int, 4> s = Stack<int, 4>();
            s.push(x);
            s.push(x + 1);
            return s.top() * 10 + Stack<float, 7>.capacity();
        }";
    assert_eq!(run_int(source, "f", &[4]), 57);
}

#[test]
fn operators_of_the_user_are_called() {
    let source = "struct V { int a; int b; }
        V operator+(V l, V r) { return { l.a + r.a, l.b + r.b }; }
        int f(int x) { V v = { x, 1 }; V w = v + v + v; return w.a * 10 + w.b; }";
    assert_eq!(run_int(source, "f", &[2]), 63);
}

#[test]
fn subscripts_with_two_indices_get_and_set() {
    let source = "struct Grid {
            int cells[6];
            __subscript(int r, int c) -> int { get { return cells[r * 3 + c]; } set { cells[r * 3 + c] = newValue; } }
        }
        int f(int x) { Grid g = {}; g[1, 2] = x; g[1, 2] += 1; return g[1, 2] * 10 + g.cells[5] + g[0, 0]; }";
    assert_eq!(run_int(source, "f", &[3]), 44);
}

#[test]
fn conversions_follow_the_types() {
    let source = "float f(float x) {
        int n = int(x);
        uint u = uint(n) - 5u;
        half h = half(0.1);
        bool b = bool(n);
        double d = double(x) + 0.25l;
        return float(u > 100u ? 1000 : 0) + float(n) + (b ? 0.5 : 0.0) + float(d) * 10.0 + (float(h) == 0.1 ? 100.0 : 0.0);
    }";
    // u wraps; n = 3; b; d = 3.95 (3.7f in double) * 10; the half is not 0.1.
    let expected = 1000.0 + 3.0 + 0.5 + ((f64::from(3.7f32) + 0.25) as f32 * 10.0) as f64;
    assert_eq!(run_floats(source, "f", &[3.7])[0] as f32, expected as f32);
}

#[test]
fn a_constructor_runs_the_initializers_of_fields_first() {
    let source = "struct P { int a = 3; int b; __init(int b) { this.b = b; } }
        int f(int x) {
            P p = P(x);
            return p.a * 10 + p.b;
        }";
    assert_eq!(run_int(source, "f", &[4]), 34);
}
