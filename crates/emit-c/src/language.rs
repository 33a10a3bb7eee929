//! The differences between C++ and CUDA output.

use cotangent_base::Scalar;
use cotangent_ir::layout::Target;

/// The language to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C++17, for the host.
    Cpp,
    /// CUDA C++, for NVRTC and nvcc.
    Cuda,
}

/// What only some programs use.
#[derive(Clone, Copy)]
pub struct Uses {
    /// Threads wait for each other.
    pub turns: bool,
    /// There are textures or samplers.
    pub textures: bool,
    /// Lanes of a wave do something together.
    pub waves: bool,
    /// Functions that call themselves.
    pub recursion: bool,
    /// Variables that are too large for the stack.
    pub rooms: bool,
    /// Pointers are cast to other types.
    pub casts: bool,
}

/// Two pointers of different types may lead to the same place. clang needs the flag `-fno-strict-aliasing`.
const ALIASES: &str =
    "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC optimize(\"no-strict-aliasing\")\n#endif\n";

impl Language {
    /// How people call it.
    pub const fn name(self) -> &'static str {
        self.target().title()
    }

    /// Whose rules memory is laid out by.
    pub const fn target(self) -> Target {
        match self {
            Language::Cpp => Target::Cpp,
            Language::Cuda => Target::Cuda,
        }
    }

    /// What stands before every function. Compilers for the host copy a function into several callers, such as a forward pass and a
    /// backward pass that loads again, only if it says `inline` or is tiny; those for the device copy nearly all.
    pub const fn function(self) -> &'static str {
        match self {
            Language::Cpp => "static inline",
            Language::Cuda => "static __device__",
        }
    }

    /// What stands before a function that is written in place.
    pub const fn inline(self) -> &'static str {
        match self {
            Language::Cpp => "inline",
            Language::Cuda => "__device__ inline",
        }
    }

    /// What every program begins with, and what it uses beyond that.
    pub fn prelude(self, uses: Uses) -> String {
        let common = include_str!("prelude/common.h");
        let end = "\n} // namespace ct\n#endif\n";
        let textures = if uses.textures { include_str!("prelude/textures.h") } else { "" };
        let waves = if uses.waves { include_str!("prelude/waves.h") } else { "" };
        match self {
            Language::Cpp => {
                let turns = if uses.turns { include_str!("prelude/turns.h") } else { "" };
                let lanes = if uses.waves { include_str!("prelude/cpp_lanes.h") } else { "" };
                let recursion = if uses.recursion { include_str!("prelude/recursion.h") } else { "" };
                let rooms = if uses.rooms { include_str!("prelude/rooms.h") } else { "" };
                let aliases = if uses.casts { ALIASES } else { "" };
                [
                    aliases,
                    include_str!("prelude/cpp.h"),
                    common,
                    end,
                    recursion,
                    rooms,
                    turns,
                    textures,
                    lanes,
                    waves,
                ]
                .concat()
            }
            Language::Cuda => {
                let atomics = include_str!("prelude/cuda_atomics.h");
                let lanes = if uses.waves { include_str!("prelude/cuda_lanes.h") } else { "" };
                [include_str!("prelude/cuda.h"), common, atomics, end, textures, lanes, waves].concat()
            }
        }
    }

    /// How a scalar is written.
    pub const fn scalar(self, s: Scalar) -> &'static str {
        match (self, s) {
            (_, Scalar::Bool) => "bool",
            (_, Scalar::F16) => "ct::half",
            (_, Scalar::F32) => "float",
            (_, Scalar::F64) => "double",
            (Language::Cpp, Scalar::I8) => "std::int8_t",
            (Language::Cpp, Scalar::I16) => "std::int16_t",
            (Language::Cpp, Scalar::I32) => "std::int32_t",
            (Language::Cpp, Scalar::I64) => "std::int64_t",
            (Language::Cpp, Scalar::U8) => "std::uint8_t",
            (Language::Cpp, Scalar::U16) => "std::uint16_t",
            (Language::Cpp, Scalar::U32) => "std::uint32_t",
            (Language::Cpp, Scalar::U64) => "std::uint64_t",
            (Language::Cuda, Scalar::I8) => "ct::i8",
            (Language::Cuda, Scalar::I16) => "short",
            (Language::Cuda, Scalar::I32) => "int",
            (Language::Cuda, Scalar::I64) => "ct::i64",
            (Language::Cuda, Scalar::U8) => "ct::u8",
            (Language::Cuda, Scalar::U16) => "ct::u16",
            (Language::Cuda, Scalar::U32) => "unsigned",
            (Language::Cuda, Scalar::U64) => "ct::u64",
        }
    }
}

#[cfg(test)]
mod tests {
    use cotangent_ir::Trap;

    /// A back end finds out from the text why a program stopped.
    #[test]
    fn preludes_stop_with_texts_that_are_known() {
        let preludes = [
            include_str!("prelude/common.h"),
            include_str!("prelude/cpp.h"),
            include_str!("prelude/cuda.h"),
            include_str!("prelude/recursion.h"),
            include_str!("prelude/rooms.h"),
            include_str!("prelude/turns.h"),
        ];
        let texts = preludes.iter().flat_map(|text| text.split("rap(line, \"").skip(1));
        let texts: Vec<&str> = texts.map(|rest| rest.split('"').next().unwrap_or_default()).collect();
        assert!(texts.len() >= 6, "{texts:?}");
        let unknown: Vec<_> = texts.iter().filter(|text| Trap::said(text).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(Trap::ALL.iter().all(|(_, trap)| Trap::said(trap.text()) == Some(*trap)));
    }
}
