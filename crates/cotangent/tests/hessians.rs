//! The Hessians of ten functions by all four nestings of the operators: forward over forward, forward over reverse, reverse
//! over forward and reverse over reverse agree with each other and with second differences of the function itself.

use cotangent::gradient::{Evaluator, Functions};
use cotangent::interp::Options;
use cotangent::ir::Mode;
use cotangent::{Request, Roots, Session, Symbol, Texts};

const PROGRAM: &str = include_str!("hessians.slang");

/// The functions, each at a point.
const FUNCTIONS: [(&str, [f64; 3]); 10] = [
    ("valley", [0.8, 0.5, -0.3]),
    ("waves", [0.7, -1.2, 0.4]),
    ("bell", [0.3, -0.4, 0.6]),
    ("softest", [0.2, -0.5, 0.9]),
    ("powers", [1.7, 0.6, 0.8]),
    ("orbit", [0.4, 0.9, 0.3]),
    ("shuffled", [0.5, -0.7, 0.8]),
    ("optics", [0.6, -0.3, 0.5]),
    ("turned", [0.9, -0.4, 0.7]),
    ("chosen", [0.8, 0.6, 0.7]),
];

type Hessian = [[f64; 3]; 3];

/// Derivatives of `name` along `e`, as functions of their own.
fn program(name: &str) -> String {
    format!(
        "{PROGRAM}
[Differentiable]
float slopeForward(float3 v, no_diff float3 e) {{ return fwd_diff({name})(diffPair(v, e)).d; }}

[Differentiable]
float slopeBackward(float3 v, no_diff float3 e)
{{
    var p = diffPair(v);
    bwd_diff({name})(p, 1.0);
    return dot(p.d, e);
}}
"
    )
}

/// Runs `work` with an evaluator of `func` and its derivatives.
fn with<R>(name: &str, func: &str, work: impl FnOnce(&mut Evaluator) -> R) -> R {
    let text = program(name);
    let files = [("hessians.slang", text.as_str())];
    let program = Session::new(Texts::new(files)).program(&Request::new("hessians.slang"));
    let modes = [Mode::Forward, Mode::Backward];
    let roots = Roots::Derivatives { func: Symbol::new(func), modes: modes.to_vec() };
    let lowered = program.compile(roots).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{name}: {rejected}"));
    let options = Options { wide: true, ..Options::default() };
    work(&mut Evaluator::new(lowered.module.clone(), Functions::of(&lowered, &modes), options))
}

/// The Hessian as the derivatives, by `mode`, of the slopes along the axes.
fn nested(name: &str, slope: &str, mode: Mode, at: [f64; 3]) -> Hessian {
    with(name, slope, |evaluator| {
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|axis| {
            evaluator.set_point(&format!("v={at:?}, e={axis:?}")).expect("a point");
            let jacobian = evaluator.jacobian(mode, &|input| input == "v").expect("it runs");
            [0, 1, 2].map(|column| jacobian.entries[0][column])
        })
    })
}

/// The Hessian by second differences.
fn differences(name: &str, at: [f64; 3]) -> Hessian {
    const STEP: f64 = 4e-4;
    with(name, name, |evaluator| {
        let mut value = |i: usize, a: f64, j: usize, b: f64| {
            let mut v = at;
            v[i] += a * STEP;
            v[j] += b * STEP;
            evaluator.set_point(&format!("v={v:?}")).expect("a point");
            let outputs = evaluator.outputs().expect("it runs");
            evaluator.numbers(&outputs[0])[0].1.as_f64()
        };
        let mut entry = |i: usize, j: usize| {
            let corners = value(i, 1.0, j, 1.0) - value(i, 1.0, j, -1.0) - value(i, -1.0, j, 1.0);
            (corners + value(i, -1.0, j, -1.0)) / (4.0 * STEP * STEP)
        };
        [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j)))
    })
}

fn same(what: &str, a: &Hessian, b: &Hessian, relative: f64) {
    for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!((a - b).abs() <= relative * (1.0 + a.abs()), "{what}: {a} and {b}");
    }
}

// req: HO-02, HO-03, HO-04, HO-07
#[test]
fn hessians_agree_however_the_operators_nest() {
    for (name, at) in FUNCTIONS {
        let forward_forward = nested(name, "slopeForward", Mode::Forward, at);
        let reverse_forward = nested(name, "slopeForward", Mode::Backward, at);
        let forward_reverse = nested(name, "slopeBackward", Mode::Forward, at);
        let reverse_reverse = nested(name, "slopeBackward", Mode::Backward, at);
        same(&format!("{name}: reverse over forward"), &forward_forward, &reverse_forward, 1e-9);
        same(&format!("{name}: forward over reverse"), &forward_forward, &forward_reverse, 1e-9);
        same(&format!("{name}: reverse over reverse"), &forward_forward, &reverse_reverse, 1e-9);
        let turned = [0, 1, 2].map(|i| [0, 1, 2].map(|j| forward_forward[j][i]));
        same(&format!("{name}: a Hessian is symmetric"), &forward_forward, &turned, 1e-9);
        same(&format!("{name}: second differences"), &forward_forward, &differences(name, at), 3e-5);
        assert!(forward_forward.iter().flatten().any(|h| h.abs() > 0.1), "{name} is curved");
    }
}
