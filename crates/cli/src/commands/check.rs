//! `cotangent check`: all diagnostics of whole modules.

use super::show_path;
use crate::args::Check;
use crate::report::{Failure, finish};

pub fn check(args: &Check) -> Result<(), Failure> {
    let loader = args.search.loader();
    let mut outcome = Ok(());
    for file in &args.files {
        let mut compiler = args.search.compiler(&loader);
        let result = compiler.check(&show_path(file)).map(drop);
        outcome = outcome.and(finish(&compiler, args.format, result));
    }
    outcome
}
