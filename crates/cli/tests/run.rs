//! Programs in `tests/run`, run on the interpreter and compared with the buffers in their headers.
//!
//! ```text
//! //run: --set 'x=f32[1, 2]' --set 'out=zeros(f32, 2)'
//! //expect: out=f32[2, 8]
//! //source: slangc 2026.14.1
//! ```
//!
//! Integers must be equal, floats within 1e-5 relative or 1e-6 absolute. `source` says where the expected numbers come
//! from besides our own output: another compiler, finite differences, or a derivation by hand. A program that must
//! trap says `//trap: text` in place of `//expect:`. What a program prints stands in lines that begin with `//stdout:`.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::expect::{arguments, compare};
use support::{bless, cotangent, folder, header, programs};

fn main() {
    let arguments = Arguments::from_args();
    let root = folder("run");
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        Trial::test(name, move || check(&path).map_err(Failed::from))
    };
    let trials = programs(&root).into_iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit()
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    if header(&text, "source").is_empty() {
        return Err("no line says with //source: where the expected numbers come from".into());
    }
    let args = arguments(path, &text)?;
    if let [message] = header(&text, "trap")[..] {
        return trap(&args, message);
    }
    let expected = header(&text, "expect");
    let output = cotangent(&args);
    if !output.status.success() {
        return Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let result: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    if bless() {
        return rewrite(path, &text, &result);
    }
    if expected.is_empty() {
        return Err("no line says with //expect: what must come out".into());
    }
    expected.iter().try_for_each(|line| compare(line, &result))?;
    let printed: String = header(&text, "stdout").iter().map(|line| format!("{line}\n")).collect();
    match result["stdout"].as_str() {
        Some(stdout) if stdout == printed => Ok(()),
        stdout => Err(format!("it should print\n{printed}and prints\n{}", stdout.unwrap_or_default())),
    }
}

fn trap(args: &[String], message: &str) -> Result<(), String> {
    let output = cotangent(args);
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(4) if said.contains(message) => Ok(()),
        code => Err(format!("expected a trap that says `{message}`, got exit code {code:?}\n{said}")),
    }
}

/// Writes what came out as the expectation.
fn rewrite(path: &Path, text: &str, result: &Value) -> Result<(), String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with("//expect:")) {
        lines.push(line.to_string());
        if line.starts_with("//run:") {
            for (name, buffer) in result["buffers"].as_object().into_iter().flatten() {
                let numbers: Vec<String> =
                    buffer["values"].as_array().into_iter().flatten().map(plain).collect();
                let ty = buffer["type"].as_str().unwrap_or("u8");
                lines.push(format!("//expect: {name}={ty}[{}]", numbers.join(", ")));
            }
        }
    }
    std::fs::write(path, lines.join("\n") + "\n").map_err(|e| e.to_string())
}

fn plain(number: &Value) -> String {
    match number {
        Value::Number(n) if n.is_f64() => (n.as_f64().unwrap_or(0.0) as f32).to_string(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}
