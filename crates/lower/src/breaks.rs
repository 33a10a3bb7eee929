//! Rewrites `break` in the cases of a `switch`.
//!
//! A `break` at the end of its path needs no exit, because the region ends there. A `break` inside an `if` is brought to the
//! end of its path by moving the code after the `if` into the branch that continues:
//!
//! ```text
//! if (c) { a; break; } b;           if (c) { a; } else { b; }
//! ```

use cotangent_sema::hir::{Block, Label, Stmt, StmtKind};

/// The statements with what follows an `if` moved into it, if some `break` of that label is not the last thing on its
/// path. Those in loops, or in an `if` both sides of which go on, stay where they are.
pub(crate) fn sunk(stmts: &[&Stmt], label: Label) -> Option<Block> {
    (!only_last(stmts, label)).then(|| sink(stmts.iter().copied().cloned().collect(), label))
}

fn sink(mut stmts: Block, label: Label) -> Block {
    let Some(at) = stmts.iter().position(|s| breaks(s, label)) else { return stmts };
    let rest = stmts.split_off(at + 1);
    let Some(stmt) = stmts.pop() else { return rest };
    let span = stmt.span;
    match stmt.kind {
        StmtKind::Break(_) => {}
        StmtKind::Block(mut inner) => {
            inner.extend(rest);
            stmts.extend(sink(inner, label));
        }
        StmtKind::If(cond, mut then, mut other) if rest.is_empty() || jumps(&then) || jumps(&other) => {
            if let Some(side) = [&mut then, &mut other].into_iter().find(|side| !jumps(side)) {
                side.extend(rest);
            }
            let kind = StmtKind::If(cond, sink(then, label), sink(other, label));
            stmts.push(Stmt { kind, span });
        }
        kind @ (StmtKind::Expr(_)
        | StmtKind::Let(..)
        | StmtKind::If(..)
        | StmtKind::Loop(_)
        | StmtKind::Switch(..)
        | StmtKind::Continue(_)
        | StmtKind::Return(_)
        | StmtKind::Discard) => {
            stmts.push(Stmt { kind, span });
            stmts.extend(rest);
        }
    }
    stmts
}

/// Whether control never reaches the end of the statements.
pub(crate) fn jumps(block: &Block) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Return(_) => true,
        StmtKind::Block(inner) => jumps(inner),
        StmtKind::If(_, then, otherwise) => jumps(then) && jumps(otherwise),
        StmtKind::Expr(_)
        | StmtKind::Let(..)
        | StmtKind::Loop(_)
        | StmtKind::Switch(..)
        | StmtKind::Discard => false,
    })
}

/// Whether every `break` of that label is the last thing its region does.
pub(crate) fn only_last(stmts: &[&Stmt], label: Label) -> bool {
    let end = stmts.iter().position(|s| matches!(s.kind, StmtKind::Break(l) if l == label));
    let stmts = end.map_or(stmts, |end| &stmts[..=end]);
    let Some((last, before)) = stmts.split_last() else {
        return true;
    };
    !before.iter().any(|s| breaks(s, label)) && last_breaks_fit(last, label)
}

fn last_breaks_fit(stmt: &Stmt, label: Label) -> bool {
    let fit = |block: &Block| only_last(&block.iter().collect::<Vec<_>>(), label);
    match &stmt.kind {
        StmtKind::Block(inner) => fit(inner),
        StmtKind::If(_, then, otherwise) => fit(then) && fit(otherwise),
        StmtKind::Loop(_) | StmtKind::Switch(..) => !breaks(stmt, label),
        StmtKind::Expr(_)
        | StmtKind::Let(..)
        | StmtKind::Break(_)
        | StmtKind::Continue(_)
        | StmtKind::Return(_)
        | StmtKind::Discard => true,
    }
}

/// Whether a statement contains a `break` of that label.
pub fn breaks(stmt: &Stmt, label: Label) -> bool {
    contains(stmt, &|kind| matches!(kind, StmtKind::Break(l) if *l == label))
}

/// Whether a statement contains a `continue` of that label.
pub fn continues(stmt: &Stmt, label: Label) -> bool {
    contains(stmt, &|kind| matches!(kind, StmtKind::Continue(l) if *l == label))
}

/// Whether a statement is, or contains, one that is `wanted`.
fn contains(stmt: &Stmt, wanted: &dyn Fn(&StmtKind) -> bool) -> bool {
    let any = |block: &Block| block.iter().any(|s| contains(s, wanted));
    match &stmt.kind {
        kind if wanted(kind) => true,
        StmtKind::Block(inner) => any(inner),
        StmtKind::If(_, then, otherwise) => any(then) || any(otherwise),
        StmtKind::Loop(l) => any(&l.body),
        StmtKind::Switch(_, _, cases) => cases.iter().any(|c| any(&c.body)),
        StmtKind::Expr(_)
        | StmtKind::Let(..)
        | StmtKind::Break(_)
        | StmtKind::Continue(_)
        | StmtKind::Return(_)
        | StmtKind::Discard => false,
    }
}
