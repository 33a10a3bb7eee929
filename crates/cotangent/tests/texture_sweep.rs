//! Samples in kernels, for every kind of texture, address mode and filter: gradients by texels, coordinates and level agree with
//! finite differences of the dispatch, and with those of `DiffTexture1D` and its kin, which the library computes.

use cotangent::interp::Interpreter;
use cotangent::ir::Mode;
use cotangent::kernel::{self, make_shadows, numbers, seed};
use cotangent::runtime::{Data, Launch, Number, Params, Runner};
use cotangent::{KernelRoot, Lowered, Program, Request, Roots, Session, Symbol, Texts, compiled};
use std::sync::Arc;

/// A kind of texture: its name, its size, how many texels its levels have, its coordinates and its moves.
struct Kind {
    name: &'static str,
    size: &'static str,
    coordinates: &'static str,
    moves: Option<&'static str>,
    gathers: bool,
    has_pair: bool,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "Texture1D",
        size: "5",
        coordinates: "x",
        moves: Some("-1"),
        gathers: false,
        has_pair: true,
    },
    Kind {
        name: "Texture2D",
        size: "4x3",
        coordinates: "xy",
        moves: Some("int2(1, -2)"),
        gathers: true,
        has_pair: true,
    },
    Kind {
        name: "Texture3D",
        size: "3x2x4",
        coordinates: "xyz",
        moves: Some("int3(1, 0, -1)"),
        gathers: false,
        has_pair: true,
    },
    Kind {
        name: "Texture1DArray",
        size: "4x3",
        coordinates: "xz",
        moves: None,
        gathers: false,
        has_pair: false,
    },
    Kind {
        name: "Texture2DArray",
        size: "3x4x2",
        coordinates: "xyz",
        moves: Some("int2(-1, 1)"),
        gathers: true,
        has_pair: true,
    },
];
const ADDRESSES: [&str; 4] = ["clamp", "repeat", "mirror", "border"];
const FILTERS: [&str; 2] = ["nearest", "linear"];
/// Inside, outside on both sides, and between levels.
const PLACES: &str =
    "f32[0.31, 0.62, 0.83, 0.4, -0.37, 1.21, 0.15, 1.3, 1.73, -0.58, 1.2, 0.2, 2.43, 0.07, 0.55, 5]";

fn program(text: String) -> Program {
    let text: &'static str = Box::leak(text.into_boxed_str());
    Session::new(Texts::new([("kernel.slang", text)])).program(&Request::new("kernel.slang"))
}

fn compile(program: &Program, roots: Roots) -> Arc<Lowered> {
    program.compile(roots).accept().unwrap()
}

/// The kernel that takes one sample in each thread.
fn kernel_of(kind: &Kind, sample: &str) -> Program {
    program(format!(
        "{}<float2> t; SamplerState s; StructuredBuffer<float4> places; RWStructuredBuffer<float> y;
         [numthreads(4, 1, 1)] void main(uint3 id : SV_DispatchThreadID)
         {{
             float4 p = places[id.x];
             y[id.x] = dot({sample}, 1.0);
         }}",
        kind.name
    ))
}

/// The kernel that takes the derivative of a sample of a texture with a gradient.
fn pair_of(kind: &Kind, filter: &str, mip: &str, address: &str) -> Program {
    let title = |word: &str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    let (filter, mip, address) = (title(filter), title(mip), title(address));
    let (name, at) = (kind.name, kind.coordinates);
    program(format!(
        "Diff{name}<float2> t; StructuredBuffer<float4> places; RWStructuredBuffer<float> slopes;
         [Differentiable] float sampled(no_diff DiffSampler s, float4 p)
         {{
             return dot(t.SampleLevel(s, p.{at}, p.w), float2(1.0));
         }}
         [numthreads(4, 1, 1)] void main(uint3 id : SV_DispatchThreadID)
         {{
             DiffSampler s = DiffSampler(DiffFilter.{filter}, DiffAddress.{address});
             s.mip = DiffFilter.{mip};
             var p = diffPair(places[id.x]);
             bwd_diff(sampled)(s, p, 1.0);
             for (int i = 0; i < 4; i++)
                 slopes[4 * id.x + i] = p.d[i];
         }}"
    ))
}

fn set(lowered: &Lowered, all: &[(&str, &str)]) -> Params {
    let mut params = Params::new(&lowered.module);
    for (name, value) in all {
        params.set(name, &Data::parse(value).unwrap()).unwrap();
    }
    params
}

fn launch(lowered: &Arc<Lowered>, params: Params) -> Params {
    let mut runner =
        Runner::with_params(Arc::new(Interpreter::default()), compiled(lowered), params).unwrap();
    let launched = runner.launch_id(lowered.entries[0], [1; 3], Launch::default()).unwrap();
    launched.ended.unwrap();
    runner.download().unwrap();
    runner.params
}

fn floats(params: &Params, name: &str) -> Vec<f64> {
    let bytes = params.get(name).unwrap().1;
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect()
}

/// The image of a kind: numbers without a pattern.
fn image(kind: &Kind) -> String {
    let texels: usize = kind.size.split('x').map(|n| n.parse::<usize>().unwrap()).product();
    let numbers: Vec<String> =
        (0..2 * texels).map(|k| format!("{:.3}", (k as f64 * 12.9898).sin() + 0.1 * k as f64)).collect();
    format!("mips(image({}, f32[{}]))", kind.size, numbers.join(", "))
}

/// Compares a sample with differences, for a sampler. Gives the gradients by texels and places.
fn check(program: &Program, backward: &Arc<Lowered>, all: &[(&str, &str)], what: &str) -> [Vec<f64>; 2] {
    let original = compile(program, Roots::Held(Symbol::new("main")));
    let options = kernel::Options { groups: [1; 3], samples: 3, seed: 11 };
    let rows = kernel::check(&original, backward, &|lowered| Ok(set(lowered, all)), &options).unwrap();
    assert_eq!(rows.len(), 2, "{what}");
    for row in rows {
        assert!(row.agrees && row.judged > 0, "{what}: {row:?}");
    }
    let mut params = set(backward, all);
    make_shadows(backward, &mut params).unwrap();
    seed(backward, &mut params, "y", &Data::Number(Number::Int(1))).unwrap();
    let left = launch(backward, params);
    ["t", "places"].map(|name| {
        let shadow = backward.params.shadows.iter().find(|shadow| shadow.of == *name).unwrap();
        numbers(backward, &left, shadow).unwrap()
    })
}

/// Compares with a texture that has a gradient.
fn compare_pair(kind: &Kind, [filter, mip, address]: [&str; 3], found: &[Vec<f64>; 2], what: &str) {
    let lowered = compile(&pair_of(kind, filter, mip, address), Roots::Entries(vec![Symbol::new("main")]));
    let image = image(kind);
    let zeros = format!("zeros(f32, {})", found[0].len());
    let all =
        [("t.primal", &image[..]), ("t.diff", &zeros), ("places", PLACES), ("slopes", "zeros(f32, 16)")];
    let left = launch(&lowered, set(&lowered, &all));
    for (name, derived) in ["t.diff", "slopes"].into_iter().zip(found) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
        let by_library = floats(&left, name);
        let agree = by_library.len() == derived.len() && by_library.iter().zip(derived).all(close);
        assert!(agree, "{what}: {name} is {by_library:?}, the kernel has {derived:?}");
    }
}

#[test]
fn samples_have_derivatives_for_all_kinds_address_modes_and_filters() {
    for kind in &KINDS {
        let at = kind.coordinates;
        let mut samples = vec![
            ("level", format!("t.SampleLevel(s, p.{at}, p.w)")),
            ("plain", format!("t.Sample(s, p.{at})")),
        ];
        samples.extend(kind.moves.map(|moves| ("moved", format!("t.SampleLevel(s, p.{at}, p.w, {moves})"))));
        samples.extend(kind.gathers.then(|| ("gathered", format!("t.GatherGreen(s, p.{at})"))));
        let image = image(kind);
        for (how, sample) in samples {
            let program = kernel_of(kind, &sample);
            let backward =
                compile(&program, Roots::Kernel(KernelRoot::new(Symbol::new("main"), Mode::Backward)));
            for address in ADDRESSES {
                for (filter, mip) in FILTERS.iter().flat_map(|f| FILTERS.map(|mip| (*f, mip))) {
                    let sampler = format!("{filter},mip-{mip},{address}");
                    let what = format!("{} {how} {sampler}", kind.name);
                    let all =
                        [("t", &image[..]), ("s", &sampler), ("places", PLACES), ("y", "zeros(f32, 4)")];
                    let found = check(&program, &backward, &all, &what);
                    if how == "level" && kind.has_pair {
                        compare_pair(kind, [filter, mip, address], &found, &what);
                    }
                }
            }
        }
    }
}
