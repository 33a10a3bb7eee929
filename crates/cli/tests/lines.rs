//! What `compile --lines` says about where code comes from.
//!
//! Every sixth program is written with lines for every target, seen by the validators of this machine, and without the lines is
//! what it is without the flag. That the lines are right is shown by `tests/lines`, where each number says on which line it stands.

mod support;

use cotangent::ir::Stage;
use cotangent::ir::layout::Target;
use cotangent::{Disk, Emitted, Lowered, Request, Roots, Session, Sources, capabilities};
use std::collections::BTreeMap;
use support::validators::{Made, validate};
use support::{folder, programs};

/// The program in a language, with lines and without; `None` if the language cannot express it.
fn both(lowered: &Lowered, sources: &Sources, target: Target) -> Option<[Emitted; 2]> {
    let with = cotangent::shader(lowered, target, Some(sources));
    let without = cotangent::shader(lowered, target, None);
    assert_eq!(with.is_ok(), without.is_ok());
    Some([with.ok()?, without.ok()?])
}

/// What is left without lines.
fn stripped(emitted: &Emitted) -> Emitted {
    let told = ["#line ", "// ", "#extension GL_GOOGLE_cpp_style_line_directive"];
    match emitted {
        Emitted::Text(text) => {
            // Metal has a comment of its own.
            let kept = |line: &&str| {
                line.starts_with("// language") || !told.iter().any(|t| line.trim_start().starts_with(t))
            };
            Emitted::Text(text.split_inclusive('\n').filter(kept).collect())
        }
        Emitted::Words(words) => {
            let (mut out, mut rest, mut files) = (words[..5].to_vec(), &words[5..], 0);
            while let [first, ..] = rest {
                let (this, behind) = rest.split_at((first >> 16) as usize);
                match first & 0xffff {
                    7 => files += 1,
                    8 => {}
                    _ => out.extend(this),
                }
                rest = behind;
            }
            out[3] -= files;
            Emitted::Words(out)
        }
    }
}

#[test]
fn lines_are_all_that_is_added() {
    let mut made = Vec::new();
    let compute = programs(&folder("run")).into_iter().step_by(6);
    for path in compute.chain(programs(&folder("pipeline"))) {
        let program = path.file_stem().unwrap_or_default().display().to_string();
        let compiled = Session::new(Disk::default()).program(&Request::new(path.display().to_string()));
        let Ok(lowered) = compiled.compile(Roots::Module).result else { continue };
        for target in capabilities::SHADERS {
            let Some([with, without]) = both(&lowered, &compiled.sources(), target) else { continue };
            assert!(stripped(&with) == without, "{program} for {}", target.name());
            if let [entry] = lowered.entries[..] {
                let entry = lowered.module.funcs[entry].entry.as_ref();
                let stage = entry.map_or(Stage::Compute, |entry| entry.stage);
                let program = program.clone();
                made.push(Made { program, traps: true, target, emitted: with, stage });
            }
        }
    }
    assert!(made.len() > 300, "only {} programs", made.len());
    validate(&made, 6);
}

type Emit = fn(&Lowered, &Sources, &str, bool) -> Result<String, Box<cotangent::Diagnostic>>;

/// The program with numbers that are lines, in a language.
fn numbered(target: Target) -> Emitted {
    let path = folder("lines/numbered.slang").display().to_string();
    let program = Session::new(Disk::default()).program(&Request::new(&*path));
    let lowered = program.compile(Roots::Module).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
    cotangent::shader(&lowered, target, Some(&program.sources())).unwrap_or_else(|e| panic!("{}", e.message))
}

/// The numbers with a half in a line, as the lines that they name, of the imported file if they are above a hundred.
fn named(line: &str) -> Vec<(&'static str, u32)> {
    let words = line.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let numbers = words.filter_map(|word| word.strip_suffix(".5").and_then(|n| n.parse().ok()));
    numbers.map(|n: u32| if n > 100 { ("helper.slang", n - 100) } else { ("numbered.slang", n) }).collect()
}

fn same(file: &str, line: u32, expected: (&str, u32)) -> bool {
    line == expected.1 && file.ends_with(expected.0)
}

/// Follows the directives, or comments, of a text, and compares where the numbers in it say that they are.
fn compare(target: Target, text: &str) {
    let (mut file, mut line, mut found) = (String::new(), 0, 0);
    for said in text.lines() {
        if let Some(directive) = said.strip_prefix("#line ") {
            let (number, name) = directive.split_once(' ').unwrap_or((directive, ""));
            line = number.parse().unwrap();
            file = if name.is_empty() { file } else { name.trim_matches('"').to_string() };
            continue;
        }
        if let Some(comment) = said.trim_start().strip_prefix("// ").filter(|_| target == Target::Wgsl) {
            let (name, number) = comment.rsplit_once(':').unwrap();
            (file, line) = (name.to_string(), number.parse().unwrap());
            continue;
        }
        // An expression of C++ may have come together from several lines.
        let (named, folded) = (named(said), matches!(target, Target::Cpp | Target::Cuda));
        let right = named.iter().filter(|expected| same(&file, line, **expected)).count();
        let enough = if folded { named.len().min(1) } else { named.len() };
        assert!(right >= enough, "{}: {file}:{line} {said}", target.name());
        found += right;
        line += u32::from(target != Target::Wgsl);
    }
    assert!(found > 15, "{}: {found} numbers\n{text}", target.name());
}

#[test]
fn directives_say_the_line_that_code_is_on() {
    for target in [Target::Wgsl, Target::Glsl, Target::Hlsl, Target::Metal] {
        let Emitted::Text(text) = numbered(target) else { panic!("text") };
        compare(target, &text);
    }
}

#[test]
fn directives_of_cpp_and_cuda_do_so_too() {
    let path = folder("lines/numbered.slang").display().to_string();
    let program = Session::new(Disk::default()).program(&Request::new(&*path));
    let lowered = program.compile(Roots::Module).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
    for (target, emit) in [(Target::Cpp, cotangent::cpp as Emit), (Target::Cuda, cotangent::cuda)] {
        let text =
            emit(&lowered, &program.sources(), &path, true).unwrap_or_else(|e| panic!("{}", e.message));
        // Before that stands what is the same in all programs.
        let (_, own) = text.split_once("\nnamespace numbered {").expect("a namespace");
        compare(target, own);
    }
}

#[test]
fn spirv_says_the_line_that_code_is_on() {
    let Emitted::Words(words) = numbered(Target::SpirV) else { panic!("words") };
    let text = cotangent::disassemble(&words).unwrap();
    let (mut strings, mut numbers) = (BTreeMap::new(), BTreeMap::new());
    let (mut at, mut found) = (None, 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [id, "=", "OpString", name] => _ = strings.insert(id, name.trim_matches('"')),
            [id, "=", "OpConstant", _, number] => _ = numbers.insert(id, named(number)),
            ["OpLine", file, line, _] => at = Some((strings[file], line.parse().unwrap())),
            [_, "=", "OpLabel"] => at = None,
            _ => {
                for expected in words.iter().flat_map(|word| numbers.get(word)).flatten() {
                    let (file, line) = at.expect("a line");
                    assert!(same(file, line, *expected), "{file}:{line} for {expected:?}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 15, "{found} numbers\n{text}");
}
