//! Output to stdout, stderr and files.

use crate::report::Failure;
use std::io::{ErrorKind, Write};

/// Prints `text`. A reader that has seen enough (`| head`) ends the command quietly.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// As [`print`], for what may be no text.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| Failure::Usage(format!("cannot print: {e}"))),
    }
}

/// Writes all of `content` to `path`, or leaves what was there. What is no plain file (a pipe, `/dev/null`) is written to and
/// not replaced.
pub fn write(path: &str, content: &[u8]) -> Result<(), Failure> {
    let special = std::fs::metadata(path).is_ok_and(|there| !there.is_file());
    let temporary = format!("{path}.partial");
    let written = match special {
        true => std::fs::write(path, content),
        false => std::fs::write(&temporary, content).and_then(|()| std::fs::rename(&temporary, path)),
    };
    written.map_err(|e| {
        // Remove the partial file, if there is one.
        let _ = std::fs::remove_file(&temporary);
        Failure::Usage(format!("cannot write `{path}`: {e}"))
    })
}
