//! The compiler as a library.
//!
//! From a file to WGSL, with the derivatives that the program takes:
//!
//! ```
//! use cotangent::{Compiler, Disk, Roots};
//!
//! let disk = Disk::default();
//! let mut compiler = Compiler::new(&disk, vec![]);
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
//! let compiled = compiler.compile("examples/quadratic.slang", Roots::Entries(vec![]));
//! let lowered = compiled.unwrap_or_else(|stop| panic!("{stop}\n{}", compiler.complaints()));
//! let text = cotangent::wgsl(&lowered).unwrap_or_else(|refusal| panic!("{}", refusal.message));
//! assert!(text.contains("@compute"));
//! ```
//!
//! A gradient, of a program that is not in a file:
//!
//! ```
//! use cotangent::gradient::{Evaluator, Functions};
//! use cotangent::{Compiler, Files, Roots, Symbol, interp, ir::Mode};
//!
//! let files = Files(&[("f.slang", "[Differentiable] float f(float a, float x) { return a * x * x; }")]);
//! let mut compiler = Compiler::new(&files, vec![]);
//! let roots = Roots::Derivatives { func: Symbol::new("f"), modes: vec![Mode::Backward] };
//! let lowered = compiler.compile("f.slang", roots)?;
//! let functions = Functions::of(&lowered, &[Mode::Backward]);
//! let mut f = Evaluator::new(&lowered.module, functions, interp::Options::default());
//! f.set_point("a=2, x=3")?;
//! let gradient = f.jacobian(Mode::Backward, &|_input| true).unwrap_or_else(|trap| panic!("{trap:?}"));
//! assert_eq!(gradient.entries, [[9.0, 12.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! | --- | --- |
//! | read, check and lower modules | [`Compiler`], with source text from a [`Loader`]: [`Disk`] or [`Files`] |
//! | emit them | [`wgsl`], [`shader`] for the other shader languages, [`cpp`], [`cuda`] |
//! | run an entry point over buffers | [`runtime::run`](runtime::run()), with [`runtime::Params`] |
//! | prepare one for a graphics processor | [`gpu`] |
//! | evaluate a function and its derivatives at a point | [`gradient`] |
//! | compare derivatives with differences | [`gradcheck`] |
//! | know where parameters are bound and how they lie in memory | [`reflect`] |
//! | show diagnostics | [`render`], or [`Compiler::complaints`] for all of them |
//! | see the passes, in order | [`pipeline`] |
//!
//! Apart from [`Disk`], which reads files, nothing here touches the environment: the caller brings texts in and carries results
//! out.

mod asked;
mod codes;
mod compiler;
mod costs;
mod disk;
mod given;
pub mod gpu;
pub mod gradcheck;
pub mod gradient;
mod library;
mod modules;
pub mod pipeline;
pub mod reflect;
pub mod render;
mod targets;

pub use codes::{all as all_codes, explain, is_about_names_asked_for, is_internal};
pub use compiler::{Compiler, Stop, Warnings};
pub use cotangent_autodiff::report;
pub use cotangent_base::{
    Code, Diagnostic, Diagnostics, Files, Loader, Scalar, Severity, Sources, Span, Symbol, visible,
};
pub use cotangent_interp as interp;
pub use cotangent_ir as ir;
pub use cotangent_lower::{ConformanceId, Lowered, Options, Roots};
pub use cotangent_runtime as runtime;
pub use cotangent_syntax::Limits;
pub use disk::Disk;
pub use given::Setting;
pub use targets::{Emitted, capabilities, cpp, cuda, disassemble, is_catching, shader, wgsl};
