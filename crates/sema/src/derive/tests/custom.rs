//! Derivatives written by hand.

use super::{problems, valid};

const SQUARE: &str = "
    DifferentialPair<float> square_fwd(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2.0 * x.p * x.d); }
    void square_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
";

#[test]
fn an_attribute_on_the_original_names_the_derivatives() {
    // req: CUSTOM-01, CUSTOM-02, ATTR-05
    let text = format!(
        "{SQUARE} [ForwardDerivative(square_fwd)] [BackwardDerivative(square_bwd)] float square(float x) {{ return x * x; }}"
    );
    let program = valid(&text);
    let diff = program.checked.program.funcs[program.func("square")].diff;
    assert_eq!(diff.forward.map(|f| f.func), Some(program.func("square_fwd")));
    assert_eq!(diff.backward.map(|f| f.func), Some(program.func("square_bwd")));
}

#[test]
fn an_attribute_on_the_derivative_names_the_original() {
    // req: CUSTOM-05, CUSTOM-06, CUSTOM-08, ATTR-05
    let program = valid(
        "float square(float x) { return x * x; }
         [ForwardDerivativeOf(square)]
         DifferentialPair<float> square_fwd(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2.0 * x.p * x.d); }
         [BackwardDerivativeOf(square)]
         void square_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }",
    );
    let diff = program.checked.program.funcs[program.func("square")].diff;
    assert_eq!(diff.forward.map(|f| f.func), Some(program.func("square_fwd")));
    assert_eq!(diff.backward.map(|f| f.func), Some(program.func("square_bwd")));
}

#[test]
fn a_generic_derivative_is_recorded_in_terms_of_the_original() {
    // req: CUSTOM-10, CUSTOM-14, GEN-09
    let program = valid(
        "[BackwardDerivative(sq_bwd)] T sq<T : __BuiltinFloatingPointType>(T x) { return x * x; }
         void sq_bwd<U : __BuiltinFloatingPointType>(inout DifferentialPair<U> x, U.Differential d) {}",
    );
    let func = &program.checked.program.funcs[program.func("sq")];
    let backward = func.diff.backward.expect("it is named");
    let shown: Vec<String> = program
        .checked
        .program
        .types
        .list(backward.args)
        .iter()
        .map(|arg| arg.ty().map_or("value".into(), |ty| program.checked.show(ty)))
        .collect();
    assert_eq!(shown, ["T"]);
}

#[test]
fn a_generic_derivative_serves_a_plain_function() {
    // req: CUSTOM-14
    valid(
        "[ForwardDerivative(twice_fwd)] float twice(float x) { return 2.0 * x; }
         DifferentialPair<T> twice_fwd<T : IFloat>(DifferentialPair<T> x) { return x; }",
    );
}

#[test]
fn derivatives_are_found_among_overloads_and_by_path() {
    // req: CUSTOM-09, CUSTOM-13
    let program = valid(
        "struct Rules
         {
             static DifferentialPair<float2> d(DifferentialPair<float2> x) { return x; }
             static DifferentialPair<float> d(DifferentialPair<float> x) { return x; }
             static DifferentialPair<double> d(DifferentialPair<double> x) { return x; }
         }
         [ForwardDerivative(Rules.d)] float f(float x) { return x; }",
    );
    let forward = program.checked.program.funcs[program.func("f")].diff.forward.expect("it is named");
    let params = &program.checked.program.funcs[forward.func].params;
    assert_eq!(program.checked.show(params[0].ty), "DifferentialPair<float>");
}

#[test]
fn methods_have_derivatives_beside_them() {
    // req: CUSTOM-11, CUSTOM-17
    valid(
        "interface IFoo { [Differentiable] float calc(float x); }
         struct Foo : IFoo
         {
             [ForwardDerivative(calc_fwd)] [BackwardDerivative(calc_bwd)]
             float calc(float x) { return 3.0 * x; }
             DifferentialPair<float> calc_fwd(DifferentialPair<float> x) { return diffPair(3.0 * x.p, 3.0 * x.d); }
             void calc_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * d); }
         }",
    );
}

#[test]
fn a_derivative_of_the_wrong_signature_is_an_error() {
    // req: DIAG-07
    let text = "
        [BackwardDerivative(no_inout)] float f(float x) { return x; }
        void no_inout(DifferentialPair<float> x, float d) {}
        [BackwardDerivative(no_seed)] float g(float x) { return x; }
        void no_seed(inout DifferentialPair<float> x) {}
        [ForwardDerivative(wrong_result)] float h(float x) { return x; }
        float wrong_result(DifferentialPair<float> x) { return 1.0; }";
    let expected = [
        "E0505 BackwardDerivative(no_inout)",
        "E0505 BackwardDerivative(no_seed)",
        "E0505 ForwardDerivative(wrong_result)",
    ];
    let mut found = problems(text);
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_derivative_with_other_constraints_is_an_error() {
    // req: DIAG-08, GEN-08
    let text = "
        [ForwardDerivative(f_fwd)] T f<T : IDifferentiable>(T x) { return x; }
        DifferentialPair<T> f_fwd<T : __BuiltinFloatingPointType>(DifferentialPair<T> x) { return x; }";
    assert_eq!(problems(text), ["E0506 ForwardDerivative(f_fwd)"]);
}

#[test]
fn an_unknown_derivative_is_an_error() {
    // req: DIAG-18
    let text =
        "struct M { static DifferentialPair<float> derivative(DifferentialPair<float> x) { return x; } }
        [ForwardDerivative(derivative)] float f(float x) { return x; }";
    assert_eq!(problems(text), ["E0512 derivative"]);
}

#[test]
fn two_derivatives_of_one_kind_are_an_error() {
    // req: DIAG-23
    let text = "
        [ForwardDerivative(a)] float f(float x) { return x; }
        DifferentialPair<float> a(DifferentialPair<float> x) { return x; }
        [ForwardDerivativeOf(f)] DifferentialPair<float> b(DifferentialPair<float> x) { return x; }";
    assert_eq!(problems(text).len(), 1);
}

#[test]
fn a_substitute_has_the_signature_of_the_original() {
    // req: SUBST-01, SUBST-03, SUBST-04, ATTR-06
    let program = valid(
        "[PrimalSubstitute(reference)] float fast(float x) { return x; }
         [Differentiable] float reference(float x) { return x * x; }
         float quick(float x) { return x; }
         [PrimalSubstituteOf(quick)] float slow(float x) { return x * x; }
         [Differentiable] float use(float x) { return fast(x) + quick(x); }",
    );
    let diff = program.checked.program.funcs[program.func("quick")].diff;
    assert_eq!(diff.substitute.map(|f| f.func), Some(program.func("slow")));
}

#[test]
fn a_method_that_must_be_differentiable_may_be_taken_for_constant() {
    // req: NODIFF-19, ATTR-07
    valid(
        "interface IFoo { [Differentiable] float f(float v); }
         struct B : IFoo { [TreatAsDifferentiable] float f(float v) { return v * v; } }",
    );
}

#[test]
fn a_method_that_must_be_differentiable_and_is_not_is_an_error() {
    // req: DIAG-09
    let text = "interface IFoo { [Differentiable] float f(float v); }
        struct B : IFoo { float f(float v) { return v * v; } }";
    assert_eq!(problems(text).len(), 1);
}
