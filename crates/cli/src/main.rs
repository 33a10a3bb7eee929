//! The `cotangent` command: reads files, prints, and exits. Everything else is in the library.

mod args;
mod commands;
mod output;
mod report;

use clap::Parser;
use std::process::ExitCode;

/// Deeply nested programs recurse deeply, up to [`cotangent::Limits::LARGE_STACK`]; this is address space, not memory.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    std::panic::set_hook(Box::new(report::internal_error));
    let work = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        grow_heap();
        commands::run(cli.command)
    });
    match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(failure))) => failure.report(),
        Ok(Err(_)) | Err(_) => ExitCode::from(report::INTERNAL),
    }
}

/// The allocator of glibc grows the heap of any thread but the first by a page at a time, with a system call each: a quarter
/// of the time that a small file takes. It keeps what was once there, and takes large blocks from the heap after one was freed.
/// Nothing is touched here, so no memory is used; other allocators do not mind.
fn grow_heap() {
    for size in [16 << 20, 12 << 20] {
        std::hint::black_box(Vec::<u8>::with_capacity(size));
    }
}
