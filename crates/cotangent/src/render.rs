//! Renders diagnostics: for people with source excerpts, and for scripts as JSON lines.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use cotangent_base::{Diagnostic, Label, Location, Severity, Sources, Span, visible, visible_line};
use std::collections::BTreeMap;

/// How to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Characters only.
    Plain,
    /// With terminal colours.
    Coloured,
}

/// A diagnostic as a person reads it. Control characters in file names and messages are escaped here; the renderer replaces
/// those in quoted source lines.
pub fn render(sources: &Sources, diagnostic: &Diagnostic, style: Style) -> String {
    let level = match diagnostic.code.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.name);
    let mut group = Group::with_title(title);
    for (path, whole, labels) in snippets(sources, diagnostic) {
        let (offset, line, text) = sources.lines_of(whole);
        let mut snippet = Snippet::source(text).path(visible_line(path)).line_start(line as usize);
        for (label, primary) in labels {
            let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation = kind.span(clamp(label.span, offset, text));
            let text = (!label.text.is_empty()).then(|| visible(&label.text));
            snippet = snippet.annotation(annotation.label(text));
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(visible(note)));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// A file, what is shown of it, and the labels in it.
type Labelled<'a> = (&'a str, Span, Vec<(&'a Label, bool)>);

/// The labels by file, the file of the main place first. Only the lines from the first to the last of them are handed on:
/// drawing takes time in proportion.
fn snippets<'a>(sources: &'a Sources, diagnostic: &'a Diagnostic) -> Vec<Labelled<'a>> {
    let labels =
        std::iter::once((&diagnostic.primary, true)).chain(diagnostic.labels.iter().map(|l| (l, false)));
    let mut files = BTreeMap::new();
    for (label, primary) in labels.filter(|(l, _)| !l.span.is_none()) {
        let first = label.span.file != diagnostic.primary.span.file;
        files.entry((first, label.span.file)).or_insert_with(Vec::new).push((label, primary));
    }
    let whole = |labels: &[(&Label, bool)]| {
        labels.iter().map(|(label, _)| label.span).reduce(Span::to).unwrap_or_else(Span::none)
    };
    files.into_iter().map(|((_, file), labels)| (sources.path(file), whole(&labels), labels)).collect()
}

/// The bytes of a span in `text`, which begins at `offset`.
fn clamp(span: Span, offset: u32, text: &str) -> std::ops::Range<usize> {
    let inside = |at: u32| (at.saturating_sub(offset) as usize).min(text.len());
    let end = text.floor_char_boundary(inside(span.end));
    text.floor_char_boundary(inside(span.start).min(end))..end
}

/// A diagnostic as one line of JSON.
pub fn json(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let place = |label: &Label| {
        if label.span.is_none() {
            return serde_json::json!({ "text": label.text });
        }
        let Location { line, column } = sources.location(label.span.file, label.span.start);
        let end = sources.location(label.span.file, label.span.end);
        serde_json::json!({
            "file": sources.path(label.span.file), "line": line, "column": column,
            "end_line": end.line, "end_column": end.column, "text": label.text,
        })
    };
    let severity = match diagnostic.code.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    serde_json::json!({
        "severity": severity,
        "code": diagnostic.code.name,
        "message": diagnostic.message,
        "place": place(&diagnostic.primary),
        "labels": diagnostic.labels.iter().map(place).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    cotangent_base::codes! {
        /// A page.
        E0399 SAMPLE = "a sample";
    }

    fn sample() -> (Sources, Diagnostic) {
        let mut sources = Sources::new();
        let file = sources.add("f.slang", "float f(float x)\n{\n    return y;\n}\n");
        let diagnostic = Diagnostic::new(SAMPLE, Span::new(file, 30, 31), "unknown name `y`")
            .here("not found here")
            .label(Span::new(file, 14, 15), "the only parameter")
            .help("did you mean `x`?");
        (sources, diagnostic)
    }

    #[test]
    fn a_diagnostic_names_its_place_and_severity() {
        let (sources, diagnostic) = sample();
        let text = render(&sources, &diagnostic, Style::Plain);
        assert!(text.contains("error[E0399]: unknown name `y`"), "{text}");
        assert!(text.contains("f.slang:3:12"), "{text}");
        assert!(text.contains("did you mean"), "{text}");
    }

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        let mut sources = Sources::new();
        let file = sources.add("f\u{1b}[31m\n.slang", "// \u{1b}[32m \u{202e}\n");
        let diagnostic = Diagnostic::new(SAMPLE, Span::new(file, 0, 3), "message \u{1b}[33m")
            .here("label \u{1b}[34m")
            .note("note \u{1b}[35m \u{9b}")
            .help("help \u{1b}[36m");
        let text = render(&sources, &diagnostic, Style::Plain);
        assert!(!text.contains(|c: char| c != '\n' && c.is_control() || c == '\u{202e}'), "{text:?}");
        assert!(text.contains("f\\u{1b}[31m\\u{a}.slang"), "{text}");
        assert!(text.contains("= note: note \\u{1b}[35m \\u{9b}"), "{text}");
    }

    #[test]
    fn a_script_gets_one_line_of_json() {
        let (sources, diagnostic) = sample();
        let line = json(&sources, &diagnostic);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((value["place"]["line"].as_u64(), value["place"]["column"].as_u64()), (Some(3), Some(12)));
        assert_eq!(value["code"], "E0399");
        assert!(!line.contains('\n'));
    }
}
