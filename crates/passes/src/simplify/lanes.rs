//! Simplifies vectors: swizzles of swizzles, of splats and of packs, and `zero`s whose shape changes.

use crate::consts::is_zero;
use crate::rewrite::{Change, Rewriter};
use cotangent_ir::{Inst, Op, Path, Type, Value};
use smallvec::SmallVec;

/// Splat, sum and transpose of zero are zero; transposing twice is nothing.
pub(super) fn of_zero(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let a = data.operands[0];
    if is_zero(cx.func, a) {
        return cx.become_(inst, Op::Zero, &[]);
    }
    if let Op::Transpose = data.op
        && let Some(inner) = cx.func.def(a)
        && inner.op == Op::Transpose
    {
        return Change::value(inner.operands[0]);
    }
    Change::Keep
}

/// Looks through what makes the vector.
pub(super) fn swizzle(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let Op::Swizzle(lanes) = data.op.clone() else {
        return Change::Keep;
    };
    let (vector, ty) = (data.operands[0], cx.func.ty(data.results[0]));
    let is_scalar = matches!(cx.types.get(ty), Type::Scalar(_));
    if ty == cx.func.ty(vector) && lanes.iter().enumerate().all(|(i, lane)| i == *lane as usize) {
        return Change::value(vector);
    }
    if is_scalar && lanes.len() == 1 {
        return cx.become_(inst, Op::Extract(Path::part(lanes[0].into())), &[vector]);
    }
    let Some(made) = cx.func.def(vector) else {
        return Change::Keep;
    };
    if let Op::Zero | Op::Undef = made.op {
        let op = made.op.clone();
        return cx.become_(inst, op, &[]);
    }
    let operands: SmallVec<[Value; 3]> = made.operands.clone();
    if let Op::Swizzle(inner) = &made.op {
        let composed = lanes.iter().map(|lane| inner[*lane as usize]).collect();
        return cx.become_(inst, Op::Swizzle(composed), &operands);
    }
    if let Op::Splat = made.op {
        return cx.become_(inst, Op::Splat, &operands);
    }
    if let Op::Pack = made.op {
        let parts: Vec<Value> = lanes.iter().map(|lane| operands[*lane as usize]).collect();
        return cx.become_(inst, Op::Pack, &parts);
    }
    Change::Keep
}

/// The vector of which `value` is a lane, and which.
pub(super) fn lane_of(cx: &Rewriter<'_>, value: Value) -> Option<(Value, u8)> {
    let data = cx.func.def(value)?;
    let Op::Extract(path) = &data.op else { return None };
    let of = data.operands[0];
    let [cotangent_ir::Step::Part(lane)] = path.0[..] else {
        return None;
    };
    matches!(cx.types.get(cx.func.ty(of)), Type::Vector(..)).then_some((of, lane as u8))
}
