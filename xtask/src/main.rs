//! Chores of this repository.

use std::process::ExitCode;
use xtask::{hunt, mutants, requirements, times};

const USAGE: &str =
    "usage: cargo xtask requirements [--missing] | times [--peer SLANGC] | hunt [--programs N] [--seed S] | mutants | conform

requirements   counts which numbered requirements are named by tests; --missing lists the others
times          how long checking and compiling takes, beside another compiler in the same run
hunt           tries random programs against the laws of derivatives, and shows small ones that break one
mutants        changes one derivative rule at a time, and says which changes no test notices
conform        builds every run test as C++ and compares it with the interpreter";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["requirements"] => requirements::print(&xtask::root(), false),
        ["requirements", "--missing"] => requirements::print(&xtask::root(), true),
        ["times"] => times::print(&xtask::root(), None),
        ["times", "--peer", peer] => times::print(&xtask::root(), Some(peer)),
        ["conform"] => conform(),
        ["mutants"] => mutants::print(&xtask::root()),
        ["hunt", ref rest @ ..] => match hunt::options(rest) {
            Some(options) => hunt::print(options),
            None => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The sample that the tests take, for all programs.
fn conform() -> ExitCode {
    let status = std::process::Command::new("cargo")
        .args(["test", "-p", "cotangent-cli", "--test", "cpp", "--", "--nocapture"])
        .env("COTANGENT_CONFORM", "1")
        .current_dir(xtask::root())
        .status();
    if status.is_ok_and(|s| s.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
