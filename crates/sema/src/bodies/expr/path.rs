//! Checks names in expressions.

use super::Entity;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::Callee;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Facts;
use crate::hir::{Const, Expr, ExprKind, GlobalId, GlobalKind, TyKind, ValKind};
use crate::names::lookup::Found;
use crate::tables::{Item, Progress};
use crate::types::resolve::Path;
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast;

impl BodyCx<'_> {
    /// Whether a variable of the body has this name.
    pub(super) fn is_variable(&self, name: Symbol) -> bool {
        self.vars.iter().any(|block| block.contains_key(&name))
    }

    /// A plain name.
    pub(super) fn name(&mut self, name: Symbol, span: Span) -> Entity {
        if let Some(local) = self.vars.iter().rev().find_map(|block| block.get(&name)) {
            let local = *local;
            self.note_local(span, self.locals[local].span);
            if self.kind(self.locals[local].ty) == TyKind::Void {
                return self.value(ExprKind::Zero, self.locals[local].ty, span);
            }
            return Entity::Value(self.local(local, span));
        }
        let scope = self.scope;
        let found = self.cx.lookup(scope, name);
        match found.first() {
            Some(first) if matches!(first.item, Item::Func(_)) => {
                let mut callee = Callee::named(ast::Ident { name, span }, &found, span);
                let owner = found.iter().find_map(|f| f.of);
                callee.this = self.object(owner, span);
                Entity::Funcs(callee)
            }
            Some(_) if self.cx.is_ambiguous(scope, name, span) => Entity::Value(self.error(span)),
            Some(first) => {
                self.note_use(span, *first);
                let this = self.object(first.of, span);
                self.found(*first, this, name, span)
            }
            None => match self.cx.shaped_type(scope, name) {
                Some(ty) => Entity::Type(ty),
                None if let Some(value) = self.cx.facts().constant_aggregate(name) => {
                    Entity::Value(Expr { span, ..value })
                }
                None => {
                    self.unknown_name(name, span);
                    Entity::Value(self.error(span))
                }
            },
        }
    }

    fn unknown_name(&mut self, name: Symbol, span: Span) {
        if self.cx.tables.around.has(name) {
            let message = format!("`{name}` is a variable, so its value is not known at compile time");
            self.report(
                Diagnostic::new(codes::NOT_CONSTANT, span, message)
                    .help("declare it `const` or `static const` with a constant value"),
            );
            return;
        }
        if crate::names::unavailable::is_missing(name.as_str()) {
            self.cx.rules().unsupported(span, &format!("`{name}`"));
            return;
        }
        let scope = self.scope;
        if self.cx.report_hidden_name(name, span, scope) {
            return;
        }
        let mut diagnostic = Diagnostic::new(codes::UNKNOWN_NAME, span, format!("unknown name `{name}`"));
        if let Some(instead) = crate::names::foreign::instead_of(name.as_str()) {
            return self.report(diagnostic.help(instead));
        }
        if self.cx.program.globals.values().any(|global| global.cbuffer.is_some() && global.name == name) {
            let help = "the fields of a `cbuffer` are names of their own; a `ConstantBuffer<T>` has members";
            return self.report(diagnostic.help(help));
        }
        let has_case = |data: &&crate::hir::Enum| data.cases.iter().any(|(case, _)| *case == name);
        let of_enum = self.cx.program.enums.values().find(has_case).map(|data| data.name);
        if let Some(of) = of_enum {
            let help = format!("write `{of}.{name}`");
            return self.report(diagnostic.help(help));
        }
        if !self.cx.suggests() {
            return self.report(diagnostic);
        }
        let mut names: Vec<Symbol> = self.vars.iter().flat_map(|block| block.keys().copied()).collect();
        names.extend(self.cx.facts().visible_names(self.scope, false));
        if let Some(this) = self.this {
            names.extend(self.cx.member_names(self.locals[this].ty));
        }
        if let Some(near) = cotangent_base::nearest(name.as_str(), names.iter().map(|n| n.as_str())) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
    }

    /// An item that is no function, with the object it is a member of, if there is one.
    pub(super) fn found(&mut self, found: Found, this: Option<Expr>, name: Symbol, span: Span) -> Entity {
        match found.item {
            Item::Func(_) => Entity::Funcs(Callee::new(name, &[found], span)),
            Item::Global(id) => Entity::Value(self.global(id, found, span)),
            Item::BufferField(id, number) => {
                self.cx.ensure_global(id);
                let ty = self.cx.program.globals[id].ty;
                let kind = ExprKind::Global(id, self.cx.program.types.args(&[]));
                let global = Expr::new(kind, ty, span);
                Entity::Value(self.field(global, number, span))
            }
            Item::Field(number) => match this.map(|this| self.as_base(this, found.base)) {
                Some(this) if found.of.is_none_or(|owner| owner == this.ty) => {
                    Entity::Value(self.field(this, number, span))
                }
                _ => {
                    self.report(
                        Diagnostic::new(codes::NO_THIS, span, format!("field `{name}` needs an object"))
                            .help("access it through a value of its type"),
                    );
                    Entity::Value(self.error(span))
                }
            },
            // The name of a subscript leads to its accessors. It is a value only with indices.
            Item::Property(_) if name == attrs::SUBSCRIPT => {
                let message = "a subscript needs indices";
                let diagnostic = Diagnostic::new(codes::NO_SUBSCRIPT, span, message);
                self.report(diagnostic.help("write the indices in brackets after the object: `this[i]`"));
                Entity::Value(self.error(span))
            }
            Item::Property(id) => Entity::Value(self.property(id, found, this, vec![], span)),
            Item::Case(id, number) => {
                self.cx.ensure_enum(id);
                if number as usize >= self.cx.tables.enums[id].numbered {
                    let message = format!("the value of `{name}` depends on itself");
                    self.report(Diagnostic::new(codes::CYCLE, span, message));
                    return Entity::Value(self.error(span));
                }
                let value = self.cx.program.enums[id].cases[number as usize].1;
                let ty = self.ty(TyKind::Enum(id));
                self.value(ExprKind::Const(Const::Int(value)), ty, span)
            }
            Item::Param(param) => match self.cx.program.params[param].value {
                Some(ty) if !self.cx.program.params[param].pack => {
                    let val = self.cx.program.types.val(ValKind::Param(param));
                    self.value(ExprKind::Val(val), ty, span)
                }
                _ => {
                    let ty = self.ty(TyKind::Param(param));
                    Entity::Type(self.cx.packs().known_equal(ty).unwrap_or(ty))
                }
            },
            Item::Const(val, ty) => self.value(ExprKind::Val(val), ty, span),
            Item::Struct(_)
            | Item::Interface(_)
            | Item::Enum(_)
            | Item::Alias(_)
            | Item::Assoc(_)
            | Item::Namespace(_) => {
                let scope = self.scope;
                match self.cx.found_path(found, span, scope, true) {
                    Some(Path::Ty(ty)) => Entity::Type(ty),
                    Some(Path::Open(found)) => Entity::Open(found),
                    Some(Path::Namespace(scope)) => Entity::Namespace(scope),
                    None => Entity::Value(self.error(span)),
                }
            }
        }
    }

    fn global(&mut self, id: GlobalId, found: Found, span: Span) -> Expr {
        self.cx.ensure_global(id);
        if self.cx.program.globals[id].kind == GlobalKind::Const {
            // Checked at once, so that a constant that is defined by itself is found.
            let busy = self.cx.tables.bodies.initializer_progress(id) == Progress::Busy;
            self.cx.check_initializer(id);
            if busy {
                return self.error(span);
            }
        }
        let ty = self.cx.program.globals[id].ty;
        let generics = self.cx.tables.globals[id].generics;
        let params = self.cx.tables.generics[generics].params.clone();
        if params.is_empty() {
            let args = self.cx.program.types.args(&[]);
            return Expr::new(ExprKind::Global(id, args), ty, span);
        }
        // A constant of a generic type depends on its arguments, so its value stands here instead.
        let constant = self.cx.program.globals[id].kind == GlobalKind::Const;
        let body = if constant { self.cx.check_initializer(id) } else { None };
        match body.as_deref().and_then(crate::bodies::constant::returned) {
            Some(value) => {
                let mut value = self.cx.replace_expr(value.clone(), &params, found.args);
                value.span = span;
                value
            }
            // A variable is another one for each choice of arguments.
            None => {
                let ty = self.cx.replace(ty, &params, found.args);
                Expr::new(ExprKind::Global(id, found.args), ty, span)
            }
        }
    }

    /// The field of that number among those a structure declares itself.
    pub(super) fn field(&mut self, base: Expr, number: u32, span: Span) -> Expr {
        let TyKind::Struct(id, args) = self.kind(base.ty) else {
            return self.error(span);
        };
        let types = self.cx.fields_under(id, args);
        let offset = types.len() - self.cx.tables.structs[id].fields.len().min(types.len());
        let number = number as usize + offset;
        let Some(ty) = types.get(number) else {
            return self.error(span);
        };
        Expr::new(ExprKind::Field(base.into(), number as u32), *ty, span)
    }

    /// `base<args>`.
    pub(super) fn apply(&mut self, base: &ast::Expr, args: &[ast::Expr], span: Span) -> Entity {
        match self.entity(base) {
            Entity::Funcs(mut callee) => {
                callee.explicit = args.to_vec();
                callee.span = span;
                Entity::Funcs(callee)
            }
            Entity::Open(found) => {
                let scope = self.scope;
                Entity::Type(self.cx.apply(&found, args, span, scope))
            }
            Entity::Value(value) if self.cx.program.types.is_error(value.ty) => Entity::Value(value),
            Entity::Type(ty) if self.cx.program.types.is_error(ty) => Entity::Type(ty),
            Entity::Value(_) | Entity::Type(_) | Entity::Namespace(_) => {
                let message = format!("`{}` takes no generic arguments", crate::types::show::syntax(base));
                self.report(Diagnostic::new(codes::GENERIC_ARGS, span, message));
                Entity::Value(self.error(span))
            }
        }
    }
}

impl Facts<'_> {
    /// A `const` array or structure of the body around a constant, of which the constant may use parts.
    fn constant_aggregate(self, name: Symbol) -> Option<Expr> {
        self.tables.around.aggregate(name).cloned()
    }
}
