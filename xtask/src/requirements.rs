//! Counts the requirements that tests name.
//!
//! `docs/requirements.md` lists the groups and how many each has; a test names one as `req: SIG-B-07`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

/// A requirement: its group and number.
pub type Id = (String, u32);

/// The groups of `docs/requirements.md` with their counts, in order.
pub fn groups(document: &str) -> Vec<(String, u32)> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split('|').map(str::trim).collect();
        Some((cells.first()?.to_string(), cells.get(2)?.parse().ok()?))
    };
    document.lines().filter_map(row).collect()
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
    let groups: BTreeMap<String, u32> = read_groups(root).into_iter().collect();
    let known = |(group, number): &Id| groups.get(group).is_some_and(|count| (1..=*count).contains(number));
    let wrong = collect(root).into_iter().filter(|(id, _)| !known(id));
    wrong.map(|((group, number), files)| format!("{group}-{number} in {files:?}")).collect()
}

fn read_groups(root: &Path) -> Vec<(String, u32)> {
    groups(&std::fs::read_to_string(root.join("docs/requirements.md")).unwrap_or_default())
}

/// Prints the count per group, and on request what is missing.
pub fn print(root: &Path, missing: bool) -> ExitCode {
    let found = collect(root);
    let (mut have, mut all) = (0, 0);
    for (group, count) in read_groups(root) {
        let is_named = |n: &u32| found.contains_key(&(group.clone(), *n));
        let (named, absent): (Vec<u32>, Vec<u32>) = (1..=count).partition(is_named);
        println!("{group:<9} {:>3} of {count}", named.len());
        if missing && !absent.is_empty() {
            println!("          missing {absent:?}");
        }
        have += named.len();
        all += count;
    }
    println!("{:<9} {have:>3} of {all}", "total");
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
    fn the_groups_add_up() {
        let total: u32 = read_groups(&crate::root()).iter().map(|(_, n)| n).sum();
        assert_eq!(total, 441, "440 and DIAG-25");
    }
}
