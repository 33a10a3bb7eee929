//! The host side of running programs.
//!
//! [`Backend`] is the interface to everything that runs a program: the interpreter, native code, a GPU, CUDA. A back
//! end loads a [`Compiled`] program once, owns buffers and textures, and launches entry points over them. This crate does not
//! know how a back end represents values, and depends on none of them; they depend on it.
//!
//! Host memory is bytes in C layout with a typed description. [`Params`] holds one block of it per shader parameter; paths
//! such as `lights[2].pos` select parts of it. A back end converts bytes once, at upload. [`Runner`] combines the two: a
//! loaded program whose parameters are set by name. It can be launched many times, and its results are read on demand.
//! [`Packing`] and [`fitting`] are what back ends share: where elements of buffers are stored, and whether arguments fit.
//!
//! [`data`] parses and prints values of the command line, [`npy`] reads NumPy files, and [`image`] and [`sampler`] set
//! textures and samplers. [`trap`] says why a program stopped. [`sampling`] and [`wave`] compute what textures contain and what lanes
//! of a wave make together, for back ends on a CPU.
//!
//! This crate neither reads files nor prints: callers pass bytes and text.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod backend;
mod codes;
pub mod cuda;
pub mod data;
pub mod element;
mod fit;
pub mod image;
pub mod locking;
pub mod npy;
mod packing;
mod params;
pub mod path;
mod runner;
pub mod sampler;
pub mod sampling;
pub mod shader;
pub mod trap;
mod tree;
pub mod wave;

pub use backend::{
    Argument, Arguments, Backend, Call, Called, Compiled, Failure, Launch, Launched, TextureType, Time,
};
pub use codes::CODES;
pub use data::{Data, Number};
pub use element::Element;
pub use fit::{Fitting, check_inputs, fitting, fittings};
pub use packing::Packing;
pub use params::{Params, Place};
pub use path::Leaf;
pub use runner::Runner;
pub use trap::{OtherThread, Outside, Stopped, UnknownType};
pub use tree::Tree;

/// Why a request cannot be met; a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// An [`Error`] from a format string.
macro_rules! bail {
    ($($arg:tt)*) => { return Err($crate::Error(format!($($arg)*))) };
}
pub(crate) use bail;
