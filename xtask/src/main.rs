//! Chores of this repository.

use std::process::ExitCode;
use xtask::{requirements, times};

const USAGE: &str = "usage: cargo xtask requirements [--missing] | times [--peer SLANGC]

requirements   counts which numbered requirements are named by tests; --missing lists the others
times          how long checking and compiling takes, beside another compiler in the same run";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["requirements"] => requirements::print(&xtask::root(), false),
        ["requirements", "--missing"] => requirements::print(&xtask::root(), true),
        ["times"] => times::print(&xtask::root(), None),
        ["times", "--peer", peer] => times::print(&xtask::root(), Some(peer)),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
