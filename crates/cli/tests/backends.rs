//! What every back end promises, as one test for all of them: the interpreter, native code, and a graphics processor and CUDA where
//! there are such devices.

#![cfg(feature = "gpu")]

use cotangent::interp::{Interpreter, Options};
use cotangent::ir::Trap;
use cotangent::ir::layout::Target;
use cotangent::jit::{Limits, Native};
use cotangent::runtime::{Argument, Arguments, Backend, Compiled, Data, Element, Failure, Launch, Runner};
use cotangent::{Request, Roots, Scalar, Session, Texts};
use cotangent_gpu::{Device, Gpu};
use std::sync::Arc;
use std::time::Duration;

const PROGRAM: &str = "
struct Particle { float3 at; uint kind; }
StructuredBuffer<float> weights;
RWStructuredBuffer<float> sums;
RWStructuredBuffer<Particle> particles;
uniform float scale;

[numthreads(2, 1, 1)]
void accumulate(uint3 id : SV_DispatchThreadID)
{
    sums[id.x] += scale * weights[id.x];
}

[numthreads(1, 1, 1)]
void move(uint3 id : SV_DispatchThreadID)
{
    particles[id.x].at.y += sums[id.x];
    particles[id.x].kind += 1;
}

[numthreads(2, 1, 1)]
void overrun(uint3 id : SV_DispatchThreadID)
{
    sums[id.x] = 1;
    sums[id.x * 100] = 2;
}
";

const OTHER: &str = "
RWStructuredBuffer<float> data;
[numthreads(1, 1, 1)] void negate(uint3 id : SV_DispatchThreadID) { data[id.x] = -data[id.x]; }
";

fn compile(text: &'static str) -> (Compiled, cotangent::Sources) {
    let program = Session::new(Texts::new([("program.slang", text)])).program(&Request::new("program.slang"));
    let lowered = program.compile(Roots::Module).accept().unwrap_or_else(|rejected| panic!("{rejected}"));
    (cotangent::compiled(&lowered), program.sources())
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// All that is promised.
fn keeps_its_promises<B: Backend>(backend: B) {
    let backend = Arc::new(backend);
    launches_again(&*backend);
    shares_buffers(&backend);
    reads_and_writes_parts(&*backend);
    says_why_it_stopped(&backend);
    refuses_what_does_not_fit(&*backend);
    serves_many_threads(&backend);
}

/// A loaded program is launched three times, with buffers of its own each time and with one that stays.
fn launches_again<B: Backend>(backend: &B) {
    let (compiled, _) = compile(PROGRAM);
    let program = backend.load(&compiled).unwrap();
    let [weights, sums, scale] = ["weights", "sums", "scale"].map(|name| compiled.parameter(name).unwrap());
    let float = Element::scalar(Scalar::F32);
    let kept = backend.make_buffer(&float, &bytes(&[100.0, 200.0])).unwrap();
    for (round, factor) in (1..).zip([1.0f32, 2.0, 3.0]) {
        let given = [1.0 + factor, 2.0 * factor, 0.5];
        let mut arguments = Arguments::<B>::default();
        // A buffer may be longer the next time.
        let given = backend.make_buffer(&float, &bytes(&given[..1 + round.min(2)])).unwrap();
        arguments.set(weights, Argument::Buffer(given));
        arguments.set(sums, Argument::Buffer(kept.clone()));
        arguments.set(scale, Argument::Value(bytes(&[factor])));
        let entry = compiled.entry("accumulate").unwrap();
        let launched = backend.launch(&program, entry, [1; 3], &arguments, Launch::default()).unwrap();
        assert_eq!(launched.ended, Ok(()));
        assert_eq!((launched.printed.as_str(), launched.time), ("", None));
    }
    // 1*2 + 2*3 + 3*4 and 1*2 + 2*4 + 3*6.
    assert_eq!(floats(&backend.read(&kept, 0..8).unwrap()), [120.0, 228.0]);
}

/// Two programs work on one buffer, which does not leave the back end.
fn shares_buffers<B: Backend>(backend: &Arc<B>) {
    let mut first = Runner::new(backend.clone(), compile(PROGRAM).0).unwrap();
    let mut second = Runner::new(backend.clone(), compile(OTHER).0).unwrap();
    first.params.set("weights", &Data::parse("f32[1, 2]").unwrap()).unwrap();
    first.params.set("sums", &Data::parse("f32[5, 6]").unwrap()).unwrap();
    first.params.set("scale", &Data::parse("1").unwrap()).unwrap();
    first.upload().unwrap();
    second.bind("data", first.buffer("sums").unwrap()).unwrap();
    let run = |runner: &mut Runner<B>, entry: &str, groups: u32| {
        let launch = Launch { timed: true, ..Launch::default() };
        let launched = runner.launch(entry, [groups, 1, 1], launch).unwrap();
        assert_eq!(launched.ended, Ok(()));
        assert!(launched.time.is_some_and(|time| time.seconds >= 0.0));
    };
    run(&mut first, "accumulate", 1);
    run(&mut second, "negate", 2);
    run(&mut first, "accumulate", 1);
    assert_eq!(floats(&first.read("sums").unwrap()), [-5.0, -6.0]);
}

/// Elements of 16 bytes in C layout, which lie otherwise on devices.
fn reads_and_writes_parts<B: Backend>(backend: &B) {
    let (compiled, _) = compile(PROGRAM);
    let program = backend.load(&compiled).unwrap();
    let [particles, sums] = ["particles", "sums"].map(|name| compiled.parameter(name).unwrap());
    let element = compiled.element(particles).unwrap();
    let buffer = backend.make_buffer(&element, &[0; 48]).unwrap();
    assert_eq!(backend.size(&buffer), 48);
    let mut one = bytes(&[1.0, 2.0, 3.0]);
    one.extend(7u32.to_le_bytes());
    backend.write(&buffer, 16, &one).unwrap();
    let mut arguments = Arguments::<B>::default();
    arguments.set(particles, Argument::Buffer(buffer.clone()));
    let given = backend.make_buffer(&Element::scalar(Scalar::F32), &bytes(&[10.0, 20.0, 30.0])).unwrap();
    arguments.set(sums, Argument::Buffer(given));
    let entry = compiled.entry("move").unwrap();
    let launched = backend.launch(&program, entry, [3, 1, 1], &arguments, Launch::default()).unwrap();
    assert_eq!(launched.ended, Ok(()));
    let part = backend.read(&buffer, 16..32).unwrap();
    assert_eq!((floats(&part[..12]), &part[12..]), (vec![1.0, 22.0, 3.0], &8u32.to_le_bytes()[..]));
    assert_eq!(floats(&backend.read(&buffer, 32..48).unwrap()[..8]), [0.0, 30.0]);
    for outside in [8..16, 32..64] {
        assert!(matches!(backend.read(&buffer, outside), Err(Failure::Usage(_))));
    }
}

/// Why a program stopped is a value, with line and thread, and the program can be launched again.
fn says_why_it_stopped<B: Backend>(backend: &Arc<B>) {
    let (compiled, sources) = compile(PROGRAM);
    let mut runner = Runner::new(backend.clone(), compiled).unwrap();
    runner.params.set("sums", &Data::parse("zeros(f32, 4)").unwrap()).unwrap();
    let stopped = runner.launch("overrun", [1; 3], Launch::default()).unwrap().ended.unwrap_err();
    assert_eq!((stopped.code().name, stopped.thread), ("E0801", Some([1, 0, 0])));
    let outside = stopped.outside.unwrap();
    assert_eq!((outside.index, outside.len), (100, 4));
    assert_eq!(sources.location(stopped.span.file, stopped.span.start).line, 25);
    runner.params.set("sums", &Data::parse("zeros(f32, 101)").unwrap()).unwrap();
    assert_eq!(runner.launch("overrun", [1; 3], Launch::default()).unwrap().ended, Ok(()));
    let sums = floats(&runner.read("sums").unwrap());
    assert_eq!((sums[0], sums[1], sums[100]), (2.0, 1.0, 2.0));
}

fn refuses_what_does_not_fit<B: Backend>(backend: &B) {
    let (compiled, _) = compile(OTHER);
    let program = backend.load(&compiled).unwrap();
    let (data, entry) = (compiled.parameter("data").unwrap(), compiled.entry("negate").unwrap());
    assert!(backend.make_buffer(&Element::scalar(Scalar::F32), &[0; 6]).is_err());
    let wrong = backend.make_buffer(&Element::scalar(Scalar::F64), &[0; 16]).unwrap();
    let mut arguments = Arguments::<B>::default();
    arguments.set(data, Argument::Buffer(wrong));
    let refused = backend.launch(&program, entry, [1; 3], &arguments, Launch::default());
    assert!(matches!(refused, Err(Failure::Usage(why)) if why.0.contains("`data`")));
}

/// Eight threads launch one loaded program, each with a buffer of its own and one that all read.
fn serves_many_threads<B: Backend>(backend: &Arc<B>) {
    let (compiled, _) = compile(PROGRAM);
    let program = backend.load(&compiled).unwrap();
    let float = Element::scalar(Scalar::F32);
    let shared = backend.make_buffer(&float, &bytes(&[1.0, 10.0])).unwrap();
    let [weights, sums, scale] = ["weights", "sums", "scale"].map(|name| compiled.parameter(name).unwrap());
    let entry = compiled.entry("accumulate").unwrap();
    std::thread::scope(|scope| {
        for number in 1..=8u8 {
            let (shared, float, program) = (shared.clone(), &float, &program);
            scope.spawn(move || {
                let own = backend.make_buffer(float, &bytes(&[0.0, 0.0])).unwrap();
                let mut arguments = Arguments::<B>::default();
                arguments.set(weights, Argument::Buffer(shared));
                arguments.set(sums, Argument::Buffer(own.clone()));
                arguments.set(scale, Argument::Value(bytes(&[number.into()])));
                for _ in 0..5 {
                    let ran = backend.launch(program, entry, [1; 3], &arguments, Launch::default()).unwrap();
                    assert_eq!(ran.ended, Ok(()));
                }
                let expected = [5.0, 50.0].map(|x| x * f32::from(number));
                assert_eq!(floats(&backend.read(&own, 0..8).unwrap()), expected);
            });
        }
    });
}

#[test]
fn the_interpreter_keeps_its_promises() {
    keeps_its_promises(Interpreter::default());
}

/// In wide mode memory keeps more digits, and the host sees the same.
#[test]
fn the_interpreter_keeps_its_promises_in_wide_mode() {
    keeps_its_promises(Interpreter::new(Options { wide: true, ..Options::default() }));
}

#[test]
fn native_code_keeps_its_promises() {
    for cores in [1, 4] {
        keeps_its_promises(Native::new(Limits { cores, ..Limits::default() }));
    }
}

#[test]
fn a_device_keeps_its_promises() {
    for target in [Target::Wgsl, Target::SpirV] {
        match Device::open(None) {
            Ok(device) => keeps_its_promises(Gpu::new(device, target, cotangent::gpu::translate)),
            Err(why) => eprintln!("skipped: {why}"),
        }
    }
}

#[test]
fn cuda_keeps_its_promises() {
    let nvrtc = std::env::var_os("COTANGENT_NVRTC").map(std::path::PathBuf::from);
    match cotangent_cuda::Device::open(None, nvrtc.as_deref()) {
        Ok(device) => keeps_its_promises(cotangent_cuda::Cuda::new(device, cotangent::cuda::translate)),
        Err(why) => eprintln!("skipped: {why}"),
    }
}

#[test]
fn what_a_program_prints_and_the_limit_of_its_steps_are_values() {
    prints_and_counts(Interpreter::default());
    prints_and_counts(Native::default());
}

fn prints_and_counts<B: Backend>(backend: B) {
    let (compiled, _) = compile(
        "RWStructuredBuffer<int> n;
        [numthreads(2, 1, 1)] void main(uint3 id : SV_DispatchThreadID)
        {
            printf(\"thread %d\\n\", id.x);
            for (int i = 0; i < n[0]; i++) n[1] += i;
        }",
    );
    let mut runner = Runner::new(Arc::new(backend), compiled).unwrap();
    runner.params.set("n", &Data::parse("i32[3, 0]").unwrap()).unwrap();
    let launched = runner.launch("main", [1; 3], Launch::default()).unwrap();
    assert_eq!((launched.printed.as_str(), launched.ended), ("thread 0\nthread 1\n", Ok(())));
    runner.params.set("n", &Data::parse("i32[1000000, 0]").unwrap()).unwrap();
    let limited = Launch { max_steps: Some(1000), ..Launch::default() };
    let launched = runner.launch("main", [1; 3], limited).unwrap();
    assert_eq!(launched.printed, "thread 0\n");
    assert_eq!(launched.ended.unwrap_err().code().name, "E0804");
}

/// A thousand groups on four cores: what they print comes in their order, and of those that stop the first is reported.
#[test]
fn what_native_code_reports_does_not_depend_on_the_number_of_cores() {
    let (compiled, _) = compile(
        "RWStructuredBuffer<float> x; uniform uint last;
        [numthreads(8, 1, 1)] void main(uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)
        {
            float y = id.x;
            for (int i = 0; i < 2000; i++) y = y * 0.999 + 1;
            if (id.x % 8 == 0) printf(\"%d \", group.x);
            x[id.x < last ? id.x : 1000000] = y;
        }",
    );
    let limits = Limits { cores: 4, ..Limits::default() };
    let mut runner = Runner::new(Arc::new(Native::new(limits)), compiled).unwrap();
    runner.params.set("x", &Data::parse("zeros(f32, 8000)").unwrap()).unwrap();
    for (last, groups) in [(8000, 1000), (5003, 626)] {
        runner.params.set("last", &Data::parse(&last.to_string()).unwrap()).unwrap();
        let launched = runner.launch("main", [1000, 1, 1], Launch::default()).unwrap();
        let expected: String = (0..groups).map(|group| format!("{group} ")).collect();
        assert_eq!(launched.printed, expected);
        let stopped = launched.ended.err().and_then(|stopped| stopped.thread);
        assert_eq!(stopped, (last < 8000).then_some([last, 0, 0]));
    }
}

const ENDLESS: &str = "
RWStructuredBuffer<int> n;
[numthreads(1, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { n[id.x] = 1; while (n[id.x] > 0) n[id.x] ^= 2; }
";

#[test]
fn native_code_ends_when_its_time_is_over() {
    let mut runner = Runner::new(Arc::new(Native::default()), compile(ENDLESS).0).unwrap();
    runner.params.set("n", &Data::parse("i32[7, 7, 7, 7]").unwrap()).unwrap();
    let launch = Launch { max_time: Some(Duration::from_millis(50)), ..Launch::default() };
    let stopped = runner.launch("main", [4, 1, 1], launch).unwrap().ended.unwrap_err();
    assert_eq!((stopped.trap, stopped.code().name), (Trap::TimeLimit, "E0813"));
    // What it wrote is there.
    let n = runner.read("n").unwrap();
    assert!(n[0] == 1 || n[0] == 3, "{n:?}");
}

#[test]
fn native_code_ends_when_it_is_told_to() {
    let native = Native::default();
    let monitor = native.monitor.clone();
    let mut runner = Runner::new(Arc::new(native), compile(ENDLESS).0).unwrap();
    runner.params.set("n", &Data::parse("i32[7]").unwrap()).unwrap();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        monitor.interrupt();
        monitor.progress()
    });
    let stopped = runner.launch("main", [1; 3], Launch::default()).unwrap().ended.unwrap_err();
    assert_eq!((stopped.trap, stopped.code().name), (Trap::Interrupted, "E0814"));
    assert_eq!(stopper.join().unwrap().1, 1);
}
