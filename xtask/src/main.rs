//! Chores of this repository.

use std::process::ExitCode;
use xtask::{bench, fuzz, hunt, mutants, requirements, times};

const USAGE: &str = "usage: cargo xtask requirements [--missing] | times [--peer SLANGC] [--lines N,N..] [--functions N,N..] |
       hunt [--programs N] [--seed S] [--only laws|models|native|kernels] [--features A,B..] [--cpp EACH] | mutants [--only NAME] [--from N] [--jobs N] [--built] | fuzz STAGE [--seconds N] [--seed S] |
       bench [--peer SLANGC] [--only KERNEL] [--quick] | ulp | conform [--target cpp|shaders|gpu|cuda [--package DIR [--peer SLANGC]]] |
       conform --target cpp|cuda --only PATH

requirements   counts which numbered requirements are named by tests; --missing lists the others
times          how long checking and compiling takes, beside another compiler in the same run, and how that grows
               with the length of a program, or with its number of differentiable functions
hunt           tries random programs against the laws of derivatives, and others against a model of what they mean, on the
               interpreter and as C++; shows small ones that fail. It compares native code with the interpreter, too
mutants        changes one derivative rule at a time, and lists the changes that no test notices; --only takes those whose
               file or rule contains NAME, --from continues at a number of an earlier run, --jobs tries several at a time,
               --built takes the tests that an earlier run built
conform        builds every run test as C++ and compares it with the interpreter; shows all shaders to the validators of this machine;
               builds all as CUDA, by NVRTC and nvcc. With --target it does one of these, or runs all on a GPU; --package writes all that a machine with a GPU
               needs to compare the programs and to time the kernels; --only takes the programs whose path contains that
fuzz           takes random changes of the test programs through a stage (lex, preprocess, parse, check, lower, ir,
               whole) and keeps in target/fuzz what makes it fail; built with --release it sees more of them
bench          how fast gradients are: native code, our C++, adjoints written by hand, and another compiler's C++; --quick takes
               the build at hand and counts no instructions
ulp            how far elementary functions are from the exact results, over all of binary32";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = xtask::root();
    let done = match args[..] {
        ["requirements"] => Some(requirements::print(&root, false)),
        ["requirements", "--missing"] => Some(requirements::print(&root, true)),
        ["times", ref rest @ ..] => times_options(rest).map(|options| times::print(&root, &options)),
        ["conform"] => Some(conform(&["cpp", "shaders", "cuda", "gpu"], &[])),
        ["conform", "--target", target @ ("cpp" | "cuda" | "gpu" | "shaders")] => {
            Some(conform(&[target], &[]))
        }
        ["conform", "--target", target @ ("cpp" | "cuda"), "--only", part] => {
            Some(conform(&[target], &[("COTANGENT_CONFORM", part)]))
        }
        ["conform", "--target", "cuda", "--package", folder] => {
            Some(conform(&["cuda"], &[("COTANGENT_PACKAGE", folder)]))
        }
        ["conform", "--target", "cuda", "--package", folder, "--peer", peer] => {
            Some(conform(&["cuda"], &[("COTANGENT_PACKAGE", folder), ("COTANGENT_PEER", peer)]))
        }
        ["bench", ref rest @ ..] => bench::options(rest).map(|options| bench::print(&root, &options)),
        ["ulp"] => Some(ulp()),
        ["mutants", ref rest @ ..] => mutants::options(rest).map(|o| mutants::print(&root, &o)),
        ["hunt", ref rest @ ..] => hunt::options(rest).map(|o| hunt::print(&root, &o)),
        ["fuzz", stage, ref rest @ ..] => fuzz_options(stage, rest).map(|options| fuzz::run(&root, &options)),
        _ => None,
    };
    done.unwrap_or_else(|| {
        eprintln!("{USAGE}");
        ExitCode::from(2)
    })
}

fn times_options<'a>(mut args: &[&'a str]) -> Option<times::Options<'a>> {
    let mut options = times::Options::default();
    while let [name, value, rest @ ..] = args {
        match *name {
            "--peer" => options.peer = Some(value),
            "--lines" => options.lines = value.split(',').map(str::parse).collect::<Result<_, _>>().ok()?,
            "--functions" => {
                options.functions = value.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
            }
            _ => return None,
        }
        args = rest;
    }
    args.is_empty().then_some(options)
}

fn fuzz_options<'a>(stage: &'a str, mut args: &[&'a str]) -> Option<fuzz::Options<'a>> {
    let mut options = fuzz::Options { stage, seconds: 60, seed: 1 };
    while let [name, value, rest @ ..] = args {
        match *name {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            _ => return None,
        }
        args = rest;
    }
    args.is_empty().then_some(options)
}

/// The sample that the tests take, for all programs.
fn ulp() -> ExitCode {
    let mut command = std::process::Command::new("cargo");
    command
        .args(["test", "--release", "-p", "cotangent-maths", "--test", "accuracy", "--", "--nocapture"])
        .env("COTANGENT_ULP", "1")
        .current_dir(xtask::root());
    if command.status().is_ok_and(|s| s.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn conform(tests: &[&str], settings: &[(&str, &str)]) -> ExitCode {
    let mut command = std::process::Command::new("cargo");
    command
        .args(["test", "-p", "cotangent-cli"])
        .args(tests.iter().flat_map(|name| ["--test", name]))
        .args(["--", "--nocapture"])
        .env("COTANGENT_CONFORM", "1")
        .current_dir(xtask::root());
    for (name, value) in settings {
        // All but this one are paths.
        let value = match *name {
            "COTANGENT_CONFORM" => value.into(),
            _ => std::path::absolute(value).unwrap_or_default(),
        };
        command.env(name, value);
    }
    let status = command.status();
    if status.is_ok_and(|s| s.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
