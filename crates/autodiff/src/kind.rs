//! What reverse mode distinguishes about operations: the constructs that it splits and transposes, each in its own way,
//! and everything else.

use cotangent_ir::{Control, DiffCall, Effect, Func, FuncId, LinCall, LoopInfo, Module, Op};

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

/// What a reader calls an operation: a call by its function, without generic arguments; anything else by its own name.
pub(crate) fn reads_as<'a>(module: &'a Module, op: &Op) -> &'a str {
    let callee = match kind(op) {
        Kind::Call(callee) => callee,
        Kind::DiffCall(call) => call.func,
        Kind::LinCall(call) => call.call.func,
        Kind::Plain | Kind::Memory | Kind::Branches => return op.name(),
        Kind::Counted(_) | Kind::Conditional(_) | Kind::Exit => return op.name(),
    };
    plain_name(module, callee)
}

/// The name of a function as the program has it: `f` for the copy `paired(f<4>)`, and for a half of it.
pub(crate) fn plain_name(module: &Module, func: FuncId) -> &str {
    let name = module.funcs[func].name.as_str();
    let name = name.strip_prefix("paired(").map_or(name, |copied| copied.split(')').next().unwrap_or(copied));
    name.split_once('<').map_or(name, |(plain, _)| plain).trim_end_matches(".primal")
}

/// The functions that `func` calls, in order and perhaps more than once.
pub(crate) fn callees(func: &Func) -> Vec<FuncId> {
    let mut callees = Vec::new();
    func.walk(func.body, &mut |inst| {
        if let Op::Call(callee) = func.insts[inst].op {
            callees.push(callee);
        }
    });
    callees
}
