//! Counts the requirements that tests name.
//!
//! `docs/requirements.md` has a row for each; a test names one as `req: SIG-B-07`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

/// A requirement: its group and number.
pub type Id = (String, u32);

/// The requirements of `docs/requirements.md`: the first cell of each row that is an ID, in order.
pub fn listed(document: &str) -> Vec<Id> {
    let first = |line: &str| parse(line.strip_prefix("| ")?.split(" |").next()?);
    document.lines().filter_map(first).collect()
}

/// The requirements named in `text`, after `req:`, separated by commas.
pub fn named(text: &str) -> Vec<Id> {
    let after = text.lines().filter_map(|line| line.split_once("req: ")).map(|(_, rest)| rest);
    let words = after.flat_map(|rest| rest.split(',')).filter_map(|w| w.split_whitespace().next());
    words.filter_map(parse).collect()
}

fn parse(word: &str) -> Option<Id> {
    let (group, number) = word.trim_end_matches(['.', ';', ')']).rsplit_once('-')?;
    Some((group.to_string(), number.parse().ok()?))
}

/// Where each requirement is named, over all sources and tests below `root`.
pub fn collect(root: &Path) -> BTreeMap<Id, BTreeSet<String>> {
    let mut found: BTreeMap<Id, BTreeSet<String>> = BTreeMap::new();
    for file in crate::files(root, &[".rs", ".slang", ".ir", ".md"]) {
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        if shown.starts_with("xtask") || shown.starts_with("docs") || shown.ends_with("CONTRIBUTING.md") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        for id in named(&text) {
            found.entry(id).or_default().insert(shown.clone());
        }
    }
    found
}

/// Names that stand for no requirement, with the files they are in.
pub fn unknown(root: &Path) -> Vec<String> {
    let known: BTreeSet<Id> = listed(&page(root)).into_iter().collect();
    let wrong = collect(root).into_iter().filter(|(id, _)| !known.contains(id));
    wrong.map(|((group, number), files)| format!("{group}-{number} in {files:?}")).collect()
}

fn page(root: &Path) -> String {
    std::fs::read_to_string(root.join("docs/requirements.md")).unwrap_or_default()
}

/// Prints the count per group, and on request what is missing.
pub fn print(root: &Path, missing: bool) -> ExitCode {
    let found = collect(root);
    let all = listed(&page(root));
    let mut have = 0;
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let (named, absent): (Vec<&Id>, Vec<&Id>) = group.iter().partition(|id| found.contains_key(id));
        println!("{:<9} {:>3} of {}", group[0].0, named.len(), group.len());
        if missing && !absent.is_empty() {
            println!("          missing {:?}", absent.iter().map(|id| id.1).collect::<Vec<u32>>());
        }
        have += named.len();
    }
    println!("{:<9} {have:>3} of {}", "total", all.len());
    let wrong = unknown(root);
    for name in &wrong {
        eprintln!("no such requirement: {name}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_comments() {
        let text = "// req: SIG-B-07, IR-TR-3\nlet x = 1; // req: OP-01 (value)\n// required: nothing\n";
        let ids: Vec<Id> = [("SIG-B", 7), ("IR-TR", 3), ("OP", 1)].map(|(g, n)| (g.to_string(), n)).into();
        assert_eq!(named(text), ids);
    }

    #[test]
    fn every_named_requirement_exists() {
        assert_eq!(unknown(&crate::root()), Vec::<String>::new());
    }

    #[test]
    fn rows_begin_with_an_id() {
        let text =
            "| group | count |\n| --- | --- |\n| SIG-B | 19 |\n\n| SIG-B-07 | `.p` stays. |\nSIG-B-08\n";
        assert_eq!(listed(text), [("SIG-B".to_string(), 7)]);
    }

    #[test]
    fn every_group_is_numbered_from_one_and_counted() {
        let page = page(&crate::root());
        let all = listed(&page);
        assert_eq!(all.len(), 441);
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            let (name, count) = (&group[0].0, group.len());
            assert!(group.iter().map(|id| id.1).eq(1..=count as u32), "{name}");
            let is_count =
                |l: &str| l.starts_with(&format!("| {name} |")) && l.ends_with(&format!("| {count} |"));
            assert!(page.lines().any(is_count), "the first table says another count for {name}");
        }
    }
}
