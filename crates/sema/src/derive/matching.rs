//! Checks custom derivatives more strictly than overload resolution does. Input: a derivative and what it must fit. Output:
//! whether it fits.
//!
//! **Kinds of numbers.** Parameters may differ from the expected ones by conversions, but not between floating-point numbers and
//! integers or truth values: such a difference means that the parameters are in another order.
//!
//! ```slang
//! float f(float x, int n);                                       // must be (inout DifferentialPair<float>, int, float)
//! void b(inout DifferentialPair<float> x, float d, int n);       // and each argument would convert
//! ```
//!
//! **Bounds.** A derivative that names its function (`[BackwardDerivativeOf(f)]`, `__func_extension`) passes its own generic
//! parameters to `f`, so these must have the bounds that `f` requires.

use super::Signature;
use crate::Checked;
use crate::hir::{Arg, FuncId, FuncRef, Ty, TyKind, Types};
use cotangent_base::Scalar;

/// The kind of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Float,
    Integer,
    Truth,
}

impl Types {
    /// Whether the numbers among the parameters in `own` and in `wanted` are of the same kinds. Other parameters do not count.
    pub(super) fn same_numbers(&self, own: &Signature, wanted: &Signature) -> bool {
        let kinds = |types: (Ty, Ty)| self.number(types.0).zip(self.number(types.1));
        own.types().zip(wanted.types()).filter_map(kinds).all(|(own, given)| own == given)
    }

    fn number(&self, ty: Ty) -> Option<Number> {
        match self.kind(ty) {
            TyKind::Scalar(Scalar::Bool) => Some(Number::Truth),
            TyKind::Scalar(scalar) if scalar.is_float() => Some(Number::Float),
            TyKind::Scalar(_) | TyKind::Enum(_) => Some(Number::Integer),
            TyKind::Vector(element, _) | TyKind::Matrix(element, ..) => self.number(element),
            _ => None,
        }
    }
}

impl Checked {
    /// Whether the generic parameters of `derivative` have weaker bounds than those of `original`.
    pub(super) fn promises_less(&mut self, original: FuncId, derivative: FuncRef) -> bool {
        let generics = self.tables.funcs[original].generics;
        let own = self.tables.funcs[derivative.func].generics;
        let (wanted, given) =
            (self.tables.generics[generics].params.clone(), self.tables.generics[own].params.clone());
        let places = self.program.types.list(derivative.args).to_vec();
        let mut args: Vec<Arg> = vec![];
        for &param in wanted.iter() {
            let arg = self.program.param_arg(param);
            // A parameter that the derivative does not pass on has no bounds to compare.
            let Some(place) = places.iter().position(|place| *place == arg) else { return false };
            args.push(self.program.param_arg(given[place]));
        }
        let args = self.program.types.args(&args);
        let saved = self.enter(own);
        let unmet = self.unmet_bound(generics, args).is_some();
        self.leave(saved);
        unmet
    }
}
