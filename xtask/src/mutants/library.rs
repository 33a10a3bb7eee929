//! The changes in the library: each is a copy of the folder with one rule changed.

use super::{LIBRARY, Mutant, Switch};
use std::path::Path;

/// The file of the compiler that holds its library.
const COMPILER: &str = "crates/cotangent/src/library.rs";

/// A rule: where its body is in the text, and its tangents.
struct Rule<'t> {
    name: &'t str,
    body: std::ops::Range<usize>,
    tangents: Vec<&'t str>,
}

/// The functions called `name_t`, with the parameters that are so called too.
fn rules(text: &str) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    for (at, _) in text.match_indices("_t<") {
        let start = text[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        let is_declared = text[..start].lines().last().is_some_and(|line| {
            !line.is_empty() && !line.contains(['(', '=', '/']) && !line.starts_with(' ')
        });
        let after = &text[at..];
        let (Some(open), Some(brace)) = (after.find('('), after.find('{')) else { continue };
        let Some(close) = after.find(')').filter(|close| open < *close && *close < brace) else { continue };
        let Some(end) = after[brace..].find("}\n").map(|i| at + brace + i) else { continue };
        if !is_declared {
            continue;
        }
        let words = after[open + 1..close].split(',').filter_map(|p| p.split_whitespace().last());
        let tangents = words.filter(|w| w.ends_with("_t")).collect();
        rules.push(Rule { name: &text[start..at + 2], body: at + brace..end, tangents });
    }
    rules
}

/// The texts that a rule may become, with what was done.
fn changes(text: &str, rule: &Rule<'_>) -> Vec<(String, String)> {
    let body = &text[rule.body.clone()];
    let with = |body: String| format!("{}{body}{}", &text[..rule.body.start], &text[rule.body.end..]);
    let mut all = Vec::new();
    if let Some(at) = body.rfind("return ") {
        let rest = &body[at + "return ".len()..];
        let (value, tail) = rest.split_once(';').unwrap_or((rest, ""));
        let negated = format!("{}return -({value});{tail}", &body[..at]);
        all.push((format!("{}: the result is negated", rule.name), with(negated)));
    }
    for tangent in &rule.tangents {
        let dropped = replace_word(body, tangent, &format!("({tangent} - {tangent})"));
        all.push((format!("{}: {tangent} is dropped", rule.name), with(dropped)));
    }
    all.retain(|(_, new)| new != text);
    all
}

/// Replaces `word` where it stands alone.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let alone = !before.ends_with(is_part) && !after.starts_with(is_part);
        out += before;
        out += if alone { by } else { word };
        rest = after;
    }
    out + rest
}

/// Makes the folders, and has the compiler in `copy` read its library from one.
pub fn make(copy: &Path) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    for file in crate::files(&copy.join("std"), &[".slang"]) {
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        for rule in rules(&text) {
            for (what, new) in changes(&text, &rule) {
                let folder = copy.join(format!("mutants/{}", mutants.len()));
                std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
                let copied =
                    std::process::Command::new("cp").arg("-r").arg(copy.join("std")).arg(&folder).status();
                copied.map_err(|e| e.to_string())?;
                let name = file.file_name().unwrap_or_default();
                std::fs::write(folder.join("std").join(name), new).map_err(|e| e.to_string())?;
                mutants.push(Mutant { what, switch: Switch::Library(folder) });
            }
        }
    }
    read_library(copy)?;
    Ok(mutants)
}

/// Where the compiler takes the text of a file of its library.
const BUILT_IN: &str = "sources.add_library(*path, *text);";

/// In the copy, the compiler reads the library when it starts.
fn read_library(copy: &Path) -> Result<(), String> {
    let path = copy.join(COMPILER);
    let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    if !text.contains(BUILT_IN) {
        return Err(format!("{COMPILER} does not have `{BUILT_IN}`"));
    }
    let read = format!(
        "let read = std::fs::read_to_string(format!(\"{{}}/{{path}}\", std::env::var(\"{LIBRARY}\").unwrap_or_default()));\n        \
         let text: &'static str = read.unwrap_or_else(|_| text.to_string()).leak();\n        \
         sources.add_library(*path, text);"
    );
    std::fs::write(&path, text.replace(BUILT_IN, &read)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_taken_in_one_place() {
        let text = std::fs::read_to_string(crate::root().join(COMPILER)).unwrap();
        assert_eq!(text.matches(BUILT_IN).count(), 1);
    }

    #[test]
    fn rules_are_found_and_changed() {
        let text = "T fma_t<T>(T x, T x_t, T z_t)\n{\n    return x * x_t + z_t;\n}\n";
        let found = rules(text);
        assert_eq!((found[0].name, &found[0].tangents[..]), ("fma_t", &["x_t", "z_t"][..]));
        let all: Vec<String> = changes(text, &found[0]).into_iter().map(|(_, new)| new).collect();
        assert!(all[0].contains("return -(x * x_t + z_t);"), "{}", all[0]);
        assert!(all[2].contains("return x * x_t + (z_t - z_t);"), "{}", all[2]);
    }
}
