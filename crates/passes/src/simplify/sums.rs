//! Sums with a known member: replaces the value taken out of a sum by the value put in.
//!
//! ```text
//! project m, (inject m, v)   v              tag (inject m, v)     m
//! project m, (inject n, v)   zero
//! ```
//!
//! So a call through an interface value of known type becomes a direct call: `fold` removes the `switch` on the known tag.

use crate::rewrite::{Change, Rewriter};
use cotangent_ir::{Const, Inst, Op, Value};

/// What was injected into a sum, and as which member.
fn injected(cx: &Rewriter<'_>, sum: Value) -> Option<(u32, Value)> {
    let data = cx.func.def(sum)?;
    if let Op::Inject(member) = data.op { Some((member, data.operands[0])) } else { None }
}

/// What was just put in comes out.
pub(super) fn project(cx: &mut Rewriter<'_>, inst: Inst, member: u32) -> Change {
    let sum = cx.func.insts[inst].operands[0];
    match injected(cx, sum) {
        Some((known, value)) if known == member => Change::value(value),
        Some(_) => cx.become_(inst, Op::Zero, &[]),
        None if matches!(cx.func.op(sum), Some(Op::Zero)) => cx.become_(inst, Op::Zero, &[]),
        None => Change::Keep,
    }
}

/// The number of a member that is known.
pub(super) fn tag(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let sum = cx.func.insts[inst].operands[0];
    let known = match injected(cx, sum) {
        Some((member, _)) => member,
        None if matches!(cx.func.op(sum), Some(Op::Zero)) => 0,
        None => return Change::Keep,
    };
    cx.become_(inst, Op::Const(Const::Int(known.into())), &[])
}
