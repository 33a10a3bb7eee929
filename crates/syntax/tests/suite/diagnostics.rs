//! Diagnostics, shown where they point: each file in `tests/diagnostics` carries, under the line concerned, a
//! comment with carets under the main span, the code, the message and the help, and dashes under further
//! labels.
//!
//! ```text
//! float y = x * ;
//! //            ^ E0202 expected an expression, found `;`
//! //          - `*` needs an operand after it
//! ```
//!
//! A span that starts in the first two columns is marked `//<` instead. The comments are taken out, the rest
//! is parsed and the comments are made again; any difference fails, so an unexpected diagnostic does too.
//! `BLESS=1` rewrites the files.

use crate::support::{self, Parsed};
use cotangent_base::{Diagnostic, Location, Span};
use std::fs;
use std::path::{Path, PathBuf};

fn is_annotation(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("//") else { return false };
    let rest = rest.trim_start();
    rest.starts_with('^') || rest.starts_with("- ") || rest.starts_with("--") || rest.starts_with('<')
}

/// The comment under a span: `mark` repeated over it, then `text`.
fn annotation(parsed: &Parsed, span: Span, mark: char, text: &str) -> (u32, String) {
    let Location { line, column } = parsed.sources.location(span.file, span.start);
    let length = parsed.sources.snippet(span).lines().next().unwrap_or("").chars().count().max(1);
    let text = text.trim_end();
    let comment = match column {
        1 | 2 => format!("//<{} {text}", mark.to_string().repeat(length)),
        _ => format!("//{}{} {text}", " ".repeat(column as usize - 3), mark.to_string().repeat(length)),
    };
    (line, comment)
}

fn annotations(parsed: &Parsed, d: &Diagnostic) -> Vec<(u32, String)> {
    let here = if d.primary.text.is_empty() { String::new() } else { format!("; {}", d.primary.text) };
    let help = d.help.as_ref().map_or(String::new(), |h| format!(" [{h}]"));
    let text = format!("{:?} {}{here}{help}", d.code, d.message);
    let mut all = vec![annotation(parsed, d.primary.span, '^', &text)];
    all.extend(d.labels.iter().map(|l| annotation(parsed, l.span, '-', &l.text)));
    all
}

/// The text with a comment under each place that a diagnostic points to.
fn annotated(text: &str) -> String {
    let plain: String = text.lines().filter(|l| !is_annotation(l)).map(|l| format!("{l}\n")).collect();
    let parsed = support::parse(&plain);
    let comments: Vec<_> = parsed.diags.iter().flat_map(|d| annotations(&parsed, d)).collect();
    let last = plain.lines().count() as u32;
    let mut out = String::new();
    for (number, line) in (1..).zip(plain.lines()) {
        out.push_str(line);
        out.push('\n');
        let here = |l: u32| l == number || (l > last && number == last);
        comments.iter().filter(|(l, _)| here(*l)).for_each(|(_, c)| out.push_str(&format!("{c}\n")));
    }
    out
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the folder").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn diagnostics_point_where_the_files_say() {
    let paths = files("diagnostics");
    assert!(paths.len() >= 5, "the files are gone");
    for path in paths {
        let text = fs::read_to_string(&path).expect("the file");
        let actual = annotated(&text);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, actual).expect("the file can be written");
        } else {
            assert_eq!(actual, text, "{}: run with BLESS=1 to accept", path.display());
        }
    }
}

#[test]
fn programs_without_mistakes_give_no_diagnostics() {
    let paths = files("programs");
    assert!(paths.len() >= 4, "the files are gone");
    for path in paths {
        let text = fs::read_to_string(&path).expect("the file");
        let parsed = support::parse(&text);
        assert_eq!(parsed.messages(), "", "{}", path.display());
        assert!(parsed.file.decls.len() > 3, "{}", path.display());
    }
}

/// The code blocks of a page of explanation.
fn blocks(page: &str) -> Vec<String> {
    let lines: Vec<_> = page.lines().map(|l| l.strip_prefix(' ').unwrap_or(l)).collect();
    let blocks = lines.split(|l| l.starts_with("```")).skip(1).step_by(2);
    blocks.map(|b| b.iter().map(|l| format!("{l}\n")).collect()).collect()
}

#[test]
fn every_page_shows_the_mistake_and_the_way_out() {
    // These examples only hint at what would be too long to show.
    let hints = ["E0116", "E0119", "E0208", "E0215"];
    let codes = |text: &str| support::parse(text).diags.iter().map(|d| d.code.name).collect::<Vec<_>>();
    // Statements stand in a function; declarations and directives do not.
    let wrapped = |text: &str| codes(&format!("void example() {{\n{text}\n}}"));
    let mut wrong = vec![];
    for code in cotangent_syntax::codes::CODES.iter().chain(cotangent_syntax::parser_codes::CODES) {
        let blocks = blocks(code.page);
        let [bad, good] = &blocks[..] else { panic!("{code:?} has {} examples", blocks.len()) };
        let shown = codes(bad).contains(&code.name) || wrapped(bad).contains(&code.name);
        if !shown && !hints.contains(&code.name) {
            wrong.push((code, "the mistake", codes(bad)));
        }
        if !codes(good).is_empty() && !wrapped(good).is_empty() {
            wrong.push((code, "the way out", codes(good)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
