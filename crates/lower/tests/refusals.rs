//! What cannot be lowered is refused with a code and a place, and nothing panics.

mod common;

use common::{codes_of, lower_roots};
use cotangent_base::Symbol;
use cotangent_ir::Mode;
use cotangent_lower::Roots;

#[test]
fn a_generic_function_cannot_be_a_root() {
    let source = "T twice<T : IFloat>(T x) { return x + x; }";
    let lowered = lower_roots(source, Roots::Function(Symbol::new("twice")));
    let codes: Vec<&str> = lowered.diagnostics.iter().map(|d| d.code.name).collect();
    assert_eq!(codes, ["E0723"]);
    assert!(lowered.roots.is_empty());
}

#[test]
fn the_derivative_of_a_plain_function_is_refused() {
    let source = "float f(float x) { return x; }";
    let roots = Roots::Derivatives { func: Symbol::new("f"), modes: vec![Mode::Backward] };
    let lowered = lower_roots(source, roots);
    let codes: Vec<&str> = lowered.diagnostics.iter().map(|d| d.code.name).collect();
    assert_eq!(codes, ["E0725"]);
}

#[test]
fn overloads_cannot_be_told_apart_by_name() {
    let source = "float f(float x) { return x; } int f(int x) { return x; }";
    let lowered = lower_roots(source, Roots::Function(Symbol::new("f")));
    let codes: Vec<&str> = lowered.diagnostics.iter().map(|d| d.code.name).collect();
    assert_eq!(codes, ["E0724"]);
}

#[test]
fn an_unknown_semantic_is_refused() {
    let source = "[shader(\"compute\")] [numthreads(1, 1, 1)] void main(uint v : SV_VertexID) {}";
    assert_eq!(codes_of(source), ["E0726"]);
}

#[test]
fn a_system_value_is_an_integer() {
    let source = "[shader(\"compute\")] [numthreads(1, 1, 1)] void main(float3 v : SV_DispatchThreadID) {}";
    assert_eq!(codes_of(source), ["E0726"]);
}

#[test]
fn instances_that_grow_without_end_are_refused() {
    let source = "struct Box<T> { T value; }
        int depth<T>(T x, int n) {
            if (n == 0) return 0;
            Box<T> box;
            box.value = x;
            return 1 + depth<Box<T>>(box, n - 1);
        }
        int f(int n) { return depth<int>(1, n); }";
    assert_eq!(codes_of(source), ["E0722"]);
}

#[test]
fn a_pointer_with_a_place_for_derivatives_beside_one_without_is_refused() {
    let source =
        "struct P : IDifferentiablePtrType { typealias Differential = P; RWStructuredBuffer<float> data; }
        RWStructuredBuffer<float> other;
        [BackwardDerivative(both_bwd)] float both(P p, P q, float x) { return x * p.data[0] * q.data[0]; }
        void both_bwd(DifferentialPtrPair<P> p, DifferentialPtrPair<P> q, inout DifferentialPair<float> x, float d) {}
        [Differentiable] float f(P p, float x) { P q = { other }; return both(p, q, x); }
        float g(P p, float x) {
            DifferentialPair<float> pair = diffPair(x, 0.0);
            bwd_diff(f)(DifferentialPtrPair<P>(p, p), pair, 1.0);
            return pair.d;
        }";
    assert_eq!(codes_of(source), ["E0721"]);
}

#[test]
fn a_type_that_no_memory_holds_is_refused_once() {
    let sources = [
        "void f() { float4 a[268435456]; }",
        "void f() { float4 a[65536][65536]; a[1][2] = float4(1.0); }",
        "struct Half { float4 a[67108864]; }
        struct S { Half a, b, c; }
        float f(S s) { return s.c.a[0].x; }",
        "struct S { float4 a[268435456]; }
        struct T { S s; }
        float f(T t) { return t.s.a[0].x; }",
        "struct Empty {}
        void f() { Empty a[65536][65536]; }",
    ];
    for source in sources {
        assert_eq!(codes_of(source), ["E0720"], "{source}");
    }
}
