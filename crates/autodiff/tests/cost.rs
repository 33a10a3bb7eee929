//! What gradients cost: steps, elements touched and bytes kept grow with the work and not with its square.
//!
//! A gradient that zero-fills, adds or copies a whole array per iteration is right and useless; only counting shows it. So
//! each program runs with an array of N and of 4N elements, and everything may grow by a factor of four, and a little.

mod law;
#[allow(dead_code, reason = "only its numbers are needed here, not its programs")]
mod random;
mod requests;

use cotangent_autodiff::report::{Report, Why};
use cotangent_interp::{Counters, Val};
use cotangent_ir::Prefer;
use law::Trio;
use random::Random;

/// Runs the gradient of `program(n)` and gives what it cost.
fn cost(program: &dyn Fn(u32) -> String, n: u32) -> (Counters, Report) {
    let trio = Trio::parse(&program(n), Prefer::Auto);
    trio.check(&mut Random::new(7), 1e-6);
    let mut random = Random::new(n.into());
    let types: Vec<_> = trio.module.funcs[trio.bwd].sig.inputs().map(|p| p.ty).collect();
    let inputs: Vec<Val> =
        types.into_iter().map(|ty| law::random_value(&trio.module, ty, &mut random)).collect();
    let counters = trio.run(trio.bwd, inputs).1;
    (counters, trio.report)
}

/// Checks that a gradient's cost is linear in `n`: steps and elements, and that it keeps `bytes_per_n * n` bytes and
/// at most `fixed` more.
fn is_linear(program: &dyn Fn(u32) -> String, bytes_per_n: u64, fixed: u64) {
    let (n, factor) = (64, 4);
    let (small, small_report) = cost(program, n);
    let (large, large_report) = cost(program, n * factor);
    let grown = |small: u64, large: u64| large as f64 / (small as f64).max(1.0);
    let limit = f64::from(factor) * 1.1;
    assert!(grown(small.steps, large.steps) < limit, "steps: {} and {}", small.steps, large.steps);
    // A few whole arrays per call (the seed, the result) are fine; a whole array per iteration is not.
    assert!(
        large.elements <= u64::from(n * factor) * 12,
        "{} elements for {} rounds",
        large.elements,
        n * factor
    );
    for (report, n) in [(&small_report, n), (&large_report, n * factor)] {
        assert_eq!(report.growth().most(), report.bytes, "{}", report.growth().formula());
        let expected = bytes_per_n * u64::from(n);
        assert!(
            (expected..=expected + fixed).contains(&report.bytes),
            "{} bytes kept for {n} rounds, not {expected}: {:?}",
            report.bytes,
            report.kept
        );
    }
}

const LIBRARY: &str = "
func @cos(%x: f32) -> f32 rule(@cos_t) {
  %1: f32 = cos %x
  return %1
}
func @cos_t(%x: f32, %x_t: f32) -> f32 {
  %s: f32 = call @sin(%x)
  %n: f32 = neg %s
  %1: f32 = mul %n, %x_t
  return %1
}
func @sin(%x: f32) -> f32 rule(@sin_t) {
  %1: f32 = sin %x
  return %1
}
func @sin_t(%x: f32, %x_t: f32) -> f32 {
  %c: f32 = call @cos(%x)
  %1: f32 = mul %c, %x_t
  return %1
}
";

/// `for i < n: a[i] = sin(a[i]) * a[(7 * i) % n]`.
fn array_update(n: u32) -> String {
    format!(
        "{LIBRARY}
func @f(%x: [f32; {n}]) -> [f32; {n}] differentiable(backward) {{
  %n: i32 = const {n}
  %seven: i32 = const 7
  %r: [f32; {n}] = for %n (%x) body (%i: i32, %a: [f32; {n}]) {{
    %1: f32 = extract %a[%i]
    %2: f32 = call @sin(%1)
    %3: i32 = mul %i, %seven
    %j: i32 = rem %3, %n
    %4: f32 = extract %a[%j]
    %5: f32 = mul %2, %4
    %6: [f32; {n}] = insert %a, %5[%i]
    yield %6
  }}
  return %r
}}"
    )
}

// req: IR-CKPT-9
#[test]
fn an_array_updated_in_a_loop_keeps_two_floats_per_iteration() {
    is_linear(&array_update, 8, 0);
}

/// A weight is read in a branch of a loop, through a call, and an array is updated through another.
#[test]
fn calls_and_branches_in_a_loop_touch_elements_and_not_arrays() {
    let program = |n: u32| {
        format!(
            "
func @update(inout %a: [f32; {n}], %w: f32, %i: i32) differentiable(backward) {{
  %1: f32 = extract %a[%i]
  %2: f32 = mul %1, %1
  %3: f32 = mul %2, %w
  %4: [f32; {n}] = insert %a, %3[%i]
  return %4
}}
func @read(%w: [f32; {n}], %i: i32) -> f32 differentiable(backward) {{
  %1: f32 = extract %w[%i]
  return %1
}}
func @f(%x: [f32; {n}], %w: [f32; {n}]) -> [f32; {n}] differentiable(backward) {{
  %n: i32 = const {n}
  %one: i32 = const 1
  %0: i32 = const 0
  %r: [f32; {n}] = for %n (%x) body (%k: i32, %a: [f32; {n}]) {{
    %odd: i32 = and %k, %one
    %c: bool = eq %odd, %0
    %s: [f32; {n}] = if %c {{
      %1: f32 = call @read(%w, %k)
      %2: [f32; {n}] = call @update(%a, %1, %k)
      yield %2
    }} else {{
      %3: f32 = extract %w[%k]
      %4: [f32; {n}] = insert_add %a, %3[%k]
      yield %4
    }}
    yield %s
  }}
  return %r
}}"
        )
    };
    is_linear(&program, 4, 0);
}

/// An element is read in a branch and overwritten after it: the slot is cleared before the branch, and what the branch
/// adds must go to the cleared array and not to the one before.
#[test]
fn an_element_read_in_a_branch_and_overwritten_behind_it_is_not_copied() {
    let program = |n: u32| {
        format!(
            "
func @f(%x: [f32; {n}], %w: f32) -> [f32; {n}] differentiable(backward) {{
  %n: i32 = const {n}
  %one: i32 = const 1
  %0: i32 = const 0
  %r: [f32; {n}] = for %n (%x) body (%k: i32, %a: [f32; {n}]) {{
    %odd: i32 = and %k, %one
    %c: bool = eq %odd, %0
    %s: f32 = if %c {{
      %1: f32 = extract %a[%k]
      %2: f32 = mul %1, %w
      yield %2
    }} else {{
      yield %w
    }}
    %z: [f32; {n}] = insert %a, %s[%k]
    yield %z
  }}
  return %r
}}"
        )
    };
    is_linear(&program, 4, 0);
}

/// A loop that may be left early: trips are counted, and slots pass through.
#[test]
fn an_early_exit_costs_no_arrays() {
    let program = |n: u32| {
        format!(
            "
func @f(%x: [f32; {n}], no_diff %limit: f32) -> [f32; {n}] differentiable(backward) {{
  %n: i32 = const {n}
  %0: i32 = const 0
  %1: i32 = const 1
  %r: [f32; {n}], %e: i32 = while (%x, %0) cond (%b: [f32; {n}], %j: i32) {{
    %c: bool = lt %j, %n
    yield %c
  }} body (%a: [f32; {n}], %i: i32) {{
    %v: f32 = extract %a[%i]
    %big: f32 = const 100.0
    %over: bool = gt %v, %big
    if %over {{
      return %a
    }} else {{
      yield
    }}
    %w: f32 = mul %v, %v
    %z: [f32; {n}] = insert %a, %w[%i]
    %i2: i32 = add %i, %1
    yield %z, %i2
  }}
  return %r
}}"
        )
    };
    is_linear(&program, 4, 16 + 256);
}

/// The gradient of the gradient is as linear as the gradient.
#[test]
fn the_second_order_is_linear_too() {
    let cost = |n: u32| {
        let first = Trio::parse(&array_update(n), Prefer::Auto);
        let second = Trio::of(first.module, first.bwd, Prefer::Auto);
        second.check(&mut Random::new(3), 1e-5);
        let mut random = Random::new(n.into());
        let types: Vec<_> = second.module.funcs[second.bwd].sig.inputs().map(|p| p.ty).collect();
        let inputs = types.into_iter().map(|ty| law::random_value(&second.module, ty, &mut random)).collect();
        second.run(second.bwd, inputs).1
    };
    let (small, large) = (cost(64), cost(256));
    assert!(large.steps < small.steps * 9 / 2, "steps: {} and {}", small.steps, large.steps);
    assert!(large.elements < 256 * 40, "{} elements", large.elements);
}

#[test]
fn a_report_tells_effects_from_loads() {
    let text = "global @g: rwbuffer<i32> param
        func @f(%x: f32) -> f32 differentiable(backward) {
          %h: rwbuffer<i32> = global @g
          %one: i32 = const 1
          %old: i32 = atomic add %h, %one [0]
          %now: i32 = load %h [1]
          %a: f32 = convert %old
          %b: f32 = convert %now
          %t: f32 = mul %x, %a
          %u: f32 = mul %x, %b
          %r: f32 = mul %t, %u
          return %r
        }";
    let trio = Trio::parse(text, Prefer::Auto);
    let whys: Vec<Why> = trio.report.kept.iter().map(|k| k.why).collect();
    assert_eq!(whys, [Why::Effect, Why::Loaded], "{:?}", trio.report.kept);
}

/// Each call of `g` stores two floats per iteration of its loop, and `f` calls it once per iteration of its own, twice.
#[test]
fn a_report_adds_up_what_calls_keep() {
    let text = format!(
        "{LIBRARY}
        func @g(%x: f32) -> f32 inline(never) differentiable(backward) {{
          %n: i32 = const 4
          %r: f32 = for %n (%x) body(%i: i32, %y: f32) {{
            %s: f32 = call @sin(%y)
            yield %s
          }}
          return %r
        }}
        func @f(%x: f32) -> f32 differentiable(backward) {{
          %n: i32 = const 8
          %r: f32 = for %n (%x) body(%i: i32, %y: f32) {{
            %a: f32 = call @g(%y)
            %b: f32 = mul %a, %a
            yield %b
          }}
          return %r
        }}"
    );
    let trio = Trio::parse(&text, Prefer::Auto);
    trio.check(&mut Random::new(3), 1e-6);
    let growth = trio.report.growth();
    assert_eq!(growth.most(), trio.report.bytes);
    let calls: Vec<_> = trio.report.kept.iter().filter(|kept| kept.why == Why::Call).collect();
    assert_eq!(calls.len(), 1, "{:?}", trio.report.kept);
    // By hand: what `g` stores per iteration is one float, the cosine; `f` keeps the result of `g` for the product.
    let parts: Vec<u64> = calls[0].parts.iter().map(|part| part.bytes).collect();
    assert_eq!((calls[0].bytes, parts), (128, vec![16]));
    assert_eq!(growth.formula(), "4*n1 + 4*n1*n2");
}

#[test]
fn a_report_names_what_is_kept_and_why() {
    let trio = Trio::parse(&array_update(16), Prefer::Auto);
    let report = &trio.report;
    assert_eq!(report.bytes, 128);
    let kept: Vec<&str> = report.kept.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(kept, ["sin", "mul"]);
    assert_eq!(report.kept[0].ty, "[f32; 16]");
    assert!(report.kept.iter().all(|k| k.bytes == 64 && k.why == Why::Carried));
    let repeated: Vec<&str> = report.repeated.iter().map(|r| r.name.as_str()).collect();
    assert!(repeated.contains(&"j") && !repeated.contains(&"sin"), "{repeated:?}");
    assert!(report.primal_instructions > 0 && report.backward_instructions > 0);
}
