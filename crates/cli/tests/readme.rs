//! What README.md shows is what happens.

mod support;

use std::path::Path;
use std::process::Command;
use support::folder::Folder;
use support::{cotangent, words};

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The fenced blocks, with the word after the fence.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = text.split("```").collect();
    parts.iter().skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

fn output(args: &[String]) -> String {
    let result =
        Command::new(env!("CARGO_BIN_EXE_cotangent")).args(args).current_dir(root()).output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    String::from_utf8(result.stdout).unwrap()
}

#[test]
fn the_first_command_prints_the_gradient_shown_below_it() {
    let text = readme();
    let blocks = blocks(&text);
    let (_, arguments) = blocks[0].1.split_once(" -- ").expect("the first command is a `cargo run`");
    assert!(blocks[0].1.starts_with("cargo run "));
    assert_eq!(output(&words(arguments)), blocks[1].1);
}

#[test]
fn the_second_command_runs_the_tests_and_so_does_ci() {
    let text = readme();
    let command = blocks(&text)[2].1.trim();
    assert_eq!(command, "cargo test --workspace");
    let script = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(script.lines().any(|line| line == command));
}

#[test]
fn every_shown_session_is_a_real_one() {
    let text = readme();
    let sessions = blocks(&text).into_iter().filter_map(|(_, block)| block.strip_prefix("$ cotangent "));
    let mut count = 0;
    for (command, shown) in sessions.filter_map(|session| session.split_once('\n')) {
        assert_eq!(output(&words(command)), shown);
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn the_shown_program_is_the_example() {
    let text = readme();
    let (_, program) = *blocks(&text).iter().find(|(word, _)| *word == "slang").unwrap();
    let example = std::fs::read_to_string(root().join("examples/quadratic.slang")).unwrap();
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed(&example).contains(&squeezed(program)));
}

#[test]
fn the_shown_mistake_is_reported_that_way() {
    let text = readme();
    let (_, shown) = *blocks(&text).iter().find(|(_, block)| block.starts_with("error")).unwrap();
    let folder = Folder::new("readme");
    let example = std::fs::read_to_string(root().join("examples/spring.slang")).unwrap();
    let path = folder.file("spring.slang", example.replace("length(x)", "lenght(x)"));
    let result = cotangent(&["check".into(), path]);
    let said = String::from_utf8(result.stderr).unwrap().replace(&format!("{}/", folder.display()), "");
    assert_eq!(result.status.code(), Some(1));
    assert!(said.starts_with(shown.trim_end()), "{said}");
}
