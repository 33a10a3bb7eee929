//! Random programs with a model: their results are computed twice, by the compiler and by an evaluator that is independent of it.
//!
//! The laws of derivatives compare a program with itself. They cannot say what a custom derivative must give that differs from the
//! true one, nor how often effects happen. So [`make`] makes random trees; `print` writes them as Slang for the compiler, and
//! [`eval`] runs them, with a tape for reverse mode. Numbers and memory must agree on the interpreter ([`check`]) and as C++
//! ([`cpp`]). `shrink` reduces a tree that fails.

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

/// Whether a tree is a valid program: its types fit, and [`eval`] can run it.
pub fn is_program(tree: &tree::Tree) -> bool {
    types::fits(tree) && tree.root().marked
}
