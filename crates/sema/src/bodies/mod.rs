//! Bodies: statements and expressions of functions, initializers and defaults.
//!
//! Input: the syntax of a body, the scope around it and the assumptions in force. Output: a [`Body`](crate::hir::Body) in which names are resolved,
//! overloads chosen and conversions written out. [`body::BodyCx`] is the state while one is checked. After that the finished body is
//! checked as a whole: [`returns`], [`unreadable`], [`assigned`], and [`crate::derive`] for differentiable functions.
//!
//! | module | subject |
//! |---|---|
//! | [`body`] | the state, and the ways in |
//! | [`checked_bodies`] | the bodies that were checked |
//! | [`variables`] | the variables of a body |
//! | [`around`] | the variables around a constant |
//! | [`stmt`], [`loops`], [`defer`], [`platform`] | statements |
//! | [`throws`], [`throws_each`] | errors |
//! | [`expr`] | expressions |
//! | [`overload`], [`overload_errors`], [`passing`] | calls: overload resolution, its errors, and arguments |
//! | [`operators`] | operators |
//! | [`convert`], [`construct`], [`init`] | conversions, construction, initializer lists |
//! | [`place`] | what can be assigned |
//! | [`lambda`] | lambdas |
//! | [`constant`] | compile-time integers |
//! | [`foreign`], [`substexpr`] | expressions written in one declaration and used in another |
//! | [`target_code`] | code that is not Slang |
//! | [`returns`], [`unreadable`], [`assigned`] | checks of finished bodies |

pub(crate) mod around;
mod assigned;
pub(crate) mod body;
pub(crate) mod checked_bodies;
pub(crate) mod constant;
pub(crate) mod construct;
pub(crate) mod convert;
pub(crate) mod defer;
pub(crate) mod expr;
pub(crate) mod foreign;
pub(crate) mod init;
pub(crate) mod lambda;
mod loops;
pub(crate) mod operators;
pub(crate) mod overload;
pub(crate) mod overload_errors;
pub(crate) mod passing;
pub(crate) mod place;
mod platform;
mod returns;
mod stmt;
mod substexpr;
mod target_code;
pub(crate) mod throws;
mod throws_each;
mod unreadable;
pub(crate) mod variables;
