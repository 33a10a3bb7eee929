//! Chores of this repository: `cargo xtask requirements`.

use std::process::ExitCode;
use xtask::requirements;

const USAGE: &str = "usage: cargo xtask requirements [--missing]

requirements   counts which numbered requirements are named by tests; --missing lists the others";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["requirements"] => requirements::print(&xtask::root(), false),
        ["requirements", "--missing"] => requirements::print(&xtask::root(), true),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
