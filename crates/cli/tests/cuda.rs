//! Programs in `tests/run`, emitted as CUDA and compiled to PTX by NVRTC and by `nvcc`, which need no GPU.
//!
//! All programs of a batch are one translation unit, each in a namespace of its own and its kernel under a name of its own. By
//! default every sixth program is taken; with `COTANGENT_CONFORM` set (`cargo xtask conform --target cuda`) all are.
//! `COTANGENT_NVRTC` names the library if the loader does not find it, `COTANGENT_NVCC` the compiler if it is not on the `PATH`. A
//! test prints that it was skipped if there is none. NVRTC has some functions built in; `nvcc` also compiles for the host.
//!
//! With `COTANGENT_PACKAGE` set to a folder (`--package DIR`), everything a machine with a GPU needs is written there: the PTX, the
//! memory every program starts from and must leave according to the interpreter, the kernels of `bench/kernels` to be timed,
//! the entry points of the applications, a driver and `run.sh`. `COTANGENT_PEER` (`--peer SLANGC`) adds another compiler's kernels.

mod support;

use cotangent::Scalar;
use cotangent::ir::layout::Target;
use cotangent::runtime::Data;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::folder::Folder;
use support::image::{Case, Image, image, prepare_all, prepare_asked};
use support::run_header::RunHeader;
use support::{folder, sample};

/// Compiles as a user would for any GPU since 2020; without contraction, so that numbers are the interpreter's.
const OPTIONS: [&str; 3] = ["--gpu-architecture=compute_80", "-std=c++17", "--fmad=false"];

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda")
}

/// The name of a program's kernel in its file.
fn kernel(case: &Case) -> String {
    let name = if case.entry == "main" { "main_0" } else { &case.entry };
    name.to_string()
}

/// The programs in one translation unit. What all begin with guards itself against being there twice.
fn unit(cases: &[&Case]) -> String {
    let mut out: String = cases.iter().map(|case| case.parts().0).collect();
    for (number, case) in cases.iter().enumerate() {
        let name = kernel(case);
        let program =
            case.parts().1.replace(&format!(") {name}(const"), &format!(") p{number}_{name}(const"));
        _ = writeln!(out, "namespace p{number} {{\n{program}\n}}");
    }
    out
}

/// NVRTC through the driver, which is built first.
struct Nvrtc {
    driver: PathBuf,
}

impl Nvrtc {
    /// `None` if there is no C++ compiler.
    fn build(folder: &Path) -> Option<Nvrtc> {
        let driver = folder.join("driver");
        let compiler = std::env::var("CXX").unwrap_or("g++".into());
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-o"]).arg(&driver).arg(tools().join("driver.cpp")).arg("-ldl");
        let built = command.output().ok()?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(Nvrtc { driver })
    }

    /// Compiles; `Ok(false)` if NVRTC was not found.
    fn compile(&self, from: &Path, to: &Path, options: &[&str]) -> Result<bool, String> {
        let mut command = Command::new(&self.driver);
        let output =
            command.arg("compile").args([from, to]).args(options).output().expect("the driver starts");
        match output.status.code() {
            Some(0) => Ok(true),
            Some(77) => Ok(false),
            _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

/// Compiles with `nvcc`, for the host too; `Ok(false)` if it was not found.
fn nvcc(from: &Path, to: &Path) -> Result<bool, String> {
    let compiler = std::env::var("COTANGENT_NVCC").unwrap_or("nvcc".into());
    let mut command = Command::new(&compiler);
    command.args(OPTIONS).args(["-c", "-w", "-o"]).args([to, from]);
    match command.output() {
        Ok(output) if output.status.success() => Ok(true),
        Ok(output) => {
            Err([output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat())
        }
        Err(_) => Ok(false),
    }
}

#[test]
fn nvcc_takes_every_program() {
    let (paths, _) = sample(6);
    let (cases, mut wrong) = prepare_all(paths, cotangent::cuda, "cuda");
    let folder = Folder::new("nvcc");
    for (batch, cases) in cases.iter().collect::<Vec<_>>().chunks(40).enumerate() {
        let (source, object) = (folder.join(format!("{batch}.cu")), folder.join(format!("{batch}.o")));
        std::fs::write(&source, unit(cases)).unwrap();
        match nvcc(&source, &object) {
            Ok(true) => {}
            Ok(false) => return eprintln!("skipped: nvcc was not found"),
            Err(error) => wrong += &format!("{error}\n"),
        }
    }
    // In a batch one program could include what another needs, so two are compiled alone.
    for case in cases.iter().take(2) {
        let source = folder.join("alone.cu");
        std::fs::write(&source, &case.text).unwrap();
        wrong += &nvcc(&source, &folder.join("alone.o")).err().unwrap_or_default();
    }
    eprintln!("nvcc compiled {} programs", cases.len());
    assert!(wrong.is_empty(), "{wrong}\nsources are in {}", folder.display());
}

#[test]
fn nvrtc_takes_every_program() {
    let package = std::env::var_os("COTANGENT_PACKAGE").map(PathBuf::from);
    let (paths, _) = sample(if package.is_some() { 1 } else { 6 });
    let least = paths.len().min(16);
    let (mut cases, mut wrong) = prepare_all(paths, cotangent::cuda, "cuda");
    if package.is_some() {
        cases.extend(kernels().chain(applications()));
    }
    let temporary = Folder::new("cuda");
    let folder = package.clone().unwrap_or(temporary.to_path_buf());
    std::fs::create_dir_all(&folder).unwrap();
    let Some(nvrtc) = Nvrtc::build(&folder) else {
        eprintln!("skipped: there is no C++ compiler to build the driver with");
        return;
    };
    let mut facts = String::new();
    // Those that stop take the device with them, so they come last.
    let (fine, stopping): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.trap.is_none());
    for (batch, cases) in fine.chunks(40).chain(stopping.chunks(40)).enumerate() {
        let (source, ptx) = (folder.join(format!("{batch}.cu")), folder.join(format!("{batch}.ptx")));
        std::fs::write(&source, unit(cases)).unwrap();
        match nvrtc.compile(&source, &ptx, &OPTIONS) {
            Ok(true) => {}
            Ok(false) => {
                eprintln!(
                    "skipped: NVRTC was not found; {} programs were emitted",
                    fine.len() + stopping.len()
                );
                assert!(wrong.is_empty(), "{wrong}");
                return;
            }
            Err(error) => wrong += &format!("{error}\n"),
        }
        for (number, case) in cases.iter().enumerate() {
            let name = format!("p{number}_{}", kernel(case));
            facts += &case_facts(case, &image(case, Target::Cuda), &format!("{batch}.ptx"), &name);
        }
    }
    eprintln!("NVRTC compiled {} programs", cases.len());
    assert!(wrong.is_empty(), "{wrong}\nsources are in {}", folder.display());
    assert!(cases.len() >= least, "only {} programs were compiled", cases.len());
    if package.is_some() {
        facts += &benches(&nvrtc, &folder);
        std::fs::write(folder.join("cases.txt"), facts).unwrap();
        for name in ["driver.cpp", "run.sh"] {
            std::fs::copy(tools().join(name), folder.join(name)).unwrap();
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// What the driver must know of a program; nothing if the device cannot tell that it should stop.
fn case_facts(case: &Case, image: &Image, module: &str, kernel: &str) -> String {
    // A barrier that not all reach, steps without end and calls without end.
    if matches!(case.trap, Some("E0808" | "E0804" | "E0805")) {
        return String::new();
    }
    let root = folder("..");
    let root = root.canonicalize().unwrap_or(root);
    let path = case.path.canonicalize().unwrap_or(case.path.clone());
    let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    let ([gx, gy, gz], [x, y, z]) = (case.groups, case.threads);
    let mut out = format!("case {path}:{}\nkernel {module} {kernel}\n", case.entry);
    _ = writeln!(out, "grid {gx} {gy} {gz}\nblock {x} {y} {z}");
    for blob in &image.blobs {
        if blob.bytes.iter().all(|b| *b == 0) {
            _ = writeln!(out, "zeros {}", blob.bytes.len());
        } else {
            _ = writeln!(out, "bytes {}", hex(&blob.bytes));
        }
        blob.pointers.iter().for_each(|(at, to)| _ = writeln!(out, "pointer {at} {to}"));
        if let Some(output) = &blob.output {
            let leaves: String =
                output.leaves.iter().map(|l| format!(" {} {}", l.offset, l.scalar.name())).collect();
            _ = writeln!(
                out,
                "expect {} {}\nelement {}{leaves}",
                output.name,
                hex(&output.expected),
                output.stride
            );
        }
    }
    _ = writeln!(out, "params {}", image.params);
    image.own.iter().for_each(|own| _ = writeln!(out, "own {own}"));
    if case.trap.is_some() {
        out += "trap\n";
    }
    if path.contains("apps/") {
        // Threads add to the gradient in any order.
        out += "loose 50\n";
    }
    if !case.said.is_empty() {
        _ = writeln!(out, "says {}", hex(case.said.as_bytes()));
    }
    out
}

fn floats(values: impl Iterator<Item = f32>) -> Data {
    Data::Bytes(Some(Scalar::F32), values.flat_map(f32::to_le_bytes).collect())
}

/// Numbers from 0.1 to 0.9.
fn numbers(count: usize) -> Data {
    let mut seed = 1u32;
    floats((0..count).map(|_| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.1 + 0.8 * (seed >> 8) as f32 / 16_777_216.0
    }))
}

fn zeros(count: usize) -> Data {
    floats((0..count).map(|_| 0.0))
}

/// A kernel of `bench/kernels`: its file, a macro, how many numbers a thread reads and how many its gradient has, and how many
/// threads a GPU is given to time it.
type Kernel = (&'static str, Option<(&'static str, &'static str)>, usize, usize, usize);

const KERNELS: [Kernel; 7] = [
    ("k1_polyloop", None, 2, 2, 1 << 22),
    ("k2_arrayupdate", Some(("N", "64")), 64, 64, 1 << 18),
    ("k2_arrayupdate", Some(("N", "1024")), 1024, 1024, 1 << 16),
    ("k3_splat", None, 581, 576, 1 << 17),
    ("k3_splat_buf", None, 581, 576, 1 << 17),
    ("k4_mlp", None, 496, 484, 1 << 17),
    ("k4_mlp_buf", None, 496, 484, 1 << 17),
];

fn kernel_case(name: &str, define: Option<(&str, &str)>, input: usize, gradient: usize) -> Case {
    let asked = RunHeader {
        set: vec![
            ("gIn".into(), numbers(64 * input)),
            ("gOut".into(), zeros(64)),
            ("gGrad".into(), zeros(64 * gradient)),
        ],
        entry: Some("gradMain".into()),
        defines: define.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        ..RunHeader::default()
    };
    let path = folder("..").join(format!("bench/kernels/{name}.slang"));
    prepare_asked(&path, &asked, cotangent::cuda).unwrap().unwrap()
}

fn kernels() -> impl Iterator<Item = Case> {
    KERNELS.into_iter().map(|(name, define, input, gradient, _)| kernel_case(name, define, input, gradient))
}

/// The kernels to be timed: as users compile them, and without checks of indices.
fn benches(nvrtc: &Nvrtc, folder: &Path) -> String {
    let mut facts = String::new();
    for (name, define, input, gradient, threads) in KERNELS {
        let case = kernel_case(name, define, input, gradient);
        let label = define.map_or(name.to_string(), |(n, v)| format!("{name}_{n}{v}"));
        let source = folder.join(format!("bench_{label}.cu"));
        std::fs::write(&source, &case.text).unwrap();
        for (suffix, options) in
            [("", &OPTIONS[..2]), ("_unchecked", &[OPTIONS[0], OPTIONS[1], "-DCOTANGENT_UNCHECKED"])]
        {
            let module = format!("bench_{label}{suffix}.ptx");
            assert_eq!(nvrtc.compile(&source, &folder.join(&module), options), Ok(true));
            _ = writeln!(facts, "bench {label}{suffix} {module} gradMain {input} {gradient} {threads}");
        }
        if let Ok(peer) = std::env::var("COTANGENT_PEER") {
            let file = format!("bench_{label}_peer");
            let (source, module) = (folder.join(format!("{file}.cu")), format!("{file}.ptx"));
            let mut command = Command::new(peer);
            command
                .arg(&case.path)
                .args(["-target", "cuda", "-entry", "gradMain", "-stage", "compute", "-o"]);
            command
                .arg(&source)
                .args(define.iter().flat_map(|(n, v)| ["-D".to_string(), format!("{n}={v}")]));
            assert!(command.output().is_ok_and(|o| o.status.success()), "the peer refuses {name}");
            // It is built where it runs: NVRTC takes minutes for some of them.
            let sizes = format!("{input} {gradient} {threads}");
            _ = writeln!(facts, "bench {label}_peer {module} gradMain {sizes} SLANG_globalParams");
        }
    }
    facts
}

/// The entry points of the applications, on numbers that are not those of the application.
fn applications() -> impl Iterator<Item = Case> {
    let integers = |values: &[u32]| {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Data::Bytes(Some(Scalar::U32), bytes)
    };
    let (side, splats, weights, materials) = (48, 7 * 7 * 9, 33 * 32 + 33 * 32 + 33 * 3, 24);
    let apps = [
        ("splats", splats, &["paintTarget", "descend", "update", "paintPicture"][..]),
        ("field", weights, &["paintTarget", "initialize", "descend", "update", "paintPicture"]),
        ("materials", materials, &["paintTarget", "descend", "update", "paintPicture"]),
    ];
    apps.into_iter().flat_map(move |(name, params, entries)| {
        entries.iter().map(move |entry| {
            let pixels = side * side;
            let batch = if name == "field" { 128 } else { 256 };
            let threads = match *entry {
                "descend" => batch,
                "update" | "initialize" => params,
                _ => pixels,
            };
            let set = vec![
                ("grid".into(), integers(&[7])),
                ("side".into(), integers(&[side as u32])),
                ("round".into(), integers(&[3])),
                ("rounds".into(), integers(&[10])),
                ("kinds".into(), integers(&[0, 1, 2])),
                ("params".into(), numbers(params)),
                ("gradient".into(), if *entry == "update" { numbers(params) } else { zeros(params) }),
                ("moments".into(), numbers(2 * params)),
                ("loss".into(), zeros(batch)),
                ("target".into(), numbers(3 * pixels)),
                ("picture".into(), zeros(3 * pixels)),
            ];
            let groups = Some([threads.div_ceil(64) as u32, 1, 1]);
            let asked = RunHeader { set, groups, entry: Some(entry.to_string()), ..RunHeader::default() };
            let path = folder("..").join(format!("examples/apps/{name}/{name}.slang"));
            prepare_asked(&path, &asked, cotangent::cuda).unwrap().unwrap()
        })
    })
}
