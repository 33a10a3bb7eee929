//! Replaces `ref` accessors by `get` and `set`.
//!
//! ```text
//! ref { return cells[i]; }   =>   get { return cells[i]; }   set(v) { cells[i] = v; }
//! ```
//!
//! A reference can only be read and written. The replacement is equivalent only if evaluating the place has no side effects.
//! So a `ref` that does more than return a place, or calls a function in it, is not replaced. Properties, subscripts and
//! operators may also be calls, which the parser cannot see; they are assumed to have no effects.

use crate::ast::{Accessor, AccessorKind, Block, Body, Expr, ExprKind, Ident, Stmt, StmtKind, UnaryOp};
use cotangent_base::Symbol;

/// The accessors, with a pair for each `ref` that returns a place; of the pair only what is not written by hand.
pub(super) fn without(accessors: Vec<Accessor>) -> Vec<Accessor> {
    let (mut others, mut pairs) = (Vec::new(), Vec::new());
    for accessor in accessors {
        match returned(&accessor).cloned() {
            Some(place) => pairs.extend(pair(accessor, place)),
            None => others.push(accessor),
        }
    }
    for accessor in pairs {
        if others.iter().all(|other| other.kind != accessor.kind) {
            others.push(accessor);
        }
    }
    others
}

fn pair(accessor: Accessor, place: Expr) -> [Accessor; 2] {
    let span = place.span;
    // No program can say this name.
    let value = Ident { name: Symbol::new("new value"), span };
    let new = Expr { kind: ExprKind::Name(value.name), span };
    let write = Expr { kind: ExprKind::Assign(None, Box::new(place), Box::new(new)), span };
    let stmts = vec![Stmt { attributes: vec![], kind: StmtKind::Expr(write), span }];
    let body = Body::from(Block { stmts, span: accessor.span });
    let set = Accessor { kind: AccessorKind::Set, value: Some(value), body: Some(body), ..accessor.clone() };
    [Accessor { kind: AccessorKind::Get, ..accessor }, set]
}

/// The place that a `ref` accessor returns, if that is all it does.
fn returned(accessor: &Accessor) -> Option<&Expr> {
    let body = accessor.body.as_ref().filter(|_| accessor.kind == AccessorKind::Ref)?;
    match &body.block().stmts[..] {
        [Stmt { kind: StmtKind::Return(Some(place)), .. }] if is_quiet(place) => Some(place),
        _ => None,
    }
}

/// Whether an expression can be evaluated twice, and nobody sees.
fn is_quiet(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_) | ExprKind::This | ExprKind::Int(..) | ExprKind::Bool(_) => true,
        ExprKind::Member(of, _) | ExprKind::Paren(of) => is_quiet(of),
        ExprKind::Index(of, at) => is_quiet(of) && at.iter().all(is_quiet),
        ExprKind::Unary(op, of) => {
            let steps = [UnaryOp::PreInc, UnaryOp::PreDec, UnaryOp::PostInc, UnaryOp::PostDec];
            !steps.contains(op) && is_quiet(of)
        }
        ExprKind::Binary(_, a, b) => is_quiet(a) && is_quiet(b),
        ExprKind::Cast(_, of) => is_quiet(of),
        _ => false,
    }
}
