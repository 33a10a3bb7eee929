//! Programs with a model: what they mean is computed twice, by the compiler and by [`eval`], which knows nothing of it.
//!
//! The laws of derivatives compare a program with itself; they cannot say what a custom derivative that is not the true one must
//! give, nor how often effects happen. [`make`] makes trees of statements that are printed as Slang and also run by [`eval`]: with a
//! tape for reverse mode, custom derivatives as steps of it, and all threads side by side. Numbers and memory must agree, on the
//! interpreter ([`check`]) and as C++ ([`cpp`]).

pub mod check;
pub mod cpp;
pub mod eval;
pub mod make;
mod ops;
pub mod print;
mod shrink;
mod tape;
pub mod tree;
mod types;
pub mod walk;

pub use shrink::shrink;

/// Whether a tree is a program: its types fit, and it means something.
pub fn is_program(tree: &tree::Tree) -> bool {
    types::fits(tree) && tree.root().marked
}
