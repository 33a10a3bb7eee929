//! Programs in `tests/diagnostics` that must be rejected, with the place marked below the line:
//!
//! ```text
//! float f() { return y; }
//! //                 ^ E0301 unknown name
//! ```
//!
//! The mark names the code and begins the message. Every diagnostic must be marked, and every mark met.
//! If a file `name.rendered` lies beside the program, it holds everything the command prints.
//!
//! `check` finds what is wrong with a program whatever is done with it. A program that goes wrong later says in its
//! first line what to do: `//command: run --set 'x=f32[1]'`.
//!
//! The last test asks that every code be shown by such a program, marked and rendered.

mod support;

use cotangent::Code;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{bless, cotangent, folder, header, programs, words};

fn main() {
    let arguments = Arguments::from_args();
    let root = folder("diagnostics");
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        Trial::test(name, move || check(&path).map_err(Failed::from))
    };
    let mut trials: Vec<Trial> = programs(&root).into_iter().map(trial).collect();
    trials.push(Trial::test("every_code_is_shown", move || every_code_is_shown(&root).map_err(Failed::from)));
    libtest_mimic::run(&arguments, trials).exit()
}

/// A diagnostic: line, column, and its code and message.
type Mark = (u64, u64, String);

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let mut args = command(&text, path);
    let rendering = cotangent(&args);
    args.extend(["--format".into(), "json".into()]);
    let output = cotangent(&args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Vec<Mark> = said.lines().filter_map(mark_of).collect();
    if output.status.code() != Some(exit_code(&found, said.lines().any(is_on_the_command_line))) {
        return Err(format!("exit code {:?}\n{said}", output.status.code()));
    }
    let mut missing = marks(&text);
    if missing.is_empty() {
        return Err("the program marks no diagnostic".into());
    }
    for (line, column, message) in &found {
        let hit =
            missing.iter().position(|(l, c, m)| l == line && c == column && message.starts_with(m.as_str()));
        match hit {
            Some(index) => drop(missing.remove(index)),
            None => return Err(format!("not expected: {line}:{column} {message}\n{said}")),
        }
    }
    match missing.first() {
        Some((line, column, message)) => Err(format!("not reported: {line}:{column} {message}\n{said}")),
        None => rendered(path, &String::from_utf8_lossy(&rendering.stderr)),
    }
}

/// What to run: what the first line says, or `check`.
fn command(text: &str, path: &Path) -> Vec<String> {
    let mut args = header(text, "command").first().map_or(vec!["check".into()], |line| words(line));
    args.insert(1, path.display().to_string());
    args
}

/// Whether a diagnostic is about a flag: it stands in place of the file.
fn is_on_the_command_line(line: &str) -> bool {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    value["place"]["file"].as_str().is_some_and(|file| file.starts_with("--"))
}

/// How a command ends that said this: a back end that refuses the program, a trap, a function that cannot be named like that, or a flag that does not fit is not the
/// program's mistake.
fn exit_code(found: &[Mark], flags: bool) -> i32 {
    let codes: Vec<Code> =
        found.iter().filter_map(|(_, _, text)| cotangent::explain(text.split(' ').next()?)).collect();
    if codes.iter().any(|code| code.name == "E0764") {
        5
    } else if codes.iter().any(|code| code.name.starts_with("E08")) {
        4
    } else if flags || codes.iter().any(|code| cotangent::is_about_names_asked_for(*code)) {
        2
    } else {
        codes.iter().any(|code| code.name.starts_with('E')).into()
    }
}

/// Every code but those of bugs is marked in a program and stands in a rendering. Of the autodiff passes' codes
/// some are shown by their own tests only, since the checker refuses such programs first. No program interrupts itself.
fn every_code_is_shown(root: &Path) -> Result<(), String> {
    let (mut marked, mut shown) = (String::new(), String::new());
    for path in programs(root) {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        marked.extend(marks(&read(&path)).into_iter().map(|(_, _, text)| text + "\n"));
        shown += &read(&path.with_extension("rendered"));
    }
    let mut names: Vec<&str> = cotangent::all_codes().map(|code| code.name).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two diagnostics have the code {}", twice[0]));
    }
    let missing = cotangent::all_codes().filter(|code| !is_behind_the_checker(*code)).filter(|code| {
        !marked.lines().any(|line| line.starts_with(code.name))
            || !shown.contains(&format!("[{}]", code.name))
    });
    match missing.map(|code| code.name).collect::<Vec<_>>()[..] {
        [] => Ok(()),
        ref names => Err(format!("no program in tests/diagnostics shows {}", names.join(", "))),
    }
}

/// Whether no program that passes the checker gets a diagnostic of this code.
fn is_behind_the_checker(code: Code) -> bool {
    let refused_before = ["E0601", "E0602", "E0603", "E0604", "E0605", "E0606", "E0607"];
    let by_others = ["E0814"];
    cotangent::is_internal(code) || refused_before.contains(&code.name) || by_others.contains(&code.name)
}

fn mark_of(line: &str) -> Option<Mark> {
    let value: Value = serde_json::from_str(line).ok()?;
    let place = &value["place"];
    let text = format!("{} {}", value["code"].as_str()?, value["message"].as_str()?);
    Some((place["line"].as_u64()?, place["column"].as_u64()?, text))
}

/// The marks of a program. A mark is a comment with a caret under the first character meant.
fn marks(text: &str) -> Vec<Mark> {
    let (mut line, mut found) = (0, Vec::new());
    for (number, source) in text.lines().enumerate() {
        let comment = source.trim_start().strip_prefix("//").map(|c| c.trim_start());
        match comment.filter(|c| c.starts_with('^')) {
            Some(mark) => {
                let column = source.find('^').unwrap_or(0) as u64 + 1;
                found.push((line, column, mark.trim_start_matches('^').trim().to_string()));
            }
            None => line = number as u64 + 1,
        }
    }
    found
}

/// Compares all that was printed for people with the file that holds it, if there is one.
fn rendered(path: &Path, said: &str) -> Result<(), String> {
    let file = path.with_extension("rendered");
    let folder = path.parent().map(|p| format!("{}/", p.display())).unwrap_or_default();
    let shown = said.replace(&folder, "").trim_end().to_string() + "\n";
    match std::fs::read_to_string(&file) {
        Ok(_) if bless() => std::fs::write(&file, shown).map_err(|e| e.to_string()),
        Ok(expected) if expected != shown => Err(format!("printed\n\n{shown}\nand not\n\n{expected}")),
        _ => Ok(()),
    }
}
