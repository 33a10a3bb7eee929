//! Tries random programs, and prints those that break a law of derivatives, made small.

use cotangent_hunt::{Catch, hunt};
use std::process::ExitCode;

/// How many programs, and where in the sequence of all to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many.
    pub programs: u64,
    /// The first seed.
    pub seed: u64,
}

/// Reads `--programs N --seed S`, in any order.
pub fn options(args: &[&str]) -> Option<Options> {
    let mut options = Options { programs: 500, seed: 1 };
    for pair in args.chunks(2) {
        match pair {
            ["--programs", n] => options.programs = n.parse().ok()?,
            ["--seed", s] => options.seed = s.parse().ok()?,
            _ => return None,
        }
    }
    Some(options)
}

/// Hunts, and prints each catch and a summary.
pub fn print(options: Options) -> ExitCode {
    // A panic of the compiler is a catch; its text is shown with the program.
    std::panic::set_hook(Box::new(|_| {}));
    let mut caught = 0;
    let mut show = |c: Catch| {
        caught += 1;
        println!("seed {}: {:?}\n{}\n\n{}", c.seed, c.failure.kind, c.failure.text, c.program.source());
    };
    let tally = hunt(options.seed..options.seed + options.programs, &mut show);
    println!(
        "{} programs, {caught} caught; {} points compared, {} near a jump or kink; {} functions of second order",
        options.programs, tally.smooth, tally.rough, tally.second
    );
    if caught == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        assert_eq!(options(&["--seed", "7", "--programs", "2"]), Some(Options { programs: 2, seed: 7 }));
        assert_eq!(options(&["--programs"]), None);
    }
}
