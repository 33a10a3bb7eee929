//! A program of `tests/run`, compiled for a target, with the memory it starts from and the memory it must leave.
//!
//! What the host hands in is in C layout, for the interpreter; here it becomes an [`Image`]: blocks of bytes as the target lays
//! them out, with pointers from one to the other, so that whoever runs the program need only copy them.

#![allow(dead_code, reason = "each test uses a part of it")]

use super::lists::{list, write_list};
use super::run_header::RunHeader;
use super::{bless, folder, programs};
use cotangent::ir::layout::bind::{Bindings, Bound, bind};
use cotangent::ir::layout::{Matrices, Rules, Target};
use cotangent::ir::shader::{ShaderParam, Shape};
use cotangent::ir::texture::{Address, Compare, Filter, Opaque};
use cotangent::ir::{Global, Ty, Type, Types};
use cotangent::runtime::{Data, Failure, Launch, Number, Params, Runner};
use cotangent::{Disk, Lowered, Scalar, Symbol, interp};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program, ready to be built and compared.
pub struct Case {
    pub path: PathBuf,
    pub lowered: Arc<Lowered>,
    /// What the target is given.
    pub text: String,
    pub namespace: String,
    pub entry: String,
    pub groups: [u32; 3],
    pub threads: [u32; 3],
    pub before: Params,
    /// What the interpreter left, unless it trapped.
    pub after: Option<Params>,
    /// The code of the trap, if it trapped.
    pub trap: Option<&'static str>,
    /// What it printed.
    pub said: String,
}

/// Writes a program in the language of a target.
pub type Emit = fn(&Lowered, &cotangent::Sources, &str, bool) -> Result<String, Box<cotangent::Diagnostic>>;

/// A run test, or what refuses it.
fn prepare(path: &Path, emit: Emit) -> Result<Result<Case, String>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let asked = RunHeader::of(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    prepare_asked(path, &asked, emit)
}

/// These run tests, and what is wrong: what the language refuses is listed with what its users are told in
/// `tests/LANGUAGE.refused`, which `BLESS=1` rewrites if these are all.
pub fn prepare_all(paths: Vec<PathBuf>, emit: Emit, language: &str) -> (Vec<Case>, String) {
    let file = format!("{language}.refused");
    let (listed, mut refused) = (list(&file), BTreeMap::new());
    let (mut cases, mut wrong) = (Vec::new(), String::new());
    let root = folder("run");
    let all = paths.len() == programs(&root).len();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        match prepare(&path, emit) {
            Ok(Ok(case)) => {
                if listed.contains_key(&name) && !bless() {
                    wrong += &format!("{name} is listed in tests/{file}, and not refused\n");
                }
                cases.push(case);
            }
            Ok(Err(refusal)) => {
                if listed.get(&name) != Some(&refusal) && !bless() {
                    wrong += &format!("{name} is refused, and not as tests/{file} says: {refusal}\n");
                }
                refused.insert(name, refusal);
            }
            Err(error) => wrong += &format!("{error}\n"),
        }
    }
    if bless() && all {
        write_list(&file, &refused, "be written in the language", language);
    }
    (cases, wrong)
}

/// A program that is run as asked, or what refuses it.
pub fn prepare_asked(path: &Path, asked: &RunHeader, emit: Emit) -> Result<Result<Case, String>, String> {
    // One folder up is where the applications keep what they share.
    let disk = Disk::new(path.ancestors().nth(2).map(Path::to_path_buf).into_iter().collect());
    let program = asked.program(path, disk);
    let file = path.display().to_string();
    let lowered = program.compile(asked.roots()).result.map_err(|_| format!("{file} does not compile"))?;
    let params = || {
        let mut params = Params::new(&lowered.module);
        for (name, data) in &asked.set {
            // Of an application every entry point uses some of the parameters.
            if params.find(name).is_ok() || matches!(data, Data::Tensor(..)) {
                params.set(name, data).map_err(|e| e.to_string())?;
            }
        }
        Ok::<Params, String>(params)
    };
    let (before, after) = (params()?, params()?);
    let groups = asked.groups.unwrap_or([1; 3]);
    let failed = |why: Failure| why.to_string();
    let backend = Arc::new(interp::Interpreter::default());
    let mut runner = Runner::with_params(backend, cotangent::compiled(&lowered), after).map_err(failed)?;
    let launched = runner.launch_id(lowered.entries[0], groups, Launch::default()).map_err(failed)?;
    runner.download().map_err(failed)?;
    let (ran, said, after) = (launched.ended, launched.printed, runner.params);
    let text = match emit(&lowered, &program.sources(), &file, false) {
        Ok(text) => text,
        Err(refusal) => return Ok(Err(refusal.message.clone())),
    };
    let namespace = text.rsplit("// namespace ").next().unwrap_or_default().trim().to_string();
    let entry = &lowered.module.funcs[lowered.entries[0]];
    let threads = entry.entry.as_ref().map_or([1; 3], |e| e.threads);
    let trap = ran.err().map(|stopped| stopped.diagnostic().code.name);
    let (entry, after) = (entry.name.to_string(), trap.is_none().then_some(after));
    let path = path.to_path_buf();
    Ok(Ok(Case { path, text, namespace, entry, groups, threads, before, after, trap, said, lowered }))
}

impl Case {
    /// What every program of the language begins with, and the program in its namespace.
    pub fn parts(&self) -> (&str, &str) {
        let start = format!("\nnamespace {} {{\n", self.namespace);
        self.text.split_at(self.text.find(&start).expect("a program has a namespace"))
    }
}

/// A scalar in memory.
#[derive(Clone, Copy)]
pub struct Leaf {
    pub offset: usize,
    pub scalar: Scalar,
}

/// A buffer that the program may write, with what it must leave.
pub struct Output {
    pub name: Symbol,
    pub expected: Vec<u8>,
    pub stride: usize,
    pub leaves: Vec<Leaf>,
}

/// A block of memory.
#[derive(Default)]
pub struct Blob {
    pub bytes: Vec<u8>,
    /// Where which other block's address is.
    pub pointers: Vec<(usize, usize)>,
    pub output: Option<Output>,
}

/// All memory of a program.
pub struct Image {
    pub blobs: Vec<Blob>,
    /// The block of the parameters.
    pub params: usize,
    /// The block of the entry point's own parameters.
    pub own: Option<usize>,
}

/// The memory of a program as the target lays it out.
pub fn image(case: &Case, target: Target) -> Image {
    let params = &case.lowered.params;
    let bindings: Bindings = bind(&case.lowered.module.types, params, target, Matrices::Rows);
    let mut make = Make { case, blobs: vec![] };
    let own = match (params.entries.first(), bindings.entries.first()) {
        (Some((_, list)), Some(entry)) if !list.is_empty() => {
            Some(make.block(list, &entry.params, entry.block.map_or(1, |b| b.size)))
        }
        _ => None,
    };
    let params = make.block(&params.globals, &bindings.params, bindings.block.map_or(1, |b| b.size));
    Image { blobs: make.blobs, params, own }
}

struct Make<'c> {
    case: &'c Case,
    blobs: Vec<Blob>,
}

impl Make<'_> {
    fn blob(&mut self, bytes: Vec<u8>) -> usize {
        self.blobs.push(Blob { bytes, ..Blob::default() });
        self.blobs.len() - 1
    }

    fn block(&mut self, params: &[ShaderParam], bound: &[Bound], size: u32) -> usize {
        let blob = self.blob(vec![0; size.max(1) as usize]);
        for (param, bound) in params.iter().zip(bound) {
            let mut leaves = param.leaves.iter().copied();
            self.place(bound, blob, 0, &mut leaves);
        }
        blob
    }

    fn place(&mut self, bound: &Bound, blob: usize, shift: u32, leaves: &mut dyn Iterator<Item = Global>) {
        let at = (bound.data.map_or(0, |d| d.offset) + shift) as usize;
        match &bound.shape {
            Shape::Value(ty) | Shape::Packed(ty, _) => {
                let Some((_, bytes)) = self.bytes(leaves.next()) else { return };
                let bytes = self.lay_out(*ty, &bytes, bound.rules, 1);
                self.blobs[blob].bytes[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            Shape::Resource(ty) | Shape::Counter(ty) => {
                let Some(global) = leaves.next() else { return };
                let Some((name, bytes)) = self.bytes(Some(global)) else { return };
                let types = &self.case.lowered.module.types;
                let elem = match types.get(*ty) {
                    Type::Buffer(elem, _) => elem,
                    Type::Opaque(opaque) => {
                        let made = self.opaque(opaque, global, name, bytes);
                        self.blobs[blob].pointers.push((at, made));
                        return;
                    }
                    _ => return,
                };
                let size = Rules::C.stride(types, elem).unwrap_or(1).max(1) as usize;
                let count = bytes.len() / size;
                let data = self.blob(self.lay_out(elem, &bytes, bound.rules, count));
                self.blobs[data].output = self.output(name, elem, bound.rules, count);
                self.blobs[blob].pointers.push((at, data));
                self.blobs[blob].bytes[at + 8..at + 16].copy_from_slice(&(count as u64).to_le_bytes());
            }
            Shape::Struct(_) => bound.parts.iter().for_each(|part| self.place(part, blob, shift, leaves)),
            Shape::Array(_, n) => {
                let stride = bound.data.map_or(0, |d| d.size) / n.max(&1);
                for i in 0..*n {
                    bound.parts.iter().for_each(|part| self.place(part, blob, shift + i * stride, leaves));
                }
            }
            Shape::Block(..) => {
                let inner = self.blob(vec![0; bound.block.map_or(1, |b| b.size) as usize]);
                self.blobs[blob].pointers.push((at, inner));
                bound.parts.iter().for_each(|part| self.place(part, inner, 0, leaves));
            }
        }
    }

    /// A `ct::Texture` or `ct::Sampler`.
    fn opaque(&mut self, opaque: Opaque, global: Global, name: Symbol, texels: Vec<u8>) -> usize {
        let Opaque::Texture(texture) = opaque else {
            let state = self.case.before.sampler(global);
            let filters = [state.mag, state.min, state.mip].map(|filter| (filter == Filter::Linear).into());
            let address = state.address.map(|one| number(&Address::ALL, one));
            let compare = number(&Compare::ALL, state.compare);
            return self.blob(filters.into_iter().chain(address).chain([compare]).collect());
        };
        let extent = self.case.before.extent(global);
        let [x, y, z] = extent.size;
        let numbers = [0, 0, x, y, z, extent.layers, extent.levels, 0];
        let made = self.blob(numbers.iter().flat_map(|n| n.to_le_bytes()).collect());
        let data = self.blob(texels);
        let after = self.case.after.as_ref();
        let written = after.filter(|after| after.writable().contains(&name));
        let scalar = texture.scalar;
        self.blobs[data].output = written.and_then(|after| {
            let (.., bytes) = after.iter().find(|(n, ..)| *n == name)?;
            let (expected, stride) = (bytes.to_vec(), scalar.bytes() as usize);
            Some(Output { name, expected, stride, leaves: vec![Leaf { offset: 0, scalar }] })
        });
        self.blobs[made].pointers.push((0, data));
        made
    }

    fn bytes(&self, global: Option<Global>) -> Option<(Symbol, Vec<u8>)> {
        let found = self.case.before.iter().find(|(_, g, ..)| Some(*g) == global)?;
        Some((found.0, found.3.to_vec()))
    }

    /// So many values of a type, from C layout to the target's.
    fn lay_out(&self, ty: Ty, bytes: &[u8], rules: Rules, count: usize) -> Vec<u8> {
        let types = &self.case.lowered.module.types;
        let [from, to] = [Rules::C, rules].map(|r| r.stride(types, ty).unwrap_or(0) as usize);
        let pairs: Vec<(Leaf, Leaf)> =
            leaves(types, ty, Rules::C).into_iter().zip(leaves(types, ty, rules)).collect();
        let mut out = vec![0; to * count];
        for i in 0..count {
            for (a, b) in &pairs {
                let (a_at, b_at, size) = (i * from + a.offset, i * to + b.offset, a.scalar.bytes() as usize);
                if let Some(part) = bytes.get(a_at..a_at + size) {
                    out[b_at..b_at + size].copy_from_slice(part);
                }
            }
        }
        out
    }

    fn output(&self, name: Symbol, elem: Ty, rules: Rules, count: usize) -> Option<Output> {
        let after = self.case.after.as_ref()?;
        let types = &self.case.lowered.module.types;
        let (.., bytes) = after.iter().find(|(n, ..)| *n == name && after.writable().contains(n))?;
        let expected = self.lay_out(elem, bytes, rules, count);
        let stride = rules.stride(types, elem).unwrap_or(1).max(1) as usize;
        Some(Output { name, expected, stride, leaves: leaves(types, elem, rules) })
    }
}

/// The number of one of several.
fn number<T: PartialEq>(all: &[(&str, T)], one: T) -> u8 {
    all.iter().position(|(_, t)| *t == one).unwrap_or(0) as u8
}

/// The scalars of a type. What is one of several is words.
fn leaves(types: &Types, ty: Ty, rules: Rules) -> Vec<Leaf> {
    match types.get(ty) {
        Type::Scalar(scalar) => vec![Leaf { offset: 0, scalar }],
        Type::Sum(_) => {
            let size = rules.layout(types, ty).map_or(0, |l| l.size as usize);
            (0..size / 4).map(|word| Leaf { offset: 4 * word, scalar: Scalar::U32 }).collect()
        }
        _ => {
            let count = types.arity(ty).unwrap_or(0);
            let parts = (0..count).filter_map(|i| rules.part(types, ty, i));
            let inner = parts.flat_map(|(at, part)| {
                let at = at as usize;
                leaves(types, part, rules).into_iter().map(move |l| Leaf { offset: at + l.offset, ..l })
            });
            inner.collect()
        }
    }
}

impl Output {
    /// Compares what a program left with what it should have.
    pub fn compare(&self, found: &[u8]) -> Result<(), String> {
        for start in (0..self.expected.len()).step_by(self.stride) {
            for leaf in &self.leaves {
                let at = start + leaf.offset;
                let [a, b] = [&self.expected[..], found].map(|bytes| Number::read(leaf.scalar, &bytes[at..]));
                if !close(a, b, leaf.scalar) {
                    return Err(format!(
                        "{}[{}] at byte {}: {a:?} on the interpreter, {b:?} found",
                        self.name,
                        start / self.stride,
                        leaf.offset
                    ));
                }
            }
        }
        Ok(())
    }
}

/// How far apart two floats of a type may be: relative to the first, and absolute.
pub fn tolerance(scalar: Scalar) -> (f64, f64) {
    if scalar == Scalar::F16 { (2e-3, 1e-3) } else { (2e-5, 2e-6) }
}

fn close(a: Number, b: Number, scalar: Scalar) -> bool {
    let (x, y) = (a.as_f64(), b.as_f64());
    if !scalar.is_float() {
        return a == b;
    }
    let (relative, absolute) = tolerance(scalar);
    x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= absolute + relative * x.abs()
}
