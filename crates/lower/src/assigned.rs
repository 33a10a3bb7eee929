//! Finds the variables that a piece of code may assign.
//!
//! Where control flow joins, exactly these variables need a new value. Variables declared inside the code do not count, since
//! they are not visible outside.

use cotangent_base::EntitySet;
use cotangent_sema::hir::{Block, Dir, Expr, ExprKind, LocalId, Loop, Stmt, StmtKind};

/// The variables assigned so far.
pub(crate) type Assigned = EntitySet<LocalId>;

/// Adds what the statements assign.
pub(crate) fn block(block: &Block, to: &mut Assigned) {
    block.iter().for_each(|s| stmt(s, to));
}

/// Adds what a statement assigns.
pub(crate) fn stmt(stmt: &Stmt, to: &mut Assigned) {
    match &stmt.kind {
        StmtKind::Expr(e) | StmtKind::Let(_, Some(e)) | StmtKind::Return(Some(e)) => expr(e, to),
        StmtKind::Block(inner) => block(inner, to),
        StmtKind::If(cond, then, otherwise) => {
            expr(cond, to);
            block(then, to);
            block(otherwise, to);
        }
        StmtKind::Loop(l) => loop_(l, to),
        StmtKind::Switch(_, selector, cases) => {
            expr(selector, to);
            cases.iter().for_each(|c| block(&c.body, to));
        }
        StmtKind::Let(_, None) | StmtKind::Return(None) => {}
        StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Discard => {}
    }
}

/// Adds what a loop assigns.
pub(crate) fn loop_(l: &Loop, to: &mut Assigned) {
    l.cond.iter().chain(&l.step).for_each(|e| expr(e, to));
    block(&l.body, to);
}

/// Adds what an expression assigns.
pub(crate) fn expr(e: &Expr, to: &mut Assigned) {
    if let ExprKind::Assign(place, _) | ExprKind::Modify { place, .. } = &e.kind {
        root(place, to);
    }
    if let ExprKind::Property { changes: true, .. } = &e.kind {
        root(e, to);
    }
    if let ExprKind::Call(call) = &e.kind {
        let written = call.args.iter().filter(|(dir, _)| *dir != Dir::In);
        written.flat_map(|(_, arg)| arg.elements()).for_each(|arg| root(arg, to));
    }
    e.operands().into_iter().for_each(|inner| expr(inner, to));
}

/// Adds the variable a place is part of, if it is part of one.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other expression is a place")]
fn root(place: &Expr, to: &mut Assigned) {
    match &place.kind {
        ExprKind::Local(local) => {
            to.insert(*local);
        }
        ExprKind::Field(base, _)
        | ExprKind::Element(base, _)
        | ExprKind::Swizzle(base, _)
        | ExprKind::MatrixSwizzle(base, _)
        | ExprKind::Convert(base)
        | ExprKind::Property { this: Some(base), mutating: true, .. } => root(base, to),
        _ => {}
    }
}
