//! Resolves declarations: from syntax to the entries of the typed program, on first use.
//!
//! Input: the syntax and scopes of declarations in [`crate::tables`]. Output: signatures, fields, enumerators and globals in
//! [`crate::hir::Program`]. Each declaration is resolved once; a [`Progress`](crate::tables::Progress) detects cycles.
//!
//! | module | subject |
//! |---|---|
//! | [`table`] | the tables of declarations |
//! | [`signature`] | signatures of functions |
//! | [`entry`] | entry points and their stages |
//! | [`fields`] | fields of structures |
//! | [`globals`] | types of globals |
//! | [`settling`] | deferred work; [`Checked::settle`](crate::Checked::settle) |
//! | [`parameters`] | directions and defaults of parameters |
//! | [`prototypes`] | functions declared without a body |
//! | [`inherited`] | what a structure has from its base |
//! | [`enums`] | enumerations |
//! | [`attrs`] | the attributes and names that the checker looks for |
//! | [`attribute_rules`] | which attributes there are, and where they may stand |
//! | [`user_attributes`] | attributes that the program defines |
//! | [`placement`] | where parameters are bound |
//! | [`idle`] | semantics and modifiers that mean nothing where they stand |
//! | [`removed`] | what later versions of the language do not have |
//! | [`rules`] | what may stand where |
//! | [`varying`] | semantics and interpolation of entry points |

pub(crate) mod attribute_rules;
pub(crate) mod attrs;
mod entry;
mod enums;
mod fields;
mod globals;
mod idle;
mod inherited;
pub(crate) mod parameters;
pub(crate) mod placement;
mod prototypes;
pub(crate) mod removed;
mod rules;
pub(crate) mod settling;
pub(crate) mod signature;
pub(crate) mod table;
pub(crate) mod user_attributes;
mod varying;
