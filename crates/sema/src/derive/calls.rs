//! Checks calls of derivatives: `fwd_diff(f)(..)`, `bwd_diff(f)(..)`, and compositions.
//!
//! Overload resolution uses the derived signature of each candidate instead of its own. This module decides which functions
//! are allowed as `f`, and converts pairs: where a `float` converts to a `double`, so do their pairs.

use crate::Checked;
use crate::bodies::overload::Callee;
use crate::hir::{Arg, Call, Dir, Expr, ExprKind, FuncRef, Ty, TyKind};
use crate::tables::Item;

/// Leaves only candidates that have the derivative that is asked for. If none has, says so and gives `false`.
pub(crate) fn retain_derivable(checked: &mut Checked, callee: &mut Callee) -> bool {
    let Some(&mode) = callee.diff.first() else {
        return true;
    };
    let all = callee.candidates.clone();
    for candidate in &all {
        checked.ensure_func(candidate.func);
    }
    callee.candidates.retain(|c| {
        checked.program.funcs[c.func].diff.has(mode) || checked.facts().has_special(c.func, mode)
    });
    if callee.candidates.is_empty()
        && let Some(first) = all.first()
    {
        return checked.rules().check_direction(first.func, mode, callee.span);
    }
    true
}

/// What two pairs of numbers hold, if both types are that and the numbers have one shape.
pub(crate) fn pair_contents(checked: &Checked, from: Ty, to: Ty) -> Option<(Ty, Ty)> {
    let (from, to) = (number_in_pair(checked, from)?, number_in_pair(checked, to)?);
    let types = &checked.program.types;
    let is_one_shape = match (types.kind(from), types.kind(to)) {
        (TyKind::Scalar(_), TyKind::Scalar(_)) => true,
        (TyKind::Vector(_, m), TyKind::Vector(_, n)) => m == n,
        (TyKind::Matrix(_, r, c), TyKind::Matrix(_, s, d)) => (r, c) == (s, d),
        _ => false,
    };
    is_one_shape.then_some((from, to))
}

fn number_in_pair(checked: &Checked, ty: Ty) -> Option<Ty> {
    let types = &checked.program.types;
    let TyKind::Struct(id, args) = types.kind(ty) else {
        return None;
    };
    let [Arg::Ty(content)] = types.list(args) else {
        return None;
    };
    let is_number =
        matches!(types.kind(*content), TyKind::Scalar(_) | TyKind::Vector(..) | TyKind::Matrix(..));
    (checked.program.lang.pair == Some(id) && is_number).then_some(*content)
}

/// A pair with both halves converted, by the library's function for that.
pub(crate) fn converted_pair(checked: &mut Checked, pair: Expr, to: Ty) -> Expr {
    let span = pair.span;
    let contents = pair_contents(checked, pair.ty, to);
    let convert = checked.tables.lang.get(&"convertPair".into()).copied();
    let (Some((a, b)), Some(Item::Func(func))) = (contents, convert) else {
        return Expr::new(ExprKind::Error, to, span);
    };
    let args = checked.program.types.args(&[Arg::Ty(b), Arg::Ty(a)]);
    let callee = FuncRef { func, args };
    let call = Call { callee, diff: vec![], args: vec![(Dir::In, pair)], through: None };
    Expr::new(ExprKind::Call(call.into()), to, span)
}
