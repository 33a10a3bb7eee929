//! Automatic differentiation as passes over the IR. This crate knows neither the source language nor any target.
//!
//! A derivative that the user requests is a function of kind [`Request`](cotangent_ir::FuncKind::Request): it has the
//! signature that the language defines, and no body. [`differentiate`] writes the body of every such function. The output is
//! ordinary IR, so a derivative can be optimized, run, and differentiated again.
//!
//! - [`tangent`] handles differentials of types: their zero, their sum, and access to their parts.
//! - [`mod@linearize`] adds to a function the linear map from tangents of its inputs to tangents of its outputs. This is
//!   [`forward`] mode.
//! - [`mod@prepare`] removes early exits from a copy of the function, for reverse mode.
//! - [`mod@segments`] cuts loops into segments that the backward pass runs again.
//! - [`mod@checkpoint`] decides how the linear part gets each primal value; it uses [`mincut`].
//! - [`mod@unzip`] splits the primal part from the linear part, and [`mod@transpose`] transposes the linear part.
//! - [`mod@steep`] marks products where a zero cotangent could become NaN.
//! - [`reverse`] runs these in order: reverse mode.
//! - [`mod@report`] lists what a backward derivative stores and recomputes.
//! - [`substitute`] makes substitutes run in all code that is differentiated.
//! - `budget` finds how derivatives stay within a number of bytes.
//! - `callee` decides how a call is differentiated, and which functions are sources: functions whose custom derivatives run
//!   even if no tangent or cotangent arrives.
//! - `by_hand` finds custom derivatives that take care of memory themselves.
//! - `conditions` moves loop conditions that call sources into the loop bodies, before linearization.
//! - [`mod@kernel`] makes the memory of an entry point differentiable, before all of these.
//! - `kind` classifies operations, and [`stages`] are the rows that these passes have in the table of passes.
//! - [`driver`] finds the requests and writes them, inner ones first.

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod budget;
mod by_hand;
mod callee;
pub mod checkpoint;
pub mod codes;
mod conditions;
pub mod driver;
pub mod forward;
pub mod kernel;
mod kind;
pub mod linearize;
pub mod mincut;
pub mod prepare;
pub mod report;
pub mod reverse;
pub mod segments;
pub mod stages;
pub mod steep;
pub mod substitute;
pub mod tangent;
pub mod transpose;
pub mod unzip;

pub use budget::Policy;
pub use driver::{
    Context, differentiate, differentiate_also, differentiate_reporting, differentiate_watched,
};
