//! `cotangent check`: all diagnostics of whole modules.

use super::{defines, show_path};
use crate::args::Check;
use crate::loader::Disk;
use crate::report::{Failure, finish};
use cotangent::Compiler;

pub fn check(args: &Check) -> Result<(), Failure> {
    let loader = Disk { include: args.include.clone() };
    let mut outcome = Ok(());
    for file in &args.files {
        let mut compiler = Compiler::new(&loader, defines(&args.define));
        let result = compiler.check(&show_path(file)).map(drop);
        outcome = outcome.and(finish(&compiler, args.format, result));
    }
    outcome
}
