//! The parts that all stages share: typed indices, names, source positions and diagnostics.
//!
//! This crate does not access the environment. Files reach the compiler through [`Loader`], and diagnostics are values; a
//! caller decides how to show them.

mod cow;
mod diag;
mod entity;
pub mod fields;
pub mod printf;
mod scalar;
mod source;
mod suggest;
mod symbol;
mod visible;
mod wish;

pub use cow::CowMap;
pub use diag::{Code, Diagnostic, Diagnostics, Label, Severity};
pub use entity::{Entity, EntityMap, EntitySet};
pub use scalar::Scalar;
pub use source::{FileId, Files, Loader, Location, Sources, Span};
pub use suggest::nearest;
pub use symbol::Symbol;
pub use visible::{visible, visible_line};
pub use wish::{Register, Wish};

/// Maps and sets with a fast, deterministic hash. Never iterate one into output.
pub use rustc_hash::{FxHashMap as Map, FxHashSet as Set};
