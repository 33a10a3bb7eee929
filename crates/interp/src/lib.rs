//! The reference interpreter: what a program means.
//!
//! It is simple, complete and slow; every other way to run a program is tested against it. [`Machine::call`] runs one
//! function on values, [`Machine::dispatch`] runs an entry point for every thread of some groups, one after the other from
//! barrier to barrier, and in waves where they do something together ([`wave`]).
//!
//! How it works: a function is decoded once into a list of codes with jumps ([`decode`]), values live in slots
//! of explicit frames, so that a deep recursion of the program is none of the host's, and scalar operations
//! mean what [`cotangent_ir::eval`] says. An aggregate with one owner is changed in place: operands are moved at their
//! last use ([`lifetimes`]), and parts about to be replaced are moved out ([`take_part`]). So an array that a loop
//! carries is not copied per round; [`Counters`] say what was copied after all, for tests that count.
//!
//! In wide mode ([`Options::wide`]) half and float are evaluated in binary64, for finite differences.

mod aggregate;
mod codes;
mod decode;
mod dispatch;
mod held;
mod lifetimes;
mod machine;
mod memory;
mod ops;
mod pointer;
mod stop;
mod take_part;
mod texture;
mod value;
mod wave;

pub use codes::CODES;
pub use held::Detached;
pub use machine::{Counters, Machine, Options};
pub use pointer::Pointer;
pub use stop::{OtherThread, Outside, Stopped, UnknownType};
pub use value::Val;
pub use wave::LANES;
