//! Why a program cannot be compiled, and where one may stop before its end.

use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_ir::Trap;
use std::fmt;

cotangent_base::codes! {
    /// Native code does not support this. The interpreter runs the program: `cotangent run --backend interpreter`.
    E0764 UNSUPPORTED = "not supported by native code";
}

/// A program that cannot be compiled to native code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The source of what is not supported.
    pub span: Span,
    /// What that is.
    pub what: String,
}

impl Unsupported {
    /// How to tell the user.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(UNSUPPORTED, self.span, self.to_string()).help("run it with `--backend interpreter`")
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not supported by native code: {}", self.what)
    }
}

impl std::error::Error for Unsupported {}

/// A place where a program may stop, or calls what may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub trap: Trap,
    pub span: Span,
    pub func: Symbol,
    /// The call that the function was inlined at, if it was.
    pub inlined: Option<u32>,
}
