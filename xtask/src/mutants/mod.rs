//! Changes one derivative rule at a time and asks whether a test notices.
//!
//! A change flips a sign, drops an operand or a step, or decides otherwise. Those in Rust are listed in `sites.txt`; those in the
//! library are found: of each rule `name_t`, the result is negated, and each tangent is dropped in turn.
//!
//! Compiling once per change would take hours. So the tree is copied, an environment variable selects among the changes of
//! every site, and the library is read from a folder. The tests are built once and run per change, the fastest first, and only
//! those that can notice it. How long a test program may take is measured with nothing changed. A test program is stopped as soon
//! as one of its tests has failed. Several changes can be tried at a time, on a machine without cargo too, once the tests are built.

mod library;
mod sites;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// A test program.
struct Test {
    package: &'static str,
    name: &'static str,
    /// Whether it sees changes of the library.
    library: bool,
    /// Whether it sees changes in Rust.
    rust: bool,
}

/// The tests that may notice a change.
const TESTS: &[Test] = &[
    Test { package: "cotangent-autodiff", name: "filetests", library: false, rust: true },
    Test { package: "cotangent-autodiff", name: "numbers", library: false, rust: true },
    Test { package: "cotangent-autodiff", name: "reverse", library: false, rust: true },
    Test { package: "cotangent-autodiff", name: "cost", library: false, rust: true },
    Test { package: "cotangent", name: "contexts", library: false, rust: true },
    Test { package: "cotangent", name: "laws", library: true, rust: true },
    Test { package: "cotangent", name: "library", library: true, rust: false },
    Test { package: "cotangent-hunt", name: "hunt", library: true, rust: true },
    Test { package: "cotangent-cli", name: "run", library: true, rust: true },
];

/// How many times as long a test program may take with a change as without. A change may well make a loop endless.
const SLOWER: u32 = 4;
/// How long a test program may always take, since how busy a machine is changes.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a test program may take with nothing changed.
const LONGEST: Duration = Duration::from_secs(3600);

/// Which changes are tried, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Those in files and rules whose name contains this.
    pub only: String,
    /// Those from this number on, to continue a run that was stopped.
    pub from: usize,
    /// How many are tried at a time.
    pub jobs: usize,
    /// Whether the tests that an earlier run built are taken.
    pub built: bool,
}

/// Reads `--only NAME --from N --jobs N --built`, in any order.
pub fn options(mut args: &[&str]) -> Option<Options> {
    let mut options = Options { only: String::new(), from: 0, jobs: 1, built: false };
    loop {
        args = match *args {
            [] => return Some(options),
            ["--built", ref rest @ ..] => {
                options.built = true;
                rest
            }
            [name, value, ref rest @ ..] => {
                match name {
                    "--only" => options.only = value.to_string(),
                    "--from" => options.from = value.parse().ok()?,
                    "--jobs" => options.jobs = value.parse().ok().filter(|jobs| *jobs > 0)?,
                    _ => return None,
                }
                rest
            }
            _ => return None,
        }
    }
}

/// Makes the changes, runs the tests for those that `options` names, and prints what survived and the score.
pub fn print(root: &Path, options: &Options) -> ExitCode {
    let copy = root.join("target/mutants");
    match prepare(root, &copy).and_then(|mutants| Ok((mutants, build(root, &copy, options.built)?))) {
        Ok((mutants, tests)) => {
            let named =
                |mutant: &Mutant| mutant.what.split(": ").next().is_some_and(|n| n.contains(&options.only));
            let chosen = mutants.iter().enumerate().map(|(i, mutant)| (i + 1, mutant));
            let chosen = chosen.filter(|(number, mutant)| *number >= options.from && named(mutant));
            score(&copy, &chosen.collect::<Vec<_>>(), &tests, options.jobs)
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
    std::fs::create_dir_all(copy).map_err(|e| e.to_string())?;
    for entry in std::fs::read_dir(root).map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name();
        if name != "target" && !name.to_string_lossy().starts_with('.') {
            let copied = Command::new("cp").arg("-r").arg(entry.path()).arg(copy).status();
            copied.map_err(|e| e.to_string())?;
        }
    }
    let mut mutants = sites::apply(copy)?;
    mutants.extend(library::make(copy)?);
    Ok(mutants)
}

/// Builds the tests in the copy, unless an earlier run did; gives the executable of each.
fn build(root: &Path, copy: &Path, built: bool) -> Result<Vec<PathBuf>, String> {
    // Cargo takes a copy of a workspace for the workspace itself, so the two must not share a folder.
    let target = root.join("target/mutants-build");
    let list = target.join("tests.txt");
    if built {
        let text = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
        return Ok(text.lines().map(PathBuf::from).collect());
    }
    let mut executables = Vec::new();
    for Test { package, name: test, .. } in TESTS {
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
    let names: String = executables.iter().map(|path| format!("{}\n", path.display())).collect();
    std::fs::write(&list, names).map_err(|e| e.to_string())?;
    Ok(executables)
}

/// A test program that was built.
struct Built<'t> {
    test: &'t Test,
    executable: &'t Path,
    /// How long it may take.
    limit: Duration,
}

fn score(copy: &Path, mutants: &[(usize, &Mutant)], executables: &[PathBuf], jobs: usize) -> ExitCode {
    let unchanged = Mutant { what: "nothing".into(), switch: Switch::Number(0) };
    let mut tests: Vec<Built<'_>> = TESTS
        .iter()
        .zip(executables)
        .map(|(test, executable)| Built { test, executable, limit: LONGEST })
        .collect();
    for built in &mut tests {
        let start = Instant::now();
        if !passes(copy, built, &unchanged) {
            eprintln!("{} fails with nothing changed", built.test.name);
            return ExitCode::FAILURE;
        }
        let elapsed = start.elapsed();
        println!("{:<10} takes {:.1} s with nothing changed", built.test.name, elapsed.as_secs_f64());
        built.limit = elapsed * SLOWER + PATIENCE;
    }
    // The fastest first.
    tests.sort_by_key(|built| built.limit);
    let start = Instant::now();
    let (next, survivors) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((number, mutant)) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let killer = killer(copy, mutant, &tests);
            survivors.fetch_add(usize::from(killer.is_none()), Ordering::Relaxed);
            let (seconds, name) = (begun.elapsed().as_secs_f64(), killer.unwrap_or("SURVIVED"));
            println!("{number:>4} {name:<10} {seconds:6.1} s {}", mutant.what);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    let survivors = survivors.into_inner();
    println!(
        "{} of {} changes noticed in {} s",
        mutants.len() - survivors,
        mutants.len(),
        start.elapsed().as_secs()
    );
    if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first test that notices a change.
fn killer(copy: &Path, mutant: &Mutant, tests: &[Built<'_>]) -> Option<&'static str> {
    let sees = |test: &Test| match mutant.switch {
        Switch::Number(_) => test.rust,
        Switch::Library(_) => test.library,
    };
    let mut all = tests.iter().filter(|built| sees(built.test));
    all.find(|built| !passes(copy, built, mutant)).map(|built| built.test.name)
}

fn passes(copy: &Path, built: &Built<'_>, mutant: &Mutant) -> bool {
    let package = built.test.package;
    let folder = copy.join("crates").join(package.strip_prefix("cotangent-").unwrap_or(package));
    let mut command = Command::new(built.executable);
    command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null());
    // C++ is not needed to notice a wrong derivative, and building it takes longer than everything else.
    command.env(LIBRARY, copy).env("CXX", "none");
    match &mutant.switch {
        Switch::Number(number) => command.env(NUMBER, number.to_string()),
        Switch::Library(folder) => command.env(LIBRARY, folder),
    };
    let Ok(mut child) = command.spawn() else { return false };
    let failed = Arc::new(AtomicBool::new(false));
    let reader = child.stdout.take().map(|out| watch(out, failed.clone()));
    let start = Instant::now();
    let passed = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if failed.load(Ordering::Relaxed) || start.elapsed() > built.limit => break false,
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => break false,
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    reader.into_iter().for_each(|reader| drop(reader.join()));
    passed
}

/// Notes when a line says that a test has failed.
fn watch(out: ChildStdout, failed: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if line.starts_with("test ") && line.ends_with("FAILED") {
                failed.store(true, Ordering::Relaxed);
            }
        }
    })
}
