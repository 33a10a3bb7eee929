//! Tries random programs, and prints those that break a law of derivatives or disagree with their model, made small; and those whose
//! native code disagrees with the interpreter.

use cotangent_hunt::laws::Tally;
use cotangent_hunt::native::{self, Compared};
use cotangent_hunt::{Asked, FEATURES, Feature, compiler, hunt, hunt_models};
use std::path::Path;
use std::process::ExitCode;

/// How many programs, and where in the sequence of all to begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many of each kind.
    pub programs: u64,
    /// The first seed.
    pub seed: u64,
    /// Which kinds.
    pub kinds: Kinds,
    /// What those with a model are made of.
    pub features: Vec<Feature>,
    /// Every how many of those with a model are built as C++; none, if zero.
    pub cpp: u64,
}

/// Which kinds of programs are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinds {
    /// All.
    All,
    /// Those that obey the laws of derivatives.
    Laws,
    /// Those with a model.
    Models,
    /// The first kind again, as native code beside the interpreter.
    Native,
    /// Whole kernels with memory.
    Kernels,
}

/// Reads `--programs N --seed S --only laws|models|native|kernels --features A,B --cpp N`, in any order.
pub fn options(args: &[&str]) -> Option<Options> {
    let mut options =
        Options { programs: 500, seed: 1, kinds: Kinds::All, features: FEATURES.to_vec(), cpp: 1 };
    for pair in args.chunks(2) {
        match pair {
            ["--programs", n] => options.programs = n.parse().ok()?,
            ["--seed", s] => options.seed = s.parse().ok()?,
            ["--cpp", n] => options.cpp = n.parse().ok()?,
            ["--only", "laws"] => options.kinds = Kinds::Laws,
            ["--only", "models"] => options.kinds = Kinds::Models,
            ["--only", "kernels"] => options.kinds = Kinds::Kernels,
            ["--only", "native"] => options.kinds = Kinds::Native,
            ["--features", names] => {
                options.kinds = Kinds::Models;
                options.features = names.split(',').map(Feature::named).collect::<Option<_>>()?;
            }
            _ => return None,
        }
    }
    Some(options)
}

/// How many programs are tried before a line says how far it is.
const CHUNK: u64 = 500;

/// Hunts, and prints each catch and how far it is. C++ is built under `root`, if there is a compiler.
pub fn print(root: &Path, options: &Options) -> ExitCode {
    // A panic of the compiler is a catch; its text is shown with the program.
    std::panic::set_hook(Box::new(|_| {}));
    let mut caught = 0;
    if matches!(options.kinds, Kinds::All | Kinds::Laws) {
        caught += laws(options);
    }
    if matches!(options.kinds, Kinds::All | Kinds::Models) {
        caught += models(root, options);
    }
    if matches!(options.kinds, Kinds::All | Kinds::Native) {
        caught += as_native(options);
    }
    if matches!(options.kinds, Kinds::All | Kinds::Kernels) {
        caught += kernels(options);
    }
    if caught == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The seeds, some at a time.
fn chunks(options: &Options) -> impl Iterator<Item = std::ops::Range<u64>> {
    let end = options.seed + options.programs;
    (options.seed..end).step_by(CHUNK as usize).map(move |start| start..end.min(start + CHUNK))
}

fn laws(options: &Options) -> usize {
    let (mut caught, mut total) = (0, Tally::default());
    for seeds in chunks(options) {
        let done = seeds.end - options.seed;
        let tally = hunt(seeds, &mut |c| {
            caught += 1;
            println!("seed {}: {:?}\n{}\n\n{}", c.seed, c.failure.kind, c.failure.text, c.program.source());
        });
        total.smooth += tally.smooth;
        total.rough += tally.rough;
        total.second += tally.second;
        println!(
            "{done} programs, {caught} caught; {} points compared, {} near a jump or kink; {} functions of second order",
            total.smooth, total.rough, total.second
        );
    }
    caught
}

fn kernels(options: &Options) -> usize {
    let mut caught = 0;
    for seeds in chunks(options) {
        let done = seeds.end - options.seed;
        cotangent_hunt::kernels::hunt(seeds, &mut |c| {
            caught += 1;
            println!("seed {}: {}\n\n{}", c.seed, c.why, c.source);
        });
        println!("{done} kernels, {caught} caught");
    }
    caught
}

fn models(root: &Path, options: &Options) -> usize {
    // Two hunts at a time must not meet in one folder.
    let folder = root.join(format!("target/hunt/{}", std::process::id()));
    let made = options.cpp > 0 && std::fs::create_dir_all(&folder).is_ok();
    let compiler = compiler().filter(|_| made);
    let cpp = compiler.as_deref().map(|compiler| (compiler, &*folder, options.cpp));
    let asked = Asked { features: &options.features, cpp, shrink: true };
    let (mut caught, mut compared, mut built) = (0, 0, 0);
    for seeds in chunks(options) {
        let done = seeds.end - options.seed;
        let (more, as_cpp) = hunt_models(seeds, asked, &mut |c| {
            caught += 1;
            println!("seed {}: {:?}\n{}\n\n{}", c.seed, c.failure.kind, c.failure.text, c.source);
        });
        compared += more;
        built += as_cpp;
        println!(
            "{done} programs with a model, {caught} caught; {compared} compared on the interpreter, {built} as C++"
        );
    }
    if made {
        let _ = std::fs::remove_dir_all(&folder);
    }
    caught
}

fn as_native(options: &Options) -> usize {
    let (mut caught, mut total) = (0, Compared::default());
    for seeds in chunks(options) {
        let done = seeds.end - options.seed;
        for seed in seeds {
            // Native code is not made small, but a panic must not end the hunt.
            match std::panic::catch_unwind(|| native::compare(seed)) {
                Ok(Ok(compared)) => {
                    total.functions += compared.functions;
                    total.in_lanes += compared.in_lanes;
                }
                Ok(Err(error)) => {
                    caught += 1;
                    println!("seed {seed}: {error}\n");
                }
                Err(_) => {
                    caught += 1;
                    println!("seed {seed}: a panic\n{}\n", cotangent_hunt::generate::program(seed).source());
                }
            }
        }
        println!(
            "{done} programs as native code, {caught} caught; {} functions agree with the interpreter, {} of them in lanes, too",
            total.functions, total.in_lanes
        );
    }
    caught
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let features = vec![Feature::Exit, Feature::Wave];
        let expected = Options { programs: 2, seed: 7, kinds: Kinds::Models, features, cpp: 1 };
        assert_eq!(options(&["--seed", "7", "--features", "Exit,Wave", "--programs", "2"]), Some(expected));
        assert_eq!(options(&["--programs"]), None);
    }
}
