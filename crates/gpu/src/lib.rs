//! Runs compute shaders on a GPU, and draws with vertex and fragment shaders.
//!
//! [`Gpu`] is a [`Backend`](cotangent_runtime::Backend): it loads programs, keeps their pipelines, buffers and textures on a
//! [`Device`], and launches them. It is independent of shader languages: the caller supplies a translator.
//!
//! Below that, [`Device`] does not know about programs of the language: a [`Program`] is a shader with its bindings, and
//! [`Device::run`] returns the bytes of everything that it may write.
//!
//! [`devices`] lists the devices, and [`Device::open`] opens one. Every failure of the driver (no device, a missing feature,
//! a buffer that cannot be bound, a lost device) is an [`Error`]: a sentence for the user. Uninitialized memory is zero.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod backend;
mod bindings;
mod clock;
mod depth;
mod device;
mod draw;
mod run;
mod spirv;
mod texture;

pub use backend::{Buffer, Gpu, Loaded, Texture};
pub use cotangent_runtime::shader::{Code, Needs};
pub use device::{Device, Info, devices};
pub use draw::Drawing;
pub use run::Dispatch;
pub use texture::{Image, Number, Storage};

use cotangent_ir::texture::SamplerState;
use cotangent_runtime::Time;

/// Why a program cannot be run; a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A compute shader, and what is bound to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The shader, with one entry point.
    pub code: Code,
    /// The name of that, by which SPIR-V goes.
    pub entry: String,
    /// What it computes with.
    pub needs: Needs,
    /// What is bound.
    pub bindings: Vec<Binding>,
}

/// Something bound to a shader.
#[derive(Clone, PartialEq, Debug)]
pub struct Binding {
    /// What messages call it.
    pub name: String,
    /// The bind group.
    pub group: u32,
    /// The number within it.
    pub index: u32,
    /// What is there.
    pub content: Content,
}

/// What is bound.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// A uniform buffer.
    Uniform(Vec<u8>),
    /// Values that come with the command to run; they have no number.
    Pushed(Vec<u8>),
    /// A storage buffer that is only read.
    Read(Vec<u8>),
    /// A storage buffer that may be written.
    Write(Vec<u8>),
    /// A storage buffer that is on the device already, and whether it may be written.
    Buffer(wgpu::Buffer, bool),
    /// A texture that is on the device already.
    Bound(Image, wgpu::Texture),
    /// A texture, with its texels: level by level, layer by layer, row by row.
    Texture(Image, Vec<u8>),
    /// A sampler.
    Sampler(SamplerState),
    /// A sampler that compares.
    Comparison(SamplerState),
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Content::Uniform(bytes) | Content::Pushed(bytes) => bytes,
            Content::Read(bytes) | Content::Write(bytes) => bytes,
            Content::Texture(_, bytes) => bytes,
            Content::Buffer(..) | Content::Bound(..) => &[],
            Content::Sampler(_) | Content::Comparison(_) => &[],
        }
    }
}

/// What came of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// For each binding what it holds afterwards, if the program may write it.
    pub written: Vec<Option<Vec<u8>>>,
    /// How long the program ran, if that was asked for.
    pub time: Option<Time>,
}
