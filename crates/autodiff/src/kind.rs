//! Classifies operations for reverse mode: the constructs that it splits and transposes in special ways, and all other
//! operations.

use cotangent_ir::{Control, DiffCall, Effect, FuncId, LinCall, LoopInfo, Module, Op};

/// What an operation is to the passes of reverse mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind<'a> {
    /// Takes values and gives at most one: arithmetic, parts, constants.
    Plain,
    /// Reads or writes memory, or may stop the program.
    Memory,
    /// `if` or `switch`.
    Branches,
    /// A counted loop.
    Counted(LoopInfo),
    /// A loop with a condition.
    Conditional(LoopInfo),
    /// A call.
    Call(FuncId),
    /// A call beside its derivative.
    DiffCall(&'a DiffCall),
    /// The linear half of a call whose backward derivative is the user's.
    LinCall(&'a LinCall),
    /// The end of a region.
    Exit,
}

/// The kind of an operation.
pub(crate) fn kind(op: &Op) -> Kind<'_> {
    match op.control() {
        Control::Plain if op.effect() == Effect::None => Kind::Plain,
        Control::Plain => Kind::Memory,
        Control::If | Control::Switch(_) => Kind::Branches,
        Control::For(info) => Kind::Counted(info),
        Control::While(info) => Kind::Conditional(info),
        Control::Call(callee) => Kind::Call(callee),
        Control::DiffCall(call) => Kind::DiffCall(call),
        Control::LinCall(call) => Kind::LinCall(call),
        Control::Exit(_) => Kind::Exit,
    }
}

/// What a reader calls an operation: a call by its function as the program names it; anything else by its own name.
pub(crate) fn reads_as<'a>(module: &'a Module, op: &Op) -> &'a str {
    let callee = match kind(op) {
        Kind::Call(callee) => callee,
        Kind::DiffCall(call) => call.func,
        Kind::LinCall(call) => call.call.func,
        Kind::Plain | Kind::Memory | Kind::Branches => return op.name(),
        Kind::Counted(_) | Kind::Conditional(_) | Kind::Exit => return op.name(),
    };
    module.funcs[callee].plain_name().as_str()
}
