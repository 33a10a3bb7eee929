//! Every program of `tests/run` in every language that naga writes: accepted, or refused with what the guide's table of targets
//! lists. Every program of `tests/grad`, which have no entry points, in WGSL.
//!
//! Which programs are refused, where and why is an exact list, `refused.txt` beside this file (`BLESS=1` rewrites it). naga's own
//! validator sees all that is emitted. The validators of this machine see every sixth program, or all with `COTANGENT_CONFORM` set
//! (`cargo xtask conform`), many in one process where the tool can: `spirv-val` and `spirv-as`, `glslangValidator`, `tint`, and the
//! DirectX compiler if `COTANGENT_DXC` names its library. The test says which of them it did not find. Nothing but naga
//! checks Metal.

mod support;

use cotangent::ir::Stage;
use cotangent::ir::layout::{Matrices, Target};
use cotangent::{Compiler, Disk, Roots, Symbol, capabilities};
use std::path::Path;
use support::validators::{Made, listed, validate};
use support::{bless, folder, header, programs, words};

/// What the header of a program asks for.
struct Asked {
    roots: Roots,
    defines: Vec<(String, String)>,
    matrices: Matrices,
}

/// The entry point, the macros and the layout of matrices that the header of a program asks for; `None` if it asks for what only the command line does.
fn asked(text: &str) -> Option<Asked> {
    let (mut entries, mut defines, mut matrices) = (Vec::new(), Vec::new(), Matrices::Rows);
    let line = header(text, "run").first().map_or(vec![], |line| words(line));
    let mut words = line.into_iter();
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--entry" => entries.push(Symbol::new(&value)),
            "-D" => {
                let (name, value) = value.split_once('=').unwrap_or((&value, "1"));
                defines.push((name.to_string(), value.to_string()));
            }
            "--matrix-layout" if value == "column" => matrices = Matrices::Columns,
            "--set" | "--groups" | "--print" | "--max-steps" => {}
            _ => return None,
        }
    }
    Some(Asked { roots: Roots::Entries(entries), defines, matrices })
}

/// Emits a program for each target; refusals go into the list.
fn emit(path: &Path, targets: &[Target], refused: &mut Vec<String>, wrong: &mut String) -> Vec<Made> {
    let text = std::fs::read_to_string(path).expect("a program");
    let program = path.strip_prefix(folder("")).unwrap_or(path).with_extension("").display().to_string();
    let Some(Asked { roots, defines, matrices }) = asked(&text) else { return vec![] };
    let roots = if program.starts_with("run") { roots } else { Roots::Module };
    let disk = Disk::default();
    let mut compiler = Compiler::new(&disk, defines);
    compiler.options.matrices = matrices;
    let Ok(lowered) = compiler.compile(&path.display().to_string(), roots) else {
        *wrong += &format!("{program} does not compile\n");
        return vec![];
    };
    let traps = !header(&text, "trap").is_empty();
    let mut made = Vec::new();
    for &target in targets {
        match cotangent::shader(&lowered, target, None) {
            Ok(emitted) => {
                made.push(Made { program: program.clone(), traps, target, emitted, stage: Stage::Compute })
            }
            Err(refusal) => match listed(&refusal, target) {
                Some(feature) => {
                    refused.push(format!("{} {program}: {}", target.name(), feature.title()));
                }
                None => {
                    *wrong += &format!(
                        "{program} for {}: {}: {}\n",
                        target.name(),
                        refusal.code.name,
                        refusal.message
                    );
                }
            },
        }
    }
    made
}

#[test]
fn every_program_is_accepted_or_refused_as_the_table_says() {
    let (mut refused, mut wrong, mut made) = (Vec::new(), String::new(), Vec::new());
    for path in programs(&folder("run")) {
        made.extend(emit(&path, &capabilities::TARGETS, &mut refused, &mut wrong));
    }
    for path in programs(&folder("grad")) {
        made.extend(emit(&path, &[Target::Wgsl], &mut refused, &mut wrong));
    }
    assert!(wrong.is_empty(), "{wrong}");
    refused.sort();
    let list = refused.join("\n") + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused.txt");
    if bless() {
        std::fs::write(&file, &list).expect("the list is written");
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let (new, old): (Vec<&str>, Vec<&str>) = (
        list.lines().filter(|l| !before.contains(l)).collect(),
        before.lines().filter(|l| !list.contains(l)).collect(),
    );
    assert!(before == list, "refused now: {new:#?}\nrefused no more: {old:#?}");
    validators(&made);
}

fn validators(made: &[Made]) {
    let step = if std::env::var("COTANGENT_CONFORM").is_ok() { 1 } else { 6 };
    for target in capabilities::TARGETS {
        let of = made.iter().filter(|m| m.target == target).count();
        assert!(of > 50 * step, "only {of} programs for {}", target.name());
    }
    validate(made, step);
}

#[test]
fn the_guide_has_the_table_of_targets() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/targets.md");
    let text = std::fs::read_to_string(&file).expect("the page on targets");
    let (before, rest) = text.split_once("| |").expect("a table");
    let (_, after) = rest.split_once("\n\n").expect("text behind the table");
    let real = format!("{before}{}\n{after}", capabilities::markdown());
    if bless() {
        std::fs::write(&file, &real).expect("the page is written");
    }
    assert!(text == real || bless(), "docs/guide/targets.md differs from the table; BLESS=1 writes it");
}

#[test]
fn identical_input_gives_identical_bytes() {
    for path in programs(&folder("run/resources")) {
        let emitted = || {
            let (mut refused, mut wrong) = (Vec::new(), String::new());
            emit(&path, &capabilities::TARGETS, &mut refused, &mut wrong)
        };
        for (a, b) in emitted().iter().zip(&emitted()) {
            assert!(a.emitted == b.emitted, "{} for {}", a.program, a.target.name());
        }
    }
}

#[test]
fn only_what_is_used_of_a_block_is_read() {
    // Truth values make the block one of words.
    let program = "cbuffer Block { float4x4 large; bool on; float scale; float list[4]; }
        RWStructuredBuffer<float> result;
        [shader(\"compute\")] [numthreads(1, 1, 1)]
        void main() { result[0] = on ? scale * large[2].w : list[3]; }";
    let file = std::env::temp_dir().join(format!("cotangent-block-{}.slang", std::process::id()));
    std::fs::write(&file, program).unwrap();
    let disk = Disk::default();
    let mut compiler = Compiler::new(&disk, vec![]);
    let lowered = compiler.compile(&file.display().to_string(), Roots::Module);
    let lowered = lowered.unwrap_or_else(|_| panic!("{}", compiler.complaints()));
    std::fs::remove_file(file).unwrap();
    let text = cotangent::wgsl(&lowered).unwrap_or_else(|refusal| panic!("{}", refusal.message));
    assert_eq!(text.matches("= Block[").count(), 4, "{text}");
}
