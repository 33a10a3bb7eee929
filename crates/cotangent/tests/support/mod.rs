//! Runs a test for each program in `tests/grad`.

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

/// Runs `check` on each program, as a test of its own.
pub fn each_law(check: fn(&Path) -> Result<(), String>) -> ! {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/grad");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(!files.is_empty(), "no programs in {}", root.display());
    files.sort();
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        Trial::test(name, move || check(&path).map_err(Failed::from))
    };
    libtest_mimic::run(&arguments, files.into_iter().map(trial).collect()).exit()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "slang") {
            found.push(path);
        }
    }
}
