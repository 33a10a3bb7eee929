//! `gradcheck` finds every wrong derivative in `tests/gradcheck/wrong.slang` and none in `right.slang`.

use cotangent::gradcheck::{Finding, Options, Outcome, Why, gradcheck};
use cotangent::ir::Mode;
use cotangent::runtime::Data;
use cotangent::{Request, Session, Stop, Texts};

fn check(text: &str, options: &Options) -> Vec<Finding> {
    let files = [("test.slang", text)];
    let program = Session::new(Texts::new(files)).program(&Request::new("test.slang"));
    gradcheck(&program, options).accept().unwrap()
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
        assert_eq!(names(&findings, differs).len(), 45);
        // What a wrong substitute stands in for is wrong; the substitute itself is not.
        assert_eq!(names(&findings, agrees), ["rough_sine"]);
        assert_eq!(names(&findings, skipped), ["length_in"]);
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
        assert_eq!(names(&findings, skipped), ["sum_of_squares", "twice", "noise", "level_of"]);
        assert!(names(&findings, agrees).len() >= 165);
        assert!(findings.iter().all(|f| f.error < 1e-9 && (f.points == 20 || skipped(&f.outcome))));
    }
}

#[test]
fn frozen_values_are_not_reported() {
    for seed in [1, 2, 3] {
        let text = include_str!("../../../tests/gradcheck/frozen.slang");
        let findings = check(text, &Options { seed, ..Options::default() });
        assert_eq!(names(&findings, agrees).len(), findings.len());
        assert!(findings.len() >= 15);
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
    let asked = |name: &str| options(&[name]);
    assert_eq!(names(&check(text, &asked("f")), agrees), ["f(float)", "f(float2)"]);
    for name in ["plain", "absent"] {
        assert!(refused(text, &asked(name)).contains(name));
    }
}

#[test]
fn a_mode_that_cannot_be_compared_is_told() {
    let text = "RWStructuredBuffer<int> n;
        [Differentiable] float f(float x, float e) { while (x < e) { n[0] = 1; x = x * x + 0.5; } return x; }";
    let findings = check(text, &Options::default());
    assert_eq!(findings[0].modes, [Mode::Forward]);
    assert!(findings[0].unchecked.as_ref().is_some_and(|reason| reason.starts_with("E0608")));
}

fn options(functions: &[&str]) -> Options {
    Options { functions: functions.iter().map(|f| f.to_string()).collect(), ..Options::default() }
}

/// Why nothing is checked: what the command line got wrong, or what the compiler says.
fn refused(text: &str, options: &Options) -> String {
    let files = [("test.slang", text)];
    let program = Session::new(Texts::new(files)).program(&Request::new("test.slang"));
    let answer = gradcheck(&program, options);
    match &answer.result {
        Err(Stop::Usage(message)) => message.clone(),
        Err(_) => answer.complaints(),
        Ok(_) => panic!("it was checked"),
    }
}

#[test]
fn an_overload_or_an_instance_may_be_asked_for() {
    let text = "interface ICurve { [Differentiable] static float at(float x); }
        struct Square : ICurve { [Differentiable] static float at(float x) { return x * x; } }
        [Differentiable] float f(float x) { return x; }
        [Differentiable] float f(float2 x, int n) { return x.y * n; }
        [Differentiable] float sum<C : ICurve, let N : int>(float x) { return C.at(x) * N; }
        struct Scaled<let N : int>
        {
            [Differentiable] static T by<T : __BuiltinFloatingPointType>(T x) { return x * x * T(float(N)); }
        }";
    let asked = ["f( float2,int )", "sum<Square, 3>", "Square.at", "Scaled.by<4, double>"];
    let findings = check(text, &options(&asked));
    assert_eq!(
        names(&findings, agrees),
        ["Square.at", "f(float2, int)", "sum<Square, 3>", "Scaled.by<4, double>"]
    );
    // All of the file's: what is overloaded is told apart, and a generic function has to be asked for.
    let findings = check(text, &Options::default());
    assert_eq!(names(&findings, agrees), ["Square.at", "f(float)", "f(float2, int)"]);
    assert_eq!(names(&findings, skipped), ["sum", "Scaled.by"]);
    for wrong in ["f(int)", "sum<Square>"] {
        assert!(refused(text, &options(&[wrong])).contains("there is no function named"), "{wrong}");
    }
    for (wrong, says) in [
        ("sum<float, 3>", "`float` does not conform to `ICurve`"),
        ("sum<Square, 3, 4>", "expected 2 generic arguments, found 3"),
        ("sum<Nothing, 3>", "unknown type `Nothing`"),
    ] {
        assert!(refused(text, &options(&[wrong])).contains(says), "{wrong}");
    }
    assert!(refused(text, &options(&["sum<Square>"])).contains("there is `sum<C, N>(float)`"));
}

#[test]
fn inputs_and_buffers_may_be_fixed() {
    let text = "RWStructuredBuffer<float> table; uniform float scale;
        [Differentiable] float f(float x, int i) { return x * detach(table[i]) * scale; }
        [Differentiable] float g(float x, int i) { return i == 7 ? f(x, 1) : log(-1.0 - x * x); }";
    let mut fixed = options(&["f", "g"]);
    fixed.at = "i=7".into();
    fixed.set = vec![("scale".into(), Data::parse("3").unwrap())];
    let findings = check(text, &fixed);
    assert_eq!(names(&findings, agrees), ["f", "g"]);
    fixed.set.push(("table".into(), Data::parse("f32[1, 2]").unwrap()));
    // There is no eighth element now, so `f` stops wherever it is tried.
    assert_eq!(names(&check(text, &fixed), skipped), ["f"]);
    fixed.at = "i=7, j=1".into();
    assert_eq!(refused(text, &fixed), "no checked function has a parameter `j`");
    fixed.at = "i=[1, 2]".into();
    assert!(refused(text, &fixed).contains("`i` takes one number"));
}

#[test]
fn the_worst_case_shows_what_memory_held() {
    let text = "RWStructuredBuffer<float2> table; uniform float scale;
        [BackwardDerivative(g)] float f(float x, StructuredBuffer<float> given) { return x * table[0].y * scale * given[1]; }
        void g(inout DifferentialPair<float> x, StructuredBuffer<float> given, float d) { x = diffPair(x.p, 0); }";
    let mut fixed = options(&["f"]);
    fixed.at = "x=2".into();
    fixed.set = vec![
        ("scale".into(), Data::parse("3").unwrap()),
        ("table".into(), Data::parse("f32[1, 2, 5, 6]").unwrap()),
        ("given".into(), Data::parse("f32[7, 8, 9]").unwrap()),
    ];
    let [finding] = &check(text, &fixed)[..] else { panic!("there is one function") };
    let Outcome::Differs(worst) = &finding.outcome else { panic!("it is wrong: {finding:?}") };
    assert_eq!(worst.at, "x = 2, table = [[1, 2], [5, 6]], scale = 3, given = [7, 8, 9]");
    assert!((worst.differences - 48.0).abs() < 1e-9, "{worst:?}");
}

#[test]
fn a_wrong_value_at_one_point_is_no_kink() {
    let smooth = "[ForwardDerivative(g)] float f(float x) { return sin(x); }
        DifferentialPair<float> g(DifferentialPair<float> x)
        { return diffPair(sin(x.p), x.p == 0 ? 0.0 : cos(x.p) * x.d); }";
    let [finding] = &check(smooth, &Options::default())[..] else { panic!("there is one function") };
    let Outcome::Differs(worst) = &finding.outcome else { panic!("it is wrong at 0") };
    assert_eq!((worst.at.as_str(), worst.forward), ("x = 0", Some(0.0)));
    assert!(finding.kinks.is_empty());
}

#[test]
fn the_derivative_at_a_kink_lies_between_the_slopes_of_its_sides() {
    let at_zero = |slope: &str| {
        format!(
            "[ForwardDerivative(g)] float f(float x) {{ return abs(x); }}
            DifferentialPair<float> g(DifferentialPair<float> x)
            {{ return diffPair(abs(x.p), x.p > 0 ? x.d : x.p < 0 ? -x.d : {slope} * x.d); }}"
        )
    };
    for (slope, is_right) in [("-1", true), ("0.3", true), ("1", true), ("1.1", false), ("-7", false)] {
        let findings = check(&at_zero(slope), &Options::default());
        assert_eq!(agrees(&findings[0].outcome), is_right, "{slope}");
    }
}

#[test]
fn kinks_that_meet_are_told_from_mistakes() {
    // Along either axis the slope at zero is 0; the rules for ties say a quarter, which lies between the slopes around.
    let text = "[Differentiable] float f(float x, float y) { return min(max(x, 0), max(y, 0)); }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    assert!(agrees(&finding.outcome));
    assert!(finding.kinks.iter().any(|k| k.given == 0.25), "{finding:?}");
}

#[test]
fn constants_keep_their_digits() {
    // `cos(0.5)` is known at compile time, and the rule of `exp2` has a constant in it.
    let text = "[Differentiable] float f(float x) { return sin(x * cos(0.5)) + exp2(x) * 0.1; }
        [Differentiable] half g(half x) { return sin(x * cos(half(0.5))) + exp2(x); }";
    for finding in check(text, &Options::default()) {
        assert!(agrees(&finding.outcome) && finding.error < 1e-11, "{finding:?}");
    }
}

#[test]
fn what_a_result_hides_is_told_and_not_judged() {
    // Below zero the square root is not a number, which `saturate` hides.
    let text = "[Differentiable] float f(float x) { return saturate(sqrt(x)); }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    assert!(agrees(&finding.outcome) && finding.points == 20, "{finding:?}");
    let [hidden] = &finding.hidden[..] else { panic!("it is told once") };
    assert!(hidden.given.is_nan() && hidden.at.starts_with("x = -"), "{hidden:?}");
    // Nothing is compared where all points are of that kind.
    let text = "[Differentiable] float f(float x) { return saturate(sqrt(-1 - x * x)) * x; }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    assert!(
        matches!(&finding.outcome, Outcome::Skipped(why) if why.contains("intermediate value is not finite"))
    );
}

#[test]
fn what_is_no_number_is_a_derivative_only_where_a_function_ends_or_is_infinitely_steep() {
    let with = |value: &str, slope: &str| {
        format!(
            "[ForwardDerivative(g)] float f(float x) {{ return {value}; }}
            DifferentialPair<float> g(DifferentialPair<float> p) {{ let x = p.p; return diffPair(f(x), ({slope}) * p.d); }}"
        )
    };
    let not_at_zero = |slope: &str| format!("x == 0 ? 0.0 / x : {slope}");
    for (value, slope, is_right) in [
        ("x * x", "2 * x", false),
        ("abs(x)", "sign(x)", false),
        ("floor(x)", "0", false),
        ("sqrt(x)", "0.5 / sqrt(x)", true),
        ("sqrt(abs(x))", "0.5 * sign(x) / sqrt(abs(x))", true),
    ] {
        let [finding] = &check(&with(value, &not_at_zero(slope)), &Options::default())[..] else { panic!() };
        assert_eq!(agrees(&finding.outcome), is_right, "{value}: {finding:?}");
        if let Outcome::Differs(worst) = &finding.outcome {
            assert!(worst.forward.is_some_and(f64::is_nan) && worst.at == "x = 0", "{worst:?}");
        }
    }
}

#[test]
fn at_a_jump_the_slopes_are_those_of_the_pieces() {
    let at_half = |slope: &str| {
        format!(
            "[ForwardDerivative(g)] float f(float x) {{ return x < 0.5 ? x : 7 + 3 * x; }}
            DifferentialPair<float> g(DifferentialPair<float> x)
            {{ return diffPair(f(x.p), x.p < 0.5 ? x.d : x.p > 0.5 ? 3 * x.d : {slope} * x.d); }}"
        )
    };
    for (slope, is_right) in [("1", true), ("3", true), ("2", true), ("0", false), ("3.1", false)] {
        let findings = check(&at_half(slope), &Options::default());
        assert_eq!(agrees(&findings[0].outcome), is_right, "{slope}");
        if is_right {
            let [kink] = &findings[0].kinks[..] else { panic!("there is one jump") };
            assert!(kink.jumps && [kink.left, kink.right].map(f64::round) == [1.0, 3.0], "{kink:?}");
        }
    }
}

#[test]
fn slopes_around_a_point_bound_nothing_where_the_function_jumps() {
    // Along x it goes from 0 to 1 at zero. Above the diagonals the slope is 3, but across them it jumps, ever nearer to zero.
    let text = "[Differentiable] float f(float x, float y) { return abs(x) > y ? max(x, y) : x * 3; }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    let Outcome::Differs(worst) = &finding.outcome else { panic!("it is wrong at zero") };
    assert_eq!((worst.at.as_str(), worst.forward, worst.backward), ("x = 0, y = 0", Some(3.0), Some(3.0)));
    assert!(worst.sides.is_some_and(|sides| sides.map(|s| s.round() as i32) == [0, 1]), "{worst:?}");
    // The same pieces, joined: any of the slopes around will do at zero.
    let text =
        "[Differentiable] float f(float x, float y) { return abs(x) > y ? 3 * x - 2 * y * sign(x) : x; }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    assert!(agrees(&finding.outcome), "{finding:?}");
}

#[test]
fn waves_that_differences_step_over_are_told_and_not_judged() {
    let with = |slope: &str| {
        format!(
            "[ForwardDerivative(g)] double f(double x) {{ return x + 1e-9lf * sin(1e12lf * x); }}
            DifferentialPair<double> g(DifferentialPair<double> x) {{ return diffPair(f(x.p), ({slope}) * x.d); }}"
        )
    };
    let right = check(&with("1 + 1e3lf * cos(1e12lf * x.p)"), &Options::default());
    let [finding] = &right[..] else { panic!("there is one function") };
    assert!(!differs(&finding.outcome), "{finding:?}");
    let [hidden] = &finding.hidden[..] else { panic!("it is told once: {finding:?}") };
    assert_eq!(hidden.why, Why::Waves);
    // A derivative without waves is wrong by what differences see.
    for slope in ["2", "1 + x.p", "abs(x.p)"] {
        let findings = check(&with(slope), &Options::default());
        assert!(differs(&findings[0].outcome), "{slope}: {:?}", findings[0]);
    }
}

#[test]
fn between_two_poles_nothing_binds_a_derivative() {
    let text = "[Differentiable] float odd(float y) { return y != 0 ? 1 / y : 0; }
        [Differentiable] float even(float y) { return y != 0 ? 1 / (y * y) : 0; }";
    for finding in check(text, &Options::default()) {
        assert!(agrees(&finding.outcome), "{finding:?}");
        let [kink] = &finding.kinks[..] else { panic!("it is told: {finding:?}") };
        assert!(kink.left.is_infinite() && kink.right.is_infinite() && kink.given == 0.0, "{kink:?}");
    }
}

#[test]
fn modes_of_which_one_is_finite_differ_whatever_differences_say() {
    // Reverse mode goes through the product that is overwritten in part.
    let text = "[Differentiable] float row(float x) {
            float2 v = mul(float2x2(sqrt(x), 0.0, 0.0, 1.0), float2(x, x));
            if (x < 0.0) v.x = x;
            return v.x + v.y;
        }";
    let findings = check(text, &Options { at: "x=-2".into(), ..options(&["row"]) });
    let Outcome::Differs(worst) = &findings[0].outcome else { panic!("{:?}", findings[0]) };
    assert!(worst.forward.is_some_and(f64::is_finite), "{worst:?}");
    assert!(worst.backward.is_some_and(f64::is_nan), "{worst:?}");
}

#[test]
fn inputs_that_do_not_move_may_meet_what_is_not_finite_in_forward_mode() {
    // Where `eye` is at `p`, the tangent of the direction is no number whatever moves, and `max` hides the direction.
    let text = "[Differentiable] float shade(float3 albedo, float3 p, no_diff float3 eye) {
            return max(dot(normalize(p - eye), albedo) + 0.5, 0.0);
        }";
    let at = Options { at: "p=[1, 2, 3], eye=[1, 2, 3]".into(), ..Options::default() };
    for options in [Options::default(), at] {
        let findings = check(text, &options);
        assert!(!differs(&findings[0].outcome), "{:?}", findings[0]);
        assert!(!findings[0].hidden.is_empty(), "it is told: {:?}", findings[0]);
    }
}

#[test]
fn a_tie_at_a_jump_has_its_share() {
    // At one the branch changes and `max` has no choice to make: 2 or 9 by the branch, and a half for the tie.
    let text = "[Differentiable] float f(float a, float b) { return (b < 1 ? 9 * b : 2 * b) + max(a, b); }";
    let at_one = Options { at: "a=1, b=1".into(), ..Options::default() };
    let findings = check(text, &at_one);
    assert!(agrees(&findings[0].outcome), "{:?}", findings[0]);
    // Without a tie the same slope is wrong.
    let wrong = "[ForwardDerivative(g)] float f(float b) { return b < 1 ? 9 * b : 3 * b; }
        DifferentialPair<float> g(DifferentialPair<float> b) { return diffPair(f(b.p), (b.p < 1 ? 9 : 2.5) * b.d); }";
    let findings = check(wrong, &Options { at: "b=1".into(), ..Options::default() });
    assert!(differs(&findings[0].outcome), "{:?}", findings[0]);
}

#[test]
fn slopes_across_a_jump_bound_nothing() {
    // At zero the pieces meet, but around it differences straddle the jump at `x == y`.
    let text = "[Differentiable] float f(float x, float y) { return x > y ? x : x < y ? 3 * x : 7 * x; }";
    let at_zero = Options { at: "x=0, y=0".into(), ..Options::default() };
    let [finding] = &check(text, &at_zero)[..] else { panic!("there is one function") };
    let Outcome::Differs(worst) = &finding.outcome else { panic!("{finding:?}") };
    assert_eq!((worst.input.as_str(), worst.forward), ("x", Some(7.0)));
    assert!(worst.sides.is_some_and(|sides| sides.map(f64::round) == [3.0, 1.0]), "{worst:?}");
}

#[test]
fn what_gets_ever_steeper_around_a_jump_may_have_any_of_these_slopes() {
    // Along either axis it jumps from -1 to 1; beside the axis it goes through all slopes from 0 up.
    let with = |slope: &str| {
        format!(
            "[ForwardDerivative(g)] float2 f(float2 v) {{ float l = length(v); return l > 0 ? v / l : float2(0); }}
            DifferentialPair<float2> g(DifferentialPair<float2> v) {{
                float l = length(v.p);
                if (l == 0) return diffPair(float2(0), {slope} * v.d);
                return diffPair(v.p / l, v.d / l - v.p * (dot(v.p, v.d) / (l * l * l)));
            }}"
        )
    };
    for (slope, is_right) in [("0", true), ("1", true), ("-1", false)] {
        let findings = check(&with(slope), &Options::default());
        assert_eq!(agrees(&findings[0].outcome), is_right, "{slope}: {:?}", findings[0]);
    }
}

#[test]
fn what_is_detached_beside_a_point_and_not_there_is_told_and_not_judged() {
    // At zero the derivative is 7; beside it another factor is detached, which nothing holds.
    let text = "[Differentiable] float f(float x) {
            float t = 1;
            if (x != 0) t = detach(x + 1);
            float v = detach(5 * x + 7);
            return (x * v + 1) * t;
        }";
    let [finding] = &check(text, &Options::default())[..] else { panic!("there is one function") };
    assert!(agrees(&finding.outcome) && finding.points == 20, "{finding:?}");
    let [hidden] = &finding.hidden[..] else { panic!("it is told once: {finding:?}") };
    assert_eq!((hidden.why, hidden.given, hidden.at.as_str()), (Why::Detached, 7.0, "x = 0"));
    let at_zero = Options { at: "x=0".into(), ..Options::default() };
    let [finding] = &check(text, &at_zero)[..] else { panic!("there is one function") };
    assert!(matches!(&finding.outcome, Outcome::Skipped(why) if why.contains("detaches")), "{finding:?}");
}

#[test]
fn where_a_function_is_singular_at_every_point_it_neither_agrees_nor_differs() {
    let at_zero = Options { at: "x=0".into(), ..Options::default() };
    for value in ["sqrt(x)", "x > 0 ? sqrt(x) : -sqrt(-x)", "1 - sqrt(x) * 2"] {
        let text = format!("[Differentiable] float f(float x) {{ return {value}; }}");
        let [finding] = &check(&text, &at_zero)[..] else { panic!("there is one function") };
        assert!(matches!(finding.outcome, Outcome::Singular), "{value}: {finding:?}");
        assert!(finding.kinks.iter().all(|kink| kink.singular) && !finding.kinks.is_empty());
        // At other points there is something to compare with.
        let [finding] = &check(&text, &Options::default())[..] else { panic!("there is one function") };
        assert!(agrees(&finding.outcome), "{value}: {finding:?}");
    }
    // Where it has no value at all, nothing is compared.
    for value in ["log(x)", "1 / x", "x * log(x)"] {
        let text = format!("[Differentiable] float f(float x) {{ return {value}; }}");
        let [finding] = &check(&text, &at_zero)[..] else { panic!("there is one function") };
        assert!(skipped(&finding.outcome), "{value}: {finding:?}");
    }
}

/// Functions that take long run as native code: here with uniforms and buffers, which differ from point to point.
#[test]
fn functions_that_take_long_are_checked_as_well() {
    let text = "StructuredBuffer<float> table;
        uniform float gain;
        [Differentiable] float right(float x, half y)
        {
            float sum = 0.0;
            [MaxIters(300)]
            for (int i = 0; i < 300; i++)
                sum += sin(x * table[i % 16] + i) * gain + y * x;
            return sum;
        }
        [BackwardDerivative(wrong_backward)] float wrong(float x)
        {
            float sum = 0.0;
            for (int i = 0; i < 300; i++)
                sum += cos(x + i) * table[i % 16];
            return sum;
        }
        void wrong_backward(inout DifferentialPair<float> x, float d)
        {
            float sum = 0.0;
            for (int i = 0; i < 300; i++)
                sum -= sin(x.p + i) * (table[i % 16] + 1e-6);
            x = diffPair(x.p, sum * d);
        }";
    let findings = check(text, &Options::default());
    assert_eq!(names(&findings, agrees), ["right"]);
    assert_eq!(names(&findings, differs), ["wrong"]);
    assert!(findings.iter().all(|f| f.points == 20));
}
