//! General passes over the IR: each is a file and a function of the same name.
mod consts;
pub mod counted;
pub mod cse;
pub mod dce;
mod edit;
pub mod effects;
pub mod exits;
pub mod hoist;
pub mod inline;
mod rewrite;
pub mod shape;
pub mod simplify;
