//! Diagnostics as values: a code, a message, labelled source locations, notes and help.
//!
//! Each stage declares its codes once, with [`codes!`](crate::codes): the number, the title, and the page that `cotangent
//! explain` shows. Ranges: E01 lexing and preprocessing, E02 parsing, E03 names and types, E04 generics and interfaces, E05
//! derivatives in the front end, E06 derivatives in the IR, E07 what lowering and targets refuse: unsupported
//! constructs, and mistakes that show only in an instance or for a target, E08 run-time traps,
//! E09 imports and modules. Warnings (W) have the same ranges.

use crate::Span;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program has no meaning.
    Error,
    /// The program has a meaning, perhaps not the one intended.
    Warning,
}

/// A kind of diagnostic, declared with [`codes!`](crate::codes).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// `E0301`, say. The first letter is the severity: `E` or `W`.
    pub name: &'static str,
    /// What it means, in one line.
    pub title: &'static str,
    /// The page for `cotangent explain`, in Markdown.
    pub page: &'static str,
}

impl Code {
    /// The severity its name begins with.
    pub fn severity(&self) -> Severity {
        if self.name.starts_with('W') { Severity::Warning } else { Severity::Error }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Declares the codes of a stage and the table `CODES` of all of them. The pages are doc comments:
///
/// ```
/// cotangent_base::codes! {
///     /// No declaration with this name is visible here.
///     E0301 UNKNOWN_NAME = "unknown name";
/// }
/// assert_eq!(CODES[0].name, "E0301");
/// ```
#[macro_export]
macro_rules! codes {
    ($($(#[doc = $page:literal])+ $name:ident $constant:ident = $title:literal;)*) => {
        $($(#[doc = $page])+ pub const $constant: $crate::Code = $crate::Code {
            name: stringify!($name),
            title: $title,
            page: concat!($($page, "\n"),+),
        };)*
        /// Every code of this stage.
        pub const CODES: &[$crate::Code] = &[$($constant),*];
    };
}

/// A place in the source with a word about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What about it; may be empty for the main place.
    pub text: String,
}

/// One thing to tell the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Which kind.
    pub code: Code,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// Where it is wrong.
    pub primary: Label,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// What else there is to know.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic at `span`.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        let primary = Label { span, text: String::new() };
        Self { code, message: message.into(), primary, labels: vec![], notes: vec![], help: None }
    }

    /// Says something about the main place.
    pub fn here(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Points at another place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }
}

/// What a stage has to tell, in the order it was found.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Nothing to tell.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.items.push(diagnostic);
    }
    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(Diagnostic::is_error)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// How many there are. A speculative attempt remembers this and may [`truncate`](Self::truncate).
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Forgets all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }
    /// Moves those of `other` after these.
    pub fn append(&mut self, other: Diagnostics) {
        self.items.extend(other.items);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}
