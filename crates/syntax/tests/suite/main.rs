//! The tests of this crate as its users see it; those of its parts are beside them.

mod diagnostics;
mod robustness;
mod support;
mod trees;
