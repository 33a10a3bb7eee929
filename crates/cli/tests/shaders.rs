//! Every program of `tests/run` in every language that naga writes: accepted, or refused with what the guide's table of targets
//! lists. Every program of `tests/grad`, which have no entry points, in WGSL.
//!
//! Which programs are refused, where and why is an exact list, `refused.txt` beside this file (`BLESS=1` rewrites it). naga's own
//! validator sees all that is emitted. The validators of this machine see every sixth program, or all with `COTANGENT_CONFORM` set
//! (`cargo xtask conform`), many in one process where the tool can: `spirv-val` and `spirv-as`, `glslangValidator`, `tint`, and the
//! DirectX compiler if `COTANGENT_DXC` names its library. The test says which of them it did not find. Nothing but naga
//! checks Metal.

mod support;

use cotangent::ir::layout::Target;
use cotangent::{Compiler, Disk, Emitted, Roots, Symbol, capabilities};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{bless, folder, header, programs, words};

/// What a program was made into.
struct Made {
    program: String,
    /// It stops on purpose, which validators may foresee.
    traps: bool,
    target: Target,
    emitted: Emitted,
}

/// The entry point and the macros that the header of a program asks for; `None` if it asks for what only the command line does.
fn asked(text: &str) -> Option<(Roots, Vec<(String, String)>)> {
    let (mut entries, mut defines) = (Vec::new(), Vec::new());
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
            "--set" | "--groups" | "--print" | "--max-steps" => {}
            _ => return None,
        }
    }
    Some((Roots::Entries(entries), defines))
}

/// Emits a program for each target; refusals go into the list.
fn emit(path: &Path, targets: &[Target], refused: &mut Vec<String>, wrong: &mut String) -> Vec<Made> {
    let text = std::fs::read_to_string(path).expect("a program");
    let program = path.strip_prefix(folder("")).unwrap_or(path).with_extension("").display().to_string();
    let Some((roots, defines)) = asked(&text) else { return vec![] };
    let roots = if program.starts_with("run") { roots } else { Roots::Module };
    let disk = Disk::default();
    let mut compiler = Compiler::new(&disk, defines);
    let Ok(lowered) = compiler.compile(&path.display().to_string(), roots) else {
        *wrong += &format!("{program} does not compile\n");
        return vec![];
    };
    let traps = !header(&text, "trap").is_empty();
    let mut made = Vec::new();
    for &target in targets {
        match cotangent::shader(&lowered, target) {
            Ok(emitted) => made.push(Made { program: program.clone(), traps, target, emitted }),
            Err(refusal) => {
                let features = capabilities::Feature::ALL.iter();
                let listed = features
                    .filter(|f| f.support(target) == capabilities::Support::No)
                    .find(|f| refusal.notes.contains(&capabilities::note(**f)));
                match listed {
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
                }
            }
        }
    }
    made
}

/// Where files for validators are written; each is named after its program.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("cotangent-shaders-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, made: &Made, ending: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(format!("{}.{ending}", made.program.replace('/', "_")));
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

/// Runs a validator; what it has to say if it refuses, nothing if it accepts, `None` if it is not there.
fn validate(tool: &str, args: &[&str], files: &[PathBuf]) -> Option<Result<(), String>> {
    if files.is_empty() {
        return Some(Ok(()));
    }
    let output = Command::new(tool).args(args).args(files).output().ok()?;
    let said = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).to_string()).concat();
    Some(if output.status.success() { Ok(()) } else { Err(said) })
}

/// What the validators of this machine say.
struct Validators {
    missing: BTreeMap<String, ()>,
    seen: BTreeMap<String, usize>,
    wrong: String,
}

impl Validators {
    fn run(&mut self, tool: &str, args: &[&str], files: &[PathBuf]) {
        match validate(tool, args, files) {
            None => _ = self.missing.insert(tool.to_string(), ()),
            Some(result) => {
                *self.seen.entry(tool.to_string()).or_default() += files.len();
                if let Err(said) = result {
                    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).take(40).collect();
                    self.wrong += &format!("{tool} {}:\n{}\n", files[0].display(), lines.join("\n"));
                }
            }
        }
    }

    fn spirv(&mut self, folder: &Folder, made: &[&Made]) {
        for made in made {
            let Emitted::Words(code) = &made.emitted else { continue };
            let bytes: Vec<u8> = code.iter().flat_map(|w| w.to_le_bytes()).collect();
            let file = folder.write(made, "spv", &bytes);
            self.run("spirv-val", &["--target-env", "vulkan1.1"], &[file]);
            let text = cotangent::disassemble(code).expect("text");
            let file = folder.write(made, "spvasm", text.as_bytes());
            self.run("spirv-as", &["--target-env", "vulkan1.1", "-o", "/dev/null"], &[file]);
        }
    }

    /// All files in one process, but those that need Vulkan's words, which would be linked.
    fn glsl(&mut self, folder: &Folder, made: &[&Made]) {
        let (mut plain, mut vulkan) = (Vec::new(), Vec::new());
        for made in made {
            let Emitted::Text(text) = &made.emitted else { continue };
            let file = folder.write(made, "comp", text.as_bytes());
            let words = ["layout(push_constant", " set = ", "uniform texture"];
            let words = words.iter().any(|word| text.contains(word));
            if words {
                vulkan.push(file)
            } else {
                plain.push(file)
            };
        }
        self.run("glslangValidator", &[], &plain);
        for file in vulkan {
            self.run("glslangValidator", &["-V", "-o", "/dev/null"], &[file]);
        }
    }

    /// Standard WGSL has no 64-bit integers, and wants to know that all threads of a group come to a barrier.
    fn wgsl(&mut self, folder: &Folder, made: &[&Made]) {
        for made in made {
            let Emitted::Text(text) = &made.emitted else { continue };
            let wide = ["i64", "u64", "li)", "lu)", "li;", "lu;"].iter().any(|w| text.contains(w));
            if wide || (made.traps && text.contains("workgroupBarrier")) {
                continue;
            }
            let file = folder.write(made, "wgsl", text.as_bytes());
            self.run("tint", &["--format", "wgsl", "-o", "/dev/null"], &[file]);
        }
    }

    fn hlsl(&mut self, folder: &Folder, made: &[&Made]) {
        let Ok(library) = std::env::var("COTANGENT_DXC") else {
            self.missing.insert("the DirectX compiler (COTANGENT_DXC)".into(), ());
            return;
        };
        let text = |made: &&&Made| matches!(made.emitted, Emitted::Text(_));
        let write = |made: &&Made| {
            let Emitted::Text(text) = &made.emitted else { unreachable!("filtered") };
            folder.write(made, "hlsl", text.as_bytes())
        };
        let files: Vec<PathBuf> = made.iter().filter(text).map(write).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/dxc.py").display().to_string();
        self.run("python3", &[&script, &library], &files);
    }
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
    let (folder, mut all) =
        (Folder::new(), Validators { missing: BTreeMap::new(), seen: BTreeMap::new(), wrong: String::new() });
    for target in capabilities::TARGETS {
        let of: Vec<&Made> = made.iter().filter(|m| m.target == target).step_by(step).collect();
        assert!(of.len() > 50, "only {} programs for {}", of.len(), target.name());
        match target {
            Target::Wgsl => all.wgsl(&folder, &of),
            Target::SpirV => all.spirv(&folder, &of),
            Target::Glsl => all.glsl(&folder, &of),
            Target::Hlsl => all.hlsl(&folder, &of),
            Target::Metal | Target::Cuda | Target::Cpp => {}
        }
    }
    for tool in all.missing.keys() {
        eprintln!("skipped: there is no {tool}");
    }
    all.seen.iter().for_each(|(tool, n)| eprintln!("{tool}: {n} files"));
    assert!(all.wrong.is_empty(), "{}\nfiles are in {}", all.wrong, folder.0.display());
    let _ = std::fs::remove_dir_all(&folder.0);
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
