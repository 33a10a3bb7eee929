//! Programs that must be accepted, and programs whose mistakes must be found in the right place.
//!
//! Every file in `accept/` checks without errors. A file in `reject/`
//! marks what is wrong under the line it is wrong in:
//!
//! ```text
//!     float x = y;
//!     //        ^ E0301 unknown name `y`
//! ```
//!
//! The carets cover the place exactly; the text, if there is one, occurs in the message. Anything unmarked that is
//! reported, and anything marked that is not, fails.

use cotangent_base::{Diagnostics, Files, Sources};
use cotangent_sema::{Checked, Input, check};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "slang"));
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths
}

/// Checks a file together with the library.
fn check_file(path: &Path) -> (Checked, Sources) {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let (checked, sources, parsing) = check_text(path, text);
    assert!(parsing.is_empty(), "{}: {parsing:?}", path.display());
    (checked, sources)
}

/// Checks a text together with the library; gives also what the parser had to say.
fn check_text(path: &Path, text: String) -> (Checked, Sources, Diagnostics) {
    let mut sources = Sources::new();
    let mut diagnostics = Diagnostics::new();
    let mut inputs = vec![];
    for path in folder("../../std") {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let file = sources.add_library(path.display().to_string(), text);
        let tree = cotangent_syntax::parse(
            &mut sources,
            &Files(&[]),
            file,
            &[],
            Default::default(),
            &mut diagnostics,
        );
        inputs.push(Input::library(file, tree));
    }
    let file = sources.add(path.display().to_string(), text);
    let tree =
        cotangent_syntax::parse(&mut sources, &Files(&[]), file, &[], Default::default(), &mut diagnostics);
    inputs.push(Input::module(file, tree));
    (check(inputs), sources, diagnostics)
}

/// A diagnostic, reported or expected: line, first column, column after the last, code.
type Mark = (u32, u32, u32, String);

fn errors(path: &Path) -> Vec<String> {
    let (checked, sources) = check_file(path);
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    errors.map(|d| format!("{}: {} {}", sources.place(d.primary.span), d.code.name, d.message)).collect()
}

#[test]
fn programs_of_every_kind_are_accepted() {
    let all: Vec<String> = folder("tests/accept").iter().flat_map(|p| errors(p)).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn every_body_of_the_library_checks() {
    let (checked, sources) = check_file(&folder("tests/accept")[0]);
    let mut queries = checked.queries();
    for func in checked.program.funcs.keys() {
        queries.body(func);
    }
    let diagnostics = queries.take_diagnostics();
    let errors = diagnostics.iter().filter(|d| d.is_error());
    let shown: Vec<String> =
        errors.map(|d| format!("{}: {} {}", sources.place(d.primary.span), d.code.name, d.message)).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn mistakes_are_found_where_they_are() {
    let mut failures = vec![];
    for path in folder("tests/reject") {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let (checked, sources) = check_file(&path);
        let mut expected = marks(&text);
        for diagnostic in checked.diagnostics.iter() {
            let span = diagnostic.primary.span;
            let start = sources.location(span.file, span.start);
            let end = sources.location(span.file, span.end);
            let end = if end.line == start.line { end.column } else { u32::MAX };
            let mark: Mark = (start.line, start.column, end, diagnostic.code.name.into());
            let fits = |(m, text): &(Mark, String)| *m == mark && diagnostic.message.contains(text.as_str());
            match expected.iter().position(fits) {
                Some(index) => drop(expected.remove(index)),
                None => failures.push(format!(
                    "{}: unexpected {} {} at columns {}..{end}",
                    sources.place(span),
                    diagnostic.code.name,
                    diagnostic.message,
                    start.column
                )),
            }
        }
        for ((line, start, end, code), text) in expected {
            failures.push(format!("{}:{line}:{start}..{end}: missing {code} {text}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The marks in a text, with the words that must occur in the messages.
fn marks(text: &str) -> Vec<(Mark, String)> {
    let mut marks = vec![];
    let mut code_line = 0;
    for (number, line) in text.lines().enumerate() {
        match mark(line) {
            Some((start, end, code, words)) => marks.push(((code_line, start, end, code), words)),
            None => code_line = number as u32 + 1,
        }
    }
    marks
}

fn mark(line: &str) -> Option<(u32, u32, String, String)> {
    let comment = line.trim_start().strip_prefix("//")?;
    let carets = comment.trim_start().strip_prefix('^')?;
    let rest = carets.trim_start_matches('^');
    let start = line.find('^')? + 1;
    let end = start + 1 + (carets.len() - rest.len());
    let (code, words) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    Some((start as u32, end as u32, code.into(), words.trim().into()))
}

#[test]
fn mutilated_programs_are_checked_without_panic() {
    let mut random = 7u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    for path in folder("tests/accept") {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let words: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for _ in 0..25 {
            let mut mutilated = words.clone();
            for _ in 0..2 {
                let (to, from) = (below(words.len()), below(words.len()));
                mutilated[to] = words[from];
            }
            let (checked, _, _) = check_text(&path, mutilated.concat());
            let mut queries = checked.queries();
            for func in checked.program.user_funcs.clone() {
                queries.body(func);
            }
        }
    }
}
