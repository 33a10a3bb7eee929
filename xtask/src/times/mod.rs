//! How long the compiler takes, beside a peer in the same run, since machines differ and are busy.
//!
//! Whole commands are timed, start of the process included, and the best of several runs counts. With a list of lengths,
//! programs of that many lines are made and timed as well: twice the lines should take twice the time. With a list of counts,
//! programs of that many differentiable functions are compiled, reflected and reported on.

mod functions;
mod modules;
mod program;

use functions::Shape;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const RUNS: u32 = 10;

/// What was asked for on the command line.
#[derive(Default)]
pub struct Options<'a> {
    /// The path of a compiler with slangc's command line, to compare with.
    pub peer: Option<&'a str>,
    /// How long the programs are that are made.
    pub lines: Vec<usize>,
    /// How many differentiable functions other programs have that are made.
    pub functions: Vec<usize>,
}

/// Prints the times of `cotangent`, and of a peer if there is one.
pub fn print(root: &Path, options: &Options<'_>) -> ExitCode {
    let peer = options.peer;
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
    if !options.lines.is_empty() {
        println!("{:<16} {:>12} {:>12} {:>12} {:>12}", "lines", "check", "wgsl", "run", "modules");
    }
    for lines in &options.lines {
        made(&ours, *lines, root);
    }
    if !options.functions.is_empty() {
        println!("{:<16} {:>12} {:>12} {:>12}", "functions", "compile", "reflect", "report");
    }
    for count in &options.functions {
        made_functions(&ours, *count, "apart", Shape::Apart, root);
        made_functions(&ours, *count, "chained", Shape::Chained, root);
    }
    ExitCode::SUCCESS
}

/// Prints the times of a program that is made.
fn made(ours: &Path, lines: usize, root: &Path) {
    let path = std::env::temp_dir().join(format!("cotangent-times-{lines}.slang"));
    if std::fs::write(&path, program::program(lines)).is_err() {
        return;
    }
    let (file, out) = (path.display().to_string(), path.with_extension("wgsl").display().to_string());
    let check = best(ours, &["check", &file], root);
    let compile = best(ours, &["compile", &file, "--target", "wgsl", "--entry", "main", "-o", &out], root);
    let run = best(ours, &["run", &file, "--set", "result=zeros(f32, 1)"], root);
    let modules = made_modules(ours, lines, root);
    println!("{lines:<16} {:>12} {:>12} {:>12} {:>12}", show(check), show(compile), show(run), show(modules));
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(out);
}

/// Prints the times of a program with many differentiable functions: what is asked about them should cost about as much as
/// compiling them.
fn made_functions(ours: &Path, count: usize, word: &str, shape: Shape, root: &Path) {
    let path = std::env::temp_dir().join(format!("cotangent-times-{count}-{word}.slang"));
    if std::fs::write(&path, functions::functions(count, shape)).is_err() {
        return;
    }
    let (file, out) = (path.display().to_string(), path.with_extension("wgsl").display().to_string());
    let last = format!("f_{}", count.saturating_sub(1));
    let compile = best(ours, &["compile", &file, "--target", "wgsl", "-o", &out], root);
    let reflect = best(ours, &["reflect", &file, "--target", "wgsl"], root);
    let report = best(ours, &["report", &file, "--fn", &last], root);
    println!(
        "{:<16} {:>12} {:>12} {:>12}",
        format!("{count} {word}"),
        show(compile),
        show(reflect),
        show(report)
    );
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(out);
}

/// The time to compile a program of many modules.
fn made_modules(ours: &Path, lines: usize, root: &Path) -> Option<Duration> {
    let folder = std::env::temp_dir().join(format!("cotangent-times-modules-{lines}"));
    std::fs::create_dir_all(&folder).ok()?;
    for (name, text) in modules::modules(lines) {
        std::fs::write(folder.join(name), text).ok()?;
    }
    let (file, out) = (folder.join("main.slang").display().to_string(), folder.join("out.wgsl"));
    let out = out.display().to_string();
    let time = best(ours, &["compile", &file, "--target", "wgsl", "--entry", "main", "-o", &out], root);
    let _ = std::fs::remove_dir_all(folder);
    time
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
