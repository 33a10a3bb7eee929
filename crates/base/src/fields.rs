//! Fields that no user wrote, by the names that the checker gives them or the library has them under.

/// The first field of a structure that derives from another: what it inherits.
pub const BASE: &str = "__base";
/// Of an `Optional`: whether there is a value.
pub const PRESENT: &str = "__present";
/// Of an `Optional`: the value.
pub const VALUE: &str = "__value";
