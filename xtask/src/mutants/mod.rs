//! Changes one derivative rule at a time and asks whether a test notices.
//!
//! A change flips a sign, drops an operand or a step, or decides otherwise. Those in Rust are listed in `sites.txt`; those in the
//! library are found: of each rule `name_t`, the result is negated, and each tangent is dropped in turn.
//!
//! Compiling once per change would take hours. So the tree is copied, every site gets all its changes at once behind a
//! switch that an environment variable sets, and the library is read from a folder; then the tests are built once and run
//! per change. First come the gradient laws; what survives meets the tests of `autodiff`, of what is kept, the programs, and
//! the hunt.

mod library;
mod sites;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A change, and how to switch it on.
struct Mutant {
    /// What is changed, for people.
    what: String,
    /// Its number among the switches, or the folder of a changed library.
    switch: Switch,
}

enum Switch {
    Number(usize),
    Library(PathBuf),
}

/// The variable that chooses a change.
const NUMBER: &str = "COTANGENT_MUTANT";
/// The variable that says where the library is.
const LIBRARY: &str = "COTANGENT_STD";

/// The tests, fastest first: package, test, and arguments.
const TESTS: &[(&str, &str, &[&str])] = &[
    ("cotangent", "laws", &[]),
    ("cotangent-autodiff", "numbers", &[]),
    ("cotangent-autodiff", "filetests", &[]),
    ("cotangent-autodiff", "reverse", &[]),
    ("cotangent-autodiff", "cost", &[]),
    ("cotangent", "contexts", &[]),
    ("cotangent-cli", "run", &[]),
    ("cotangent-hunt", "hunt", &[]),
];

/// How long a test may take. A change may well make a loop endless.
const LIMIT: Duration = Duration::from_secs(300);

/// Makes the changes, runs the tests for those in files whose path contains `only`, and prints what survived and the score.
pub fn print(root: &Path, only: &str) -> ExitCode {
    let copy = root.join("target/mutants");
    match prepare(root, &copy).and_then(|mutants| Ok((mutants, build(root, &copy)?))) {
        Ok((mut mutants, tests)) => {
            mutants.retain(|mutant| mutant.what.split(": ").next().is_some_and(|file| file.contains(only)));
            score(&copy, &mutants, &tests)
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Copies the tree and puts all changes into it.
fn prepare(root: &Path, copy: &Path) -> Result<Vec<Mutant>, String> {
    let _ = std::fs::remove_dir_all(copy);
    let kept =
        ["Cargo.toml", "Cargo.lock", "crates", "std", "tests", "xtask", "examples", "bench", "README.md"];
    std::fs::create_dir_all(copy).map_err(|e| e.to_string())?;
    for name in kept {
        let copied = Command::new("cp").arg("-r").arg(root.join(name)).arg(copy).status();
        copied.map_err(|e| e.to_string())?;
    }
    let mut mutants = sites::apply(copy)?;
    mutants.extend(library::make(copy)?);
    Ok(mutants)
}

/// Builds the tests in the copy; gives the executable of each.
fn build(root: &Path, copy: &Path) -> Result<Vec<PathBuf>, String> {
    // Cargo takes a copy of a workspace for the workspace itself, so the two must not share a folder.
    let target = root.join("target/mutants-build");
    let mut executables = Vec::new();
    for (package, test, _) in TESTS {
        let mut command = Command::new("cargo");
        command.args(["test", "--no-run", "-p", package, "--test", test]);
        command.env("CARGO_TARGET_DIR", &target).current_dir(copy);
        let output = command.output().map_err(|e| e.to_string())?;
        let told = String::from_utf8_lossy(&output.stderr).to_string();
        let line = told.lines().rev().find_map(|line| line.trim().strip_prefix("Executable "));
        let path = line.and_then(|line| line.rsplit_once('(')).map(|(_, path)| path.trim_end_matches(')'));
        let path = path.ok_or_else(|| format!("{package} {test} could not be built\n{told}"))?;
        executables.push(copy.join(path));
    }
    Ok(executables)
}

fn score(copy: &Path, mutants: &[Mutant], tests: &[PathBuf]) -> ExitCode {
    let unchanged = Mutant { what: "nothing".into(), switch: Switch::Number(0) };
    if let Some(test) = killer(copy, &unchanged, tests) {
        eprintln!("{test} fails with nothing changed");
        return ExitCode::FAILURE;
    }
    let mut survivors = 0;
    for mutant in mutants {
        match killer(copy, mutant, tests) {
            Some(test) => println!("{test:<10} {}", mutant.what),
            None => {
                survivors += 1;
                println!("SURVIVED   {}", mutant.what);
            }
        }
    }
    println!("{} of {} changes noticed", mutants.len() - survivors, mutants.len());
    if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first test that notices a change.
fn killer(copy: &Path, mutant: &Mutant, tests: &[PathBuf]) -> Option<&'static str> {
    let all = TESTS.iter().zip(tests);
    all.filter(|((package, _, args), test)| !passes(copy, package, mutant, test, args))
        .map(|((_, name, _), _)| *name)
        .next()
}

fn passes(copy: &Path, package: &str, mutant: &Mutant, test: &Path, args: &[&str]) -> bool {
    let folder = copy.join("crates").join(package.strip_prefix("cotangent-").unwrap_or(package));
    let mut command = Command::new(test);
    command.args(args).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.env(LIBRARY, copy);
    match &mutant.switch {
        Switch::Number(number) => command.env(NUMBER, number.to_string()),
        Switch::Library(folder) => command.env(LIBRARY, folder),
    };
    let Ok(mut child) = command.spawn() else { return false };
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}
