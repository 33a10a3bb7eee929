//! Checks loops and their attributes.

use crate::bodies::body::{BodyCx, Target};
use crate::codes;
use crate::declarations::attribute_rules;
use crate::declarations::attrs;
use crate::hir::{
    Block, Const, Expr, ExprKind, Loop, LoopAttrs, LoopKind, Segments, Stmt, StmtKind, Unroll, Val,
};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
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
        let (before_step, step) = match step {
            Some(step) => {
                let (before, step) = self.loop_step(step);
                (before, Some(step))
            }
            None => (vec![], None),
        };
        self.targets.push(Target { label, name, is_loop: true, hidden: false });
        let body = self.single(body);
        self.targets.pop();
        let loop_ = Loop { label, kind, cond, step, body, attrs };
        if before.is_empty() && before_step.is_empty() {
            return StmtKind::Loop(Box::new(loop_));
        }
        self.tested_inside(loop_, before, before_step)
    }

    /// A loop whose condition or step has something before it: both move to the beginning of the body, the step from the second iteration
    /// on, and so does the condition if the body comes first.
    fn tested_inside(&mut self, mut inner: Loop, before_test: Block, mut again_first: Block) -> StmtKind {
        let span = inner.cond.as_ref().or(inner.step.as_ref()).map_or(Span::none(), |expr| expr.span);
        if !again_first.is_empty()
            && let Some(step) = inner.step.take()
        {
            again_first.push(Stmt { kind: StmtKind::Expr(step), span });
        }
        let mut test = before_test;
        if let Some(cond) = inner.cond.take() {
            let leave = Stmt { kind: StmtKind::Break(inner.label), span };
            test.push(Stmt { kind: StmtKind::If(cond, vec![], vec![leave]), span });
        }
        match inner.kind {
            LoopKind::Pre if again_first.is_empty() => {
                test.push(Stmt { kind: StmtKind::Block(std::mem::take(&mut inner.body)), span });
                inner.body = test;
                StmtKind::Loop(Box::new(inner))
            }
            LoopKind::Pre => self.but_for_the_first_round(inner, again_first, test, span),
            LoopKind::Post => self.but_for_the_first_round(inner, test, vec![], span),
        }
    }

    /// A loop that begins each iteration but the first with `later`, and each with `always`.
    fn but_for_the_first_round(
        &mut self,
        mut inner: Loop,
        later: Block,
        always: Block,
        span: Span,
    ) -> StmtKind {
        let ty = self.scalar(Scalar::Bool);
        let own = std::mem::take(&mut inner.body);
        let again = self.temp("again", ty, span);
        let truth = |value| Expr::new(ExprKind::Const(Const::Bool(value)), ty, span);
        let begin = Stmt { kind: StmtKind::Let(again, Some(truth(false))), span };
        let place = self.local(again, span);
        let note = ExprKind::Assign(place.clone().into(), truth(true).into());
        inner.kind = LoopKind::Pre;
        inner.body = vec![
            Stmt { kind: StmtKind::If(place, later, vec![]), span },
            Stmt { kind: StmtKind::Expr(Expr::new(note, ty, span)), span },
        ];
        inner.body.extend(always);
        inner.body.push(Stmt { kind: StmtKind::Block(own), span });
        StmtKind::Block(vec![begin, Stmt { kind: StmtKind::Loop(Box::new(inner)), span }])
    }

    fn loop_attrs(&mut self, attributes: &[ast::Attribute]) -> LoopAttrs {
        let scope = self.scope;
        self.cx.warn_unknown_attributes(attributes, scope);
        self.cx.rules().check_placement(attributes, attribute_rules::LOOP);
        let max_iters = attrs::find(attributes, "MaxIters").and_then(|a| self.max_iters(a));
        let unroll = if attrs::has(attributes, "ForceUnroll") {
            Unroll::Force
        } else if attrs::has(attributes, "loop") {
            Unroll::Never
        } else {
            Unroll::Auto
        };
        let segments = attrs::find(attributes, "Checkpoint").and_then(|a| self.segments(a));
        if let (Some(_), Unroll::Force) = (segments, unroll) {
            let message = "`[Checkpoint]` and `[ForceUnroll]` exclude each other";
            let span = attrs::find(attributes, "Checkpoint").map_or(Span::none(), |a| a.span);
            self.report(Diagnostic::new(codes::BAD_ATTRIBUTE, span, message));
        }
        LoopAttrs { max_iters, unroll, segments }
    }

    /// The segments that `[Checkpoint(..)]` asks for.
    fn segments(&mut self, attribute: &ast::Attribute) -> Option<Segments> {
        let Some(argument) = attribute.args.first() else {
            let message = "`[Checkpoint]` on a loop needs to know how to cut it";
            let help = "write `[Checkpoint(log)]`, `[Checkpoint(sqrt)]`, or the iterations of a segment: `[Checkpoint(64)]`";
            self.report(Diagnostic::new(codes::BAD_ATTRIBUTE, attribute.span, message).help(help));
            return None;
        };
        if let ast::ExprKind::Name(name) = &argument.kind {
            match name.as_str() {
                "sqrt" => return Some(Segments::Sqrt),
                "log" => return Some(Segments::Log),
                _ => {}
            }
        }
        let scope = self.scope;
        let length = self.knowing_locals(|cx| cx.const_val(argument, scope));
        if let Some(..=0) = self.cx.program.types.known(length) {
            let message = "a segment of a loop has at least 1 iteration";
            let help = "write how many iterations run between two checkpoints: `[Checkpoint(64)]`";
            self.report(Diagnostic::new(codes::BAD_SIZE, argument.span, message).help(help));
            return None;
        }
        Some(Segments::Of(length))
    }

    /// The bound that `[MaxIters(n)]` gives.
    fn max_iters(&mut self, attribute: &ast::Attribute) -> Option<Val> {
        let scope = self.scope;
        let max = attribute.args.first().map(|e| self.knowing_locals(|cx| cx.const_val(e, scope)));
        let known = max.map(|max| self.cx.program.types.known(max));
        if matches!(known, None | Some(Some(..=0))) {
            let span = attribute.args.first().map_or(attribute.name.span, |e| e.span);
            let message = "the bound of a loop must be a constant of at least 1";
            let help = "write the largest iteration count: `[MaxIters(64)]`";
            self.report(Diagnostic::new(codes::BAD_SIZE, span, message).help(help));
            return None;
        }
        max
    }
}
