//! Checks what ARCHITECTURE.md says of the crates: allowed dependencies against the manifests, and that headers list the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each crate, which of our crates it may use.
pub type Table = BTreeMap<String, BTreeSet<String>>;

/// The rows of the table headed `| crate | ... | may use |`.
pub fn allowed(document: &str) -> Table {
    let mut table = Table::new();
    let rows = document
        .lines()
        .skip_while(|l| !l.starts_with("| crate |"))
        .skip(2)
        .take_while(|l| l.starts_with('|'));
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let names =
            |cell: &str| cell.split(',').map(|n| n.trim().trim_matches('`').to_string()).collect::<Vec<_>>();
        if let [name, .., uses] = cells[..] {
            let uses = names(uses).into_iter().filter(|n| !n.is_empty() && n != "-").collect();
            table.insert(name.trim_matches('`').to_string(), uses);
        }
    }
    table
}

/// What each crate's manifest says it uses, tests aside.
pub fn actual(root: &Path) -> Table {
    let mut table = Table::new();
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    for dir in crates.map(|e| e.path()).filter(|p| p.join("Cargo.toml").exists()) {
        let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        let section = manifest
            .lines()
            .skip_while(|l| *l != "[dependencies]")
            .skip(1)
            .take_while(|l| !l.starts_with('['));
        let name = dir.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
        let uses = section.filter_map(|l| l.split([' ', '.', '=']).next()).filter_map(own).collect();
        table.insert(name, uses);
    }
    table
}

/// The modules of a crate that the header of its `lib.rs` does not name in backticks. `codes` are diagnostics everywhere.
pub fn unlisted(lib: &str) -> Vec<&str> {
    let header: Vec<&str> = lib.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let words: BTreeSet<&str> = header
        .iter()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    let modules = lib.lines().filter_map(|line| {
        line.trim_start_matches("pub(crate) ")
            .trim_start_matches("pub ")
            .strip_prefix("mod ")?
            .strip_suffix(';')
    });
    modules.filter(|module| *module != "codes" && !words.contains(module)).collect()
}

/// The folder of one of our packages.
fn own(package: &str) -> Option<String> {
    if package == "cotangent" {
        Some(package.to_string())
    } else {
        package.strip_prefix("cotangent-").map(str::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_list_the_files() {
        for name in ["sema", "lower", "passes", "autodiff", "emit-c", "emit-slang"] {
            let lib =
                std::fs::read_to_string(crate::root().join("crates").join(name).join("src/lib.rs")).unwrap();
            assert_eq!(unlisted(&lib), [""; 0], "{name}");
        }
        assert_eq!(unlisted("//! - `a::b` is.\nmod a;\npub mod b;\npub(crate) mod c;\n"), ["c"]);
    }

    #[test]
    fn crates_use_exactly_what_the_architecture_says() {
        let root = crate::root();
        let allowed = allowed(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
        assert_eq!(allowed, actual(&root), "ARCHITECTURE.md on the left, the manifests on the right");
    }
}
