//! Statements.

use crate::assigned::{self, Assigned};
use crate::func::Frame;
use cotangent_ir::Op;
use cotangent_sema::hir::{Block, Expr, LocalId, Stmt, StmtKind};

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
        }
    }

    fn declare(&mut self, local: LocalId, value: Option<&Expr>) {
        let value = match value {
            Some(e) => self.expr(e),
            None => {
                let ty = self.local_ty(local);
                self.b().undef(ty)
            }
        };
        self.set_var(local, value);
    }

    fn if_(&mut self, cond: &Expr, then: &Block, otherwise: &Block) {
        let cond = self.expr(cond);
        let mut assigned = Assigned::new();
        assigned::block(then, &mut assigned);
        assigned::block(otherwise, &mut assigned);
        let arms = [then, otherwise];
        self.branch(Op::If, cond, 2, &assigned, None, |f, i| {
            f.block(arms[i]);
            None
        });
    }
}
