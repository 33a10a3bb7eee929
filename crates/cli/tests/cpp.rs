//! Programs in `tests/run`, emitted as C++, built by the compiler of this machine and compared with the interpreter.
//!
//! All programs of a run are one translation unit, each in a namespace of its own: that takes seconds where a compiler process for
//! each takes minutes. By default every sixth program is taken; with `COTANGENT_CONFORM` set (`cargo xtask conform`) all are.
//! `CXX` names the compiler; where there is none, the test says so.

mod support;

use cotangent::ir::layout::bind::{Bindings, Bound, bind};
use cotangent::ir::layout::{Matrices, Target};
use cotangent::ir::shader::{ShaderParam, Shape};
use cotangent::ir::{Global, Type};
use cotangent::runtime::{Data, Number, Params, path, run};
use cotangent::{Compiler, ConformanceId, Disk, Lowered, Roots, Scalar, Symbol, interp};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{folder, header, programs, words};

/// What the header of a program asks for.
#[derive(Default)]
struct Asked {
    set: Vec<(String, Data)>,
    groups: Option<[u32; 3]>,
    entry: Option<String>,
    defines: Vec<(String, String)>,
    conformances: Vec<ConformanceId>,
}

/// Reads a `//run:` line; `None` if it asks for something that only the command line does.
fn asked(line: &str) -> Option<Asked> {
    let mut asked = Asked::default();
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--set" => {
                let (name, value) = value.split_once('=')?;
                asked.set.push((name.trim().to_string(), Data::parse(value).ok()?));
            }
            "--groups" => {
                let mut numbers = value.split(',').map(|n| n.trim().parse().ok());
                let mut next = || numbers.next().unwrap_or(Some(1));
                asked.groups = Some([next()?, next()?, next()?]);
            }
            "--entry" => asked.entry = Some(value),
            "--print" => {}
            "--conformance" => asked.conformances.push(ConformanceId::parse(&value)?),
            "-D" => {
                let (name, value) = value.split_once('=').unwrap_or((&value, "1"));
                asked.defines.push((name.to_string(), value.to_string()));
            }
            _ => return None,
        }
    }
    Some(asked)
}

/// A program, ready to be built and compared.
struct Case {
    path: PathBuf,
    lowered: Lowered,
    text: String,
    namespace: String,
    entry: String,
    groups: [u32; 3],
    before: Params,
    /// What the interpreter left, unless it trapped.
    after: Option<Params>,
}

fn prepare(path: &Path) -> Result<Option<Case>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let Some(asked) = header(&text, "run").first().and_then(|line| asked(line)) else { return Ok(None) };
    let disk = Disk::default();
    let mut compiler = Compiler::new(&disk, asked.defines.clone());
    compiler.options.conformances = asked.conformances.clone();
    let roots = Roots::Entries(asked.entry.iter().map(|name| Symbol::new(name)).collect());
    let file = path.display().to_string();
    let lowered = compiler.compile(&file, roots).map_err(|_| format!("{file} does not compile"))?;
    let params = || {
        let mut params = Params::new(&lowered.module);
        asked.set.iter().try_for_each(|(name, data)| params.set(name, data)).map_err(|e| e.to_string())?;
        Ok::<Params, String>(params)
    };
    let (before, mut after) = (params()?, params()?);
    let groups = asked.groups.unwrap_or([1; 3]);
    let options = interp::Options::default();
    let ran = run(&lowered.module, lowered.entries[0], groups, &mut after, options, &mut String::new());
    let cpp = match cotangent::cpp(&lowered, &compiler.sources, &file, false) {
        Ok(cpp) => cpp,
        Err(refusal) if refusal.code.name == "E0763" => return Ok(None),
        Err(refusal) => return Err(format!("{file}: {}", refusal.message)),
    };
    let namespace = cpp.rsplit("// namespace ").next().unwrap_or_default().trim().to_string();
    let entry = lowered.module.funcs[lowered.entries[0]].name.to_string();
    let after = ran.is_ok().then_some(after);
    Ok(Some(Case { path: path.to_path_buf(), text: cpp, namespace, entry, groups, before, after, lowered }))
}

/// Writes the function that fills in parameters, runs a program and prints what it wrote.
struct Harness<'c> {
    case: &'c Case,
    out: String,
    blobs: usize,
    /// The variable that holds each parameter's bytes.
    names: HashMap<Symbol, (String, usize)>,
}

impl Harness<'_> {
    fn blob(&mut self, bytes: &[u8]) -> String {
        self.blobs += 1;
        let name = format!("b{}", self.blobs);
        let list: Vec<String> = bytes.iter().map(|b| b.to_string()).collect();
        let size = bytes.len().max(1);
        if bytes.iter().all(|b| *b == 0) {
            _ = writeln!(self.out, "  alignas(16) static unsigned char {name}[{size}];");
        } else {
            _ = writeln!(
                self.out,
                "  alignas(16) static unsigned char {name}[{size}] = {{{}}};",
                list.join(",")
            );
        }
        name
    }

    fn params(&mut self, params: &[ShaderParam], bound: &[Bound], base: &str) {
        for (param, bound) in params.iter().zip(bound) {
            let mut leaves = param.leaves.iter().copied();
            self.place(bound, base, 0, &mut leaves);
        }
    }

    fn place(&mut self, bound: &Bound, base: &str, shift: u32, leaves: &mut dyn Iterator<Item = Global>) {
        let offset = bound.data.map_or(0, |d| d.offset) + shift;
        match &bound.shape {
            Shape::Value(_) | Shape::Packed(..) => {
                let Some(bytes) = self.bytes(leaves.next()).map(|(_, bytes)| bytes) else { return };
                let (blob, size) = (self.blob(&bytes), bytes.len());
                _ = writeln!(self.out, "  std::memcpy({base} + {offset}, {blob}, {size});");
            }
            Shape::Resource(ty) => {
                let Some((name, bytes)) = self.bytes(leaves.next()) else { return };
                let types = &self.case.lowered.module.types;
                let Type::Buffer(elem, _) = types.get(*ty) else { return };
                let stride = bound.rules.stride(types, elem).unwrap_or(1).max(1) as usize;
                let blob = self.blob(&bytes);
                let count = bytes.len() / stride;
                _ = writeln!(self.out, "  place_buffer({base} + {offset}, {blob}, {count});");
                self.names.insert(name, (blob, bytes.len()));
            }
            Shape::Struct(_) => bound.parts.iter().for_each(|part| self.place(part, base, shift, leaves)),
            Shape::Array(_, n) => {
                let stride = bound.data.map_or(0, |d| d.size) / n.max(&1);
                for i in 0..*n {
                    bound.parts.iter().for_each(|part| self.place(part, base, shift + i * stride, leaves));
                }
            }
            Shape::Block(..) => {
                let size = bound.block.map_or(1, |b| b.size);
                let blob = self.blob(&vec![0; size as usize]);
                _ = writeln!(self.out, "  place_pointer({base} + {offset}, {blob});");
                bound.parts.iter().for_each(|part| self.place(part, &blob, 0, leaves));
            }
        }
    }

    fn bytes(&self, global: Option<Global>) -> Option<(Symbol, Vec<u8>)> {
        let found = self.case.before.iter().find(|(_, g, ..)| Some(*g) == global)?;
        Some((found.0, found.3.to_vec()))
    }

    fn function(mut self, number: usize) -> String {
        let case = self.case;
        let params = &case.lowered.params;
        let bindings: Bindings = bind(&case.lowered.module.types, params, Target::Cpp, Matrices::Rows);
        let size = bindings.block.map_or(1, |b| b.size).max(1);
        _ = writeln!(
            self.out,
            "static void run_{number}() {{\n  alignas(16) static unsigned char params[{size}];"
        );
        self.params(&params.globals, &bindings.params, "params");
        let scope = format!("p{number}::{}", case.namespace);
        let mut own = String::new();
        if let (Some((name, list)), Some(entry)) = (params.entries.first(), bindings.entries.first())
            && !list.is_empty()
        {
            let size = entry.block.map_or(1, |b| b.size).max(1);
            _ = writeln!(self.out, "  alignas(16) static unsigned char own[{size}];");
            self.params(list, &entry.params, "own");
            own = format!("*reinterpret_cast<{scope}::{name}_Params*>(own), ");
        }
        let [x, y, z] = case.groups;
        let call = format!(
            "{scope}::{}(*reinterpret_cast<{scope}::Params*>(params), {own}ct::Groups{{{{0, 0, 0}}, {{{x}, {y}, {z}}}}})",
            case.entry
        );
        _ = writeln!(
            self.out,
            "  try {{ {call}; }} catch (Trapped&) {{ std::puts(\"{number} trap\"); return; }}"
        );
        for name in case.before.writable() {
            if let Some((blob, size)) = self.names.get(&name) {
                _ = writeln!(self.out, "  show({number}, \"{name}\", {blob}, {size});");
            }
        }
        self.out + "}\n"
    }
}

const HEAD: &str = r#"#include <cstdio>
struct Trapped {};
#define COTANGENT_TRAP(what) throw Trapped()
"#;
const HELPERS: &str = r#"
static void place_buffer(unsigned char* at, unsigned char* data, std::size_t count) {
  std::memcpy(at, &data, 8); std::memcpy(at + 8, &count, 8);
}
static void place_pointer(unsigned char* at, unsigned char* data) { std::memcpy(at, &data, 8); }
static void show(int number, const char* name, const unsigned char* bytes, int size) {
  std::printf("%d %s ", number, name);
  for (int i = 0; i < size; i++) std::printf("%02x", bytes[i]);
  std::puts("");
}
"#;

/// The whole translation unit.
fn unit(cases: &[Case]) -> String {
    let mut out = format!("{HEAD}{}{HELPERS}", include_str!("../../emit-c/src/prelude.h"));
    for (number, case) in cases.iter().enumerate() {
        _ = writeln!(out, "namespace p{number} {{\n{}\n}}", case.text);
        let harness = Harness { case, out: String::new(), blobs: 0, names: HashMap::new() };
        out += &harness.function(number);
    }
    out += "int main() {\n";
    (0..cases.len()).for_each(|number| _ = writeln!(out, "  run_{number}(); std::puts(\"{number} end\");"));
    out + "}\n"
}

fn compare(case: &Case, number: usize, said: &str) -> Result<(), String> {
    let lines: Vec<&str> =
        said.lines().filter(|l| l.split(' ').next() == Some(&number.to_string())).collect();
    if lines.last() != Some(&format!("{number} end").as_str()) {
        return Err("the C++ program did not come to its end".into());
    }
    let Some(after) = &case.after else {
        let trapped = lines == [format!("{number} trap"), format!("{number} end")];
        return if trapped { Ok(()) } else { Err("the interpreter traps, C++ does not".into()) };
    };
    for (name, _, ty, expected) in after.iter().filter(|(name, ..)| case.before.writable().contains(name)) {
        let Some(hex) = lines.iter().find_map(|l| l.strip_prefix(&format!("{number} {name} "))) else {
            // A parameter that the program does not use.
            if lines.contains(&format!("{number} trap").as_str()) {
                return Err("C++ traps, the interpreter does not".into());
            }
            continue;
        };
        let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        let found: Vec<u8> = (0..hex.len() / 2).map(byte).collect();
        let types = &case.lowered.module.types;
        let Type::Buffer(elem, _) = types.get(ty) else { continue };
        let stride = cotangent::ir::layout::layout(types, elem).map_or(1, |l| l.size as usize).max(1);
        for leaf in path::leaves(types, elem) {
            for start in (0..expected.len()).step_by(stride) {
                let at = start + leaf.offset;
                let [a, b] = [expected, &found[..]].map(|bytes| Number::read(leaf.scalar, &bytes[at..]));
                if !close(a, b, leaf.scalar) {
                    return Err(format!(
                        "{name}[{}]{}: {a:?} on the interpreter, {b:?} in C++",
                        start / stride,
                        leaf.path
                    ));
                }
            }
        }
    }
    Ok(())
}

fn close(a: Number, b: Number, scalar: Scalar) -> bool {
    let (x, y) = (a.as_f64(), b.as_f64());
    if !scalar.is_float() {
        return a == b;
    }
    let (relative, absolute) = if scalar == Scalar::F16 { (2e-3, 1e-3) } else { (2e-5, 2e-6) };
    x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= absolute + relative * x.abs()
}

#[test]
fn cpp_computes_what_the_interpreter_does() {
    let compiler = std::env::var("CXX").unwrap_or("g++".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        eprintln!("skipped: there is no C++ compiler `{compiler}`");
        return;
    }
    let all = std::env::var("COTANGENT_CONFORM").is_ok();
    let step = if all { 1 } else { 6 };
    let mut cases = Vec::new();
    let mut wrong = String::new();
    for path in programs(&folder("run")).into_iter().step_by(step) {
        match prepare(&path) {
            Ok(case) => cases.extend(case),
            Err(error) => wrong += &format!("{error}\n"),
        }
    }
    let folder = std::env::temp_dir().join(format!("cotangent-cpp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (batch, cases) in cases.chunks(60).enumerate() {
        let (source, program) = (folder.join(format!("{batch}.cpp")), folder.join(format!("{batch}.out")));
        std::fs::write(&source, unit(cases)).unwrap();
        let optimize = if all { "-O2" } else { "-O1" };
        let built = Command::new(&compiler)
            .args(["-std=c++17", optimize, "-w", "-o"])
            .args([&program, &source])
            .output()
            .expect("the compiler starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(&program).output().expect("the program starts");
        let said = String::from_utf8_lossy(&ran.stdout);
        for (number, case) in cases.iter().enumerate() {
            if let Err(error) = compare(case, number, &said) {
                wrong += &format!("{}: {error}\n", case.path.display());
            }
        }
    }
    eprintln!("{} programs compared", cases.len());
    assert!(cases.len() > 15, "only {} programs were compared", cases.len());
    assert!(wrong.is_empty(), "{wrong}\nsources are in {}", folder.display());
    let _ = std::fs::remove_dir_all(&folder);
}
