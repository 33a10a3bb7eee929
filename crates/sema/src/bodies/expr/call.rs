//! `f(..)`: calls of functions, constructors, derivatives and objects.

use super::Entity;
use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee, Choice};
use crate::codes;
use crate::declarations::attrs;
use crate::derive;
use crate::hir::{Arg, Const, DiffMode, Expr, ExprKind, PackPart, Program, TyKind};
use crate::tables::Item;
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_syntax::ast;

impl BodyCx<'_> {
    /// `callee(args)`.
    pub(super) fn call_expr(&mut self, callee: &ast::Expr, args: &[ast::Expr], span: Span) -> Expr {
        let (inner, modes) = peel_derivatives(callee);
        let entity = self.called_entity(inner, !modes.is_empty());
        if let Entity::Funcs(callee) = &entity
            && modes.is_empty()
            && self.cx.facts().is_printf(callee)
        {
            return self.printf(args, span);
        }
        let args = self.arguments(args);
        match entity {
            Entity::Funcs(mut callee) => {
                if modes.is_empty() {
                    return match self.call_of_language(&callee, &args, span) {
                        Some(value) => value,
                        None => self.call(&callee, args, span),
                    };
                }
                callee.diff = modes;
                self.call_derivative(&callee, args, span)
            }
            _ if !modes.is_empty() => {
                self.value_to_call(entity, inner.span, "only functions have derivatives")
            }
            Entity::Type(ty) => self.construct(ty, args, span),
            Entity::Open(found) => {
                let scope = self.scope;
                let ty = self.cx.apply(&found, &[], inner.span, scope);
                self.construct(ty, args, span)
            }
            Entity::Value(value) if self.cx.program.types.is_error(value.ty) => self.error(span),
            Entity::Value(value) => self.call_object(value, args, span),
            Entity::Namespace(_) => self.value_to_call(entity, inner.span, "a namespace cannot be called"),
        }
    }

    /// What is called, or differentiated and then called. Accessors have names for that: `fwd_diff(S.property.get)(..)`.
    fn called_entity(&mut self, path: &ast::Expr, differentiated: bool) -> Entity {
        let scope = self.scope;
        let found = differentiated.then(|| self.cx.accessors_named(path, scope)).flatten();
        match (&path.kind, found) {
            (ast::ExprKind::Member(property, word), Some(found)) => {
                if found.is_empty() {
                    let message =
                        format!("`{}` has no `{}`", crate::types::show::syntax(property), word.name);
                    self.report(Diagnostic::new(codes::UNKNOWN_MEMBER, word.span, message));
                    return Entity::Value(self.error(path.span));
                }
                Entity::Funcs(Callee::new(Symbol::new(&crate::types::show::syntax(path)), &found, path.span))
            }
            _ => self.entity(path),
        }
    }

    /// A function of the library that the language itself speaks of, since no signature says what it does.
    fn call_of_language(&mut self, callee: &Callee, args: &[Argument], span: Span) -> Option<Expr> {
        let means = |cx: &Self, name: &str| {
            let item = cx.cx.tables.lang.get(&name.into());
            callee.candidates.iter().any(|c| item == Some(&Item::Func(c.func)))
        };
        if means(self, "concat") {
            return self.cx.program.concat_tuples(args, span);
        }
        if means(self, "makeTuple") {
            return self.make_tuple(&callee.explicit, args, span);
        }
        for part in [PackPart::First, PackPart::Last, PackPart::TrimFirst, PackPart::TrimLast] {
            if means(self, part.name()) {
                return Some(self.part(part, args, span));
            }
        }
        if let ([Argument::Value(place)], true) = (args, means(self, "getAddress")) {
            return Some(self.address_of_place(place.clone(), span));
        }
        if means(self, "static_assert") {
            return Some(self.static_assert(args, span));
        }
        if means(self, "getStringHash") {
            return self.hash_text(args, span);
        }
        None
    }

    /// `makeTuple(a, b)`, and `makeTuple<A, B>(a, b)`, which converts the values.
    fn make_tuple(&mut self, explicit: &[ast::Expr], args: &[Argument], span: Span) -> Option<Expr> {
        if !explicit.is_empty() {
            let scope = self.scope;
            let types = explicit.iter().map(|ty| Arg::Ty(self.knowing_locals(|cx| cx.resolve_ty(ty, scope))));
            let types: Vec<Arg> = types.collect();
            let ty = self.cx.program.types.tuple_ty(&types);
            return Some(if self.cx.program.types.is_error(ty) {
                self.error(span)
            } else {
                self.construct(ty, args.to_vec(), span)
            });
        }
        let value = |arg: &Argument| match arg {
            Argument::Value(value) => Some(value.clone()),
            Argument::List(..) => None,
        };
        let items = args.iter().map(value).collect::<Option<Vec<Expr>>>()?;
        if items.iter().any(|item| self.cx.program.types.is_error(item.ty)) {
            return Some(self.error(span));
        }
        Some(self.cx.program.tuple_of(items, span))
    }

    /// `static_assert(condition, message)`.
    fn static_assert(&mut self, args: &[Argument], span: Span) -> Expr {
        let [Argument::Value(condition), Argument::Value(message)] = args else {
            let text = "`static_assert` takes a condition and a message";
            self.report(Diagnostic::new(codes::ARGUMENT_COUNT, span, text));
            return self.error(span);
        };
        let ExprKind::String(message) = message.kind else {
            let text = "the message of `static_assert` is a string in quotes";
            self.report(Diagnostic::new(codes::MISMATCH, message.span, text));
            return self.error(span);
        };
        if self.cx.program.types.is_error(condition.ty) {
            return self.error(span);
        }
        let truth = self.scalar(Scalar::Bool);
        let condition = self.coerce(condition.clone(), truth);
        let Some(val) = self.fold(&condition) else {
            let text = "the condition must be known at compile time";
            self.report(Diagnostic::new(codes::NOT_CONSTANT, condition.span, text));
            return self.error(span);
        };
        if self.cx.program.types.known(val) == Some(0) {
            self.report(Diagnostic::new(codes::ASSERTION_FAILS, condition.span, message.as_str()));
        }
        let ty = self.ty(TyKind::Void);
        Expr::new(ExprKind::Assert(val, message), ty, span)
    }

    /// `getStringHash("text")`: the number is known at once, if the text is.
    fn hash_text(&mut self, args: &[Argument], span: Span) -> Option<Expr> {
        let [Argument::Value(text)] = args else { return None };
        if !matches!(self.kind(text.ty), TyKind::String) {
            return None;
        }
        let ExprKind::String(literal) = text.kind else {
            // Elsewhere a string is its hash.
            let ty = self.scalar(Scalar::I32);
            return Some(Expr::new(ExprKind::Convert(text.clone().into()), ty, span));
        };
        let hash = crate::hir::hash_of(literal);
        let ty = self.scalar(Scalar::I32);
        Some(Expr::new(ExprKind::Const(Const::Int(i64::from(hash as i32))), ty, span))
    }

    fn value_to_call(&mut self, entity: Entity, span: Span, message: &str) -> Expr {
        let reported = matches!(&entity, Entity::Value(value) if self.cx.program.types.is_error(value.ty));
        if !reported {
            self.report(Diagnostic::new(codes::NOT_CALLABLE, span, message));
        }
        self.error(span)
    }

    /// An object with `operator()`.
    fn call_object(&mut self, object: Expr, args: Vec<Argument>, span: Span) -> Expr {
        let name = attrs::operator_name("()");
        let found = self.cx.members(object.ty, name);
        if found.is_empty() {
            let message = format!("a value of type `{}` cannot be called", self.show(object.ty));
            self.report(Diagnostic::new(codes::NOT_CALLABLE, object.span, message));
            return self.error(span);
        }
        let mut callee = Callee::new(name, &found, object.span);
        callee.this = Some(object);
        self.call(&callee, args, span)
    }

    /// `fwd_diff(f)(..)`, `bwd_diff(f)(..)` and compositions of them.
    fn call_derivative(&mut self, callee: &Callee, args: Vec<Argument>, span: Span) -> Expr {
        let mut callee = callee.clone();
        if !derive::retain_derivable(self.cx, &mut callee) {
            return self.error(span);
        }
        if let Choice::One(fit) = self.choose(&callee, &args) {
            return self.emit_call(&callee, *fit, args, span);
        }
        // `fwd_diff(object.f)(..)`: an object without derivative may stand before the dot. One that has a derivative is passed
        // as a pair: `fwd_diff(S.f)(pair, ..)`.
        if let Some(this) = callee.this.clone() {
            let with_this: Vec<_> =
                std::iter::once(Argument::Value(this)).chain(args.iter().cloned()).collect();
            if let Choice::One(fit) = self.choose(&callee, &with_this) {
                return self.emit_call(&callee, *fit, with_this, span);
            }
        }
        self.call(&callee, args, span)
    }

    /// `x == none` and `x != none`.
    pub(crate) fn compare_with_none(
        &mut self,
        op: ast::BinaryOp,
        a: &Expr,
        b: &Expr,
        span: Span,
    ) -> Option<Expr> {
        use crate::hir::UnaryOp;
        let none = |cx: &Self, e: &Expr| cx.kind(e.ty) == TyKind::None;
        let value = match (none(self, a), none(self, b)) {
            (false, true) => a,
            (true, false) => b,
            _ => return None,
        };
        let negate = match op {
            ast::BinaryOp::Eq => true,
            ast::BinaryOp::Ne => false,
            _ => return None,
        };
        let has = self.named_member(value.clone(), "hasValue", span);
        let ty = has.ty;
        Some(if negate { Expr::new(ExprKind::Unary(UnaryOp::Not, has.into()), ty, span) } else { has })
    }
}

impl Program {
    /// `concat(t, u)`: one tuple with the elements of all.
    fn concat_tuples(&mut self, args: &[Argument], span: Span) -> Option<Expr> {
        let mut values = vec![];
        let mut types = vec![];
        for arg in args {
            let Argument::Value(value) = arg else { return None };
            let TyKind::Tuple(list) = self.types.kind(value.ty) else { return None };
            types.extend(self.types.list(list).iter().copied());
            values.push(value.clone());
        }
        let ty = self.types.tuple_ty(&types);
        Some(Expr::new(ExprKind::Concat(values), ty, span))
    }
}

/// What derivatives are taken of, and which, innermost first.
fn peel_derivatives(callee: &ast::Expr) -> (&ast::Expr, Vec<DiffMode>) {
    match &callee.kind {
        ast::ExprKind::Paren(inner) => peel_derivatives(inner),
        ast::ExprKind::Diff(mode, inner) => {
            let (function, mut modes) = peel_derivatives(inner);
            modes.push(*mode);
            (function, modes)
        }
        _ => (callee, vec![]),
    }
}
