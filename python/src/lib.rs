//! The native half of the Python package.
//!
//! [`program`] compiles: a program is a file or a text, to which the Python half appends entry points of its own. [`kernel`] is one
//! compiled entry point, which runs on addresses that Python gives; [`interrupt`] ends it when the user presses Ctrl-C. [`layout`]
//! says where in the blocks of parameters everything lies, [`losses`] which
//! parts of a parameter have floats without a derivative. How arrays become parameters, and what derivatives are made of, is written in Python, in `cotangent/`.
//!
//! Both kinds of device take the same two blocks of parameters: those of the program and those of the entry point, in C layout, a
//! buffer as its address and its number of elements. A kernel for CUDA takes them as they are; here they are taken apart.

mod interrupt;
mod kernel;
mod layout;
mod losses;
mod program;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

pyo3::create_exception!(
    cotangent,
    CompileError,
    PyRuntimeError,
    "A program has errors. The text shows each with its place."
);
pyo3::create_exception!(
    cotangent,
    Trap,
    PyRuntimeError,
    "A program stopped before its end. The text says where and why."
);

/// To be called in a process that was forked: there, programs run on one core, and Ctrl-C waits for the end of a launch.
#[pyfunction]
fn after_fork() {
    interrupt::after_fork();
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<program::Program>()?;
    module.add_class::<kernel::Kernel>()?;
    module.add_function(wrap_pyfunction!(after_fork, module)?)?;
    module.add("CompileError", module.py().get_type::<CompileError>())?;
    module.add("Trap", module.py().get_type::<Trap>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
