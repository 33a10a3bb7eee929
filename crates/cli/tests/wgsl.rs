//! Every program of `tests/run` and `tests/grad` is emitted as WGSL, which naga's validator checks, or refused because
//! WGSL cannot express it.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use support::{cotangent, folder, programs};

fn main() {
    let arguments = Arguments::from_args();
    let root = folder("");
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        Trial::test(name, move || check(&path).map_err(Failed::from))
    };
    let all = ["run", "grad"].iter().flat_map(|name| programs(&folder(name)));
    libtest_mimic::run(&arguments, all.map(trial).collect()).exit()
}

fn check(path: &Path) -> Result<(), String> {
    let output = cotangent(&["compile".into(), path.display().to_string(), "--target".into(), "wgsl".into()]);
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) if !output.stdout.is_empty() => Ok(()),
        Some(1) if said.contains("E0761") => Ok(()),
        code => Err(format!("exit code {code:?}\n{said}")),
    }
}
