//! Corrects calls that were parsed as casts.
//!
//! `(f)(x)` parses as a cast of `(x)`; only the checker knows that `f` is not a type. Suffixes after the parentheses then
//! belong to the call, not to its argument:
//!
//! ```text
//! (f)(a, b).x        read as a cast of  (a, b).x        is  f(a, b).x
//! ```

use cotangent_syntax::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

/// The call of `callee` that stands where `operand` is cast to it, unless no parentheses follow.
pub(super) fn call(callee: &Expr, operand: &Expr) -> Option<Expr> {
    let within = |base: &Expr| call(callee, base).map(Box::new);
    let kind = match &operand.kind {
        ExprKind::Paren(inner) => ExprKind::Call(Box::new(callee.clone()), arguments(inner)),
        ExprKind::Tuple(items) => ExprKind::Call(Box::new(callee.clone()), items.clone()),
        ExprKind::Member(base, name) => ExprKind::Member(within(base)?, *name),
        ExprKind::Index(base, at) => ExprKind::Index(within(base)?, at.clone()),
        ExprKind::Call(base, args) => ExprKind::Call(within(base)?, args.clone()),
        ExprKind::Apply(base, args) => ExprKind::Apply(within(base)?, args.clone()),
        ExprKind::Unary(op @ (UnaryOp::PostInc | UnaryOp::PostDec), base) => {
            ExprKind::Unary(*op, within(base)?)
        }
        _ => return None,
    };
    Some(Expr { kind, span: callee.span.to(operand.span) })
}

/// What commas separate, which is one value after the other only in parentheses of its own.
fn arguments(inner: &Expr) -> Vec<Expr> {
    match &inner.kind {
        ExprKind::Binary(BinaryOp::Comma, first, last) => {
            let mut list = arguments(first);
            list.push((**last).clone());
            list
        }
        _ => vec![inner.clone()],
    }
}
