//! Keeps what drivers print out of the user's sight.
//!
//! Loaders and drivers of graphics processors write to the standard error as they please: without a session of a window system, a
//! layer of Mesa complains twice that `XDG_RUNTIME_DIR` is not set, though nobody wants a window. Nothing but an environment
//! variable would silence it, and setting one is not safe while other threads run. So the standard error leads into a pipe while
//! devices are looked for, and what was written there is shown only if that fails: then it may say why.
//!
//! Somebody who sets `VK_LOADER_DEBUG` wants to see it all.

use std::io::{Read, Write};

/// Does something with a driver. What the driver prints meanwhile is kept, and shown if it fails.
pub fn quietly<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let held = if std::env::var_os("VK_LOADER_DEBUG").is_some() { None } else { Held::new() };
    let result = work();
    let said = held.map(Held::release).unwrap_or_default();
    if result.is_err() {
        for line in String::from_utf8_lossy(&said).lines().filter(|line| !line.contains(WINDOWS)) {
            // That nobody listens is no reason to fail.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
    result
}

/// What a line is about that has nothing to do with us.
const WINDOWS: &str = "XDG_RUNTIME_DIR";

/// The standard error while it leads elsewhere.
#[cfg(unix)]
struct Held {
    /// Where it led before.
    before: std::os::fd::OwnedFd,
    /// Reads the other end of the pipe, so that it never fills.
    reader: std::thread::JoinHandle<Vec<u8>>,
}

#[cfg(unix)]
impl Held {
    /// None if the system does not let us.
    fn new() -> Option<Self> {
        use std::os::fd::AsFd;
        let before = std::io::stderr().as_fd().try_clone_to_owned().ok()?;
        let (mut from, to) = std::io::pipe().ok()?;
        rustix::stdio::dup2_stderr(&to).ok()?;
        // From here on the standard error is the only way into the pipe.
        drop(to);
        let reader = std::thread::spawn(move || {
            let mut said = vec![];
            // What was read before an error is something, too.
            let _ = from.read_to_end(&mut said);
            said
        });
        Some(Held { before, reader })
    }

    /// Lets it lead where it did, and gives what was written meanwhile.
    fn release(self) -> Vec<u8> {
        match rustix::stdio::dup2_stderr(&self.before) {
            Ok(()) => self.reader.join().unwrap_or_default(),
            // The pipe stays open: nobody would ever be done reading it.
            Err(_) => vec![],
        }
    }
}

/// Elsewhere drivers say what they want.
#[cfg(not(unix))]
struct Held;

#[cfg(not(unix))]
impl Held {
    fn new() -> Option<Self> {
        None
    }

    fn release(self) -> Vec<u8> {
        vec![]
    }
}
