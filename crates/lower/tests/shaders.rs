//! Entry points, shader parameters and variables in memory.

mod common;

use common::{check, lower_roots};
use cotangent_base::Symbol;
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::{Module, text};
use cotangent_lower::{Roots, lower};
use expect_test::expect;

fn entries(source: &str) -> Module {
    let lowered = lower_roots(source, Roots::Entries(vec![]));
    assert!(lowered.diagnostics.is_empty(), "{:#?}", lowered.diagnostics);
    lowered.module
}

#[test]
fn system_values_come_in_one_type_and_are_converted() {
    let source = "RWStructuredBuffer<int> data;
        [shader(\"compute\")] [numthreads(4, 2, 1)]
        void main(int2 id : SV_DispatchThreadID, uint lane : SV_GroupIndex) { data[id.x] = id.y + int(lane); }";
    expect![[r#"
        global @data: rwbuffer<i32> param

        func @main(%id.0: u32x3, %lane.1: u32) entry(4, 2, 1)(dispatch_thread_id, group_index) {
          %2: u32x2 = swizzle %id.0 xy
          %id.3: i32x2 = convert %2
          %data.4: rwbuffer<i32> = global @data
          %5: i32 = extract %id.3 [0]
          %6: i32 = extract %id.3 [1]
          %7: i32 = convert %lane.1
          %8: i32 = add %6, %7
          store %data.4, %8 [%5]
          return
        }
    "#]]
    .assert_eq(&text::print_module(&entries(source)));
}

#[test]
fn parameters_without_a_semantic_are_globals() {
    let source = "struct Params { float scale; StructuredBuffer<float> weights; }
        [shader(\"compute\")] [numthreads(1, 1, 1)]
        void main(uint3 id : SV_DispatchThreadID, uniform Params params, RWStructuredBuffer<float> result) {
            result[id.x] = params.weights[id.x] * params.scale;
        }";
    expect![[r#"
        struct $Params { scale: f32, weights: buffer<f32> }
        global @params.scale: f32 param
        global @params.weights: buffer<f32> param
        global @result: rwbuffer<f32> param

        func @main(%id.0: u32x3) entry(1, 1, 1)(dispatch_thread_id) {
          %params.scale.1: f32 = global @params.scale
          %params.weights.2: buffer<f32> = global @params.weights
          %params.3: $Params = pack %params.scale.1, %params.weights.2
          %result.4: rwbuffer<f32> = global @result
          %5: u32 = extract %id.0 [0]
          %6: buffer<f32> = extract %params.3 [1]
          %7: u32 = extract %id.0 [0]
          %8: f32 = load %6 [%7]
          %9: f32 = extract %params.3 [0]
          %10: f32 = mul %8, %9
          store %result.4, %10 [%5]
          return
        }
    "#]]
    .assert_eq(&text::print_module(&entries(source)));
}

#[test]
fn a_kernel_runs_over_its_threads() {
    let source = "StructuredBuffer<float> a; RWStructuredBuffer<float> b; float scale;
        groupshared float shared_sum;
        static float seed = 3.0;
        [shader(\"compute\")] [numthreads(2, 1, 1)]
        void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID) {
            seed += 1.0;
            b[id.x] = a[id.x] * scale + seed + float(group.x) * 100.0;
        }";
    let module = entries(source);
    let mut machine = Machine::new(&module, Options::default());
    for (name, value) in [
        ("a", Val::floats(&[1.0, 2.0, 3.0, 4.0])),
        ("b", Val::floats(&[0.0; 4])),
        ("scale", Val::float(10.0)),
    ] {
        machine.set_global(module.global_named(Symbol::new(name)).expect("a parameter"), value);
    }
    let main = module.func_named(Symbol::new("main")).expect("an entry point");
    machine.dispatch(main, [2, 1, 1]).expect("it runs");
    let result = machine.global(module.global_named(Symbol::new("b")).expect("a parameter"));
    assert_eq!(result, Val::floats(&[14.0, 24.0, 134.0, 144.0]));
}

#[test]
fn a_helper_of_two_entry_points_is_lowered_once() {
    let source = "RWStructuredBuffer<float> data;
        float twice(float x) { return x * 2.0; }
        [shader(\"compute\")] [numthreads(1, 1, 1)] void first() { data[0] = twice(1.0); }
        [shader(\"compute\")] [numthreads(1, 1, 1)] void second() { data[1] = twice(2.0); }
        float unused(float x) { return x; }";
    let module = entries(source);
    let names: Vec<&str> = module.funcs.values().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "twice"]);
}

#[test]
fn an_entry_point_is_found_by_name_or_missed_with_a_hint() {
    let source = "[shader(\"compute\")] [numthreads(1, 1, 1)] void first() {}
        [shader(\"compute\")] [numthreads(1, 1, 1)] void second() {}";
    let checked = check(source);
    let lowered = lower(&checked, Roots::Entries(vec![Symbol::new("second")]));
    let names: Vec<&str> = lowered.entries.iter().map(|id| lowered.module.funcs[*id].name.as_str()).collect();
    assert_eq!(names, ["second"]);

    let lowered = lower(&checked, Roots::Entries(vec![Symbol::new("third")]));
    let missed = lowered.diagnostics.iter().next().expect("a diagnostic");
    assert_eq!(missed.code.name, "E0724");
    assert_eq!(missed.help.as_deref(), Some("one of `first`, `second`"));
}

#[test]
fn lanes_in_memory_are_written_one_by_one() {
    let source = "RWStructuredBuffer<float4> data;
        [shader(\"compute\")] [numthreads(1, 1, 1)] void main(uint i : SV_GroupIndex) { data[i].wy = float2(1.0, 2.0); }";
    let module = entries(source);
    let text = text::print_module(&module);
    let stores: Vec<&str> = text.lines().map(str::trim).filter(|l| l.starts_with("store")).collect();
    assert_eq!(stores.len(), 2, "{text}");
    assert!(stores[0].ends_with("[%i.0, 3]") && stores[1].ends_with("[%i.0, 1]"), "{text}");
    assert!(!text.contains("load"), "{text}");
}
