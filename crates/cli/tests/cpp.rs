//! Programs in `tests/run`, emitted as C++, built by the compiler of this machine and compared with the interpreter.
//!
//! All programs of a run are one translation unit, each in a namespace of its own: that takes seconds where a compiler process for
//! each takes minutes. By default every sixth program is taken; with `COTANGENT_CONFORM` set (`cargo xtask conform`) all are.
//! `CXX` names the compiler; where there is none, the test says so.

mod support;

use cotangent::ir::layout::Target;
use std::fmt::Write;
use std::process::Command;
use support::folder::Folder;
use support::image::{Case, Image, image, prepare_all};
use support::sample;

/// Writes the function that fills in parameters, runs a program and prints what it wrote.
fn function(case: &Case, image: &Image, number: usize) -> String {
    let mut out = format!("static void run_{number}() {{\n");
    for (at, blob) in image.blobs.iter().enumerate() {
        let list: Vec<String> = blob.bytes.iter().map(|b| b.to_string()).collect();
        let list = if blob.bytes.iter().all(|b| *b == 0) { String::new() } else { list.join(",") };
        let size = blob.bytes.len().max(1);
        _ = writeln!(out, "  alignas(16) static unsigned char b{at}[{size}] = {{{list}}};");
    }
    for (at, blob) in image.blobs.iter().enumerate() {
        for (offset, other) in &blob.pointers {
            _ = writeln!(out, "  place(b{at} + {offset}, b{other});");
        }
    }
    let scope = format!("p{number}::{}", case.namespace);
    let own = image
        .own
        .map_or(String::new(), |own| format!("*reinterpret_cast<{scope}::{}_Params*>(b{own}), ", case.entry));
    let [x, y, z] = case.groups;
    let call = format!(
        "{scope}::{}(*reinterpret_cast<{scope}::Params*>(b{}), {own}ct::Groups{{{{0, 0, 0}}, {{{x}, {y}, {z}}}}})",
        case.entry, image.params
    );
    _ = writeln!(out, "  try {{ {call}; }} catch (Trapped&) {{ std::puts(\"@trap\"); return; }}");
    for (at, blob) in image.blobs.iter().enumerate() {
        if let Some(output) = &blob.output {
            _ = writeln!(out, "  show(\"{}\", b{at}, {});", output.name, blob.bytes.len());
        }
    }
    out + "}\n"
}

const HEAD: &str = r#"#include <cstdio>
struct Trapped {};
#define COTANGENT_TRAP(what) throw Trapped()
"#;
const HELPERS: &str = r#"
static void place(unsigned char* at, unsigned char* data) { std::memcpy(at, &data, 8); }
static void show(const char* name, const unsigned char* bytes, int size) {
  std::printf("@%s ", name);
  for (int i = 0; i < size; i++) std::printf("%02x", bytes[i]);
  std::puts("");
}
"#;

/// The whole translation unit. What all programs begin with guards itself against being there twice.
fn unit(cases: &[Case], images: &[Image]) -> String {
    let mut out = String::from(HEAD);
    cases.iter().for_each(|case| out += case.parts().0);
    out += HELPERS;
    for (number, (case, image)) in cases.iter().zip(images).enumerate() {
        _ = writeln!(out, "namespace p{number} {{\n{}\n}}", case.parts().1);
        out += &function(case, image, number);
    }
    out += "int main() {\n";
    for number in 0..cases.len() {
        _ = writeln!(out, "  std::puts(\"@begin {number}\"); run_{number}(); std::puts(\"@end\");");
    }
    out + "}\n"
}

/// Compares what the program of that number said: lines of the harness begin with `@`, all others are the program's.
fn compare(case: &Case, image: &Image, number: usize, said: &str) -> Result<(), String> {
    let begin = format!("@begin {number}\n");
    let Some((own, _)) = said.split_once(&begin).and_then(|(_, rest)| rest.split_once("@end\n")) else {
        return Err("the C++ program did not come to its end".into());
    };
    let (lines, printed): (Vec<&str>, Vec<&str>) = own.lines().partition(|l| l.starts_with('@'));
    match (lines.contains(&"@trap"), case.after.is_none()) {
        (true, true) => return Ok(()),
        (true, false) => return Err("C++ traps, the interpreter does not".into()),
        (false, true) => return Err("the interpreter traps, C++ does not".into()),
        (false, false) => {}
    }
    if printed != case.said.lines().collect::<Vec<_>>() {
        return Err(format!("it printed {printed:?}, not {:?}", case.said));
    }
    for output in image.blobs.iter().filter_map(|blob| blob.output.as_ref()) {
        let hex = lines.iter().find_map(|l| l.strip_prefix(&format!("@{} ", output.name)));
        let hex = hex.ok_or("a buffer was not shown")?;
        let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        output.compare(&(0..hex.len() / 2).map(byte).collect::<Vec<u8>>())?;
    }
    Ok(())
}

#[test]
fn cpp_computes_what_the_interpreter_does() {
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        eprintln!("skipped: there is no C++ compiler `{compiler}`");
        return;
    }
    let (paths, all) = sample(6);
    let least = paths.len().min(16);
    let (cases, mut wrong) = prepare_all(paths, cotangent::cpp, "cpp");
    let folder = Folder::new("cpp");
    for (batch, cases) in cases.chunks(60).enumerate() {
        let images: Vec<Image> = cases.iter().map(|case| image(case, Target::Cpp)).collect();
        let (source, program) = (folder.join(format!("{batch}.cpp")), folder.join(format!("{batch}.out")));
        std::fs::write(&source, unit(cases, &images)).unwrap();
        let optimize = if all { "-O2" } else { "-O1" };
        let built = Command::new(&compiler)
            .args(["-std=c++17", optimize, "-w", "-pthread", "-o"])
            .args([&program, &source])
            .output()
            .expect("the compiler starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(&program).output().expect("the program starts");
        let said = String::from_utf8_lossy(&ran.stdout);
        for (number, (case, image)) in cases.iter().zip(&images).enumerate() {
            if let Err(error) = compare(case, image, number, &said) {
                wrong += &format!("{}: {error}\n", case.path.display());
            }
        }
    }
    eprintln!("{} programs compared", cases.len());
    assert!(cases.len() >= least, "only {} programs were compared", cases.len());
    assert!(wrong.is_empty(), "{wrong}\nsources are in {}", folder.display());
}

/// So much is computed in a branch that some of it gets names there: what was computed before it and is used after is not among
/// that.
#[test]
fn a_long_branch_names_nothing_of_what_is_around_it() {
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    let terms: String = (1..=200).map(|k| format!("x * {k}.5 + (")).collect();
    let long = format!("{terms}x{}", ")".repeat(200));
    let folder = Folder::new("cpp-branch");
    let program = format!(
        "RWStructuredBuffer<float> o;\n\
         [noinline] float f(float x, float y)\n\
         {{ float early = x * y + 3.0; float r; if (x > y) {{ r = sin({long}); }} else {{ r = cos(x); }} return r + early; }}\n\
         [numthreads(1, 1, 1)] void main() {{ o[0] = f(o[1], o[2]); }}\n"
    );
    folder.file("branch.slang", &program);
    let words = ["compile", "branch.slang", "--target", "cpp", "-o", "branch.cpp"];
    let made = Command::new(env!("CARGO_BIN_EXE_cotangent")).args(words).current_dir(&*folder).status();
    assert!(made.is_ok_and(|status| status.success()));
    let words = ["-std=c++17", "-fsyntax-only", "branch.cpp"];
    match Command::new(&compiler).args(words).current_dir(&*folder).output() {
        Ok(built) => assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr)),
        Err(_) => eprintln!("skipped: there is no C++ compiler `{compiler}`"),
    }
}

/// The programs and their callers in `docs/guide/cpp-and-cuda.md`, built and run as the page says, without warnings.
#[test]
fn the_examples_of_the_guide_print_what_it_shows() {
    let page = include_str!("../../../docs/guide/cpp-and-cuda.md");
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    let folder = Folder::new("cpp-guide");
    let mut ran = 0;
    let blocks = page.split("```").skip(1).step_by(2);
    for block in blocks.filter_map(|block| block.split_once('\n')).map(|(_, block)| block) {
        let (first, shown) = block.split_once('\n').unwrap_or((block, ""));
        if let Some(name) = first.strip_prefix("// file: ") {
            folder.file(name, block);
        } else if let Some(words) = first.strip_prefix("$ cotangent ") {
            let words = words.split_whitespace();
            let made =
                Command::new(env!("CARGO_BIN_EXE_cotangent")).args(words).current_dir(&*folder).status();
            assert!(made.is_ok_and(|status| status.success()), "{first}");
        } else if let Some((words, program)) =
            first.strip_prefix("$ g++ ").and_then(|line| line.split_once(" && "))
        {
            let strict = ["-Wall", "-Wextra", "-Werror"];
            let words = words.split_whitespace().chain(strict);
            let Ok(built) = Command::new(&compiler).args(words).current_dir(&*folder).output() else {
                eprintln!("skipped: there is no C++ compiler `{compiler}`");
                return;
            };
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            let said = Command::new(folder.join(program)).output().expect("the program starts");
            assert_eq!(String::from_utf8_lossy(&said.stdout), shown, "{first}");
            ran += 1;
        }
    }
    assert_eq!(ran, 2, "programs that were run");
}
