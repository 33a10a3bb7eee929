//! Every program of `tests/run` in every language that naga writes: accepted, or refused with what the guide's table of targets
//! lists. Every program of `tests/grad`, which have no entry points, and the derivatives of `tests/kernels` in WGSL.
//!
//! Which programs are refused, where and why is an exact list, `refused.txt` beside this file (`BLESS=1` rewrites it). naga's own
//! validator sees all that is emitted, and `tint` all WGSL. The other validators that are installed see every sixth program, or all with
//! `COTANGENT_CONFORM` set (`cargo xtask conform`), many in one process where the tool can: `spirv-val` and `spirv-as`,
//! `glslangValidator`, and the DirectX compiler if `COTANGENT_DXC` names its library. The test says which of them it did not find.
//! Nothing but naga checks Metal.

mod support;

use cotangent::ir::layout::Target;
use cotangent::ir::{Mode, Stage};
use cotangent::{Disk, KernelRoot, Request, Roots, Session, Symbol, capabilities};
use std::path::Path;
use support::folder::Folder;
use support::run_header::RunHeader;
use support::validators::{Made, listed, validate};
use support::{bless, folder, header, programs};

/// Emits a program for each target; refusals go into the list.
fn emit(path: &Path, targets: &[Target], refused: &mut Vec<String>, wrong: &mut String) -> Vec<Made> {
    let text = std::fs::read_to_string(path).expect("a program");
    let program = path.strip_prefix(folder("")).unwrap_or(path).with_extension("").display().to_string();
    let asked = match RunHeader::of(&text) {
        Ok(asked) => asked,
        Err(why) => {
            *wrong += &format!("{program}: {why}\n");
            return vec![];
        }
    };
    let roots = if program.starts_with("run") { asked.roots() } else { Roots::Module };
    let Ok(lowered) = asked.program(path, Disk::default()).compile(roots).result else {
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
        made.extend(emit(&path, &capabilities::SHADERS, &mut refused, &mut wrong));
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
    for target in capabilities::SHADERS {
        let of = made.iter().filter(|m| m.target == target).count();
        assert!(of > 50 * step, "only {of} programs for {}", target.name());
    }
    validate(made, step);
}

/// Barriers of backward halves, above all, which standard WGSL wants all threads of a group to reach.
#[test]
fn derivatives_of_kernels_are_valid_wgsl() {
    let mut made = Vec::new();
    for path in programs(&folder("kernels")) {
        let program = Session::new(Disk::default()).program(&Request::new(path.to_string_lossy()));
        for mode in [Mode::Forward, Mode::Backward] {
            let root = KernelRoot::new(Symbol::new("main"), mode);
            let lowered = program.compile(Roots::Kernel(root)).accept();
            let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
            // Some are refused: `crates/cotangent/tests/kernels.rs` says which.
            let Ok(emitted) = cotangent::shader(&lowered, Target::Wgsl, None) else { continue };
            let program = format!("{}_{mode:?}", path.file_stem().expect("a name").display());
            let stage = Stage::Compute;
            made.push(Made { program, traps: false, target: Target::Wgsl, emitted, stage });
        }
    }
    assert!(made.len() > 12);
    validate(&made, 1);
}

#[test]
fn the_guide_has_the_table_of_targets() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/targets.md");
    let text = std::fs::read_to_string(&file).expect("the page on targets");
    let (before, rest) = text.split_once("| |").expect("a table");
    let (_, after) = rest.split_once("\n\n").expect("text behind the table");
    let code = |target| if capabilities::SHADERS.contains(&target) { "E0761" } else { "E0763" };
    let real = format!("{before}{}\n{after}", capabilities::markdown(code));
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
            emit(&path, &capabilities::SHADERS, &mut refused, &mut wrong)
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
    let folder = Folder::new("block");
    let request = Request::new(folder.file("block.slang", program));
    let lowered = Session::new(Disk::default()).program(&request).compile(Roots::Module).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
    let text = cotangent::wgsl(&lowered).unwrap_or_else(|refusal| panic!("{}", refusal.message));
    assert_eq!(text.matches("= Block[").count(), 4, "{text}");
}

#[test]
fn what_a_header_asks_for_is_known_or_wrong() {
    let wrong = |line: &str| RunHeader::of(&format!("//run: {line}\n")).err();
    assert_eq!(wrong("modules/more.slang --set 'a=f32[1]' --groups 2,1 -D N=3 --print a"), None);
    for (line, says) in [
        ("--entri main", "`--entri main` is not known to this test"),
        ("--set a=f33[1]", "`--set a=f33[1]` is not known to this test"),
        ("--entry", "`--entry` has no value"),
    ] {
        assert_eq!(wrong(line).as_deref(), Some(says));
    }
}
