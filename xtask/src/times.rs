//! How long the compiler takes, beside a peer in the same run, since machines differ and are busy.
//!
//! Whole commands are timed, start of the process included, and the best of several runs counts.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const RUNS: u32 = 10;

/// Prints the times of `cotangent`, and of `peer` if there is one: the path of a compiler with slangc's command line.
pub fn print(root: &Path, peer: Option<&str>) -> ExitCode {
    let built =
        Command::new("cargo").args(["build", "--release", "--bin", "cotangent"]).current_dir(root).status();
    if !built.is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let ours = target.join("release/cotangent");
    let check = best(&ours, &["check", "examples/spring.slang"], root);
    println!("{:<16} {:>12}", "check", show(check));
    for kernel in crate::files(&root.join("bench/kernels"), &[".slang"]) {
        let (name, path) =
            (kernel.file_stem().unwrap_or_default().to_string_lossy(), kernel.display().to_string());
        let out = std::env::temp_dir().join("cotangent-times.wgsl").display().to_string();
        let compile = ["compile", &path, "--target", "wgsl", "--entry", "gradMain", "-o", &out];
        let time = best(&ours, &compile, root);
        let other = peer.map(|peer| {
            let args = [&path, "-target", "wgsl", "-entry", "gradMain", "-stage", "compute", "-o", &out];
            best(Path::new(peer), &args, root)
        });
        let other = other.map_or(String::new(), |time| format!("   peer {:>12}", show(time)));
        println!("{name:<16} {:>12}{other}", show(time));
    }
    ExitCode::SUCCESS
}

/// The shortest of several runs; `None` if the command fails.
fn best(program: &Path, args: &[&str], root: &Path) -> Option<Duration> {
    let run = || {
        let start = Instant::now();
        let status = Command::new(program)
            .args(args)
            .current_dir(root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|s| s.success()).then(|| start.elapsed())
    };
    (0..RUNS).map(|_| run()).min().flatten()
}

fn show(time: Option<Duration>) -> String {
    time.map_or("failed".to_string(), |t| format!("{:.1} ms", t.as_secs_f64() * 1000.0))
}
