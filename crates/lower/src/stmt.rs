//! Lowers statements.

use crate::assigned::{self, Assigned};
use crate::func::Frame;
use cotangent_base::Span;
use cotangent_ir::Op;
use cotangent_sema::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind};

/// One `if` of a chain.
struct Link<'s> {
    span: Span,
    cond: &'s Expr,
    then: &'s Block,
    /// What the branches assign.
    assigned: Assigned,
}

impl Frame<'_, '_> {
    /// Lowers a block.
    pub fn block(&mut self, block: &Block) {
        self.stmts(block);
    }

    /// Lowers statements in order, up to the first after which nothing can run.
    pub fn stmts<'s>(&mut self, stmts: impl IntoIterator<Item = &'s Stmt>) {
        for stmt in stmts {
            self.stmt(stmt);
            if self.is_done() || matches!(stmt.kind, StmtKind::Break(_)) {
                return;
            }
        }
    }

    /// Lowers a statement.
    pub fn stmt(&mut self, stmt: &Stmt) {
        self.span = stmt.span;
        match &stmt.kind {
            StmtKind::Expr(Expr { kind: ExprKind::Assign(place, value), span, .. }) => {
                self.span = *span;
                self.assign(place, value);
            }
            StmtKind::Expr(e) => {
                self.eval(e);
            }
            StmtKind::Let(local, value) => self.declare(*local, value.as_ref()),
            StmtKind::Block(inner) => self.block(inner),
            StmtKind::If(cond, then, otherwise) => self.if_(cond, then, otherwise),
            StmtKind::Loop(l) => self.loop_(l),
            StmtKind::Switch(label, selector, cases) => self.switch(*label, selector, cases),
            StmtKind::Break(label) => self.break_(*label),
            StmtKind::Continue(label) => self.continue_(*label),
            StmtKind::Return(value) => {
                let value = value.as_ref().and_then(|e| self.eval(e));
                self.leave(value);
            }
            // The thread goes on, for the sake of its neighbours, and writes nothing from here.
            StmtKind::Discard => _ = self.b().emit(Op::Discard, &[], &[]),
        }
    }

    fn declare(&mut self, local: LocalId, value: Option<&Expr>) {
        if self.pinned.contains(local) {
            if let Some(e) = value {
                let value = self.expr(e);
                self.set_pinned(local, value);
            }
            return;
        }
        let value = match value {
            Some(e) => self.expr(e),
            None => {
                let ty = self.local_ty(local);
                self.b().undef(ty)
            }
        };
        self.set_var(local, value);
    }

    /// Lowers an `if` with all `else if` after it. What each link assigns is found from the last to the first, so that a
    /// long chain is looked at once.
    fn if_(&mut self, cond: &Expr, then: &Block, mut otherwise: &Block) {
        let mut chain = vec![Link { span: self.span, cond, then, assigned: Assigned::new() }];
        while let [Stmt { kind: StmtKind::If(cond, then, last), span }] = &otherwise[..] {
            chain.push(Link { span: *span, cond, then, assigned: Assigned::new() });
            otherwise = last;
        }
        let mut assigned = Assigned::new();
        assigned::block(otherwise, &mut assigned);
        for link in chain.iter_mut().rev() {
            assigned::block(link.then, &mut assigned);
            link.assigned = assigned.clone();
            assigned::expr(link.cond, &mut assigned);
        }
        self.chain(&chain, otherwise);
    }

    fn chain(&mut self, chain: &[Link<'_>], otherwise: &Block) {
        let [link, rest @ ..] = chain else {
            return self.block(otherwise);
        };
        self.span = link.span;
        let cond = self.expr(link.cond);
        self.branch(Op::If, cond, 2, &link.assigned, None, |f, arm| {
            match arm {
                0 => f.block(link.then),
                _ => f.chain(rest, otherwise),
            }
            None
        });
    }
}
