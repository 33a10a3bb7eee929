//! Random kernels: entry points with buffers that are read, written in place and added to, loops, branches, variables of the thread and
//! tiles in group-shared memory between barriers. No thread touches what another writes, so that each kernel has a derivative.
//!
//! [`make`] generates them, [`check`](mod@check) compares forward with reverse mode by inner products over whole buffers, both with finite
//! differences of the dispatch, and native code with the interpreter.

mod check;
mod make;

pub use make::Kernel;

/// A kernel that breaks a law.
#[derive(Clone, Debug)]
pub struct Catch {
    /// What it was made from.
    pub seed: u64,
    /// The law, and what was found.
    pub why: String,
    /// A small kernel that breaks it.
    pub source: String,
}

/// Tries the kernel that belongs to a seed.
pub fn law(seed: u64) -> Result<(), String> {
    check::check(&make::kernel(seed).source(), seed)
}

/// Tries kernels, and calls `caught` for each that breaks a law.
pub fn hunt(seeds: std::ops::Range<u64>, caught: &mut dyn FnMut(Catch)) {
    for seed in seeds {
        let kernel = make::kernel(seed);
        if let Err(why) = check::check(&kernel.source(), seed) {
            let word = |why: &str| why.split(':').next().unwrap_or_default().to_string();
            let fails = |kernel: &Kernel| {
                check::check(&kernel.source(), seed).is_err_and(|found| word(&found) == word(&why))
            };
            let small = kernel.shrunk(&fails);
            let why = check::check(&small.source(), seed).err().unwrap_or(why);
            caught(Catch { seed, why, source: small.source() });
        }
    }
}
