//! Custom derivatives of instances: `__func_extension fwd_diff(cube<float>)(..)`.
//!
//! An instance may have derivatives that the generic function does not, because its arguments are differentiable and the
//! parameters need not be. The signature of such a derivative follows from the function under the arguments in the path. The
//! extension may be generic itself, with stronger bounds than the function:
//!
//! ```slang
//! T cube<T : IArithmetic>(T x) { .. }
//! __func_extension fwd_diff(cube<float>)(DifferentialPair<float> x) -> DifferentialPair<float> {..}
//! __func_extension<T : IFloat> fwd_diff(cube<T>)(DifferentialPair<T> x) -> DifferentialPair<T> where T.Differential == T {..}
//! ```
//!
//! [`Checked::diff_of`] is what the checker and lowering ask for the derivatives of an instance.

use super::Signature;
use super::custom::Mention;
use super::flags::Role;
use crate::Checked;
use crate::facts::Facts;
use crate::hir::{Arg, Args, DiffMode, FuncDiff, FuncId, FuncRef};

/// A derivative of the instances whose arguments match a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Special {
    mode: DiffMode,
    /// The arguments of the function, in terms of the derivative's generic parameters.
    pattern: Args,
    derivative: FuncId,
}

impl Checked {
    /// Records a derivative of some instances of a function, if it is one; says whether it is.
    pub(super) fn attach_special(&mut self, derivative: FuncId, mention: &Mention, role: Role) -> bool {
        let mode = match role {
            Role::Forward => DiffMode::Forward,
            Role::Backward => DiffMode::Backward,
            Role::Substitute | Role::Rule => return false,
        };
        let (scope, generics) = (self.tables.funcs[derivative].scope, self.tables.funcs[derivative].generics);
        let saved = self.enter(generics);
        let mut found = None;
        for named in self.functions_at(&mention.path, scope) {
            self.ensure_func(named.func);
            let own = self.facts().written_generics(named.func);
            let params = self.tables.generics[self.tables.funcs[named.func].generics].params.clone();
            if named.explicit.len() != own.len() || named.around.len() + own.len() != params.len() {
                continue;
            }
            let mut args = named.around.clone();
            args.extend(
                own.iter().zip(named.explicit).map(|(param, expr)| self.generic_arg(*param, expr, scope)),
            );
            let pattern = self.program.types.args(&args);
            if !args.is_empty() && self.is_derivative_under(derivative, named.func, pattern, mode) {
                found = Some((named.func, pattern));
                break;
            }
        }
        self.leave(saved);
        let Some((original, pattern)) = found else { return false };
        let special = Special { mode, pattern, derivative };
        self.tables.derivatives.add_special(original, special);
        true
    }

    /// Whether a function has the signature of the derivative of another under some arguments, which must be possible ones.
    fn is_derivative_under(
        &mut self,
        derivative: FuncId,
        original: FuncId,
        args: Args,
        mode: DiffMode,
    ) -> bool {
        if self.unmet_bound(self.tables.funcs[original].generics, args).is_some() {
            return false;
        }
        let under = self.signature_of_instance(FuncRef { func: original, args });
        let wanted = self.derived(&under, mode);
        let own = Signature::of(&self.program.funcs[derivative]);
        own.params.len() == wanted.params.len()
            && own.params.iter().zip(&wanted.params).all(|(a, b)| a.dir == b.dir && a.ty == b.ty)
            && own.result == wanted.result
    }

    /// The signature of a function under generic arguments.
    pub(crate) fn signature_of_instance(&mut self, func: FuncRef) -> Signature {
        let params = self.program.funcs[func.func].generics.params.clone();
        let mut signature = Signature::of(&self.program.funcs[func.func]);
        for param in &mut signature.params {
            param.ty = self.replace(param.ty, &params, func.args);
        }
        signature.result = self.replace(signature.result, &params, func.args);
        signature
    }

    /// What is known of the derivatives of an instance: those of the function, and those that are its own.
    pub(crate) fn diff_of_instance(&mut self, func: FuncRef) -> FuncDiff {
        let mut diff = self.program.funcs[func.func].diff;
        for special in self.tables.derivatives.special(func.func).to_vec() {
            let generics = self.tables.funcs[special.derivative].generics;
            let params = self.tables.generics[generics].params.clone();
            let mut bindings: Vec<Option<Arg>> = vec![None; params.len()];
            if !self.matcher(&params, &mut bindings).args(special.pattern, func.args) {
                continue;
            }
            let Some(args) = bindings.into_iter().collect::<Option<Vec<Arg>>>() else { continue };
            let args = self.program.types.args(&args);
            if self.unmet_bound(generics, args).is_some() {
                continue;
            }
            let derivative = FuncRef { func: special.derivative, args };
            match special.mode {
                DiffMode::Forward => diff.forward = Some(derivative),
                DiffMode::Backward => diff.backward = Some(derivative),
            }
        }
        diff
    }
}

impl Facts<'_> {
    /// Whether some instances of a function have a derivative of their own.
    pub(crate) fn has_special(self, func: FuncId, mode: DiffMode) -> bool {
        self.tables.derivatives.special(func).iter().any(|s| s.mode == mode)
    }
}
