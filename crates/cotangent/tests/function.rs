//! A function and its gradient, compiled once: called at points, at batches of points, and by several threads.

use cotangent::gradient::{Function, Functions, NoValue};
use cotangent::interp::Interpreter;
use cotangent::ir::Mode;
use cotangent::jit::Native;
use cotangent::runtime::Call;
use cotangent::{Request, Roots, Session, Symbol, Texts};
use std::sync::Arc;

const TEXT: &str = "
struct Spring : IDifferentiable { float rest; int kind; float2 end; }

[Differentiable]
float energy(Spring s, float k)
{
    float d = length(s.end) - s.rest;
    return k * d * d * s.kind;
}

[Differentiable]
void turn(float2 v, inout float w, out float2 result, no_diff float angle)
{
    w = w * v.x;
    result = float2(v.x * v.y, v.y * w + angle);
}

[Differentiable]
float pick(float x, int at)
{
    float a[2] = { x * x, x };
    return a[at];
}
";

fn function<B: Call + Default>(name: &str) -> Function<B> {
    let program = Session::new(Texts::new([("f.slang", TEXT)])).program(&Request::new("f.slang"));
    let roots = Roots::Derivatives { func: Symbol::new(name), modes: vec![Mode::Backward] };
    let lowered = program.compile(roots).accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    let functions = Functions::of(&lowered, &[Mode::Backward]);
    Function::new(Arc::new(B::default()), cotangent::compiled(&lowered), functions).unwrap()
}

/// `energy` by hand: `d = |end| - rest`, the derivatives by rest, end and k are `-2 k d n`, `2 k d n end / |end|` and `d d n`.
#[test]
fn a_gradient_is_called_at_a_point_and_at_many() {
    a_gradient_is_called_at_a_point_and_at_many_by::<Native>();
    a_gradient_is_called_at_a_point_and_at_many_by::<Interpreter>();
}

fn a_gradient_is_called_at_a_point_and_at_many_by<B: Call + Default>() {
    let energy = function::<B>("energy");
    let names: Vec<String> = energy.inputs.iter().map(|i| i.name.unwrap().to_string()).collect();
    assert_eq!((names, energy.point_size(), energy.value_size()), (vec!["s".into(), "k".into()], 5, 1));
    // rest, kind, end.x, end.y, k.
    let points = [[1.0, 2.0, 3.0, 4.0, 0.5], [4.0, 1.0, 3.0, 4.0, 2.0], [5.0, 3.0, 0.0, 6.0, 1.0]];
    assert_eq!(energy.value(&points[0]).unwrap(), [16.0]);
    let all = points.as_flattened();
    assert_eq!(energy.values(all, 3).unwrap(), [16.0, 2.0, 3.0]);
    let expected = [[-8.0, 4.8, 6.4, 32.0], [-4.0, 2.4, 3.2, 1.0], [-6.0, 0.0, 6.0, 3.0]];
    let found = energy.grads(all, 3).unwrap();
    for (found, expected) in found.iter().zip(expected.as_flattened()) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    assert_eq!(energy.grad(&points[2]).unwrap(), found[8..]);
    assert!(energy.grads(&all[1..], 3).is_err());
}

/// The outputs are `w v.x`, `v.x v.y` and `v.y w v.x + angle`; the last number of a point has no derivative.
#[test]
fn a_jacobian_has_a_row_for_each_output_number() {
    a_jacobian_has_a_row_for_each_output_number_by::<Native>();
    a_jacobian_has_a_row_for_each_output_number_by::<Interpreter>();
}

fn a_jacobian_has_a_row_for_each_output_number_by<B: Call + Default>() {
    let turn = function::<B>("turn");
    let point = [2.0, 3.0, 5.0, 7.0];
    assert_eq!(turn.value(&point).unwrap(), [10.0, 6.0, 37.0]);
    let expected = [[5.0, 0.0, 2.0], [3.0, 2.0, 0.0], [15.0, 10.0, 6.0]];
    assert_eq!(turn.jacobian(&point).unwrap(), expected);
    assert!(turn.grad(&point).is_err());
}

#[test]
fn a_point_that_stops_the_function_is_named() {
    a_point_that_stops_the_function_is_named_by::<Native>();
    a_point_that_stops_the_function_is_named_by::<Interpreter>();
}

fn a_point_that_stops_the_function_is_named_by<B: Call + Default>() {
    let pick = function::<B>("pick");
    assert_eq!(pick.grads(&[3.0, 0.0, 3.0, 1.0], 2).unwrap(), [6.0, 1.0]);
    match pick.values(&[3.0, 0.0, 3.0, 2.0, 3.0, 1.0], 3) {
        Err(NoValue::Stopped(1, stopped)) => assert_eq!(stopped.code().name, "E0801"),
        other => panic!("{other:?}"),
    }
    assert!(pick.value(&[3.0, 0.5]).is_err(), "a half is no index");
}

#[test]
fn eight_threads_call_one_function() {
    eight_threads_call_one_function_by::<Native>();
    eight_threads_call_one_function_by::<Interpreter>();
}

fn eight_threads_call_one_function_by<B: Call + Default>() {
    let energy = function::<B>("energy");
    std::thread::scope(|scope| {
        for k in 1..=8 {
            let energy = &energy;
            scope.spawn(move || {
                for _ in 0..20 {
                    let k = f64::from(k);
                    assert_eq!(energy.grad(&[1.0, 2.0, 3.0, 4.0, k]).unwrap()[3], 32.0);
                    assert_eq!(energy.value(&[1.0, 2.0, 3.0, 4.0, k]).unwrap(), [32.0 * k]);
                }
            });
        }
    });
}
