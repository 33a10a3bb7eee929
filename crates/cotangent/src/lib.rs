//! The compiler as a library.
//!
//! A [`Compiler`] reads modules through a [`Loader`], checks them and turns them into IR; [`pipeline`] is the list of passes in
//! order; [`gradient`] evaluates a function and its derivatives at a point; [`gradcheck`] compares derivatives with differences;
//! [`gpu`] makes programs ready for a device; [`render`] shows diagnostics. Apart from [`Disk`], which reads files, nothing here
//! touches the environment: the caller brings texts in and carries results out.

mod asked;
mod codes;
mod compiler;
mod disk;
mod given;
pub mod gpu;
pub mod gradcheck;
pub mod gradient;
mod library;
mod modules;
pub mod pipeline;
pub mod reflect;
pub mod render;
mod targets;

pub use codes::{all as all_codes, explain, is_about_names_asked_for, is_internal};
pub use compiler::{Compiler, Stop, Warnings};
pub use cotangent_autodiff::report;
pub use cotangent_base::{
    Code, Diagnostic, Diagnostics, Files, Loader, Scalar, Severity, Sources, Span, Symbol,
};
pub use cotangent_interp as interp;
pub use cotangent_ir as ir;
pub use cotangent_lower::{ConformanceId, Lowered, Options, Roots};
pub use cotangent_runtime as runtime;
pub use cotangent_syntax::Limits;
pub use disk::Disk;
pub use given::Setting;
pub use targets::{Emitted, capabilities, cpp, cuda, disassemble, is_catching, shader, wgsl};
