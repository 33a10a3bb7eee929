//! The `cotangent` command: reads files, prints, exits. All else is in the library.

mod args;
mod commands;
mod loader;
mod output;
mod report;

use clap::Parser;
use std::process::ExitCode;

/// Deeply nested programs recurse deeply, up to [`cotangent::Limits::LARGE_STACK`]; this is address space, not memory.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    std::panic::set_hook(Box::new(report::internal_error));
    let work = std::thread::Builder::new().stack_size(STACK).spawn(move || commands::run(cli.command));
    match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(failure))) => failure.report(),
        Ok(Err(_)) | Err(_) => ExitCode::from(report::INTERNAL),
    }
}
