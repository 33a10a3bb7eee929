//! Searches for programs whose derivatives are wrong.
//!
//! [`generate`] generates random, well-typed, numerically tame differentiable programs. [`laws`] checks each. [`mod@shrink`]
//! reduces a failing program until it is readable. Laws cannot say what a custom derivative returns or how often effects
//! happen: [`model`] computes that for its own programs. [`native`] compares native code with the interpreter. [`kernels`] are whole
//! kernels with memory. `cargo xtask hunt` tries any number of programs, and the tests try five hundred of each kind, and two hundred
//! kernels.

pub mod generate;
pub mod kernels;
pub mod laws;
mod model;
pub mod native;
pub mod program;
mod random;
mod shrink;
mod values;

use laws::{Failure, Tally};
use model::check::{self, Case};
use model::cpp;
pub use model::cpp::compiler;
pub use model::eval::Mode;
pub use model::make::feature::{ALL as FEATURES, Feature};
use model::tree::Tree;
use program::Program;
use std::path::Path;

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

/// Tries the program that belongs to a seed.
pub fn law(seed: u64) -> Result<Tally, Failure> {
    laws::check(&generate::program(seed), seed)
}

/// Tries programs, and calls `caught` for each that breaks a law.
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

/// A program that disagrees with its model.
#[derive(Clone, Debug)]
pub struct ModelCatch {
    /// What it was made from.
    pub seed: u64,
    /// The law.
    pub failure: Failure,
    /// A small program that breaks it in the same way.
    pub source: String,
}

/// Which trees are tried, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What they are made of.
    pub features: &'a [Feature],
    /// To compare C++ too: the compiler, the folder to build in, and every how many trees.
    pub cpp: Option<(&'a str, &'a Path, u64)>,
    /// Whether what fails is made smaller.
    pub shrink: bool,
}

/// Tries trees, and calls `caught` for each that disagrees with its model. Gives how many were compared, and how many as C++.
pub fn hunt_models(
    seeds: std::ops::Range<u64>,
    asked: Asked<'_>,
    caught: &mut dyn FnMut(ModelCatch),
) -> (usize, usize) {
    let (mut compared, mut built) = (0, 0);
    let mut waiting: Vec<(u64, Case)> = Vec::new();
    for seed in seeds {
        let tree = model::make::tree(seed, asked.features);
        match check::check(&tree, seed) {
            Ok(None) => {}
            Ok(Some(case)) => {
                compared += 1;
                if asked.cpp.is_some_and(|(.., each)| seed.is_multiple_of(each)) {
                    waiting.push((seed, case));
                }
            }
            Err(failure) => caught(reduced_tree(seed, &tree, failure, asked)),
        }
        if waiting.len() >= 120 {
            built += as_cpp(std::mem::take(&mut waiting), asked, caught);
        }
    }
    built += as_cpp(waiting, asked, caught);
    (compared, built)
}

fn as_cpp(cases: Vec<(u64, Case)>, asked: Asked<'_>, caught: &mut dyn FnMut(ModelCatch)) -> usize {
    let Some((compiler, folder, _)) = asked.cpp.filter(|_| !cases.is_empty()) else { return 0 };
    let all: Vec<&Case> = cases.iter().map(|(_, case)| case).collect();
    for (number, text) in cpp::check(compiler, folder, &all) {
        let (seed, case) = &cases[number];
        caught(reduced_tree(*seed, &case.tree, Failure { kind: laws::Kind::Cpp, text }, asked));
    }
    cases.len()
}

fn reduced_tree(seed: u64, tree: &Tree, failure: Failure, asked: Asked<'_>) -> ModelCatch {
    let failing = |tree: &Tree| -> Option<Failure> {
        match (check::check(tree, seed), &failure.kind) {
            (Err(found), kind) => (found.kind == *kind).then_some(found),
            (Ok(Some(case)), laws::Kind::Cpp) => {
                let (compiler, folder, _) = asked.cpp?;
                let (_, text) = cpp::check(compiler, folder, &[&case]).pop()?;
                Some(Failure { kind: laws::Kind::Cpp, text })
            }
            (Ok(_), _) => None,
        }
    };
    // Building C++ is slow.
    let tries = if failure.kind == laws::Kind::Cpp { 150 } else { 3000 };
    let tree =
        if asked.shrink { model::shrink(tree, tries, &|t| failing(t).is_some()) } else { tree.clone() };
    let failure = failing(&tree).unwrap_or(failure);
    let source = model::print::source(&tree, &model::walk::modes(&tree));
    ModelCatch { seed, failure, source }
}
