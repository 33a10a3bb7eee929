//! What the tests of programs share: finding files, reading their headers, running the command.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod expect;
pub mod folder;
mod header;
pub mod image;
pub mod lists;
pub mod run_header;
pub mod validators;

pub use header::{header, words};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of the repository's `tests`.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

/// All `.slang` files below a folder, in order. None is an error: a test that cannot be found must not pass.
pub fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    assert!(!found.is_empty(), "no programs in {}", folder.display());
    found.sort();
    found
}

/// The run tests that a test builds elsewhere: every so manieth and those with tensors, which other systems' programs use; with
/// `COTANGENT_CONFORM` all, or those whose path contains what it says beyond `1`. Says whether that was set.
pub fn sample(every: usize) -> (Vec<PathBuf>, bool) {
    let asked = std::env::var("COTANGENT_CONFORM").ok();
    let part = asked.as_deref().filter(|asked| *asked != "1").unwrap_or_default();
    let found = programs(&folder("run")).into_iter().filter(|path| path.to_string_lossy().contains(part));
    let is_always = |path: &Path| {
        let folder = path.parent().and_then(Path::file_name);
        folder.is_some_and(|folder| folder == "tensors" || folder == "slangpy")
    };
    let taken =
        found.enumerate().filter(|(number, path)| asked.is_some() || number % every == 0 || is_always(path));
    (taken.map(|(_, path)| path).collect(), asked.is_some())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|n| n != "modules") {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "slang") {
            found.push(path);
        }
    }
}

/// Runs `cotangent`.
pub fn cotangent(args: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cotangent")).args(args).output().expect("the command starts")
}

/// Whether expectations are to be rewritten.
pub fn bless() -> bool {
    std::env::var_os("BLESS").is_some_and(|v| v == "1")
}
