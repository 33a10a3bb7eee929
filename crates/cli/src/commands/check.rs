//! `cotangent check`: all diagnostics of whole modules.

use super::show_path;
use crate::args::Check;
use crate::report::{Failure, finish};

/// Checks the modules as one program, so that one may export what another leaves open.
pub fn check(args: &Check) -> Result<(), Failure> {
    let loader = args.search.loader()?;
    let mut compiler = args.search.compiler(&loader)?;
    compiler.settings = args.given.settings()?;
    let mut files = args.files.iter().map(|file| show_path(file));
    let first = files.next().unwrap_or_default();
    compiler.others = files.collect();
    let result = compiler.check_whole(&first, args.derivatives);
    finish(&compiler, args.format, result)
}
