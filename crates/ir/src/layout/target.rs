//! The targets, and the layout rules of each.

use super::{Matrices, Rules, Set};

/// The table of targets: the enumeration, the name on the command line, and the name of the language in prose.
macro_rules! targets {
    ($($target:ident $name:literal $title:literal;)*) => {
        /// What code is made for.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each is the language of that name")]
        pub enum Target {
            $($target),*
        }

        impl Target {
            /// All of them.
            pub const ALL: &[Target] = &[$(Target::$target),*];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Target::$target => $name),*
                }
            }

            /// The name of its language in prose.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Target::$target => $title),*
                }
            }
        }
    };
}

targets! {
    Wgsl "wgsl" "WGSL";
    SpirV "spirv" "SPIR-V";
    Glsl "glsl" "GLSL";
    Hlsl "hlsl" "HLSL";
    Metal "metal" "Metal";
    Cuda "cuda" "CUDA";
    Cpp "cpp" "C++";
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
    /// The target of that name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.iter().copied().find(|target| target.name() == name)
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
