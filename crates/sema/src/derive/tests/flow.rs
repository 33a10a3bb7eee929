//! Where derivatives get lost.

use super::{problems, valid};

#[test]
fn a_call_without_derivative_on_the_way_to_an_output_is_an_error() {
    // req: FLOW-05, DIAG-02
    let text =
        "float g(float x) { return 2.0 * x; } [Differentiable] float f(float x) { return g(x) + x * x; }";
    assert_eq!(problems(text), ["E0502 g(x)"]);
}

#[test]
fn what_is_written_out_is_an_output() {
    // req: FLOW-04
    let text = "float g(float x) { return x; }
        [Differentiable] void f(float x, out float y, inout float z) { y = g(x); z = g(z); }";
    assert_eq!(problems(text), ["E0502 g(x)", "E0502 g(z)"]);
    // So is the result, through whatever differentiable is done to it; what goes nowhere is none.
    let text = "float g(float x) { return x; }
        [Differentiable] float h(float x, no_diff float k) { return x * k; }
        [Differentiable] float f(float x)
        {
            float a = g(x);
            float b = g(2.0 * x);
            return 2.0 * h(a, g(3.0 * x));
        }";
    assert_eq!(problems(text), ["E0502 g(x)"]);
}

#[test]
fn a_parameter_marked_no_diff_carries_nothing() {
    // req: FLOW-03
    valid(
        "float g(float x) { return x; } [Differentiable] float f(no_diff float k, float x) { return g(k) * x; }",
    );
    // The others do, and what is computed from them, as far as its type has a derivative.
    let text = "float g(float x) { return x; } float h(int n) { return 1.0; }
        [Differentiable] float f(no_diff float k, float x, inout float y)
        {
            float a = 2.0 * x;
            int n = int(y);
            return g(a * k) + g(k) + g(y) + h(n);
        }";
    assert_eq!(problems(text), ["E0502 g(a * k)", "E0502 g(y)"]);
}

#[test]
fn only_differentiable_functions_are_looked_at() {
    // req: FLOW-02
    valid("float g(float x) { return 2.0 * x; } float f(float x) { return g(x) + x * x; }");
}

#[test]
fn a_derivative_dropped_on_purpose_is_no_error() {
    // req: FLOW-06, NODIFF-03, NODIFF-04, NODIFF-06, ATTR-14
    valid(
        "float g(float x) { return 2.0 * x; }
         [Differentiable] float f(float x) { return no_diff g(x) + no_diff(g(x)) + x * x; }",
    );
    valid(
        "struct S : IDifferentiable { float x; no_diff float k; }
         [Differentiable] float f(float x) { S s = { x, detach(x) }; s.k = detach(x * x); return s.x * s.k; }",
    );
}

#[test]
fn a_constant_argument_carries_nothing() {
    // req: FLOW-07
    valid("float g(float x) { return x; } [Differentiable] float f(float x) { return g(2.0) * x; }");
}

#[test]
fn a_callee_without_differentiable_parameters_takes_nothing() {
    // req: NODIFF-09
    valid("float h(int n) { return 1.0; } [Differentiable] float f(float x) { return h(int(x)) * x; }");
}

#[test]
fn a_result_that_reaches_no_output_is_not_wanted() {
    // req: NODIFF-10, FLOW-07
    valid(
        "float g(float x) { return x; }
         [Differentiable] float f(float x)
         {
             float t = g(x);
             int n = int(g(x));
             if (g(x) > 0.0 && t > 1.0)
                 n += 1;
             t = x * n;
             return t;
         }",
    );
}

#[test]
fn a_loss_in_one_branch_is_a_loss() {
    // req: FLOW-09
    let text = "float g(float x) { return x; }
        [Differentiable] float f(float x) { float y = x; if (x > 0.0) { y = g(x); } return y; }";
    assert_eq!(problems(text), ["E0502 g(x)"]);
    // And a derivative that came by one branch is one, whichever.
    let text = "float g(float x) { return x; }
        [Differentiable] float f(float x, int n)
        {
            float y = 1.0;
            float z = 1.0;
            if (x > 0.0) { y = x; } else { z = x; }
            float w = 1.0;
            switch (n) { case 0: w = x; break; default: w = 2.0; }
            return g(y) + g(z) + g(w);
        }";
    assert_eq!(problems(text), ["E0502 g(y)", "E0502 g(z)", "E0502 g(w)"]);
}

#[test]
fn a_loss_is_followed_round_a_loop() {
    // req: FLOW-09
    let text = "float g(float x) { return x; }
        [Differentiable] float f(float x)
        {
            float a = 1.0;
            float b = 1.0;
            for (int i = 0; i < 4; i++)
            {
                float c = g(b);
                b = a * x;
                a = c;
            }
            return a;
        }";
    assert_eq!(problems(text), ["E0502 g(b)"]);
}

#[test]
fn a_loss_through_an_out_parameter_is_found() {
    // req: FLOW-05
    let text = "void g(float x, out float y) { y = x; }
        [Differentiable] float f(float x) { float y; g(x, y); return y; }";
    assert_eq!(problems(text), ["E0502 g(x, y)"]);
}

#[test]
fn functions_with_derivatives_by_other_means_pass_them_on() {
    // req: FLOW-08
    valid(
        "[TreatAsDifferentiable] float a(float x) { return x; }
         [BackwardDerivative(b_bwd)] float b(float x) { return x; }
         void b_bwd(inout DifferentialPair<float> x, float d) {}
         [ForceInline] float c(float x) { return x; }
         [PrimalSubstitute(smooth)] float d(float x) { return floor(x); }
         float smooth(float x) { return x * x; }
         float e(float x) { return floor(x); }
         [ForwardDerivativeOf(e)] DifferentialPair<float> e_fwd(DifferentialPair<float> x) { return x; }
         [Differentiable] float f(float x) { return d(x) + e(x) + a(x) + b(x) + c(x) + sin(x) + length(float2(x, 1.0)); }",
    );
}

#[test]
fn the_body_of_a_function_taken_for_constant_is_not_looked_at() {
    // req: NODIFF-18
    valid("float g(float x) { return x; } [TreatAsDifferentiable] float f(float x) { return g(x); }");
}

#[test]
fn a_derivative_stored_in_a_no_diff_field_is_lost() {
    // req: DIAG-03, NODIFF-20
    let text = "struct S : IDifferentiable { no_diff float member; float other; }
        [Differentiable] float f(float x) { S s; s.other = x; s.member = x * x; return s.member; }";
    assert_eq!(problems(text), ["E0503 x * x"]);
}

#[test]
fn detach_says_that_a_derivative_may_be_lost() {
    // req: NODIFF-11, NODIFF-12, ATTR-15
    valid(
        "struct S : IDifferentiable { no_diff float member; float other; }
         [Differentiable] float f(float x) { S s; s.other = x; s.member = detach(x * x); return s.member; }",
    );
}

#[test]
fn a_derivative_written_to_a_global_is_lost() {
    // req: DIAG-17
    let text = "static float total; RWStructuredBuffer<float> buffer;
        [Differentiable] float f(float x) { total = x * x; buffer[0] = x; return x * total * buffer[1]; }";
    assert_eq!(problems(text), ["E0503 x * x", "E0503 x"]);
}

#[test]
fn a_structure_that_is_not_differentiable_loses_derivatives() {
    // req: DIAG-25
    let text = "struct S { float a; }
        [Differentiable] float f(float x) { S s; s.a = x; S t = { x * x }; return s.a + t.a; }";
    assert_eq!(problems(text), ["E0517 x", "E0517 x * x"]);
}

#[test]
fn no_diff_stands_before_calls_only() {
    // req: DIAG-13, NODIFF-05
    let text = "[Differentiable] float f(float x) { return no_diff (x * x); }";
    assert_eq!(problems(text).len(), 1);
}

#[test]
fn a_generic_function_that_does_not_know_of_derivatives_loses_them() {
    // req: GEN-03
    let text = "[Differentiable] T keep<T>(T x) { return x; }
        [Differentiable] T pass<T : IDifferentiable>(T x) { return x; }
        [Differentiable] float f(float x) { return pass(x) + keep(2.0) + keep(x); }";
    assert_eq!(problems(text), ["E0502 keep(x)"]);
}

#[test]
fn accessors_are_calls_too() {
    // req: FLOW-05
    let text = "struct S : IDifferentiable
        {
            float a;
            property float good { [Differentiable] get { return a; } [Differentiable] set { a = newValue; } }
            property float bad { get { return a; } set { a = newValue; } }
        }
        [Differentiable] float f(float x) { S s; s.good = x; return s.good; }
        [Differentiable] float g(float x) { S s; s.good = x; return s.bad; }
        [Differentiable] float h(float x) { S s; s.bad = x * x; return s.good; }";
    assert_eq!(problems(text), ["E0502 s.bad", "E0502 x * x"]);
}

#[test]
fn a_tuple_with_a_member_without_derivative_loses_those_of_the_others() {
    // req: DIAG-25, TYPE-15
    let text = "[Differentiable] float f(float x) { let t = makeTuple(x, x * x); return t._1; }
        [Differentiable] float g(float x) { let t = makeTuple(x, 1); return t._0; }";
    assert_eq!(problems(text), ["E0517 makeTuple(x, 1)"]);
}
