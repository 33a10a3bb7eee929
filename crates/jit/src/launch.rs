//! Runs a program over groups of threads.
#![allow(unsafe_code)]

use crate::compile::{MemoryKind, Program};
use crate::state::{Memory, Print, State};
use crate::stop::Site;
use crate::turns::{self, Turn};
use crate::{Outside, Stopped};
use cotangent_base::{Entity, Span};
use cotangent_ir::{Global, Trap};
use std::mem;

/// Bytes of an arena beyond what is needed.
pub(crate) const ARENA_SLACK: u64 = 64;

/// What a program that recurs may use of the stack and of the arena.
const DEEP_STACK: usize = 256 << 20;
const DEEP_ARENA: u64 = 256 << 20;

/// How much of the stack functions of Rust are left.
const STACK_RESERVE: usize = 1 << 20;

/// What a program takes of the stack of the thread that launches it; one that needs more has a thread of its own.
const MOST_OF_STACK: u64 = 256 << 10;

/// How long a program may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many iterations and calls a launch may take, if the program counts them.
    pub max_steps: u64,
    /// How deeply calls may nest.
    pub max_depth: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_steps: 4_000_000_000, max_depth: 10_000 }
    }
}

/// What Rust keeps for a thread while native code runs it.
pub(crate) struct Host {
    pub output: String,
    /// The sites of the calls that led to where it stopped, innermost first.
    pub calls: Vec<u32>,
    pub prints: *const [Print],
    /// The thread's turn, if threads take turns.
    pub turn: Option<Turn>,
}

// SAFETY: native code and the code here are all that use the pointer of a program, and the code stays where it is and as it is
// until the program is dropped. `launch` changes nothing of the program.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(code) = self.code.take() {
            // SAFETY: whoever runs the code borrows the program.
            unsafe { code.free_memory() };
        }
    }
}

/// Memory that is aligned for all that programs hold.
pub(crate) struct Aligned(Vec<u128>);

impl Aligned {
    pub fn zeroed(bytes: u64) -> Aligned {
        Aligned(vec![0; (bytes as usize).div_ceil(16).max(1)])
    }

    pub fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    pub fn len(&self) -> u64 {
        16 * self.0.len() as u64
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }
}

impl Program {
    /// Runs `groups` groups of as many threads as the entry point says.
    ///
    /// `params` are the bytes of parameters in C layout: of a buffer all its elements, of a uniform its value. They are aligned as
    /// their types are. A parameter that is not there is a buffer without elements, or zero. What the program prints is appended to
    /// `output`, also if it stops before its end.
    ///
    /// # Panics
    /// If memory is not aligned, or a uniform has another size than its type.
    pub fn launch(
        &self,
        params: &mut [(Global, &mut [u8])],
        groups: [u32; 3],
        limits: Limits,
        output: &mut String,
    ) -> Result<(), Stopped> {
        let mut launch = Launch::new(self, params, limits);
        if (self.is_recursive || self.stack > MOST_OF_STACK) && !self.has_barriers {
            let stack = if self.is_recursive { DEEP_STACK } else { 0 };
            return std::thread::scope(|scope| {
                let run = || launch.run(groups, stack, output);
                let builder = std::thread::Builder::new().stack_size(stack + self.other_stack());
                let Ok(thread) = builder.spawn_scoped(scope, run) else {
                    return Err(self.stopped_at_start(Trap::CallDepth));
                };
                thread.join().unwrap_or_else(|_| Err(self.stopped_at_start(Trap::Abort)))
            });
        }
        launch.run(groups, 0, output)
    }

    /// How much of the stack is needed beside what recursion may use.
    pub(crate) fn other_stack(&self) -> usize {
        self.stack as usize + STACK_RESERVE
    }

    fn stopped_at_start(&self, trap: Trap) -> Stopped {
        let site = self.sites.first();
        Stopped {
            trap,
            span: site.map_or(Span::none(), |site| site.span),
            func: site.map_or("".into(), |site| site.func),
            calls: vec![],
            thread: [0; 3],
            outside: None,
            unknown: None,
            other: None,
        }
    }
}

/// One launch of a program.
pub(crate) struct Launch<'p> {
    pub program: &'p Program,
    /// The memory of globals as native code sees it; the first is none.
    pub globals: Vec<Memory>,
    /// The variables of the group, and of each thread.
    shared: Vec<(usize, Aligned)>,
    statics: Vec<(usize, Aligned)>,
    /// Uniforms that the host did not give.
    _zeros: Vec<Aligned>,
    pub limits: Limits,
    pub arena: Aligned,
}

// SAFETY: the pointers lead to memory that the launch owns or borrows, and one thread at a time uses it.
unsafe impl Send for Launch<'_> {}

impl<'p> Launch<'p> {
    fn new(program: &'p Program, params: &mut [(Global, &mut [u8])], limits: Limits) -> Self {
        let nothing = Memory { address: std::ptr::null_mut(), len: 0 };
        let mut globals = vec![nothing; program.globals.len() + 1];
        let (mut shared, mut statics, mut zeros) = (vec![], vec![], vec![]);
        for (number, global) in program.globals.iter().enumerate() {
            let mut memory = match global.kind {
                MemoryKind::Shared | MemoryKind::Static | MemoryKind::Uniform => Aligned::zeroed(global.size),
                MemoryKind::Buffer | MemoryKind::Nothing => continue,
            };
            globals[number + 1] = Memory { address: memory.start(), len: 1 };
            match global.kind {
                MemoryKind::Shared => shared.push((number, memory)),
                MemoryKind::Static => statics.push((number, memory)),
                MemoryKind::Uniform | MemoryKind::Buffer | MemoryKind::Nothing => zeros.push(memory),
            }
        }
        for (global, bytes) in params {
            let memory = program.globals[global.index()];
            let is_aligned = (bytes.as_ptr() as u64).is_multiple_of(memory.align);
            let len = match memory.kind {
                MemoryKind::Buffer => bytes.len() as u64 / memory.size.max(1),
                MemoryKind::Uniform => {
                    assert_eq!(bytes.len() as u64, memory.size, "a uniform has the size of its type");
                    1
                }
                MemoryKind::Shared | MemoryKind::Static | MemoryKind::Nothing => continue,
            };
            assert!(is_aligned || len == 0, "memory of parameters is aligned");
            globals[global.index() + 1] = Memory { address: bytes.as_mut_ptr(), len };
        }
        let arena = program.arena + if program.is_recursive { DEEP_ARENA } else { 0 };
        let arena = if program.arena > ARENA_SLACK { arena } else { ARENA_SLACK };
        Launch { program, globals, shared, statics, _zeros: zeros, limits, arena: Aligned::zeroed(arena) }
    }

    /// Runs all groups. `stack` is how much of it may be used, or zero if nobody looks.
    fn run(&mut self, groups: [u32; 3], stack: usize, output: &mut String) -> Result<(), Stopped> {
        let mut host = self.host();
        let mut state = self.state(&mut host, stack);
        all(groups).try_for_each(|group| {
            self.shared.iter_mut().for_each(|(_, memory)| memory.clear());
            if self.program.has_barriers {
                return turns::run_group(self, group, &mut state.fuel, output);
            }
            let threads = self.program.threads;
            for (index, thread) in (0..).zip(all(threads)) {
                state.set_thread(group, thread, threads, index);
                // SAFETY: the state leads to memory that lives until the end of this function.
                let status = unsafe { self.program.call(&mut state) };
                output.push_str(&mem::take(&mut host.output));
                if status != 0 {
                    return Err(self.program.stopped(&state, &host));
                }
            }
            Ok(())
        })
    }

    /// What is kept for a thread.
    pub fn host(&self) -> Host {
        Host { output: String::new(), calls: vec![], prints: &raw const self.program.prints[..], turn: None }
    }

    /// The state of a thread that begins.
    pub fn state(&mut self, host: &mut Host, stack: usize) -> State {
        let here = (&raw const *host) as u64;
        let arena = self.arena.start() as u64;
        State {
            globals: self.globals.as_ptr(),
            arena,
            arena_end: arena + self.arena.len(),
            stack_limit: if stack == 0 { 0 } else { here.saturating_sub(stack as u64) },
            depth: self.limits.max_depth.min(i64::MAX as u64) as i64,
            fuel: self.limits.max_steps.min(i64::MAX as u64) as i64,
            site: 0,
            index_in_group: 0,
            group: [0; 3],
            thread: [0; 3],
            in_dispatch: [0; 3],
            index: 0,
            len: 0,
            host,
        }
    }

    /// Memory for the variables of one more thread, and the globals as that thread sees them.
    pub fn own_statics(&self) -> (Vec<Memory>, Vec<Aligned>) {
        let mut globals = self.globals.clone();
        let mut statics = Vec::new();
        for (number, memory) in &self.statics {
            let mut own = Aligned::zeroed(memory.len());
            globals[number + 1].address = own.start();
            statics.push(own);
        }
        (globals, statics)
    }
}

impl State {
    pub fn set_thread(&mut self, group: [u32; 3], thread: [u32; 3], threads: [u32; 3], index: u32) {
        self.group = group;
        self.thread = thread;
        self.in_dispatch = [0, 1, 2].map(|i| group[i].wrapping_mul(threads[i]).wrapping_add(thread[i]));
        self.index_in_group = index;
    }
}

impl Program {
    /// Runs a thread.
    ///
    /// # Safety
    /// What the state leads to is there until the call returns, and nobody else uses it meanwhile.
    pub(crate) unsafe fn call(&self, state: &mut State) -> u32 {
        // SAFETY: `run` is the address of a function of this type.
        let run: unsafe extern "C" fn(*mut State) -> u32 = unsafe { mem::transmute(self.run) };
        // SAFETY: what the caller promises.
        unsafe { run(state) }
    }

    /// A call and those around it that were inlined, innermost first.
    fn inlined(&self, call: Option<u32>) -> impl Iterator<Item = Span> {
        let site = |number: u32| self.sites[number as usize];
        let calls = std::iter::successors(call.map(site), move |inner| inner.inlined.map(site));
        calls.map(|call| call.span)
    }

    /// Why a thread stopped.
    pub(crate) fn stopped(&self, state: &State, host: &Host) -> Stopped {
        let site: Site = self.sites[state.site as usize];
        let noted = host.calls.iter().flat_map(|call| self.inlined(Some(*call)));
        let spans: Vec<_> =
            std::iter::once(site.span).chain(self.inlined(site.inlined)).chain(noted).collect();
        // What the library does has no place in the source; the call of it has.
        let at = spans.iter().position(|span| !span.is_none()).unwrap_or(0);
        Stopped {
            trap: site.trap,
            span: spans[at],
            func: site.func,
            calls: spans[at + 1..].to_vec(),
            thread: state.in_dispatch,
            outside: (site.trap == Trap::OutOfBounds)
                .then_some(Outside { index: state.index, len: state.len }),
            unknown: (site.trap == Trap::UnknownType && state.len == 1).then_some(state.index as u32),
            other: None,
        }
    }
}

/// Every place in a box, x fastest.
pub(crate) fn all([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}
