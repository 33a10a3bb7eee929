//! Forward derivatives with numbers worked out by hand.

use cotangent_autodiff::differentiate;
use cotangent_autodiff::prepare::prepare;
use cotangent_base::Symbol;
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::{Module, text, verify};

/// Pairs of floats and pairs of those, and the library's sine and cosine.
const PRELUDE: &str = "
struct $pair { p: f32, d: f32 }
diff $pair = $pair { p -> p, d -> d }
struct $pairs { p: $pair, d: $pair }
diff $pairs = $pairs { p -> p, d -> d }
func @sin(%x: f32) -> f32 rule(@sin_t) {
  %1: f32 = sin %x
  return %1
}
func @cos(%x: f32) -> f32 rule(@cos_t) {
  %1: f32 = cos %x
  return %1
}
func @sin_t(%x: f32, %x_t: f32) -> f32 {
  %1: f32 = call @cos(%x)
  %2: f32 = mul %1, %x_t
  return %2
}
func @cos_t(%x: f32, %x_t: f32) -> f32 {
  %1: f32 = call @sin(%x)
  %2: f32 = neg %1
  %3: f32 = mul %2, %x_t
  return %3
}
";

/// The module with every derivative written, for functions without inputs to be called by tests.
fn module(program: &str) -> Module {
    let mut module = text::parse_module(&format!("{PRELUDE}{program}")).unwrap_or_else(|e| panic!("{e}"));
    let told = differentiate(&mut module);
    assert!(told.is_empty(), "{told:?}");
    verify(&module).unwrap_or_else(|e| panic!("{e}\n{}", text::print_module(&module)));
    module
}

fn call(module: &Module, name: &str, inputs: Vec<Val>) -> Vec<f64> {
    let func = module.func_named(Symbol::new(name)).expect("the function is there");
    let options = Options { wide: true, max_steps: 100_000, ..Options::default() };
    let outputs = Machine::new(module, options).call(func, inputs).unwrap_or_else(|e| panic!("{e:?}"));
    numbers(&outputs)
}

fn numbers(values: &[Val]) -> Vec<f64> {
    let of = |v: &Val| {
        let own = v.as_float().or(v.as_int().map(|i| i as f64));
        own.into_iter().chain(numbers(v.parts())).collect::<Vec<_>>()
    };
    values.iter().flat_map(of).collect()
}

fn pair(p: f64, d: f64) -> Val {
    Val::floats(&[p, d])
}

#[track_caller]
fn assert_close(got: &[f64], expected: &[f64]) {
    let close = |(g, e): (&f64, &f64)| (g - e).abs() < 1e-6 * (1.0 + e.abs());
    assert!(got.len() == expected.len() && got.iter().zip(expected).all(close), "{got:?}, not {expected:?}");
}

// req: OP-01, OP-02
#[test]
fn a_cubic_polynomial_in_two_variables() {
    // f = a x², so f = 18, ∂f/∂x = 2 a x = 12 and ∂f/∂a = x² = 9 at (2, 3).
    let m = module(
        "func @f(%a: f32, %x: f32) -> f32 differentiable(backward) {
           %1: f32 = mul %a, %x
           %2: f32 = mul %1, %x
           return %2
         }
         func @fwd(%a: $pair, %x: $pair) -> $pair request(forward @f)
         func @main(%a: $pair, %x: $pair) -> $pair {
           %1: $pair = call @fwd(%a, %x)
           return %1
         }",
    );
    assert_close(&call(&m, "main", vec![pair(2.0, 0.0), pair(3.0, 1.0)]), &[18.0, 12.0]);
    assert_close(&call(&m, "main", vec![pair(2.0, 1.0), pair(3.0, 0.0)]), &[18.0, 9.0]);
}

// req: OP-18
#[test]
fn three_outputs_in_two_variables() {
    // (x³, y² x, y³) at (2, 3) has the Jacobian [[12, 0], [9, 12], [0, 27]].
    let m = module(
        "struct $v { p: f32x3, d: f32x3 }
         func @f(%x: f32, %y: f32) -> f32x3 differentiable(backward) {
           %1: f32 = mul %x, %x
           %2: f32 = mul %1, %x
           %3: f32 = mul %y, %y
           %4: f32 = mul %3, %x
           %5: f32 = mul %3, %y
           %6: f32x3 = pack %2, %4, %5
           return %6
         }
         func @fwd(%x: $pair, %y: $pair) -> $v request(forward @f)
         func @main(%x: $pair, %y: $pair) -> $v {
           %1: $v = call @fwd(%x, %y)
           return %1
         }",
    );
    let values = [8.0, 18.0, 27.0];
    let along = |x, y| call(&m, "main", vec![pair(2.0, x), pair(3.0, y)]);
    assert_close(&along(1.0, 0.0), &[&values[..], &[12.0, 9.0, 0.0]].concat());
    assert_close(&along(0.0, 1.0), &[&values[..], &[0.0, 12.0, 27.0]].concat());
}

// req: SIG-F-04, SIG-F-05, SIG-F-07, SIG-F-08, SIG-F-11, NODIFF-02
#[test]
fn every_direction_of_a_parameter() {
    // x = {3, 1}, s = {3, 1}: the result is no_diff, out y = {9, 6}, inout s = {9, 6}, inout n is counted once,
    // out m is 7. k is no_diff: x k = {15, 5}.
    let m = module(
        "func @f(%x: f32, no_diff %k: f32, inout s %s: f32, out y: f32, out z: f32, inout n %n: i32, out m: i32) -> no_diff f32 differentiable(backward) {
           %one: i32 = const 1
           %seven: i32 = const 7
           %1: f32 = mul %s, %s
           %2: f32 = mul %x, %x
           %3: f32 = mul %x, %k
           %4: i32 = add %n, %one
           return %2, %1, %2, %3, %4, %seven
         }
         func @fwd(%x: $pair, no_diff %k: f32, inout s %s: $pair, out y: $pair, out z: $pair, inout n %n: i32, out m: i32) -> no_diff f32 request(forward @f)
         func @run(%x: $pair, %n: i32, out s: $pair, out y: $pair, out z: $pair, out n2: i32, out m: i32) -> f32 {
           %k: f32 = const 5.0
           %1: f32, %2: $pair, %3: $pair, %4: $pair, %5: i32, %6: i32 = call @fwd(%x, %k, %x, %n)
           return %1, %2, %3, %4, %5, %6
         }",
    );
    let got = call(&m, "run", vec![pair(3.0, 1.0), Val::int(4)]);
    assert_close(&got, &[9.0, 9.0, 6.0, 9.0, 6.0, 15.0, 5.0, 5.0, 7.0]);
}

// req: NODIFF-03, NODIFF-11, NODIFF-16, NODIFF-17
#[test]
fn where_derivatives_stop() {
    // g(x) = 2x is not differentiable: f = detach(g(x)) + x² = {3, 2} at {1, 1}. flat(x) = x² = {4, 0} at {2, 1}.
    let m = module(
        "func @g(%x: f32) -> f32 {
           %1: f32 = add %x, %x
           return %1
         }
         func @f(%x: f32) -> f32 differentiable(backward) {
           %1: f32 = call @g(%x)
           %2: f32 = detach %1
           %3: f32 = mul %x, %x
           %4: f32 = add %2, %3
           return %4
         }
         func @flat(%x: f32) -> f32 constant {
           %1: f32 = mul %x, %x
           return %1
         }
         func @f_fwd(%x: $pair) -> $pair request(forward @f)
         func @flat_fwd(%x: $pair) -> $pair request(forward @flat)
         func @main(%x: $pair, %y: $pair, out b: $pair) -> $pair {
           %1: $pair = call @f_fwd(%x)
           %2: $pair = call @flat_fwd(%y)
           return %1, %2
         }",
    );
    assert_close(&call(&m, "main", vec![pair(1.0, 1.0), pair(2.0, 1.0)]), &[3.0, 2.0, 4.0, 0.0]);
}

/// `for (i = 0; i < 10; i++) { if (i == k) <exit>; p *= x; } return p`, and what `i` was at the end.
fn power_loop(exit: &str) -> Module {
    module(&format!(
        "func @f(%x: f32, %n: i32, %k: i32, out i: i32) -> f32 differentiable(backward) {{
           %0: i32 = const 0
           %1: i32 = const 1
           %one: f32 = const 1.0
           %last: i32, %r: f32 = while (%0, %one) cond (%i: i32, %p: f32) {{
             %c: bool = lt %i, %n
             yield %c
           }} body (%i1: i32, %p1: f32) {{
             %i2: i32 = add %i1, %1
             %d: bool = eq %i1, %k
             if %d {{
               {exit}
             }} else {{
               yield
             }}
             %q: f32 = mul %p1, %x
             yield %i2, %q
           }}
           return %r, %last
         }}
         func @fwd(%x: $pair, %n: i32, %k: i32, out i: i32) -> $pair request(forward @f)
         func @main(%x: $pair, %n: i32, %k: i32, out i: i32) -> $pair {{
           %1: $pair, %2: i32 = call @fwd(%x, %n, %k)
           return %1, %2
         }}"
    ))
}

// req: LOOP-01, LOOP-02, LOOP-08, IR-NORM-12
#[test]
fn loops_with_every_exit() {
    let at = |m: &Module, n, k| call(m, "main", vec![pair(2.0, 1.0), Val::int(n), Val::int(k)]);
    // x³ at 2: 8 and 12; after the break i is 3.
    assert_close(&at(&power_loop("break 0 %i1, %p1"), 10, 3), &[8.0, 12.0, 3.0]);
    // One of four iterations is left out: x³ again.
    assert_close(&at(&power_loop("continue 0 %i2, %p1"), 4, 1), &[8.0, 12.0, 4.0]);
    // A return of x p = x⁴: 16 and 32; the counter given back is that of the iteration.
    let m = power_loop("%out: f32 = mul %p1, %x\n return %out, %i1");
    assert_close(&at(&m, 10, 3), &[16.0, 32.0, 3.0]);
}

// req: IR-NORM-5, IR-NORM-12
#[test]
fn prepared_loops_count_as_before() {
    // x += i for i < N, without i == 4 and left at i == 7: 0 + 1 + 2 + 3 = 6 for N = 4, and 6 + 5 + 6 = 17 for N = 12.
    let mut m = module(
        "func @f(%n: i32, out i: i32) -> i32 {
           %0: i32 = const 0
           %1: i32 = const 1
           %4: i32 = const 4
           %7: i32 = const 7
           %last: i32, %r: i32 = while (%0, %0) cond (%i: i32, %p: i32) {
             %c: bool = lt %i, %n
             yield %c
           } body (%i1: i32, %p1: i32) {
             %i2: i32 = add %i1, %1
             %c4: bool = eq %i1, %4
             if %c4 {
               continue 0 %i2, %p1
             } else {
               yield
             }
             %c7: bool = eq %i1, %7
             if %c7 {
               break 0 %i1, %p1
             } else {
               yield
             }
             %q: i32 = add %p1, %i1
             yield %i2, %q
           }
           return %r, %last
         }",
    );
    for prepared in [false, true] {
        if prepared {
            let f = m.func_named(Symbol::new("f")).expect("it is there");
            m.funcs[f] = prepare(&mut m.types, &m.funcs[f]).func;
            verify(&m).expect("a prepared function is valid");
        }
        assert_close(&call(&m, "f", vec![Val::int(4)]), &[6.0, 4.0]);
        assert_close(&call(&m, "f", vec![Val::int(12)]), &[17.0, 7.0]);
    }
}

// req: HO-02, HO-03, HO-04, HO-08, HO-09
#[test]
fn the_second_derivative_of_the_sine() {
    let m = module(
        "func @fwdfwd(%x: $pairs) -> $pairs request(forward @fwd)
         func @fwd(%x: $pair) -> $pair request(forward @sin)
         func @main(%x: $pairs) -> $pairs {
           %1: $pairs = call @fwdfwd(%x)
           return %1
         }",
    );
    let at = |x: f64| call(&m, "main", vec![Val::aggregate([pair(x, 1.0), pair(1.0, 0.0)])]);
    assert_close(&at(1.0), &[0.841_470_98, 0.540_302_31, 0.540_302_31, -0.841_470_98]);
}

// req: HO-01
#[test]
fn a_derivative_inside_a_differentiable_function() {
    // g(x) = d/dx x³ = 3x², so g(2) = 12 and g'(2) = 6 · 2 = 12.
    let m = module(
        "func @f(%x: f32) -> f32 differentiable(backward) {
           %1: f32 = mul %x, %x
           %2: f32 = mul %1, %x
           return %2
         }
         func @f_fwd(%x: $pair) -> $pair request(forward @f)
         func @g(%x: f32) -> f32 differentiable(backward) {
           %one: f32 = const 1.0
           %1: $pair = pack %x, %one
           %2: $pair = call @f_fwd(%1)
           %3: f32 = extract %2 [1]
           return %3
         }
         func @g_fwd(%x: $pair) -> $pair request(forward @g)
         func @main(%x: $pair) -> $pair {
           %1: $pair = call @g_fwd(%x)
           return %1
         }",
    );
    assert_close(&call(&m, "main", vec![pair(2.0, 1.0)]), &[12.0, 12.0]);
}

// req: CUSTOM-01, CUSTOM-03, CUSTOM-04, SUBST-01, SUBST-02
#[test]
fn derivatives_by_hand_and_substitutes_are_used() {
    // h = sin'(x) x, where the derivative of sin' is given as twice the cosine: 2 cos(0) · 1 · 0 + sin(0) = 0 at 0 and
    // 2 cos(1) + sin(1) at 1. s(x) = 10 x, differentiated as x²: s(3) = 30 and fwd gives {9, 6}.
    let m = module(
        "func @wrong(%x: f32) -> f32 forward(@wrong_fwd) {
           %1: f32 = sin %x
           return %1
         }
         func @wrong_fwd(%x: $pair) -> $pair {
           %two: f32 = const 2.0
           %p: f32 = extract %x [0]
           %d: f32 = extract %x [1]
           %1: f32 = sin %p
           %2: f32 = cos %p
           %3: f32 = mul %2, %d
           %4: f32 = mul %3, %two
           %5: $pair = pack %1, %4
           return %5
         }
         func @h(%x: f32) -> f32 differentiable(backward) {
           %1: f32 = call @wrong(%x)
           %2: f32 = mul %1, %x
           return %2
         }
         func @square(%x: f32) -> f32 differentiable(backward) {
           %1: f32 = mul %x, %x
           return %1
         }
         func @s(%x: f32) -> f32 substitute(@square) {
           %ten: f32 = const 10.0
           %1: f32 = mul %x, %ten
           return %1
         }
         func @h_fwd(%x: $pair) -> $pair request(forward @h)
         func @s_fwd(%x: $pair) -> $pair request(forward @s)
         func @main(%x: $pair, %y: $pair, out b: $pair, out plain: f32) -> $pair {
           %1: $pair = call @h_fwd(%x)
           %2: $pair = call @s_fwd(%y)
           %3: f32 = extract %y [0]
           %4: f32 = call @s(%3)
           return %1, %2, %4
         }",
    );
    let (sin, cos) = (0.841_470_98, 0.540_302_31);
    let got = call(&m, "main", vec![pair(1.0, 1.0), pair(3.0, 1.0)]);
    assert_close(&got, &[sin, 2.0 * cos + sin, 9.0, 6.0, 30.0]);
}

// req: OP-08
#[test]
fn zeros_and_sums_of_the_user_are_used() {
    // The user's zero of S is 100, so that it shows: where the branch has no tangent, s_t is that zero.
    let m = module(
        "struct $S { x: f32 }
         diff $S = $S { x -> x } zero @dzero add @dadd
         func @dzero() -> $S {
           %1: f32 = const 100.0
           %2: $S = pack %1
           return %2
         }
         func @dadd(%a: $S, %b: $S) -> $S {
           return %a
         }
         func @f(%x: f32, %c: bool) -> f32 differentiable(backward) {
           %k: f32 = const 2.0
           %s: $S = if %c {
             %1: $S = pack %x
             yield %1
           } else {
             %2: $S = pack %k
             yield %2
           }
           %y: f32 = extract %s [0]
           return %y
         }
         func @fwd(%x: $pair, %c: bool) -> $pair request(forward @f)
         func @main(%x: $pair, %c: bool) -> $pair {
           %1: $pair = call @fwd(%x, %c)
           return %1
         }",
    );
    assert_close(&call(&m, "main", vec![pair(3.0, 1.0), Val::bool(true)]), &[3.0, 1.0]);
    assert_close(&call(&m, "main", vec![pair(3.0, 1.0), Val::bool(false)]), &[2.0, 100.0]);
}

#[test]
fn the_user_s_sum_is_differentiable_unasked() {
    // dadd({x}, {x²}) = {x + x²}: 1 + 2x = 7 at 3. Reverse mode writes such calls, and nobody marks `dadd`.
    let m = module(
        "struct $S { x: f32 }
         diff $S = $S { x -> x } zero @dzero add @dadd
         func @dzero() -> $S {
           %1: $S = zero
           return %1
         }
         func @dadd(%a: $S, %b: $S) -> $S {
           %1: f32 = extract %a [0]
           %2: f32 = extract %b [0]
           %3: f32 = add %1, %2
           %4: $S = pack %3
           return %4
         }
         func @f(%x: f32) -> f32 differentiable(backward) {
           %1: f32 = mul %x, %x
           %2: $S = pack %x
           %3: $S = pack %1
           %4: $S = call @dadd(%2, %3)
           %5: f32 = extract %4 [0]
           return %5
         }
         func @fwd(%x: $pair) -> $pair request(forward @f)
         func @main(%x: $pair) -> $pair {
           %1: $pair = call @fwd(%x)
           return %1
         }",
    );
    assert_close(&call(&m, "main", vec![pair(3.0, 1.0)]), &[12.0, 7.0]);
}

/// An array updated in a loop of `n` iterations, in one branch of an `if`, and left early by `exit`.
fn array_loop(n: usize, exit: &str) -> Module {
    module(&format!(
        "struct $arrays {{ p: [f32; {n}], d: [f32; {n}] }}
         func @f(%a: [f32; {n}], %x: f32, %n: i32) -> [f32; {n}] differentiable(backward) {{
           %limit: i32 = const 1000
           %r: [f32; {n}] = for %n (%a) body (%k: i32, %b: [f32; {n}]) {{
             %small: bool = lt %k, %limit
             %c: [f32; {n}] = if %small {{
               %e: f32 = extract %b [%k]
               %g: f32 = mul %e, %x
               %h: [f32; {n}] = insert %b, %g [%k]
               yield %h
             }} else {{
               yield %b
             }}
             %late: bool = eq %k, %limit
             if %late {{
               {exit}
             }} else {{
               yield
             }}
             yield %c
           }}
           return %r
         }}
         func @fwd(%a: $arrays, %x: $pair, %n: i32) -> $arrays request(forward @f)
         func @main(%a: $arrays, %x: $pair, %n: i32) -> $arrays {{
           %1: $arrays = call @fwd(%a, %x, %n)
           return %1
         }}"
    ))
}

// req: IR-NORM-10
#[test]
fn arrays_are_not_copied_round_by_round() {
    for exit in ["return %c", "break 0 %c", "continue 0 %c"] {
        let elements = |n: usize, name: &str, prepared: bool| {
            let mut m = array_loop(n, exit);
            let f = m.func_named(Symbol::new("f")).expect("it is there");
            if prepared {
                m.funcs[f] = prepare(&mut m.types, &m.funcs[f]).func;
            }
            let mut machine = Machine::new(&m, Options::default());
            let ones = Val::floats(&vec![1.0; n]);
            let inputs = match name {
                "f" => vec![ones, Val::float(2.0), Val::int(n as i64)],
                _ => vec![Val::aggregate([ones.clone(), ones]), pair(2.0, 1.0), Val::int(n as i64)],
            };
            let func = m.func_named(Symbol::new(name)).expect("it is there");
            let outputs = machine.call(func, inputs).expect("it runs to its end");
            assert_eq!(numbers(&outputs)[0], 2.0);
            machine.counters().elements
        };
        for (name, prepared) in [("f", false), ("f", true), ("main", false)] {
            let (small, large) = (elements(16, name, prepared), elements(64, name, prepared));
            let per_element = (large - small) as f64 / 48.0;
            assert!(per_element <= 4.0, "{exit} {name} {prepared}: {small} elements, then {large}");
        }
    }
}
