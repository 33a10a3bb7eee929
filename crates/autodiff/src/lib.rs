//! Derivatives as passes over the IR. This crate knows neither the source language nor any target.
//!
//! A derivative the user asks for is a function whose kind is a
//! [`Request`](cotangent_ir::FuncKind::Request): it has the signature the language promises and no body.
//! [`differentiate`] gives every such function a body. What comes out is ordinary IR, so a derivative can be
//! optimized, run, and differentiated again.
//!
//! - [`tangent`] knows the differentials of types: their zero, their sum, the way to a part.
//! - [`mod@linearize`] adds to a function the linear map that carries tangents of its inputs to tangents of its
//!   outputs. That alone is [`forward`] mode.
//! - [`mod@prepare`] first removes early exits from a copy, for reverse mode.
//! - [`mod@checkpoint`] decides what the linear part gets from the primal part, and how; [`mincut`] is its engine.
//! - [`mod@unzip`] takes the two parts apart, and [`mod@transpose`] transposes the linear one.
//! - [`mod@steep`] marks products where a zero cotangent could become NaN.
//! - [`extract`] runs these in order: reverse mode.
//! - [`mod@report`] lists what a backward derivative keeps and what it computes twice.
//! - [`substitute`] sees to it that a substitute runs wherever derivatives are wanted.
//! - `callee` decides how a call is differentiated, and which functions are sources: a custom derivative runs in them even if
//!   no tangent or cotangent arrives.
//! - `conditions` moves loop conditions that call sources into the loop bodies, before anything is linearized.
//! - [`driver`] finds the requests and fills them, inner ones first.

mod callee;
pub mod checkpoint;
pub mod codes;
mod conditions;
pub mod driver;
pub mod extract;
pub mod forward;
mod kind;
pub mod linearize;
pub mod mincut;
pub mod prepare;
pub mod report;
pub mod stages;
pub mod steep;
pub mod substitute;
pub mod tangent;
pub mod transpose;
pub mod unzip;

pub use driver::{
    Context, differentiate, differentiate_also, differentiate_reporting, differentiate_showing,
};
