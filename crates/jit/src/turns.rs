//! Runs the threads of a group that wait for each other.
//!
//! Each has a stack of its own, of which one runs at a time: the threads of a group run in order, each until it ends or reaches a
//! barrier. When all have reached it, they continue in the same order, as on the interpreter. A thread never stays behind: if
//! another one stops, those that wait are stopped, and return.
//!
//! Threads that run in lanes have one stack and wait together.
//!
//! Operations on waves complete before threads wait at a barrier. When no thread can continue, the least advanced one determines
//! which lanes meet: those of its wave that are at the same point ([`trail`](crate::trail)).
#![allow(unsafe_code)]

use crate::bytes::Bytes;
use crate::group::position;
use crate::launch::Launch;
use crate::worker::{Own, in_dispatch, no_stack};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::eval::Eval;
use cotangent_ir::wave::Wave;
use cotangent_ir::{Const, Trap, Type};
use cotangent_runtime::wave::{self, LANES};
use cotangent_runtime::{OtherThread, Stopped};
use std::mem;

/// The stack of a thread that takes turns, beside what its own values need.
const STACK: usize = 256 << 10;

/// The same, if it recurs.
const DEEP_STACK: usize = 4 << 20;

/// Why a thread lets others run.
pub(crate) enum Report {
    /// It waits at the barrier of that site.
    Waits(u32),
    /// It has come to an operation on its wave.
    Meets(Meeting),
}

/// An operation on waves: what it does, the type of its result, and what lanes give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaveOp {
    pub kind: Wave,
    pub ty: Type,
    pub given: Scalar,
    /// How many numbers a lane gives.
    pub count: usize,
}

/// A thread at such an operation.
pub(crate) struct Meeting {
    /// The number of the operation, and its site.
    pub op: u32,
    pub site: u32,
    /// How far the thread is.
    pub point: Vec<u64>,
    /// Its operands, and then its results.
    pub words: *mut u64,
}

/// A thread's side: where it lets others run. It says why, and is told whether to end.
pub(crate) struct Turn(*const Yielder<bool, Report>);

impl Turn {
    /// Lets the others run. Gives whether the thread must end, since another has stopped.
    pub fn wait(&self, report: Report) -> bool {
        // SAFETY: the yielder is there as long as the thread is, and only the thread itself comes here.
        unsafe { &*self.0 }.suspend(report)
    }
}

type Routine = Coroutine<bool, Report, u32>;

/// What is kept from group to group.
#[derive(Default)]
pub(crate) struct Turns {
    stacks: Vec<DefaultStack>,
    owns: Vec<Own>,
}

/// A thread that has begun, or several in lanes.
struct Member {
    routine: Routine,
    /// The number in the group, of the first of several.
    index: usize,
    /// The number of its own memory.
    own: usize,
    /// How many threads run in lanes.
    threads: u32,
    /// Why it does not run.
    report: Report,
}

impl Member {
    /// The site of the barrier where it waits.
    fn site(&self) -> u32 {
        match &self.report {
            Report::Waits(site) => *site,
            Report::Meets(meeting) => meeting.site,
        }
    }

    /// Its wave, and how far it is there.
    fn place(&self) -> (u32, &[u64]) {
        let point = if let Report::Meets(meeting) = &self.report { &meeting.point[..] } else { &[] };
        (self.index as u32 / LANES, point)
    }
}

impl Turns {
    /// Runs a group whose threads wait for each other.
    pub fn run_group(
        &mut self,
        launch: &Launch<'_>,
        shared: &[(usize, Bytes)],
        group: [u32; 3],
        output: &mut String,
    ) -> Result<(), Stopped> {
        let threads = launch.program.threads;
        let count: usize = threads.iter().map(|n| *n as usize).product();
        let lanes = launch.at_once(u32::MAX) as usize;
        while self.owns.len() < count / lanes + count % lanes {
            let Some(own) = Own::new(launch, shared) else {
                return Err(no_stack(launch, in_dispatch(group, [0; 3], threads)));
            };
            self.owns.push(own);
        }
        let mut running = Group { turns: self, launch, waiting: vec![], meeting: vec![], ended: None };
        let result = running.begin(group, output).and_then(|()| running.go_on(output));
        running.end_all();
        result
    }

    /// A stack that nobody uses.
    fn stack(&mut self, launch: &Launch<'_>) -> Option<DefaultStack> {
        let size = if launch.program.is_recursive { DEEP_STACK } else { STACK };
        self.stacks.pop().or_else(|| DefaultStack::new(size + launch.program.stack as usize).ok())
    }
}

/// A group that runs.
struct Group<'g, 'l> {
    turns: &'g mut Turns,
    launch: &'g Launch<'l>,
    /// Those at a barrier.
    waiting: Vec<Member>,
    /// Those at an operation on their wave.
    meeting: Vec<Member>,
    /// The first thread that has ended.
    ended: Option<[u32; 3]>,
}

impl Group<'_, '_> {
    /// Begins all threads, in order.
    fn begin(&mut self, group: [u32; 3], output: &mut String) -> Result<(), Stopped> {
        let count = self.launch.program.threads.iter().product::<u32>();
        let (mut index, mut own) = (0, 0);
        while index < count {
            let threads = self.launch.at_once(count - index);
            let member = self.member(group, index, own, threads)?;
            self.resume(member, output)?;
            (index, own) = (index + threads, own + 1);
        }
        Ok(())
    }

    /// A thread that has not run, or several.
    fn member(&mut self, group: [u32; 3], index: u32, own: usize, threads: u32) -> Result<Member, Stopped> {
        let (launch, size) = (self.launch, self.launch.program.threads);
        let thread = position(size, index);
        let Some(stack) = self.turns.stack(launch) else {
            return Err(no_stack(launch, in_dispatch(group, thread, size)));
        };
        let memory = &mut self.turns.owns[own];
        memory.begin(launch, group, thread, index);
        let deep = if launch.program.is_recursive { DEEP_STACK } else { 0 };
        let (memory, program) = (&raw mut *memory, &raw const *launch.program);
        let routine = Routine::with_stack(stack, move |yielder, _| {
            let here = 0u8;
            // SAFETY: the thread's own memory and the program are there until the group has ended, and while the thread runs
            // nobody else uses the former.
            unsafe {
                (*memory).host.turn = Some(Turn(yielder));
                (*memory).state.stack_limit = match deep {
                    0 => 0,
                    deep => ((&raw const here) as u64).saturating_sub(deep as u64 * 3 / 4),
                };
                (*program).call(&raw mut (*memory).state, threads)
            }
        });
        Ok(Member { routine, index: index as usize, own, threads, report: Report::Waits(0) })
    }

    /// Lets all threads run from barrier to barrier.
    fn go_on(&mut self, output: &mut String) -> Result<(), Stopped> {
        loop {
            while let Some(lanes) = self.next_lanes() {
                self.meet_in_wave(&lanes);
                self.resume_all(lanes, output)?;
            }
            self.waiting.sort_by_key(|member| member.index);
            let Some(first) = self.waiting.first() else { return Ok(()) };
            self.meet(first)?;
            let waiting = mem::take(&mut self.waiting);
            self.resume_all(waiting, output)?;
        }
    }

    /// Lets threads run, in order.
    fn resume_all(&mut self, members: Vec<Member>, output: &mut String) -> Result<(), Stopped> {
        let mut members = members.into_iter();
        while let Some(member) = members.next() {
            if let Err(stopped) = self.resume(member, output) {
                // Those that have not had their turn are ended with the others.
                self.waiting.extend(members);
                return Err(stopped);
            }
        }
        Ok(())
    }

    /// The lanes that meet next, in order: those of the first wave that are at the point of its least advanced thread.
    fn next_lanes(&mut self) -> Option<Vec<Member>> {
        let first = self.meeting.iter().map(Member::place).min()?;
        let is_here: Vec<bool> = self.meeting.iter().map(|member| member.place() == first).collect();
        let mut is_here = is_here.into_iter();
        let members = mem::take(&mut self.meeting).into_iter();
        let (mut here, rest): (Vec<_>, Vec<_>) = members.partition(|_| is_here.next() == Some(true));
        self.meeting = rest;
        here.sort_by_key(|member| member.index);
        Some(here)
    }

    /// Gives lanes of a wave what they make together.
    fn meet_in_wave(&self, members: &[Member]) {
        let meetings = members.iter().filter_map(|member| match &member.report {
            Report::Meets(meeting) => Some((member.index as u32 % LANES, meeting)),
            Report::Waits(_) => None,
        });
        let meetings: Vec<(u32, &Meeting)> = meetings.collect();
        let Some((_, first)) = meetings.first() else { return };
        let op = self.launch.program.waves[first.op as usize];
        let lanes = meetings.iter().map(|(number, meeting)| {
            // SAFETY: the words are on the stack of a thread that waits: the numbers that it gives, and the lane that it reads.
            let word = |i: usize| unsafe { meeting.words.add(i).read() };
            let given = (0..op.count).map(|i| number_of(word(i), op.given)).collect();
            let from = (op.kind == Wave::ReadAt).then(|| number_of(word(op.count), Scalar::U32));
            wave::Lane { number: *number, given, from }
        });
        // What lanes make of numbers does not trap: no operation on waves divides integers.
        let results = wave::together(Eval::default(), op.kind, op.ty, &lanes.collect::<Vec<_>>());
        for ((_, meeting), numbers) in meetings.iter().zip(results.unwrap_or_default()) {
            for (i, number) in numbers.into_iter().enumerate() {
                let word = match number {
                    Const::Float(bits) => bits,
                    Const::Int(n) => n as u64,
                    Const::Bool(b) => b.into(),
                };
                // SAFETY: as above; there is room for four.
                unsafe { meeting.words.add(i).write(word) };
            }
        }
    }

    /// Lets a thread run until it ends or waits.
    fn resume(&mut self, mut member: Member, output: &mut String) -> Result<(), Stopped> {
        let result = member.routine.resume(false);
        let own = &mut self.turns.owns[member.own];
        output.push_str(&mem::take(&mut own.host.output));
        match result {
            CoroutineResult::Yield(report) => {
                let to = if let Report::Waits(_) = report { &mut self.waiting } else { &mut self.meeting };
                member.report = report;
                to.push(member);
                Ok(())
            }
            CoroutineResult::Return(status) => {
                _ = self.ended.get_or_insert(own.state.in_dispatch);
                let stopped = (status != 0).then(|| own.stopped(self.launch, member.threads));
                self.put_away(member);
                stopped.map_or(Ok(()), Err)
            }
        }
    }

    /// Keeps what an ended thread used for the next one.
    fn put_away(&mut self, member: Member) {
        let own = &mut self.turns.owns[member.own];
        own.host.turn = None;
        own.host.calls.clear();
        if !self.launch.control.each {
            self.launch.control.give_steps_back(mem::take(&mut own.state.fuel));
        }
        self.turns.stacks.push(member.routine.into_stack());
    }

    /// Sees that all threads of the group wait at one barrier.
    fn meet(&self, first: &Member) -> Result<(), Stopped> {
        let span = |member: &Member| self.launch.program.sites[member.site() as usize].span;
        let number = |member: &Member| self.turns.owns[member.own].state.in_dispatch;
        let elsewhere = self.waiting.iter().find(|other| span(other) != span(first));
        let other = match (self.ended, elsewhere) {
            (Some(thread), _) => OtherThread { thread, waits: None },
            (None, Some(other)) => OtherThread { thread: number(other), waits: Some(span(other)) },
            (None, None) => return Ok(()),
        };
        let site = self.launch.program.sites[first.site() as usize];
        Err(Stopped {
            trap: Trap::Barrier,
            span: site.span,
            func: site.func,
            calls: vec![],
            thread: Some(number(first)),
            outside: None,
            unknown: None,
            other: Some(other),
        })
    }

    /// Ends the threads that wait: a barrier tells them to return.
    fn end_all(&mut self) {
        self.waiting.append(&mut self.meeting);
        for mut member in mem::take(&mut self.waiting) {
            while let CoroutineResult::Yield(_) = member.routine.resume(true) {}
            self.put_away(member);
        }
    }
}

/// The number that a word is.
fn number_of(word: u64, scalar: Scalar) -> Const {
    match scalar {
        Scalar::Bool => Const::Bool(word != 0),
        scalar_group!(float) => Const::Float(word),
        scalar_group!(int) => Const::Int(word as i64),
    }
}
