//! Checks statements. Local declarations are in [`locals`].

mod locals;

use crate::bodies::body::{BodyCx, Target};
use crate::bodies::place::Frozen;
use crate::bodies::throws::{whole_of, whole_try};
use crate::codes;
use crate::declarations::attribute_rules;
use crate::facts::Rules;
use crate::hir::{Block, Case, Expr, ExprKind, Label, LoopKind, Stmt, StmtKind, Ty, TyKind};
use cotangent_base::{Diagnostic, Map, Scalar, Span, Symbol, fields};
use cotangent_syntax::ast::{self, CodeKind};
use std::sync::Arc;

/// Where the values of a `switch` stand; no value is `default`.
type Labels = Map<Option<i64>, Span>;

impl BodyCx<'_> {
    /// The statements of a block, in a scope of their own.
    pub(crate) fn block(&mut self, stmts: &[ast::Stmt]) -> Block {
        self.scoped(|cx| {
            let mut block = vec![];
            cx.stmts(stmts, &mut block);
            block
        })
    }

    /// Statements in the scope that is open. What they defer runs after the last.
    fn stmts(&mut self, stmts: &[ast::Stmt], out: &mut Block) {
        let deferred = self.defers.len();
        for stmt in stmts {
            match &stmt.kind {
                ast::StmtKind::Defer(stmt) => self.defer(stmt),
                _ => self.stmt(stmt, None, out),
            }
        }
        self.end_block(deferred, out);
    }

    pub(crate) fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let scope = self.scope;
        let around = std::mem::replace(&mut self.block_scope, scope);
        self.vars.push(Arc::default());
        let result = work(self);
        self.vars.pop();
        self.scope = scope;
        self.block_scope = around;
        result
    }

    /// A statement that stands alone, as a block.
    pub(crate) fn single(&mut self, stmt: &ast::Stmt) -> Block {
        match &stmt.kind {
            ast::StmtKind::Block(block) => self.block(&block.stmts),
            _ => self.block(std::slice::from_ref(stmt)),
        }
    }

    fn stmt(&mut self, stmt: &ast::Stmt, label: Option<Symbol>, out: &mut Block) {
        self.hoisting(whole_try(stmt), out, |cx, out| cx.stmt_alone(stmt, label, out));
    }

    fn stmt_alone(&mut self, stmt: &ast::Stmt, label: Option<Symbol>, out: &mut Block) {
        let span = stmt.span;
        self.check_attributes(stmt);
        let mut push = |kind| out.push(Stmt { kind, span });
        match &stmt.kind {
            ast::StmtKind::Empty => {}
            ast::StmtKind::Error => {
                let error = self.error(span);
                push(StmtKind::Expr(error));
            }
            ast::StmtKind::Expr(ast::Expr { kind: ast::ExprKind::Try(inner), span }) => {
                self.try_(inner, *span);
            }
            ast::StmtKind::Expr(expr) => {
                let expr = self.expr_for_effect(expr);
                push(StmtKind::Expr(expr));
            }
            ast::StmtKind::Decl(decls) => {
                for decl in decls {
                    let whole = match &decl.kind {
                        ast::DeclKind::Var(var) => var.init.as_ref().and_then(whole_of),
                        _ => None,
                    };
                    self.hoisting(whole, out, |cx, out| cx.local_decl(decl, out));
                }
            }
            ast::StmtKind::Block(block) => {
                let inner = self.block(&block.stmts);
                push(StmtKind::Block(inner));
            }
            ast::StmtKind::If(cond, then, other) => match cond {
                ast::Cond::Expr(cond) => {
                    let unlocked = self.unlocked(cond);
                    let cond = self.condition(cond);
                    let then = self.assuming(unlocked, |cx| cx.single(then));
                    let other = other.as_ref().map_or_else(Vec::new, |s| self.single(s));
                    push(StmtKind::If(cond, then, other));
                }
                ast::Cond::Let(name, value) => {
                    let inner = self.if_let(*name, value, then, other.as_deref(), span);
                    push(StmtKind::Block(inner));
                }
            },
            ast::StmtKind::For(init, cond, step, body) => {
                let parts = (cond.as_ref(), step.as_ref(), &**body);
                let inner = self.for_loop(init.as_deref(), parts, stmt, label);
                push(StmtKind::Block(inner));
            }
            ast::StmtKind::While(cond, body) => {
                let parts = (Some(cond), None, &**body);
                let kind = self.looped(LoopKind::Pre, parts, &stmt.attributes, label);
                push(kind);
            }
            ast::StmtKind::DoWhile(body, cond) => {
                let parts = (Some(cond), None, &**body);
                let kind = self.looped(LoopKind::Post, parts, &stmt.attributes, label);
                push(kind);
            }
            ast::StmtKind::Switch(selector, cases) => {
                let kind = self.switch(selector, cases, label);
                push(kind);
            }
            ast::StmtKind::Platform(on, cases) => {
                let kind = self.platform_switch(*on, cases, label, span);
                push(kind);
            }
            ast::StmtKind::Break(name) => {
                if let Some(label) = self.break_(*name, span) {
                    self.leave(label, out);
                    out.push(Stmt { kind: StmtKind::Break(label), span });
                }
            }
            ast::StmtKind::Continue => self.continue_(span, out),
            ast::StmtKind::Return(value) => {
                let kind = self.return_(value.as_ref(), span);
                let kind = self.leave_function(kind, out);
                out.push(Stmt { kind, span });
            }
            ast::StmtKind::Labelled(name, inner) => self.stmt(inner, Some(name.name), out),
            ast::StmtKind::Discard => push(StmtKind::Discard),
            ast::StmtKind::Defer(_) => self.cx.rules().unsupported(span, "a label before `defer`"),
            ast::StmtKind::Throw(value) => self.throw(value, span, out),
            ast::StmtKind::Catch(body, name, ty, handler) => {
                let inner = self.catch(body, (*name, ty.as_ref()), handler, span);
                push(StmtKind::Block(inner));
            }
        }
    }

    /// Checks which attributes stand before a statement; loops and declarations check their own.
    fn check_attributes(&mut self, stmt: &ast::Stmt) {
        if let ast::StmtKind::If(..) | ast::StmtKind::Switch(..) = stmt.kind {
            self.cx.rules().check_placement(&stmt.attributes, attribute_rules::BRANCH);
        } else if !matches!(
            stmt.kind,
            ast::StmtKind::For(..)
                | ast::StmtKind::While(..)
                | ast::StmtKind::DoWhile(..)
                | ast::StmtKind::Labelled(..)
                | ast::StmtKind::Decl(_)
        ) {
            self.cx.rules().refuse_attributes(&stmt.attributes, "this statement");
        }
    }

    fn for_loop(
        &mut self,
        init: Option<&ast::Stmt>,
        parts: (Option<&ast::Expr>, Option<&ast::Expr>, &ast::Stmt),
        stmt: &ast::Stmt,
        label: Option<Symbol>,
    ) -> Block {
        self.scoped(|cx| {
            let mut inner = vec![];
            if let Some(init) = init {
                cx.stmt(init, None, &mut inner);
            }
            let kind = cx.looped(LoopKind::Pre, parts, &stmt.attributes, label);
            inner.push(Stmt { kind, span: stmt.span });
            inner
        })
    }

    fn continue_(&mut self, span: Span, out: &mut Block) {
        let target = self.targets.iter().rev().find(|t| t.is_loop).map(|t| t.label);
        match target {
            Some(label) => {
                self.leave(label, out);
                out.push(Stmt { kind: StmtKind::Continue(label), span });
            }
            None => self.cx.rules().outside_loop(span, "continue"),
        }
    }

    /// An expression statement. A comparison or name alone is a mistake worth a word.
    fn expr_for_effect(&mut self, expr: &ast::Expr) -> Expr {
        let checked = self.expr(expr);
        let dropped = matches!(checked.kind, ExprKind::Binary(ast::BinaryOp::Comma, ..));
        let idle = !dropped
            && matches!(
                checked.kind,
                ExprKind::Const(_)
                    | ExprKind::Local(_)
                    | ExprKind::Global(..)
                    | ExprKind::Binary(..)
                    | ExprKind::Field(..)
            );
        self.cx.rules().check_discarded(&checked);
        if idle {
            self.report(
                Diagnostic::new(codes::NO_EFFECT, expr.span, "this expression has no effect")
                    .help("assign the value, or remove the statement"),
            );
        }
        checked
    }

    /// An expression as a truth value.
    pub(crate) fn condition(&mut self, cond: &ast::Expr) -> Expr {
        let checked = self.expr(cond);
        let bool_ty = self.scalar(Scalar::Bool);
        if let TyKind::Vector(..) | TyKind::Matrix(..) = self.kind(checked.ty) {
            let message = format!("the condition has type `{}`, not `bool`", self.show(checked.ty));
            self.report(
                Diagnostic::new(codes::MISMATCH, cond.span, message)
                    .help("use `all(..)` or `any(..)` to get a single `bool`"),
            );
            return self.error(cond.span);
        }
        self.coerce(checked, bool_ty)
    }

    fn switch(&mut self, selector: &ast::Expr, cases: &[ast::SwitchCase], name: Option<Symbol>) -> StmtKind {
        let label = self.label();
        let mut selector = self.expr(selector);
        let enum_ty = matches!(self.kind(selector.ty), TyKind::Enum(_)).then_some(selector.ty);
        let kind = self.kind(selector.ty);
        let is_float = matches!(kind, TyKind::Scalar(s) if s.is_float());
        if is_float || !matches!(kind, TyKind::Scalar(_) | TyKind::Enum(_) | TyKind::Error) {
            let message =
                format!("`switch` takes an integer or enumeration, not `{}`", self.show(selector.ty));
            let mut error = Diagnostic::new(codes::MISMATCH, selector.span, message);
            if is_float {
                error = error.help("write `int(..)` around it to drop the fraction");
            }
            self.report(error);
            selector = self.error(selector.span);
        }
        self.targets.push(Target { label, name, is_loop: false, hidden: false });
        let selector_ty = enum_ty.unwrap_or(selector.ty);
        let mut seen = Map::default();
        let cases = self.scoped(|cx| cases.iter().map(|c| cx.case(c, selector_ty, &mut seen)).collect());
        self.targets.pop();
        StmtKind::Switch(label, selector, cases)
    }

    fn case(&mut self, case: &ast::SwitchCase, selector: Ty, seen: &mut Labels) -> Case {
        let mut values = vec![];
        let mut default = false;
        for label in &case.labels {
            let Some(label) = label else {
                default = true;
                self.cx.rules().only_default(case.span, seen);
                continue;
            };
            let value = self.expr(label);
            if let TyKind::Scalar(scalar) = self.kind(value.ty)
                && scalar.is_float()
            {
                let message = format!("a `case` value is an integer, not `{}`", self.show(value.ty));
                self.report(Diagnostic::new(codes::MISMATCH, label.span, message));
                continue;
            }
            let value = self.coerce(value, selector);
            match self.fold(&value).and_then(|v| self.cx.program.types.known(v)) {
                Some(n) => {
                    values.push(n);
                    if let Some(first) = seen.insert(Some(n), label.span) {
                        let message = format!("there is already a `case` for the value {n}");
                        self.report(
                            Diagnostic::new(codes::DUPLICATE_CASE, label.span, message)
                                .label(first, "the other one"),
                        );
                    }
                }
                None if matches!(value.kind, ExprKind::Error) => {}
                None => self.report(Diagnostic::new(
                    codes::NOT_CONSTANT,
                    label.span,
                    "a `case` value must be known at compile time",
                )),
            }
        }
        // Declarations in one case are visible in the next, so the scope is the switch's.
        let mut body = vec![];
        self.stmts(&case.body, &mut body);
        if case.labels.is_empty() {
            let message = "these statements stand before the first `case` and never run";
            self.report(Diagnostic::new(codes::NO_EFFECT, case.span, message).help("remove them"));
            body.clear();
        }
        Case { values, default, body, span: case.span }
    }

    fn break_(&mut self, name: Option<ast::Ident>, span: Span) -> Option<Label> {
        let target = match name {
            Some(name) => self.targets.iter().rev().find(|t| t.name == Some(name.name)),
            None => self.targets.iter().rev().find(|t| !t.hidden),
        };
        if let Some(target) = target {
            return Some(target.label);
        }
        match name {
            Some(name) => {
                let message = format!("no enclosing loop or `switch` has the label `{}`", name.name);
                self.report(Diagnostic::new(codes::BAD_JUMP, name.span, message));
            }
            None => self.cx.rules().outside_loop(span, "break"),
        }
        None
    }

    fn return_(&mut self, value: Option<&ast::Expr>, span: Span) -> StmtKind {
        if self.infer {
            return self.lambda_return(value, span);
        }
        if let Some(ast::Expr { kind: ast::ExprKind::TargetCode(code), .. }) = value
            && matches!(code.kind, CodeKind::Text | CodeKind::Operation)
        {
            return self.return_target_code(code, span);
        }
        if self.constructor {
            let this = self.this.map(|t| self.local(t, span));
            return match (value, this) {
                // The object that is returned takes the place of the one at hand.
                (Some(value), Some(this)) => StmtKind::Return(Some(self.expr_as(value, this.ty))),
                (_, this) => StmtKind::Return(this),
            };
        }
        let expected = self.result;
        let is_void = expected.is_none_or(|t| self.kind(t) == TyKind::Void);
        match (value, expected) {
            (Some(value), Some(ty)) if !is_void => {
                let value = self.expr_as(value, ty);
                StmtKind::Return(Some(value))
            }
            (Some(value), _) => {
                let value = self.expr(value);
                if self.kind(value.ty) == TyKind::Void {
                    // `return f();` in a void function is a call and a return.
                    return StmtKind::Return(Some(value));
                }
                if self.kind(value.ty) != TyKind::Error {
                    self.report(
                        Diagnostic::new(codes::MISMATCH, value.span, "a `void` function returns no value")
                            .help("declare a result type, or write `return;`"),
                    );
                }
                StmtKind::Return(None)
            }
            (None, Some(ty)) if !is_void => {
                let message =
                    format!("`return` without a value in a function that returns `{}`", self.show(ty));
                self.report(Diagnostic::new(codes::MISMATCH, span, message));
                StmtKind::Return(None)
            }
            (None, _) => StmtKind::Return(None),
        }
    }

    /// `if (let x = optional) ..`.
    fn if_let(
        &mut self,
        name: ast::Ident,
        value: &ast::Expr,
        then: &ast::Stmt,
        other: Option<&ast::Stmt>,
        span: Span,
    ) -> Block {
        let mut value = self.expr(value);
        if self.cx.facts().optional_content(value.ty).is_none() && !self.cx.program.types.is_error(value.ty) {
            let message = format!("`if (let ..)` takes an optional value, not `{}`", self.show(value.ty));
            self.report(
                Diagnostic::new(codes::MISMATCH, value.span, message)
                    .help("declare the variable before the `if`"),
            );
            value = self.error(value.span);
        }
        let ty = value.ty;
        let holder = self.temp("optional", ty, span);
        let mut block = vec![Stmt { kind: StmtKind::Let(holder, Some(value)), span }];
        let has = self.local(holder, name.span);
        let has = self.named_member(has, "hasValue", name.span);
        let content = self.local(holder, name.span);
        let content = self.named_member(content, fields::VALUE, name.span);
        let then = self.scoped(|cx| {
            let local = cx.declare(name, content.ty);
            cx.frozen.insert(local, Frozen::Let);
            let mut inner = vec![Stmt { kind: StmtKind::Let(local, Some(content)), span }];
            inner.extend(cx.single(then));
            inner
        });
        let other = other.map_or_else(Vec::new, |s| self.single(s));
        block.push(Stmt { kind: StmtKind::If(has, then, other), span });
        block
    }
}

impl Rules<'_> {
    /// The result of a `[NoDiscard]` function must be used.
    fn check_discarded(&mut self, value: &Expr) {
        let ExprKind::Call(call) = &value.kind else { return };
        let attributes = &self.tables.funcs[call.callee.func].prefix.attributes;
        if !call.diff.is_empty() || !crate::declarations::attrs::has(attributes, "NoDiscard") {
            return;
        }
        let name = self.program.funcs[call.callee.func].name;
        let message = format!("the result of `{name}` must be used");
        let declared = self.program.funcs[call.callee.func].span;
        self.diagnostics.push(
            Diagnostic::new(codes::DISCARDED, value.span, message)
                .label(declared, "declared `[NoDiscard]`")
                .help("use it, or drop it with `(void)`"),
        );
    }

    /// Reports a second `default`.
    pub(crate) fn only_default(&mut self, span: Span, seen: &mut Labels) {
        if let Some(first) = seen.insert(None, span) {
            self.diagnostics.push(
                Diagnostic::new(codes::DUPLICATE_CASE, span, "the `switch` already has a `default`")
                    .label(first, "the other one"),
            );
        }
    }

    fn outside_loop(&mut self, span: Span, word: &str) {
        let message = format!("`{word}` outside a loop");
        self.diagnostics.push(Diagnostic::new(codes::BAD_JUMP, span, message));
    }
}
