//! Tries random programs, and prints those that break a law of derivatives or disagree with their model, made small.

use cotangent_hunt::{Asked, Catch, FEATURES, Feature, ModelCatch, compiler, hunt, hunt_models};
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
}

/// Reads `--programs N --seed S --only laws|models --features A,B`, in any order.
pub fn options(args: &[&str]) -> Option<Options> {
    let mut options = Options { programs: 500, seed: 1, kinds: Kinds::All, features: FEATURES.to_vec() };
    for pair in args.chunks(2) {
        match pair {
            ["--programs", n] => options.programs = n.parse().ok()?,
            ["--seed", s] => options.seed = s.parse().ok()?,
            ["--only", "laws"] => options.kinds = Kinds::Laws,
            ["--only", "models"] => options.kinds = Kinds::Models,
            ["--features", names] => {
                options.kinds = Kinds::Models;
                options.features = names.split(',').map(Feature::named).collect::<Option<_>>()?;
            }
            _ => return None,
        }
    }
    Some(options)
}

/// Hunts, and prints each catch and a summary. C++ is built under `root`, if there is a compiler.
pub fn print(root: &Path, options: &Options) -> ExitCode {
    // A panic of the compiler is a catch; its text is shown with the program.
    std::panic::set_hook(Box::new(|_| {}));
    let mut caught = 0;
    let seeds = options.seed..options.seed + options.programs;
    if options.kinds != Kinds::Models {
        let mut show = |c: Catch| {
            caught += 1;
            println!("seed {}: {:?}\n{}\n\n{}", c.seed, c.failure.kind, c.failure.text, c.program.source());
        };
        let tally = hunt(seeds.clone(), &mut show);
        println!(
            "{} programs, {caught} caught; {} points compared, {} near a jump or kink; {} functions of second order",
            options.programs, tally.smooth, tally.rough, tally.second
        );
    }
    if options.kinds != Kinds::Laws {
        let before = caught;
        let mut show = |c: ModelCatch| {
            caught += 1;
            println!("seed {}: {:?}\n{}\n\n{}", c.seed, c.failure.kind, c.failure.text, c.source);
        };
        let folder = root.join("target/hunt");
        let compiler = compiler().filter(|_| std::fs::create_dir_all(&folder).is_ok());
        let cpp = compiler.as_deref().map(|compiler| (compiler, &*folder, 1));
        let asked = Asked { features: &options.features, cpp, shrink: true };
        let (compared, built) = hunt_models(seeds, asked, &mut show);
        println!(
            "{} programs with a model, {} caught; {compared} compared on the interpreter, {built} as C++",
            options.programs,
            caught - before
        );
    }
    if caught == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let features = vec![Feature::Exit, Feature::Wave];
        let expected = Options { programs: 2, seed: 7, kinds: Kinds::Models, features };
        assert_eq!(options(&["--seed", "7", "--features", "Exit,Wave", "--programs", "2"]), Some(expected));
        assert_eq!(options(&["--programs"]), None);
    }
}
