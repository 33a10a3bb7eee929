//! Tells on stderr how far a long run is.

use super::stages::{Round, Stage};
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
    /// What is launched.
    pub rounds: &'p [Round<Stage>],
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
        let total: u64 = self.rounds.iter().map(Round::launches).sum();
        let begun = self.begun.load(Relaxed);
        let mut text = format!("running for {} s", elapsed.as_secs());
        if let Some(name) = self.running(begun) {
            text += &format!(", in `{name}`");
        }
        if total > 1 {
            text += &format!(", launch {begun} of {total}");
        }
        match self.monitor.as_ref().map(Monitor::progress) {
            Some((done, groups)) if groups > 1 => text + &format!(", {done} of {groups} groups"),
            _ => text,
        }
    }

    /// The entry point of the launch of that number, counted from 1.
    fn running(&self, begun: u64) -> Option<&str> {
        let mut number = begun.checked_sub(1)?;
        let round = self.rounds.iter().find(|round| {
            let is_here = number < round.launches();
            number -= if is_here { 0 } else { round.launches() };
            is_here
        })?;
        number %= round.launches() / round.times;
        let stage = round.stages.iter().find(|stage| {
            let is_here = number < stage.times;
            number -= if is_here { 0 } else { stage.times };
            is_here
        });
        stage.map(|stage| stage.name.as_str())
    }
}
