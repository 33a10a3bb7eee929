//! Warns about differentiable functions without differentiable inputs.
//!
//! ```slang
//! struct Ray { float a; float b; }
//! [Differentiable] float f(Ray r) { return r.a * r.b; } // `Ray` has no derivatives, so there is nothing to differentiate by
//! ```
//!
//! The language allows this: the call `bwd_diff(f)(r, 1.0)` is valid and does nothing. The warning is given if no parameter
//! carries a derivative, a parameter is a user-defined structure that contains numbers, and an output could have a
//! derivative. Methods are exempt, since interfaces may prescribe their signatures. So are structures that contain resources,
//! since derivatives may leave through those.

use super::signature::DiffKind;
use super::{Signature, codes};
use crate::Checked;
use crate::facts::Rules;
use crate::hir::{Dir, Func, FuncId, Ty, TyKind};
use cotangent_base::Diagnostic;

/// What a plain structure is made of.
#[derive(Clone, Copy, Default)]
struct Contents {
    numbers: bool,
    resources: bool,
}

impl Checked {
    /// Warns of a differentiable function whose only numbers come in structures without derivatives.
    pub(super) fn check_idle(&mut self, func: FuncId) {
        let Func { diff, this, .. } = &self.program.funcs[func];
        if diff.differentiable.is_none() || diff.is_custom() || diff.constant || this.is_some() {
            return;
        }
        let saved = self.enter(self.tables.funcs[func].generics);
        if let Some(number) = self.idle_param(func) {
            self.rules().warn_idle(func, number);
        }
        self.leave(saved);
    }

    /// The first parameter that would carry a derivative if its structure had one, if none does.
    fn idle_param(&mut self, func: FuncId) -> Option<usize> {
        let signature = Signature::of(&self.program.funcs[func]);
        let result = self.diff_kind(signature.result, signature.no_diff_result) != DiffKind::Plain;
        let (mut found, mut wanted) = (None, result);
        for (number, param) in signature.params.iter().enumerate() {
            match self.diff_kind(param.ty, param.no_diff) {
                DiffKind::Value(_) if param.dir == Dir::Out => wanted = true,
                DiffKind::Value(_) | DiffKind::Pointer => return None,
                DiffKind::Plain if param.no_diff || param.dir == Dir::Out => {}
                DiffKind::Plain => {
                    let Contents { numbers, resources } = self.contents(param.ty);
                    if resources {
                        return None;
                    }
                    found = found.or(numbers.then_some(number));
                }
            }
        }
        found.filter(|_| wanted)
    }

    fn contents(&mut self, ty: Ty) -> Contents {
        match self.program.types.kind(ty) {
            TyKind::Array(element, _) => self.contents(element),
            TyKind::Struct(id, _) if self.tables.scopes[self.tables.structs[id].scope].is_library() => {
                Contents { numbers: false, resources: true }
            }
            TyKind::Struct(..) if self.has_too_many_fields(ty) => {
                Contents { numbers: false, resources: true }
            }
            TyKind::Struct(id, args) => {
                let no_diff: Vec<bool> = self.program.structs[id].fields.iter().map(|f| f.no_diff).collect();
                let mut all = Contents::default();
                for (ty, no_diff) in self.fields_under(id, args).into_iter().zip(no_diff) {
                    if self.differential_of(ty).is_some() {
                        all.numbers |= !no_diff;
                    } else {
                        let Contents { numbers, resources } = self.contents(ty);
                        all = Contents {
                            numbers: all.numbers || numbers && !no_diff,
                            resources: all.resources || resources,
                        };
                    }
                }
                all
            }
            TyKind::Error
            | TyKind::Void
            | TyKind::Scalar(_)
            | TyKind::Vector(..)
            | TyKind::Matrix(..)
            | TyKind::Enum(_)
            | TyKind::String
            | TyKind::None => Contents::default(),
            // There may be anything in these.
            TyKind::UnsizedArray(_)
            | TyKind::Interface(..)
            | TyKind::Param(_)
            | TyKind::Assoc(..)
            | TyKind::Tuple(_)
            | TyKind::Pack(_)
            | TyKind::Expand(..)
            | TyKind::Each(_)
            | TyKind::Part(..) => Contents { numbers: false, resources: true },
        }
    }
}

impl Rules<'_> {
    fn warn_idle(&mut self, func: FuncId, number: usize) {
        let Func { name, params, .. } = &self.program.funcs[func];
        let (param, at) = (&params[number], params[number].span);
        let mut element = param.ty;
        while let TyKind::Array(inner, _) = self.program.types.kind(element) {
            element = inner;
        }
        let shown = self.show(element);
        let message = format!(
            "`{name}` has no differentiable input: the type `{shown}` of `{}` is not differentiable",
            param.name
        );
        let declared = self.facts().show_declared(element);
        let help =
            format!("declare `struct {declared} : IDifferentiable`; if it is a constant, mark it `no_diff`");
        self.diagnostics.push(Diagnostic::new(codes::NOTHING_TO_VARY, at, message).help(help));
    }
}
