//! Native code in process: the optimized IR, compiled for the host by Cranelift.
//!
//! [`Native`] is the back end. [`Program::compile`] compiles an entry point and all that it calls; [`Program::launch`] runs it over
//! groups of threads, on parameters that are bytes in C layout. The interpreter is the reference: results agree bit for bit. If a
//! program stops early, a value ([`Stopped`]) says where and why; native code never raises a signal.
//!
//! # Values
//!
//! Depending on its type, a value is *leaves* or is in *memory* ([`shape`]):
//!
//! - Leaves are the scalars of a vector, matrix, structure, sum or short array, each a Cranelift value of its own. So
//!   aggregates cost nothing: `pack`, `extract` and `swizzle` only name leaves. A dynamic index selects among them.
//! - Longer arrays, and types that contain them, are in memory, in the frame of the function, or in an arena if they are large.
//!   [`cotangent_passes::place`] says which values share storage, so an update happens in place.
//!
//! | type | leaves |
//! | --- | --- |
//! | `bool` | 8 bits, 0 or 1 |
//! | integers | an integer of the same width |
//! | `f16` | binary32, always rounded to binary16 |
//! | sum | number of the member, number that the host gave if it is none, then the leaves of all members |
//! | buffer, texture, sampler | the number of the global plus one; 0 is none |
//! | pointer | the global plus one, the offset of an array in it, the index in that array, the length of that array |
//!
//! The bits of a computed NaN depend on the processor. It is replaced by the canonical quiet NaN where its bits are visible: in
//! stores, bit casts and text.
//!
//! # Functions
//!
//! A function takes the [`State`](state::State) of its thread, its inputs as leaves or addresses, and addresses for outputs that
//! are in memory. It returns a status and the leaves of the other outputs. Status 0 means that it reached its end. Otherwise the
//! state says why it stopped, and callers record the call and return at once. Regions become blocks; arguments and results of
//! regions become parameters of blocks.
//!
//! Elementary functions of binary32 are those of [`cotangent_maths`], inlined ([`maths`]). Those of binary16 and binary64 call
//! what [`cotangent_ir::eval`] defines.
//!
//! # Threads
//!
//! Groups run on all cores ([`cores`]). The threads of a group run one after the other, on one core ([`worker`]). In groups with
//! barriers each thread, or each eight threads in lanes, has its own stack. One stack runs at a time, from barrier to barrier
//! ([`turns`]), in the interpreter's order. Groups whose lanes meet in waves also have such stacks ([`trail`]). [`monitor`] ends a
//! launch early.
//!
//! # Lanes
//!
//! If the group is large enough and the program has nothing that lanes refuse, threads run side by side in vectors ([`lanes`]),
//! as many at once as there are lanes; what is left over of a group runs as scalar code. [`Options::lanes`] forces either form.
//! Both compute the same, bit for bit.
//!
//! # What is refused
//!
//! [`Unsupported`] has the source location and the reason: more than 2 GiB of local values or of variables of a group, the
//! interpreter's wide mode (`passes::widen` makes a program of it), pointers to values of interface type whose memory is not known,
//! and whatever only exists between the passes of autodiff.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod aggregate;
mod atomic;
mod backend;
mod body;
mod bytes;
mod call;
mod compile;
mod control;
mod convert;
mod cores;
mod group;
mod lanes;
mod launch;
mod maths;
mod memory;
mod monitor;
mod ops;
mod pointer;
mod points;
mod rare;
mod scalar;
mod shape;
mod state;
mod stop;
mod texture;
mod trail;
mod turns;
mod worker;

pub use backend::{Buffer, Foreign, Loaded, Native, Texture};
pub use compile::{LaneChoice, Options, Program};
pub use cotangent_runtime::Stopped;
pub use launch::Limits;
pub use monitor::Monitor;
pub use stop::{CODES, Unsupported};
