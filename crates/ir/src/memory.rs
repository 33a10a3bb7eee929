//! The kinds of atomic operations and barriers, and the form of addresses.

use crate::math::Math;
use crate::op::Path;

/// The low bits of an address count bytes; those above identify the memory. A CPU has all memory of a program in one table, so
/// this is the form of addresses on the interpreter and in native code.
pub const ADDRESS_BITS: u32 = 40;

/// Reading and writing a part of memory in one step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Atomic {
    /// What becomes of the part.
    pub kind: AtomicKind,
    /// Which part.
    pub path: Path,
}

/// What an atomic operation makes of a part that holds `old`, given a value `v`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicKind {
    /// `old + v`.
    Add,
    /// `old & v`.
    And,
    /// `old | v`.
    Or,
    /// `old ^ v`.
    Xor,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// `v`.
    Exchange,
    /// `v` if `old` has the same bits as a value before it, else `old`.
    CompareExchange,
}

impl AtomicKind {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, AtomicKind); 8] = [
        ("add", AtomicKind::Add),
        ("and", AtomicKind::And),
        ("or", AtomicKind::Or),
        ("xor", AtomicKind::Xor),
        ("min", AtomicKind::Min),
        ("max", AtomicKind::Max),
        ("exchange", AtomicKind::Exchange),
        ("compare_exchange", AtomicKind::CompareExchange),
    ];

    /// How many values it takes.
    pub const fn values(self) -> usize {
        match self {
            AtomicKind::Add | AtomicKind::And | AtomicKind::Or | AtomicKind::Xor => 1,
            AtomicKind::Min | AtomicKind::Max | AtomicKind::Exchange => 1,
            AtomicKind::CompareExchange => 2,
        }
    }

    /// The operation that makes the new value of the old one and `v`, if it is one.
    pub const fn math(self) -> Option<Math> {
        match self {
            AtomicKind::Add => Some(Math::Add),
            AtomicKind::And => Some(Math::And),
            AtomicKind::Or => Some(Math::Or),
            AtomicKind::Xor => Some(Math::Xor),
            AtomicKind::Min => Some(Math::Min),
            AtomicKind::Max => Some(Math::Max),
            AtomicKind::Exchange | AtomicKind::CompareExchange => None,
        }
    }
}

/// What a barrier does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Barrier {
    /// Whose accesses before it are done before those after it.
    pub memory: Memory,
    /// Whether all threads of the group come to it before any goes on.
    pub sync: bool,
}

/// A part of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    /// Variables of the group.
    Group,
    /// Buffers.
    Device,
    /// Both.
    All,
}

impl Memory {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Memory); 3] =
        [("group", Memory::Group), ("device", Memory::Device), ("all", Memory::All)];
}
