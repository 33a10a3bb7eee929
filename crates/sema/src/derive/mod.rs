//! Derivatives in the front end: which types and functions have them, and how they are called.
//!
//! * [`synth`] synthesizes the `Differential` of a structure that does not name one; [`flags`] reads `[Differentiable]` and
//!   similar attributes.
//! * [`custom`] resolves the functions that derivative attributes name, and [`extension`] those of `__func_extension`.
//!   [`special`] has those of instances. [`matching`] checks their parameter types and bounds.
//! * [`signature`] computes the signature of a derivative; calls of `fwd_diff(f)` are checked against it.
//! * [`flow`] finds derivatives that get lost inside a differentiable function.
//! * [`calls`] decides of which functions a derivative can be called, and converts pairs.
//! * [`declared`] checks the other rules for differentiable functions, and [`no_derivative`] whether they have derivatives at
//!   all.
//! * [`derivatives`] has what is found out about derivatives beside the typed program.
//! * [`codes`] declares the diagnostics.

mod calls;
pub mod codes;
mod custom;
mod declared;
mod derivatives;
mod extension;
mod flags;
mod flow;
mod matching;
mod no_derivative;
mod signature;
mod special;
mod synth;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use calls::{converted_pair, pair_contents, retain_derivable};
pub(crate) use derivatives::Derivatives;
pub(crate) use flags::{derivative_member, names_function, no_diff_this};
pub(crate) use signature::{SigParam, Signature};
pub(crate) use special::Special;

use crate::Checked;
use crate::hir::{AssocId, Body, Bound, ConformanceId, FuncId, Ty, Witness};
use cotangent_base::Code;

/// What stands for an associated type that a conformance leaves out, if the compiler makes it.
pub(crate) fn associated_type(
    checked: &mut Checked,
    conformance: ConformanceId,
    assoc: AssocId,
) -> Option<Ty> {
    (checked.program.lang.differential == Some(assoc)).then(|| checked.synthesize_differential(conformance))
}

/// The differential of a tuple, if all its members have one.
pub(crate) fn tuple_differential(checked: &mut Checked, tuple: Ty) -> Option<Ty> {
    checked.differential_of_tuple(tuple)
}

/// What stands for a requirement that a conformance leaves out, if the compiler makes it.
pub(crate) fn witness(checked: &Checked, requirement: FuncId) -> Option<Witness> {
    checked.facts().synthesized_witness(requirement)
}

/// Reads the derivative attributes of a function whose signature was just resolved.
pub(crate) fn attributes(checked: &mut Checked, func: FuncId) {
    checked.resolve_derivatives(func);
}

/// Records what `[ForwardDerivativeOf(f)]` and its kin say on the functions from `first` on, before any body is checked.
pub(crate) fn attach(checked: &mut Checked, first: FuncId) {
    checked.attach_derivatives(first);
}

/// Checks a function of the user's whose body was just checked: what it gives out, and where derivatives get lost.
pub(crate) fn check_flow(checked: &mut Checked, func: FuncId, body: &Body) {
    let scope = checked.tables.funcs[func].scope;
    if !checked.tables.scopes[scope].is_library() {
        checked.check_outputs(func);
        checked.check_substitutes(func);
        checked.check_idle(func);
        checked.find_losses(func, body);
    }
}

/// Checks what is inlined into functions that are differentiated, when all bodies have been checked.
pub(crate) fn check_inlined(checked: &mut Checked) {
    checked.find_losses_inlined();
}

/// Checks what only conformances to `IDifferentiable` must hold to.
pub(crate) fn check_conformance(checked: &mut Checked, conformance: ConformanceId) {
    checked.check_differential(conformance);
}

/// Checks that the function that stands for a requirement is as differentiable as that.
pub(crate) fn check_witness(checked: &mut Checked, requirement: FuncId, witness: FuncId) {
    checked.rules().check_requirement(requirement, witness);
}

/// The code for a bound that does not hold: differentiability has a page of its own.
pub(crate) fn unmet_code(checked: &Checked, bound: Bound) -> Code {
    match bound {
        Bound::Conforms(_, interface) if checked.program.lang.differentiable == Some(interface.interface) => {
            codes::NOT_DIFFERENTIABLE
        }
        Bound::Conforms(..)
        | Bound::Equal(..)
        | Bound::Count(..)
        | Bound::NonEmpty(_)
        | Bound::Coerces(..)
        | Bound::Optional(..) => crate::codes::UNMET_BOUND,
    }
}
