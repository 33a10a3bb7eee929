//! The state of a thread that native code and Rust share, and the functions that native code calls.
//!
//! Native code takes the address of a [`State`] and accesses its fields at the offsets of the Rust structure. Only native
//! code calls the functions here, with the state that it was passed, so their pointers are valid during the launch. None of
//! them panics.
#![allow(unsafe_code)]

use crate::turns::{Meeting, Report};
use crate::worker::Host;
use cotangent_base::printf::{self, Piece, Shown};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::eval::{self, Eval};
use cotangent_ir::{Const, Math};
use cotangent_maths::Rare;
use cranelift_codegen::ir::{Type, types};
use std::mem::offset_of;
use std::sync::atomic::AtomicU32;

/// The state of a thread while it runs.
#[repr(C)]
pub(crate) struct State {
    /// The memory of all globals. The first entry is no global's.
    pub globals: *const Memory,
    /// The next free byte of the arena, and where it ends.
    pub arena: u64,
    pub arena_end: u64,
    /// The lowest address that the stack may reach.
    pub stack_limit: u64,
    /// How many more calls may nest, and how many more iterations and calls may run.
    pub depth: i64,
    pub fuel: i64,
    /// A word that is not zero if the launch must end.
    pub interrupt: *const AtomicU32,
    /// Where the list of numbers goes on that says how far the thread is, and where there is no more room for it.
    pub trail: u64,
    pub trail_end: u64,
    /// Why it stopped: the number of the site, and for indices and unknown types what was found.
    pub site: u32,
    /// Who the thread is.
    pub index_in_group: u32,
    pub group: [u32; 3],
    pub thread: [u32; 3],
    pub in_dispatch: [u32; 3],
    pub index: i64,
    pub len: u64,
    /// Where threads run in lanes: the bits of lanes that have not stopped, and the first lane that has.
    pub live: u32,
    pub lane: u32,
    /// The constants of the program.
    pub constants: *const Words,
    /// What Rust keeps for it.
    pub host: *mut Host,
}

/// A constant of lanes: four words, at an address that instructions on vectors take.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words(pub [u32; 4]);

/// The memory of a global.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub address: *mut u8,
    /// How many elements a buffer has.
    pub len: u64,
    /// How many bytes a pointer that is made of a number may reach.
    pub bytes: u64,
}

/// Where fields of the state are.
pub(crate) mod at {
    use super::{Memory, State, offset_of};
    pub const GLOBALS: i32 = offset_of!(State, globals) as i32;
    pub const ARENA: i32 = offset_of!(State, arena) as i32;
    pub const ARENA_END: i32 = offset_of!(State, arena_end) as i32;
    pub const STACK_LIMIT: i32 = offset_of!(State, stack_limit) as i32;
    pub const DEPTH: i32 = offset_of!(State, depth) as i32;
    pub const FUEL: i32 = offset_of!(State, fuel) as i32;
    pub const INTERRUPT: i32 = offset_of!(State, interrupt) as i32;
    pub const TRAIL: i32 = offset_of!(State, trail) as i32;
    pub const TRAIL_END: i32 = offset_of!(State, trail_end) as i32;
    pub const SITE: i32 = offset_of!(State, site) as i32;
    pub const INDEX_IN_GROUP: i32 = offset_of!(State, index_in_group) as i32;
    pub const GROUP: i32 = offset_of!(State, group) as i32;
    pub const THREAD: i32 = offset_of!(State, thread) as i32;
    pub const IN_DISPATCH: i32 = offset_of!(State, in_dispatch) as i32;
    pub const INDEX: i32 = offset_of!(State, index) as i32;
    pub const LEN: i32 = offset_of!(State, len) as i32;
    pub const LIVE: i32 = offset_of!(State, live) as i32;
    pub const LANE: i32 = offset_of!(State, lane) as i32;
    pub const CONSTANTS: i32 = offset_of!(State, constants) as i32;
    /// An entry of the table of globals.
    pub const ENTRY: i64 = size_of::<Memory>() as i64;
    pub const ENTRY_LEN: i32 = offset_of!(Memory, len) as i32;
    pub const ENTRY_BYTES: i32 = offset_of!(Memory, bytes) as i32;
}

/// A function of Rust that native code calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Helper {
    /// `(a: f32, b: f32) -> f32`.
    Rare(Rare),
    /// `(op, a: f64, b: f64, c: f64) -> f64`: an operation on binary64.
    Math64,
    /// `(op, a: f32, b: f32, c: f32) -> f32`: an operation on binary16.
    Math16,
    /// The same on binary32.
    Math32,
    /// `(a: f64) -> f32`: rounds to binary16.
    Round16,
    /// `(a: f32) -> i32`: the bits of a binary16.
    Bits16,
    /// `(bits: i32) -> f32`: the binary16 of these bits.
    Of16,
    /// `(state, site)`: notes the place of a call that stopped.
    NoteCall,
    /// `(state, number, values)`: prints.
    Print,
    /// `(state, site) -> status`: waits for the other threads of the group.
    Barrier,
    /// `(state) -> status`: takes more steps, if there are any.
    Refuel,
    /// `(state, number, site, end of trail, words) -> status`: meets the other lanes of the wave.
    Wave,
    /// `(state, number, texture, sampler, words)`: an operation on a texture.
    Texture,
}

impl Helper {
    /// All of them.
    pub const ALL: [Helper; 16] = [
        Helper::Rare(Rare::Sin),
        Helper::Rare(Rare::Cos),
        Helper::Rare(Rare::Tan),
        Helper::Rare(Rare::Rem),
        Helper::Math64,
        Helper::Math16,
        Helper::Math32,
        Helper::Round16,
        Helper::Bits16,
        Helper::Of16,
        Helper::NoteCall,
        Helper::Print,
        Helper::Barrier,
        Helper::Refuel,
        Helper::Wave,
        Helper::Texture,
    ];

    /// Its name as a symbol.
    pub fn symbol(self) -> String {
        format!("cotangent {self:?}")
    }

    /// Its address.
    pub fn address(self) -> *const u8 {
        match self {
            Helper::Rare(Rare::Sin) => rare_sin as *const u8,
            Helper::Rare(Rare::Cos) => rare_cos as *const u8,
            Helper::Rare(Rare::Tan) => rare_tan as *const u8,
            Helper::Rare(Rare::Rem) => rare_rem as *const u8,
            Helper::Math64 => math64 as *const u8,
            Helper::Math16 => math16 as *const u8,
            Helper::Math32 => math32 as *const u8,
            Helper::Round16 => round16 as *const u8,
            Helper::Bits16 => bits16 as *const u8,
            Helper::Of16 => of16 as *const u8,
            Helper::NoteCall => note_call as *const u8,
            Helper::Print => print as *const u8,
            Helper::Barrier => barrier as *const u8,
            Helper::Refuel => refuel as *const u8,
            Helper::Wave => wave as *const u8,
            Helper::Texture => texture as *const u8,
        }
    }

    /// What it takes and gives.
    pub fn signature(self) -> (&'static [Type], &'static [Type]) {
        use types::{F32, F64, I32, I64};
        match self {
            Helper::Rare(_) => (&[F32, F32], &[F32]),
            Helper::Math64 => (&[I32, F64, F64, F64], &[F64]),
            Helper::Math16 | Helper::Math32 => (&[I32, F32, F32, F32], &[F32]),
            Helper::Round16 => (&[F64], &[F32]),
            Helper::Bits16 => (&[F32], &[I32]),
            Helper::Of16 => (&[I32], &[F32]),
            Helper::NoteCall => (&[I64, I32], &[]),
            Helper::Print => (&[I64, I32, I64], &[]),
            Helper::Barrier => (&[I64, I32], &[I32]),
            Helper::Refuel => (&[I64], &[I32]),
            Helper::Wave => (&[I64, I32, I32, I64, I64], &[I32]),
            Helper::Texture => (&[I64, I32, I32, I32, I64], &[]),
        }
    }
}

extern "C" fn rare_sin(a: f32, b: f32) -> f32 {
    Rare::Sin.call(a, b)
}
extern "C" fn rare_cos(a: f32, b: f32) -> f32 {
    Rare::Cos.call(a, b)
}
extern "C" fn rare_tan(a: f32, b: f32) -> f32 {
    Rare::Tan.call(a, b)
}
extern "C" fn rare_rem(a: f32, b: f32) -> f32 {
    Rare::Rem.call(a, b)
}

/// An operation on floats, as `eval` defines it. Operations on floats do not trap.
fn math(op: u32, scalar: Scalar, operands: [f64; 3]) -> f64 {
    let Some(op) = Math::ALL.get(op as usize) else { return f64::NAN };
    let operands = operands.map(Const::float);
    match Eval::default().math(*op, scalar, &operands[..op.arity()]) {
        Ok(Const::Float(bits)) => f64::from_bits(bits),
        _ => f64::NAN,
    }
}

extern "C" fn math64(op: u32, a: f64, b: f64, c: f64) -> f64 {
    math(op, Scalar::F64, [a, b, c])
}
extern "C" fn math16(op: u32, a: f32, b: f32, c: f32) -> f32 {
    math(op, Scalar::F16, [a, b, c].map(f64::from)) as f32
}
extern "C" fn math32(op: u32, a: f32, b: f32, c: f32) -> f32 {
    math(op, Scalar::F32, [a, b, c].map(f64::from)) as f32
}
extern "C" fn round16(a: f64) -> f32 {
    eval::round(a, Scalar::F16) as f32
}
extern "C" fn bits16(a: f32) -> u32 {
    eval::bits(Const::float(a.into()), Scalar::F16) as u32
}
extern "C" fn of16(bits: u32) -> f32 {
    match eval::from_bits(bits.into(), Scalar::F16) {
        Const::Float(bits) => f64::from_bits(bits) as f32,
        Const::Int(_) | Const::Bool(_) => 0.0,
    }
}

/// What a `print` prints: its format, and the types of its values.
#[derive(Clone, Debug)]
pub(crate) struct Print {
    pub pieces: Vec<Piece>,
    pub scalars: Vec<Scalar>,
}

impl Print {
    pub fn new(format: &str, scalars: Vec<Scalar>) -> Print {
        // The checker has looked at the format.
        Print { pieces: printf::parse(format).unwrap_or_default(), scalars }
    }

    /// Appends the text. Each value is in 64 bits: a float as binary64, an integer extended as its type says.
    fn append(&self, values: &[u64], output: &mut String) {
        let mut values = values.iter().zip(&self.scalars);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => output.push_str(text),
                Piece::Value(conversion) => {
                    let Some((bits, scalar)) = values.next() else { break };
                    let shown = match scalar {
                        Scalar::Bool => Shown::Integer(*bits as i64, 32),
                        scalar_group!(float) => Shown::Float(f64::from_bits(*bits)),
                        scalar_group!(int) => Shown::Integer(*bits as i64, scalar.bits()),
                    };
                    output.push_str(&conversion.show(shown));
                }
            }
        }
    }
}

/// What Rust keeps for a thread.
///
/// # Safety
/// `state` is the state that [`crate::launch`] made for the thread that calls.
unsafe fn host<'s>(state: *mut State) -> &'s mut Host {
    // SAFETY: the launch set `host` to a value that outlives the thread, and only this thread uses it while it runs.
    unsafe { &mut *(*state).host }
}

extern "C" fn note_call(state: *mut State, site: u32) {
    // SAFETY: native code passes on the state it was given.
    unsafe { host(state) }.calls.push(site);
}

extern "C" fn print(state: *mut State, number: u32, values: *const u64) {
    // SAFETY: native code passes on the state it was given.
    let host = unsafe { host(state) };
    // SAFETY: the launch borrows the program, whose formats these are.
    let prints = unsafe { &*host.prints };
    if let Some(print) = prints.get(number as usize) {
        // SAFETY: native code has written that many values there.
        let values = unsafe { std::slice::from_raw_parts(values, print.scalars.len()) };
        print.append(values, &mut host.output);
    }
}

extern "C" fn barrier(state: *mut State, site: u32) -> u32 {
    // SAFETY: native code passes on the state it was given.
    let host = unsafe { host(state) };
    match host.turn.as_ref() {
        Some(turn) => turn.wait(Report::Waits(site)).into(),
        None => 0,
    }
}

extern "C" fn wave(state: *mut State, op: u32, site: u32, end: *const u64, words: *mut u64) -> u32 {
    // SAFETY: native code passes on the state it was given.
    let host = unsafe { host(state) };
    let first = host.trail.address().cast::<u64>().cast_const();
    // SAFETY: both lead into the list of this thread, which native code has written up to `end`.
    let point = unsafe { std::slice::from_raw_parts(first, end.offset_from_unsigned(first)) };
    let meeting = Meeting { op, site, point: point.to_vec(), words };
    match host.turn.as_ref() {
        Some(turn) => turn.wait(Report::Meets(meeting)).into(),
        None => 0,
    }
}

extern "C" fn texture(state: *mut State, op: u32, texture: u32, sampler: u32, words: *mut u64) {
    // SAFETY: native code passes on the state it was given, and the program and the images are there as long as the launch.
    let (ops, images) = unsafe { (&*host(state).textures, &*host(state).images) };
    let image = |handle: u32| images.get(handle as usize).copied().unwrap_or_default();
    if let Some(op) = ops.get(op as usize) {
        // SAFETY: native code has made room for the words.
        unsafe { op.run(&image(texture), image(sampler).state, words) };
    }
}

extern "C" fn refuel(state: *mut State) -> u32 {
    // SAFETY: native code passes on the state it was given, and the control is that of the launch.
    let control = unsafe { &*host(state).control };
    // What each thread has of its own is all that it gets.
    let steps = if control.each { 0 } else { control.take_steps() };
    // SAFETY: only this thread uses its state.
    unsafe { (*state).fuel = steps - 1 };
    u32::from(steps <= 0)
}
