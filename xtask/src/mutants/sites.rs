//! The changes in Rust: all of them at once, behind a switch.

use super::{Mutant, NUMBER, Switch};
use std::path::Path;

const SITES: &str = include_str!("sites.txt");

/// A place in a file, and what may stand there instead.
struct Site {
    file: &'static str,
    from: String,
    to: Vec<&'static str>,
}

fn sites() -> Vec<Site> {
    let (mut file, mut sites) = ("", Vec::<Site>::new());
    for line in SITES.lines() {
        match line.split_once(' ') {
            Some(("file", name)) => file = name,
            Some(("from", text)) => sites.push(Site { file, from: text.replace("\\n", "\n"), to: vec![] }),
            Some(("to", text)) => sites.last_mut().into_iter().for_each(|site| site.to.push(text)),
            _ => {}
        }
    }
    sites
}

/// Puts the changes into the tree at `copy`.
pub fn apply(copy: &Path) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    let mut edits: Vec<(&str, usize, String, String)> = Vec::new();
    for site in sites() {
        let text =
            std::fs::read_to_string(copy.join(site.file)).map_err(|e| format!("{}: {e}", site.file))?;
        let [(at, _)] = text.match_indices(&site.from).collect::<Vec<_>>()[..] else {
            return Err(format!("{} does not have `{}` exactly once", site.file, site.from));
        };
        let mut arms = String::new();
        for to in &site.to {
            let number = mutants.len() + 1;
            arms += &format!("{number} => {to}, ");
            mutants.push(Mutant {
                what: format!("{}: `{}` becomes `{to}`", site.file, site.from),
                switch: Switch::Number(number),
            });
        }
        let new = format!("match crate::mutant::chosen() {{ {arms}_ => {{ {} }} }}", site.from);
        let new = if site.from.ends_with(';') { new } else { format!("({new})") };
        edits.push((site.file, at, site.from, new));
    }
    // From the last place of a file to the first, so that places stay where they are.
    edits.sort_by_key(|(file, at, ..)| (*file, std::cmp::Reverse(*at)));
    for (file, at, from, new) in edits {
        let path = copy.join(file);
        let mut text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        text.replace_range(at..at + from.len(), &new);
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
    }
    add_switch(copy)?;
    Ok(mutants)
}

/// Adds the module that the changes ask.
fn add_switch(copy: &Path) -> Result<(), String> {
    let code = format!(
        "//! Which change is on.\n\n/// Its number.\npub fn chosen() -> usize {{\n    \
         static NUMBER: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {{\n        \
         std::env::var(\"{NUMBER}\").ok().and_then(|n| n.parse().ok()).unwrap_or(0)\n    }});\n    *NUMBER\n}}\n"
    );
    let source = copy.join("crates/autodiff/src");
    std::fs::write(source.join("mutant.rs"), code).map_err(|e| e.to_string())?;
    let library = std::fs::read_to_string(source.join("lib.rs")).map_err(|e| e.to_string())?;
    std::fs::write(source.join("lib.rs"), library + "\nmod mutant;\n").map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_site_is_there_once() {
        for site in sites() {
            let text = std::fs::read_to_string(crate::root().join(site.file)).unwrap();
            assert_eq!(text.matches(&site.from).count(), 1, "{}: {}", site.file, site.from);
            assert!(!site.to.is_empty(), "{}: {}", site.file, site.from);
        }
    }
}
