//! Suppresses the stderr output of drivers.
//!
//! GPU loaders and drivers print to stderr: without a window system, a Mesa layer complains twice that `XDG_RUNTIME_DIR` is
//! not set. Only an environment variable would silence it, and setting one is not safe while other threads run. So stderr is
//! redirected to a pipe while devices are enumerated. The captured output is printed only if the enumeration fails or panics,
//! since it may contain the reason.
//!
//! A thread drains the pipe, so that it never fills. It ends when all writers have closed the pipe, which may never happen: a
//! driver may have copied the descriptor, or started a process that holds it. So the main thread waits only a moment. The
//! reader then continues, since a process that writes to a pipe without a reader may be killed.
//!
//! If `VK_LOADER_DEBUG` is set, nothing is suppressed.

use std::io::Write;

/// Does something with a driver. What the driver prints meanwhile is kept, and shown if it fails.
pub fn quietly<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let held = if std::env::var_os("VK_LOADER_DEBUG").is_some() { None } else { Held::new() };
    held_while(held, work)
}

fn held_while<T, E>(held: Option<Held>, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let result = work();
    let said = held.map(Held::release).unwrap_or_default();
    if result.is_err() {
        show(&said);
    }
    result
}

/// Shows what was said, but for what nobody wants to know.
fn show(said: &[u8]) {
    for line in String::from_utf8_lossy(said).lines().filter(|line| !line.contains(WINDOWS)) {
        // That nobody listens is no reason to fail.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// What a line is about that has nothing to do with us.
const WINDOWS: &str = "XDG_RUNTIME_DIR";

#[cfg(unix)]
use led_elsewhere::Held;

#[cfg(unix)]
mod led_elsewhere {
    use std::io::Read;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    /// How long is waited for what is still in the pipe if others can write there.
    const MOMENT: Duration = Duration::from_millis(100);

    /// The standard error while it leads elsewhere.
    pub struct Held {
        /// Where it led before; none once it leads there again.
        before: Option<OwnedFd>,
        /// What the thread has read.
        said: Receiver<Vec<u8>>,
    }

    impl Held {
        /// None if the system does not let us.
        pub fn new() -> Option<Self> {
            let before = std::io::stderr().as_fd().try_clone_to_owned().ok()?;
            let (from, to) = std::io::pipe().ok()?;
            let (send, said) = channel();
            std::thread::Builder::new().spawn(move || read(from, &send)).ok()?;
            rustix::stdio::dup2_stderr(&to).ok()?;
            // Here our other way into the pipe is closed: the standard error is the only one.
            Some(Held { before: Some(before), said })
        }

        /// Lets it lead where it did, and gives what was written meanwhile.
        pub fn release(mut self) -> Vec<u8> {
            self.restore()
        }

        fn restore(&mut self) -> Vec<u8> {
            let Some(before) = self.before.take() else { return vec![] };
            // If this fails, others can write into the pipe: we can.
            let _ = rustix::stdio::dup2_stderr(&before);
            let (mut said, until) = (vec![], Instant::now() + MOMENT);
            while let Ok(more) = self.said.recv_timeout(until.saturating_duration_since(Instant::now())) {
                said.extend(more);
            }
            said
        }
    }

    /// Who panics has written to the pipe why, and nobody else will show it.
    impl Drop for Held {
        fn drop(&mut self) {
            super::show(&self.restore());
        }
    }

    /// Sends what comes out of the pipe until nobody can write there any more.
    fn read(mut from: std::io::PipeReader, send: &Sender<Vec<u8>>) {
        let mut some = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut some) {
            // Nobody waits for it any more, but it must be read.
            let _ = send.send(some[..count].to_vec());
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::Mutex;

    /// There is one standard error for all tests of a process.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// What `work` lets through to the standard error.
    fn heard(work: impl FnOnce()) -> String {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let held = Held::new().unwrap();
        work();
        String::from_utf8(held.release()).unwrap()
    }

    /// Writes as a driver does, past all that this language does to the standard error.
    fn say(text: &str) {
        let copy = std::io::stderr().as_fd().try_clone_to_owned().unwrap();
        std::fs::File::from(copy).write_all(text.as_bytes()).unwrap();
    }

    fn work(result: Result<(), ()>) {
        let done = held_while(Held::new(), || {
            say("error: XDG_RUNTIME_DIR is not set\nno such driver\n");
            result
        });
        assert_eq!(done, result);
        say("after\n");
    }

    #[test]
    fn what_a_driver_says_is_shown_if_it_fails() {
        assert_eq!(heard(|| work(Ok(()))), "after\n");
        assert_eq!(heard(|| work(Err(()))), "no such driver\nafter\n");
    }

    #[test]
    fn more_than_a_pipe_holds_is_kept() {
        let long = "x".repeat(1 << 20) + "\n";
        let all = heard(|| {
            let _ = held_while(Held::new(), || {
                say(&long);
                Err::<(), ()>(())
            });
        });
        assert!(all == long, "{} bytes", all.len());
    }

    #[test]
    fn a_panic_is_told() {
        let all = heard(|| {
            let caught = std::panic::catch_unwind(|| {
                held_while(Held::new(), || -> Result<(), ()> {
                    say("why\n");
                    // The hook has nothing to add here.
                    std::panic::resume_unwind(Box::new("a driver's fault"))
                })
            });
            assert!(caught.is_err());
            say("after\n");
        });
        assert_eq!(all, "why\nafter\n");
    }

    #[test]
    fn whoever_keeps_the_pipe_open_is_not_waited_for() {
        let mut copy = None;
        let all = heard(|| {
            let _ = held_while(Held::new(), || {
                say("why\n");
                copy = std::io::stderr().as_fd().try_clone_to_owned().ok();
                Err::<(), ()>(())
            });
            say("after\n");
        });
        assert_eq!(all, "why\nafter\n");
        // And may go on.
        assert!(std::fs::File::from(copy.unwrap()).write_all(b"late\n").is_ok());
    }
}
