//! Hunts for programs whose derivatives are wrong.
//!
//! [`generate`] makes random, well-typed, numerically tame differentiable programs; [`laws`] says what holds of each;
//! [`mod@shrink`] makes one that fails small enough to read. `cargo xtask hunt` tries as many as asked, and a test tries
//! five hundred.

pub mod generate;
pub mod laws;
pub mod program;
mod random;
mod shrink;
mod values;

use laws::{Failure, Tally};
use program::Program;

/// A program that breaks a law.
#[derive(Clone, Debug)]
pub struct Catch {
    /// What it was made from.
    pub seed: u64,
    /// The law.
    pub failure: Failure,
    /// A small program that breaks it in the same way.
    pub program: Program,
}

/// Tries programs, and tells `caught` of each that breaks a law.
pub fn hunt(seeds: std::ops::Range<u64>, caught: &mut dyn FnMut(Catch)) -> Tally {
    let mut total = Tally::default();
    for seed in seeds {
        let program = generate::program(seed);
        match laws::check(&program, seed) {
            Ok(tally) => {
                total.smooth += tally.smooth;
                total.rough += tally.rough;
                total.second += tally.second;
            }
            Err(failure) => caught(reduced(seed, program, failure)),
        }
    }
    total
}

fn reduced(seed: u64, program: Program, failure: Failure) -> Catch {
    let same = |p: &Program| laws::check(p, seed).is_err_and(|f| f.kind == failure.kind);
    let program = shrink::shrink(&program, &same);
    let failure = laws::check(&program, seed).err().unwrap_or(failure);
    Catch { seed, failure, program }
}
