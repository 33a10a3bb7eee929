//! Checks whether control can reach the end of a body that must return a value.

use crate::codes;
use crate::facts::Rules;
use crate::hir::{Body, Const, Expr, ExprKind, FuncId, Label, Loop, LoopKind, Stmt, StmtKind, TyKind};
use cotangent_base::Diagnostic;

impl Rules<'_> {
    /// Warns about a function that may end without the value it promises.
    pub(crate) fn check_returns(&mut self, func: FuncId, body: &Body) {
        let result = self.program.funcs[func].result;
        let promises = !matches!(self.program.types.kind(result), TyKind::Void | TyKind::Error);
        if promises && falls_through(&body.block) {
            let (name, span) = (self.program.funcs[func].name, self.program.funcs[func].span);
            let message = format!("`{name}` may end without returning a value");
            self.diagnostics.push(
                Diagnostic::new(codes::MISSING_RETURN, span, message)
                    .help("return a value at the end of every path"),
            );
        }
    }
}

/// Whether control can reach the end of a block.
pub(crate) fn falls_through(block: &[Stmt]) -> bool {
    block.iter().all(passes)
}

fn passes(stmt: &Stmt) -> bool {
    match &stmt.kind {
        // What is wrong may have been meant to return.
        StmtKind::Expr(expr) => !matches!(expr.kind, ExprKind::Error),
        StmtKind::Let(..) => true,
        StmtKind::Block(block) => falls_through(block),
        StmtKind::If(cond, then, other) => match constant(cond) {
            Some(true) => falls_through(then),
            Some(false) => falls_through(other),
            None => falls_through(then) || falls_through(other),
        },
        StmtKind::Loop(inner) => loop_passes(inner),
        StmtKind::Switch(label, _, cases) => {
            let complete = cases.iter().any(|c| c.default);
            // A case that does not end falls into the next, so only the last one can fall out.
            let last = cases.last().is_none_or(|c| falls_through(&c.body));
            !complete || last || cases.iter().any(|c| breaks(&c.body, *label))
        }
        StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Return(_) | StmtKind::Discard => false,
    }
}

fn loop_passes(inner: &Loop) -> bool {
    let endless = inner.cond.as_ref().is_none_or(|c| constant(c) == Some(true));
    let ends_in_body =
        inner.kind == LoopKind::Post && !falls_through(&inner.body) && !continues(&inner.body, inner.label);
    breaks(&inner.body, inner.label) || !(endless || ends_in_body)
}

fn constant(cond: &Expr) -> Option<bool> {
    match cond.kind {
        ExprKind::Const(Const::Bool(value)) => Some(value),
        _ => None,
    }
}

/// Whether a jump out of `label` occurs.
fn breaks(block: &[Stmt], label: Label) -> bool {
    occurs(block, &|kind| matches!(kind, StmtKind::Break(l) if *l == label))
}

fn continues(block: &[Stmt], label: Label) -> bool {
    occurs(block, &|kind| matches!(kind, StmtKind::Continue(l) if *l == label))
}

fn occurs(block: &[Stmt], wanted: &dyn Fn(&StmtKind) -> bool) -> bool {
    let jumps = |s: &Stmt| matches!(s.kind, StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Return(_));
    // What follows a jump is never reached.
    let reached = block.iter().position(jumps).map_or(block.len(), |at| at + 1);
    block[..reached].iter().any(|stmt| {
        wanted(&stmt.kind)
            || match &stmt.kind {
                StmtKind::Block(block) => occurs(block, wanted),
                StmtKind::If(_, then, other) => occurs(then, wanted) || occurs(other, wanted),
                StmtKind::Loop(inner) => occurs(&inner.body, wanted),
                StmtKind::Switch(_, _, cases) => cases.iter().any(|c| occurs(&c.body, wanted)),
                StmtKind::Expr(_)
                | StmtKind::Let(..)
                | StmtKind::Break(_)
                | StmtKind::Continue(_)
                | StmtKind::Return(_)
                | StmtKind::Discard => false,
            }
    })
}
