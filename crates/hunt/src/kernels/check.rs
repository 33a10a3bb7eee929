//! The laws of kernels.
//!
//! - The inner product of the tangents of what a kernel leaves with cotangents equals that of the tangents of what it begins with and
//!   the gradients. Both modes run in the interpreter's wide mode, where `float` has the digits of `double`.
//! - Finite differences of the dispatch agree, for some of the kernels.
//! - Native code computes the same gradients as the interpreter, up to the order of additions; so does, for some of the kernels, the
//!   derivative that adds in a fixed order.

use cotangent::interp::{Interpreter, Options};
use cotangent::ir::Mode;
use cotangent::jit::Native;
use cotangent::kernel::{self, make_shadows_for, numbers, seed as set_shadow};
use cotangent::runtime::{Backend, Data, Launch, Params, Runner};
use cotangent::{KernelRoot, Lowered, Program, Request, Roots, Scalar, Session, Symbol, Texts, compiled};
use std::sync::Arc;

/// Two groups of four threads.
const GROUPS: [u32; 3] = [2, 1, 1];

/// The largest difference of inner products, relative to the sum of the sizes of their terms.
const TOLERANCE: f64 = 1e-6;

/// Tries a kernel, on numbers that belong to a seed.
pub(super) fn check(source: &str, seed: u64) -> Result<(), String> {
    let text: &'static str = Box::leak(source.to_string().into_boxed_str());
    let program = Session::new(Texts::new([("kernel.slang", text)])).program(&Request::new("kernel.slang"));
    let derive = |mode| {
        let along_x = seed.is_multiple_of(2);
        let root = KernelRoot { along_x, ..KernelRoot::new(Symbol::new("main"), mode) };
        compile(&program, Roots::Kernel(root))
    };
    let (forward, backward) = (derive(Mode::Forward)?, derive(Mode::Backward)?);
    let wide = || Interpreter::new(Options { wide: true, ..Options::default() });
    let mut tangents = Stream(seed.wrapping_mul(3));
    let (given, after) = run(wide(), &forward, seed, |read, _| read, &mut tangents)?;
    let mut cotangents = Stream(seed.wrapping_mul(5) + 1);
    let (asked, before) = run(wide(), &backward, seed, |_, written| written, &mut cotangents)?;
    let (by_results, size) = inner_product(&forward, &after, &asked, |_, written| written)?;
    let (by_inputs, other) = inner_product(&backward, &before, &given, |read, _| read)?;
    let scale = size.max(other).max(1.0);
    if (by_results - by_inputs).abs() > TOLERANCE * scale || !by_results.is_finite() {
        return Err(format!("inner product: forward mode gives {by_results}, reverse mode {by_inputs}"));
    }
    let mut same = Stream(seed.wrapping_mul(5) + 1);
    let (_, native) = run(Native::default(), &backward, seed, |_, written| written, &mut same)?;
    compare("native code", (&backward, &native), (&backward, &before))?;
    if seed.is_multiple_of(3) {
        let root = KernelRoot {
            along_x: true,
            deterministic: true,
            ..KernelRoot::new(Symbol::new("main"), Mode::Backward)
        };
        let ordered = compile(&program, Roots::Kernel(root))?;
        let mut same = Stream(seed.wrapping_mul(5) + 1);
        let (_, after) = run(Native::default(), &ordered, seed, |_, written| written, &mut same)?;
        compare("in a fixed order", (&ordered, &after), (&backward, &before))?;
    }
    if seed.is_multiple_of(8) { differences(&program, &backward, seed) } else { Ok(()) }
}

fn compile(program: &Program, roots: Roots) -> Result<Arc<Lowered>, String> {
    program.compile(roots).accept().map_err(|rejected| format!("refused: {rejected}"))
}

/// Numbers from -1 to 1.
struct Stream(u64);

impl Stream {
    fn take(&mut self, count: usize) -> Vec<f64> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // All digits of a float are kept.
            f64::from((self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
        };
        (0..count).map(|_| next()).collect()
    }
}

/// The parameters.
fn params(lowered: &Lowered, seed: u64) -> Result<Params, String> {
    let mut params = Params::new(&lowered.module);
    let bodies: String = Stream(seed)
        .take(12)
        .chunks(3)
        .flat_map(|c| [(c[0] as f32).to_bits(), 7, (c[1] as f32).to_bits(), (c[2] as f32).to_bits()])
        .flat_map(u32::to_le_bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let float = |n: usize, salt: u64| format!("random(f32, {n}, {})", seed % 100_000 + salt);
    let all = [
        ("a", float(16, 1)),
        ("v", float(24, 2)),
        ("bodies", format!("bytes[{bodies}]")),
        ("own", float(32, 3)),
        ("state", float(16, 4)),
        ("result", "zeros(f32, 8)".to_string()),
        ("sums", "zeros(f32, 3)".to_string()),
        ("scale", "0.75".to_string()),
        ("params.q", float(2, 5)),
        ("params.n", (seed % 5).to_string()),
        ("params.r", float(3, 6)),
        ("net.layers[0].w", float(6, 7)),
        ("net.layers[0].b", float(2, 8)),
        ("net.layers[1].w", float(6, 9)),
        ("net.layers[1].b", float(2, 10)),
        ("net.scales", float(4, 11)),
        ("squares", float(32, 12)),
        ("words", float(16, 13)),
        ("image", format!("image(3x2, {})", float(12, 14))),
        ("linear", ["linear,clamp", "linear,repeat", "linear,mirror"][seed as usize % 3].to_string()),
    ];
    for (name, value) in all {
        // What the kernel does not use is not there.
        if params.find(name).is_ok() {
            let data = Data::parse(&value).map_err(|e| e.to_string())?;
            params.set(name, &data).map_err(|e| format!("setting {name}: {e}"))?;
        }
    }
    Ok(params)
}

/// Launches a derivative whose shadows of some parameters are seeded. Gives the seeds and what is left.
fn run<B: Backend>(
    backend: B,
    lowered: &Arc<Lowered>,
    seed: u64,
    is_seeded: impl Fn(bool, bool) -> bool,
    stream: &mut Stream,
) -> Result<(Vec<Vec<f64>>, Params), String> {
    let mut params = params(lowered, seed)?;
    make_shadows_for(lowered, &mut params, GROUPS).map_err(|e| e.to_string())?;
    let mut seeds = vec![];
    for shadow in lowered.params.shadows.iter().filter(|s| is_seeded(s.read, s.written)) {
        let count = numbers(lowered, &params, shadow).map_err(|e| e.to_string())?.len();
        let all = stream.take(count);
        let bytes = all.iter().flat_map(|x| x.to_le_bytes()).collect();
        let data = Data::Bytes(Some(Scalar::F64), bytes);
        set_shadow(lowered, &mut params, shadow.of.as_str(), &data).map_err(|e| e.to_string())?;
        seeds.push(all);
    }
    let failed = |failure: cotangent::runtime::Failure| format!("failure: {failure}");
    let mut runner = Runner::with_params(Arc::new(backend), compiled(lowered), params).map_err(failed)?;
    let launched = runner.launch_id(lowered.entries[0], GROUPS, Launch::default()).map_err(failed)?;
    launched.ended.map_err(|stopped| format!("trap: {}", stopped.diagnostic().message))?;
    runner.download().map_err(failed)?;
    Ok((seeds, runner.params))
}

/// The inner product of shadows with other numbers, and the sum of the sizes of its terms.
fn inner_product(
    lowered: &Lowered,
    params: &Params,
    other: &[Vec<f64>],
    is_in: impl Fn(bool, bool) -> bool,
) -> Result<(f64, f64), String> {
    let (mut sum, mut size) = (0.0, 0.0);
    let shadows = lowered.params.shadows.iter().filter(|s| is_in(s.read, s.written));
    for (shadow, other) in shadows.zip(other) {
        for (a, b) in numbers(lowered, params, shadow).map_err(|e| e.to_string())?.iter().zip(other) {
            sum += a * b;
            size += (a * b).abs();
        }
    }
    Ok((sum, size))
}

/// Compares the derivatives of parameters that two programs left.
fn compare(
    what: &str,
    (own, native): (&Lowered, &Params),
    (lowered, wide): (&Lowered, &Params),
) -> Result<(), String> {
    for shadow in &lowered.params.shadows {
        let other = own.params.shadows.iter().find(|other| other.of == shadow.of);
        let other = other.ok_or_else(|| format!("{what}: there is no derivative of {}", shadow.of))?;
        let native = numbers(own, native, other).map_err(|e| e.to_string())?;
        let wide = numbers(lowered, wide, shadow).map_err(|e| e.to_string())?;
        let scale = wide.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        if native.iter().zip(&wide).any(|(a, b)| (a - b).abs() > 1e-3 * scale || a.is_nan()) {
            return Err(format!("{what}: the derivative of {} is {native:?}, and {wide:?}", shadow.of));
        }
    }
    Ok(())
}

fn differences(program: &Program, backward: &Arc<Lowered>, seed: u64) -> Result<(), String> {
    let original = compile(program, Roots::Held(Symbol::new("main")))?;
    let options = kernel::Options { groups: GROUPS, samples: 2, seed };
    let set = |lowered: &Lowered| params(lowered, seed).map_err(cotangent::runtime::Error);
    let rows = kernel::check(&original, backward, &set, &options).map_err(|stop| format!("{stop:?}"))?;
    match rows.iter().find(|row| !row.agrees) {
        Some(row) => Err(format!("differences: {row:?}")),
        None => Ok(()),
    }
}
