//! Reverse mode: from a linearized function to the functions that compute its gradient.

use crate::Context;
use crate::driver::Reported;
use cotangent_base::Diagnostic;
use cotangent_ir::FuncId;

/// What reverse mode has already written, so that it writes nothing twice.
#[derive(Default)]
pub struct Cache {}

/// Gives `request`, the backward derivative of `of`, its body.
pub(crate) fn backward_request(cx: &mut Context<'_>, request: FuncId, of: FuncId) -> Result<(), Reported> {
    let name = cx.module.funcs[of].name;
    let span = cx.module.funcs[request].span;
    let message = format!("`{name}` has no backward derivative");
    let diagnostic = Diagnostic::new(crate::codes::NO_REVERSE, span, message);
    Err(cx.report(diagnostic))
}
