//! Reads attributes about derivatives.
//!
//! [`flags`] reads flags (`[Differentiable]`, `[TreatAsDifferentiable]`, `[PreferRecompute]`, ..) from the syntax alone.
//! [`REFERENCES`] lists the attributes that name a function; [`super::custom`] resolves them once the signatures of both
//! functions are known.

use crate::declarations::attrs::{find, has};
use crate::hir::{DiffMode, FuncDiff, Prefer};
use cotangent_base::Symbol;
use cotangent_syntax::ast::{Attribute, ExprKind};

/// A derivative attribute that names a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reference {
    /// The attribute's name.
    pub name: &'static str,
    /// What is named.
    pub role: Role,
    /// Whether the attribute stands on the derivative and names the original.
    pub of: bool,
}

/// What one function is to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Its forward derivative.
    Forward,
    /// Its backward derivative.
    Backward,
    /// Its substitute.
    Substitute,
    /// The library's rule for it.
    Rule,
}

/// Every derivative attribute that names a function.
pub(super) const REFERENCES: [Reference; 7] = [
    reference("ForwardDerivative", Role::Forward, false),
    reference("BackwardDerivative", Role::Backward, false),
    reference("PrimalSubstitute", Role::Substitute, false),
    reference("ForwardDerivativeOf", Role::Forward, true),
    reference("BackwardDerivativeOf", Role::Backward, true),
    reference("PrimalSubstituteOf", Role::Substitute, true),
    reference("__rule", Role::Rule, false),
];

const fn reference(name: &'static str, role: Role, of: bool) -> Reference {
    Reference { name, role, of }
}

/// What the flags among a function's attributes say. The older words `[BackwardDifferentiable]` and
/// `[ForwardDifferentiable]` are accepted.
pub(crate) fn flags(attributes: &[Attribute]) -> FuncDiff {
    let backward = has(attributes, "Differentiable") || has(attributes, "BackwardDifferentiable");
    let forward = has(attributes, "ForwardDifferentiable");
    let prefer = if has(attributes, "PreferRecompute") {
        Prefer::Recompute
    } else if has(attributes, "PreferCheckpoint") {
        Prefer::Checkpoint
    } else if has(attributes, "Checkpoint") {
        Prefer::Rerun
    } else {
        Prefer::Auto
    };
    FuncDiff {
        differentiable: match (backward, forward) {
            (true, _) => Some(DiffMode::Backward),
            (false, true) => Some(DiffMode::Forward),
            (false, false) => None,
        },
        constant: has(attributes, "TreatAsDifferentiable"),
        prefer,
        ..FuncDiff::default()
    }
}

/// Whether an attribute names the derivative or substitute of one function.
pub(crate) fn names_function(attribute: &Attribute) -> bool {
    REFERENCES.iter().any(|r| attribute.name.name.as_str().eq_ignore_ascii_case(r.name))
}

/// Whether `this` carries no derivative: `[NoDiffThis]`.
pub(crate) fn no_diff_this(attributes: &[Attribute]) -> bool {
    has(attributes, "NoDiffThis")
}

/// The field named by `[DerivativeMember(D.x)]`.
pub(crate) fn derivative_member(attributes: &[Attribute]) -> Option<Symbol> {
    let attribute = find(attributes, "DerivativeMember")?;
    match &attribute.args.first()?.kind {
        ExprKind::Member(_, field) => Some(field.name),
        ExprKind::Name(field) => Some(*field),
        _ => None,
    }
}
