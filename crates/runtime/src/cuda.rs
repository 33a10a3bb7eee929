//! An entry point as CUDA, with what a device needs to run it.
//!
//! A back end for CUDA knows no languages: it takes a [`Translate`] that writes the text.

use crate::Compiled;
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::FuncId;

/// Writes an entry point as CUDA.
pub type Translate = fn(&Compiled, FuncId) -> Result<Text, Box<Diagnostic>>;

/// An entry point as CUDA.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text. What it does when a thread stops is a macro, `COTANGENT_TRAP`, whose line is the number of a site.
    pub text: String,
    /// The name of the kernel.
    pub symbol: String,
    /// Where it may stop: the site with number 1, and so on.
    pub sites: Vec<Span>,
}
