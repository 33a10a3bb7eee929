//! The host's side of a program: its parameters as bytes in C layout, and running it over them.
//!
//! [`Params`] holds one block of memory per shader parameter; paths such as `lights[2].pos` name places in it.
//! [`data`] reads and prints the values of the command line, [`npy`] those of NumPy files, [`image`] and [`sampler`] what
//! textures and samplers are set from, and [`run()`] decodes the bytes into the interpreter's values, dispatches, and encodes
//! what the program wrote. [`device`] has the bytes as a graphics processor wants them.
//!
//! Nothing here reads a file or prints: callers hand in bytes and text.

mod codec;
pub mod data;
pub mod device;
pub mod image;
pub mod npy;
mod params;
pub mod path;
mod run;
pub mod sampler;
mod tree;

pub use codec::Codec;
pub use data::{Data, Number};
pub use params::{Params, Place};
pub use path::Leaf;
pub use run::run;
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
