//! Interfaces: which types conform, and what satisfies each requirement.
//!
//! Input: the bases that structures and extensions state. Output: [`Conformance`](crate::hir::Conformance)s with their
//! witnesses. Associated types are resolved on first use, and witnesses later, because signatures need associated types.
//!
//! | module | subject |
//! |---|---|
//! | [`table`] | the table of stated conformances |
//! | [`conform`] | stating conformances, finding them |
//! | [`witness`] | what satisfies a requirement |
//! | [`wrapper`] | members that satisfy a requirement only through a wrapper |
//! | [`constraints`] | what interfaces say about associated types |
//! | [`direction`] | parameters of a member against those of its requirement |
//! | [`unmet_requirements`] | the report of what is missing |

pub(crate) mod conform;
mod constraints;
mod direction;
pub(crate) mod table;
mod unmet_requirements;
pub(crate) mod witness;
pub(crate) mod wrapper;
