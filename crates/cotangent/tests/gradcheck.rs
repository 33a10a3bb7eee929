//! `gradcheck` finds every wrong derivative in `tests/gradcheck/wrong.slang` and none in `right.slang`.

use cotangent::gradcheck::{Finding, Options, Outcome, gradcheck};
use cotangent::ir::Mode;
use cotangent::{Compiler, Files, Symbol};

fn check(text: &str, options: &Options) -> Vec<Finding> {
    let files = [("test.slang", text)];
    let loader = Files(&files);
    let mut compiler = Compiler::new(&loader, vec![]);
    gradcheck(&mut compiler, "test.slang", options).expect("the program has no errors")
}

fn names(findings: &[Finding], wanted: fn(&Outcome) -> bool) -> Vec<&'static str> {
    findings.iter().filter(|f| wanted(&f.outcome)).map(|f| f.name.as_str()).collect()
}

fn differs(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Differs(_))
}

fn skipped(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Skipped(_))
}

fn agrees(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Agrees)
}

#[test]
fn every_planted_mistake_is_found() {
    for seed in [1, 2, 3] {
        let findings = check(
            include_str!("../../../tests/gradcheck/wrong.slang"),
            &Options { seed, ..Options::default() },
        );
        assert_eq!(names(&findings, differs).len(), 24);
        // What a wrong substitute stands in for is wrong; the substitute itself is not.
        assert_eq!(names(&findings, agrees), ["rough_sine"]);
        assert!(names(&findings, skipped).is_empty());
    }
}

#[test]
fn no_right_derivative_is_reported() {
    for seed in [1, 2, 3] {
        let findings = check(
            include_str!("../../../tests/gradcheck/right.slang"),
            &Options { seed, ..Options::default() },
        );
        assert_eq!(names(&findings, differs), Vec::<&str>::new());
        assert_eq!(names(&findings, skipped), ["sum_of_squares", "twice", "noise"]);
        assert!(names(&findings, agrees).len() >= 100);
        assert!(findings.iter().all(|f| f.error < 1e-6 && (f.points == 20 || skipped(&f.outcome))));
    }
}

#[test]
fn the_worst_case_says_where_and_how_much() {
    let text = "[ForwardDerivative(g)] float f(float x, float2 v) { return x * v.y; }
        DifferentialPair<float> g(DifferentialPair<float> x, DifferentialPair<float2> v)
        { return diffPair(x.p * v.p.y, x.d * v.p.y); }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    let Outcome::Differs(worst) = &finding.outcome else { panic!("it is wrong") };
    assert_eq!((worst.output.as_str(), worst.input.as_str()), ("result", "v.y"));
    assert_eq!((worst.forward, worst.backward), (Some(0.0), None));
    assert_eq!(worst.error, 1.0);
    let x: f64 = worst.at.strip_prefix("x = ").and_then(|t| t.split(',').next()).unwrap().parse().unwrap();
    assert!((worst.differences - x).abs() < 1e-6, "{worst:?}");
}

#[test]
fn kinks_are_named_with_both_slopes() {
    let text = "[Differentiable] float f(float x) { return abs(x) + max(x, 0.5); }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    assert!(agrees(&finding.outcome));
    let sides: Vec<[i32; 3]> =
        finding.kinks.iter().map(|k| [k.left, k.right, k.given].map(|x| (x * 2.0).round() as i32)).collect();
    // In halves: at 0 from -1 to 1, where the slope is given as 0; at 0.5 from 1 to 2, given as 1.5.
    assert_eq!(sides, [[-2, 2, 0], [2, 4, 3]]);
}

#[test]
fn points_outside_the_domain_are_replaced() {
    let text = "[Differentiable] float f(float x) { return log(x - 2.5) + sqrt(5 - x); }
        [Differentiable] float g(float x) { return log(-1 - x * x); }
        [Differentiable] float h(float x, int i) { float a[2] = { x, x * x }; return a[i]; }";
    let findings = check(text, &Options::default());
    assert_eq!((findings[0].points, findings[2].points), (20, 20));
    assert!(matches!(&findings[1].outcome, Outcome::Skipped(why) if why.contains("not finite")));
}

#[test]
fn only_the_functions_asked_for_are_checked() {
    let text = "[Differentiable] float f(float x) { return x; }
        [Differentiable] float f(float2 x) { return x.y; }
        [Differentiable] float g(float x) { return x; }
        float plain(float x) { return x; }";
    let asked = |name: &str| Options { functions: vec![Symbol::new(name)], ..Options::default() };
    assert_eq!(names(&check(text, &asked("f")), agrees), ["f", "f"]);
    for name in ["plain", "absent"] {
        let files = [("test.slang", text)];
        let loader = Files(&files);
        let mut compiler = Compiler::new(&loader, vec![]);
        assert!(gradcheck(&mut compiler, "test.slang", &asked(name)).is_err());
        assert!(compiler.diagnostics.iter().any(|d| d.message.contains(name)));
    }
}

#[test]
fn a_mode_that_cannot_be_compared_is_told() {
    let text = "[Differentiable] float f(float x, float e) { while (x < e) x = x * x + 0.5; return x; }";
    let findings = check(text, &Options::default());
    assert_eq!(findings[0].modes, [Mode::Forward]);
    assert!(findings[0].unchecked.as_ref().is_some_and(|reason| reason.starts_with("E0608")));
}
