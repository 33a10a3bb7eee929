//! Programs in `tests/run`, run natively and compared with the interpreter: every byte that they write, what they print, and where
//! and why they stop. Those that native code refuses are in `refused.txt`, with the reason: an exact list, which `BLESS=1` rewrites.
//!
//! There are two tests. `native` runs them as users do. `lanes` runs them thread by thread and in lanes; groups of fewer threads than
//! lanes get more, on the interpreter as well.

use cotangent::runtime::{Backend, Data, Failure, Launch, Params, Runner};
use cotangent::{Disk, Lowered, interp, ir};
use cotangent_jit::{LaneChoice, Limits, Native, Options, Program, Stopped};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[path = "../../cli/tests/support/header.rs"]
mod header;
#[path = "../../cli/tests/support/run_header.rs"]
mod run_header;

use header::{header, words};
use run_header::RunHeader;

/// How many threads run side by side.
const LANES: u32 = 8;

fn main() {
    // All programs are one test, since the list of those that are refused is one. Names select some of them.
    let is_given = |option: &str| std::env::args().any(|arg| arg == option);
    if is_given("--list") {
        if !is_given("--ignored") {
            println!("native: test\nlanes: test");
        }
        return;
    }
    if std::env::args().any(|arg| arg == "lanes") {
        return lanes();
    }
    let part = std::env::args().skip(1).find(|arg| !arg.starts_with('-') && arg != "native");
    let root = tests().join("run");
    let mut paths = Vec::new();
    programs(&root, &mut paths);
    paths.sort();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused.txt");
    let listed = list(&file);
    let (mut refused, mut wrong, mut passed) = (BTreeMap::new(), String::new(), 0);
    for path in &paths {
        let name = path.strip_prefix(&root).unwrap_or(path).with_extension("").display().to_string();
        if part.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        match check(path) {
            Ok(None) if listed.contains_key(&name) && !bless() => {
                wrong += &format!("{name} is listed in refused.txt, and not refused\n");
            }
            Ok(None) => passed += 1,
            Ok(Some(why)) => {
                if listed.get(&name) != Some(&why) && !bless() {
                    wrong += &format!("{name} is refused, and not as refused.txt says: {why}\n");
                }
                refused.insert(name, why);
            }
            Err(error) => wrong += &format!("{name}: {error}\n"),
        }
    }
    println!("{passed} programs agree, {} are refused", refused.len());
    if bless() && part.is_none() {
        let head = "# Programs of tests/run that native code refuses, and why; see run.rs.\n".to_string();
        let lines: String = refused.iter().map(|(name, why)| format!("{name}: {why}\n")).collect();
        std::fs::write(file, head + &lines).expect("the list can be written");
    }
    if !wrong.is_empty() {
        eprintln!("{wrong}");
        std::process::exit(1);
    }
}

/// Compares all programs that can run in lanes.
fn lanes() {
    let part = std::env::args().skip(1).find(|arg| !arg.starts_with('-') && arg != "lanes");
    let root = tests().join("run");
    let mut paths = Vec::new();
    programs(&root, &mut paths);
    paths.sort();
    let (mut wrong, mut agree, mut reasons) = (String::new(), 0, BTreeMap::<String, u32>::new());
    for path in &paths {
        let name = path.strip_prefix(&root).unwrap_or(path).with_extension("").display().to_string();
        if part.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        match check_lanes(path) {
            Ok(None) => agree += 1,
            // Cranelift takes whatever is not refused before.
            Ok(Some(why)) if why.contains("Cranelift") => wrong += &format!("{name}: {why}\n"),
            Ok(Some(why)) => *reasons.entry(why).or_default() += 1,
            Err(error) => wrong += &format!("{name}: {error}\n"),
        }
    }
    println!("{agree} programs agree in lanes; those that do not run in lanes:");
    reasons.iter().for_each(|(why, count)| println!("{count:>5} {why}"));
    if !wrong.is_empty() {
        eprintln!("{wrong}");
        std::process::exit(1);
    }
}

/// Compares a program with the interpreter, thread by thread and in lanes, or says why it does not run in lanes.
fn check_lanes(path: &Path) -> Result<Option<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let asked = RunHeader::of(&text)?;
    let disk = Disk::new(path.ancestors().nth(2).map(Path::to_path_buf).into_iter().collect());
    let compiled = asked.program(path, disk).compile(asked.roots());
    let lowered = compiled.result.map_err(|_| "it does not compile")?;
    let mut lowered = Lowered::clone(&lowered);
    let entry = lowered.entries[0];
    let Some(info) = &mut lowered.module.funcs[entry].entry else {
        return Err("it is no entry point".into());
    };
    if info.threads.iter().product::<u32>() < LANES {
        info.threads = [LANES, 1, 1];
    }
    let compile = |lanes| Program::compile(&lowered.module, entry, Options { lanes, ..Options::default() });
    let in_lanes = match compile(LaneChoice::Always) {
        Ok(program) => program,
        Err(refused) => return Ok(Some(refused.what)),
    };
    if let Some(why) = in_lanes.no_lanes() {
        return Ok(Some(why.what.clone()));
    }
    let one_by_one = compile(LaneChoice::Never).map_err(|refused| refused.what)?;
    let given = params(&lowered, &asked).map_err(|failure| failure.to_string())?;
    let expected =
        ran(interp::Interpreter::default(), &lowered, &asked).map_err(|failure| failure.to_string())?;
    for program in [one_by_one, in_lanes] {
        let mut memory: Vec<(ir::Global, Vec<u8>)> =
            given.iter().map(|(_, global, _, bytes)| (global, bytes.to_vec())).collect();
        let mut bound: Vec<(ir::Global, &mut [u8])> =
            memory.iter_mut().map(|(global, bytes)| (*global, &mut bytes[..])).collect();
        let groups = asked.groups.unwrap_or([1; 3]);
        let ended = program.launch(&mut bound, groups, Limits::default(), &mut String::new());
        match (&expected.ended, ended) {
            (Ok(()), Ok(())) => {
                for ((name, _, _, a), (_, b)) in expected.params.iter().zip(&memory) {
                    if a != b {
                        return Err(format!("`{name}` differs in {} lanes", program.lanes()));
                    }
                }
            }
            (Err(a), Err(b)) => same_stop(a, &b)?,
            (a, b) => return Err(format!("{a:?} is not, in {} lanes, {b:?}", program.lanes())),
        }
    }
    Ok(None)
}

/// What came of a run.
struct Ran {
    ended: Result<(), Stopped>,
    printed: String,
    params: Params,
}

/// Compares a program with the interpreter, or says why it is refused.
fn check(path: &Path) -> Result<Option<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let asked = RunHeader::of(&text)?;
    let disk = Disk::new(path.ancestors().nth(2).map(Path::to_path_buf).into_iter().collect());
    let compiled = asked.program(path, disk).compile(asked.roots());
    let lowered = compiled.result.map_err(|_| "it does not compile")?;
    let expected =
        ran(interp::Interpreter::default(), &lowered, &asked).map_err(|failure| failure.to_string())?;
    // On one core threads run in the same order.
    let found = match ran(Native::new(Limits::default()), &lowered, &asked) {
        Ok(found) => found,
        Err(Failure::Refused(refusal)) => return Ok(Some(refusal.message)),
        Err(failure) => return Err(failure.to_string()),
    };
    match (&expected.ended, &found.ended) {
        (Ok(()), Ok(())) => same_bytes(&expected.params, &found.params)?,
        (Err(a), Err(b)) => same_stop(a, b)?,
        (Ok(()), Err(stopped)) => return Err(format!("native code stopped: {stopped:?}")),
        (Err(stopped), Ok(())) => return Err(format!("the interpreter stopped: {stopped:?}")),
    }
    if expected.printed != found.printed {
        let (said, printed) = (expected.printed, found.printed);
        return Err(format!("the interpreter printed\n{said}\nand native code\n{printed}"));
    }
    Ok(None)
}

fn params(lowered: &Lowered, asked: &RunHeader) -> Result<Params, Failure> {
    let mut params = Params::new(&lowered.module);
    for (name, data) in &asked.set {
        if params.find(name).is_ok() || matches!(data, Data::Tensor(..)) {
            params.set(name, data)?;
        }
    }
    Ok(params)
}

fn ran<B: Backend>(backend: B, lowered: &Lowered, asked: &RunHeader) -> Result<Ran, Failure> {
    let params = params(lowered, asked)?;
    let mut runner = Runner::with_params(Arc::new(backend), cotangent::compiled(lowered), params)?;
    let groups = asked.groups.unwrap_or([1; 3]);
    let launched = runner.launch_id(lowered.entries[0], groups, Launch::default())?;
    runner.download()?;
    Ok(Ran { ended: launched.ended, printed: launched.printed, params: runner.params })
}

fn same_bytes(expected: &Params, found: &Params) -> Result<(), String> {
    for ((name, _, _, a), (_, _, _, b)) in expected.iter().zip(found.iter()) {
        if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
            let word = |bytes: &[u8]| bytes[at / 4 * 4..].iter().take(4).copied().collect::<Vec<u8>>();
            let float = |bytes: &[u8]| <[u8; 4]>::try_from(&word(bytes)[..]).map_or(0.0, f32::from_le_bytes);
            return Err(format!(
                "`{name}` differs at byte {at}: {:x?} ({}), not {:x?} ({})",
                word(b),
                float(b),
                word(a),
                float(a)
            ));
        }
    }
    Ok(())
}

fn same_stop(a: &Stopped, b: &Stopped) -> Result<(), String> {
    let mut b = b.clone();
    // A recursion without end is cut off somewhere.
    if a.trap == ir::Trap::CallDepth {
        b.calls = a.calls.clone();
    }
    if *a == b {
        return Ok(());
    }
    Err(format!("the interpreter stopped with\n{a:?}\nand native code with\n{b:?}"))
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|n| n != "modules") {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "slang") {
            found.push(path);
        }
    }
}

fn list(file: &Path) -> BTreeMap<String, String> {
    let list = std::fs::read_to_string(file).unwrap_or_default();
    let entry = |line: &str| line.split_once(": ").map(|(name, why)| (name.to_string(), why.to_string()));
    list.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect()
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some_and(|v| v == "1")
}
