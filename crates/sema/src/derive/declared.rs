//! Checks differentiable functions, apart from their bodies.

use super::signature::DiffKind;
use super::{Signature, codes};
use crate::Checked;
use crate::facts::Rules;
use crate::hir::{DiffMode, Dir, FuncDiff, FuncId, Ty};
use cotangent_base::{Diagnostic, Span};

impl Checked {
    /// Whether a function sees derivatives of its parameter or result of the declared type `ty`. In the user's functions that
    /// is decided by what is assumed of generic parameters, whatever their arguments: an unconstrained `T` has none. Those
    /// of the library go by the arguments.
    pub(crate) fn sees_derivatives(&mut self, func: FuncId, ty: Ty) -> bool {
        let info = &self.tables.funcs[func];
        let (scope, generics) = (info.scope, info.generics);
        if self.tables.scopes[scope].is_library() || self.tables.generics[generics].params.is_empty() {
            return true;
        }
        let saved = self.enter(generics);
        let seen = self.diff_kind(ty, false) != DiffKind::Plain;
        self.leave(saved);
        seen
    }

    /// Checks that a differentiable function gives out no pointers.
    pub(super) fn check_outputs(&mut self, func: FuncId) {
        if !self.program.funcs[func].diff.is_differentiable() {
            return;
        }
        let (name, span) = (self.program.funcs[func].name, self.program.funcs[func].span);
        let signature = Signature::of(&self.program.funcs[func]);
        let spans: Vec<Span> = self.program.funcs[func].params.iter().map(|p| p.span).collect();
        let own_params = signature.params.len() - spans.len();
        for (number, param) in signature.params.iter().enumerate() {
            if param.dir != Dir::In && self.diff_kind(param.ty, param.no_diff) == DiffKind::Pointer {
                let at = number.checked_sub(own_params).map_or(span, |n| spans[n]);
                let message = format!(
                    "`{}` of the differentiable function `{name}` is an output of pointer type",
                    param.name
                );
                self.diagnostics.push(
                    Diagnostic::new(codes::POINTER_OUTPUT, at, message)
                        .help("make it `in`, or mark it `no_diff`"),
                );
            }
        }
        if self.diff_kind(signature.result, signature.no_diff_result) == DiffKind::Pointer {
            let message = format!("the differentiable function `{name}` returns a pointer type");
            let help = "mark the result `no_diff`, or return what it points to";
            self.diagnostics.push(Diagnostic::new(codes::POINTER_OUTPUT, span, message).help(help));
        }
    }

    /// Checks that the substitutes of a function lead somewhere: one that leads back to it has no body to differentiate.
    pub(super) fn check_substitutes(&mut self, func: FuncId) {
        let (mut at, mut seen) = (func, vec![]);
        while let Some(substitute) = self.program.funcs[at].diff.substitute
            && !seen.contains(&substitute.func)
        {
            at = substitute.func;
            self.ensure_func(at);
            seen.push(at);
        }
        if !seen.contains(&func) {
            return;
        }
        let (name, span) = (self.program.funcs[func].name, self.program.funcs[func].span);
        let message = format!("`{name}` is its own substitute");
        let mut diagnostic = Diagnostic::new(codes::SUBSTITUTE_CIRCLE, span, message)
            .help("name a function with a differentiable body in `[PrimalSubstitute(..)]`");
        for other in seen.iter().filter(|other| **other != func) {
            diagnostic = diagnostic.label(self.program.funcs[*other].span, "through this function");
        }
        self.diagnostics.push(diagnostic);
    }
}

impl Rules<'_> {
    /// Checks that a differentiable requirement is met by a differentiable function.
    pub(super) fn check_requirement(&mut self, requirement: FuncId, witness: FuncId) {
        let required = self.program.funcs[requirement].diff.differentiable;
        let given = self.program.funcs[witness].diff;
        let missing = required.is_some_and(|mode| !given.has(DiffMode::Forward) || !given.has(mode));
        if missing {
            let (name, span) = (self.program.funcs[witness].name, self.program.funcs[witness].span);
            let declared = self.program.funcs[requirement].span;
            let message = format!("`{name}` must be differentiable, because the interface requires it");
            let help = "mark it [Differentiable], or [TreatAsDifferentiable] if its derivative is zero";
            self.diagnostics.push(
                Diagnostic::new(codes::REQUIREMENT, span, message)
                    .label(declared, "required to be differentiable here")
                    .help(help),
            );
        }
    }

    /// Whether a function has a derivative in that direction; says what is missing if not.
    pub(super) fn check_direction(&mut self, func: FuncId, mode: DiffMode, span: Span) -> bool {
        let declared = &self.program.funcs[func];
        let (name, diff, at) = (declared.name, declared.diff, declared.span);
        if diff.has(mode) {
            return true;
        }
        let diagnostic = if diff.is_differentiable() {
            let (missing, written) = match mode {
                DiffMode::Forward => ("forward", "backward"),
                DiffMode::Backward => ("backward", "forward"),
            };
            let message = format!("`{name}` has a {written} derivative, but no {missing} one");
            Diagnostic::new(codes::ONE_DIRECTION, span, message)
        } else {
            Diagnostic::new(codes::NO_DERIVATIVE, span, format!("`{name}` has no derivative"))
        };
        self.diagnostics.push(
            diagnostic
                .label(at, "declared here")
                .help(format!("mark `{name}` with [Differentiable] to generate its derivative")),
        );
        false
    }
}

impl FuncDiff {
    /// Whether there is a derivative in that direction, by whatever means.
    pub(crate) fn has(&self, mode: DiffMode) -> bool {
        let by_hand = match mode {
            DiffMode::Forward => self.forward.is_some() || self.differentiable.is_some(),
            DiffMode::Backward => {
                let generated = self.differentiable == Some(DiffMode::Backward);
                self.backward.is_some() || self.apply.is_some() || generated
            }
        };
        by_hand || self.rule.is_some() || self.substitute.is_some() || self.constant
    }
}
