//! The targets, and the layout rules of each.

use super::{Matrices, Rules, Set};

/// What code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is the language of that name")]
pub enum Target {
    Wgsl,
    SpirV,
    Glsl,
    Hlsl,
    Metal,
    Cuda,
    Cpp,
}

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    /// The elements of a structured buffer.
    Buffer,
    /// A constant buffer, and what global uniforms are gathered in.
    Constant,
    /// Push constants.
    Push,
    /// A `ParameterBlock`.
    Parameters,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 7] =
        [Target::Wgsl, Target::SpirV, Target::Glsl, Target::Hlsl, Target::Metal, Target::Cuda, Target::Cpp];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Wgsl => "wgsl",
            Target::SpirV => "spirv",
            Target::Glsl => "glsl",
            Target::Hlsl => "hlsl",
            Target::Metal => "metal",
            Target::Cuda => "cuda",
            Target::Cpp => "cpp",
        }
    }

    /// The name of its language in prose.
    pub const fn title(self) -> &'static str {
        match self {
            Target::Wgsl => "WGSL",
            Target::SpirV => "SPIR-V",
            Target::Glsl => "GLSL",
            Target::Hlsl => "HLSL",
            Target::Metal => "Metal",
            Target::Cuda => "CUDA",
            Target::Cpp => "C++",
        }
    }

    /// The target of that name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// How it lays out memory of one kind.
    pub fn rules(self, memory: Memory, matrices: Matrices) -> Rules {
        let set = match (self, memory) {
            (Target::Wgsl | Target::SpirV | Target::Glsl, Memory::Buffer | Memory::Push) => Set::Std430,
            (Target::Wgsl | Target::SpirV | Target::Glsl, Memory::Constant | Memory::Parameters) => {
                Set::Std140
            }
            (Target::Hlsl, Memory::Buffer) => Set::D3dBuffer,
            (Target::Hlsl, Memory::Constant | Memory::Push | Memory::Parameters) => Set::D3dConstant,
            (Target::Metal, Memory::Buffer) => Set::MetalBuffer,
            (Target::Metal, Memory::Constant | Memory::Push | Memory::Parameters) => Set::MetalConstant,
            (Target::Cuda, _) => Set::Cuda,
            (Target::Cpp, _) => Set::C,
        };
        Rules { set, matrices }
    }

    /// Whether handles lie in memory among the values.
    pub const fn has_pointers(self) -> bool {
        matches!(self, Target::Cuda | Target::Cpp)
    }
}
