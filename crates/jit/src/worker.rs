//! Runs groups of threads on one core.
#![allow(unsafe_code)]

use crate::bytes::Bytes;
use crate::compile::MemoryKind;
use crate::group::position;
use crate::launch::Launch;
use crate::monitor::Control;
use crate::state::{Memory, Print, State};
use crate::texture::{Image, TextureOp};
use crate::turns::{Turn, Turns};
use cotangent_ir::Trap;
use cotangent_runtime::Stopped;
use std::mem;

/// Bytes of an arena beyond what is needed.
pub(crate) const ARENA_SLACK: u64 = 64;

/// What a program that recurs may use of the arena.
const DEEP_ARENA: u64 = 256 << 20;

/// What Rust keeps for a thread while native code runs it.
pub(crate) struct Host {
    pub output: String,
    /// The sites of the calls that led to where it stopped, innermost first.
    pub calls: Vec<u32>,
    pub prints: *const [Print],
    pub control: *const Control,
    pub textures: *const [TextureOp],
    pub images: *const [Image],
    /// The thread's turn, if threads take turns.
    pub turn: Option<Turn>,
    /// The list of numbers that says how far the thread is, if it meets others of its wave.
    pub trail: Bytes,
}

/// The bytes of that list, and of one that recursion may lengthen.
const TRAIL: usize = 64 << 10;
const DEEP_TRAIL: usize = 1 << 20;

/// One core, with the memory of the group that it runs.
pub(crate) struct Worker<'l> {
    pub launch: &'l Launch<'l>,
    /// None if there is too little memory for it.
    shared: Option<Vec<(usize, Bytes)>>,
    /// What the running thread has, if threads do not wait for each other.
    own: Option<Own>,
    turns: Turns,
    /// How much of the stack may be used, or zero if nobody looks.
    stack: usize,
}

/// What a thread has of its own: its variables, its arena, its state.
pub(crate) struct Own {
    globals: Vec<Memory>,
    _statics: Vec<Bytes>,
    arena: Bytes,
    pub host: Host,
    pub state: State,
}

impl Own {
    /// There may be too little memory for it.
    pub fn new(launch: &Launch<'_>, shared: &[(usize, Bytes)]) -> Option<Own> {
        let program = launch.program;
        let mut globals = launch.globals.clone();
        let mut statics = Vec::new();
        for (number, memory) in shared {
            let bytes = program.globals[*number].reach;
            globals[number + 1] = Memory { address: memory.address(), len: 1, bytes };
        }
        for (number, global) in program.globals.iter().enumerate() {
            if global.kind == MemoryKind::Static {
                let memory = Bytes::try_zeroed(global.size as usize)?;
                globals[number + 1] = Memory { address: memory.address(), len: 1, bytes: global.reach };
                statics.push(memory);
            }
        }
        let arena = program.arena + if program.is_recursive { DEEP_ARENA } else { 0 };
        let arena = if program.arena > ARENA_SLACK { arena } else { ARENA_SLACK };
        let host = Host {
            output: String::new(),
            calls: vec![],
            prints: &raw const program.prints[..],
            control: &raw const launch.control,
            textures: &raw const program.textures[..],
            images: &raw const launch.images[..],
            turn: None,
            trail: Bytes::zeroed(match (program.waves.is_empty(), program.is_recursive) {
                (true, _) => 0,
                (false, false) => TRAIL,
                (false, true) => DEEP_TRAIL,
            }),
        };
        let state = State::new(launch);
        Some(Own { globals, _statics: statics, arena: Bytes::try_zeroed(arena as usize)?, host, state })
    }

    /// Makes it the thread of that number, which has not begun.
    pub fn begin(&mut self, launch: &Launch<'_>, group: [u32; 3], thread: [u32; 3], index: u32) {
        let (threads, state) = (launch.program.threads, &mut self.state);
        state.globals = self.globals.as_ptr();
        state.arena = self.arena.address() as u64;
        state.arena_end = state.arena + self.arena.len() as u64;
        state.trail = self.host.trail.address() as u64;
        state.trail_end = state.trail + self.host.trail.len() as u64;
        state.depth = launch.limits.max_depth.min(i64::MAX as u64) as i64;
        state.group = group;
        state.thread = thread;
        state.in_dispatch = in_dispatch(group, thread, threads);
        state.index_in_group = index;
        state.host = &raw mut self.host;
        if launch.control.each {
            state.fuel = launch.control.take_steps();
        }
    }

    /// Why it stopped, or one of so many threads in lanes.
    pub fn stopped(&mut self, launch: &Launch<'_>, threads: u32) -> Stopped {
        if threads > 1 {
            let size = launch.program.threads;
            let thread = position(size, self.state.index_in_group + self.state.lane);
            self.state.in_dispatch = in_dispatch(self.state.group, thread, size);
        }
        launch.program.stopped(&self.state, &self.host, &launch.control)
    }
}

/// The number of a thread in a dispatch.
pub(crate) fn in_dispatch(group: [u32; 3], thread: [u32; 3], threads: [u32; 3]) -> [u32; 3] {
    [0, 1, 2].map(|i| group[i].wrapping_mul(threads[i]).wrapping_add(thread[i]))
}

impl<'l> Worker<'l> {
    pub fn new(launch: &'l Launch<'l>, stack: usize) -> Worker<'l> {
        let globals = launch.program.globals.iter().enumerate();
        let shared = globals.filter(|(_, global)| global.kind == MemoryKind::Shared);
        let shared = shared.map(|(number, global)| Some((number, Bytes::try_zeroed(global.size as usize)?)));
        Worker { launch, shared: shared.collect(), own: None, turns: Turns::default(), stack }
    }

    /// Runs the threads of a group; what they print is appended to `output`.
    pub fn run(&mut self, group: [u32; 3], output: &mut String) -> Result<(), Stopped> {
        let (launch, program) = (self.launch, self.launch.program);
        if let Some(trap) = launch.control.ends() {
            return Err(program.stopped_at_start(trap, in_dispatch(group, [0; 3], program.threads)));
        }
        let no_memory = || no_stack(launch, in_dispatch(group, [0; 3], program.threads));
        let shared = self.shared.as_mut().ok_or_else(no_memory)?;
        shared.iter_mut().for_each(|(_, memory)| memory.clear());
        if program.takes_turns {
            return self.turns.run_group(launch, shared, group, output);
        }
        if self.own.is_none() {
            self.own = Own::new(launch, shared);
        }
        let own = self.own.as_mut().ok_or_else(no_memory)?;
        let here = 0u8;
        own.state.stack_limit = match self.stack {
            0 => 0,
            stack => ((&raw const here) as u64).saturating_sub(stack as u64),
        };
        let (mut index, count) = (0, program.threads.iter().product::<u32>());
        while index < count {
            own.begin(launch, group, position(program.threads, index), index);
            let threads = launch.at_once(count - index);
            // SAFETY: the state leads to memory of its owner and of the launch, and this thread alone uses the former.
            let status = unsafe { program.call(&raw mut own.state, threads) };
            if !own.host.output.is_empty() {
                output.push_str(&mem::take(&mut own.host.output));
            }
            if status != 0 {
                let stopped = own.stopped(launch, threads);
                own.host.calls.clear();
                return Err(stopped);
            }
            index += threads;
        }
        Ok(())
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            self.launch.control.give_steps_back(own.state.fuel);
        }
    }
}

impl State {
    fn new(launch: &Launch<'_>) -> State {
        State {
            globals: std::ptr::null(),
            arena: 0,
            arena_end: 0,
            stack_limit: 0,
            depth: 0,
            fuel: 0,
            interrupt: launch.control.word(),
            trail: 0,
            trail_end: 0,
            site: 0,
            index_in_group: 0,
            group: [0; 3],
            thread: [0; 3],
            in_dispatch: [0; 3],
            index: 0,
            len: 0,
            live: 0,
            lane: 0,
            constants: launch.program.constants.as_ptr(),
            host: std::ptr::null_mut(),
        }
    }
}

/// What a thread that cannot even begin says.
pub(crate) fn no_stack(launch: &Launch<'_>, thread: [u32; 3]) -> Stopped {
    launch.program.stopped_at_start(Trap::CallDepth, thread)
}
