//! Going over all expressions of a body.

use super::{Block, Expr, StmtKind};

/// Calls `visit` for every expression in a block, those around others first.
pub(crate) fn each_expr(block: &Block, visit: &mut dyn FnMut(&Expr)) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Expr(expr) => within(expr, visit),
            StmtKind::Let(_, value) | StmtKind::Return(value) => {
                value.iter().for_each(|value| within(value, visit));
            }
            StmtKind::Block(block) => each_expr(block, visit),
            StmtKind::If(cond, then, other) => {
                within(cond, visit);
                each_expr(then, visit);
                each_expr(other, visit);
            }
            StmtKind::Loop(inner) => {
                inner.cond.iter().chain(&inner.step).for_each(|expr| within(expr, visit));
                each_expr(&inner.body, visit);
            }
            StmtKind::Switch(_, selector, cases) => {
                within(selector, visit);
                cases.iter().for_each(|case| each_expr(&case.body, visit));
            }
            StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Discard => {}
        }
    }
}

fn within(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    expr.operands().into_iter().for_each(|inner| within(inner, visit));
}
