//! Compares emitted C++ with the model. Input: cases of [`super::check`]. Output: those that fail, and how. Many programs share
//! one translation unit, built without optimization: a compiler process for each takes too long, and so all can be compared.

use super::check::{Case, Found, compare, inputs};
use super::eval::{Memory, Mode};
use super::print::{ROOM, entry};
use super::tree::{CELLS, Mem, Ty};
use super::walk;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// What is wrong with a program: its number among those given, and how.
pub type Wrong = (usize, String);

/// The C++ compiler, if one is installed: `g++`, or the one that `CXX` names.
pub fn compiler() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    Command::new(&compiler).arg("--version").output().is_ok().then_some(compiler)
}

/// Builds and runs these programs in a folder, and gives those that fail.
pub fn check(compiler: &str, folder: &Path, cases: &[&Case]) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut texts = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        match cotangent::cpp(&case.lowered, &case.sources, "program.slang", false) {
            Ok(text) => texts.push((number, text)),
            Err(refusal) => wrong.push((number, format!("C++ is refused: {}", refusal.message))),
        }
    }
    let (source, program) = (folder.join("programs.cpp"), folder.join("programs.out"));
    std::fs::write(&source, unit(cases, &texts)).expect("the folder can be written");
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O0", "-w", "-pthread", "-o"]).args([&program, &source]);
    let built = command.output().expect("the compiler starts");
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr).to_string();
        if let [(number, _)] = texts[..] {
            wrong.push((number, format!("the C++ compiler refuses it: {said}")));
        } else {
            // Build each by itself to find those that fail.
            for (number, _) in texts {
                let own = check(compiler, folder, &[cases[number]]);
                wrong.extend(own.into_iter().map(|(_, text)| (number, text)));
            }
        }
        return wrong;
    }
    let ran = Command::new(&program).output().expect("the program starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    for (number, _) in &texts {
        for (mode, outcome) in &cases[*number].expected {
            let result = found(&said, *number, *mode).ok_or_else(|| "did not come to its end".to_string());
            let result = result.and_then(|found| compare(&cases[*number].tree, outcome, &found));
            if let Err(text) = result {
                wrong.push((*number, format!("{} as C++: {text}", entry(*mode))));
                break;
            }
        }
    }
    wrong
}

const HEAD: &str = r#"#include <cstdio>
#include <cstring>
"#;

const HELPERS: &str = r#"
template <class B> static void put(B& buffer, void* data, unsigned long long count) {
  std::memcpy(&buffer, &data, 8);
  std::memcpy(reinterpret_cast<char*>(&buffer) + 8, &count, 8);
}
static void show(int number, const char* mode, const char* name, const float* data, int count) {
  std::printf("%d %s %s", number, mode, name);
  for (int i = 0; i < count; i++) std::printf(" %.9g", double(data[i]));
  std::puts("");
}
static void show(int number, const char* mode, const char* name, const int* data, int count) {
  std::printf("%d %s %s", number, mode, name);
  for (int i = 0; i < count; i++) std::printf(" %d", data[i]);
  std::puts("");
}
"#;

/// The translation unit. The prelude is in each program, and has include guards.
fn unit(cases: &[&Case], texts: &[(usize, String)]) -> String {
    let mut out = String::from(HEAD);
    let split = |text: &'_ str| text.find("\nnamespace program {\n").unwrap_or(0);
    texts.iter().for_each(|(_, text)| out += &text[..split(text)]);
    out += HELPERS;
    for (number, text) in texts {
        _ = writeln!(out, "namespace p{number} {{\n{}\n}}", &text[split(text)..]);
        for (mode, _) in &cases[*number].expected {
            function(cases[*number], *number, *mode, text, &mut out);
        }
    }
    out += "int main() {\n";
    for (number, _) in texts {
        for (mode, _) in &cases[*number].expected {
            _ = writeln!(out, "  run_{number}_{}();", entry(*mode));
        }
    }
    out + "}\n"
}

/// The function that runs one entry point and prints what it leaves.
fn function(case: &Case, number: usize, mode: Mode, text: &str, out: &mut String) {
    let (tree, name) = (&case.tree, entry(mode));
    _ = writeln!(out, "static void run_{number}_{name}() {{\n  p{number}::program::Params params{{}};");
    // Unused parameters are not among them.
    let params = text.split("struct Params {").nth(1).and_then(|rest| rest.split("};").next());
    let has = |name: &str| params.is_some_and(|p| p.contains(&format!(" {name};")));
    let floats = |cells: &[f64]| cells.iter().map(|c| format!("{c:?}f")).collect::<Vec<_>>().join(", ");
    let numbers: Vec<f64> = inputs(tree, &case.point).iter().map(|x| f64::from(*x)).collect();
    let mut shown = String::new();
    let mut block = |name: &str, ty: &str, list: String, count: usize, texture: bool| {
        if !has(name) {
            return;
        }
        _ = writeln!(out, "  static {ty} {name}[{count}] = {{{list}}};");
        if texture {
            _ = writeln!(
                out,
                "  static ct::Texture2D<float> {name}_t{{{name}, {CELLS}u, {}u}}; params.{name} = &{name}_t;",
                tree.threads
            );
        } else {
            _ = writeln!(out, "  put(params.{name}, {name}, {count});");
        }
        _ = writeln!(shown, "  show({number}, \"{}\", \"{name}\", {name}, {count});", entry(mode));
    };
    block("inp", "float", floats(&numbers), numbers.len(), false);
    block("outp", "float", "0".into(), tree.threads * ROOM, false);
    for mem in walk::memory(tree).into_iter().filter(|m| m.is_parameter()) {
        let cells = &case.point.memory[mem.name()];
        let ints = cells.iter().map(|c| (*c as i32).to_string()).collect::<Vec<_>>().join(", ");
        match mem.ty() {
            Ty::Float => block(mem.name(), "float", floats(cells), cells.len(), mem == Mem::Texture),
            Ty::Int | Ty::Bool => block(mem.name(), "int", ints, cells.len(), false),
        }
    }
    _ = writeln!(
        out,
        "  p{number}::program::{name}(params, ct::Groups{{{{0, 0, 0}}, {{1, 1, 1}}}});\n{shown}}}"
    );
}

/// What a program printed.
fn found(said: &str, number: usize, mode: Mode) -> Option<Found> {
    let start = format!("{number} {} ", entry(mode));
    let mut result = Found { numbers: vec![], memory: Memory::new() };
    let mut any = false;
    for line in said.lines().filter_map(|line| line.strip_prefix(&start)) {
        let mut words = line.split(' ');
        let name = words.next()?;
        let numbers: Vec<f64> = words.map_while(|w| w.parse().ok()).collect();
        any = true;
        if name == "outp" {
            result.numbers = numbers;
        } else if let Some(mem) = Mem::ALL.into_iter().find(|m| m.name() == name) {
            result.memory.insert(mem.name(), numbers);
        }
    }
    any.then_some(result)
}
