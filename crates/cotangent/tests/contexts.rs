//! What the kernels of `bench/kernels` and small programs cost in reverse mode, apart from time: the bytes kept for the
//! way back, and how steps and array copies grow with the size of the problem.
//!
//! Numbers of derivatives are compared elsewhere. A change here is a change of the choice between keeping and computing
//! again: better is fine, worse needs a reason, and both are a line of the table.

use cotangent::gradient::{Evaluator, Functions};
use cotangent::interp::{Counters, Machine, Options, Val};
use cotangent::ir::Mode;
use cotangent::ir::shader::ShaderParams;
use cotangent::runtime::{Compiled, Params};
use cotangent::{Disk, Program, Request, Roots, Session, Symbol, Texts, render};
use std::path::Path;

/// A kernel, with `-D N=size` where there is a size.
fn kernel(name: &str, size: Option<u32>) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/kernels");
    let mut request = Request::new(folder.join(name).with_extension("slang").display().to_string());
    request.defines = size.map(|n| ("N".to_string(), n.to_string())).into_iter().collect();
    Session::new(Disk::default()).program(&request)
}

/// The bytes that `bwd_diff` of the function keeps.
fn kept(name: &str, size: Option<u32>, function: &str) -> u64 {
    match kernel(name, size).report(Symbol::new(function)).accept() {
        Ok(report) => {
            assert_eq!(report.bytes, report.kept.iter().map(|k| k.bytes).sum::<u64>(), "{name}: the parts");
            report.bytes
        }
        Err(rejected) => panic!("{name}: {rejected}"),
    }
}

/// What one run of `bwd_diff` of the function costs, at zero.
fn cost(name: &str, size: u32, function: &str) -> Counters {
    let program = kernel(name, Some(size));
    let roots = Roots::Derivatives { func: Symbol::new(function), modes: vec![Mode::Backward] };
    let lowered = match program.compile(roots).accept() {
        Ok(lowered) => lowered,
        Err(rejected) => panic!("{name}: {rejected}"),
    };
    let backward = lowered.roots[1];
    let types = &lowered.module.types;
    let inputs = lowered.module.funcs[backward].sig.inputs().map(|p| Val::zero(types, p.ty)).collect();
    let mut machine = Machine::new(&lowered.module, Options::default());
    if let Err(stopped) = machine.call(backward, inputs) {
        panic!("{}", render::render(&program.sources(), &stopped.diagnostic(), render::Style::Plain));
    }
    machine.counters()
}

// req: IR-CKPT-1, IR-CKPT-9, LOOP-10
#[test]
fn kernels_keep_as_much_as_the_table_says() {
    let table = [
        ("k1_polyloop", None, "polyLoop", 256),
        ("k2_arrayupdate", Some(16), "arrayUpdate", 8 * 16),
        ("k2_arrayupdate", Some(64), "arrayUpdate", 8 * 64),
        ("k2_arrayupdate", Some(256), "arrayUpdate", 8 * 256),
        ("k3_splat", None, "splat", 528),
        ("k4_mlp", None, "mlp", 208),
        ("k3_splat_buf", None, "splat", 528),
        ("k4_mlp_buf", None, "mlp", 208),
    ];
    for (name, size, function, expected) in table {
        assert_eq!(kept(name, size, function), expected, "{name} {size:?}");
    }
}

/// From 64 to 256 elements a linear cost grows by four times as much as from 16 to 64, a quadratic one by sixteen.
fn assert_linear(what: &str, at: [u64; 3]) {
    let [small, large] = [at[1] - at[0], at[2] - at[1]].map(|n| n as f64);
    assert!((large - 4.0 * small).abs() <= 0.05 * 4.0 * small, "{what} at 16, 64 and 256 elements: {at:?}");
}

// req: IR-CKPT-11, IR-TR-13
#[test]
fn the_gradient_of_an_updated_array_costs_as_much_per_element_at_every_size() {
    let costs = [16, 64, 256].map(|n| cost("k2_arrayupdate", n, "arrayUpdate"));
    assert_linear("steps", costs.map(|c| c.steps));
    assert_linear("elements", costs.map(|c| c.elements));
    assert_eq!(costs.map(|c| c.undef_reads), [0; 3]);
}

/// The names and bytes of what `bwd_diff(f)` keeps in a program.
fn kept_in(text: &str) -> Vec<(String, u64)> {
    let files = [("program.slang", text)];
    let program = Session::new(Texts::new(files)).program(&Request::new("program.slang"));
    match program.report(Symbol::new("f")).accept() {
        Ok(report) => report.kept.iter().map(|k| (k.name.to_string(), k.bytes)).collect(),
        Err(rejected) => panic!("{rejected}"),
    }
}

fn bytes_in(text: &str) -> u64 {
    kept_in(text).iter().map(|(_, bytes)| bytes).sum()
}

// req: IR-EXT-10, IR-CKPT-5
#[test]
fn sums_and_products_of_parameters_keep_nothing() {
    assert_eq!(kept_in("[Differentiable] float f(float a, float b) { return a * b + a; }"), []);
}

// req: IR-CKPT-6, ATTR-12
#[test]
fn a_preference_decides_whether_the_result_of_a_call_is_kept() {
    let stored = "
        [Differentiable] [PreferCheckpoint] float g(float x) { return x * x + 1; }
        [Differentiable] float f(float x) { float y = g(x); return sin(y) * y; }";
    let recomputed = "
        [Differentiable] [PreferRecompute] float g(float x) {
            for (int i = 0; i < 9; i++) x = sin(x) * x;
            return x;
        }
        [Differentiable] float f(float x) { float y = g(x); return sin(y) * y; }";
    let neither = "
        [Differentiable] float g(float x) {
            for (int i = 0; i < 9; i++) x = sin(x) * x;
            return x;
        }
        [Differentiable] float f(float x) { float y = g(x); return sin(y) * y; }";
    assert_eq!(bytes_in(stored), 4);
    assert_eq!(bytes_in(recomputed), 0);
    assert!(bytes_in(neither) > 0);
}

// req: LOOP-07, ATTR-11
#[test]
fn an_unrolled_loop_keeps_no_arrays() {
    let looped = "
        [Differentiable] float f(float x) {
            float p = x;
            for (int i = 0; i < 3; i++) p = sin(p) * p;
            return p;
        }";
    let unrolled = "
        [Differentiable] float f(float x) {
            float p = x;
            [ForceUnroll] for (int i = 0; i < 3; i++) p = sin(p) * p;
            return p;
        }";
    assert_eq!(kept_in(looped), [("p".to_string(), 12)]);
    assert!(kept_in(unrolled).iter().all(|(_, bytes)| *bytes == 4), "{:?}", kept_in(unrolled));
}

// req: LOOP-10, ATTR-10, IR-CKPT-9
#[test]
fn room_is_made_for_as_many_rounds_as_the_bounds_of_all_loops_allow() {
    let nested = "
        [Differentiable] float f(float x, int n, int m) {
            float p = x;
            [MaxIters(5)] for (int i = 0; i < n; i++)
                [MaxIters(7)] for (int j = 0; j < m; j++)
                    p = sin(p) * p;
            return p;
        }";
    assert_eq!(kept_in(nested), [("p".to_string(), 5 * 7 * 4)]);
}

// req: IR-CKPT-13
#[test]
fn what_the_backward_pass_does_not_read_is_not_kept_although_the_loop_carries_it() {
    let sum = "
        [Differentiable] float f(float x) {
            float sum = 0;
            for (int i = 0; i < 100; i++) sum += x * i;
            return sum;
        }";
    assert_eq!(kept_in(sum), []);
}

// req: IR-CKPT-6, ATTR-12
#[test]
fn what_is_to_be_computed_again_is_not_kept_even_where_its_argument_must_be() {
    let program = "
        RWStructuredBuffer<float> memory;
        [PreferRecompute] float g(float x) { return sin(x) * x + 1; }
        [Differentiable] float f(float x) {
            float loaded = memory[0];
            float given = g(loaded);
            memory[0] = 5;
            return x * given;
        }";
    assert_eq!(kept_in(program), [("loaded".to_string(), 4)]);
}

/// However dear it is: there is no room for as many as no one knows.
#[test]
fn a_loop_without_a_bound_computes_again_what_it_can() {
    let program = "
        [Differentiable] float f(float x, int n) {
            float sum = 0;
            for (int i = 0; i < n; i++)
                sum += x * sin(sin(sin(sin(sin(sin(sin(sin(float(i)))))))));
            return sum;
        }";
    assert_eq!(kept_in(program), []);
}

/// `scaled` stores, so it runs once; it can keep the product, 4 bytes, or ask its caller for the 16 of `v`.
#[test]
fn a_callee_asks_for_what_costs_its_caller_next_to_nothing_and_keeps_what_would_be_dear() {
    const SCALED: &str = "
        RWStructuredBuffer<float> memory;
        [Differentiable] float scaled(float x, no_diff float4 v) { memory[0] = 1; return x * dot(v, v); }
        [Differentiable] float f(float x, no_diff float4 v) { return scaled(x, ARGUMENT); }";
    for (argument, bytes) in [("v", 0), ("v + v", 0), ("sin(v)", 4)] {
        assert_eq!(bytes_in(&SCALED.replace("ARGUMENT", argument)), bytes, "{argument}");
    }
}

/// Calls a layer from a function, both of which take where their weights are.
const LAYERS: &str = "
struct Weights : IDifferentiablePtrType
{
    typealias Differential = Weights;
    RWStructuredBuffer<float> data;
    [BackwardDerivative(read_bwd)] float read(int i) { return data[i]; }
    static void read_bwd(DifferentialPtrPair<Weights> self, int i, float d) { self.d.data[i] += d; }
}
[Differentiable] float layer<let N : int>(Weights w, float x)
{
    [MaxIters(N)] for (int i = 0; i < N; i++) x = sin(x) * w.read(i);
    return x;
}
[Differentiable] float f(Weights w, float x) { float y = layer<4>(w, x); return y * y; }
";

// req: IR-CKPT-1
#[test]
fn what_says_where_derivatives_are_kept_is_counted_by_the_copy_that_takes_pairs() {
    // The sine, and the cosine times the weight, of each of four iterations, and the result.
    let kept = kept_in(LAYERS);
    assert_eq!(kept.iter().map(|(_, bytes)| bytes).sum::<u64>(), 4 * 8 + 4, "{kept:?}");
    assert!(kept.iter().any(|(name, _)| name == "layer"), "{kept:?}");
}

#[test]
fn reading_one_field_of_a_structure_adds_to_one_float_of_its_gradient() {
    let text = "struct Splat : IDifferentiable { float2 at; float3 color; float weights[6]; }
        DiffBuffer<Splat> splats;
        [Differentiable] float first(uint i) { return splats[i].color.y; }
        [numthreads(1, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { bwd_diff(first)(id.x, 1.0); }";
    let session = Session::new(Texts::new([("main.slang", text)]));
    let program = session.program(&Request::new("main.slang"));
    let lowered = match program.compile(Roots::Entries(vec![Symbol::new("main")])).accept() {
        Ok(lowered) => lowered,
        Err(rejected) => panic!("{rejected}"),
    };
    let funcs = lowered.module.funcs.iter().map(|(_, func)| func);
    let atomics = funcs.flat_map(|func| {
        func.all_insts()
            .into_iter()
            .filter(|inst| matches!(func.insts[*inst].op, cotangent::ir::Op::Atomic(_)))
    });
    assert_eq!(atomics.count(), 1);
}

/// What `bwd_diff(f)` of a program costs.
fn report_of(text: &str) -> std::sync::Arc<cotangent::report::Report> {
    let program = Session::new(Texts::new([("program.slang", text)])).program(&Request::new("program.slang"));
    match program.report(Symbol::new("f")).accept() {
        Ok(report) => report,
        Err(rejected) => panic!("{rejected}"),
    }
}

/// A loop whose iterations each store a sine and a cosine, after an attribute.
fn waves(attribute: &str, iterations: u32) -> String {
    format!(
        "[Differentiable] float f(float x, float k) {{
            {attribute}
            for (int i = 0; i < {iterations}; i++) x = sin(x) * k;
            return x;
        }}"
    )
}

#[test]
fn a_loop_in_segments_stores_what_it_carries_where_they_start() {
    // Per segment what is carried, 4 bytes, and at a time what one segment stores, 8 bytes for each iteration.
    for (length, segments) in [(16, 16), (100, 3), (255, 2)] {
        let report = report_of(&waves(&format!("[Checkpoint({length})]"), 256));
        assert_eq!((report.bytes, report.peak), (4 * segments, 4 * segments + 8 * length), "{length}");
    }
    let root = report_of(&waves("[Checkpoint(sqrt)]", 10_000));
    assert_eq!((root.bytes, root.peak), (4 * 100, 4 * 100 + 8 * 100));
    // Each level stores 4 states, and the lowest 8 bytes for each of 4 iterations.
    for levels in 1..=9 {
        let report = report_of(&waves("[Checkpoint(log)]", 4u32.pow(levels + 1)));
        assert_eq!((report.bytes, report.peak), (16, 16 * u64::from(levels) + 32), "{levels}");
    }
    // One segment is the loop itself.
    assert_eq!(report_of(&waves("[Checkpoint(256)]", 256)).bytes, 8 * 256);
}

#[test]
fn a_million_iterations_have_their_gradient_in_a_kilobyte() {
    let text = "
        [Differentiable] float f(float x, int n) {
            float y = x;
            [Checkpoint(log)]
            for (int i = 0; i < n; i++) y = y * x;
            return y;
        }";
    assert!(report_of(text).peak < 1000, "{}", report_of(text).peak);
    let program = Session::new(Texts::new([("program.slang", text)])).program(&Request::new("program.slang"));
    let roots = Roots::Derivatives { func: Symbol::new("f"), modes: vec![Mode::Backward] };
    let lowered = program.compile(roots).accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    let functions = Functions::of(&lowered, &[Mode::Backward]);
    let n = 1_000_000;
    let x = 1.0 + 1e-6f64;
    let expected = f64::from(n + 1) * x.powi(n);
    let mut interpreted =
        Evaluator::new(lowered.module.clone(), functions, Options { wide: true, ..Options::default() });
    let mut module = lowered.module.clone();
    cotangent_passes::widen::widen(&mut module);
    let compiled = Compiled::new(module, ShaderParams::default());
    let mut native = Evaluator::new(compiled.module.clone(), functions, Options::default());
    let params = Params::new(&compiled.module);
    native.compile(compiled, params);
    for (name, evaluator) in [("interpreted", &mut interpreted), ("native", &mut native)] {
        evaluator.set_point(&format!("x={x}, n={n}")).unwrap_or_else(|error| panic!("{error}"));
        let found = evaluator.jacobian(Mode::Backward, &|_| true);
        let found = found.unwrap_or_else(|stopped| panic!("{name}: {}", stopped.diagnostic().message));
        let found = found.entries[0][0];
        assert!((found - expected).abs() < 1e-6 * expected, "{name}: {found}, not {expected}");
    }
}

#[test]
fn a_budget_is_kept_with_as_little_as_needed() {
    let within = |budget: u64| {
        let mut request = Request::new("program.slang");
        request.options.budget = Some(budget);
        let text = waves("", 4096);
        let program = Session::new(Texts::new([("program.slang", text.as_str())])).program(&request);
        program.report(Symbol::new("f")).accept().map_err(|rejected| rejected.to_string())
    };
    let peak = |budget| within(budget).map(|report| (report.peak, report.segmented.len()));
    // Everything; what the loop carries alone; segments of 64; levels.
    assert_eq!(peak(8 * 4096), Ok((8 * 4096, 0)));
    assert_eq!(peak(8 * 4096 - 1), Ok((4 * 4096, 0)));
    assert_eq!(peak(4 * 4096 - 1), Ok((4 * 64 + 8 * 64, 1)));
    assert_eq!(peak(767), Ok((4 * 64 + 4 * 64, 1)));
    assert_eq!(peak(511), Ok((16 * 5 + 32, 1)));
    assert_eq!(peak(111), Ok((16 * 5 + 16, 1)));
    let error = within(95).expect_err("it needs 96 bytes");
    assert!(error.contains("--context 96"), "{error}");
}
