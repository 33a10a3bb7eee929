//! Tells on stderr how far a long run is.

use crate::args::Format;
use crate::report::note;
use cotangent::jit::Monitor;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// After how long it tells for the first time. Each time it waits twice as long.
const FIRST: Duration = Duration::from_secs(2);

/// How far a run is.
pub struct Progress<'p> {
    /// The name of the entry point of each launch.
    pub stages: Vec<(&'p str, u64)>,
    /// How many launches have begun.
    pub begun: AtomicU64,
    /// Knows how many groups have run, on back ends that count them.
    pub monitor: Option<Monitor>,
    pub format: Format,
}

impl Progress<'_> {
    /// Does some work, and tells how far it is as long as it goes on.
    pub fn during<R>(&self, work: impl FnOnce() -> R) -> R {
        std::thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            scope.spawn(move || {
                let (start, mut wait) = (Instant::now(), FIRST);
                while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    note(&self.text(start.elapsed()), self.format);
                    wait = start.elapsed();
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    fn text(&self, elapsed: Duration) -> String {
        let total: u64 = self.stages.iter().map(|(_, times)| times).sum();
        let (begun, mut before) = (self.begun.load(Relaxed), 0);
        let mut text = format!("running for {} s", elapsed.as_secs());
        for (name, times) in &self.stages {
            if begun > before && begun <= before + times {
                text += &format!(", in `{name}`");
            }
            before += times;
        }
        if total > 1 {
            text += &format!(", launch {begun} of {total}");
        }
        match self.monitor.as_ref().map(Monitor::progress) {
            Some((done, groups)) if groups > 1 => text + &format!(", {done} of {groups} groups"),
            _ => text,
        }
    }
}
