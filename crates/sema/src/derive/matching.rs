//! What a function written as a derivative must hold to beyond what a call of it would ask for.
//!
//! **Kinds of numbers.** Its parameters may differ from those asked for by conversions, but not from a floating-point number to
//! an integer or a truth value, or back: that is how parameters in another order look.
//!
//! ```slang
//! float f(float x, int n);                                       // must be (inout DifferentialPair<float>, int, float)
//! void b(inout DifferentialPair<float> x, float d, int n);       // and each argument would convert
//! ```
//!
//! **Bounds.** A derivative that says of which function it is one (`[BackwardDerivativeOf(f)]`, `__func_extension`) names `f` with its
//! own generic parameters, so these must have the bounds that `f` asks for.

use super::Signature;
use crate::Checked;
use crate::hir::{Arg, FuncId, FuncRef, Ty, TyKind};
use cotangent_base::Scalar;

/// What a number is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Float,
    Integer,
    Truth,
}

impl Checked {
    /// Whether arguments of the types in `wanted` are numbers of the same kinds as the parameters in `own`, as far as both are
    /// numbers.
    pub(super) fn same_numbers(&self, own: &Signature, wanted: &Signature) -> bool {
        let kinds = |types: (Ty, Ty)| self.number(types.0).zip(self.number(types.1));
        own.types().zip(wanted.types()).filter_map(kinds).all(|(own, given)| own == given)
    }

    fn number(&self, ty: Ty) -> Option<Number> {
        match self.program.types.kind(ty) {
            TyKind::Scalar(Scalar::Bool) => Some(Number::Truth),
            TyKind::Scalar(scalar) if scalar.is_float() => Some(Number::Float),
            TyKind::Scalar(_) | TyKind::Enum(_) => Some(Number::Integer),
            TyKind::Vector(element, _) | TyKind::Matrix(element, ..) => self.number(element),
            _ => None,
        }
    }

    /// Whether the generic parameters of `derivative` promise less than `original` asks for in the same places.
    pub(super) fn promises_less(&mut self, original: FuncId, derivative: FuncRef) -> bool {
        let generics = self.tables.funcs[original].generics;
        let own = self.tables.funcs[derivative.func].generics;
        let (wanted, given) =
            (self.tables.generics[generics].params.clone(), self.tables.generics[own].params.clone());
        let places = self.program.types.list(derivative.args).to_vec();
        let mut args: Vec<Arg> = vec![];
        for &param in wanted.iter() {
            let arg = self.param_arg(param);
            // One that the derivative knows nothing of cannot be asked about.
            let Some(place) = places.iter().position(|place| *place == arg) else { return false };
            args.push(self.param_arg(given[place]));
        }
        let args = self.program.types.args(&args);
        let saved = self.enter(own);
        let unmet = self.unmet_bound(generics, args).is_some();
        self.leave(saved);
        unmet
    }
}
