//! Visits all expressions of a body.

use super::{Block, Expr, StmtKind};

/// Calls `visit` for every expression in a block, those around others first.
pub fn each_expr(block: &Block, visit: &mut dyn FnMut(&Expr)) {
    each_root(block, &mut |root| within(root, visit));
}

fn within(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    expr.operands().into_iter().for_each(|inner| within(inner, visit));
}

/// Goes over the expressions that statements have, to be read or to be changed: the same twice.
macro_rules! each_root {
    ($name:ident, $iter:ident, $(#[$doc:meta])* $($mutable:ident)?) => {
        $(#[$doc])*
        pub(super) fn $name<'b>(block: &'b $($mutable)? Block, visit: &mut dyn FnMut(&'b $($mutable)? Expr)) {
            for stmt in block {
                match &$($mutable)? stmt.kind {
                    StmtKind::Expr(expr) => visit(expr),
                    StmtKind::Let(_, value) | StmtKind::Return(value) => value.$iter().for_each(&mut *visit),
                    StmtKind::Block(block) => $name(block, visit),
                    StmtKind::If(cond, then, other) => {
                        visit(cond);
                        $name(then, visit);
                        $name(other, visit);
                    }
                    StmtKind::Loop(inner) => {
                        inner.cond.$iter().chain(inner.step.$iter()).for_each(&mut *visit);
                        $name(&$($mutable)? inner.body, visit);
                    }
                    StmtKind::Switch(_, selector, cases) => {
                        visit(selector);
                        cases.$iter().for_each(|case| $name(&$($mutable)? case.body, visit));
                    }
                    StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Discard => {}
                }
            }
        }
    };
}

each_root!(each_root, iter, /// Calls `visit` for the expressions that are not inside another one.
);
each_root!(each_root_mut, iter_mut, /// As [`each_root()`], to change them.
mut);
