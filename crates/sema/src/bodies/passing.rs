//! Builds the call of the selected function: converts the arguments to its parameters.

use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee, Fit};
use crate::codes;
use crate::derive::SigParam;
use crate::facts::Rules;
use crate::hir::{
    Arg, Args, Call, Dir, Expr, ExprKind, FuncId, FuncKind, FuncRef, Measure, Ty, TyKind, Types,
};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast::Version;

impl BodyCx<'_> {
    /// Writes out the call of a chosen function.
    pub(crate) fn emit_call(&mut self, callee: &Callee, fit: Fit, args: Vec<Argument>, span: Span) -> Expr {
        let func = fit.candidate.func;
        if callee.diff.is_empty() {
            self.cx.require_definition(func, span);
        }
        self.warn_deprecated(func, callee.span);
        self.check_known_types(callee, func, fit.args);
        self.check_by_ref(func, &fit, callee.span);
        if let Some(name) = callee.name_span {
            self.note_func(name, func);
        }
        let takes_this = self.cx.program.funcs[func].this.is_some() && callee.diff.is_empty();
        let diff = callee.diff.clone();
        let mut given = vec![];
        if takes_this && let Some(this) = &callee.this {
            given.push(Argument::Value(self.as_base(this.clone(), fit.candidate.base)));
        }
        given.extend(args);
        let mut passed = vec![];
        for (number, args) in self.cx.program.passed(&fit.signature, &given).into_iter().enumerate() {
            let SigParam { ty, dir, .. } = fit.signature.params[number];
            let value = match args {
                _ if self.cx.program.is_pack(ty) => self.pass_pack(args, ty, dir, span),
                [arg] => self.pass(arg.clone(), ty, dir),
                _ => {
                    let number = number - usize::from(takes_this);
                    self.default_argument(func, number, fit.args, ty, span)
                }
            };
            passed.push((dir, value));
        }
        self.note_effects(func, &passed);
        if let Some(error) = self.cx.program.funcs[func].throws {
            if diff.is_empty() {
                passed.extend(self.error_argument(error, span));
            } else {
                self.cx.rules().unsupported(span, "a derivative of a function that throws");
                return self.error(span);
            }
        }
        self.cx.rules().check_specialized(callee, func);
        self.check_bit_cast(func, fit.args, span);
        let through = callee.this.clone().filter(|this| {
            let requirement = matches!(self.cx.program.funcs[func].kind, FuncKind::Requirement(_));
            requirement
                && !takes_this
                && callee.diff.is_empty()
                && self.cx.program.types.is_interface(this.ty)
        });
        let callee = FuncRef { func, args: fit.args };
        let call = Call { callee, diff, args: passed, through };
        Expr::new(ExprKind::Call(call.into()), fit.signature.result, span)
    }

    /// `bit_cast` keeps all bits, so both types have as many.
    fn check_bit_cast(&mut self, func: FuncId, args: Args, span: Span) {
        if self.cx.program.funcs[func].name != "bit_cast" || !self.cx.is_library(func) {
            return;
        }
        let [Arg::Ty(to), Arg::Ty(from)] = *self.cx.program.types.list(args) else { return };
        let size = |cx: &mut Self, ty| {
            let val = cx.cx.measure_val(Measure::Size, ty)?;
            cx.cx.program.types.known(val)
        };
        let (Some(new), Some(old)) = (size(self, to), size(self, from)) else { return };
        if new != old {
            let [to, from] = [to, from].map(|ty| self.show(ty));
            let message = format!("`{from}` has {old} bytes, but `{to}` has {new}");
            self.report(
                Diagnostic::new(codes::MISMATCH, span, message)
                    .help("use types of one size, or `reinterpret`"),
            );
        }
    }

    /// From 2025 on a generic function is not called for whatever a value of interface type holds.
    fn check_known_types(&mut self, callee: &Callee, func: FuncId, args: Args) {
        let is_requirement = matches!(self.cx.program.funcs[func].kind, FuncKind::Requirement(_));
        if self.cx.facts().language(self.scope) < Version::V2025 || is_requirement || self.cx.is_library(func)
        {
            return;
        }
        let hidden = self.cx.tables.funcs[func].hidden;
        let args = self.cx.program.types.list(args);
        let written = &args[..args.len().saturating_sub(hidden)];
        let Some(ty) =
            written.iter().find_map(|arg| arg.ty().filter(|ty| self.cx.program.types.is_held(*ty)))
        else {
            return;
        };
        let message = format!(
            "`{}` cannot be called for the type of an interface value, `{}`",
            callee.name,
            self.show(ty)
        );
        self.report(
            Diagnostic::new(codes::OPEN_TYPE, callee.span, message)
                .help("take a parameter of interface type, or test the value with `is` and `as`"),
        );
    }

    /// A reference to an interface value cannot be followed: where it is, is known only with its type.
    fn check_by_ref(&mut self, func: FuncId, fit: &Fit, span: Span) {
        let this = usize::from(fit.signature.params.len() > self.cx.program.funcs[func].params.len());
        for number in 0..self.cx.program.funcs[func].params.len() {
            let crate::hir::Param { by_ref, span: declared, .. } = self.cx.program.funcs[func].params[number];
            let Some(param) = fit.signature.params.get(number + this) else { return };
            if !by_ref {
                continue;
            }
            if let Some(interface) = self.cx.dispatched_in(param.ty) {
                let message = format!(
                    "a reference to a value of interface type `{}` is not supported",
                    self.cx.facts().show_interface(interface)
                );
                self.report(
                    Diagnostic::new(codes::REF_TO_INTERFACE, declared, message)
                        .label(span, "called here")
                        .help("take it by value or as `inout`"),
                );
            }
        }
    }

    /// Notes that a call does something. What the library computes of values has no effects.
    fn note_effects(&mut self, func: FuncId, passed: &[(Dir, Expr)]) {
        let pure = self.cx.is_library(func) && passed.iter().all(|(dir, _)| *dir == Dir::In);
        self.errors.effects += usize::from(!pure);
    }

    fn pass_pack(&mut self, args: &[Argument], ty: Ty, dir: Dir, span: Span) -> Expr {
        let span = args.first().map_or(span, Argument::span);
        let types = self.cx.program.pack_types(ty);
        let elements = args.iter().zip(types).map(|(arg, ty)| self.pass(arg.clone(), ty, dir)).collect();
        Expr::new(ExprKind::Pack(elements), ty, span)
    }

    fn pass(&mut self, arg: Argument, ty: Ty, dir: Dir) -> Expr {
        match (arg, dir) {
            (Argument::Value(expr), Dir::In) => self.coerce(expr, ty),
            (Argument::Value(expr), Dir::Out | Dir::InOut) => {
                if expr.ty == ty
                    || matches!(self.kind(ty), TyKind::UnsizedArray(_))
                    || self.cx.program.types.is_error(expr.ty)
                {
                    return expr;
                }
                if let Some(levels) = self.cx.levels_to_base(expr.ty, ty) {
                    return self.as_base(expr, levels);
                }
                let span = expr.span;
                Expr::new(ExprKind::Convert(expr.into()), ty, span)
            }
            (Argument::List(items, span), _) => self.list_as(&items, ty, span),
        }
    }

    /// The default of a parameter, as seen by a caller with these generic arguments.
    fn default_argument(&mut self, func: FuncId, number: usize, args: Args, ty: Ty, span: Span) -> Expr {
        let written = self.cx.tables.written_params(func).get(number).and_then(|p| p.default.clone());
        let Some(default) = written else {
            return self.error(span);
        };
        let declared = self.cx.program.funcs[func].params[number].ty;
        let (scope, generics) = (self.cx.tables.funcs[func].scope, self.cx.tables.funcs[func].generics);
        let value = self.foreign(&default, declared, scope, generics);
        let params = self.cx.tables.generics[generics].params.clone();
        let mut value = self.cx.replace_expr(value, &params, args);
        value.span = span;
        self.coerce(value, ty)
    }

    /// `this` as one of the structures it inherits from.
    pub(crate) fn as_base(&mut self, mut this: Expr, levels: u32) -> Expr {
        for _ in 0..levels {
            let Some((id, _)) = self.cx.names().struct_of(this.ty) else { break };
            let Some(ty) = self.cx.base_of(this.ty, id) else { break };
            let span = this.span;
            this = Expr::new(ExprKind::Field(this.into(), 0), ty, span);
        }
        this
    }
}

impl Rules<'_> {
    /// Values of a `[Specialize]` interface are not dispatched on.
    fn check_specialized(&mut self, callee: &Callee, func: FuncId) {
        let FuncKind::Requirement(interface) = self.program.funcs[func].kind else { return };
        let attributes = &self.tables.interfaces[interface].attributes;
        let dynamic = callee.this.as_ref().is_some_and(|this| self.program.types.is_interface(this.ty));
        if !dynamic || !crate::declarations::attrs::has(attributes, "Specialize") {
            return;
        }
        let name = self.program.interfaces[interface].name;
        let message =
            format!("`{name}` is marked `[Specialize]`, so its methods are not called through a value");
        let declared = self.program.interfaces[interface].span;
        self.diagnostics.push(
            Diagnostic::new(codes::OPEN_TYPE, callee.span, message)
                .label(declared, "declared here")
                .help("call it on a value of a known type, or in a function that takes a parameter of the interface"),
        );
    }
}

impl Types {
    /// Whether a type is that of an interface value, or an associated type of it.
    fn is_held(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Interface(..) => true,
            TyKind::Assoc(base, ..) => self.is_held(base),
            _ => false,
        }
    }

    /// Whether values of a type are values of some type that conforms.
    pub(crate) fn is_interface(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Interface(..))
    }
}
