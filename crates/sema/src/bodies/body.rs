//! The state while a body is checked, and the functions that start a check.

use crate::Checked;
use crate::bodies::defer::{Deferred, Repeats};
use crate::bodies::place::Frozen;
use crate::bodies::throws::Errors;
use crate::codes;
use crate::derive;
use crate::facts::{Facts, Rules};
use crate::hir::{
    Block, Body, Dir, Expr, ExprKind, FuncId, FuncKind, GlobalId, GlobalKind, Label, Local, LocalId, Stmt,
    StmtKind, Ty, TyKind, Val,
};
use crate::tables::{FuncSource, Progress, ScopeId};
use cotangent_base::{Diagnostic, Entity, EntityMap, Map, Scalar, Set, Span, Symbol};
use cotangent_syntax::ast::{self, ModifierKind};
use std::sync::Arc;

/// The state of checking one body, or one expression outside any.
pub(crate) struct BodyCx<'a> {
    /// The program.
    pub cx: &'a mut Checked,
    /// Where names of declarations are looked up.
    pub scope: ScopeId,
    /// The scope in which the current block began.
    pub block_scope: ScopeId,
    /// Variables.
    pub locals: EntityMap<LocalId, Local>,
    /// Why a variable may not be assigned; nothing if it may.
    pub frozen: Map<LocalId, Frozen>,
    /// Parameters that are worked on where the argument lies.
    pub by_ref: Set<LocalId>,
    /// Variables that are constants known at compile time.
    pub constants: Map<LocalId, Val>,
    /// The values of `const` arrays and structures.
    pub aggregates: Map<LocalId, Expr>,
    /// The names of variables, innermost block last.
    pub vars: Vec<Arc<Map<Symbol, LocalId>>>,
    /// The parameters, `this` first.
    pub params: Vec<LocalId>,
    /// `this`, if there is one.
    pub this: Option<LocalId>,
    /// What `return` must give.
    pub result: Option<Ty>,
    /// Whether `return` gives `this`: in constructors.
    pub constructor: bool,
    /// Whether the first `return` decides what all must give: in lambdas.
    pub infer: bool,
    /// Whether the function is differentiable.
    pub differentiable: bool,
    /// What `break` and `continue` may leave, innermost last.
    pub targets: Vec<Target>,
    /// Statements that wait for the end of their block, innermost last.
    pub defers: Vec<Deferred>,
    /// How often they were repeated at exits.
    pub repeats: Repeats,
    /// The next label.
    pub labels: usize,
    /// Whether packs are expanded.
    pub packs: bool,
    /// What is known of errors.
    pub errors: Errors,
}

/// Something `break` can leave.
pub(crate) struct Target {
    /// Its label.
    pub label: Label,
    /// Its name, if it has one.
    pub name: Option<Symbol>,
    /// Whether it is a loop.
    pub is_loop: bool,
    /// Whether no `break` means it: the body of a `do` with a `catch`.
    pub hidden: bool,
}

impl<'a> BodyCx<'a> {
    /// Begins with no variables.
    pub(crate) fn new(cx: &'a mut Checked, scope: ScopeId) -> Self {
        Self {
            cx,
            scope,
            block_scope: scope,
            locals: EntityMap::new(),
            frozen: Map::default(),
            by_ref: Set::default(),
            constants: Map::default(),
            aggregates: Map::default(),
            vars: vec![Arc::default()],
            params: vec![],
            this: None,
            result: None,
            constructor: false,
            infer: false,
            differentiable: false,
            targets: vec![],
            defers: vec![],
            repeats: Repeats::default(),
            labels: 0,
            packs: false,
            errors: Errors::default(),
        }
    }

    /// A variable without a name in any scope.
    pub(crate) fn temp(&mut self, name: &str, ty: Ty, span: Span) -> LocalId {
        self.locals.push(Local { name: name.into(), ty, span })
    }

    /// A variable under a name in the innermost block.
    pub(crate) fn declare(&mut self, name: ast::Ident, ty: Ty) -> LocalId {
        let local = self.temp(name.name.as_str(), ty, name.span);
        let block = self.vars.last_mut().expect("there is always a block");
        if let Some(previous) = Arc::make_mut(block).insert(name.name, local) {
            let first = self.locals[previous].span;
            self.cx.diagnostics.push(
                Diagnostic::new(
                    codes::REDECLARED,
                    name.span,
                    format!("`{}` is declared twice in this block", name.name),
                )
                .label(first, "first declared here")
                .help("rename one of them; an inner block may use the name again"),
            );
        }
        local
    }

    /// A new label.
    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label::new(self.labels - 1)
    }

    /// Reports an error.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.cx.diagnostics.push(diagnostic);
    }

    /// An expression of the error type.
    pub(crate) fn error(&mut self, span: Span) -> Expr {
        let ty = self.cx.program.types.error();
        Expr::new(ExprKind::Error, ty, span)
    }

    /// A type by kind.
    pub(crate) fn ty(&mut self, kind: TyKind) -> Ty {
        self.cx.program.types.ty(kind)
    }

    /// A scalar type.
    pub(crate) fn scalar(&mut self, scalar: Scalar) -> Ty {
        self.ty(TyKind::Scalar(scalar))
    }

    /// What a type is.
    pub(crate) fn kind(&self, ty: Ty) -> TyKind {
        self.cx.program.types.kind(ty)
    }

    /// A type in words.
    pub(crate) fn show(&self, ty: Ty) -> String {
        self.cx.show(ty)
    }

    /// The compile-time integer an expression of this body evaluates to.
    pub(crate) fn fold(&mut self, expr: &Expr) -> Option<Val> {
        self.cx.fold_with(expr, &self.constants)
    }

    /// Reading a variable.
    pub(crate) fn local(&self, id: LocalId, span: Span) -> Expr {
        Expr::new(ExprKind::Local(id), self.locals[id].ty, span)
    }

    /// Does something that may fail and forgets what it reported.
    pub(crate) fn quietly<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, bool) {
        let before = self.cx.diagnostics.len();
        let owed = self.cx.tables.work.mark();
        let uses = self.cx.tables.uses.mark();
        let hoisted = self.hoisted();
        let result = work(self);
        self.forget_hoisted(hoisted);
        let failed = self.cx.diagnostics.iter().skip(before).any(Diagnostic::is_error);
        self.cx.diagnostics.truncate(before);
        self.cx.tables.work.forget_since(owed);
        if failed {
            self.cx.tables.uses.forget_since(uses);
        }
        (result, !failed)
    }

    /// The body, once all is checked.
    pub(crate) fn finish(mut self, params: Vec<LocalId>, block: Block) -> Body {
        self.report_untried();
        let packs = self.packs || self.locals.values().any(|local| self.cx.program.is_pack(local.ty));
        Body::new(self.locals, params, block, packs)
    }
}

impl Checked {
    /// Checks the body of a function, once.
    pub(crate) fn check_body(&mut self, id: FuncId) -> Option<Arc<Body>> {
        self.ensure_func(id);
        if !self.tables.bodies.begin(id) {
            return self.tables.bodies.of(id).cloned();
        }
        let syntax = self.facts().body_syntax(id)?;
        let generics = self.tables.funcs[id].generics;
        let saved = self.enter(generics);
        let body = Arc::new(self.check_block_of(id, &syntax));
        self.tables.bodies.end(id, body.clone());
        self.rules().check_returns(id, &body);
        let scope = self.tables.funcs[id].scope;
        self.rules().check_readable(scope, &body);
        self.rules().check_assigned(id, &body);
        derive::check_flow(self, id, &body);
        self.leave(saved);
        Some(body)
    }

    fn check_block_of(&mut self, id: FuncId, syntax: &BodySyntax) -> Body {
        let func = self.program.funcs[id].clone();
        let scope = self.tables.funcs[id].scope;
        let consts = self.facts().const_params(id);
        let mut cx = BodyCx::new(self, scope);
        cx.result = Some(func.result);
        cx.differentiable = func.diff.differentiable.is_some();
        let mut params = vec![];
        if let Some(this) = func.this {
            let local = cx.temp("this", this.ty, func.span);
            if !this.mutating {
                let is_lambda =
                    matches!(cx.kind(this.ty), TyKind::Struct(id, _) if cx.cx.tables.lambdas.contains(id));
                cx.frozen.insert(local, if is_lambda { Frozen::Captured } else { Frozen::This });
            }
            if this.by_ref {
                cx.by_ref.insert(local);
            }
            cx.this = Some(local);
            params.push(local);
        }
        for (number, param) in func.params.iter().enumerate() {
            let name = ast::Ident { name: param.name, span: param.span };
            let local = if param.name == "_" {
                cx.temp("_", param.ty, param.span)
            } else {
                cx.declare(name, param.ty)
            };
            if (consts.contains(&number) || cx.cx.program.is_pack(param.ty)) && param.dir == Dir::In {
                cx.frozen.insert(local, Frozen::Param);
            }
            if param.by_ref {
                cx.by_ref.insert(local);
            }
            params.push(local);
        }
        let mut block = vec![];
        if let Some(error) = func.throws {
            params.extend(cx.begin_throwing(error, func.span, &mut block));
        }
        let is_init = func.kind == FuncKind::Constructor;
        if is_init {
            cx.begin_constructor(func.result, func.span, &mut block);
        }
        cx.params.clone_from(&params);
        let stmts = &syntax.block().stmts;
        let inner = cx.block(stmts);
        block.extend(inner);
        if is_init && let Some(this) = cx.this {
            let value = cx.local(this, func.span);
            block.push(Stmt { kind: StmtKind::Return(Some(value)), span: func.span });
        }
        cx.finish(params, block)
    }

    /// Checks the initializer of a global, once.
    pub(crate) fn check_initializer(&mut self, id: GlobalId) -> Option<Arc<Body>> {
        let info = &self.tables.globals[id];
        let (decl, scope, generics) = (info.decl.clone(), info.scope, info.generics);
        let progress = self.tables.bodies.initializer_progress(id);
        if progress == Progress::Busy {
            let message = format!("the definition of `{}` depends on itself", decl.name.name);
            self.diagnostics.push(Diagnostic::new(codes::CYCLE, decl.name.span, message));
            return None;
        }
        if progress == Progress::Done {
            return self.tables.bodies.initializer(id).cloned();
        }
        let init = decl.init.as_ref()?;
        self.tables.bodies.begin_initializer(id);
        self.ensure_global(id);
        let saved = self.enter(generics);
        let ty = self.program.globals[id].ty;
        let mut cx = BodyCx::new(self, scope);
        let value = if decl.ty.is_some() { cx.expr_as(init, ty) } else { cx.expr(init) };
        let block = vec![Stmt { span: value.span, kind: StmtKind::Return(Some(value)) }];
        let body = Arc::new(cx.finish(vec![], block));
        self.rules().check_readable(scope, &body);
        self.leave(saved);
        // That of a parameter has no effect but to say its type.
        let has_effect = self.program.globals[id].kind != GlobalKind::Param || decl.ty.is_none();
        let body = has_effect.then_some(body);
        self.tables.bodies.end_initializer(id, body.clone());
        body
    }
}

impl Facts<'_> {
    /// The block of a function, owned, so that the tables can change meanwhile.
    fn body_syntax(self, id: FuncId) -> Option<BodySyntax> {
        match &self.tables.funcs[id].source {
            FuncSource::Func(decl) => decl.body.as_ref().map(|_| BodySyntax::Func(decl.clone())),
            FuncSource::Accessor(property, number) => {
                let accessors = &self.tables.props[*property].accessors;
                accessors[*number].body.as_ref()?;
                Some(BodySyntax::Accessor(accessors.clone(), *number))
            }
        }
    }

    /// The numbers of parameters that are `const`.
    fn const_params(self, id: FuncId) -> Vec<usize> {
        let FuncSource::Func(decl) = &self.tables.funcs[id].source else {
            return vec![];
        };
        let is_const = |p: &ast::Param| {
            let fixed = [ModifierKind::Const, ModifierKind::ConstRef];
            p.modifiers.iter().any(|m| fixed.contains(&m.kind))
        };
        let numbered = decl.params.iter().enumerate();
        numbered.filter(|(_, p)| is_const(p)).map(|(i, _)| i).collect()
    }
}

impl Rules<'_> {
    /// Reports a construct that is not supported yet.
    pub(crate) fn unsupported(&mut self, span: Span, what: &str) {
        let message = format!("{what} is not supported yet");
        self.diagnostics.push(Diagnostic::new(codes::UNSUPPORTED, span, message));
    }
}

/// Syntax that has a block, kept alive while it is checked.
enum BodySyntax {
    Func(Arc<ast::FuncDecl>),
    Accessor(Arc<[ast::Accessor]>, usize),
}

impl BodySyntax {
    fn block(&self) -> &ast::Block {
        let body = match self {
            BodySyntax::Func(decl) => decl.body.as_ref(),
            BodySyntax::Accessor(accessors, number) => accessors[*number].body.as_ref(),
        };
        body.expect("only syntax with a body is kept").block()
    }
}
