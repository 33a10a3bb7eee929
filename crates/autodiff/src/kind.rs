//! What reverse mode distinguishes about operations: the constructs that it takes apart and turns round, each in its
//! own way, and everything else.

use cotangent_ir::{DiffCall, Func, FuncId, LinCall, LoopInfo, Op};

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
    match op {
        Op::Math(_)
        | Op::Const(_)
        | Op::Zero
        | Op::Undef
        | Op::Select
        | Op::Convert
        | Op::Bitcast
        | Op::Splat
        | Op::Sum
        | Op::Swizzle(_)
        | Op::Dot
        | Op::MatVec
        | Op::VecMat
        | Op::MatMat
        | Op::Outer
        | Op::Transpose
        | Op::Pack
        | Op::Extract(_)
        | Op::Insert(_)
        | Op::InsertAdd(_)
        | Op::Detach
        | Op::Global(_)
        | Op::Length => Kind::Plain,
        Op::Load(_) | Op::Store(_) | Op::Assert(_) => Kind::Memory,
        Op::If | Op::Switch(_) => Kind::Branches,
        Op::For(info) => Kind::Counted(*info),
        Op::While(info) => Kind::Conditional(*info),
        Op::Call(callee) => Kind::Call(*callee),
        Op::DiffCall(call) => Kind::DiffCall(call),
        Op::LinCall(call) => Kind::LinCall(call),
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => Kind::Exit,
    }
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
