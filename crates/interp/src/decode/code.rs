//! The executable form of a function: a list of codes, with jumps instead of regions.
//!
//! Every value has a slot in the frame of its function. An exit moves its operands to the slots of its target in parallel,
//! and jumps. So `break`, `continue` and `yield` are the same code, and no exit unwinds anything.

use cotangent_base::{Scalar, Span};
use cotangent_ir::{Const, FuncId, Inst, Math, Step};

/// A place in a frame.
pub(crate) type Slot = u32;

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    pub(crate) slot: Slot,
    /// Whether this is the last use, so that the slot is left empty.
    pub(crate) take: bool,
}

/// One level of a path into an aggregate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) step: Step,
    /// How many parts there are, unless only the buffer knows.
    pub(crate) arity: Option<u32>,
    /// Whether they are elements of an array, which are counted when copied.
    pub(crate) array: bool,
    /// In memory: where the part begins, or how far parts are apart that an index chooses from.
    pub(crate) bytes: usize,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Code {
    /// Arithmetic on scalars: a short way for the most frequent instructions.
    Scalar { op: Math, scalar: Scalar, args: Box<[Arg]>, result: Option<Slot> },
    /// Any other instruction without regions.
    Run { inst: Inst, args: Box<[Arg]>, levels: Box<[Level]>, result: Option<Slot> },
    /// An extract that leaves a hole behind.
    TakePart { from: Slot, indices: Box<[Arg]>, levels: Box<[Level]>, result: Slot },
    /// Reads all of `from`, then writes all of `to`, then jumps. A target may be absent.
    Move { from: Box<[Arg]>, to: Box<[Option<Slot>]>, clear: Box<[Slot]>, goto: usize },
    /// Goes on if the condition holds and jumps otherwise.
    Branch { cond: Arg, otherwise: usize },
    /// Jumps to the target of the selector's case, the last one if there is none.
    Switch { selector: Arg, cases: Box<[Const]>, targets: Box<[usize]> },
    /// Begins a counted loop.
    Count { n: Arg, rounds: Slot, round: Slot },
    /// Begins the next iteration of a counted loop, or leaves it.
    Round { rounds: Slot, round: Slot, counter: Option<Slot>, reversed: bool, done: usize },
    /// Ends an iteration.
    Next { round: Slot, goto: usize },
    /// Empties slots.
    Drop { slots: Box<[Slot]> },
    /// Runs a function.
    Call { func: FuncId, args: Box<[Arg]>, results: Box<[Option<Slot>]> },
    /// Begins a loop whose iterations are counted only to know how far a thread is.
    Start { round: Slot },
    /// Meets the other threads of the wave.
    Wave { inst: Inst, args: Box<[Arg]>, result: Option<Slot> },
    /// Removes the derivative of a value.
    Detach { arg: Arg, result: Option<Slot> },
    /// Waits for the other threads of the group.
    Wait,
    /// Leaves the function.
    Return { args: Box<[Arg]> },
}

/// A function ready to run.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) codes: Vec<Code>,
    /// The source of each code.
    pub(crate) spans: Vec<Span>,
    /// Where the inputs go; nowhere if they are not used.
    pub(crate) inputs: Vec<Option<Slot>>,
    /// The size of a frame.
    pub(crate) slots: usize,
    /// How many elements the arrays that it makes have.
    pub(crate) elements: u64,
    /// Its loops, each after those around it. Loops without a count are listed only if iterations are counted.
    pub(crate) loops: Vec<Rounds>,
}

/// Where the codes of a loop begin and end, and which slot counts its iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) round: Slot,
}
