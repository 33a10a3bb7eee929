//! A backward pass whose loop outruns its `[MaxIters]`, wherever it runs: the interpreter, C++ and a GPU that is run by us stop and
//! name the line; a shader that somebody else runs, which cannot stop, leaves NaN in place of every gradient.
// req: LOOP-06, LOOP-08

#![cfg(feature = "gpu")]

mod support;

use cotangent::ir::layout::Target;
use cotangent::{Disk, Emitted, Request, Roots, Session};
use cotangent_gpu::{Binding, Code, Content, Device, Dispatch, Needs, Program};
use std::process::{Command, Output};
use support::cotangent;
use support::folder::Folder;

/// The loop is in line 6 and may take four iterations.
const PROGRAM: &str = "StructuredBuffer<int> limit;
RWStructuredBuffer<float> result;
[Differentiable] float power(float x, no_diff float y)
{
    float p = y; int i = 0;
    [MaxIters(4)] while (i < limit[0]) { p = p * x; i++; }
    return p;
}
[shader(\"compute\")] [numthreads(1, 1, 1)] void computeMain()
{
    var x = diffPair(3.0);
    bwd_diff(power)(x, 2.0, 1.0);
    result[0] = x.d;
    result[1] = 7;
}
";

/// 4 * 2 * 3 * 3 * 3, as 2 * x * x * x * x has it.
const GRADIENT: f32 = 216.0;

fn write(name: &str) -> Folder {
    let folder = Folder::new(&format!("bounds-{name}"));
    folder.file("power.slang", PROGRAM);
    folder
}

fn run(folder: &Folder, limit: i32, rest: &[&str]) -> Output {
    let set =
        ["--set".to_string(), format!("limit=i32[{limit}]"), "--set".into(), "result=zeros(f32, 2)".into()];
    let file = folder.path("power.slang");
    let rest = rest.iter().map(|word| word.to_string());
    cotangent(&["run".to_string(), file].into_iter().chain(set).chain(rest).collect::<Vec<_>>())
}

/// Within its bound the gradient is right; beyond it the program stops, and says where.
fn stops(folder: &Folder, rest: &[&str]) {
    let within = run(folder, 4, rest);
    assert_eq!(String::from_utf8_lossy(&within.stdout), format!("result = f32[{GRADIENT}, 7]\n"));
    let beyond = run(folder, 5, rest);
    let said = String::from_utf8_lossy(&beyond.stderr);
    assert_eq!(beyond.status.code(), Some(4), "{said}");
    assert!(said.contains("E0802") && said.contains("power.slang:6:"), "{said}");
}

#[test]
fn the_interpreter_stops() {
    let folder = write("interpreter");
    stops(&folder, &[]);
}

#[test]
fn a_gpu_that_we_run_stops() {
    if cotangent_gpu::devices().is_empty() {
        return eprintln!("skipped: there is no device");
    }
    let folder = write("gpu");
    stops(&folder, &["--backend", "gpu"]);
}

#[test]
fn cpp_stops() {
    let folder = write("cpp");
    let main = "#include \"power.h\"
        int main(int n, char**) {
            const int limit = n > 1 ? 5 : 4;
            float result[2];
            power::Params params{{&limit, 1}, {result, 2}};
            power::computeMain(params, ct::Groups{{0, 0, 0}, {1, 1, 1}});
            std::printf(\"%g\", result[0]);
        }";
    folder.file("main.cpp", main);
    let words = ["compile", "power.slang", "--target", "cpp", "-o", "power.h"];
    let made = Command::new(env!("CARGO_BIN_EXE_cotangent")).args(words).current_dir(&*folder).status();
    assert!(made.is_ok_and(|status| status.success()));
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    let flags = ["-std=c++17", "-o", "main", "main.cpp"];
    let Ok(built) = Command::new(&compiler).args(flags).current_dir(&*folder).output() else {
        return eprintln!("skipped: there is no C++ compiler `{compiler}`");
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let within = Command::new(folder.join("main")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&within.stdout), GRADIENT.to_string());
    let beyond = Command::new(folder.join("main")).arg("5").output().unwrap();
    let said = String::from_utf8_lossy(&beyond.stderr);
    assert!(!beyond.status.success() && beyond.stdout.is_empty(), "{said}");
    assert_eq!(said, "trap: line 6: loop exceeded its bound\n");
}

/// The shader as `compile` writes it, run without anybody who looks for failures.
#[test]
fn a_shader_that_others_run_leaves_nan() {
    if cotangent_gpu::devices().is_empty() {
        return eprintln!("skipped: there is no device");
    }
    let folder = write("shader");
    let file = folder.path("power.slang");
    let lowered =
        Session::new(Disk::default()).program(&Request::new(file)).compile(Roots::Entries(vec![])).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
    let code = |target| match cotangent::shader(&lowered, target, None) {
        Ok(Emitted::Text(text)) => Code::Wgsl(text),
        Ok(Emitted::Words(words)) => Code::SpirV(words),
        Err(refusal) => panic!("{}", refusal.message),
    };
    let device = Device::open(None).unwrap();
    let gradient = |code: Code, limit: i32| {
        let binding = |index, name: &str, content| Binding { name: name.into(), group: 0, index, content };
        let bindings = vec![
            binding(0, "limit", Content::Read(limit.to_le_bytes().to_vec())),
            binding(1, "result", Content::Write(vec![0; 8])),
        ];
        let program = Program { code, entry: "computeMain".into(), needs: Needs::default(), bindings };
        let outcome = device.run(&program, Dispatch::new([1, 1, 1])).unwrap();
        let bytes = outcome.written[1].clone().unwrap();
        f32::from_le_bytes(bytes[..4].try_into().unwrap())
    };
    for target in [Target::Wgsl, Target::SpirV] {
        assert_eq!(gradient(code(target), 4), GRADIENT);
        assert!(gradient(code(target), 5).is_nan());
    }
}
