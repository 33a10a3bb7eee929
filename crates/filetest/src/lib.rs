//! Tests of passes as files of IR text: drop a file in a folder, and it is a test.
//!
//! A file names the pass to run, holds the module to run it on, and what the pass must give:
//!
//! ```text
//! ; test fold
//! ; Constants of known operands are computed.
//! func @f() -> i32 {
//!   %0: i32 = const 2
//!   %1: i32 = add %0, %0
//!   return %1
//! }
//! ; expect
//! func @f() -> i32 {
//!   %0: i32 = const 4
//!   return %0
//! }
//! ```
//!
//! Words after the name of the pass are its arguments. The module is verified before the pass and after it.
//! With `BLESS=1` in the environment the expectations are rewritten; read the difference before committing it.
//!
//! A crate's `tests/filetests.rs`, declared with `harness = false`, is then
//!
//! ```no_run
//! # use cotangent_filetest::{Pass, run};
//! fn main() {
//!     run("tests/filetests", &[Pass::new("print", |case| case.text())]);
//! }
//! ```

use cotangent_ir::text::{LinearValues, parse_linear, print_linear};
use cotangent_ir::{Module, verify};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a pass works on.
pub struct Case {
    /// The module of the file.
    pub module: Module,
    /// The values written with `~`, per function.
    pub linear: LinearValues,
    /// The words after the name of the pass.
    pub args: Vec<String>,
}

impl Case {
    /// The module as text, linear values marked: what most passes give as output.
    pub fn text(&self) -> String {
        print_linear(&self.module, &self.linear)
    }
}

/// A pass by the name under which files ask for it.
#[derive(Clone)]
pub struct Pass {
    name: &'static str,
    run: Arc<dyn Fn(&mut Case) -> String + Send + Sync>,
}

impl Pass {
    /// A pass that changes the case and gives the text to compare.
    pub fn new(name: &'static str, run: impl Fn(&mut Case) -> String + Send + Sync + 'static) -> Self {
        Pass { name, run: Arc::new(run) }
    }
}

/// Runs every `*.ir` file below `folder`, which is relative to the crate, as a test, and ends the process.
///
/// A folder without files is an error: a test that cannot be found must not pass.
pub fn run(folder: impl AsRef<Path>, passes: &[Pass]) -> ! {
    let arguments = Arguments::from_args();
    let folder = folder.as_ref();
    let mut files = Vec::new();
    find(folder, &mut files);
    assert!(!files.is_empty(), "there are no `*.ir` files in {}", folder.display());
    files.sort();
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        let name = name.display().to_string();
        let passes = passes.to_vec();
        Trial::test(name, move || check_file(&path, &passes).map_err(Failed::from))
    };
    libtest_mimic::run(&arguments, files.into_iter().map(trial).collect()).exit()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|e| e == "ir") {
            files.push(path);
        }
    }
}

fn check_file(path: &Path, passes: &[Pass]) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let output = output(&text, passes)?;
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        return fs::write(path, blessed(&text, &output)).map_err(|e| e.to_string());
    }
    compare(split(&text).1, &output)
}

/// The module with its header, and the expected output if there is one.
fn split(text: &str) -> (&str, Option<&str>) {
    let marker = "\n; expect\n";
    match text.find(marker) {
        Some(at) => (&text[..=at], Some(&text[at + marker.len()..])),
        None => (text.strip_suffix("\n; expect").unwrap_or(text), None),
    }
}

/// What the pass that a file asks for gives.
pub fn output(text: &str, passes: &[Pass]) -> Result<String, String> {
    let input = split(text).0;
    let header = input.lines().next().and_then(|l| l.strip_prefix("; test "));
    let mut words = header.ok_or("the first line is not `; test <pass>`")?.split_whitespace();
    let name = words.next().unwrap_or("");
    let Some(pass) = passes.iter().find(|p| p.name == name) else {
        let names: Vec<&str> = passes.iter().map(|p| p.name).collect();
        return Err(format!("there is no pass `{name}`; there are: {}", names.join(", ")));
    };
    let (module, linear) = parse_linear(input).map_err(|e| e.to_string())?;
    verify(&module).map_err(|e| format!("before the pass: {e}"))?;
    let args = words.map(String::from).collect();
    let mut case = Case { module, linear, args };
    let output = (pass.run)(&mut case);
    verify(&case.module).map_err(|e| format!("after the pass: {e}\n\n{}", case.text()))?;
    Ok(output)
}

/// The file with its expectation replaced.
pub fn blessed(text: &str, output: &str) -> String {
    format!("{}\n; expect\n{}\n", split(text).0.trim_end(), output.trim_end())
}

fn compare(expected: Option<&str>, output: &str) -> Result<(), String> {
    let expected = expected.ok_or("the file has no line `; expect`; run with BLESS=1 to write it")?;
    if expected.trim_end() == output.trim_end() {
        return Ok(());
    }
    let same = expected.lines().zip(output.lines()).take_while(|(a, b)| a == b).count();
    let wanted = expected.lines().nth(same).unwrap_or("(the end)");
    let got = output.lines().nth(same).unwrap_or("(the end)");
    Err(format!("line {} should be\n  {wanted}\nand is\n  {got}\n\nthe whole output:\n\n{output}", same + 1))
}
