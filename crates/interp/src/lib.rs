//! The reference interpreter: it defines what a program computes.
//!
//! It is simple, complete and slow. All other executors are tested against it. [`Machine::call`] runs one function on values.
//! [`Machine::dispatch`] runs an entry point for every thread of some groups, one thread after another between barriers.
//! Lanes meet at wave operations ([`wave`]).
//!
//! A function is decoded once into a list of codes with jumps ([`decode`]). Values are in slots of explicit frames, so that
//! recursion in the program does not use the host's stack. [`cotangent_ir::eval`] defines the scalar operations. An aggregate
//! with one owner is changed in place: operands are moved at their last use ([`lifetimes`]), and parts that are about to be
//! replaced are moved out ([`take_part`]). So an array that a loop carries is not copied per iteration. [`Counters`] count
//! the remaining copies, for tests.
//!
//! The memory of buffers, textures and uniforms is bytes in C layout, decoded when read ([`layout`]); variables hold values.
//! [`Interpreter`] is the interpreter as a back end. A [`Program`] is loaded once and shared by machines in any thread.
//!
//! In wide mode ([`Options::wide`]) `half` and `float` are evaluated in binary64, for finite differences, and memory does not
//! iteration.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod aggregate;
mod backend;
mod counters;
mod decode;
mod dispatch;
mod held;
mod layout;
mod lifetimes;
mod machine;
mod memory;
mod ops;
mod params;
mod pointer;
mod program;
mod take_part;
mod texture;
mod value;
mod wave;

pub use backend::{Buffer, Interpreter, Texture};
use cotangent_runtime::trap as stop;
pub use cotangent_runtime::{CODES, OtherThread, Outside, Stopped, UnknownType};
pub use counters::Counters;
pub use held::Detached;
pub use machine::{Machine, Options};
pub use params::Values;
pub use pointer::Pointer;
pub use program::Program;
pub use value::Val;
pub use wave::LANES;
