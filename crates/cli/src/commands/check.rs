//! `cotangent check`: reports all diagnostics of modules.

use super::show_path;
use crate::args::Check;
use crate::report::{Failure, finish};
use cotangent::{Request, Session};

/// Checks the modules as one program, so that one may export what another leaves open.
pub fn check(args: &Check) -> Result<(), Failure> {
    let loader = args.search.loader()?;
    let mut files = args.files.iter().map(|file| show_path(file));
    let request = Request {
        path: files.next().unwrap_or_default(),
        others: files.collect(),
        settings: args.given.settings()?,
        ..args.search.request()?
    };
    let program = Session::new(loader).program(&request);
    finish(program.check_whole(args.derivatives), args.format)
}
