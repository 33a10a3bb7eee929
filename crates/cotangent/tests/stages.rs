//! Stage snapshots: the functions in `tests/stages`, each shown after every pass in the `.stages` file beside it.
//!
//! ```text
//! //stages: f backward
//! ```
//!
//! `BLESS=1` rewrites the snapshots. They are read, not trusted: the numbers of these functions are checked in `tests/grad`.

use cotangent::ir::Mode;
use cotangent::pipeline::table;
use cotangent::{Request, Roots, Session, Symbol, Texts};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stages");
    let entries = std::fs::read_dir(&root).into_iter().flatten().flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "slang")).collect();
    assert!(!files.is_empty(), "no programs in {}", root.display());
    files.sort();
    let trial = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path).map_err(Failed::from))
    };
    libtest_mimic::run(&arguments, files.into_iter().map(trial).collect()).exit()
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let header =
        text.lines().find_map(|l| l.strip_prefix("//stages:")).ok_or("no line begins with //stages:")?;
    let [function, mode] = header.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err("write //stages: FUNCTION forward|backward".into());
    };
    let mode = if mode == "forward" { Mode::Forward } else { Mode::Backward };
    let shown = snapshot(&text, function, mode)?;
    let golden = path.with_extension("stages");
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        return std::fs::write(golden, shown).map_err(|e| e.to_string());
    }
    let expected = std::fs::read_to_string(golden).unwrap_or_default();
    if expected == shown { Ok(()) } else { Err(format!("the stages are now\n\n{shown}")) }
}

/// Whether snapshots show the code after the pass.
fn is_stage(pass: &str) -> bool {
    pass == "finish" || cotangent_autodiff::stages::PASSES.iter().any(|stage| stage.name == pass)
}

/// The listing after every pass within `autodiff`, and what is left in the end.
fn snapshot(text: &str, function: &str, mode: Mode) -> Result<String, String> {
    let files = [("program.slang", text)];
    let mut request = Request::new("program.slang");
    let stages = table().into_iter().filter(|entry| is_stage(entry.pass.name));
    request.watch.list_after(stages.map(|entry| entry.pass.name));
    let roots = Roots::Derivatives { func: Symbol::new(function), modes: vec![mode] };
    let compiled = Session::new(Texts::new(files)).program(&request).compile(roots);
    let watch = compiled.watch.clone();
    compiled.accept().map_err(|rejected| rejected.complaints)?;
    let mut shown = String::new();
    let mut last = "";
    for (pass, text) in watch.listings() {
        if *pass != last {
            shown += &format!("==== after {pass}\n\n");
            last = pass;
        }
        shown += text.trim_end();
        shown += "\n\n";
    }
    Ok(shown.trim_end().to_string() + "\n")
}
