//! The checker: from syntax tree to typed program.
//! (header to be written)

mod checked;
pub mod hir;

pub use checked::{Checked, Subst};
