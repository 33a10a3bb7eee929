//! Programs: a file or a text, and what is appended to it.

use crate::CompileError;
use crate::kernel::Kernel;
use crate::losses;
use cotangent::gradcheck::{Finding, Options as Points, Outcome, gradcheck};
use cotangent::ir::layout::{Matrices, Target};
use cotangent::ir::{Dir, Mode, layout};
use cotangent::jit::Native;
use cotangent::sema::hir::{self, FuncKind};
use cotangent::{Answer, Disk, Emitted, KernelRoot, Loader, Options, Request, Roots, Session, Symbol};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The texts of files that a program consists of, as they were when they were first read. So a program stays what it is while its
/// files change.
type Texts = Arc<Mutex<HashMap<String, Option<String>>>>;

/// Files on disk, of which one is another or goes on.
struct Overlay {
    disk: Disk,
    read: Texts,
    main: String,
    source: Option<String>,
    addition: String,
}

impl Loader for Overlay {
    fn load(&self, path: &str) -> Option<String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &self.source {
            Some(source) if path == self.main => source.clone(),
            _ => read.entry(path.to_string()).or_insert_with(|| self.disk.load(path)).clone()?,
        };
        if path == self.main { Some(text + "\n" + &self.addition) } else { Some(text) }
    }

    fn resolve(&self, from: &str, name: &str) -> Option<String> {
        self.disk.resolve(from, name)
    }

    fn identity(&self, path: &str) -> String {
        if path == self.main { path.to_string() } else { self.disk.identity(path) }
    }

    fn why_not(&self, path: &str) -> String {
        self.disk.why_not(path)
    }

    fn places(&self, from: &str, name: &str) -> Vec<String> {
        self.disk.places(from, name)
    }
}

/// A program, which is compiled again for each of its kernels.
#[pyclass(frozen, module = "cotangent._native")]
pub struct Program {
    path: String,
    source: Option<String>,
    defines: Vec<(String, String)>,
    include: Vec<PathBuf>,
    read: Texts,
    native: Native,
}

impl Program {
    fn ask(&self, addition: &str, options: Options) -> cotangent::Program {
        let (main, source) = (self.path.clone(), self.source.clone());
        let disk = Disk::new(self.include.clone());
        let (read, addition) = (self.read.clone(), addition.to_string());
        let session = Session::new(Overlay { disk, read, main, source, addition });
        let request = Request { defines: self.defines.clone(), options, ..Request::new(self.path.clone()) };
        session.program(&request)
    }
}

/// The answer, or the errors as an exception.
fn accept<T>(answer: Answer<T>) -> PyResult<T> {
    let complaints = answer.complaints();
    answer.result.map_err(|stop| match complaints.is_empty() {
        true => CompileError::new_err(stop.to_string()),
        false => CompileError::new_err(complaints),
    })
}

fn direction(dir: Dir) -> &'static str {
    match dir {
        Dir::In => "in",
        Dir::Out => "out",
        Dir::InOut => "inout",
    }
}

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (path, source, defines, include))]
    fn new(
        path: String,
        source: Option<String>,
        defines: Vec<(String, String)>,
        include: Vec<PathBuf>,
    ) -> Self {
        Program { path, source, defines, include, read: Texts::default(), native: Native::default() }
    }

    /// Checks the program. Gives its warnings.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let answer = self.ask("", Options::default()).check();
            let warnings = answer.complaints();
            accept(answer).map(|()| warnings)
        })
    }

    /// The names of the functions, then of the entry points: whether the launch says how many threads a group has
    /// (`[CudaKernel]`), whether derivatives have names (`[AutoPyBindCUDA]`), and whether it is differentiable.
    #[allow(clippy::type_complexity)]
    fn names(&self) -> PyResult<(Vec<String>, Vec<(String, bool, bool, bool)>)> {
        let program = self.ask("", Options::default());
        accept(program.check())?;
        let (mut functions, mut entries) = (vec![], vec![]);
        let Some(checked) = program.checked() else { return Ok((functions, entries)) };
        for id in &checked.program.user_funcs {
            let func = &checked.program.funcs[*id];
            let name = func.name.to_string();
            match func.entry {
                Some(entry) => {
                    entries.push((name, entry.launched, entry.bound, func.diff.is_differentiable()));
                }
                None if is_plain(func) && !functions.contains(&name) => functions.push(name),
                None => {}
            }
        }
        Ok((functions, entries))
    }

    /// The structures of the user that are not generic, with the names of their fields.
    fn structures(&self) -> PyResult<Vec<(String, Vec<String>)>> {
        let program = self.ask("", Options::default());
        accept(program.check())?;
        let Some(checked) = program.checked() else { return Ok(vec![]) };
        let sources = program.sources();
        let is_own = |s: &hir::Struct| {
            let library = s.span.is_none() || sources.is_library(s.span.file);
            !library && s.generics.params.is_empty() && s.magic.is_none() && s.differential_of.is_none()
        };
        let own = checked.program.structs.values().filter(|s| is_own(s));
        let fields = |s: &hir::Struct| s.fields.iter().map(|field| field.name.to_string()).collect();
        Ok(own.map(|s| (s.name.to_string(), fields(s))).collect())
    }

    /// What a function takes and gives: `{"params": [{name, type, dir, diff, lost, resource}], "result": {type, diff}}`.
    fn signature<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let program = self.ask("", Options::default());
        accept(program.check())?;
        let Some(checked) = program.checked() else {
            return Err(PyValueError::new_err("the program was not checked"));
        };
        let funcs = &checked.program.funcs;
        let mut named = checked.program.user_funcs.iter().map(|id| &funcs[*id]).filter(|f| f.name == *name);
        let Some(func) = named.next() else {
            return Err(PyAttributeError::new_err(format!("{} has no function `{name}`", self.path)));
        };
        if named.next().is_some() {
            let why = format!("`{name}` is overloaded: give one of the functions a name of its own");
            return Err(PyValueError::new_err(why));
        }
        if !is_plain(func) {
            let why = format!("`{name}` is a method or generic: call it from a function that is neither");
            return Err(PyValueError::new_err(why));
        }
        let lowered = accept(program.lower(Roots::Function(Symbol::new(name))))?;
        let module = &lowered.module;
        let sig = &module.funcs[lowered.roots[0]].sig;
        let differentiable = func.diff.is_differentiable();
        let mut types = module.types.clone();
        let mut carries =
            |ty, diff: bool| differentiable && diff && module.diff.differential(&mut types, ty).is_some();
        let params: PyResult<Vec<_>> = func
            .params
            .iter()
            .map(|param| {
                let own = sig.params.iter().find(|other| other.name == param.name);
                let known = PyDict::new(py);
                known.set_item("name", param.name.to_string())?;
                known.set_item("type", checked.show(param.ty))?;
                known.set_item("dir", own.map_or("in", |own| direction(own.dir)))?;
                known.set_item("diff", own.is_some_and(|own| carries(own.ty, own.diff)))?;
                let lost = match own {
                    Some(own) if differentiable && !param.no_diff => {
                        losses::of(&checked.program, module, own.ty)
                    }
                    _ => vec![],
                };
                known.set_item("lost", lost)?;
                let resource = own.is_none_or(|own| layout::layout(&module.types, own.ty).is_none());
                known.set_item("resource", resource)?;
                Ok(known)
            })
            .collect();
        let all = PyDict::new(py);
        all.set_item("params", params?)?;
        match &sig.ret {
            Some(ret) => {
                let result = PyDict::new(py);
                result.set_item("type", checked.show(func.result))?;
                result.set_item("diff", carries(ret.ty, ret.diff))?;
                all.set_item("result", result)?;
            }
            None => all.set_item("result", py.None())?,
        }
        all.set_item("differentiable", differentiable)?;
        all.set_item("backward", is_backward(func))?;
        Ok(all)
    }

    /// Compiles an entry point of the program, or of what is appended to it; or its derivative, `"fwd"` or `"bwd"`, by these
    /// parameters (without a list, by all that carry derivatives).
    #[pyo3(signature = (entry, threads, addition, cuda, derivative=None, wrt=None))]
    #[allow(clippy::too_many_arguments)]
    fn kernel(
        &self,
        py: Python<'_>,
        entry: &str,
        threads: Option<[u32; 3]>,
        addition: &str,
        cuda: bool,
        derivative: Option<&str>,
        wrt: Option<Vec<String>>,
    ) -> PyResult<Kernel> {
        let entry = Symbol::new(entry);
        let roots = match derivative {
            None => Roots::Entries(vec![entry]),
            Some(mode) => Roots::Kernel(KernelRoot {
                wrt: wrt.map(|names| names.iter().map(|name| Symbol::new(name)).collect()),
                ..KernelRoot::new(entry, direction_of(mode)?)
            }),
        };
        py.detach(|| {
            let target = cuda.then_some(Target::Cuda);
            let options =
                Options { threads, target, runs: !cuda, matrices: Matrices::Rows, ..Options::default() };
            let program = self.ask(addition, options);
            let lowered = accept(program.compile(roots))?;
            let target = target.unwrap_or(Target::Cpp);
            Kernel::new(self.native.clone(), &self.path, target, lowered, program.sources())
        })
    }

    /// What the backward derivative of a function costs.
    fn report<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let program = self.ask("", Options::default());
        let report = accept(program.report(Symbol::new(name)))?;
        let kept: Vec<(String, String, u64, &str)> = report
            .kept
            .iter()
            .map(|kept| (kept.name.to_string(), kept.ty.clone(), kept.bytes, kept.why.text()))
            .collect();
        let repeated: Vec<String> = report.repeated.iter().map(|again| again.name.to_string()).collect();
        let all = PyDict::new(py);
        all.set_item("bytes", report.bytes)?;
        all.set_item("kept", kept)?;
        all.set_item("repeated", repeated)?;
        all.set_item("primal_instructions", report.primal_instructions)?;
        all.set_item("backward_instructions", report.backward_instructions)?;
        Ok(all)
    }

    /// Compares the derivatives of a function with differences: outcome, points, largest difference and a sentence.
    fn gradcheck(
        &self,
        py: Python<'_>,
        name: &str,
        at: &str,
        samples: u32,
        seed: u64,
    ) -> PyResult<(String, u32, f64, String)> {
        py.detach(|| {
            let program = self.ask("", Options::default());
            let (functions, at) = (vec![name.to_string()], at.to_string());
            let found =
                accept(gradcheck(&program, &Points { functions, at, samples, seed, ..Points::default() }))?;
            let finding = found.first();
            finding.map(judged).ok_or_else(|| PyValueError::new_err(format!("`{name}` has no derivative")))
        })
    }

    /// The program in another language: entry points and functions.
    #[pyo3(signature = (target, addition, entries, threads=None, derivative=None))]
    fn code(
        &self,
        py: Python<'_>,
        target: &str,
        addition: &str,
        entries: Vec<String>,
        threads: Option<[u32; 3]>,
        derivative: Option<&str>,
    ) -> PyResult<String> {
        let Some(target) = Target::named(target) else {
            let known = "cpp, cuda, glsl, hlsl, metal, spirv, wgsl";
            let why = format!("there is no target `{target}`: the targets are {known}");
            return Err(PyValueError::new_err(why));
        };
        let mode = derivative.map(direction_of).transpose()?;
        py.detach(|| {
            let options = Options { target: Some(target), threads, ..Options::default() };
            let program = self.ask(addition, options);
            let names: Vec<Symbol> = entries.iter().map(|name| Symbol::new(name)).collect();
            let roots = match (mode, &names[..]) {
                (_, []) => Roots::Module,
                (Some(mode), &[entry]) => Roots::Kernel(KernelRoot::new(entry, mode)),
                _ => Roots::Entries(names),
            };
            let lowered = accept(program.compile(roots))?;
            let sources = program.sources();
            let text = match target {
                Target::Cuda => cotangent::cuda(&lowered, &sources, &self.path, false),
                Target::Cpp => cotangent::cpp(&lowered, &sources, &self.path, false),
                Target::Wgsl | Target::SpirV | Target::Glsl | Target::Hlsl | Target::Metal => {
                    cotangent::shader(&lowered, target, None).and_then(|emitted| match emitted {
                        Emitted::Text(text) => Ok(text),
                        Emitted::Words(words) => cotangent::disassemble(&words),
                    })
                }
            };
            text.map_err(|refusal| {
                let style = cotangent::render::Style::Plain;
                CompileError::new_err(cotangent::render::render(&sources, &refusal, style))
            })
        })
    }
}

/// Whether a function can be called by its name alone.
fn is_plain(func: &hir::Func) -> bool {
    matches!(func.kind, FuncKind::Plain) && func.this.is_none() && func.generics.params.is_empty()
}

fn is_backward(func: &hir::Func) -> bool {
    let diff = &func.diff;
    diff.differentiable.is_some_and(|mode| matches!(mode, hir::DiffMode::Backward))
        || diff.backward.is_some()
        || diff.apply.is_some()
}

fn direction_of(mode: &str) -> PyResult<Mode> {
    match mode {
        "fwd" => Ok(Mode::Forward),
        "bwd" => Ok(Mode::Backward),
        _ => Err(PyValueError::new_err(format!("a derivative is `fwd` or `bwd`, not `{mode}`"))),
    }
}

fn judged(finding: &Finding) -> (String, u32, f64, String) {
    let (outcome, why) = match &finding.outcome {
        Outcome::Agrees => ("agrees", "derivatives and differences agree".to_string()),
        Outcome::Singular => ("singular", "there was no point at which to compare".to_string()),
        Outcome::Differs(worst) => ("differs", format!("{worst:?}")),
        Outcome::Skipped(why) => ("skipped", why.clone()),
    };
    (outcome.to_string(), finding.points, finding.error, why)
}
