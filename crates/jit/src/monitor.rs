//! How a launch ends before its time: limits of steps and time, and requests of the host.
//!
//! Native code reads one word at the head of every loop and before every call that may recur, and stops if it is not zero
//! ([`Body::count_step`](crate::body::Body)). Whoever wants the launch to end sets that word: [`Monitor::interrupt`], or the thread
//! that waits for the time limit. Steps are counted only where the launch has a limit of them; cores take them from one store.

use cotangent_ir::Trap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the word says.
const GO_ON: u32 = 0;
const INTERRUPTED: u32 = 1;
const TIME_IS_OVER: u32 = 2;

/// How many steps a core takes at once, at most.
const MOST_STEPS: i64 = 1 << 16;

/// Watches launches from another thread, and stops them. Clones watch the same launches.
#[derive(Clone, Default, Debug)]
pub struct Monitor(Arc<Watched>);

#[derive(Default, Debug)]
struct Watched {
    is_interrupted: AtomicBool,
    running: Mutex<Vec<Arc<AtomicU32>>>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Monitor {
    /// Stops all launches that run, and those to come: they end with [`Trap::Interrupted`].
    pub fn interrupt(&self) {
        self.0.is_interrupted.store(true, Relaxed);
        for word in self.0.running.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            word.store(INTERRUPTED, Relaxed);
        }
    }

    /// Whether launches were stopped.
    pub fn is_interrupted(&self) -> bool {
        self.0.is_interrupted.load(Relaxed)
    }

    /// How many groups of the latest launch have run, and how many it has.
    pub fn progress(&self) -> (u64, u64) {
        (self.0.done.load(Relaxed), self.0.total.load(Relaxed))
    }

    pub(crate) fn begin(&self, groups: u64) {
        self.0.done.store(0, Relaxed);
        self.0.total.store(groups, Relaxed);
    }

    pub(crate) fn advance(&self, groups: u64) {
        self.0.done.fetch_add(groups, Relaxed);
    }
}

/// What the threads of a launch share to end it.
pub(crate) struct Control {
    word: Arc<AtomicU32>,
    /// The steps that no core has taken yet.
    steps: AtomicI64,
    /// How many a core takes at once.
    batch: i64,
    /// Whether each thread has so many steps of its own.
    pub each: bool,
    monitor: Monitor,
}

impl Control {
    pub fn new(monitor: &Monitor, max_steps: Option<u64>, each: bool) -> Control {
        let steps = max_steps.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX));
        let word = Arc::new(AtomicU32::new(GO_ON));
        let mut running = monitor.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        if monitor.is_interrupted() {
            word.store(INTERRUPTED, Relaxed);
        }
        running.push(word.clone());
        drop(running);
        let batch = if each { steps } else { (steps / 1024).clamp(1, MOST_STEPS) };
        Control { word, steps: AtomicI64::new(steps), batch, each, monitor: monitor.clone() }
    }

    /// Where native code finds the word.
    pub fn word(&self) -> *const AtomicU32 {
        Arc::as_ptr(&self.word)
    }

    /// Why the launch must end, if it must.
    pub fn ends(&self) -> Option<Trap> {
        match self.word.load(Relaxed) {
            GO_ON => None,
            TIME_IS_OVER => Some(Trap::TimeLimit),
            _ => Some(Trap::Interrupted),
        }
    }

    /// Some of the steps that are left; none if there are none.
    pub fn take_steps(&self) -> i64 {
        if self.each {
            return self.batch;
        }
        let before = self.steps.fetch_sub(self.batch, Relaxed);
        before.clamp(0, self.batch)
    }

    /// Gives back steps that were not needed.
    pub fn give_steps_back(&self, steps: i64) {
        if !self.each && steps > 0 {
            self.steps.fetch_add(steps, Relaxed);
        }
    }

    /// Does some work, which is stopped when the time is over.
    pub fn within<R>(&self, max_time: Option<Duration>, work: impl FnOnce() -> R) -> R {
        let Some(max_time) = max_time else { return work() };
        std::thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            scope.spawn(move || {
                if is_done.recv_timeout(max_time) == Err(RecvTimeoutError::Timeout) {
                    self.word.store(TIME_IS_OVER, Relaxed);
                }
            });
            let result = work();
            drop(done);
            result
        })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let mut running = self.monitor.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|word| !Arc::ptr_eq(word, &self.word));
    }
}
