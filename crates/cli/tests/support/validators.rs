//! The validators of shaders that are installed on this machine.

use super::folder::Folder;
use cotangent::ir::Stage;
use cotangent::ir::layout::Target;
use cotangent::{Diagnostic, Emitted, capabilities};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program was made into.
pub struct Made {
    /// Its path.
    pub program: String,
    /// It stops on purpose, which validators may foresee.
    pub traps: bool,
    /// For which target.
    pub target: Target,
    /// The text or words.
    pub emitted: Emitted,
    /// The stage of its entry point.
    pub stage: Stage,
}

impl Made {
    /// Writes a file for a validator, named after the program.
    fn write(&self, folder: &Folder, ending: &str, bytes: &[u8]) -> PathBuf {
        folder.file(&format!("{}.{ending}", self.program.replace('/', "_")), bytes).into()
    }
}

/// Shows every n-th program to the installed validators, and all to `tint`; reports which validators are not installed.
pub fn validate(made: &[Made], step: usize) {
    let (folder, mut all) = (
        Folder::new("shaders"),
        Validators { missing: BTreeMap::new(), seen: BTreeMap::new(), wrong: String::new() },
    );
    for target in capabilities::SHADERS {
        let step = if target == Target::Wgsl { 1 } else { step };
        let of: Vec<&Made> = made.iter().filter(|m| m.target == target).step_by(step).collect();
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
    assert!(all.wrong.is_empty(), "{}\nfiles are in {}", all.wrong, folder.display());
}

/// The row of the guide's table of targets that a refusal names.
pub fn listed(refusal: &Diagnostic, target: Target) -> Option<&'static capabilities::Feature> {
    let mut lacking = capabilities::Feature::ALL.iter().filter(|f| !f.is_in(target));
    lacking.find(|f| refusal.notes.contains(&f.note()))
}

/// Runs a validator; what it has to say if it refuses, nothing if it accepts, `None` if it is not there.
fn accepted(tool: &str, args: &[&str], files: &[PathBuf]) -> Option<Result<(), String>> {
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
        match accepted(tool, args, files) {
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
            let file = made.write(folder, "spv", &bytes);
            self.run("spirv-val", &["--target-env", "vulkan1.1"], &[file]);
            let text = cotangent::disassemble(code).expect("text");
            let file = made.write(folder, "spvasm", text.as_bytes());
            self.run("spirv-as", &["--target-env", "vulkan1.1", "-o", "/dev/null"], &[file]);
        }
    }

    /// Each file in a process of its own: several would be linked.
    fn glsl(&mut self, folder: &Folder, made: &[&Made]) {
        for made in made {
            let Emitted::Text(text) = &made.emitted else { continue };
            let ending = match made.stage {
                Stage::Compute => "comp",
                Stage::Vertex => "vert",
                Stage::Fragment => "frag",
            };
            let file = made.write(folder, ending, text.as_bytes());
            self.run("glslangValidator", &["-V", "--target-env", "vulkan1.1", "-o", "/dev/null"], &[file]);
        }
    }

    /// Standard WGSL has no 64-bit integers, no arrays of resources and not all built-in values that wgpu has, and wants to know
    /// that all threads of a group come to a barrier.
    fn wgsl(&mut self, folder: &Folder, made: &[&Made]) {
        for made in made {
            let Emitted::Text(text) = &made.emitted else { continue };
            let wide = ["i64", "u64", "li)", "lu)", "li;", "lu;"].iter().any(|w| text.contains(w));
            let own = ["view_index", "draw_index", "(barycentric)", "binding_array"]
                .iter()
                .any(|word| text.contains(word));
            if wide || own || (made.traps && text.contains("workgroupBarrier")) {
                continue;
            }
            let file = made.write(folder, "wgsl", text.as_bytes());
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
            made.write(folder, "hlsl", text.as_bytes())
        };
        let files: Vec<PathBuf> = made.iter().filter(text).map(write).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/dxc.py").display().to_string();
        self.run("python3", &[&script, &library], &files);
    }
}
