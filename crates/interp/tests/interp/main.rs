//! Tests of the interpreter on IR text, with results derived by hand.

mod common;
mod control;
mod in_place;
mod operations;
mod random;
