//! Hostile input: the commands in `COMMANDS` end within limits on time and memory with a result or a diagnostic, never by a
//! panic, an overflowing stack or a signal.
//!
//! Each case is a program. It is checked, compiled to WGSL and C++, run and differentiated, each in a process of its own under
//! limits on its time and memory that the shell sets. [`taken`] asks that the program be accepted; all others may be
//! refused. Where a function `f` or an entry point is missing, the command that asks for it says so.

mod cycles;
#[path = "../support/folder.rs"]
mod folder;
mod lengths;
mod nesting;
mod sizes;
mod text;

use folder::Folder;
use std::process::{Command, Output};

/// Seconds of processor time: two for what users run, more for a build that checks itself.
const SECONDS: u32 = if cfg!(debug_assertions) { 10 } else { 2 };
/// One gibibyte, and the room set aside for the stack.
const KIBIBYTES: u32 = (1024 + 256 + 64) << 10;

const COMMANDS: [&[&str]; 6] = [
    &["check"],
    &["compile", "--target", "wgsl", "-o", "/dev/null"],
    &["compile", "--target", "cpp", "-o", "/dev/null"],
    &["compile", "--derivative", "computeMain:bwd", "--target", "cpp", "-o", "/dev/null"],
    &["run", "--set", "o=zeros(f32, 1)", "--max-steps", "1000000"],
    &["grad", "--fn", "f", "--at", "x=1", "--max-steps", "1000000"],
];

/// A program with an entry point and a differentiable function `f` of `x` with these statements.
pub fn body(statements: &str) -> String {
    format!("{OUT}[Differentiable] float f(float x) {{ {statements} return x; }}\n{MAIN}")
}

/// The same, where `f` returns an expression.
pub fn value(expression: &str) -> String {
    format!("{OUT}[Differentiable] float f(float x) {{ return {expression}; }}\n{MAIN}")
}

const OUT: &str = "RWStructuredBuffer<float> o;\n";
const MAIN: &str = "[shader(\"compute\")] [numthreads(1, 1, 1)] void computeMain() { o[0] = f(1.0); }\n";

/// `part` for each number below `n`.
pub fn each(n: usize, part: impl Fn(usize) -> String) -> String {
    (0..n).map(part).collect()
}

/// Runs all commands on all programs; each must end properly.
pub fn survived(cases: &[(&str, String)]) {
    let cases: Vec<_> = cases.iter().map(|(name, text)| (*name, text.clone().into_bytes())).collect();
    run(&cases, false);
}

/// The same for files that need not be text.
pub fn survived_bytes(cases: &[(&str, Vec<u8>)]) {
    run(cases, false);
}

/// Checking, running and differentiating must succeed; WGSL may have limits of its own.
pub fn taken(cases: &[(&str, String)]) {
    let cases: Vec<_> = cases.iter().map(|(name, text)| (*name, text.clone().into_bytes())).collect();
    run(&cases, true);
}

fn run(cases: &[(&str, Vec<u8>)], taken: bool) {
    let mut wrong = String::new();
    for (name, text) in cases {
        let folder = Folder::new(&format!("hostile-{name}"));
        let file = folder.file("hostile.slang", text);
        for command in COMMANDS {
            let output = limited(command, &file);
            if let Err(why) = judge(&output, taken && command[0] != "compile") {
                wrong += &format!("{name}, {}: {why}\n", command[0]);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether a command ended as it should.
fn judge(output: &Output, taken: bool) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let start: String = said.chars().take(300).collect();
    match output.status.code() {
        None => Err(format!("ended by a signal: {} {start}", output.status)),
        Some(0) => Ok(()),
        Some(1 | 2 | 4) if taken => Err(format!("refused: {start}")),
        Some(1 | 2 | 4) if said.contains("error") => Ok(()),
        Some(code) => Err(format!("exit code {code}: {start}")),
    }
}

/// Runs a command under the limits.
fn limited(command: &[&str], file: &str) -> Output {
    let (name, rest) = command.split_first().expect("a command has a name");
    let script = format!("ulimit -v {KIBIBYTES}; ulimit -t {SECONDS}; ulimit -c 0; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_cotangent"), name, file])
        .args(rest)
        .output()
        .expect("the shell starts")
}
