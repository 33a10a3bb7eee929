//! What `run` makes of many launches and large buffers, and `grad` of many points. Expected numbers are derived by hand.

mod support;

use cotangent::Scalar;
use cotangent::runtime::npy;
use serde_json::Value;
use std::process::Output;
use support::cotangent;
use support::folder::Folder;

/// `init` sets `x[i] = i`; `step` adds 2; `total` sums up.
const STEPS: &str = "
RWStructuredBuffer<float> x;
RWStructuredBuffer<float> sum;
[numthreads(4, 1, 1)] void init(uint3 id : SV_DispatchThreadID) { x[id.x] = id.x; }
[numthreads(2, 1, 1)] void step(uint3 id : SV_DispatchThreadID) { x[id.x] += 2; }
[numthreads(1, 1, 1)] void total()
{
    uint n, stride;
    x.GetDimensions(n, stride);
    for (uint i = 0; i < n; i++) sum[0] += x[i];
    printf(\"done\\n\");
}
";

fn run(folder: &Folder, command: &str, file: &str, flags: &[&str]) -> Output {
    let mut args = vec![command.to_string(), folder.path(file)];
    args.extend(flags.iter().map(ToString::to_string));
    cotangent(&args)
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn steps(name: &str) -> Folder {
    let folder = Folder::new(&format!("launches-{name}"));
    folder.file("steps.slang", STEPS);
    folder
}

#[test]
fn several_entry_points_run_one_after_the_other() {
    let folder = steps("several");
    let set = ["--set", "x=zeros(f32, 8)", "--set", "sum=[0]"];
    let launches = ["init,step*10,total", "init,(step*3,step*2)*2,total", "(init), ( step ) * 10 ,total"];
    for (backend, launches) in ["cpu", "interpreter"].into_iter().flat_map(|b| launches.map(|l| (b, l))) {
        let entry = ["--entry", launches, "--groups", "2", "--groups", "step=4", "--groups", "total=1"];
        let output =
            run(&folder, "run", "steps.slang", &[&entry[..], &set, &["--backend", backend]].concat());
        // 0 to 7, and 20 more each: 28 + 160.
        let expected = "done\nx = f32[20, 21, 22, 23, 24, 25, 26, 27]\nsum = f32[188]\n";
        assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), (expected, ""));
    }
    for (flags, says) in [
        (["--entry", "init,step*0", "--groups", "1"], "NAME*TIMES"),
        (["--entry", "init,(step*2", "--groups", "1"], "(NAME,..)*TIMES"),
        (["--entry", "(init,step)*0", "--groups", "1"], "(NAME,..)*TIMES"),
        (["--entry", "(init,step)2", "--groups", "1"], "(NAME,..)*TIMES"),
        (["--entry", "init,none", "--groups", "1"], "none"),
        (["--entry", "init,total", "--groups", "4294967295,4294967295,2"], "more than 2^48"),
        (["--entry", "init", "--groups", "step=4"], "`step` is not among the entry points that run"),
        (["--entry", "init", "--groups", "init=x"], "`x` is not a number of groups"),
    ] {
        let output = run(&folder, "run", "steps.slang", &[&flags[..], &set].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

#[test]
fn repetitions_begin_with_the_parameters_as_they_were_set() {
    let folder = steps("repeat");
    let flags = ["--entry", "step,total", "--groups", "step=2", "--repeat", "5", "--timings"];
    let set = ["--set", "x=[1, 2, 3, 4]", "--set", "sum=[0]", "--print", "sum"];
    let output = run(&folder, "run", "steps.slang", &[&flags[..], &set].concat());
    // 10 and twice 4, once.
    assert_eq!(stdout(&output), "done\nsum = f32[18]\n");
    let said = stderr(&output);
    assert!(said.starts_with("ran for ") && said.contains(" ms, the median of 5 runs; "), "{said}");
    assert!(said.contains(" threads per second\ncompiled to native code in "), "{said}");
}

/// Sixteen threads with a barrier between, and sixteen without; both double what is there.
#[test]
fn lanes_are_forced_or_forbidden_and_a_note_says_why_they_cannot_be() {
    let folder = Folder::new("launches-lanes");
    folder.file(
        "lanes.slang",
        "RWStructuredBuffer<float> x;
         groupshared float t[16];
         [numthreads(16, 1, 1)] void plain(uint3 id : SV_DispatchThreadID) { x[id.x] *= 2; }
         [numthreads(16, 1, 1)] void waits(uint3 id : SV_DispatchThreadID)
         {
             if (id.x < 8)
                 t[id.x] = t[id.x + 8] + 1;
             x[id.x] *= 2;
             GroupMemoryBarrierWithGroupSync();
         }",
    );
    let numbers = |factor: u32| (0..16).map(|i| (i * factor).to_string()).collect::<Vec<_>>().join(", ");
    let set = format!("x=[{}]", numbers(1));
    for (entry, lanes, noted) in [
        ("plain", "auto", false),
        ("plain", "never", false),
        ("plain", "always", false),
        ("waits", "never", false),
        ("waits", "always", true),
    ] {
        let flags = ["--entry", entry, "--lanes", lanes, "--set", &set, "--full"];
        let output = run(&folder, "run", "lanes.slang", &flags);
        assert_eq!(stdout(&output).replace("\n    ", " "), format!("x = f32[{}]\n", numbers(2)));
        let note = "`waits` runs thread by thread: not supported by native code: memory that threads read and write, in lanes";
        assert_eq!(stderr(&output).contains(note), noted, "{entry} {lanes}: {}", stderr(&output));
    }
}

#[test]
fn long_buffers_are_shortened() {
    let folder = steps("long");
    let flags = ["--entry", "init", "--groups", "250", "--set", "x=zeros(f32, 1000)", "--print", "x"];
    let output = run(&folder, "run", "steps.slang", &flags);
    let expected = "x = f32[0, 1, 2, 3, 4, .., 997, 998, 999] (1000 numbers, min 0, max 999)\n";
    assert_eq!(stdout(&output), expected);
    let whole = run(&folder, "run", "steps.slang", &[&flags[..], &["--full"]].concat());
    assert!(stdout(&whole).contains(", 500, 501, "), "{}", stdout(&whole));
    let json = run(&folder, "run", "steps.slang", &[&flags[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(json["buffers"]["x"]["values"][500], 500.0);
    folder.file(
        "nan.slang",
        "struct P { float a; int b; }; RWStructuredBuffer<float> x; RWStructuredBuffer<P> p;
         [numthreads(1, 1, 1)] void main(uint3 id : SV_DispatchThreadID)
         { x[id.x] = id.x % 100 == 7 ? sqrt(-1.0) : 0.5 * id.x - 3; p[id.x].a = id.x; p[id.x].b = 1; }",
    );
    let flags = ["--groups", "300", "--set", "x=zeros(f32, 300)", "--set", "p=zeros(u32, 600)"];
    let output = run(&folder, "run", "nan.slang", &flags);
    assert!(stdout(&output).contains("(300 numbers, min -3, max 146.5, 3 NaN)"), "{}", stdout(&output));
    assert!(
        stdout(&output)
            .contains(", .., {a = 297, b = 1}, {a = 298, b = 1}, {a = 299, b = 1}] (300 elements)")
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_and_keeps_its_results() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let folder = Folder::new("interrupt");
    let text = "RWStructuredBuffer<int> x; [numthreads(1, 1, 1)] void begin() { x[0] = 7; }
        [numthreads(1, 1, 1)] void spin() { while (x[0] > 0) x[1] ^= 1; }";
    let file = folder.file("spin.slang", text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.args(["run", &file, "--entry", "begin,spin", "--set", "x=[0, 0]", "--print", "x[0]"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Long enough that it tells how far it is.
    std::thread::sleep(Duration::from_millis(3500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(130), "x[0] = i32[7]\n"));
    let said = stderr(&output);
    assert!(said.contains("note: running for 2 s, in `spin`, launch 2 of 2\n"), "{said}");
    assert!(
        said.contains("note: interrupted in `spin`, launch 2 of 2; the results are those so far\n"),
        "{said}"
    );
}

#[test]
fn a_gradient_at_many_points() {
    let folder = Folder::new("batch");
    let file = "[Differentiable] float f(float a, float2 v) { return a * v.x * v.x + v.y; }";
    folder.file("f.slang", file);
    let points: Vec<f32> = (0..6).flat_map(|i| [i as f32, 2.0, 1.0]).collect();
    let bytes: Vec<u8> = points.iter().flat_map(|x| x.to_le_bytes()).collect();
    let path = folder.path("points.npy");
    std::fs::write(&path, npy::write_shaped(Scalar::F32, &[6, 3], &bytes)).unwrap();
    let (at, save) = (format!("@{path}"), folder.path("grad.npy"));
    let output = run(&folder, "grad", "f.slang", &["--fn", "f", "--at", &at, "--save", &save]);
    // a v.x v.x + v.y, and its derivatives v.x v.x, 2 a v.x and 1.
    let expected = "f at 6 points\n  f = f32[1, 5, 9, 13, 17, 21]\n\n  d f / d a = f32[4, 4, 4, 4, 4, 4]\n  \
                    d f / d v.x = f32[0, 4, 8, 12, 16, 20]\n  d f / d v.y = f32[1, 1, 1, 1, 1, 1]\n";
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), (expected, ""));
    let (scalar, shape, bytes) = npy::read_shaped(&std::fs::read(&save).unwrap()).unwrap();
    assert_eq!((scalar, shape, bytes.len()), (Scalar::F32, vec![6, 3], 72));
    assert_eq!(bytes[28..32], 8f32.to_le_bytes()[..], "{bytes:?}");
    let flags = ["--fn", "f", "--at", &at, "--wrt", "v", "--format", "json"];
    let json: Value = serde_json::from_str(&stdout(&run(&folder, "grad", "f.slang", &flags))).unwrap();
    assert_eq!(json["derivatives"]["f"]["v.x"][5], 20.0);
    assert!(json["derivatives"]["f"].get("a").is_none());
    std::fs::write(&path, npy::write_shaped(Scalar::F32, &[9, 2], &bytes)).unwrap();
    let wrong = run(&folder, "grad", "f.slang", &["--fn", "f", "--at", &at]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("a point has 3 numbers, but the array has the shape [9, 2]"));
}
