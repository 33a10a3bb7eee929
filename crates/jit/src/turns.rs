//! Runs the threads of a group that wait for each other.
//!
//! Each has a host thread, for its stack. One runs at a time: the threads of a group run in order, each until it ends or
//! reaches a barrier. When all have reached it, they continue in the same order, as on the interpreter.
#![allow(unsafe_code)]

use crate::launch::{Aligned, Host, Launch, all};
use crate::state::State;
use crate::{OtherThread, Stopped};
use cotangent_ir::Trap;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The stack of a thread that takes turns.
const STACK: usize = 4 << 20;

/// What a thread says when it lets others run.
enum Report {
    /// It waits at the barrier of that site, and has printed this.
    Waits(u32, String),
    /// It has ended, with what it has printed.
    Ended(Result<(), Box<Stopped>>, String),
}

/// A thread's end of the conversation.
pub(crate) struct Turn {
    go_on: Receiver<()>,
    report: Sender<Report>,
}

impl Turn {
    /// Lets the others run. Gives whether the thread must end, since another has stopped.
    pub fn wait(&self, site: u32, printed: String) -> bool {
        self.report.send(Report::Waits(site, printed)).is_err() || self.go_on.recv().is_err()
    }
}

/// The scheduler's end.
struct Member {
    go_on: Sender<()>,
    report: Receiver<Report>,
    in_dispatch: [u32; 3],
    waits: Option<u32>,
}

/// What a thread takes with it.
struct Task {
    state: State,
    host: Box<Host>,
    _memory: (Vec<crate::state::Memory>, Vec<Aligned>, Aligned),
}

// SAFETY: the memory is the thread's own, or that of the launch, which one thread at a time uses.
unsafe impl Send for Task {}

/// Runs a group whose threads wait for each other.
pub(crate) fn run_group(
    launch: &mut Launch<'_>,
    group: [u32; 3],
    fuel: &mut i64,
    output: &mut String,
) -> Result<(), Stopped> {
    let program = launch.program;
    let threads = program.threads;
    std::thread::scope(|scope| {
        let mut members = Vec::new();
        for (index, thread) in (0..).zip(all(threads)) {
            let (go_on, waits_for) = channel();
            let (reports, report) = channel();
            let mut task = task(launch, group, thread, index);
            task.state.fuel = *fuel;
            let in_dispatch = task.state.in_dispatch;
            let turn = Turn { go_on: waits_for, report: reports.clone() };
            let run = move || {
                let mut task = task;
                if turn.go_on.recv().is_err() {
                    return;
                }
                let here = 0u8;
                task.state.stack_limit = ((&raw const here) as u64).saturating_sub(STACK as u64);
                task.host.turn = Some(turn);
                task.state.host = &raw mut *task.host;
                // SAFETY: the task owns its memory, and that of the launch is there until the scope ends.
                let status = unsafe { program.call(&mut task.state) };
                let outcome = match status {
                    0 => Ok(()),
                    _ => Err(Box::new(program.stopped(&task.state, &task.host))),
                };
                let printed = std::mem::take(&mut task.host.output);
                // Nobody listens any more if another thread has stopped.
                let _ = reports.send(Report::Ended(outcome, printed));
            };
            let builder = std::thread::Builder::new().stack_size(STACK + program.other_stack());
            if builder.spawn_scoped(scope, run).is_err() {
                // The host has no more threads.
                return Err(barrier_stop(launch, 0, in_dispatch, None));
            }
            members.push(Member { go_on, report, in_dispatch, waits: None });
        }
        take_turns(launch, members, output)
    })
}

fn task(launch: &mut Launch<'_>, group: [u32; 3], thread: [u32; 3], index: u32) -> Task {
    let (globals, statics) = launch.own_statics();
    let mut host = Box::new(launch.host());
    let mut state = launch.state(&mut host, 0);
    let mut arena = Aligned::zeroed(launch.arena.len());
    state.globals = globals.as_ptr();
    state.arena = arena.start() as u64;
    state.arena_end = state.arena + arena.len();
    state.set_thread(group, thread, launch.program.threads, index);
    Task { state, host, _memory: (globals, statics, arena) }
}

/// Lets all threads run from barrier to barrier.
fn take_turns(launch: &Launch<'_>, mut members: Vec<Member>, output: &mut String) -> Result<(), Stopped> {
    let mut ended = None;
    loop {
        let mut left = Vec::new();
        for mut member in members {
            let alive = member.go_on.send(()).is_ok();
            match member.report.recv() {
                Ok(Report::Waits(site, printed)) if alive => {
                    output.push_str(&printed);
                    member.waits = Some(site);
                    left.push(member);
                }
                Ok(Report::Ended(outcome, printed)) => {
                    output.push_str(&printed);
                    outcome.map_err(|stopped| *stopped)?;
                    _ = ended.get_or_insert(member.in_dispatch);
                }
                Ok(Report::Waits(..)) | Err(_) => {
                    return Err(barrier_stop(launch, 0, member.in_dispatch, None));
                }
            }
        }
        let Some(first) = left.first() else { return Ok(()) };
        let site = |member: &Member| member.waits.unwrap_or_default();
        let span = |member: &Member| launch.program.sites[site(member) as usize].span;
        let elsewhere = left.iter().find(|other| span(other) != span(first));
        let other = match (ended, elsewhere) {
            (Some(thread), _) => OtherThread { thread, waits: None },
            (None, Some(other)) => OtherThread { thread: other.in_dispatch, waits: Some(span(other)) },
            (None, None) => {
                members = left;
                continue;
            }
        };
        return Err(barrier_stop(launch, site(first), first.in_dispatch, Some(other)));
    }
}

/// Says that threads of a group do not meet.
fn barrier_stop(launch: &Launch<'_>, site: u32, thread: [u32; 3], other: Option<OtherThread>) -> Stopped {
    let site = launch.program.sites[site as usize];
    Stopped {
        trap: Trap::Barrier,
        span: site.span,
        func: site.func,
        calls: vec![],
        thread,
        outside: None,
        unknown: None,
        other,
    }
}
