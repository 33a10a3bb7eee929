//! The derivative that `--derivative NAME:MODE` asks for.

use crate::args::DerivativeOf;
use crate::report::Failure;
use cotangent::ir::Mode;
use cotangent::{KernelRoot, Program, Roots, Symbol};

/// What to compile for `main:bwd` or `f:fwd`: the derivative of a kernel if the name is that of an entry point, otherwise of a function.
/// Nothing if no derivative is asked for.
pub fn roots(program: &Program, args: &DerivativeOf) -> Result<Option<Roots>, Failure> {
    let DerivativeOf { derivative, wrt, along_x, deterministic, wave_sums } = args;
    let (along_x, deterministic, wave_sums) = (*along_x, *deterministic, *wave_sums);
    let Some(text) = derivative else { return Ok(None) };
    let (name, mode) = text.rsplit_once(':').unwrap_or((text, ""));
    let mode = match mode {
        "fwd" => Mode::Forward,
        "bwd" => Mode::Backward,
        _ => return Err(Failure::Usage(format!("--derivative takes NAME:fwd or NAME:bwd, not `{text}`"))),
    };
    if program.has_entry(name) {
        return Ok(Some(Roots::Kernel(KernelRoot {
            wrt: names(wrt),
            along_x: along_x || deterministic,
            deterministic,
            wave_sums,
            ..KernelRoot::new(Symbol::new(name), mode)
        })));
    }
    if !wrt.is_empty() {
        return Err(Failure::Usage(format!("--wrt needs an entry point, and `{name}` is not one")));
    }
    if along_x || deterministic || wave_sums {
        let message = format!(
            "--along-x, --deterministic and --wave-sums need an entry point, and `{name}` is not one"
        );
        return Err(Failure::Usage(message));
    }
    Ok(Some(Roots::Derivatives { func: Symbol::new(name), modes: vec![mode] }))
}

/// The names of a list; none if nothing is listed.
pub fn names(list: &[String]) -> Option<Vec<Symbol>> {
    (!list.is_empty()).then(|| list.iter().map(|name| Symbol::new(name)).collect())
}
