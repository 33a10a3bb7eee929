//! The programs of `tests/kernels` and `examples/kernels`: derivatives of whole kernels.
//!
//! A header names the kernel (`//kernel: main`), the number of groups (`//groups: 2`), the layout of matrices
//! (`//matrices: column`), the parameters (`//set: x=f32[1, 2]`) and, if they are known from elsewhere, gradients with cotangents
//! of one (`//expect: x=f32[..]`). For every file:
//!
//! - the gradients are as expected;
//! - gradients agree with finite differences of the whole dispatch;
//! - forward and reverse mode agree: the inner product of tangents and gradients of what is read equals that of cotangents and
//!   tangents of what is written;
//! - native code computes the same, up to the order of atomic additions;
//! - for examples: the adjoint that somebody wrote by hand, in `tests/adjoints`, computes the same;
//! - every target accepts both derivatives.

use cotangent::interp::Interpreter;
use cotangent::ir::Mode;
use cotangent::ir::layout::{Matrices, Target};
use cotangent::jit::Native;
use cotangent::kernel::sequence::Sequence;
use cotangent::kernel::{self, make_shadows, make_shadows_for, numbers, seed};
use cotangent::runtime::{Backend, Data, Launch, Params, Runner};
use cotangent::{Disk, KernelRoot, Lowered, Program, Request, Roots, Scalar, Session, Symbol, compiled};
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Case {
    program: Program,
    entry: Symbol,
    groups: [u32; 3],
    set: Vec<(String, Data)>,
    expected: Vec<(String, Vec<f64>)>,
}

fn floats(data: &Data) -> Vec<f64> {
    match data {
        Data::Bytes(Some(scalar), bytes) => {
            cotangent::runtime::data::numbers(*scalar, bytes).map(|number| number.as_f64()).collect()
        }
        _ => panic!("a list of numbers"),
    }
}

impl Case {
    fn read(path: &Path) -> Case {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = |word: &str| {
            let prefix = format!("//{word}: ");
            text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_string).collect::<Vec<_>>()
        };
        let pair = |line: &String| {
            let (name, value) = line.split_once('=').expect("NAME=VALUE");
            (name.to_string(), Data::parse(value).unwrap())
        };
        let groups = lines("groups").first().map_or(1, |groups| groups.parse().unwrap());
        let session = Session::new(Disk::new(vec![]));
        let mut request = Request::new(path.to_string_lossy());
        if lines("matrices").first().is_some_and(|way| way == "column") {
            request.options.matrices = Matrices::Columns;
        }
        Case {
            program: session.program(&request),
            entry: Symbol::new(&lines("kernel")[0]),
            groups: [groups, 1, 1],
            set: lines("set").iter().map(pair).collect(),
            expected: lines("expect").iter().map(pair).map(|(name, data)| (name, floats(&data))).collect(),
        }
    }

    fn derivative(&self, mode: Mode, along_x: bool) -> Arc<Lowered> {
        let root = KernelRoot { along_x, ..KernelRoot::new(self.entry, mode) };
        self.program.compile(Roots::Kernel(root)).accept().unwrap()
    }

    fn params(&self, lowered: &Lowered) -> Params {
        let mut params = Params::new(&lowered.module);
        for (name, data) in &self.set {
            params.set(name, data).unwrap();
        }
        params
    }

    /// Launches a derivative whose shadows of these parameters hold what `fill` gives for each.
    fn launch(
        &self,
        lowered: &Arc<Lowered>,
        is_seeded: impl Fn(bool, bool) -> bool,
        mut fill: impl FnMut(usize) -> Vec<f64>,
    ) -> Params {
        let mut params = self.params(lowered);
        make_shadows_for(lowered, &mut params, self.groups).unwrap();
        for shadow in lowered.params.shadows.iter().filter(|s| is_seeded(s.read, s.written)) {
            let length = numbers(lowered, &params, shadow).unwrap().len();
            let bytes = fill(length).iter().flat_map(|x| x.to_le_bytes()).collect();
            seed(lowered, &mut params, shadow.of.as_str(), &Data::Bytes(Some(Scalar::F64), bytes)).unwrap();
        }
        let native = self.launch_on(Native::default(), lowered, params.clone());
        let interpreted = self.launch_on(Interpreter::default(), lowered, params);
        for shadow in &lowered.params.shadows {
            let of = |params| numbers(lowered, params, shadow).unwrap();
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
            assert!(
                of(&native).iter().zip(&of(&interpreted)).all(close),
                "native code computes another derivative of {}",
                shadow.of
            );
        }
        interpreted
    }

    fn launch_on<B: Backend>(&self, backend: B, lowered: &Lowered, params: Params) -> Params {
        let mut runner = Runner::with_params(Arc::new(backend), compiled(lowered), params).unwrap();
        let launched = runner.launch_id(lowered.entries[0], self.groups, Launch::default()).unwrap();
        launched.ended.unwrap();
        runner.download().unwrap();
        runner.params
    }
}

/// Numbers from -1 to 1 that do not repeat.
fn some_numbers(start: usize) -> impl FnMut(usize) -> Vec<f64> {
    let mut at = start;
    move |length| {
        let numbers = (at..at + length).map(|k| f64::from((k as f32 * 12.9898).sin())).collect();
        at += length;
        numbers
    }
}

fn inner_product(
    lowered: &Lowered,
    params: &Params,
    other: &[Vec<f64>],
    is_in: impl Fn(bool, bool) -> bool,
) -> f64 {
    let shadows = lowered.params.shadows.iter().filter(|s| is_in(s.read, s.written));
    let own = shadows.map(|shadow| numbers(lowered, params, shadow).unwrap());
    own.zip(other).flat_map(|(a, b)| a.into_iter().zip(b.clone())).map(|(a, b)| a * b).sum()
}

/// Launches the adjoint written by hand, with cotangents of one, and compares what it adds to its gradients with `ones`.
fn compare_with_adjoint(path: &Path, case: &Case, backward: &Lowered, ones: &Params) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/adjoints");
    let request = Request::new(folder.join(path.file_name().unwrap()).to_string_lossy());
    let program = Session::new(Disk::new(vec![])).program(&request);
    let lowered = program.compile(Roots::Entries(vec![Symbol::new("adjoint")])).accept().unwrap();
    let mut params = Params::new(&lowered.module);
    for (name, data) in &case.set {
        // An adjoint need not read the results of the kernel.
        let root = name.split('.').next().unwrap();
        if lowered.module.globals.values().any(|global| global.name == *root) {
            params.set(name, data).unwrap();
        }
    }
    for shadow in &backward.params.shadows {
        let length = numbers(backward, ones, shadow).unwrap().len();
        let number = f32::from(u8::from(shadow.written));
        let bytes = vec![number.to_le_bytes(); length].concat();
        params.set(shadow.name.as_str(), &Data::Bytes(Some(Scalar::F32), bytes)).unwrap();
    }
    let params = case.launch_on(Native::default(), &lowered, params);
    for shadow in backward.params.shadows.iter().filter(|shadow| shadow.read && !shadow.written) {
        let derived = numbers(backward, ones, shadow).unwrap();
        let by_hand = params.get(shadow.name.as_str()).unwrap().1.chunks_exact(4);
        let by_hand: Vec<f64> = by_hand.map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        let agree = derived.len() == by_hand.len() && derived.iter().zip(&by_hand).all(close);
        assert!(agree, "{}: {}: {derived:?}, by hand {by_hand:?}", path.display(), shadow.of);
    }
}

fn check(path: &Path) {
    let case = Case::read(path);
    let (forward, backward) = (case.derivative(Mode::Forward, true), case.derivative(Mode::Backward, true));
    let ones = case.launch(&backward, |_, written| written, |length| vec![1.0; length]);
    compare_in_a_fixed_order(path, &case, &backward, &ones);
    compare_in_waves(path, &case, (&backward, &ones));
    // Without the promise that groups extend along x only, all additions are atomic.
    let general = case.derivative(Mode::Backward, false);
    let same = case.launch(&general, |_, written| written, |length| vec![1.0; length]);
    assert_same_gradients(path, (&backward, &ones), (&general, &same));
    for (name, expected) in &case.expected {
        let shadow =
            backward.params.shadows.iter().find(|s| s.of == **name).expect("the parameter has a gradient");
        let found = numbers(&backward, &ones, shadow).unwrap();
        assert!(
            found.len() == expected.len() && are_close(&found, expected),
            "{}: the gradient of {name} is {found:?}, expected {expected:?}",
            path.display()
        );
    }
    if path.parent().is_some_and(|folder| folder.ends_with("examples/kernels")) {
        compare_with_adjoint(path, &case, &backward, &ones);
    }
    compare_with_differences(path, &case, &backward);
    compare_modes(path, &case, &forward, &backward);
    [&forward, &backward].into_iter().for_each(|lowered| emit_everywhere(path, &case, lowered));
}

fn are_close(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs()))
}

fn assert_same_gradients(path: &Path, (a, of_a): (&Lowered, &Params), (b, of_b): (&Lowered, &Params)) {
    for shadow in a.params.shadows.iter().filter(|shadow| shadow.read || shadow.written) {
        let other = b.params.shadows.iter().find(|other| other.of == shadow.of).expect("both have a shadow");
        let (own, other) = (numbers(a, of_a, shadow).unwrap(), numbers(b, of_b, other).unwrap());
        assert!(are_close(&own, &other), "{}: {}", path.display(), shadow.of);
    }
}

/// Compares with the derivative that adds in a fixed order.
fn compare_in_a_fixed_order(path: &Path, case: &Case, backward: &Arc<Lowered>, ones: &Params) {
    let root =
        KernelRoot { along_x: true, deterministic: true, ..KernelRoot::new(case.entry, Mode::Backward) };
    let ordered = case.program.compile(Roots::Kernel(root)).accept().unwrap();
    assert!(ordered.params.shadows.iter().filter(|s| s.sliced).all(|s| !s.written));
    let same = case.launch(&ordered, |_, written| written, |length| vec![1.0; length]);
    assert_same_gradients(path, (backward, ones), (&ordered, &same));
    emit_everywhere(path, case, &ordered);
}

/// Compares with the derivative that adds up in waves.
fn compare_in_waves(path: &Path, case: &Case, (backward, ones): (&Lowered, &Params)) {
    let root = KernelRoot { wave_sums: true, ..KernelRoot::new(case.entry, Mode::Backward) };
    let summed = case.program.compile(Roots::Kernel(root)).accept().unwrap();
    let same = case.launch(&summed, |_, written| written, |length| vec![1.0; length]);
    assert_same_gradients(path, (backward, ones), (&summed, &same));
    emit_everywhere(path, case, &summed);
}

/// Compares with finite differences of the kernel.
fn compare_with_differences(path: &Path, case: &Case, backward: &Arc<Lowered>) {
    let original = case.program.compile(Roots::Held(case.entry)).accept().unwrap();
    let options = kernel::Options { groups: case.groups, samples: 4, seed: 7 };
    let rows = kernel::check(&original, backward, &|lowered| Ok(case.params(lowered)), &options).unwrap();
    let read = backward.params.shadows.iter().filter(|shadow| shadow.read).count();
    assert_eq!(rows.len(), read, "{}: not everything was compared", path.display());
    for row in rows {
        assert!(row.agrees && row.judged > 0, "{}: {row:?}", path.display());
    }
}

/// Compares the inner products of both modes in random directions.
fn compare_modes(path: &Path, case: &Case, forward: &Arc<Lowered>, backward: &Arc<Lowered>) {
    let mut tangents = vec![];
    let mut next = some_numbers(1);
    let after = case.launch(
        forward,
        |read, _| read,
        |length| {
            tangents.push(next(length));
            tangents.last().unwrap().clone()
        },
    );
    let mut cotangents = vec![];
    let mut next = some_numbers(1001);
    let before = case.launch(
        backward,
        |_, written| written,
        |length| {
            cotangents.push(next(length));
            cotangents.last().unwrap().clone()
        },
    );
    let by_results = inner_product(forward, &after, &cotangents, |_, written| written);
    let by_inputs = inner_product(backward, &before, &tangents, |read, _| read);
    assert!(
        (by_results - by_inputs).abs() <= 1e-4 * (1.0 + by_results.abs()),
        "{}: forward mode gives {by_results}, reverse mode {by_inputs}",
        path.display()
    );
}

/// Emits a derivative in every language.
fn emit_everywhere(path: &Path, case: &Case, lowered: &Lowered) {
    for target in [Target::Wgsl, Target::SpirV, Target::Glsl, Target::Hlsl, Target::Metal] {
        // WGSL has no `double`, no arrays of 1D textures, and no structures with resources in arrays.
        let refused = ["shapes.slang", "texture_kinds.slang", "resource_arrays.slang"];
        let refusable = refused.iter().any(|name| path.ends_with(name));
        if let Err(refusal) = cotangent::shader(lowered, target, None) {
            assert!(
                refusable && refusal.code.name.starts_with("E07"),
                "{} {target:?}: {}",
                path.display(),
                refusal.message
            );
        }
    }
    let sources = case.program.sources();
    cotangent::cpp(lowered, &sources, "kernel.slang", false).unwrap();
    cotangent::cuda(lowered, &sources, "kernel.slang", false).unwrap();
}

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["tests/kernels", "examples/kernels"].map(|folder| root.join(folder));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "slang"));
    files.sort();
    files
}

#[test]
fn kernels_obey_the_laws() {
    let files = files();
    assert!(files.len() > 4);
    files.iter().for_each(|path| check(path));
}

/// The kernels of `bench/plain` have the gradients of those of `bench/kernels`, which have accessors with derivatives by hand; and
/// the compiler sees that threads have elements of their own.
#[test]
fn plain_kernels_have_the_gradients_of_accessors_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    for (plain, by_hand, stride, gradient) in
        [("k3_splat", "k3_splat_buf", 581, 576), ("k4_mlp", "k4_mlp_buf", 496, 484)]
    {
        let program = |path: String| {
            Session::new(Disk::new(vec![])).program(&Request::new(folder.join(path).to_string_lossy()))
        };
        let derived = program(format!("plain/{plain}.slang"));
        let root = KernelRoot { along_x: true, ..KernelRoot::new(Symbol::new("main"), Mode::Backward) };
        let derived = derived.compile(Roots::Kernel(root)).accept().unwrap();
        assert_eq!(derived.params.owned.len(), 2, "{plain}: threads have elements of their own");
        let by_hand = program(format!("kernels/{by_hand}.slang"));
        let by_hand = by_hand.compile(Roots::Entries(vec![Symbol::new("gradMain")])).accept().unwrap();
        let input: Vec<u8> =
            some_numbers(5)(64 * stride).iter().flat_map(|x| (0.5 + 0.4 * *x as f32).to_le_bytes()).collect();
        let floats = |n: usize| Data::Bytes(Some(Scalar::F32), vec![0; 4 * n]);
        let run = |lowered: &Lowered, params: Params| {
            let backend = Arc::new(Native::default());
            let mut runner = Runner::with_params(backend, compiled(lowered), params).unwrap();
            let launched = runner.launch_id(lowered.entries[0], [1; 3], Launch::default()).unwrap();
            launched.ended.unwrap();
            runner.download().unwrap();
            runner.params
        };
        let start = |lowered: &Lowered| {
            let mut params = Params::new(&lowered.module);
            params.set("gIn", &Data::Bytes(Some(Scalar::F32), input.clone())).unwrap();
            if params.find("gOut").is_ok() {
                params.set("gOut", &floats(64)).unwrap();
            }
            params
        };
        let mut params = start(&derived);
        make_shadows(&derived, &mut params).unwrap();
        seed(&derived, &mut params, "gOut", &Data::Number(cotangent::runtime::Number::Int(1))).unwrap();
        let shadow = derived.params.shadows.iter().find(|shadow| shadow.of == "gIn").unwrap();
        let found = numbers(&derived, &run(&derived, params), shadow).unwrap();
        let mut params = start(&by_hand);
        params.set("gGrad", &floats(64 * gradient)).unwrap();
        let left = run(&by_hand, params);
        let expected: Vec<f32> =
            left.get("gGrad").unwrap().1.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        for (found, expected) in found.chunks(stride).zip(expected.chunks(gradient)) {
            for (a, b) in found.iter().zip(expected) {
                assert!((*a as f32 - b).abs() <= 1e-5 * (1.0 + b.abs()), "{plain}: {a} and {b}");
            }
        }
    }
}

/// A hundred steps of `examples/kernels/cloth.slang`; the result is the sum of all coordinates in the end.
fn cloth(at: &[f64], snapshots: usize, wide: bool) -> (f64, Vec<f64>, Vec<f64>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels/cloth.slang");
    let program = Session::new(Disk::new(vec![])).program(&Request::new(path.to_string_lossy()));
    let number = |name: &str, value: &str| (format!("cloth.{name}"), Data::parse(value).unwrap());
    let set = [number("stiffness", "3"), number("rest", "0.5"), number("step", "0.02")];
    let options = cotangent::interp::Options { wide, ..Default::default() };
    let mut sequence = Sequence::new(Arc::new(Interpreter::new(options)));
    sequence.snapshots = snapshots;
    let step = sequence.kernel(&program, "main", &set).unwrap();
    let bytes = |numbers: &[f64]| numbers.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect::<Vec<u8>>();
    let mut make = |name: &str, numbers: &[f64]| sequence.buffer(step, name, &bytes(numbers)).unwrap();
    let (still, zeros) = (vec![0.01; 48], vec![0.0; 48]);
    let mut state = [make("at", at), make("speed", &still)];
    let first = state;
    let mut next = [make("next_at", &zeros), make("next_speed", &zeros)];
    for _ in 0..100 {
        let bound = [("at", state[0]), ("speed", state[1]), ("next_at", next[0]), ("next_speed", next[1])];
        sequence.launch(step, [2, 1, 1], &bound);
        std::mem::swap(&mut state, &mut next);
    }
    // In wide mode a snapshot is rounded; only values are taken from there.
    if !wide {
        sequence.gradient(&[(state[0], &bytes(&[1.0; 48]))]).unwrap();
    }
    let floats = |bytes: Vec<u8>| -> Vec<f64> {
        bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect()
    };
    let gradient = floats(sequence.read_gradient(first[0]).unwrap().unwrap());
    let uniforms = floats(sequence.read_uniform_gradient(step, "cloth").unwrap());
    sequence.run().unwrap();
    let sum = floats(sequence.read(state[0]).unwrap()).iter().sum();
    (sum, gradient, uniforms)
}

#[test]
fn a_simulation_of_many_launches_has_a_gradient() {
    let at: Vec<f64> = (0..48)
        .map(|k| {
            (k % 3) as f64 * 0.1
                + (k / 3 % 4) as f64 * 0.5 * f64::from(k % 3 == 0)
                + (k / 12) as f64 * 0.5 * f64::from(k % 3 == 1)
        })
        .collect();
    let (_, gradient, uniforms) = cloth(&at, 100, false);
    let (_, again, _) = cloth(&at, 4, false);
    assert_eq!(gradient, again, "fewer snapshots give the same gradient");
    assert!(uniforms.iter().all(|x| x.is_finite() && *x != 0.0));
    let direction: Vec<f64> = (0..48).map(|k| (f64::from(k) * 1.7).sin()).collect();
    let moved = |step: f64| at.iter().zip(&direction).map(|(x, t)| x + step * t).collect::<Vec<f64>>();
    let h = 1.0 / 4096.0;
    let difference = (cloth(&moved(h), 100, true).0 - cloth(&moved(-h), 100, true).0) / (2.0 * h);
    let expected: f64 = gradient.iter().zip(&direction).map(|(g, t)| g * t).sum();
    assert!(
        (difference - expected).abs() <= 2e-3 * (1.0 + difference.abs()),
        "differences give {difference}, the gradient {expected}"
    );
}

/// One launch as a sequence: textures and samplers are set once, like uniforms, and a texture has a gradient.
#[test]
fn sequences_take_textures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels/texture_fit.slang");
    let case = Case::read(&path);
    let backward = case.derivative(Mode::Backward, false);
    let ones = case.launch(&backward, |_, written| written, |length| vec![1.0; length]);
    let shadow = backward.params.shadows.iter().find(|shadow| shadow.of == "texels").unwrap();
    let expected = numbers(&backward, &ones, shadow).unwrap();
    let set: Vec<(String, Data)> =
        case.set.iter().filter(|(name, _)| name == "texels" || name == "repeating").cloned().collect();
    let mut sequence = Sequence::new(Arc::new(Interpreter::default()));
    let kernel = sequence.kernel(&case.program, "main", &set).unwrap();
    let params = case.params(&backward);
    let bound = ["places", "seen", "loss"].map(|name| {
        let bytes = params.get(name).unwrap().1;
        (name, sequence.buffer(kernel, name, bytes).unwrap())
    });
    sequence.launch(kernel, case.groups, &bound);
    sequence.gradient(&[(bound[2].1, &1f32.to_le_bytes())]).unwrap();
    let found = sequence.read_uniform_gradient(kernel, "texels").unwrap();
    let found: Vec<f64> = found.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect();
    assert_eq!(found, expected);
}
