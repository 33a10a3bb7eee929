//! Checks `defer`: statements that run when their block is left, in reverse order, on every exit.
//!
//! ```text
//! defer a(); defer b(); if (c) return f(x); d();
//! { if (c) { result = f(x); b(); a(); return result; } d(); b(); a(); }
//! ```
//!
//! The statement is checked again at every exit, in the scope where it is written, so that no later stage handles it. Its
//! errors are reported once, at the end of its block.

use crate::bodies::body::BodyCx;
use crate::bodies::variables::Names;
use crate::codes;
use crate::hir::{Block, Label, Stmt, StmtKind};
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;
use std::sync::Arc;

/// How often a function may repeat deferred statements at exits other than the ends of their blocks.
const MOST_REPEATED: usize = 10_000;
/// The most expressions in all these repetitions. One statement may be as large as a function.
const MOST_EXPRESSIONS: usize = 100_000;

/// A statement that waits for the end of its block.
pub(crate) struct Deferred {
    stmt: Arc<ast::Stmt>,
    /// The names that are visible to it.
    names: Names,
    scope: ScopeId,
    /// How many loops and switches stand around it.
    depth: usize,
}

/// How often exits repeated deferred statements so far.
#[derive(Default)]
pub(crate) struct Repeats {
    count: usize,
    expressions: usize,
    /// Whether an exit is doing so now. What it repeats has been checked before, so nothing is reported meanwhile.
    open: bool,
    /// Whether it is known that there are too many.
    reported: bool,
}

impl Repeats {
    /// Counts an expression that is checked.
    pub(crate) fn note_expression(&mut self) {
        self.expressions += usize::from(self.open);
    }

    fn are_too_many(&self) -> bool {
        self.count > MOST_REPEATED || self.expressions > MOST_EXPRESSIONS
    }
}

impl BodyCx<'_> {
    /// `defer stmt;`
    pub(super) fn defer(&mut self, stmt: &ast::Stmt) {
        if let Some(span) = jump(stmt, Inside::default()) {
            let message =
                "a deferred statement cannot be left by a jump: it runs while its block is being left";
            self.report(Diagnostic::new(codes::BAD_JUMP, span, message));
            return;
        }
        let (names, scope, depth) = (self.vars.visible(), self.scope, self.targets.len());
        self.defers.push(Deferred { stmt: Arc::new(stmt.clone()), names, scope, depth });
    }

    /// Runs what waits for the end of a block before which `before` statements waited.
    pub(super) fn end_block(&mut self, before: usize, out: &mut Block) {
        while self.defers.len() > before
            && let Some(deferred) = self.defers.pop()
        {
            // Within what an exit repeats, this is one more repetition.
            self.repeats.count += usize::from(self.repeats.open);
            if !self.repeats.open || !self.repeats.are_too_many() {
                self.emit_deferred(&deferred, out);
            }
        }
    }

    /// Runs what waits for the ends of all blocks inside the loop or switch of this label.
    pub(crate) fn leave(&mut self, label: Label, out: &mut Block) {
        let depth = self.targets.iter().take_while(|t| t.label != label).count();
        let from = self.defers.partition_point(|d| d.depth <= depth);
        self.leave_blocks(from, out);
    }

    /// A `return`, after everything that waits for the end of some block. The value is computed before.
    pub(crate) fn leave_function(&mut self, mut kind: StmtKind, out: &mut Block) -> StmtKind {
        if self.defers.is_empty() {
            return kind;
        }
        if let StmtKind::Return(Some(value)) = &mut kind
            && !self.constructor
        {
            let span = value.span;
            let result = self.temp("result", value.ty, span);
            let value = std::mem::replace(value, self.local(result, span));
            out.push(Stmt { kind: StmtKind::Let(result, Some(value)), span });
        }
        self.leave_blocks(0, out);
        kind
    }

    /// Runs what was deferred, from the last to that of the given number.
    fn leave_blocks(&mut self, from: usize, out: &mut Block) {
        let inside = std::mem::replace(&mut self.repeats.open, true);
        self.repeats.count += self.defers.len() - from;
        let waiting = std::mem::take(&mut self.defers);
        for deferred in waiting[from..].iter().rev() {
            if self.repeats.are_too_many() {
                break;
            }
            self.quietly(|cx| cx.emit_deferred(deferred, out));
        }
        self.defers = waiting;
        self.repeats.open = inside;
        if !inside {
            self.report_repeats();
        }
    }

    fn report_repeats(&mut self) {
        let Some(span) = self.defers.last().map(|deferred| deferred.stmt.span) else { return };
        if !self.repeats.are_too_many() || std::mem::replace(&mut self.repeats.reported, true) {
            return;
        }
        let what = match self.repeats.count > MOST_REPEATED {
            true => format!("{MOST_REPEATED} deferred statements"),
            false => format!("{MOST_EXPRESSIONS} expressions in deferred statements"),
        };
        let message = format!("the exits of this function repeat more than {what}");
        self.report(
            Diagnostic::new(codes::DEFERRED_TOO_OFTEN, span, message)
                .help("leave the block at fewer places, or defer one call of a function"),
        );
    }

    fn emit_deferred(&mut self, deferred: &Deferred, out: &mut Block) {
        let names = self.vars.show(deferred.names.clone());
        let scope = std::mem::replace(&mut self.scope, deferred.scope);
        // The block is being left already, so nobody outside takes its errors.
        let handlers = std::mem::take(&mut self.errors.handlers);
        let block = self.block(std::slice::from_ref(&*deferred.stmt));
        out.push(Stmt { kind: StmtKind::Block(block), span: deferred.stmt.span });
        self.errors.handlers = handlers;
        self.vars.show(names);
        self.scope = scope;
    }
}

/// What stands around a statement inside the deferred one, and takes jumps.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// A loop, which takes `continue` and `break`.
    repeats: bool,
    /// A loop or a `switch`, which take `break`.
    breaks: bool,
}

impl Inside {
    const LOOP: Inside = Inside { repeats: true, breaks: true };
}

/// Where a statement jumps out of the deferred statement that it is in. A `throw` is reported where nobody catches it.
fn jump(stmt: &ast::Stmt, inside: Inside) -> Option<Span> {
    let any = |stmts: &[ast::Stmt], inside| stmts.iter().find_map(|stmt| jump(stmt, inside));
    match &stmt.kind {
        ast::StmtKind::Break(None) => (!inside.breaks).then_some(stmt.span),
        ast::StmtKind::Continue => (!inside.repeats).then_some(stmt.span),
        ast::StmtKind::Break(Some(_)) | ast::StmtKind::Return(_) | ast::StmtKind::Discard => Some(stmt.span),
        ast::StmtKind::Block(block) => any(&block.stmts, inside),
        ast::StmtKind::If(_, then, other) => {
            jump(then, inside).or_else(|| other.as_deref().and_then(|other| jump(other, inside)))
        }
        ast::StmtKind::For(_, _, _, body)
        | ast::StmtKind::While(_, body)
        | ast::StmtKind::DoWhile(body, _) => jump(body, Inside::LOOP),
        ast::StmtKind::Defer(body) | ast::StmtKind::Labelled(_, body) => jump(body, inside),
        ast::StmtKind::Switch(_, cases) | ast::StmtKind::Platform(_, cases) => {
            let inside = Inside { breaks: true, ..inside };
            cases.iter().find_map(|case| any(&case.body, inside))
        }
        ast::StmtKind::Catch(body, _, _, handler) => {
            any(&body.stmts, inside).or_else(|| any(&handler.stmts, inside))
        }
        ast::StmtKind::Empty
        | ast::StmtKind::Expr(_)
        | ast::StmtKind::Decl(_)
        | ast::StmtKind::Throw(_)
        | ast::StmtKind::Error => None,
    }
}
