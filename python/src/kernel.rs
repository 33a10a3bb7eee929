//! A compiled entry point.
#![allow(unsafe_code)]

use crate::layout::{self, Leaf, LeafKind};
use crate::{CompileError, Trap, interrupt};
use cotangent::ir::layout::{Matrices, Target, bind};
use cotangent::ir::shader::ShaderParam;
use cotangent::jit::{Foreign, Loaded, Monitor, Native};
use cotangent::render::{Style, render};
use cotangent::runtime::{Backend, Failure, Launch};
use cotangent::{Lowered, Refusal, Sources};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// An entry point for one device. `launch` runs it here; `cuda` is its text for others.
#[pyclass(frozen, module = "cotangent._native")]
pub struct Kernel {
    name: String,
    path: String,
    lowered: Arc<Lowered>,
    sources: Sources,
    bindings: bind::Bindings,
    /// Which of them are parameters of the program, and which of the entry point.
    leaves: [Vec<Leaf>; 2],
    entry: cotangent::ir::FuncId,
    native: Native,
    loaded: Loaded,
}

impl Kernel {
    /// The only entry point of a lowered program.
    pub fn new(
        native: Native,
        path: &str,
        target: Target,
        lowered: Arc<Lowered>,
        sources: Sources,
    ) -> PyResult<Kernel> {
        let types = &lowered.module.types;
        let bindings = bind::bind(types, &lowered.params, target, Matrices::Rows);
        let of = |declared: &[_], placed: &[_]| -> Vec<Leaf> {
            let pairs = declared.iter().zip(placed);
            pairs.flat_map(|(param, placed)| layout::leaves(types, param, placed)).collect()
        };
        let Some(&entry) = lowered.entries.first() else {
            return Err(PyValueError::new_err(format!("{path} has no entry point")));
        };
        let compiled = cotangent::compiled(&lowered);
        let own = match (lowered.params.entries.first(), bindings.entries.first()) {
            (Some((_, declared)), Some(placed)) => of(declared, &placed.params),
            _ => vec![],
        };
        let leaves = [of(&lowered.params.globals, &bindings.params), own];
        let loaded = native.load(&compiled).map_err(|failure| failed(&sources, &failure))?;
        let (name, path) = (lowered.module.funcs[entry].name.to_string(), path.to_string());
        Ok(Kernel { name, path, lowered, sources, bindings, leaves, entry, native, loaded })
    }

    /// The parameters of the entry point, and where they lie.
    fn own(&self) -> Option<(&[ShaderParam], &bind::EntryBindings)> {
        let (_, declared) = self.lowered.params.entries.first()?;
        Some((declared, self.bindings.entries.first()?))
    }
}

/// Why a launch was not possible.
fn failed(sources: &Sources, failure: &Failure) -> PyErr {
    match failure {
        Failure::Refused(diagnostic) => CompileError::new_err(render(sources, diagnostic, Style::Plain)),
        Failure::Usage(error) => PyValueError::new_err(error.0.clone()),
        Failure::Device(why) => Trap::new_err(why.clone()),
    }
}

/// The eight bytes of a number in a block.
fn word(block: &[u8], offset: usize) -> Option<usize> {
    let bytes = block.get(offset..offset + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?) as usize)
}

#[pymethods]
impl Kernel {
    /// Bytes and parameters of the program, then of the entry point.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn layout<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((u32, Bound<'py, PyList>), (u32, Bound<'py, PyList>))> {
        let (types, params) = (&self.lowered.module.types, &self.lowered.params);
        let size = |block: Option<bind::BlockPlace>| block.map_or(0, |block| block.size);
        let globals = layout::describe(py, types, &params.globals, &self.bindings.params)?;
        let own = match self.own() {
            Some((declared, placed)) => {
                (size(placed.block), layout::describe(py, types, declared, &placed.params)?)
            }
            None => (0, PyList::empty(py)),
        };
        Ok(((size(self.bindings.block), globals), own))
    }

    /// Threads of a group.
    #[getter]
    fn threads(&self) -> [u32; 3] {
        self.lowered.module.funcs[self.entry].entry.as_ref().map_or([1; 3], |entry| entry.threads)
    }

    /// The program as CUDA: its text, the name of the kernel, and whether the kernel takes a block of its own after that of the
    /// program. A host that defines `COTANGENT_TRAP` decides what happens when a thread stops.
    fn cuda(&self, py: Python<'_>) -> PyResult<(String, String, bool)> {
        let refused = |refusal: Refusal| CompileError::new_err(render(&self.sources, &refusal, Style::Plain));
        let text = py.detach(|| cotangent::cuda(&self.lowered, &self.sources, &self.path, false));
        let text = text.map_err(refused)?;
        let mut names = cotangent::entry_names(&self.lowered, Target::Cuda).map_err(refused)?;
        let name = names.remove(&self.entry).unwrap_or_else(|| self.name.clone());
        Ok((text, name, self.own().is_some_and(|(declared, _)| !declared.is_empty())))
    }

    /// What the parameters are called that hold derivatives, if this is the derivative of an entry point:
    /// `(parameter, its shadow, scalars of an element, whether it is a buffer, whether it is read, whether it is written)`.
    #[getter]
    fn shadows(&self) -> Vec<(String, String, u32, bool, bool, bool)> {
        let shadows = self.lowered.params.shadows.iter();
        shadows
            .map(|s| (s.of.to_string(), s.name.to_string(), s.scalars, s.is_buffer, s.read, s.written))
            .collect()
    }

    /// The buffers that the entry point writes although the host must not see it.
    #[getter]
    fn copies(&self) -> Vec<String> {
        self.lowered.params.copies.iter().map(ToString::to_string).collect()
    }

    /// The name of the entry point.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The path of the program.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// Where the buffers are that the entry point writes, in the block of the program and in that of the entry point: those that
    /// it writes by name, and all that it may write.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn writes(&self) -> [(Vec<usize>, Vec<usize>); 2] {
        let writes = cotangent::writes(&self.lowered, self.entry);
        self.leaves.each_ref().map(|leaves| {
            let of = |globals: &[cotangent::ir::Global]| {
                let own = leaves.iter().filter(|leaf| globals.contains(&leaf.global));
                own.map(|leaf| leaf.offset).collect()
            };
            (of(&writes.named), of(&writes.possible))
        })
    }

    /// Runs groups of threads on blocks of parameters. Gives what the program printed. The arrays whose addresses are in the
    /// blocks must be alive until it returns, and large enough for what the blocks say.
    fn launch(&self, py: Python<'_>, groups: [u32; 3], globals: &[u8], own: &[u8]) -> PyResult<String> {
        let (mut values, mut memory) = (vec![], vec![]);
        for (leaves, block) in self.leaves.iter().zip([globals, own]) {
            for leaf in leaves {
                let short = || PyValueError::new_err("the block of parameters is too short");
                match leaf.kind {
                    LeafKind::Value(size) => {
                        let bytes = block.get(leaf.offset..leaf.offset + size).ok_or_else(short)?;
                        values.push((leaf.global, bytes));
                    }
                    LeafKind::Buffer(stride) => {
                        let address = word(block, leaf.offset).ok_or_else(short)? as *mut u8;
                        let count = word(block, leaf.offset + 8).ok_or_else(short)?;
                        if count > 0 {
                            memory.push(Foreign { global: leaf.global, address, bytes: count * stride });
                        }
                    }
                    LeafKind::Other => {
                        let name = self.lowered.module.globals[leaf.global].name;
                        return Err(PyValueError::new_err(format!("`{name}` cannot be passed from Python")));
                    }
                }
            }
        }
        let memory = Addresses(memory);
        // Each launch has a monitor of its own: one that was interrupted ends all launches to come.
        let mut native = Native { monitor: Monitor::default(), ..self.native.clone() };
        if interrupt::is_fork() {
            // The threads that share the work did not come along.
            native.limits.cores = 1;
        }
        let _watched = interrupt::watch(&native.monitor);
        // A signal that came before this is noted, and one that comes later ends the launch.
        py.check_signals()?;
        // SAFETY: Python holds the arrays while this method runs, and made the blocks of their addresses.
        let launched = py.detach(|| unsafe {
            let Addresses(memory) = &memory;
            native.launch_on(&self.loaded, self.entry, groups, &values, memory, Launch::default())
        });
        let launched = launched.map_err(|failure| failed(&self.sources, &failure))?;
        match launched.ended {
            Ok(()) => Ok(launched.printed),
            Err(stopped) => {
                // In the main thread, Ctrl-C is the better reason.
                py.check_signals()?;
                Err(Trap::new_err(render(&self.sources, &stopped.diagnostic(), Style::Plain)))
            }
        }
    }

    fn __repr__(&self) -> String {
        format!("<kernel {} of {}>", self.name, self.path)
    }
}

/// Addresses that may be used while Python runs other threads.
struct Addresses(Vec<Foreign>);

// SAFETY: they are numbers until the launch, which happens in this very thread.
unsafe impl Send for Addresses {}
// SAFETY: as above.
unsafe impl Sync for Addresses {}
