//! The scalar types, the same in the language and in the IR.

use crate::scalar_group;
use std::fmt;

/// A scalar type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: [Scalar; 12] = {
        use Scalar::*;
        [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64]
    };

    /// The name used in IR text and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::U8 => "u8",
            Scalar::U16 => "u16",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::F16 => "f16",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// The scalar of that name.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Width in bits; `Bool` counts one.
    pub const fn bits(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::I8 | Scalar::U8 => 8,
            Scalar::I16 | Scalar::U16 | Scalar::F16 => 16,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 64,
        }
    }

    /// Size in memory; `Bool` takes one byte.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether this is a floating-point type, and so differentiable.
    pub const fn is_float(self) -> bool {
        matches!(self, scalar_group!(float))
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self, scalar_group!(signed))
    }

    /// Whether this is an integer type of either signedness.
    pub const fn is_int(self) -> bool {
        matches!(self, scalar_group!(int))
    }
}

/// Scalar types of some groups, as a pattern: `signed`, `unsigned`, `int` (both), `float`.
#[macro_export]
macro_rules! scalar_group {
    (signed) => { $crate::Scalar::I8 | $crate::Scalar::I16 | $crate::Scalar::I32 | $crate::Scalar::I64 };
    (unsigned) => { $crate::Scalar::U8 | $crate::Scalar::U16 | $crate::Scalar::U32 | $crate::Scalar::U64 };
    (int) => { $crate::scalar_group!(signed | unsigned) };
    (float) => { $crate::Scalar::F16 | $crate::Scalar::F32 | $crate::Scalar::F64 };
    ($($group:ident)|+) => { $($crate::scalar_group!($group))|+ };
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
