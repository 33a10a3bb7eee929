//! Programs whose derivatives are known, and one for every linear operation.
//!
//! Expected numbers are derived by hand, next to each. Every program also obeys the laws, with every preference.

mod law;
#[allow(dead_code, reason = "only its numbers are needed here, not its programs")]
mod random;
mod requests;

use cotangent_autodiff::Context;
use cotangent_base::Symbol;
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::text::parse_module;
use cotangent_ir::{Prefer, Trap};
use law::Trio;
use random::Random;

/// Checks that the derivative of `f(x, plain..)` at each `x` is as given, when the seed is 1.
fn derivative(text: &str, plain: &[Val], points: &[(f64, f64, f64)]) {
    for prefer in Prefer::ALL {
        let trio = Trio::parse(text, prefer);
        for &(x, value, slope) in points {
            let inputs = std::iter::once(Val::float(x)).chain(plain.iter().cloned()).collect();
            assert_eq!(trio.run(trio.f, inputs).0[0], Val::float(value), "the value at {x}");
            let pair = Val::aggregate([Val::float(x), Val::float(777.0)]);
            let inputs =
                std::iter::once(pair).chain(plain.iter().cloned()).chain([Val::float(1.0)]).collect();
            let outputs = trio.run(trio.bwd, inputs).0;
            assert_eq!(outputs[0].parts()[0], Val::float(x), "the value in the pair");
            assert_eq!(outputs[0].parts()[1], Val::float(slope), "the derivative at {x}, {prefer:?}");
        }
    }
}

/// Checks the laws of `f` at random points, and those of its backward derivative.
fn laws(text: &str) {
    for prefer in Prefer::ALL {
        let first = Trio::parse(text, prefer);
        for point in 0..3 {
            first.check(&mut Random::new(point), 1e-6);
        }
        let second = Trio::of(first.module, first.bwd, prefer);
        second.check(&mut Random::new(5), 1e-5);
    }
}

// req: IR-CKPT-8
#[test]
fn a_branch_in_a_branch() {
    // t = x*x; x < 0.5: t*t + x, with slope 4x^3 + 1; x > 10: t*t*t + x, with slope 6x^5 + 1; else 0.
    // At 0.25: 4/64 + 1. At 11: 6 * 161051 + 1.
    let text = "
func @f(%x: f32) -> f32 differentiable(backward) {
  %1: f32 = const 0.5
  %10: f32 = const 10.0
  %0: f32 = zero
  %c: bool = lt %x, %1
  %r: f32 = if %c {
    %t: f32 = mul %x, %x
    %p: f32 = mul %t, %t
    %q: f32 = add %p, %x
    yield %q
  } else {
    %d: bool = gt %x, %10
    %s: f32 = if %d {
      %u: f32 = mul %x, %x
      %v: f32 = mul %u, %u
      %w: f32 = mul %v, %u
      %z: f32 = add %w, %x
      yield %z
    } else {
      yield %0
    }
    yield %s
  }
  return %r
}";
    derivative(text, &[], &[(0.25, 0.25390625, 1.0625), (11.0, 1771572.0, 966307.0), (5.0, 0.0, 0.0)]);
}

// req: IR-CKPT-18
#[test]
fn a_branch_in_a_loop() {
    // p = x; if x < 0.5: p *= 2x; for i < 10: if x > 0.5: p += x * 2i.
    // At 0.25: 2x^2, slope 4x. At 1: x + 90x. At 0.5: x.
    let text = "
func @f(%x: f32) -> f32 differentiable(backward) {
  %half: f32 = const 0.5
  %2: f32 = const 2.0
  %n: i32 = const 10
  %c: bool = lt %x, %half
  %p: f32 = if %c {
    %k: f32 = mul %2, %x
    %q: f32 = mul %x, %k
    yield %q
  } else {
    yield %x
  }
  %r: f32 = for %n (%p) body (%i: i32, %s: f32) {
    %d: bool = gt %x, %half
    %next: f32 = if %d {
      %fi: f32 = convert %i
      %t: f32 = mul %2, %fi
      %xt: f32 = mul %x, %t
      %sum: f32 = add %s, %xt
      yield %sum
    } else {
      yield %s
    }
    yield %next
  }
  return %r
}";
    derivative(text, &[], &[(0.25, 0.125, 1.0), (1.0, 91.0, 91.0), (0.5, 0.5, 1.0)]);
}

// req: LOOP-04, LOOP-05, LOOP-06
#[test]
fn a_loop_that_runs_longer_than_it_said_is_stopped() {
    let text = "
func @f(%x: f32, %n: i32) -> f32 differentiable(backward) {
  %0: i32 = const 0
  %1: i32 = const 1
  %r: f32, %e: i32 = while (%x, %0) max_iters(3) cond (%p: f32, %i: i32) {
    %c: bool = lt %i, %n
    yield %c
  } body (%q: f32, %j: i32) {
    %s: f32 = mul %q, %q
    %j2: i32 = add %j, %1
    yield %s, %j2
  }
  return %r
}";
    // x^(2^n), slope 2^n x^(2^n - 1).
    derivative(text, &[Val::int(0)], &[(2.0, 2.0, 1.0)]);
    derivative(text, &[Val::int(1)], &[(2.0, 4.0, 4.0)]);
    derivative(text, &[Val::int(3)], &[(2.0, 256.0, 1024.0)]);
    for prefer in Prefer::ALL {
        let trio = Trio::parse(text, prefer);
        let pair = Val::aggregate([Val::float(1.0), Val::float(0.0)]);
        let mut machine = Machine::new(&trio.module, Options::default());
        let stopped =
            machine.call(trio.bwd, vec![pair, Val::int(4), Val::float(1.0)]).expect_err("four rounds");
        assert_eq!(stopped.trap, Trap::LoopBound);
    }
}

// req: IR-CKPT-11
#[test]
fn a_power_by_a_loop() {
    // p = 1; ten times p = x * p: x^10, slope 10 x^9.
    let text = "
func @f(%x: f32) -> f32 differentiable(backward) {
  %n: i32 = const 10
  %1: f32 = const 1.0
  %r: f32 = for %n (%1) body (%k: i32, %p: f32) {
    %q: f32 = mul %x, %p
    yield %q
  }
  return %r
}";
    derivative(text, &[], &[(2.0, 1024.0, 5120.0), (0.0, 0.0, 0.0)]);
}

const UNTIL: &str = "
func @f(%x: f32, %k: i32) -> f32 differentiable(backward) {
  %0: i32 = const 0
  %1: i32 = const 1
  %ten: i32 = const 10
  %one: f32 = const 1.0
  %r: f32, %e: i32 = while (%one, %0) cond (%p: f32, %i: i32) {
    %c: bool = lt %i, %ten
    yield %c
  } body (%q: f32, %j: i32) {
    %d: bool = eq %j, %k
    if %d {
      EXIT
    } else {
      yield
    }
    %s: f32 = mul %q, %x
    %j2: i32 = add %j, %1
    yield %s, %j2
  }
  return %r
}";

// req: LOOP-01, LOOP-03, LOOP-05
#[test]
fn a_loop_left_by_a_break() {
    // x^k: with k = 3 at 2, 8 and 3 * 4; with k = 0 no round at all.
    let text = UNTIL.replace("EXIT", "break 0 %q, %j");
    derivative(&text, &[Val::int(3)], &[(2.0, 8.0, 12.0)]);
    derivative(&text, &[Val::int(0)], &[(2.0, 1.0, 0.0)]);
    derivative(&text, &[Val::int(50)], &[(2.0, 1024.0, 5120.0)]);
}

// req: LOOP-09
#[test]
fn a_loop_left_by_a_return() {
    let text = UNTIL.replace("EXIT", "%t: f32 = mul %q, %q\n      return %t");
    // (x^3)^2 = x^6: 64, 6 * 32.
    derivative(&text, &[Val::int(3)], &[(2.0, 64.0, 192.0)]);
}

// req: LOOP-02
#[test]
fn a_round_skipped_by_a_continue() {
    // Four iterations, one of them skipped: x^3.
    let text = UNTIL
        .replace("const 10\n", "const 4\n")
        .replace("EXIT", "%n: i32 = add %j, %1\n      continue 0 %q, %n");
    derivative(&text, &[Val::int(1)], &[(2.0, 8.0, 12.0)]);
}

// req: IR-TR-14
#[test]
fn a_variable_overwritten() {
    let text = "
func @f(%x: f32) -> f32 differentiable(backward) {
  %3: f32 = const 3.0
  %a: [f32; 2] = undef
  %i: i32 = const 0
  %p: f32 = mul %x, %x
  %b: [f32; 2] = insert %a, %p[%i]
  %q: f32 = mul %3, %x
  %c: [f32; 2] = insert %b, %q[%i]
  %r: f32 = extract %c[%i]
  return %r
}";
    derivative(text, &[], &[(2.0, 6.0, 3.0)]);
}

// req: IR-TR-13
#[test]
fn an_element_squared_in_place() {
    // for i < 10: a[i] = a[i] * a[i], seed ones: 6 at 3, not 7.
    let text = "
func @f(inout %a: [f32; 10]) differentiable(backward) {
  %n: i32 = const 10
  %r: [f32; 10] = for %n (%a) body (%i: i32, %b: [f32; 10]) {
    %x: f32 = extract %b[%i]
    %y: f32 = mul %x, %x
    %c: [f32; 10] = insert %b, %y[%i]
    yield %c
  }
  return %r
}";
    for prefer in Prefer::ALL {
        let trio = Trio::parse(text, prefer);
        let pair = Val::aggregate([Val::floats(&[3.0; 10]), Val::floats(&[1.0; 10])]);
        let outputs = trio.run(trio.bwd, vec![pair]).0;
        assert_eq!(outputs[0].parts()[1], Val::floats(&[6.0; 10]));
    }
}

// req: IR-EXT-11
#[test]
fn recursion_needs_no_context() {
    let text = "
func @f(%x: f32, %n: i32) -> f32 differentiable(backward) {
  %0: i32 = zero
  %1: i32 = const 1
  %c: bool = gt %n, %0
  %r: f32 = if %c {
    %m: i32 = sub %n, %1
    %2: f32 = call @f(%x, %m)
    %3: f32 = mul %2, %x
    yield %3
  } else {
    %4: f32 = const 1.0
    yield %4
  }
  return %r
}";
    // x^5 at 2: 32, 5 * 16.
    derivative(text, &[Val::int(5)], &[(2.0, 32.0, 80.0)]);
    laws(text);
}

#[test]
fn mutual_recursion_with_arrays_and_two_calls() {
    let text = "
func @f(inout %a: [f32; 6], %n: i32) -> f32 differentiable(backward) {
  %0: i32 = zero
  %1: i32 = const 1
  %c: bool = gt %n, %0
  %r: f32, %s: [f32; 6] = if %c {
    %m: i32 = sub %n, %1
    %2: f32, %b: [f32; 6] = call @g(%a, %m)
    %x: f32 = extract %b[%m]
    %y: f32 = mul %x, %2
    %d: [f32; 6] = insert %b, %y[%m]
    %3: f32, %e: [f32; 6] = call @f(%d, %m)
    %4: f32 = mul %3, %2
    yield %4, %e
  } else {
    %5: f32 = extract %a[%0]
    yield %5, %a
  }
  return %r, %s
}
func @g(inout %a: [f32; 6], %n: i32) -> f32 differentiable(backward) {
  %0: f32, %b: [f32; 6] = call @f(%a, %n)
  %i: i32 = const 2
  %1: f32 = extract %b[%i]
  %2: f32 = add %0, %1
  return %2, %b
}";
    laws(text);
}

// A loop that counts down has its own counter; a variable that steps along with its iterations is known all the same.
#[test]
fn a_variable_that_counts_up_in_a_loop_that_counts_down() {
    let text = "
func @f(%x: f32, %a: [f32; 16]) -> f32 differentiable(backward) {
  %n: i32 = const 5
  %0: i32 = const 1
  %3: i32 = const 3
  %r: f32, %e: i32 = for %n (%x, %0) rev body (%k: i32, %p: f32, %j: i32) {
    %w: f32 = extract %a[%j]
    %v: f32 = extract %a[%k]
    %q: f32 = mul %p, %w
    %s: f32 = add %q, %v
    %j2: i32 = add %j, %3
    yield %s, %j2
  }
  return %r
}";
    laws(text);
    let trio = Trio::parse(text, Prefer::Auto);
    let context = &trio.report;
    assert!(context.kept.iter().all(|k| k.ty == "[f32; 5]"), "only the product is kept: {:?}", context.kept);
    assert_eq!(context.bytes, 20);
}

// A value passed twice is handed over to be added to once; what the second place gives is added.
#[test]
fn one_value_in_two_places_of_a_call() {
    let text = "
func @g(%a: f32, %b: f32) -> f32 differentiable(backward) {
  %1: f32 = mul %a, %a
  %2: f32 = mul %1, %b
  return %2
}
func @f(%x: f32) -> f32 differentiable(backward) {
  %1: f32 = call @g(%x, %x)
  %2: f32 = mul %1, %x
  return %2
}";
    // x^4 at 2: 16, 32.
    derivative(text, &[], &[(2.0, 16.0, 32.0)]);
    laws(text);
}

#[test]
fn the_users_backward_derivative_is_called_with_pairs() {
    // `square` claims the slope 10, whatever x is, and gets 777 in `.d` only by mistake.
    // y = square(x) * x at 3: 9 * 3; x gets square(x) = 9 directly and 10 * x = 30 through the claim.
    let text = "
struct $\"Pair<f32>\" { p: f32, d: f32 }
diff $\"Pair<f32>\" = $\"Pair<f32>\" { p -> p, d -> d }
func @square(%x: f32) -> f32 backward(@square_bwd) {
  %1: f32 = mul %x, %x
  return %1
}
func @square_bwd(inout %x: $\"Pair<f32>\", %d: f32) {
  %ten: f32 = const 10.0
  %p: f32 = extract %x[0]
  %1: f32 = mul %ten, %d
  %2: $\"Pair<f32>\" = pack %p, %1
  return %2
}
func @f(%x: f32) -> f32 differentiable(backward) {
  %n: i32 = const 1
  %0: f32 = const 1.0
  %r: f32 = for %n (%0) body (%k: i32, %a: f32) {
    %1: f32 = call @square(%x)
    %2: f32 = mul %1, %a
    yield %2
  }
  %3: f32 = mul %r, %x
  return %3
}";
    for prefer in Prefer::ALL {
        let mut module = parse_module(text).unwrap_or_else(|e| panic!("{e}"));
        let f = module.func_named(Symbol::new("f")).expect("the program has a function `f`");
        let bwd = requests::backward(&mut module, f, "backward");
        module.prefer = prefer;
        let mut cx = Context::new(&mut module);
        assert!(cx.fill(bwd).is_ok(), "{:?}", cx.diagnostics);
        let pair = Val::aggregate([Val::float(3.0), Val::float(777.0)]);
        let mut machine = Machine::new(&module, Options::default());
        let outputs = machine.call(bwd, vec![pair, Val::float(1.0)]).expect("it runs");
        assert_eq!(outputs[0].parts()[1], Val::float(39.0));
    }
}

// Side effects happen once. req: RESTR-02
#[test]
fn a_gradient_writes_memory_once() {
    let text = "
global @count: rwbuffer<f32> param
func @tick(%x: f32) -> f32 differentiable(backward) prefer(recompute) {
  %b: rwbuffer<f32> = global @count
  %0: i32 = const 0
  %1: f32 = const 1.0
  %old: f32 = load %b[%0]
  %new: f32 = add %old, %1
  store %b, %new[%0]
  %r: f32 = mul %x, %old
  return %r
}
func @f(%x: f32) -> f32 differentiable(backward) {
  %n: i32 = const 5
  %r: f32 = for %n (%x) body (%k: i32, %a: f32) {
    %1: f32 = call @tick(%a)
    %2: f32 = mul %1, %1
    yield %2
  }
  return %r
}";
    for prefer in Prefer::ALL {
        let trio = Trio::parse(text, prefer);
        let count = trio.module.global_named(Symbol::new("count")).expect("the buffer is there");
        let run = |func, inputs| {
            let mut machine = Machine::new(&trio.module, Options { wide: true, ..Options::default() });
            machine.set_global(count, Val::floats(&[1.0]));
            let outputs: Vec<Val> = machine.call(func, inputs).expect("it runs");
            assert_eq!(machine.global(count), Val::floats(&[6.0]), "five rounds, {prefer:?}");
            outputs
        };
        let (x, h) = (0.9, 1e-6);
        let value = |x| run(trio.f, vec![Val::float(x)])[0].as_float().expect("a float");
        let difference = (value(x + h) - value(x - h)) / (2.0 * h);
        let pair = Val::aggregate([Val::float(x), Val::float(0.0)]);
        let slope = run(trio.bwd, vec![pair, Val::float(1.0)])[0].parts()[1].as_float().expect("a float");
        assert!((slope - difference).abs() < 1e-6 * difference.abs(), "{slope} and {difference}");
    }
}

// req: IR-TR-6, IR-TR-11
#[test]
fn every_linear_operation_has_a_transpose() {
    let bodies = [
        ("%u: f32x3, %v: f32x3", "f32", "%r: f32 = dot %u, %v"),
        ("%u: f32x3, %v: f32x2", "f32x3x2", "%r: f32x3x2 = outer %u, %v"),
        ("%u: f32x2x3, %v: f32x3", "f32x2", "%r: f32x2 = matvec %u, %v"),
        ("%u: f32x2, %v: f32x2x3", "f32x3", "%r: f32x3 = vecmat %u, %v"),
        ("%u: f32x2x3, %v: f32x3x4", "f32x2x4", "%r: f32x2x4 = matmat %u, %v"),
        ("%u: f32x2x3", "f32x3x2", "%r: f32x3x2 = transpose %u"),
        ("%u: f32x4", "f32x3", "%r: f32x3 = swizzle %u wyw"),
        ("%u: f32x4", "f32", "%r: f32 = swizzle %u z"),
        ("%u: f32", "f32x3", "%r: f32x3 = splat %u"),
        ("%u: f32", "f32x2x2", "%r: f32x2x2 = splat %u"),
        ("%u: [f32; 5]", "f32", "%r: f32 = sum %u"),
        ("%u: f32x2x3", "f32", "%r: f32 = sum %u"),
        ("%u: f32x3", "[f32x3; 4]", "%r: [f32x3; 4] = splat %u"),
        ("%u: f32", "f64", "%r: f64 = convert %u"),
        ("%u: f32x2, %v: f32x2", "f32x2", "%r: f32x2 = sub %u, %v"),
        ("%u: f32x2, %v: f32x2", "f32x2", "%r: f32x2 = mul %u, %v"),
        ("%u: f32x2", "f32x2", "%r: f32x2 = neg %u"),
        ("%u: f32, %v: f32", "f32", "%k: f32 = const 3.0\n  %w: f32 = add %v, %k\n  %r: f32 = div %u, %w"),
        ("%u: f32x2, %v: f32x2", "f32x2", "%c: boolx2 = lt %u, %v\n  %r: f32x2 = select %c, %u, %v"),
        (
            "%u: [f32; 9], %v: [f32; 9], %n: i32",
            "[f32; 9]",
            "%k: i32 = const 1\n  %c: bool = lt %n, %k\n  %r: [f32; 9] = select %c, %u, %v",
        ),
        ("%u: f32, %v: f32", "f32x2", "%r: f32x2 = pack %v, %u"),
        ("%u: f32x3, %v: f32", "f32x3", "%r: f32x3 = insert %u, %v[1]"),
        ("%u: f32x3, %v: f32", "f32x3", "%r: f32x3 = insert_add %u, %v[1]"),
        ("%u: [f32x3; 4], %v: f32, %i: i32", "[f32x3; 4]", "%r: [f32x3; 4] = insert %u, %v[%i, 2]"),
        ("%u: [f32x3; 4], %i: i32", "f32", "%r: f32 = extract %u[%i, 1]"),
        ("%u: $s, %v: f32x2", "$s", "%r: $s = insert %u, %v[0]"),
        ("%u: $s", "f32", "%r: f32 = extract %u[2, 1]"),
        (
            "%u: $s, %v: f32x2",
            "$s",
            "%n: i32 = extract %u[1]\n  %a: [f32; 3] = extract %u[2]\n  %r: $s = pack %v, %n, %a",
        ),
    ];
    for (params, ty, body) in bodies {
        println!("{body}");
        laws(&format!(
            "struct $s {{ v: f32x2, n: i32, a: [f32; 3] }}
struct $s.d {{ v: f32x2, a: [f32; 3] }}
diff $s = $s.d {{ v -> v, n -> -, a -> a }}
diff $s.d = $s.d {{ v -> v, a -> a }}
func @f({params}) -> {ty} differentiable(backward) {{
  {body}
  return %r
}}"
        ));
    }
}

// req: SIG-B-04, SIG-B-09
#[test]
fn degenerate_functions_have_derivatives_too() {
    // No output with a derivative; an output that is an input, twice; an input nobody uses; a constant output.
    laws("func @f(%x: f32) -> i32 differentiable(backward) {\n  %1: i32 = const 1\n  return %1\n}");
    laws("func @f(%x: f32, out y: f32) -> f32 differentiable(backward) {\n  return %x, %x\n}");
    laws(
        "func @f(%x: f32, %y: [f32; 3]) -> f32 differentiable(backward) {\n  %1: f32 = mul %x, %x\n  return %1\n}",
    );
    laws("func @f(%x: f32) -> f32 differentiable(backward) {\n  %1: f32 = const 4.0\n  return %1\n}");
}

// req: DIAG-07
#[test]
fn a_custom_backward_derivative_with_too_few_parameters_is_refused_where_it_is_called() {
    let text = "
struct $pair { p: f32, d: f32 }
diff $pair = $pair { p -> p, d -> d }
func @g_bwd(inout %x: $pair) {
  return %x
}
func @g(%x: f32) -> f32 backward(@g_bwd) {
  return %x
}
func @f(%x: f32) -> f32 differentiable(backward) {
  %1: f32 = call @g(%x)
  return %1
}
func @bwd(inout %x: $pair, %d: f32) request(backward @f)
";
    let mut module = parse_module(text).unwrap_or_else(|e| panic!("{e}"));
    let bwd = module.func_named(Symbol::new("bwd")).expect("the request is there");
    let mut cx = Context::new(&mut module);
    assert!(cx.fill(bwd).is_err());
    let told: Vec<&str> = cx.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(told, ["the backward derivative of `g` has the wrong number of parameters"]);
}
