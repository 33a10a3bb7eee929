//! Simplifies numbers: identities of arithmetic, choices and conversions.

use crate::consts::{self, is_zero, same};
use crate::pass::When;
use crate::rewrite::{Change, Rewriter};
use cotangent_ir::{Const, Inst, Math, Op, Type, Value};

/// Element-wise operations with a neutral, an absorbing or a repeated operand.
pub(super) fn math(cx: &mut Rewriter<'_>, inst: Inst, math: Math) -> Change {
    let a = cx.func.insts[inst].operands[0];
    if math.arity() == 1 {
        return unary(cx, inst, math, a);
    }
    let b = cx.func.insts[inst].operands[1];
    if math.arity() == 2 {
        if let Some(kept) = neutral(cx, math, a, b) {
            return Change::value(kept);
        }
        if let Some(absorbing) = absorbing(cx, math, a, b) {
            return Change::value(absorbing);
        }
        if a == b {
            return repeated(cx, inst, math, a);
        }
        if let Some(known) = beside_zero(cx, math, a, b) {
            return cx.become_(inst, Op::Const(Const::Bool(known)), &[]);
        }
    }
    Change::Keep
}

fn unary(cx: &mut Rewriter<'_>, inst: Inst, math: Math, a: Value) -> Change {
    let inner = cx.func.def(a);
    if let Math::Neg | Math::Not = math
        && let Some(data) = inner
        && data.op == Op::Math(math)
    {
        return Change::value(data.operands[0]);
    }
    if math == Math::Neg && is_zero(cx.func, a) {
        return cx.become_(inst, Op::Zero, &[]);
    }
    Change::Keep
}

/// An operation and the constants that leave its other operand as it is, on the right and on the left.
struct Neutral(Math, &'static [Const], &'static [Const]);

const NONE: &[Const] = &[Const::Int(0), Const::Bool(false)];
const ALL: &[Const] = &[Const::Int(-1), Const::Bool(true)];
const ONE: &[Const] = &[Const::Int(1), Const::float(1.0)];
/// Adding a positive zero is not here: it makes a negative zero positive.
const ADDS_NOTHING: &[Const] = &[Const::Int(0), Const::float(-0.0)];
const SUBTRACTS_NOTHING: &[Const] = &[Const::Int(0), Const::float(0.0)];

const NEUTRAL: &[Neutral] = &[
    Neutral(Math::Add, ADDS_NOTHING, ADDS_NOTHING),
    Neutral(Math::Sub, SUBTRACTS_NOTHING, &[]),
    Neutral(Math::Mul, ONE, ONE),
    Neutral(Math::Div, ONE, &[]),
    Neutral(Math::And, ALL, ALL),
    Neutral(Math::Or, NONE, NONE),
    Neutral(Math::Xor, NONE, NONE),
    Neutral(Math::Shl, NONE, &[]),
    Neutral(Math::Shr, NONE, &[]),
];

/// An operation and the constants that are its result whatever the other operand is. No floats: NaN has its way.
const ABSORBING: &[(Math, &[Const])] = &[(Math::Mul, &[Const::Int(0)]), (Math::And, NONE), (Math::Or, ALL)];

/// The operand that the other one leaves as it is.
fn neutral(cx: &Rewriter<'_>, math: Math, a: Value, b: Value) -> Option<Value> {
    if math == Math::Add && is_zero(cx.func, b) {
        return Some(a);
    }
    if math == Math::Add && is_zero(cx.func, a) {
        return Some(b);
    }
    let Neutral(_, right, left) = NEUTRAL.iter().find(|row| row.0 == math)?;
    if is_one_of(cx, b, right) {
        Some(a)
    } else if is_one_of(cx, a, left) {
        Some(b)
    } else {
        None
    }
}

/// The operand that decides alone: `x * 0` of integers, `x & 0`, `x || true`.
fn absorbing(cx: &Rewriter<'_>, math: Math, a: Value, b: Value) -> Option<Value> {
    let (_, wanted) = ABSORBING.iter().find(|row| row.0 == math)?;
    [a, b].into_iter().find(|value| is_one_of(cx, *value, wanted))
}

fn is_one_of(cx: &Rewriter<'_>, value: Value, wanted: &[Const]) -> bool {
    let Some(scalar) = cx.types.scalar_of(cx.func.ty(value)) else {
        return false;
    };
    let constant = consts::uniform(cx.types, cx.func, value);
    constant.is_some_and(|c| wanted.iter().any(|w| c == cx.types.eval().constant(*w, scalar)))
}

/// What a comparison of an unsigned number with zero gives whatever the number is: nothing is below zero.
fn beside_zero(cx: &Rewriter<'_>, math: Math, a: Value, b: Value) -> Option<bool> {
    let Type::Scalar(scalar) = cx.types.get(cx.func.ty(a)) else { return None };
    let rows = [(Math::Lt, b, false), (Math::Ge, b, true), (Math::Gt, a, false), (Math::Le, a, true)];
    let (_, zero, known) = rows.into_iter().find(|row| row.0 == math)?;
    (scalar.is_int() && !scalar.is_signed() && is_one_of(cx, zero, &[Const::Int(0)])).then_some(known)
}

/// An operation on one value twice.
fn repeated(cx: &mut Rewriter<'_>, inst: Inst, math: Math, a: Value) -> Change {
    let float = cx.types.scalar_of(cx.func.ty(a)).is_none_or(|s| s.is_float());
    if matches!(math, Math::And | Math::Or | Math::Min | Math::Max) {
        return Change::value(a);
    }
    if matches!(math, Math::Sub | Math::Xor) && !float {
        return cx.become_(inst, Op::Zero, &[]);
    }
    // A number that is none differs from itself; other values do not.
    if matches!(cx.types.get(cx.func.ty(a)), Type::Scalar(_)) && !float {
        if matches!(math, Math::Eq | Math::Le | Math::Ge) {
            return cx.become_(inst, Op::Const(Const::Bool(true)), &[]);
        }
        if matches!(math, Math::Ne | Math::Lt | Math::Gt) {
            return cx.become_(inst, Op::Const(Const::Bool(false)), &[]);
        }
    }
    Change::Keep
}

/// A choice between equals, by a negated condition, or of the condition itself.
pub(super) fn select(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let operands = cx.func.insts[inst].operands.clone();
    let (cond, a, b) = (operands[0], operands[1], operands[2]);
    if same(cx.func, a, b) {
        return Change::value(a);
    }
    if is_zero(cx.func, a) && is_zero(cx.func, b) {
        return cx.become_(inst, Op::Zero, &[]);
    }
    if let Some(data) = cx.func.def(cond)
        && data.op == Op::Math(Math::Not)
    {
        let cond = data.operands[0];
        return cx.become_(inst, Op::Select, &[cond, b, a]);
    }
    let sides = [a, b].map(|v| consts::uniform(cx.types, cx.func, v));
    if sides == [Some(Const::Bool(true)), Some(Const::Bool(false))] && cx.func.ty(cond) == cx.func.ty(a) {
        return Change::value(cond);
    }
    Change::Keep
}

/// A conversion to the type it is already. The bits of a float have no derivative, so a float made of them has none either; it does
/// not become that float while derivatives may be taken.
pub(super) fn convert(cx: &mut Rewriter<'_>, inst: Inst, when: When) -> Change {
    let data = &cx.func.insts[inst];
    let a = data.operands[0];
    if cx.func.ty(a) == cx.func.ty(data.results[0]) {
        return Change::value(a);
    }
    if is_zero(cx.func, a) {
        return cx.become_(inst, Op::Zero, &[]);
    }
    if let Op::Bitcast = data.op
        && let Some(inner) = cx.func.def(a)
        && inner.op == Op::Bitcast
    {
        let original = inner.operands[0];
        let is_float = cx.types.scalar_of(cx.func.ty(original)).is_some_and(|scalar| scalar.is_float());
        if when == When::BeforeDerivatives && is_float {
            return Change::Keep;
        }
        return cx.become_(inst, Op::Bitcast, &[original]);
    }
    Change::Keep
}

/// A constant has no derivative to lose, nor has what was detached before.
pub(super) fn detach(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let a = cx.func.insts[inst].operands[0];
    if matches!(cx.func.op(a), Some(Op::Detach | Op::Const(_))) {
        return Change::value(a);
    }
    Change::Keep
}
