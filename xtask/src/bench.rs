//! How fast gradients are: our C++ beside a peer's, built by the same compiler with the same flags in the same run.
//!
//! For each kernel of `bench/kernels`: time per gradient (the best of several runs), instructions per gradient (counted by
//! callgrind, where it is installed), the bytes that the backward pass keeps, and how long each compiler took to write its C++
//! and, from a cold start, WGSL. The gradients of both are compared number by number; if they disagree, or something fails, so does
//! the command.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A kernel: its file, its function, macros, and how many numbers a thread reads and writes.
struct Kernel {
    file: &'static str,
    function: &'static str,
    defines: &'static [&'static str],
    input: u32,
    gradient: u32,
}

const fn kernel(file: &'static str, function: &'static str, input: u32, gradient: u32) -> Kernel {
    Kernel { file, function, defines: &[], input, gradient }
}

/// Where an element is updated with itself, slangc's gradient lacks one of the two terms; with `OFS=1` none is.
const fn array_update(defines: &'static [&'static str; 2], n: u32) -> Kernel {
    Kernel { file: "k2_arrayupdate", function: "arrayUpdate", defines, input: n, gradient: n }
}

const KERNELS: [Kernel; 9] = [
    kernel("k1_polyloop", "polyLoop", 2, 2),
    array_update(&["N=16", "OFS=1"], 16),
    array_update(&["N=64", "OFS=1"], 64),
    array_update(&["N=256", "OFS=1"], 256),
    array_update(&["N=1024", "OFS=1"], 1024),
    kernel("k3_splat", "splat", 581, 576),
    kernel("k3_splat_buf", "splat", 581, 576),
    kernel("k4_mlp", "mlp", 496, 484),
    kernel("k4_mlp_buf", "mlp", 496, 484),
];

const FLAGS: [&str; 3] = ["-std=c++17", "-O3", "-w"];

/// What was measured of one compiler's output.
#[derive(Default)]
struct Figures {
    compile_ms: f64,
    ns: f64,
    instructions: Option<u64>,
    gradient: Vec<f32>,
    wgsl_ms: f64,
}

/// Prints a table; `peer` is the path of a compiler with slangc's command line.
pub fn print(root: &Path, peer: Option<&str>) -> ExitCode {
    let built =
        Command::new("cargo").args(["build", "--release", "--bin", "cotangent"]).current_dir(root).status();
    if !built.is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let ours = target.join("release/cotangent").display().to_string();
    let folder = std::env::temp_dir().join(format!("cotangent-bench-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_err() {
        return ExitCode::FAILURE;
    }
    println!("g++ {}; per gradient, ours / peer", FLAGS.join(" "));
    println!(
        "{:<22} {:>19} {:>6} {:>21} {:>9} {:>17} {:>17}  gradients",
        "kernel", "ns", "times", "instructions", "context", "C++ ms", "WGSL ms"
    );
    let mut fine = true;
    for kernel in &KERNELS {
        let size = kernel.defines.first().map_or(String::new(), |define| format!(" {define}"));
        let name = format!("{}{size}", kernel.file);
        let mine = measure(root, &folder, kernel, &ours, false);
        let other = peer.map(|peer| measure(root, &folder, kernel, peer, true));
        let (Some(mine), None | Some(Some(_))) = (&mine, &other) else {
            println!("{name:<22} failed");
            fine = false;
            continue;
        };
        let other = other.flatten().unwrap_or_default();
        let verdict = verdict(mine, &other);
        fine &= verdict.is_ok();
        let count = |n: Option<u64>| n.map_or("-".to_string(), |n| n.to_string());
        println!(
            "{name:<22} {:>9.0} /{:>8.0} {:>6.1} {:>10} /{:>9} {:>9} {:>8.1} /{:>7.1} {:>8.1} /{:>7.1}  {}",
            mine.ns,
            other.ns,
            other.ns / mine.ns,
            count(mine.instructions),
            count(other.instructions),
            count(context(root, &ours, kernel)),
            mine.compile_ms,
            other.compile_ms,
            mine.wgsl_ms,
            other.wgsl_ms,
            verdict.unwrap_or_else(|why| why),
        );
    }
    let _ = std::fs::remove_dir_all(&folder);
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether both gradients are the same, to three digits of the largest number.
fn verdict(mine: &Figures, other: &Figures) -> Result<String, String> {
    if other.gradient.is_empty() {
        return Ok("no peer".into());
    }
    let largest = mine.gradient.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let apart = |(a, b): (&f32, &f32)| (a - b).is_nan() || (a - b).abs() > 1e-3 * largest;
    let pairs = || mine.gradient.iter().zip(&other.gradient);
    match pairs().position(apart) {
        _ if mine.gradient.len() != other.gradient.len() => Err("differ in length".into()),
        Some(at) => Err(format!("differ: {} / {} at {at}", mine.gradient[at], other.gradient[at])),
        None => Ok("agree".into()),
    }
}

/// How many bytes the backward pass keeps.
fn context(root: &Path, ours: &str, kernel: &Kernel) -> Option<u64> {
    let file = format!("bench/kernels/{}.slang", kernel.file);
    let mut command = Command::new(ours);
    command.current_dir(root).args(["report", &file, "--fn", kernel.function]);
    command.args(kernel.defines.iter().flat_map(|define| ["-D", define]));
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split("keeps ").nth(1)?.split(' ').next()?.parse().ok()
}

fn measure(root: &Path, folder: &Path, kernel: &Kernel, compiler: &str, is_peer: bool) -> Option<Figures> {
    let source = root.join(format!("bench/kernels/{}.slang", kernel.file)).display().to_string();
    let header = folder.join("kernel.h").display().to_string();
    let compile = |target: &str, output: &str| {
        let mut command = Command::new(compiler);
        match is_peer {
            // Without what the kernels say to go round, slangc's gradient of one of them writes past its array.
            true => command
                .args([&source, "-target", target, "-entry", "gradMain", "-stage", "compute", "-o", output])
                .arg("-DSLANGC_WORKAROUND"),
            false => {
                command.args(["compile", &source, "--target", target, "--entry", "gradMain", "-o", output])
            }
        };
        command.args(kernel.defines.iter().flat_map(|define| ["-D", define]));
        let start = Instant::now();
        let fine = command.output().is_ok_and(|o| o.status.success());
        fine.then(|| start.elapsed().as_secs_f64() * 1000.0)
    };
    let best = |target: &str, output: &str| {
        (0..5).filter_map(|_| compile(target, output)).fold(f64::INFINITY, f64::min)
    };
    let wgsl_ms = best("wgsl", &folder.join("kernel.wgsl").display().to_string());
    let compile_ms = best("cpp", &header);
    let (driver, program) = (folder.join("driver.cpp"), folder.join("driver"));
    std::fs::write(&driver, self::driver(kernel, is_peer)).ok()?;
    let built = Command::new("g++").args(FLAGS).arg("-o").args([&program, &driver]).output().ok()?;
    if !built.status.success() {
        eprintln!(
            "{}",
            String::from_utf8_lossy(&built.stderr).lines().take(5).collect::<Vec<_>>().join("\n")
        );
        return None;
    }
    let values = folder.join("gradient");
    // What slangc keeps of a long loop does not fit on a stack of the usual size.
    let output = Command::new("sh")
        .args(["-c", "ulimit -s unlimited; exec \"$0\" time \"$1\""])
        .args([&program, &values])
        .output()
        .ok()?;
    let ns = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    let bytes = std::fs::read(&values).ok()?;
    let gradient = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let instructions = match (instructions(&program, 1), instructions(&program, 2)) {
        (Some(one), Some(two)) => Some(two.saturating_sub(one) / 64),
        _ => None,
    };
    Some(Figures { compile_ms, ns, instructions, gradient, wgsl_ms })
}

/// The instructions of the kernel over that many groups, without those that make up its input.
fn instructions(program: &Path, groups: u32) -> Option<u64> {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=run(Raw*, unsigned int)",
            "--main-stacksize=268435456",
        ])
        .arg(program)
        .arg(groups.to_string())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stderr).ok().filter(|_| output.status.success())?;
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

/// A program that runs the kernel: `time` prints nanoseconds per gradient and writes the gradients to a file; a number runs so many
/// groups.
fn driver(kernel: &Kernel, is_peer: bool) -> String {
    let Kernel { file, input, gradient, .. } = kernel;
    let call = if is_peer {
        "ComputeVaryingInput in = {}; in.endGroupID.x = groups; in.endGroupID.y = 1; in.endGroupID.z = 1; gradMain(&in, nullptr, params);"
            .to_string()
    } else {
        format!(
            "{file}::gradMain(*reinterpret_cast<{file}::Params*>(params), ct::Groups{{{{0, 0, 0}}, {{groups, 1, 1}}}});"
        )
    };
    format!(
        r#"#include "kernel.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Raw {{ float* data; std::size_t count; }};
__attribute__((noinline)) void run(Raw* params, unsigned groups) {{ {call} }}
int main(int, char** args) {{
    const unsigned groups = args[1][0] == 't' ? 16 : std::atoi(args[1]), threads = groups * 64;
    std::vector<float> in(threads * {input}), out(threads), grad(threads * {gradient});
    unsigned seed = 1;
    for (float& x : in) {{ seed = seed * 1664525u + 1013904223u; x = 0.1f + 0.8f * float(seed >> 8) / 16777216.0f; }}
    Raw params[3] = {{{{in.data(), in.size()}}, {{out.data(), out.size()}}, {{grad.data(), grad.size()}}}};
    if (args[1][0] != 't') {{ run(params, groups); return 0; }}
    double best = 1e300, total = 0;
    for (int i = 0; i < 40 && (i < 3 || total < 1e9); i++) {{
        std::memset(grad.data(), 0, grad.size() * sizeof(float));
        auto start = std::chrono::steady_clock::now();
        run(params, groups);
        double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
        total += ns;
        if (ns < best) best = ns;
    }}
    std::printf("%.1f\n", best / threads);
    std::FILE* file = std::fopen(args[2], "wb");
    std::fwrite(grad.data(), sizeof(float), grad.size(), file);
    std::fclose(file);
}}
"#
    )
}
