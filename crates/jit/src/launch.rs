//! A launch: a program with the memory of its parameters.
#![allow(unsafe_code)]

use crate::bytes::Bytes;
use crate::compile::{MemoryKind, Program};
use crate::cores;
use crate::monitor::{Control, Monitor};
use crate::state::{Memory, State};
use crate::stop::Site;
use crate::texture::Image;
use crate::worker::Host;
use cotangent_base::{Entity, Span};
use cotangent_ir::{Global, Trap};
use cotangent_runtime::{Outside, Stopped};
use std::time::Duration;

/// How much of the stack functions of Rust are left.
const STACK_RESERVE: usize = 1 << 20;

/// How long a program may run, and on how many cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many iterations and calls a launch may take, if the program counts them.
    pub max_steps: Option<u64>,
    /// How long a launch may run.
    pub max_time: Option<Duration>,
    /// How deeply calls may nest.
    pub max_depth: u64,
    /// How many groups may run at the same time.
    pub cores: usize,
}

impl Default for Limits {
    /// One core, and no limit but that of nested calls.
    fn default() -> Self {
        Limits { max_steps: None, max_time: None, max_depth: 10_000, cores: 1 }
    }
}

// SAFETY: native code and the code here are all that use the pointer of a program, and the code stays where it is and as it is
// until the program is dropped. A launch changes nothing of the program.
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

/// The memory of a parameter: all elements of a buffer, or the value of a uniform, in C layout, or texels; or a sampler.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub global: Global,
    pub image: Image,
}

impl Given {
    /// A buffer or value.
    pub fn new(global: Global, address: *mut u8, bytes: usize) -> Given {
        Given { global, image: Image { address, bytes, ..Image::default() } }
    }
}

impl Program {
    /// Runs `groups` groups of as many threads as the entry point says.
    ///
    /// `params` are the bytes of parameters in C layout: of a buffer all its elements, of a uniform its value. They are aligned as
    /// their types are. A parameter that is not there is a buffer without elements, or zero. What the program prints is appended to
    /// `output` in the order of groups, also if it stops before its end. If several groups stop, the first of them is reported.
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
        let given =
            params.iter_mut().map(|(global, bytes)| Given::new(*global, bytes.as_mut_ptr(), bytes.len()));
        let control = Control::new(&Monitor::default(), limits.max_steps, false);
        // SAFETY: the parameters are borrowed, and nothing else uses them.
        unsafe { self.run(&given.collect::<Vec<_>>(), groups, limits, control, &Monitor::default(), output) }
    }

    /// The same, on memory that need not be borrowed.
    ///
    /// # Safety
    /// The memory is there until the launch ends. Nobody else writes it, nor reads what the program writes.
    pub(crate) unsafe fn run(
        &self,
        given: &[Given],
        groups: [u32; 3],
        limits: Limits,
        control: Control,
        monitor: &Monitor,
        output: &mut String,
    ) -> Result<(), Stopped> {
        let launch = Launch::new(self, given, limits, control);
        launch.control.within(limits.max_time, || cores::run(&launch, groups, monitor, output))
    }

    /// Whether it can run on such memory. If not, the program that was compiled without lanes can.
    pub(crate) fn takes(&self, given: &[Given]) -> bool {
        self.run.is_some() || !shares_memory(given)
    }

    /// How much of the stack is needed beside what recursion may use.
    pub(crate) fn other_stack(&self) -> usize {
        self.stack as usize + STACK_RESERVE
    }

    /// Says that a thread stopped before it began.
    pub(crate) fn stopped_at_start(&self, trap: Trap, thread: [u32; 3]) -> Stopped {
        let site = self.sites.first();
        Stopped {
            trap,
            span: site.map_or(Span::none(), |site| site.span),
            func: site.map_or(self.name, |site| site.func),
            calls: vec![],
            thread: Some(thread),
            outside: None,
            unknown: None,
            other: None,
        }
    }

    /// A call and those around it that were inlined, innermost first.
    fn inlined(&self, call: Option<u32>) -> impl Iterator<Item = Span> {
        let site = |number: u32| self.sites[number as usize];
        let calls = std::iter::successors(call.map(site), move |inner| inner.inlined.map(site));
        calls.map(|call| call.span)
    }

    /// Why a thread stopped.
    pub(crate) fn stopped(&self, state: &State, host: &Host, control: &Control) -> Stopped {
        let site: Site = self.sites[state.site as usize];
        let noted = host.calls.iter().flat_map(|call| self.inlined(Some(*call)));
        let spans: Vec<_> =
            std::iter::once(site.span).chain(self.inlined(site.inlined)).chain(noted).collect();
        // What the library does has no place in the source; the call of it has.
        let at = spans.iter().position(|span| !span.is_none()).unwrap_or(0);
        let unknown = self.unknown.get(&state.site).filter(|_| site.trap == Trap::UnknownType);
        let trap = if site.trap == Trap::Interrupted { control.ends() } else { None };
        Stopped {
            trap: trap.unwrap_or(site.trap),
            span: spans[at],
            func: site.func,
            calls: spans[at + 1..].to_vec(),
            thread: Some(state.in_dispatch),
            outside: (site.trap == Trap::OutOfBounds)
                .then_some(Outside { index: state.index, len: state.len as usize }),
            unknown: unknown.map(|known| {
                let mut found = known.clone();
                found.id = state.index as u32;
                Box::new(found)
            }),
            other: None,
        }
    }
}

/// One launch of a program.
pub(crate) struct Launch<'p> {
    pub program: &'p Program,
    /// The memory of globals as native code sees it; the first is none. That of variables is not here.
    pub globals: Vec<Memory>,
    /// Textures and samplers, in the same order; none if the program does not use them.
    pub images: Vec<Image>,
    /// Uniforms that the host did not give.
    _zeros: Vec<Bytes>,
    pub limits: Limits,
    pub control: Control,
    /// Whether memory of two parameters overlaps. Then threads may see each other's writes where the program does not show it, so
    /// they run one by one.
    pub shares_memory: bool,
}

// SAFETY: the pointers lead to memory that is there until the launch ends, and only native code uses it.
unsafe impl Sync for Launch<'_> {}

impl<'p> Launch<'p> {
    fn new(program: &'p Program, given: &[Given], limits: Limits, control: Control) -> Self {
        let nothing = Memory { address: std::ptr::null_mut(), len: 0, bytes: 0 };
        let mut globals = vec![nothing; program.globals.len() + 1];
        let mut zeros = vec![];
        for (number, global) in program.globals.iter().enumerate() {
            if global.kind == MemoryKind::Uniform {
                let memory = Bytes::zeroed(global.size as usize);
                globals[number + 1] = Memory { address: memory.address(), len: 1, bytes: 0 };
                zeros.push(memory);
            }
        }
        let images = if program.textures.is_empty() { 0 } else { globals.len() };
        let mut images = vec![Image::default(); images];
        for Given { global, image } in given.iter().copied() {
            let Image { address, bytes, .. } = image;
            if let Some(place) = images.get_mut(global.index() + 1) {
                *place = image;
            }
            let memory = program.globals[global.index()];
            let is_aligned = (address as u64).is_multiple_of(memory.align);
            let len = match memory.kind {
                MemoryKind::Buffer => bytes as u64 / memory.size.max(1),
                MemoryKind::Uniform => {
                    assert_eq!(bytes as u64, memory.size, "a uniform has the size of its type");
                    1
                }
                MemoryKind::Shared | MemoryKind::Static | MemoryKind::Nothing => continue,
            };
            assert!(is_aligned || len == 0, "memory of parameters is aligned");
            let bytes = if memory.kind == MemoryKind::Buffer { len * memory.size } else { 0 };
            globals[global.index() + 1] = Memory { address, len, bytes };
        }
        let shares_memory = shares_memory(given);
        assert!(program.run.is_some() || !shares_memory, "threads that may share memory run one by one");
        Launch { program, globals, images, _zeros: zeros, limits, control, shares_memory }
    }
}

/// Whether memory of two parameters overlaps.
fn shares_memory(given: &[Given]) -> bool {
    let range =
        |given: &Given| given.image.address as usize..given.image.address as usize + given.image.bytes;
    let mut ranges: Vec<_> = given.iter().map(range).filter(|range| !range.is_empty()).collect();
    ranges.sort_by_key(|range| range.start);
    // The first two that overlap are next to each other.
    ranges.windows(2).any(|two| two[1].start < two[0].end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_base::Entity;

    #[test]
    fn memory_is_shared_where_it_overlaps() {
        let mut memory = [0u8; 16];
        let start = memory.as_mut_ptr();
        let part = |at: usize, bytes| Given::new(Global::new(at), start.wrapping_add(at), bytes);
        assert!(!shares_memory(&[part(8, 8), part(0, 8)]));
        assert!(shares_memory(&[part(0, 8), part(0, 8)]));
        assert!(shares_memory(&[part(4, 8), part(0, 8)]));
        assert!(shares_memory(&[part(0, 16), part(4, 4), part(12, 4)]));
        // Memory without elements overlaps nothing.
        assert!(!shares_memory(&[part(0, 8), part(4, 0)]));
    }
}
