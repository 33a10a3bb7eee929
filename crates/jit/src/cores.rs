//! Runs the groups of a launch on all cores.
//!
//! Groups are handed out in order. Nothing that a launch reports depends on the number of cores: what groups print is put
//! together in their order, and of several groups that stop the first one counts, together with what those before it printed.
//! Groups after it may have run. Memory depends on the number of cores only if groups write what others read or write.
//!
//! A launch begins on the thread that asks for it, so a short one costs a function call. If it takes longer than [`ALONE`], the
//! other cores take part.

use crate::launch::Launch;
use crate::monitor::Monitor;
use crate::worker::{Worker, no_stack};
use cotangent_runtime::Stopped;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long one core works alone. To wake another takes about as long.
const ALONE: Duration = Duration::from_micros(30);

/// What a program takes of the stack of the thread that launches it; one that needs more has threads of its own.
const MOST_OF_STACK: u64 = 256 << 10;

/// What a program that recurs may use of the stack.
const DEEP_STACK: usize = 256 << 20;

/// What came of a group: its number, what it printed, and whether it ran to its end.
type Outcome = (u64, String, Result<(), Stopped>);

/// The groups of a launch, and what came of them.
struct Board<'l> {
    launch: &'l Launch<'l>,
    groups: [u32; 3],
    total: u64,
    /// The first group that nobody has taken.
    next: AtomicU64,
    /// How many are taken at once.
    chunk: u64,
    /// The first group that stopped.
    first_stop: AtomicU64,
    found: Mutex<Vec<Outcome>>,
    monitor: &'l Monitor,
}

/// Runs all groups.
pub(crate) fn run(
    launch: &Launch<'_>,
    groups: [u32; 3],
    monitor: &Monitor,
    output: &mut String,
) -> Result<(), Stopped> {
    let total = groups.iter().map(|n| u64::from(*n)).product();
    let cores = launch.limits.cores.max(1) as u64;
    monitor.begin(total);
    let board = Board {
        launch,
        groups,
        total,
        next: AtomicU64::new(0),
        chunk: (total / (16 * cores)).clamp(1, 256),
        first_stop: AtomicU64::new(u64::MAX),
        found: Mutex::default(),
        monitor,
    };
    let program = launch.program;
    if (program.is_recursive || program.stack > MOST_OF_STACK) && !program.takes_turns {
        let stack = if program.is_recursive { DEEP_STACK } else { 0 };
        on_own_threads(&board, cores.min(total), stack);
    } else {
        board.alone(cores);
        let left = total.saturating_sub(board.next.load(Relaxed)).div_ceil(board.chunk).min(cores);
        if left > 0 {
            rayon_core::scope(|scope| (0..left).for_each(|_| scope.spawn(|_| board.work(0))));
        }
    }
    board.finish(output)
}

/// Works on threads with as much stack as the program needs.
fn on_own_threads(board: &Board<'_>, count: u64, stack: usize) {
    let size = stack + board.launch.program.other_stack();
    std::thread::scope(|scope| {
        for number in 0..count {
            let builder = std::thread::Builder::new().stack_size(size);
            let spawned = builder.spawn_scoped(scope, || board.work(stack));
            // One is enough; without any, nothing can run.
            if spawned.is_err() && number == 0 {
                board.note(0, String::new(), Err(no_stack(board.launch, [0; 3])));
                board.next.store(board.total, Relaxed);
            }
        }
    });
}

impl Board<'_> {
    /// Runs groups on this thread, all of them if there is one core.
    fn alone(&self, cores: u64) {
        let start = (cores > 1 && self.total > 1).then(Instant::now);
        let mut worker = Worker::new(self.launch, 0);
        while self.next.load(Relaxed) < self.total && start.is_none_or(|start| start.elapsed() < ALONE) {
            let group = self.next.fetch_add(1, Relaxed);
            if !self.group(&mut worker, group) {
                self.next.store(self.total, Relaxed);
            }
        }
    }

    /// Runs groups until none is left.
    fn work(&self, stack: usize) {
        let mut worker = Worker::new(self.launch, stack);
        loop {
            let first = self.next.fetch_add(self.chunk, Relaxed);
            if first >= self.total {
                return;
            }
            for group in first..(first + self.chunk).min(self.total) {
                if group > self.first_stop.load(Relaxed) || !self.group(&mut worker, group) {
                    return;
                }
            }
        }
    }

    /// Runs a group. Gives whether it ran to its end.
    fn group(&self, worker: &mut Worker<'_>, number: u64) -> bool {
        let [x, y, _] = self.groups.map(u64::from);
        let place = [number % x, number / x % y, number / x / y].map(|n| n as u32);
        let mut printed = String::new();
        let ended = worker.run(place, &mut printed);
        self.monitor.advance(1);
        let is_well = ended.is_ok();
        if !is_well || !printed.is_empty() {
            self.note(number, printed, ended);
        }
        is_well
    }

    fn note(&self, group: u64, printed: String, ended: Result<(), Stopped>) {
        if ended.is_err() {
            self.first_stop.fetch_min(group, Relaxed);
        }
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push((group, printed, ended));
    }

    /// What came of all groups.
    fn finish(self, output: &mut String) -> Result<(), Stopped> {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(group, ..)| *group);
        for (_, printed, ended) in found {
            output.push_str(&printed);
            ended?;
        }
        Ok(())
    }
}
