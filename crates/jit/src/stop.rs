//! Why a program cannot be compiled, or stopped before its end.

use cotangent_base::{Span, Symbol};
use cotangent_ir::Trap;
use std::fmt;

/// A program that cannot be compiled to native code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The source of what is not supported.
    pub span: Span,
    /// What that is.
    pub what: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not supported by native code: {}", self.what)
    }
}

impl std::error::Error for Unsupported {}

/// A run that stopped before its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped {
    /// Why.
    pub trap: Trap,
    /// The source of the instruction that stopped.
    pub span: Span,
    /// The function it is in.
    pub func: Symbol,
    /// The calls that led there, innermost first.
    pub calls: Vec<Span>,
    /// The thread.
    pub thread: [u32; 3],
    /// The index that is out of bounds, if that is why.
    pub outside: Option<Outside>,
    /// The number that a value of interface type has and no type, if that is why.
    pub unknown: Option<u32>,
    /// What another thread does that a barrier waits for.
    pub other: Option<OtherThread>,
}

/// An index that leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The index.
    pub index: i64,
    /// How many elements, lanes, rows or parts there are.
    pub len: u64,
}

/// A thread that is not where it is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherThread {
    /// Which.
    pub thread: [u32; 3],
    /// The barrier it waits at; none if it has ended.
    pub waits: Option<Span>,
}

/// A place where a program may stop, or calls what may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub trap: Trap,
    pub span: Span,
    pub func: Symbol,
    /// The call that the function was inlined at, if it was.
    pub inlined: Option<u32>,
}
