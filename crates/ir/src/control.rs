//! The control flow of operations.
//!
//! [`Op::control`] classifies operations as calls, constructs with regions, exits, and all others. So code that follows
//! control flow does not list the other operations.

use crate::{DiffCall, Effect, FuncId, LinCall, LoopInfo, Op, op_group};

/// Where a program goes when it has come to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control<'a> {
    /// On to the next instruction.
    Plain,
    /// Through a function: [`Op::Call`].
    Call(FuncId),
    /// Through a function and its derivative: [`Op::DiffCall`].
    DiffCall(&'a DiffCall),
    /// Through the linear half of a derivative: [`Op::LinCall`].
    LinCall(&'a LinCall),
    /// Into one of two regions: [`Op::If`].
    If,
    /// Into one of many regions: [`Op::Switch`].
    Switch(&'a [i64]),
    /// Into a loop with a condition: [`Op::While`].
    While(LoopInfo),
    /// Into a counted loop: [`Op::For`].
    For(LoopInfo),
    /// Out of the region.
    Exit(Exit),
}

/// The four ways to leave a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// [`Op::Yield`].
    Yield,
    /// [`Op::Break`].
    Break(u32),
    /// [`Op::Continue`].
    Continue(u32),
    /// [`Op::Return`].
    Return,
}

impl Exit {
    /// The operation.
    pub fn op(self) -> Op {
        match self {
            Exit::Yield => Op::Yield,
            Exit::Break(out) => Op::Break(out),
            Exit::Continue(out) => Op::Continue(out),
            Exit::Return => Op::Return,
        }
    }
}

impl Op {
    /// Where a program goes from here.
    pub fn control(&self) -> Control<'_> {
        match self {
            op_group!(plain) => Control::Plain,
            Op::Call(callee) => Control::Call(*callee),
            Op::DiffCall(call) => Control::DiffCall(call),
            Op::LinCall(call) => Control::LinCall(call),
            Op::If => Control::If,
            Op::Switch(cases) => Control::Switch(cases),
            Op::While(info) => Control::While(*info),
            Op::For(info) => Control::For(*info),
            Op::Yield => Control::Exit(Exit::Yield),
            Op::Break(out) => Control::Exit(Exit::Break(*out)),
            Op::Continue(out) => Control::Exit(Exit::Continue(*out)),
            Op::Return => Control::Exit(Exit::Return),
        }
    }

    /// How it leaves its region, if it does.
    pub fn exit(&self) -> Option<Exit> {
        if let Control::Exit(exit) = self.control() { Some(exit) } else { None }
    }

    /// The function it runs, or whose derivative it runs.
    pub fn callee(&self) -> Option<FuncId> {
        match self.control() {
            Control::Call(callee) => Some(callee),
            Control::DiffCall(call) => Some(call.func),
            Control::LinCall(call) => Some(call.call.func),
            Control::Plain | Control::If | Control::Switch(_) => None,
            Control::While(_) | Control::For(_) | Control::Exit(_) => None,
        }
    }

    /// The same, to change it.
    pub fn callee_mut(&mut self) -> Option<&mut FuncId> {
        if let Op::Call(callee)
        | Op::DiffCall(DiffCall { func: callee, .. })
        | Op::LinCall(LinCall { call: DiffCall { func: callee, .. }, .. }) = self
        {
            return Some(callee);
        }
        None
    }

    /// Whether it ends a region.
    pub const fn is_exit(&self) -> bool {
        matches!(self.effect(), Effect::Exit)
    }

    /// Whether it is a loop, and so counted by [`Op::Break`] and [`Op::Continue`].
    pub const fn is_loop(&self) -> bool {
        matches!(self, Op::While(_) | Op::For(_))
    }
}
