//! Lists of programs in `tests`, with what is said of each: `name: text`, and comments after `#`.

#![allow(dead_code, reason = "each test uses a part of it")]

use super::folder;
use std::collections::BTreeMap;

/// The programs in a list, with what is said of them.
pub fn list(file: &str) -> BTreeMap<String, String> {
    let list = std::fs::read_to_string(folder(file)).unwrap_or_default();
    let entry = |line: &str| line.split_once(": ").map(|(name, why)| (name.to_string(), why.to_string()));
    list.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect()
}

/// Writes a list of programs that cannot do what is said; `test` is the name of the test that goes by it.
pub fn write_list(file: &str, refused: &BTreeMap<String, String>, what: &str, test: &str) {
    let head = format!(
        "# Programs of tests/run that cannot {what}, and what their users are told; see crates/cli/tests/{test}.rs.\n"
    );
    let lines: String = refused.iter().map(|(name, why)| format!("{name}: {why}\n")).collect();
    std::fs::write(folder(file), head + &lines).unwrap();
}
