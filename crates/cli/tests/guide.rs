//! What `docs/guide` shows is what happens.
//!
//! A block that begins with `// file: name` is a program; a block that begins with `$ cotangent ..` is a session, run in a
//! folder that holds the programs of its page. All that is printed must be what is shown. `BLESS=1` rewrites sessions.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::folder::Folder;
use support::{bless, words};

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let all = std::fs::read_dir(folder).expect("there is a guide").flatten().map(|e| e.path());
    let mut pages: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    pages.sort();
    pages
}

/// All that a command prints, whether or not it succeeds: the guide shows mistakes too.
fn session(folder: &Path, command: &str) -> String {
    let mut cotangent = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = cotangent.args(words(command)).current_dir(folder).output().expect("the command starts");
    assert_ne!(output.status.code(), Some(3), "{command}: internal error");
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    printed.concat()
}

/// Runs a page; gives it with every session as it came out.
fn run(page: &Path) -> (String, String, usize) {
    let text = std::fs::read_to_string(page).expect("a page");
    let name = page.file_stem().unwrap_or_default().to_string_lossy().to_string();
    let folder = Folder::new(&format!("guide-{name}"));
    let mut sessions = 0;
    let block = |(i, part): (usize, &str)| {
        if i % 2 == 0 {
            return part.to_string();
        }
        let (word, block) = part.split_once('\n').unwrap_or((part, ""));
        if let Some((name, _)) = block.strip_prefix("// file: ").and_then(|rest| rest.split_once('\n')) {
            folder.file(name.trim(), block);
        }
        let Some(command) = block.strip_prefix("$ cotangent ").and_then(|rest| rest.lines().next()) else {
            return part.to_string();
        };
        sessions += 1;
        format!("{word}\n$ cotangent {command}\n{}", session(&folder, command))
    };
    let parts: Vec<String> = text.split("```").enumerate().map(block).collect();
    (text, parts.join("```"), sessions)
}

#[test]
fn every_session_of_the_guide_is_a_real_one() {
    let mut total = 0;
    for page in pages() {
        let (text, real, sessions) = run(&page);
        total += sessions;
        if bless() {
            std::fs::write(&page, real).expect("the page is written");
        } else {
            assert_eq!(text, real, "{}", page.display());
        }
    }
    assert!(total > 12, "only {total} sessions");
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let target = page.parent().expect("a folder").join(link);
            assert!(link.starts_with("http") || target.exists(), "{}: {link}", page.display());
        }
    }
}
