//! Loops, and what their attributes say.

use crate::attrs;
use crate::body::{BodyCx, Target};
use crate::codes;
use crate::hir::{Block, Const, Expr, ExprKind, Loop, LoopAttrs, LoopKind, Stmt, StmtKind, Unroll, Val};
use crate::known;
use cotangent_base::{Diagnostic, Symbol};
use cotangent_syntax::ast;

impl BodyCx<'_> {
    /// A loop: its condition, step and body.
    pub(crate) fn looped(
        &mut self,
        kind: LoopKind,
        (cond, step, body): (Option<&ast::Expr>, Option<&ast::Expr>, &ast::Stmt),
        attributes: &[ast::Attribute],
        name: Option<Symbol>,
    ) -> StmtKind {
        let label = self.label();
        let attrs = self.loop_attrs(attributes);
        let (before, cond) = match cond {
            Some(cond) => {
                let (before, cond) = self.loop_condition(cond);
                (before, Some(cond))
            }
            None => (vec![], None),
        };
        let step = step.map(|s| self.unsurely(|cx| cx.expr(s)));
        self.targets.push(Target { label, name, is_loop: true, hidden: false });
        let body = self.single(body);
        self.targets.pop();
        let loop_ = Loop { label, kind, cond, step, body, attrs };
        if before.is_empty() { StmtKind::Loop(Box::new(loop_)) } else { self.tested_inside(loop_, before) }
    }

    /// A loop whose condition has something before it: it is tested at the beginning of the body, from the second round on if the
    /// body comes first.
    fn tested_inside(&mut self, mut inner: Loop, mut test: Block) -> StmtKind {
        let Some(cond) = inner.cond.take() else { return StmtKind::Loop(Box::new(inner)) };
        let (span, ty) = (cond.span, cond.ty);
        let leave = Stmt { kind: StmtKind::Break(inner.label), span };
        test.push(Stmt { kind: StmtKind::If(cond, vec![], vec![leave]), span });
        let own = std::mem::take(&mut inner.body);
        if inner.kind == LoopKind::Pre {
            inner.body = test;
            inner.body.push(Stmt { kind: StmtKind::Block(own), span });
            return StmtKind::Loop(Box::new(inner));
        }
        let again = self.temp("again", ty, span);
        let truth = |value| Expr { kind: ExprKind::Const(Const::Bool(value)), ty, span };
        let begin = Stmt { kind: StmtKind::Let(again, Some(truth(false))), span };
        let place = self.local(again, span);
        let note = ExprKind::Assign(place.clone().into(), truth(true).into());
        inner.kind = LoopKind::Pre;
        inner.body = vec![
            Stmt { kind: StmtKind::If(place, test, vec![]), span },
            Stmt { kind: StmtKind::Expr(Expr { kind: note, ty, span }), span },
            Stmt { kind: StmtKind::Block(own), span },
        ];
        StmtKind::Block(vec![begin, Stmt { kind: StmtKind::Loop(Box::new(inner)), span }])
    }

    fn loop_attrs(&mut self, attributes: &[ast::Attribute]) -> LoopAttrs {
        let scope = self.scope;
        self.cx.warn_unknown_attributes(attributes, scope);
        self.cx.check_placement(attributes, known::LOOP);
        let max_iters = attrs::find(attributes, "MaxIters").and_then(|a| self.max_iters(a));
        let unroll = if attrs::has(attributes, "ForceUnroll") {
            Unroll::Force
        } else if attrs::has(attributes, "loop") {
            Unroll::Never
        } else {
            Unroll::Auto
        };
        LoopAttrs { max_iters, unroll }
    }

    /// The bound that `[MaxIters(n)]` gives.
    fn max_iters(&mut self, attribute: &ast::Attribute) -> Option<Val> {
        let scope = self.scope;
        let max = attribute.args.first().map(|e| self.knowing_locals(|cx| cx.const_val(e, scope)));
        let known = max.map(|max| self.cx.program.types.known(max));
        if matches!(known, None | Some(Some(..=0))) {
            let span = attribute.args.first().map_or(attribute.name.span, |e| e.span);
            let message = "the bound of a loop must be a constant that is at least 1";
            let help = "write how many rounds there are at most: `[MaxIters(64)]`";
            self.report(Diagnostic::new(codes::BAD_SIZE, span, message).help(help));
            return None;
        }
        max
    }
}
