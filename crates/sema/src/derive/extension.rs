//! Checks `__func_extension`, which attaches derivatives to functions without attributes.
//!
//! ```slang
//! __func_extension fwd_diff(f)(DifferentialPair<float> x) -> DifferentialPair<float> {..}
//! __func_extension bwd_diff(f)(inout DifferentialPair<float> x, float d) {..}
//! __func_extension __apply(f)(float x) -> Tuple<float, Context> {..}
//! ```
//!
//! The first two are equivalent to `[ForwardDerivativeOf(f)]` and `[BackwardDerivativeOf(f)]`. The third has the parameters
//! and result of `f`, and also returns a context that the backward pass calls:
//!
//! | parameter of `f`         | of `Context.operator()`  |
//! | ------------------------ | ------------------------ |
//! | `in T`, differentiable   | `out T.Differential`     |
//! | `inout T`, differentiable| `inout T.Differential`   |
//! | `out T`, differentiable  | `in T.Differential`      |
//! | anything else            | absent                   |
//! | result `T`, differentiable | last: `in T.Differential` |
//!
//! If `f` returns nothing, the result is the context alone.

use super::custom::{Mention, Misfit, Named};
use super::flags::Role;
use super::signature::{DiffKind, SigParam};
use super::{Signature, codes};
use crate::Checked;
use crate::facts::Rules;
use crate::hir::{Apply, Arg, Dir, FuncId, Ty, TyKind, Types};
use crate::tables::{FuncSource, Item, Owner};
use cotangent_base::{Diagnostic, Symbol};
use cotangent_syntax::ast::ExtensionPart;

/// What members are called that make an object callable.
const CALL: &str = "operator()";

impl Checked {
    /// Records what a function was declared to be for another by `__func_extension`, if it was.
    pub(super) fn attach_extension(&mut self, func: FuncId) {
        let FuncSource::Func(decl) = &self.tables.funcs[func].source else { return };
        let Some(extends) = decl.extends.clone() else { return };
        let mention = Mention { word: "__func_extension".into(), path: extends.target, span: extends.span };
        if extends.part == ExtensionPart::Apply {
            self.take_object(func, &mention);
        }
        self.ensure_func(func);
        match extends.part {
            ExtensionPart::Forward => self.derivative_of(func, &mention, Role::Forward),
            ExtensionPart::Backward => self.derivative_of(func, &mention, Role::Backward),
            ExtensionPart::Apply => self.apply_of(func, &mention),
        }
    }

    /// What is given for a method takes its object, as `this`.
    fn take_object(&mut self, apply: FuncId, mention: &Mention) {
        let scope = self.tables.funcs[apply].scope;
        let found = self.functions_at(&mention.path, scope);
        let Some(owner) =
            found.first().map(|named| &self.tables.funcs[named.func]).filter(|info| !info.is_static)
        else {
            return;
        };
        // The parameters of a generic structure would have to be those of the extension.
        if matches!(owner.owner, Owner::Struct(id) if self.tables.structs[id].decl.generics.params.is_empty())
        {
            let owner = owner.owner;
            self.tables.funcs.make_method(apply, owner);
        }
    }

    fn apply_of(&mut self, apply: FuncId, mention: &Mention) {
        let Some(found) = self.originals(apply, mention) else { return };
        let mut first = None;
        for original in &found {
            self.ensure_func(*original);
            let saved = self.enter(self.tables.funcs[*original].generics);
            let fit = self.fit_apply(*original, apply);
            self.leave(saved);
            let fit = match fit {
                Ok(fitting) if self.promises_less(*original, fitting.primal) => {
                    let wanted = Signature::of(&self.program.funcs[*original]);
                    Err(Unfit::Apply(Misfit::Generics, wanted))
                }
                fit => fit,
            };
            match fit {
                Ok(fitting) => return self.record_apply(*original, fitting, mention),
                Err(diagnostic) => first = first.or(Some((*original, diagnostic))),
            }
        }
        let Some((original, unfit)) = first else { return };
        // As if it had a derivative, so that calls of it are not reported too.
        self.program.funcs[original].diff.constant = true;
        match unfit {
            Unfit::Apply(misfit, wanted) => self.misfit(misfit, mention, &wanted, original, apply),
            Unfit::NoContext => self.rules().no_context(apply, original),
            Unfit::Context(context, wanted) => self.rules().not_callable(apply, original, context, &wanted),
        }
    }

    fn fit_apply(&mut self, original: FuncId, apply: FuncId) -> Result<Apply, Unfit> {
        let wanted = Signature::of(&self.program.funcs[original]);
        let given = Signature::of(&self.program.funcs[apply]);
        let (result, context) =
            self.program.types.value_and_context(given.result, wanted.result).ok_or(Unfit::NoContext)?;
        let given = Signature { result, ..given };
        let standing = Named { func: apply, around: vec![], explicit: &[] };
        let primal = self.fit_as(&standing, &given, original, &wanted).map_err(|misfit| {
            let parts = self.program.types.args(&[Arg::Ty(wanted.result), Arg::Ty(context)]);
            let result = self.program.types.ty(TyKind::Tuple(parts));
            Unfit::Apply(misfit, Signature { result, ..wanted.clone() })
        })?;
        let params = self.tables.generics[self.tables.funcs[apply].generics].params.clone();
        let context = self.replace(context, &params, primal.args);
        let wanted = self.pullback_signature(&wanted, context);
        for found in self.members(context, Symbol::new(CALL)) {
            let Item::Func(func) = found.item else { continue };
            let around = self.program.types.list(found.args).to_vec();
            let member = Named { func, around, explicit: &[] };
            if let Ok(pullback) = self.fit(&member, original, &wanted) {
                return Ok(Apply { primal, pullback });
            }
        }
        Err(Unfit::Context(context, wanted))
    }

    /// What the `operator()` of the context of a function with this signature looks like.
    fn pullback_signature(&mut self, signature: &Signature, context: Ty) -> Signature {
        let this = SigParam { name: Symbol::new("this"), ty: context, dir: Dir::In, no_diff: false };
        let mut params = vec![this];
        for param in &signature.params {
            let DiffKind::Value(ty) = self.diff_kind(param.ty, param.no_diff) else { continue };
            let dir = match param.dir {
                Dir::In => Dir::Out,
                Dir::Out => Dir::In,
                Dir::InOut => Dir::InOut,
            };
            params.push(SigParam { ty, dir, ..*param });
        }
        if let DiffKind::Value(ty) = self.diff_kind(signature.result, signature.no_diff_result) {
            let name = Symbol::new("resultGradient");
            params.push(SigParam { name, ty, dir: Dir::In, no_diff: false });
        }
        Signature { params, result: self.program.types.ty(TyKind::Void), no_diff_result: false }
    }

    fn record_apply(&mut self, original: FuncId, apply: Apply, mention: &Mention) {
        let diff = &mut self.program.funcs[original].diff;
        let other = diff.apply.map(|a| a.primal).or(diff.backward);
        if let Some(other) = other {
            return self.second_derivative(original, other.func, mention.span);
        }
        diff.apply = Some(apply);
    }
}

impl Rules<'_> {
    fn no_context(&mut self, apply: FuncId, original: FuncId) {
        let (span, given) = (self.program.funcs[apply].span, self.program.funcs[apply].result);
        let message = format!("the result of `{}` has no context", self.program.funcs[apply].name);
        let result = self.show(self.program.funcs[original].result);
        self.diagnostics.push(
            Diagnostic::new(codes::WRONG_CONTEXT, span, message)
                .here(format!("this returns `{}`", self.show(given)))
                .label(self.program.funcs[original].span, "declared here")
                .help(format!("return `Tuple<{result}, C>`, where `C` is a structure with an `operator()`")),
        );
    }

    fn not_callable(&mut self, apply: FuncId, original: FuncId, context: Ty, wanted: &Signature) {
        let behind_this = Signature { params: wanted.params[1..].to_vec(), ..wanted.clone() };
        let (context, wanted) = (self.show(context), self.facts().show_signature(&behind_this));
        let message = format!(
            "cannot call `{context}` with the derivatives of `{}`",
            self.program.funcs[original].name
        );
        let wanted = wanted.replacen('(', &format!(" {CALL}("), 1);
        self.diagnostics.push(
            Diagnostic::new(codes::WRONG_CONTEXT, self.program.funcs[apply].span, message)
                .label(self.program.funcs[original].span, "declared here")
                .help(format!("give `{context}` a member `{wanted}`")),
        );
    }
}

impl Types {
    /// The parts of what `__apply(f)` gives: a tuple of them, or the context alone if `f` gives nothing.
    fn value_and_context(&self, given: Ty, result: Ty) -> Option<(Ty, Ty)> {
        if self.kind(result) == TyKind::Void {
            return Some((result, given));
        }
        let TyKind::Tuple(parts) = self.kind(given) else { return None };
        match *self.list(parts) {
            [Arg::Ty(value), Arg::Ty(context)] => Some((value, context)),
            _ => None,
        }
    }
}

/// Why a function cannot serve as `__apply(f)`.
enum Unfit {
    /// It gives no context.
    NoContext,
    /// It does not fit itself; with the signature that would.
    Apply(Misfit, Signature),
    /// Its context cannot be called; with the signature that would do.
    Context(Ty, Signature),
}
