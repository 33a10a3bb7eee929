//! Adds line information to shaders.
//!
//! Every naga statement that we emit has a span. naga's spans are offsets into one file, but a program has several files. So
//! an offset is an index into a table of source locations ([`Lines`]); 0 means none. Library code has the line of its caller.
//!
//! **SPIR-V.** naga writes an `OpLine` before each statement if it has a source text. The text here consists of line breaks
//! only, so that the line number is the index of the location. [`words::in_words`] then inserts the real file, line and
//! column.
//!
//! **Text.** naga's text writers print no lines. In a copy of the module, each statement is preceded by a marker: a store of
//! the index into an unused variable ([`text::marked`]). [`text::in_text`] replaces the printed markers:
//!
//! ```text
//! var spot: u32;
//! spot = 2u;                      // f.slang:7            #line 7 "f.slang"
//! let _e3 = sin(x);         ->    let _e3 = sin(x);  or   let _e3 = sin(x);
//! ```
//!
//! HLSL and Metal have the directive `#line`. GLSL has it with file names through an extension. WGSL has no directive and
//! gets comments.
//!
//! Apart from the lines, the shader is byte for byte the same: it is written with and without markers, and lines are added to
//! the version without them. If the two versions do not match, the emitter reports an internal error.

mod text;
mod words;

use crate::Result;
use crate::write::invalid;
use cotangent_base::{Map, Span};
pub(crate) use text::{in_text, marked};
pub(crate) use words::in_words;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    /// The path of the file.
    pub file: String,
    /// Counted from one.
    pub line: u32,
    /// Counted from one.
    pub column: u32,
}

/// Says where a span is; `None` if that is none of the user's files.
pub type Locate<'l> = &'l dyn Fn(Span) -> Option<Line>;

/// The places met so far.
pub(crate) struct Lines<'l> {
    locate: Locate<'l>,
    /// The places by their number, the first of which is 1.
    table: Vec<Line>,
    numbers: Map<Line, u32>,
}

impl<'l> Lines<'l> {
    pub fn new(locate: Locate<'l>) -> Self {
        Lines { locate, table: Vec::new(), numbers: Map::default() }
    }

    /// The number of the place that a span begins at.
    pub fn number(&mut self, span: Span) -> Option<u32> {
        let line = (self.locate)(span)?;
        let next = self.table.len() as u32 + 1;
        let number = *self.numbers.entry(line.clone()).or_insert(next);
        if number == next {
            self.table.push(line);
        }
        Some(number)
    }

    /// The places by their number, the first of which is 1.
    pub fn table(self) -> Vec<Line> {
        self.table
    }
}

/// The span by which naga knows a place.
pub(crate) fn span(number: u32) -> naga::Span {
    match number {
        0 => naga::Span::UNDEFINED,
        _ => naga::Span::new(number, number + 1),
    }
}

/// A text in which the line of a span is one more than its number.
pub(crate) fn source(table: &[Line]) -> String {
    "\n".repeat(table.len() + 2)
}

/// The place of a number; 0 is none.
fn place(table: &[Line], number: u32) -> Option<&Line> {
    table.get((number as usize).checked_sub(1)?)
}

/// What was written with lines and without does not go in step.
fn out_of_step<T>() -> Result<T> {
    Err(invalid("its lines cannot be told"))
}
