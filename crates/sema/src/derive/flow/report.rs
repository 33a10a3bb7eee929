//! Reports lost derivatives.
//!
//! Every report names the operation that loses the derivative, shows the path of the derivative to it and from it to an
//! output, and suggests how to preserve or drop the derivative.

use super::carry::integers::Ending;
use super::trail::{self, Step};
use super::{Flow, Loss};
use crate::derive::{Signature, codes};
use crate::hir::{Expr, ExprKind, Func, FuncId, FuncKind, Ty, TyKind};
use crate::tables::FuncSource;
use cotangent_base::{Diagnostic, Span, Symbol, fields};
use cotangent_syntax::ast::FuncKind as Written;

impl Flow<'_> {
    fn report(&mut self, span: Span, diagnostic: Diagnostic, came: &[Step], goes: &[Step]) {
        self.reports.push((span, trail::tell(diagnostic, came, goes)));
    }

    /// The call of whose result an expression takes a part, or calls a member.
    pub(super) fn picked_call(&self, expr: &Expr) -> Option<Span> {
        let base = match &expr.kind {
            ExprKind::Field(base, _)
            | ExprKind::Element(base, _)
            | ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _)
            | ExprKind::Property { this: Some(base), .. } => base,
            ExprKind::Call(call) => {
                self.checked.program.funcs[call.callee.func].this?;
                &call.args.first()?.1
            }
            _ => return None,
        };
        matches!(base.kind, ExprKind::Call(_) | ExprKind::Property { .. }).then_some(base.span)
    }

    /// A derivative goes into a call that gives none back. Of what it gives a part may be taken at once.
    pub(super) fn report_call(
        &mut self,
        func: FuncId,
        (span, is_picked): (Span, bool),
        came: &[Step],
        goes: &[Step],
    ) {
        let scope = self.checked.tables.funcs[func].scope;
        let library = self.checked.tables.scopes[scope].is_library();
        let Func { name, span: declared, .. } = self.checked.program.funcs[func];
        if self.func_passes(func) {
            return self.report_unconstrained(func, span, came, goes);
        }
        let message = format!("`{name}` has no derivative, but one is needed here");
        let diagnostic = Diagnostic::new(codes::LOST_AT_CALL, span, message)
            .here(format!("the derivative of {} is lost in this call", origin(came)));
        let drop = match is_picked {
            true => format!("write `(no_diff {}).x` to make its derivative zero", self.call_words(func)),
            false => "write `no_diff` before the call to make its derivative zero".into(),
        };
        let diagnostic = match library {
            true => diagnostic.help(format!(
                "{drop}; or call it in a function with a differentiable substitute: `[PrimalSubstitute(g)]`"
            )),
            false => diagnostic
                .label(declared, "declared without [Differentiable]")
                .help(format!("mark `{name}` with [Differentiable], or {drop}")),
        };
        self.report(span, diagnostic, came, goes);
    }

    /// A call of a function, roughly as it is written.
    fn call_words(&self, func: FuncId) -> String {
        let FuncSource::Func(decl) = &self.checked.tables.funcs[func].source else { return "..".into() };
        let name = decl.name.name;
        match (decl.kind, self.checked.program.funcs[func].this) {
            (Written::Plain, Some(_)) => format!("object.{name}(..)"),
            (Written::Plain, None) => format!("{name}(..)"),
            (Written::Constructor | Written::Operator, _) => "..".into(),
        }
    }

    /// A derivative goes into a generic function that does not know of it.
    fn report_unconstrained(&mut self, func: FuncId, span: Span, came: &[Step], goes: &[Step]) {
        let Func { name, span: declared, .. } = self.checked.program.funcs[func];
        let message = format!("`{name}` drops the derivative of this argument");
        let diagnostic = Diagnostic::new(codes::LOST_AT_CALL, span, message);
        let diagnostic = match self.hiding_interface(func) {
            Some(interface) => diagnostic
                .label(
                    declared,
                    format!("`{interface}` does not require conforming types to be differentiable"),
                )
                .help(format!(
                    "declare `interface {interface} : IDifferentiable`; or write `no_diff` before the call"
                )),
            None => diagnostic
                .label(declared, "its generic parameters are not constrained to differentiable types")
                .help("constrain the parameter: `<T : IDifferentiable>`; or write `no_diff` before the call"),
        };
        self.report(span, diagnostic, came, goes);
    }

    /// The interface that requires a function, if that takes the conforming type and does not know it to be differentiable.
    fn hiding_interface(&mut self, func: FuncId) -> Option<Symbol> {
        let FuncKind::Requirement(interface) = self.checked.program.funcs[func].kind else { return None };
        let this = *self.checked.program.funcs[func].generics.params.first()?;
        let params = Signature::of(&self.checked.program.funcs[func]).params;
        let is_this = |ty| self.checked.program.types.kind(ty) == TyKind::Param(this);
        let hides = params.iter().find(|p| !p.no_diff && is_this(p.ty))?.ty;
        let name = self.checked.program.interfaces[interface].name;
        (!self.checked.sees_derivatives(func, hides)).then_some(name)
    }

    /// The structure that a structure derives from, as it is shown.
    fn base_of(&mut self, ty: Ty) -> Option<String> {
        let (id, _) = self.checked.names().struct_of(ty)?;
        let base = self.checked.base_of(ty, id)?;
        Some(self.checked.show(base))
    }

    /// A number is made of an integer that a derivative ended in.
    pub(super) fn report_integer(&mut self, ending: &Ending, back: Span, goes: &[Step]) {
        let Ending { at, came, .. } = ending;
        let message = format!("the derivative of {} ends in an integer here", origin(came));
        let mut diagnostic = Diagnostic::new(codes::ENDS_IN_INTEGER, *at, message).help(
            "if that is intended, write `detach(..)` around the float or `no_diff` before the call that takes it; otherwise avoid the integer",
        );
        if back.end <= at.start || at.end <= back.start {
            diagnostic = diagnostic.label(back, "this float has no derivative");
        }
        self.report(*at, diagnostic, came, goes);
    }

    /// A derivative goes into a place that keeps none.
    pub(super) fn report_store(&mut self, loss: Loss, span: Span, came: &[Step]) {
        let detach = "write `detach(..)` around the value to drop its derivative";
        let field_name = |flow: &Self, ty: Ty, number: u32| match flow.checked.program.types.kind(ty) {
            TyKind::Struct(id, _) => flow.checked.program.structs[id].fields[number as usize].name.as_str(),
            _ => "",
        };
        let diagnostic = match loss {
            Loss::Reported => return,
            Loss::Setter(func) => return self.report_call(func, (span, false), came, &[]),
            Loss::NoDiffField(ty, number) => {
                let message = format!(
                    "field `{}` is `no_diff` and drops the derivative of this value",
                    field_name(self, ty, number)
                );
                Diagnostic::new(codes::LOST_IN_STORE, span, message).help(format!(
                    "remove `no_diff` from the field, store the value in a differentiable one, or {detach}"
                ))
            }
            Loss::NoDiffParam(name) => {
                let message =
                    format!("parameter `{name}` is `no_diff` and drops the derivative of this value");
                let help = "remove `no_diff` from the parameter, or assign `detach(..)` of the value to drop its derivative; for an output of a call, use a variable first";
                Diagnostic::new(codes::LOST_IN_STORE, span, message).help(help)
            }
            Loss::PlainStruct(ty, number) => {
                let shown = self.checked.show(ty);
                let (part, base) = match field_name(self, ty, number) {
                    fields::BASE => ("its base".to_string(), self.base_of(ty)),
                    field => (format!("its field `{field}`"), self.base_of(ty)),
                };
                let message =
                    format!("`{shown}` is not differentiable, so {part} drops the derivative of this value");
                let base = base.map_or(String::new(), |base| format!("{base}, "));
                let declared = self.checked.facts().show_declared(ty);
                Diagnostic::new(codes::LOST_IN_STRUCT, span, message)
                    .help(format!("declare `struct {declared} : {base}IDifferentiable`, or {detach}"))
            }
            Loss::PlainTuple(ty) => {
                let shown = self.checked.show(ty);
                let message =
                    format!("`{shown}` is not differentiable and drops the derivative of its members");
                let help = "a tuple is differentiable if all its members are; use a structure that is `IDifferentiable`";
                Diagnostic::new(codes::LOST_IN_STRUCT, span, message).help(help)
            }
            Loss::Conversion(ty) => self.lost_in_conversion(ty, span),
            Loss::Memory => {
                let message = "this value loses its derivative in memory";
                Diagnostic::new(codes::LOST_IN_STORE, span, message).help(format!(
                    "return the value or write it to an `out` parameter, put the store into a function with a custom derivative, or {detach}"
                ))
            }
            Loss::Other => {
                let message = "the assignment drops the derivative of this value";
                Diagnostic::new(codes::LOST_IN_STORE, span, message).help(detach)
            }
        };
        self.report(span, diagnostic, came, &[]);
    }

    /// An object that carries a derivative becomes a value of a type that has none.
    fn lost_in_conversion(&mut self, ty: Ty, span: Span) -> Diagnostic {
        let shown = self.checked.show(ty);
        let (declared, word, library) = match self.checked.program.types.kind(ty) {
            TyKind::Interface(id, _) => {
                let scope = self.checked.tables.interfaces[id].scope;
                let library = self.checked.tables.scopes[scope].is_library();
                (self.checked.program.interfaces[id].span, "interface", library)
            }
            TyKind::Struct(id, _) => (self.checked.program.structs[id].span, "struct", false),
            _ => (Span::none(), "type", false),
        };
        let message = format!("`{shown}` is not differentiable, so this object loses its derivative");
        let diagnostic = Diagnostic::new(codes::LOST_IN_CONVERSION, span, message);
        let (declare, diagnostic) = match library {
            true => (
                format!(
                    "declare an interface that extends both: `interface IMine : {shown}, IDifferentiable {{}}`"
                ),
                diagnostic,
            ),
            false => (
                format!("declare `{word} {} : IDifferentiable`", self.checked.facts().show_declared(ty)),
                diagnostic.label(declared, "declared without `IDifferentiable`"),
            ),
        };
        diagnostic.help(format!("{declare}, or write `detach(..)` around the object to drop its derivative"))
    }
}

/// Where a derivative came from, in words.
fn origin(came: &[Step]) -> String {
    came.last().map_or_else(|| "an argument".into(), |step| step.words.clone())
}
