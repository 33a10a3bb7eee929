//! Why a run stopped, and the diagnostic for it.

use crate::codes;
use cotangent_base::{Code, Diagnostic, Span, Symbol};
use cotangent_ir::Trap;
use std::fmt;

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
    /// The thread, in a dispatch.
    pub thread: Option<[u32; 3]>,
    /// The index that is out of bounds, if that is why.
    pub outside: Option<Outside>,
    /// The number that no type has, if that is why.
    pub unknown: Option<Box<UnknownType>>,
    /// What another thread does that a barrier waits for.
    pub other: Option<OtherThread>,
}

impl Stopped {
    /// A run that ends before a launch of an entry point.
    pub fn between_launches(trap: Trap, func: Symbol, span: Span) -> Self {
        Stopped { trap, span, func, calls: vec![], thread: None, outside: None, unknown: None, other: None }
    }
}

/// A thread that is not where it is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherThread {
    /// Which.
    pub thread: [u32; 3],
    /// The barrier it waits at; none if it has ended.
    pub waits: Option<Span>,
}

/// A value of interface type that is of none of the known types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownType {
    /// The number it has.
    pub id: u32,
    /// The interface.
    pub interface: Symbol,
    /// The numbers of the types, and their names.
    pub known: Vec<(u32, Symbol)>,
}

impl UnknownType {
    /// The types that would have been right.
    fn note(&self) -> String {
        let known: Vec<String> = self.known.iter().map(|(id, name)| format!("{id} `{name}`")).collect();
        match &known[..] {
            [] => format!("no type of the program conforms to `{}`", self.interface),
            known => format!("the types of `{}` are {}", self.interface, known.join(", ")),
        }
    }
}

/// An index that leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The index.
    pub index: i64,
    /// How many elements, lanes, rows or parts there are.
    pub len: usize,
}

impl Stopped {
    /// The code of this kind of stop.
    pub const fn code(&self) -> Code {
        match self.trap {
            Trap::OutOfBounds => codes::OUT_OF_BOUNDS,
            Trap::LoopBound => codes::LOOP_BOUND,
            Trap::DivisionByZero => codes::DIVISION_BY_ZERO,
            Trap::StepLimit => codes::STEP_LIMIT,
            Trap::CallDepth => codes::CALL_DEPTH,
            Trap::OutOfMemory => codes::OUT_OF_MEMORY,
            Trap::NullPointer => codes::NULL_POINTER,
            Trap::Misaligned => codes::MISALIGNED,
            Trap::Barrier => codes::BARRIER,
            Trap::Abort => codes::ABORT,
            Trap::NoValue => codes::NO_VALUE,
            Trap::UnknownType => codes::UNKNOWN_TYPE,
            Trap::NoPixel => codes::NO_PIXEL,
            Trap::TimeLimit => codes::TIME_LIMIT,
            Trap::Interrupted => codes::INTERRUPTED,
        }
    }

    /// How to tell the user.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(self.code(), self.span, self.to_string());
        // Of a deep recursion, only the innermost calls are shown.
        for call in self.calls.iter().filter(|c| !c.is_none()).take(4) {
            diagnostic = diagnostic.label(*call, "called from here");
        }
        if let Some(OtherThread { thread: [x, y, z], waits }) = self.other {
            diagnostic = diagnostic.here("waits here");
            diagnostic = match waits {
                Some(span) => diagnostic.label(span, format!("while thread ({x}, {y}, {z}) waits here")),
                None => diagnostic.note(format!("thread ({x}, {y}, {z}) of the same group has ended")),
            };
        }
        if let Some(unknown) = &self.unknown {
            diagnostic =
                diagnostic.here(format!("the type has the number {}", unknown.id)).note(unknown.note());
        }
        if self.trap == Trap::StepLimit {
            diagnostic = diagnostic.help("if it needs more steps, raise the limit with `--max-steps`");
        }
        if self.trap == Trap::OutOfMemory {
            diagnostic = diagnostic.help("make its arrays shorter, or store the elements in a buffer");
        }
        if self.trap == Trap::TimeLimit {
            diagnostic = diagnostic.help("if it needs more time, raise the limit with `--max-seconds`");
        }
        match self.outside {
            Some(Outside { index, len: 0 }) => {
                diagnostic.here(format!("the index is {index}, but the buffer is empty: was it set?"))
            }
            Some(Outside { index, len }) => {
                diagnostic = diagnostic.here(format!("the index is {index}, the length {len}"));
                if index != i64::from(u32::MAX) {
                    return diagnostic;
                }
                // What views of tensors in the library make of an index beyond a size.
                diagnostic.help(
                    "this is `-1` as a `uint`; of a tensor it stands for an index beyond a size, or for one with more \
                     dimensions than the tensor has",
                )
            }
            None => diagnostic,
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`", self.code().title, self.func)?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Stopped {}
