//! Source files, positions in them, and [`Loader`], the only way in which the compiler reads a file.

use crate::{CowMap, Entity};
use std::sync::{Arc, OnceLock};

crate::entity!(
    /// A source file.
    FileId,
    "file"
);

/// A range of bytes in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub const fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The place of code that no source line stands for.
    pub fn none() -> Self {
        Self::new(FileId::new(u32::MAX as usize), 0, 0)
    }

    /// Whether this is [`Span::none`].
    pub fn is_none(self) -> bool {
        self.file.index() == u32::MAX as usize
    }

    /// From the start of `self` to the end of `other`; `self` if they are in different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span after `self`, where something was expected.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            f.write_str("-")
        } else {
            write!(f, "{}:{}..{}", self.file, self.start, self.end)
        }
    }
}

/// A position as a person counts: both numbers from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Location {
    /// Line number.
    pub line: u32,
    /// Column number.
    pub column: u32,
}

/// Where source text comes from. The compiler reads files in no other way.
pub trait Loader {
    /// The text of `path`, or `None` if there is no such file.
    fn load(&self, path: &str) -> Option<String>;
    /// The path that `name`, written in an `import` or `#include` of the file `from`, stands for.
    fn resolve(&self, from: &str, name: &str) -> Option<String>;
    /// One name for a file, however its path is spelled, to recognize a file that was read before.
    fn identity(&self, path: &str) -> String {
        tidy(path)
    }
    /// Why `load` gives nothing for `path`, and what may be meant instead, for messages.
    fn why_not(&self, path: &str) -> String {
        let _ = path;
        "there is no such file".to_string()
    }
    /// Where `resolve` looks for a name, for messages.
    fn places(&self, from: &str, name: &str) -> Vec<String> {
        let _ = (from, name);
        vec![]
    }
    /// Which files may be read, as a note for messages; `None` if there is no limit.
    fn limit(&self) -> Option<String> {
        None
    }
}

/// A path without `.` and `dir/..`.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Files in memory: path and text of each.
///
/// One file that imports nothing is `Files(&[(path, text)])`.
pub struct Files<'t>(pub &'t [(&'t str, &'t str)]);

impl Loader for Files<'_> {
    fn load(&self, path: &str) -> Option<String> {
        self.0.iter().find(|(name, _)| *name == path).map(|(_, text)| text.to_string())
    }

    fn resolve(&self, _from: &str, name: &str) -> Option<String> {
        self.0.iter().any(|(path, _)| *path == name).then(|| name.to_string())
    }
}

struct File {
    path: String,
    text: Arc<str>,
    /// Offset at which each line starts, once somebody asks.
    lines: OnceLock<Vec<u32>>,
    library: bool,
}

impl File {
    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| std::iter::once(0).chain(line_ends(&self.text)).collect())
    }
}

/// All files read so far. Clones are cheap: they share the texts.
#[derive(Clone, Default)]
pub struct Sources {
    files: CowMap<FileId, Arc<File>>,
}

impl Sources {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file of the user's.
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.push(path.into(), text.into(), false)
    }

    /// Adds a file of the standard library.
    pub fn add_library(&mut self, path: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.push(path.into(), text.into(), true)
    }

    fn push(&mut self, path: String, text: Arc<str>, library: bool) -> FileId {
        self.files.push(Arc::new(File { path, text, lines: OnceLock::new(), library }))
    }

    /// The path of a file, as it was given.
    pub fn path(&self, file: FileId) -> &str {
        &self.files[file].path
    }

    /// The text of a file.
    pub fn text(&self, file: FileId) -> Arc<str> {
        self.files[file].text.clone()
    }

    /// Whether the file belongs to the standard library.
    pub fn is_library(&self, file: FileId) -> bool {
        self.files[file].library
    }

    /// Lets clones share the list of files, until one of them adds to it.
    pub fn share(&mut self) {
        self.files.share();
    }

    /// All files, in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = FileId> + use<> {
        self.files.keys()
    }

    /// The text a span covers; empty for [`Span::none`].
    pub fn snippet(&self, span: Span) -> &str {
        let text = self.files.get(span.file).map_or("", |f| &*f.text);
        text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The line and column of a byte.
    pub fn location(&self, file: FileId, offset: u32) -> Location {
        let (text, lines) = (&self.files[file].text, self.files[file].lines());
        let line = lines.partition_point(|start| *start <= offset) - 1;
        let before = text.get(lines[line] as usize..offset as usize).unwrap_or("");
        Location { line: line as u32 + 1, column: before.chars().count() as u32 + 1 }
    }

    /// The whole lines that a span stands on, without the last line's break: their offset, the number of the first, and
    /// their text.
    pub fn lines_of(&self, span: Span) -> (u32, u32, &str) {
        let (text, lines) = (&self.files[span.file].text, self.files[span.file].lines());
        let first = lines.partition_point(|start| *start <= span.start) - 1;
        let next = lines.partition_point(|start| *start < span.end.max(span.start + 1));
        let end = lines.get(next).map_or(text.len(), |end| *end as usize);
        let shown = text.get(lines[first] as usize..end).unwrap_or("");
        (lines[first], first as u32 + 1, shown.trim_end_matches(['\n', '\r']))
    }

    /// `path:line:column` of a span's start.
    pub fn place(&self, span: Span) -> String {
        if span.is_none() {
            return "<generated>".into();
        }
        let Location { line, column } = self.location(span.file, span.start);
        format!("{}:{line}:{column}", self.path(span.file))
    }
}

/// Where lines end: after `\n`, `\r\n`, or a `\r` alone.
fn line_ends(text: &str) -> impl Iterator<Item = u32> {
    let bytes = text.as_bytes();
    let ends = move |i: &usize| match bytes[*i] {
        b'\n' => true,
        b'\r' => bytes.get(i + 1) != Some(&b'\n'),
        _ => false,
    };
    (0..bytes.len()).filter(ends).map(|i| i as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_in_three_ways() {
        let mut sources = Sources::new();
        let file = sources.add("a.slang", "a\nb\r\nc\rd");
        let line = |offset| sources.location(file, offset).line;
        assert_eq!((line(0), line(2), line(5), line(7)), (1, 2, 3, 4));
        assert_eq!(sources.lines_of(Span::new(file, 2, 6)), (2, 2, "b\r\nc"));
        assert_eq!(sources.lines_of(Span::new(file, 7, 8)), (7, 4, "d"));
        assert_eq!(sources.lines_of(Span::new(file, 8, 8)), (7, 4, "d"));
    }

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let mut sources = Sources::new();
        let file = sources.add("a.slang", "float x;\n/* é */ y\n");
        assert_eq!(sources.location(file, 0), Location { line: 1, column: 1 });
        assert_eq!(sources.location(file, 18), Location { line: 2, column: 9 });
        assert_eq!(sources.place(Span::new(file, 18, 19)), "a.slang:2:9");
        assert_eq!(sources.snippet(Span::new(file, 18, 19)), "y");
    }
}
