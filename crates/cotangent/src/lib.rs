//! The compiler as a library.
//!
//! From a file to WGSL, with the derivatives that the program takes:
//!
//! ```
//! use cotangent::{Disk, Request, Roots, Session};
//!
//! let session = Session::new(Disk::default());
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
//! let program = session.program(&Request::new("examples/quadratic.slang"));
//! let lowered = program.compile(Roots::Entries(vec![])).accept()?;
//! let text = cotangent::wgsl(&lowered).unwrap_or_else(|refusal| panic!("{}", refusal.message));
//! assert!(text.contains("@compute"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The session keeps every stage that it computes. The same question again costs nothing, and another question about the
//! program goes on from where they part:
//!
//! ```
//! use cotangent::{Request, Roots, Session, Symbol, Texts};
//!
//! let texts = Texts::new([("f.slang", "[Differentiable] float f(float x) { return x * x; }")]);
//! let session = Session::new(texts.clone());
//! let request = Request::new("f.slang");
//! session.program(&request).compile(Roots::Module).accept()?;
//! let before = session.counts();
//! session.program(&request).compile(Roots::Module).accept()?;
//! assert_eq!(session.counts(), before);
//! session.program(&request).report(Symbol::new("f")).accept()?;
//! assert_eq!(session.counts().checked, before.checked);
//! texts.set("f.slang", "[Differentiable] float f(float x) { return x; }");
//! assert_eq!(session.program(&request).report(Symbol::new("f")).accept()?.bytes, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A gradient, of a program that is not in a file:
//!
//! ```
//! use cotangent::gradient::{Evaluator, Functions};
//! use cotangent::{Request, Roots, Session, Symbol, Texts, interp, ir::Mode};
//!
//! let texts = Texts::new([("f.slang", "[Differentiable] float f(float a, float x) { return a * x * x; }")]);
//! let program = Session::new(texts).program(&Request::new("f.slang"));
//! let roots = Roots::Derivatives { func: Symbol::new("f"), modes: vec![Mode::Backward] };
//! let lowered = program.compile(roots).accept()?;
//! let functions = Functions::of(&lowered, &[Mode::Backward]);
//! let mut f = Evaluator::new(lowered.module.clone(), functions, interp::Options::default());
//! f.set_point("a=2, x=3")?;
//! let gradient = f.jacobian(Mode::Backward, &|_input| true).unwrap_or_else(|trap| panic!("{trap:?}"));
//! assert_eq!(gradient.entries, [[9.0, 12.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An entry point over buffers, launched several times. Buffers stay where the program runs:
//!
//! ```
//! use cotangent::jit::Native;
//! use cotangent::runtime::{Data, Launch, Runner};
//! use cotangent::{Request, Roots, Session, Texts};
//! use std::sync::Arc;
//!
//! let text = "RWStructuredBuffer<float> x; uniform float a;
//!     [numthreads(1, 1, 1)] void grow(uint3 id : SV_DispatchThreadID) { x[id.x] *= a; }";
//! let program = Session::new(Texts::new([("grow.slang", text)])).program(&Request::new("grow.slang"));
//! let lowered = program.compile(Roots::Entries(vec![])).accept()?;
//! let mut program = Runner::new(Arc::new(Native::default()), cotangent::compiled(&lowered))?;
//! program.params.set("x", &Data::parse("f32[1, 2, 3]")?)?;
//! program.params.set("a", &Data::parse("10")?)?;
//! for _ in 0..2 {
//!     let launched = program.launch("grow", [3, 1, 1], Launch::default())?;
//!     launched.ended.unwrap_or_else(|trap| panic!("{trap}"));
//! }
//! program.download()?;
//! assert_eq!(program.params.get("x")?.1, [100f32, 200.0, 300.0].map(f32::to_le_bytes).as_flattened());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! | --- | --- |
//! | read, check and compile programs | [`Session`], with source text from a [`Loader`]: [`Disk`] or [`Texts`] |
//! | emit them | [`wgsl`], [`shader`] for the other shader languages, [`cpp`], [`cuda`] |
//! | run entry points | [`runtime::Runner`], or a [`runtime::Backend`] itself: [`jit::Native`], [`interp::Interpreter`], `cotangent_gpu::Gpu`, `cotangent_cuda::Cuda` |
//! | hand a program to a back end | [`compiled`], and [`gpu::translate`] for graphics processors, [`cuda::translate`] for CUDA |
//! | evaluate a function and its derivatives | [`gradient::Function`] at plain numbers, one point or many; [`gradient::Evaluator`] at a point with names |
//! | compare derivatives with finite differences | [`gradcheck`] |
//! | find the bindings and layouts of parameters | [`reflect`] |
//! | find the parameters that an entry point writes | [`writes`] |
//! | show diagnostics | [`render`], or [`Answer::complaints`] for all of them |
//! | see the passes, in order | [`pipeline`] |
//!
//! Apart from [`Disk`], which reads files, nothing here touches the environment: the caller brings texts in and carries results
//! out.

mod codes;
mod costs;
pub mod cuda;
mod derivative;
mod disk;
mod function_names;
pub mod gpu;
pub mod gradcheck;
pub mod gradient;
pub mod kernel;
mod library;
mod modules;
pub mod pipeline;
pub mod reflect;
pub mod render;
pub mod session;
mod specialization;
mod targets;
mod texts;
mod writes;

pub use codes::{all as all_codes, explain, is_about_names_asked_for, is_internal};
pub use cotangent_autodiff::report;
pub use cotangent_base::{
    Code, Diagnostic, Diagnostics, Loader, Scalar, Severity, Sources, Span, Symbol, visible,
};
pub use cotangent_interp as interp;
pub use cotangent_ir as ir;
pub use cotangent_jit as jit;
pub use cotangent_lower::{ConformanceId, KernelRoot, Lowered, Options, Roots};
pub use cotangent_runtime as runtime;
pub use cotangent_sema as sema;
pub use cotangent_syntax::Limits;
pub use cotangent_syntax::ast::Version as Language;
pub use disk::Disk;
pub use session::{Answer, Program, Request, Session, Stop, Warnings};
pub use specialization::Setting;
pub use targets::{
    Emitted, Refusal, capabilities, cpp, cuda, disassemble, entry_names, is_catching, shader, wgsl,
};
pub use texts::Texts;
pub use writes::{Writes, writes};

/// A program as back ends take it.
pub fn compiled(lowered: &Lowered) -> runtime::Compiled {
    let compiled = runtime::Compiled::new(lowered.module.clone(), lowered.params.clone());
    runtime::Compiled { turned: lowered.turned.clone().into(), ..compiled }
}
