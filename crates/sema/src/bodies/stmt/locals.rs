//! Checks declarations in functions: variables, constants, and others that are allowed there.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::bodies::place::Frozen;
use crate::codes;
use crate::declarations::signature::is_no_diff;
use crate::hir::{Block, Const, Expr, ExprKind, GlobalKind, LocalId, Stmt, StmtKind, Ty, TyKind};
use crate::tables::{Item, Owner};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast::{self, ModifierKind};

impl BodyCx<'_> {
    pub(super) fn local_decl(&mut self, decl: &ast::Decl, out: &mut Block) {
        match &decl.kind {
            ast::DeclKind::Var(var) => self.local_var(var, decl, out),
            ast::DeclKind::Alias(alias) if alias.ty.is_none() => self.cx.rules().open_inside(alias.name),
            ast::DeclKind::Struct(_) | ast::DeclKind::Alias(_) | ast::DeclKind::Enum(_) => {
                self.open_scope();
                let known = self.cx.tables.structs.len();
                self.cx.collector().collect_local(decl.clone(), self.scope);
                let new = self.cx.tables.structs.keys().skip(known).collect();
                self.cx.resolve_structs(new);
            }
            ast::DeclKind::Using(_) => {
                // All `using` declarations of a block share one scope.
                let alone = self.cx.tables.scopes[self.scope].entries().next().is_none();
                if self.scope == self.block_scope || !alone {
                    self.open_scope();
                }
                self.cx.collector().collect_local(decl.clone(), self.scope);
            }
            ast::DeclKind::Error => {}
            ast::DeclKind::Func(func) => {
                self.report(
                    Diagnostic::new(
                        codes::MISPLACED,
                        func.name.span,
                        "a function cannot be declared inside a function",
                    )
                    .help("move it out"),
                );
            }
            _ => {
                self.report(Diagnostic::new(
                    codes::MISPLACED,
                    decl.span,
                    "this declaration is not allowed in a function",
                ));
            }
        }
    }

    /// A scope for declarations of the current block that are not variables.
    pub(crate) fn open_scope(&mut self) {
        let around = &self.cx.tables.scopes[self.scope];
        let (path, library, generics) = (around.path().clone(), around.is_library(), around.generics());
        self.scope = self.cx.collector().new_scope(Some(self.scope), Owner::Module, generics, &path, library);
    }

    fn local_var(&mut self, var: &ast::VarDecl, decl: &ast::Decl, out: &mut Block) {
        self.cx.rules().no_bit_field(var);
        self.cx.rules().check_idle_words_of_local(var, decl);
        let has = |kind| decl.modifiers.iter().any(|m| m.kind == kind);
        if has(ModifierKind::Static) {
            let kind = if has(ModifierKind::GroupShared) {
                GlobalKind::Shared
            } else if has(ModifierKind::Const) {
                GlobalKind::Const
            } else {
                GlobalKind::Static
            };
            return self.static_var(var, kind, decl.span, out);
        }
        self.check_words_of_local(var, decl);
        let scope = self.scope;
        let declared = var.ty.as_ref().map(|ty| self.knowing_locals(|cx| cx.resolve_ty(ty, scope)));
        let value = self.initial_value(var, declared);
        let ty = match (declared, &value) {
            (Some(ty), Some(value)) if matches!(self.kind(ty), TyKind::UnsizedArray(_)) => value.ty,
            (Some(ty), _) => ty,
            (None, Some(value)) => value.ty,
            (None, None) => self.cx.program.types.error(),
        };
        if let (TyKind::Void, None, Some(value)) = (self.kind(ty), declared, &value) {
            // `let r = f();` of a function without a result is the call alone.
            out.push(Stmt { kind: StmtKind::Expr(value.clone()), span: decl.span });
            self.declare(var.name, ty);
            return;
        }
        if self.kind(ty) == TyKind::Void {
            let message = format!("`{}` would have type `void`", var.name.name);
            self.report(Diagnostic::new(codes::MISMATCH, var.name.span, message));
        }
        let local = self.declare(var.name, ty);
        let is_const = has(ModifierKind::Const);
        if var.is_let || is_const {
            let why = if is_const { Frozen::Const } else { Frozen::Let };
            self.frozen.insert(local, why);
        }
        if is_const && let Some(value) = &value {
            self.note_constant(var.name.name, local, value);
        }
        out.push(Stmt { kind: StmtKind::Let(local, value), span: decl.span });
    }

    /// Reports `groupshared` and `no_diff` on a variable that is not static.
    fn check_words_of_local(&mut self, var: &ast::VarDecl, decl: &ast::Decl) {
        if let Some(shared) = decl.modifiers.iter().find(|m| m.kind == ModifierKind::GroupShared) {
            let message = format!("the local variable `{}` cannot be `groupshared`", var.name.name);
            let help = "declare it outside the function, or `static groupshared`";
            self.report(Diagnostic::new(codes::MISPLACED, shared.span, message).help(help));
        }
        if decl.modifiers.iter().any(|m| m.kind == ModifierKind::NoDiff)
            || var.ty.as_ref().is_some_and(is_no_diff)
        {
            let message = format!("`no_diff` has no effect on the variable `{}`", var.name.name);
            let warning = Diagnostic::new(codes::NO_DIFF_VARIABLE, var.name.span, message);
            self.report(warning.help("write `detach(..)` around the value to drop its derivative"));
        }
    }

    /// The value that a variable begins with: of the declared type, if there is one.
    fn initial_value(&mut self, var: &ast::VarDecl, declared: Option<Ty>) -> Option<Expr> {
        match (&var.init, declared) {
            (Some(init), Some(ty)) => Some(self.expr_as(init, ty)),
            (Some(init), None) => {
                let value = self.expr(init);
                Some(self.typed(value))
            }
            (None, Some(ty)) if matches!(self.kind(ty), TyKind::UnsizedArray(_)) => {
                self.cx.rules().no_length(var.name);
                Some(self.error(var.name.span))
            }
            (None, Some(ty)) => self.default_of(ty, var.name.span),
            (None, None) => {
                let message = format!("`{}` has neither a type nor a value", var.name.name);
                self.report(Diagnostic::new(codes::NOT_A_TYPE, var.name.span, message));
                None
            }
        }
    }

    /// A value that says what its type is, which `none` does not.
    fn typed(&mut self, value: Expr) -> Expr {
        if self.kind(value.ty) != TyKind::None {
            return value;
        }
        let message = "cannot infer the type of `none`";
        self.report(
            Diagnostic::new(codes::MISMATCH, value.span, message)
                .help("declare the variable with its type: `Optional<int> x = none;`"),
        );
        self.error(value.span)
    }

    /// Works outside the body on something written in it, where its variables are known to be no constants.
    pub(crate) fn knowing_locals<R>(&mut self, work: impl FnOnce(&mut Checked) -> R) -> R {
        self.swap_locals();
        let result = work(self.cx);
        self.swap_locals();
        result
    }

    /// Exchanges the variables of this body and those around the constant that is being worked on.
    pub(crate) fn swap_locals(&mut self) {
        self.cx.tables.around.swap(&mut self.vars, &mut self.locals, &mut self.aggregates);
    }

    /// Makes a local `const` known where sizes are computed.
    fn note_constant(&mut self, name: Symbol, local: LocalId, value: &Expr) {
        if let Some(val) = self.fold(value) {
            self.constants.insert(local, val);
            self.open_scope();
            self.cx.tables.scopes[self.scope].enter(name, Item::Const(val, value.ty));
        } else if let ExprKind::Construct(_) = value.kind {
            self.aggregates.insert(local, value.clone());
        }
    }

    fn static_var(&mut self, var: &ast::VarDecl, kind: GlobalKind, span: Span, out: &mut Block) {
        if let (Some(init), Some(_), GlobalKind::Static) = (&var.init, &var.ty, kind)
            && self.needs_locals(init)
        {
            return self.static_at_run_time(var, init, span, out);
        }
        self.open_scope();
        let global = self.cx.collector().local_static(var.clone(), kind, self.scope);
        self.cx.ensure_global(global);
        self.cx.check_initializer(global);
    }

    /// Whether an initializer is one only where the variables of the body are known.
    fn needs_locals(&mut self, init: &ast::Expr) -> bool {
        let scope = self.scope;
        let outside = self.quietly(|cx| BodyCx::new(cx.cx, scope).expr(init)).0;
        self.cx.program.types.is_error(outside.ty) && self.quietly(|cx| cx.expr(init)).1
    }

    /// `static T x = value;` whose value depends on variables: the first time that control is here sets it.
    fn static_at_run_time(&mut self, var: &ast::VarDecl, init: &ast::Expr, span: Span, out: &mut Block) {
        self.open_scope();
        let plain = ast::VarDecl { init: None, ..var.clone() };
        let variable = self.cx.collector().local_static(plain, GlobalKind::Static, self.scope);
        let name = ast::Ident { name: Symbol::new(&format!("({} is set)", var.name.name)), ..var.name };
        let truth = ast::Expr { kind: ast::ExprKind::Name("bool".into()), span };
        let no = ast::Expr { kind: ast::ExprKind::Bool(false), span };
        let flag = ast::VarDecl { name, ty: Some(truth), init: Some(no), ..var.clone() };
        let flag = self.cx.collector().local_static(flag, GlobalKind::Static, self.scope);
        for global in [variable, flag] {
            self.cx.ensure_global(global);
            self.cx.check_initializer(global);
        }
        let none = self.cx.program.types.args(&[]);
        let place = |cx: &Self, id| Expr::new(ExprKind::Global(id, none), cx.cx.program.globals[id].ty, span);
        let value = self.expr_as(init, self.cx.program.globals[variable].ty);
        let (target, is_set) = (place(self, variable), place(self, flag));
        let yes = Expr::new(ExprKind::Const(Const::Bool(true)), is_set.ty, span);
        let assign = |target: Expr, value: Expr| {
            let ty = target.ty;
            let kind = ExprKind::Assign(target.into(), value.into());
            Stmt { kind: StmtKind::Expr(Expr::new(kind, ty, span)), span }
        };
        let first = vec![assign(is_set.clone(), yes), assign(target, value)];
        out.push(Stmt { kind: StmtKind::If(is_set, vec![], first), span });
    }

    /// What a variable declared without an initializer holds: nothing, unless its type has a constructor without
    /// parameters, which runs. An optional one is empty.
    fn default_of(&mut self, ty: Ty, span: Span) -> Option<Expr> {
        if self.cx.facts().optional_content(ty).is_some() {
            return Some(self.zero(ty, span));
        }
        let is_user = matches!(
            self.kind(ty),
            TyKind::Struct(..) | TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..)
        );
        (is_user && self.has_default_constructor(ty)).then(|| self.construct(ty, vec![], span))
    }
}
