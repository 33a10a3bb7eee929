//! Derivatives in the front end: which types and functions have them, and what calls of them look like.
//!
//! * [`synth`] makes the `Differential` of a structure that does not name one.
//! * [`attributes`] reads `[Differentiable]` and its kin, [`custom`] finds the functions that derivative attributes
//!   name.
//! * [`signature`] translates a signature into that of the derivative; calls of `fwd_diff(f)` are checked against it.
//! * [`flow`] finds derivatives that get lost inside a differentiable function.
//! * [`codes`] are the diagnostics of all of them.

pub(crate) mod attributes;
pub mod codes;
mod flow;
mod signature;
mod synth;
mod validate;

pub(crate) use signature::{DiffKind, SigParam, Signature};

use crate::Checked;
use crate::hir::{AssocId, ConformanceId, FuncId, Ty, Witness};

/// What stands for an associated type that a conformance leaves out, if the compiler makes it.
pub(crate) fn associated_type(checked: &mut Checked, conformance: ConformanceId, assoc: AssocId) -> Option<Ty> {
    (checked.program.lang.differential == Some(assoc)).then(|| checked.synthesize_differential(conformance))
}

/// What stands for a requirement that a conformance leaves out, if the compiler makes it.
pub(crate) fn witness(checked: &Checked, requirement: FuncId) -> Option<Witness> {
    checked.synthesized_witness(requirement)
}
