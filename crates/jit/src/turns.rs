//! Runs the threads of a group that wait for each other.
//!
//! Each has a stack of its own, of which one runs at a time: the threads of a group run in order, each until it ends or reaches a
//! barrier. When all have reached it, they continue in the same order, as on the interpreter. A thread never stays behind: if
//! another one stops, those that wait are told to end, and return.
#![allow(unsafe_code)]

use crate::bytes::Bytes;
use crate::launch::Launch;
use crate::worker::{Own, all, in_dispatch, no_stack};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use cotangent_ir::Trap;
use cotangent_runtime::{OtherThread, Stopped};
use std::mem;

/// The stack of a thread that takes turns, beside what its own values need.
const STACK: usize = 256 << 10;

/// The same, if it recurs.
const DEEP_STACK: usize = 4 << 20;

/// A thread's side: where it lets others run. It gives the site where it waits, and is told whether to end.
pub(crate) struct Turn(*const Yielder<bool, u32>);

impl Turn {
    /// Lets the others run. Gives whether the thread must end, since another has stopped.
    pub fn wait(&self, site: u32) -> bool {
        // SAFETY: the yielder is there as long as the thread is, and only the thread itself comes here.
        unsafe { &*self.0 }.suspend(site)
    }
}

type Routine = Coroutine<bool, u32, u32>;

/// What is kept from group to group.
#[derive(Default)]
pub(crate) struct Turns {
    stacks: Vec<DefaultStack>,
    owns: Vec<Own>,
}

/// A thread that has begun.
struct Member {
    routine: Routine,
    /// Its number in the group.
    index: usize,
    /// The site where it waits.
    waits: u32,
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
        let count = threads.iter().map(|n| *n as usize).product();
        while self.owns.len() < count {
            self.owns.push(Own::new(launch, shared));
        }
        let mut running = Group { turns: self, launch, waiting: vec![], ended: None };
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
    waiting: Vec<Member>,
    /// The first thread that has ended.
    ended: Option<[u32; 3]>,
}

impl Group<'_, '_> {
    /// Begins all threads, in order.
    fn begin(&mut self, group: [u32; 3], output: &mut String) -> Result<(), Stopped> {
        let (launch, threads) = (self.launch, self.launch.program.threads);
        for (index, thread) in all(threads).enumerate() {
            let Some(stack) = self.turns.stack(launch) else {
                return Err(no_stack(launch, in_dispatch(group, thread, threads)));
            };
            let own = &mut self.turns.owns[index];
            own.begin(launch, group, thread, index as u32);
            let deep = if launch.program.is_recursive { DEEP_STACK } else { 0 };
            let (own, program) = (&raw mut *own, &raw const *launch.program);
            let routine = Routine::with_stack(stack, move |yielder, _| {
                let here = 0u8;
                // SAFETY: the thread's own memory and the program are there until the group has ended, and while the thread
                // runs nobody else uses the former.
                unsafe {
                    (*own).host.turn = Some(Turn(yielder));
                    (*own).state.stack_limit = match deep {
                        0 => 0,
                        deep => ((&raw const here) as u64).saturating_sub(deep as u64 * 3 / 4),
                    };
                    (*program).call(&raw mut (*own).state)
                }
            });
            self.resume(Member { routine, index, waits: 0 }, output)?;
        }
        Ok(())
    }

    /// Lets all threads run from barrier to barrier.
    fn go_on(&mut self, output: &mut String) -> Result<(), Stopped> {
        while let Some(first) = self.waiting.first() {
            self.meet(first)?;
            let mut members = mem::take(&mut self.waiting).into_iter();
            while let Some(member) = members.next() {
                if let Err(stopped) = self.resume(member, output) {
                    // Those that have not had their turn are ended with the others.
                    self.waiting.extend(members);
                    return Err(stopped);
                }
            }
        }
        Ok(())
    }

    /// Lets a thread run until it ends or waits.
    fn resume(&mut self, mut member: Member, output: &mut String) -> Result<(), Stopped> {
        let result = member.routine.resume(false);
        let own = &mut self.turns.owns[member.index];
        output.push_str(&mem::take(&mut own.host.output));
        match result {
            CoroutineResult::Yield(site) => {
                member.waits = site;
                self.waiting.push(member);
                Ok(())
            }
            CoroutineResult::Return(status) => {
                let stopped = (status != 0).then(|| own.stopped(self.launch));
                _ = self.ended.get_or_insert(own.state.in_dispatch);
                self.put_away(member);
                stopped.map_or(Ok(()), Err)
            }
        }
    }

    /// Keeps what an ended thread used for the next one.
    fn put_away(&mut self, member: Member) {
        let own = &mut self.turns.owns[member.index];
        own.host.turn = None;
        own.host.calls.clear();
        if !self.launch.control.each {
            self.launch.control.give_steps_back(mem::take(&mut own.state.fuel));
        }
        self.turns.stacks.push(member.routine.into_stack());
    }

    /// Sees that all threads of the group wait at one barrier.
    fn meet(&self, first: &Member) -> Result<(), Stopped> {
        let span = |member: &Member| self.launch.program.sites[member.waits as usize].span;
        let number = |member: &Member| self.turns.owns[member.index].state.in_dispatch;
        let elsewhere = self.waiting.iter().find(|other| span(other) != span(first));
        let other = match (self.ended, elsewhere) {
            (Some(thread), _) => OtherThread { thread, waits: None },
            (None, Some(other)) => OtherThread { thread: number(other), waits: Some(span(other)) },
            (None, None) => return Ok(()),
        };
        let site = self.launch.program.sites[first.waits as usize];
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
        for mut member in mem::take(&mut self.waiting) {
            while let CoroutineResult::Yield(_) = member.routine.resume(true) {}
            self.put_away(member);
        }
    }
}
