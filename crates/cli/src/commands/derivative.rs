//! `cotangent derivative`: prints the derivative of a function as Slang.

use super::INTERPRETED;
use crate::args::{Derivative, DerivativeMode};
use crate::output::{print, write};
use crate::report::{Failure, finish};
use cotangent::ir::Mode;
use cotangent::{Session, Symbol};

pub fn derivative(args: &Derivative) -> Result<(), Failure> {
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(INTERPRETED);
    let mode = match args.mode {
        DerivativeMode::Fwd => Mode::Forward,
        DerivativeMode::Bwd => Mode::Backward,
    };
    let program = Session::new(loader).program(&request);
    let text = finish(program.derivative(Symbol::new(&args.function), mode), args.format)?;
    match args.output.as_str() {
        "-" => print(&text),
        path => write(path, text.as_bytes()),
    }
}
