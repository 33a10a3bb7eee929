//! Why a run stopped, and how to say so.

use cotangent_base::{Code, Diagnostic, Span, Symbol};
use cotangent_ir::Trap;
use std::fmt;

cotangent_base::codes! {
    /// An index lies outside its array, vector, matrix or buffer. Negative indices count as outside, too.
    ///
    /// Where an index may run past the end, clamp it or test it before the access.
    E0801 OUT_OF_BOUNDS = "index outside its array";
    /// A loop ran for more rounds than its `[MaxIters(n)]` allows, or than the compiler found that it could.
    ///
    /// The derivative has room for that many rounds only. State a larger bound.
    E0802 LOOP_BOUND = "loop ran longer than its bound";
    /// An integer was divided by zero, by `/` or by `%`.
    E0803 DIVISION_BY_ZERO = "integer division by zero";
    /// The program was given a number of steps, and used them up. It may not end at all.
    E0804 STEP_LIMIT = "step limit reached";
    /// Calls nested more deeply than the interpreter allows. A recursion may have no end.
    E0805 CALL_DEPTH = "calls nest too deeply";
}

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
}

impl Stopped {
    /// The code of this kind of stop.
    pub const fn code(&self) -> Code {
        match self.trap {
            Trap::OutOfBounds => OUT_OF_BOUNDS,
            Trap::LoopBound => LOOP_BOUND,
            Trap::DivisionByZero => DIVISION_BY_ZERO,
            Trap::StepLimit => STEP_LIMIT,
            Trap::CallDepth => CALL_DEPTH,
        }
    }

    /// How to tell the user.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(self.code(), self.span, self.to_string());
        // A deep recursion is told by its innermost calls.
        for call in self.calls.iter().filter(|c| !c.is_none()).take(4) {
            diagnostic = diagnostic.label(*call, "called from here");
        }
        diagnostic
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
