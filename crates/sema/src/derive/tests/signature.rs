//! Signatures of derivatives, and calls of them.

use super::{problems, program, valid};
use crate::hir::DiffMode::{Backward, Forward};

#[test]
fn forward_pairs_what_is_differentiable_and_keeps_directions() {
    // req: SIG-F-01, SIG-F-03, SIG-F-04, SIG-F-05, SIG-F-06, SIG-F-07, SIG-F-08, SIG-F-13, OP-14
    let mut program = valid(
        "[Differentiable] float f(float a, out float b, inout float c, int d, out int e, inout int g) { b = a; e = 1; return c; }",
    );
    let expected = "DifferentialPair<float>(DifferentialPair<float>, out DifferentialPair<float>, \
                    inout DifferentialPair<float>, int, out int, inout int)";
    assert_eq!(program.derived("f", &[Forward]), expected);
}

#[test]
fn backward_turns_outputs_into_inputs() {
    // req: SIG-B-01, SIG-B-02, SIG-B-05, SIG-B-06, SIG-B-08, SIG-B-10, SIG-B-11, SIG-B-12, SIG-B-17
    let mut program = valid(
        "[Differentiable] float f(float a, out float b, inout float c, int d, out int e, inout int g) { b = a; e = 1; return c; }",
    );
    let expected =
        "void(inout DifferentialPair<float>, float, inout DifferentialPair<float>, int, int, float)";
    assert_eq!(program.derived("f", &[Backward]), expected);
}

#[test]
fn no_diff_keeps_parameters_and_results_plain() {
    // req: SIG-F-11, SIG-F-12, SIG-B-15, SIG-B-16
    let mut program = valid(
        "[Differentiable] no_diff float f(no_diff float a, float x, out float y) { y = a * x; return a; }",
    );
    let forward = "float(float, DifferentialPair<float>, out DifferentialPair<float>)";
    assert_eq!(program.derived("f", &[Forward]), forward);
    assert_eq!(program.derived("f", &[Backward]), "void(float, inout DifferentialPair<float>, float)");
}

#[test]
fn a_result_without_derivative_stays_or_adds_nothing() {
    // req: SIG-F-02, SIG-B-09
    let mut program = valid("[Differentiable] int f(float x, out float y) { y = x; return 1; }");
    assert_eq!(program.derived("f", &[Forward]), "int(DifferentialPair<float>, out DifferentialPair<float>)");
    assert_eq!(program.derived("f", &[Backward]), "void(inout DifferentialPair<float>, float)");
}

#[test]
fn this_comes_first_and_is_paired_unless_no_diff() {
    // req: SIG-F-14, SIG-B-19, NODIFF-13, NODIFF-14
    let mut program = valid(
        "struct S : IDifferentiable
         {
             float k;
             [Differentiable] float f(float x) { return k * x; }
             [Differentiable] [NoDiffThis] float g(float x) { return k * x; }
         }
         struct N { float k; [Differentiable] float h(float x) { return k * x; } }",
    );
    let with_this = "void(inout DifferentialPair<S>, inout DifferentialPair<float>, float)";
    assert_eq!(program.derived("S.f", &[Backward]), with_this);
    assert_eq!(program.derived("S.g", &[Forward]), "DifferentialPair<float>(S, DifferentialPair<float>)");
    assert_eq!(program.derived("N.h", &[Forward]), "DifferentialPair<float>(N, DifferentialPair<float>)");
}

#[test]
fn a_pointer_type_becomes_a_pointer_pair() {
    // req: SIG-F-09, SIG-B-13, PTR-01, PTR-02
    let mut program = valid(
        "struct Place : IDifferentiablePtrType { typealias Differential = Place; uint at; }
         [Differentiable] float f(Place p, float x) { return x; }",
    );
    let forward = "DifferentialPair<float>(DifferentialPtrPair<Place>, DifferentialPair<float>)";
    assert_eq!(program.derived("f", &[Forward]), forward);
    let backward = "void(DifferentialPtrPair<Place>, inout DifferentialPair<float>, float)";
    assert_eq!(program.derived("f", &[Backward]), backward);
}

#[test]
fn derivatives_of_derivatives_nest_pairs() {
    // req: HO-03
    let mut program = valid("[Differentiable] float f(float x, no_diff float k) { return k * x; }");
    let twice = "DifferentialPair<DifferentialPair<float>>(DifferentialPair<DifferentialPair<float>>, float)";
    assert_eq!(program.derived("f", &[Forward, Forward]), twice);
    let forward_of_backward =
        "void(inout DifferentialPair<DifferentialPair<float>>, float, DifferentialPair<float>)";
    assert_eq!(program.derived("f", &[Backward, Forward]), forward_of_backward);
}

#[test]
fn generic_parameters_are_differentiable_by_their_bounds() {
    // req: GEN-01, GEN-02, GEN-03
    let mut program =
        valid("[Differentiable] T f<T : __BuiltinFloatingPointType, U>(T x, U u) { return x * x; }");
    assert_eq!(program.derived("f", &[Forward]), "DifferentialPair<T>(DifferentialPair<T>, U)");
    assert_eq!(program.derived("f", &[Backward]), "void(inout DifferentialPair<T>, U, T.Differential)");
}

#[test]
fn calls_of_derivatives_are_checked_against_their_signature() {
    // req: OP-01, OP-03, OP-07, OP-21, SIG-B-08
    valid(
        "[Differentiable] float f(float a, float x) { return a * x * x; }
         float g()
         {
             let d = fwd_diff(f)(diffPair(2.0, 0.0), diffPair(3.0, 1.0)).d;
             var a = diffPair(2.0);
             DifferentialPair<float> x = diffPair(3.0, 777.0);
             bwd_diff(f)(a, x, 1.0);
             return d + a.d + x.d;
         }",
    );
}

#[test]
fn the_older_spellings_mean_the_same() {
    // req: OP-06, ATTR-02, ATTR-03
    valid(
        "[BackwardDifferentiable] float f(float x) { return x * x; }
         [ForwardDifferentiable] float h(float x) { return x * x; }
         float g()
         {
             var x = diffPair(3.0);
             __bwd_diff(f)(x, 1.0);
             return __fwd_diff(h)(diffPair(3.0, 1.0)).d + x.d;
         }",
    );
}

#[test]
fn a_function_without_derivative_cannot_be_differentiated() {
    // req: DIAG-01
    let text = "float f(float x) { return x * x; } float g() { return fwd_diff(f)(diffPair(3.0, 1.0)).d; }";
    assert_eq!(problems(text), ["E0501 f"]);
}

#[test]
fn a_derivative_in_one_direction_does_not_serve_the_other() {
    // req: DIAG-20
    let text = "
        [ForwardDerivative(f_fwd)] float f(float x) { return x * x; }
        DifferentialPair<float> f_fwd(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2.0 * x.p * x.d); }
        void g() { var x = diffPair(3.0); bwd_diff(f)(x, 1.0); }";
    assert_eq!(problems(text), ["E0514 f"]);
}

#[test]
fn overloads_are_chosen_by_their_derived_signatures() {
    // req: RES-01, SURF-11
    valid(
        "[Differentiable] float f(float x) { return x; }
         [Differentiable] float2 f(float2 x) { return x; }
         float g() { return fwd_diff(f)(diffPair(float2(1, 2), float2(3, 4))).d.y; }",
    );
}

#[test]
fn generic_arguments_are_inferred_from_pairs_or_written() {
    // req: GEN-04, OP-20
    valid(
        "[Differentiable] T f<T : __BuiltinFloatingPointType>(T x) { return x * x; }
         float g()
         {
             var x = diffPair(3.0);
             bwd_diff(f)(x, 1.0);
             bwd_diff(f<float>)(x, 1.0);
             return x.d;
         }",
    );
}

#[test]
fn a_call_that_does_not_fit_is_an_error() {
    // req: RES-04
    let text =
        "[Differentiable] float f(float x) { return x; } void g() { var x = diffPair(3.0); bwd_diff(f)(x); }";
    let refused = program(text);
    assert_eq!(refused.problems(), ["E0310 bwd_diff(f)(x)"]);
    let told = refused.checked.diagnostics.iter().flat_map(|d| &d.notes).next().expect("a note");
    assert!(told.contains("`void(inout DifferentialPair<float>, float)`"), "{told}");
    // Two overloads that fit equally well are as ambiguous as in a plain call.
    let overloads = "[Differentiable] float f(float x, double y) { return x; }
        [Differentiable] float f(double x, float y) { return y; }";
    let pairs = "diffPair(1.0f, 0.0f), diffPair(1.0f, 0.0f)";
    let ambiguous = format!("{overloads} void g() {{ fwd_diff(f)({pairs}); }}");
    assert_eq!(problems(&ambiguous).len(), 1);
}

#[test]
fn the_result_of_a_backward_derivative_is_nothing() {
    // req: OP-05
    let text = "[Differentiable] float f(float x) { return x; }
        float g() { var x = diffPair(3.0); return bwd_diff(f)(x, 1.0); }
        float h() { var x = diffPair(3.0); let r = bwd_diff(f)(x, 1.0); return r; }";
    assert_eq!(problems(text), ["E0305 bwd_diff(f)(x, 1.0)", "E0305 r"]);
}

#[test]
fn the_halves_of_a_pair_are_read_only() {
    // req: OP-11
    assert_eq!(problems("void f() { var x = diffPair(3.0); x.d = 1.0; }"), ["E0312 x.d"]);
    assert_eq!(problems("void f() { var x = diffPair(3.0); x.p = 1.0; }"), ["E0312 x.p"]);
    valid("void f() { var x = diffPair(3.0); x = diffPair(x.p, 1.0); }");
}

#[test]
fn methods_are_differentiated_through_their_type() {
    // req: OP-20
    valid(
        "struct S : IDifferentiable { float k; [Differentiable] float f(float x) { return k * x; } }
         float g()
         {
             S s = { 3.0 };
             var this_pair = diffPair(s);
             var x = diffPair(2.0);
             bwd_diff(S.f)(this_pair, x, 1.0);
             return this_pair.d.k + x.d;
         }",
    );
}

#[test]
fn pairs_convert_as_their_values_do() {
    // req: RES-02
    valid(
        "[Differentiable] float f(int x) { return 1.0; }
         [Differentiable] float f(double x, double y) { return float(x * y); }
         float g() { return fwd_diff(f)(DifferentialPair<float>(1.0, 0.0), DifferentialPair<float>(0.0, 1.0)).d; }",
    );
}

#[test]
fn an_object_without_derivative_may_stand_before_the_dot() {
    // req: OP-20
    valid(
        "struct N
         {
             float k;
             [Differentiable] float f(float x) { return k * x; }
             float slope(float x) { return fwd_diff(f)(diffPair(x, 1.0)).d; }
         }
         float g(N n) { var x = diffPair(2.0); bwd_diff(n.f)(x, 1.0); return x.d + fwd_diff(N.f)(n, x).d; }",
    );
}
