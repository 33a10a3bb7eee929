//! The features that random programs are made of. Each program has a few, so that over many programs every pair occurs.

use crate::model::tree::Mem;
use crate::random::Random;

/// Something that a program may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// Structured buffers that are read and written.
    Buffer,
    /// Byte buffers.
    Bytes,
    /// Textures that are read and written.
    Texture,
    /// `static` variables.
    Static,
    /// Group-shared variables.
    Shared,
    /// Atomic functions, on whatever integers in memory there are.
    Atomic,
    /// `Atomic<T>`.
    AtomicType,
    /// Several threads, and wave operations.
    Wave,
    /// Stores whose custom derivatives bring gradients in from memory.
    Store,
    /// Loads whose custom derivatives add gradients up in memory.
    Load,
    /// Custom derivatives that are not linear.
    Clip,
    /// Custom derivatives that are not those of the function.
    Skewed,
    /// Custom derivatives of functions whose result has none.
    Gate,
    /// Custom derivatives of `inout` parameters.
    InOut,
    /// Substitutes.
    Substitute,
    /// Differentiable functions with results of all kinds or none.
    Wrapper,
    /// Functions without derivatives.
    Plain,
    /// `detach`.
    Detach,
    /// `break`, `continue` and `return` in loops.
    Exit,
    /// Methods.
    Method,
    /// Generic functions.
    Generic,
    /// `[noinline]` and `[ForceInline]`.
    Inline,
    /// `do { .. } while (false);`
    Once,
}

use Feature::{
    Atomic, AtomicType, Buffer, Bytes, Clip, Detach, Exit, Gate, Generic, InOut, Inline, Load, Method, Once,
    Plain, Shared, Skewed, Static, Store, Substitute, Texture, Wave, Wrapper,
};

/// All, each as often as it is wanted.
pub const ALL: &[Feature] = &[
    Buffer, Buffer, Bytes, Texture, Static, Shared, Atomic, Atomic, AtomicType, Wave, Store, Store, Load,
    Load, Clip, Clip, Skewed, Gate, Gate, InOut, Substitute, Wrapper, Wrapper, Wrapper, Plain, Detach, Exit,
    Exit, Exit, Method, Generic, Inline, Inline, Once,
];

impl Feature {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Feature> {
        ALL.iter().copied().find(|f| format!("{f:?}") == name)
    }
}

/// The features of one program.
#[derive(Clone, Debug)]
pub struct Features(Vec<Feature>);

impl Features {
    /// Four to seven of these.
    pub fn pick(from: &[Feature], random: &mut Random) -> Features {
        let count = 4 + random.below(4);
        Features((0..count).map(|_| *random.pick(from)).collect())
    }

    pub fn has(&self, feature: Feature) -> bool {
        self.0.contains(&feature)
    }

    /// The memory that statements may use.
    pub fn memory(&self) -> Vec<Mem> {
        let mut all = Vec::new();
        let of: [(Feature, &[Mem]); 7] = [
            (Buffer, &[Mem::Buffer, Mem::Count]),
            (Bytes, &[Mem::Bytes, Mem::ByteFloats]),
            (Texture, &[Mem::Texture]),
            (Static, &[Mem::Static, Mem::StaticCount]),
            (Shared, &[Mem::Shared, Mem::SharedCount]),
            (Atomic, &[Mem::Count]),
            (AtomicType, &[Mem::Atomic]),
        ];
        for (feature, mems) in of {
            if self.has(feature) {
                all.extend_from_slice(mems);
            }
        }
        all
    }
}
