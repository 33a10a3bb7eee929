//! What lowering prepares for autodiff: signatures of derivatives, rows, rules and custom derivatives.

mod common;

use common::{lower_roots, module};
use cotangent_base::Symbol;
use cotangent_ir::{Mode, text};
use cotangent_lower::{Lowered, Roots};
use expect_test::expect;

fn derivatives(source: &str, func: &str, modes: &[Mode]) -> Lowered {
    let roots = Roots::Derivatives { func: Symbol::new(func), modes: modes.to_vec() };
    let lowered = lower_roots(source, roots);
    assert!(lowered.diagnostics.is_empty(), "{:#?}", lowered.diagnostics);
    lowered
}

/// The first lines of the functions asked for.
fn headers(lowered: &Lowered) -> String {
    let header = |id: &_| {
        let text = text::print_func(&lowered.module, *id);
        format!("{}\n", text.lines().next().unwrap_or_default())
    };
    lowered.roots.iter().map(header).collect()
}

/// The lines of a module that begin with a word.
fn lines(source: &str, word: &str) -> String {
    let text = text::print_module(&module(source));
    text.lines().filter(|l| l.starts_with(word)).map(|l| format!("{l}\n")).collect()
}

// req: SIG-F-01, SIG-F-03, SIG-F-04, SIG-F-05, SIG-F-06, SIG-F-07, SIG-F-08, SIG-F-11, SIG-F-13
// req: SIG-B-01, SIG-B-02, SIG-B-05, SIG-B-06, SIG-B-08, SIG-B-10, SIG-B-11, SIG-B-12, SIG-B-15, SIG-B-17
#[test]
fn parameters_of_derivatives_follow_direction_and_differentiability() {
    let source = "[Differentiable]
        float f(float x, no_diff float y, int n, out float z, out int m, inout float w, inout int k) {
            z = x; m = n; k += 1; w = w * x;
            return x * y;
        }";
    let lowered = derivatives(source, "f", &[Mode::Forward, Mode::Backward]);
    expect![[r#"
        func @f(%x.0: f32, no_diff %y.1: f32, %n.2: i32, out z: f32, out m: i32, inout %w.3: f32, inout %k.4: i32) -> f32 differentiable(backward) held(y) {
        func @"fwd_diff(f)"(%x.0: $"DifferentialPair<f32>", no_diff %y.1: f32, %n.2: i32, out z: $"DifferentialPair<f32>", out m: i32, inout %w.3: $"DifferentialPair<f32>", inout %k.4: i32) -> $"DifferentialPair<f32>" differentiable(backward) request(forward @f)
        func @"bwd_diff(f)"(inout %x.0: $"DifferentialPair<f32>", no_diff %y.1: f32, %n.2: i32, %z.3: f32, inout %w.4: $"DifferentialPair<f32>", %k.5: i32, %resultGradient.6: f32) differentiable(backward) request(backward @f)
    "#]].assert_eq(&headers(&lowered));
}

// req: SIG-B-16
#[test]
fn a_result_marked_no_diff_has_no_derivative() {
    let source = "[Differentiable] no_diff float f(inout float x) { x = x * x; return 1.0; }";
    let lowered = derivatives(source, "f", &[Mode::Backward]);
    expect![[r#"
        func @f(inout %x.0: f32) -> no_diff f32 differentiable(backward) held_result {
        func @"bwd_diff(f)"(inout %x.0: $"DifferentialPair<f32>") differentiable(backward) request(backward @f)
    "#]].assert_eq(&headers(&lowered));
}

// req: SIG-B-19
#[test]
fn a_method_is_derived_with_its_object() {
    let source = "struct Ray : IDifferentiable {
            float3 origin; float3 dir; int id;
            [Differentiable] float3 at(float t) { return origin + dir * t; }
        }";
    let lowered = derivatives(source, "Ray.at", &[Mode::Backward]);
    expect![[r#"
        func @Ray.at(%this.0: $Ray, %t.1: f32) -> f32x3 differentiable(backward) {
        func @"bwd_diff(Ray.at)"(inout %this.0: $"DifferentialPair<Ray>", inout %t.1: $"DifferentialPair<f32>", %resultGradient.2: f32x3) differentiable(backward) request(backward @Ray.at)
    "#]].assert_eq(&headers(&lowered));
}

// req: TYPE-18, TYPE-20
#[test]
fn a_structure_has_a_row_that_leaves_out_what_has_no_derivative() {
    let source = "struct Ray : IDifferentiable { float3 origin; float t; int id; no_diff float weight; }
        [Differentiable] float f(Ray r) { return r.t; }";
    expect![[r#"
        diff $Ray = $Ray.Differential { origin -> origin, t -> t, id -> -, weight -> - }
        diff $Ray.Differential = $Ray.Differential { origin -> origin, t -> t }
    "#]]
    .assert_eq(&lines(source, "diff"));
}

// req: TYPE-23, TYPE-26, TYPE-27
#[test]
fn a_row_names_the_additions_the_user_wrote() {
    let source = "struct D : IDifferentiable {
            typealias Differential = D;
            float dx;
            static D dzero() { return { 0.0 }; }
            static D dadd(D a, D b) { return { a.dx + b.dx }; }
        }
        struct S : IDifferentiable {
            typealias Differential = D;
            [DerivativeMember(D.dx)] float x;
            static D dzero() { return { 0.0 }; }
            static D dadd(D a, D b) { return { a.dx + b.dx }; }
        }
        [Differentiable] float f(S s) { return s.x; }";
    expect![[r#"
        diff $D = $D { dx -> dx } zero @D.dzero add @D.dadd
        diff $S = $D { x -> dx } zero @S.dzero add @S.dadd
    "#]]
    .assert_eq(&lines(source, "diff"));
}

#[test]
fn a_call_of_a_derivative_is_a_call_of_a_request() {
    let source = "[Differentiable] float f(float x) { return x * x; }
        float g(float x) {
            var p = diffPair(x, 0.0);
            bwd_diff(f)(p, 1.0);
            return p.d;
        }";
    expect![[r#"
        func @f(%x.0: f32) -> f32 differentiable(backward) {
        func @g(%x.0: f32) -> f32 {
        func @"diffPair<f32>"(%primal.0: f32, %differential.1: f32) -> $"DifferentialPair<f32>" origin(diffPair) differentiable(backward) inline(early) {
        func @"bwd_diff(f)"(inout %x.0: $"DifferentialPair<f32>", %resultGradient.1: f32) differentiable(backward) request(backward @f)
        func @"DifferentialPair.d.get<f32>"(%this.0: $"DifferentialPair<f32>") -> f32 origin(DifferentialPair.d.get) differentiable(backward) inline(early) {
        func @"DifferentialPair.__init<f32>"(%primal.0: f32, %differential.1: f32) -> $"DifferentialPair<f32>" origin(DifferentialPair.__init) differentiable(backward) inline(early) {
    "#]].assert_eq(&lines(source, "func"));
}

#[test]
fn a_derivative_of_a_derivative_is_a_request_of_a_request() {
    let source = "[Differentiable] float f(float x) { return x * x * x; }
        float g(float x) {
            var p = diffPair(diffPair(x, 1.0), diffPair(1.0, 0.0));
            return fwd_diff(fwd_diff(f))(p).d.d;
        }";
    expect![[r#"
        func @f(%x.0: f32) -> f32 differentiable(backward) {
        func @g(%x.0: f32) -> f32 {
        func @"diffPair<DifferentialPair<f32>>"(%primal.0: $"DifferentialPair<f32>", %differential.1: $"DifferentialPair<f32>") -> $"DifferentialPair<DifferentialPair<f32>>" origin(diffPair) differentiable(backward) inline(early) {
        func @"diffPair<f32>"(%primal.0: f32, %differential.1: f32) -> $"DifferentialPair<f32>" origin(diffPair) differentiable(backward) inline(early) {
        func @"fwd_diff(f)"(%x.0: $"DifferentialPair<f32>") -> $"DifferentialPair<f32>" differentiable(backward) request(forward @f)
        func @"fwd_diff(fwd_diff(f))"(%x.0: $"DifferentialPair<DifferentialPair<f32>>") -> $"DifferentialPair<DifferentialPair<f32>>" differentiable(backward) request(forward @"fwd_diff(f)")
        func @"DifferentialPair.d.get<DifferentialPair<f32>>"(%this.0: $"DifferentialPair<DifferentialPair<f32>>") -> $"DifferentialPair<f32>" origin(DifferentialPair.d.get) differentiable(backward) inline(early) {
        func @"DifferentialPair.d.get<f32>"(%this.0: $"DifferentialPair<f32>") -> f32 origin(DifferentialPair.d.get) differentiable(backward) inline(early) {
        func @"DifferentialPair.__init<DifferentialPair<f32>>"(%primal.0: $"DifferentialPair<f32>", %differential.1: $"DifferentialPair<f32>") -> $"DifferentialPair<DifferentialPair<f32>>" origin(DifferentialPair.__init) differentiable(backward) inline(early) {
        func @"DifferentialPair.__init<f32>"(%primal.0: f32, %differential.1: f32) -> $"DifferentialPair<f32>" origin(DifferentialPair.__init) differentiable(backward) inline(early) {
    "#]].assert_eq(&lines(source, "func"));
}

#[test]
fn a_built_in_brings_its_rule() {
    let source = "[Differentiable] float f(float x) { return sin(x); }";
    expect![[r#"
        func @f(%x.0: f32) -> f32 differentiable(backward) {
        func @"sin<f32>"(%x.0: f32) -> f32 origin(sin) rule(@"sin_t<f32>") {
        func @"sin_t<f32>"(%x.0: f32, %x_t.1: f32) -> f32 origin(sin_t) {
        func @float.mul(%this.0: f32, %other.1: f32) -> f32 differentiable(backward) inline(early) {
        func @"cos<f32>"(%x.0: f32) -> f32 origin(cos) rule(@"cos_t<f32>") {
        func @"cos_t<f32>"(%x.0: f32, %x_t.1: f32) -> f32 origin(cos_t) {
        func @float.neg(%this.0: f32) -> f32 differentiable(backward) inline(early) {
    "#]]
    .assert_eq(&lines(source, "func"));
}

#[test]
fn custom_derivatives_are_instances_where_derivatives_are_taken() {
    let source = "[BackwardDerivative(cube_bwd)] T cube<T : IFloat>(T x) { return x * x * x; }
        void cube_bwd<T : IFloat>(inout DifferentialPair<T> x, T.Differential d) { x = diffPair(x.p, x.d); }
        [Differentiable] float f(float x) { return cube(x); }";
    let plain = lines(source, "func");
    assert!(plain.contains("func @\"cube<f32>\"(%x.0: f32) -> f32 origin(cube) {"), "{plain}");
    assert!(!plain.contains("cube_bwd"), "{plain}");
    let slope = "float slope(float x) { var p = diffPair(x); bwd_diff(f)(p, 1.0); return p.d; }";
    let asked = lines(&format!("{source}\n{slope}"), "func");
    assert!(
        asked.contains("func @\"cube<f32>\"(%x.0: f32) -> f32 origin(cube) backward(@\"cube_bwd<f32>\") {"),
        "{asked}"
    );
    assert!(asked.contains("func @\"cube_bwd<f32>\"(inout %x.0"), "{asked}");
}
