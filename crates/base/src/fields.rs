//! Names of fields that the checker synthesizes or the library declares.

/// The first field of a structure that derives from another: what it inherits.
pub const BASE: &str = "__base";
/// Of an `Optional`: whether there is a value.
pub const PRESENT: &str = "__present";
/// Of an `Optional`: the value.
pub const VALUE: &str = "__value";
