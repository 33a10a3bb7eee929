//! Parses the command line.

mod grad;
mod run;

pub use grad::{Grad, GradMode, Gradcheck};
pub use run::{Backend, Devices, LaneChoice, MatrixLayout, Run, RunTarget};

use clap::{Args, Parser, Subcommand, ValueEnum};
use cotangent::ir::Segments;
use std::path::PathBuf;

/// Compute gradients of Slang programs.
///
/// Exit codes: 0 success, 1 the program has errors, 2 invalid command line, 3 internal error, 4 the program trapped, 5 the back
/// end cannot run it, 130 interrupted.
#[derive(Parser, Debug)]
#[command(name = "cotangent", version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Print the value and derivatives of a function at a point.
    Grad(Grad),
    /// Compare derivatives with finite differences at random points.
    Gradcheck(Gradcheck),
    /// Run an entry point over buffers.
    Run(Run),
    /// Report the diagnostics of whole modules.
    ///
    /// Checks every function, called or not, and every entry point. Errors in generated derivatives (E06..) are found with
    /// --derivatives, limits of a target by `compile`, and errors that depend on values by `run`.
    Check(Check),
    /// Compile to a target language or the IR.
    Compile(Compile),
    /// Print the derivative of a function as Slang.
    Derivative(Derivative),
    /// Show what the backward pass of a function stores.
    Report(Report),
    /// Show what a host needs: parameters, bindings, layouts, entry points, context sizes.
    Reflect(Reflect),
    /// List the GPUs that `run --backend gpu` can use.
    Devices(Devices),
    /// Explain a diagnostic code.
    Explain(Explain),
}

/// The arguments of every command that reads a module.
#[derive(Args, Debug, Default)]
pub struct Source {
    /// The source file.
    pub file: PathBuf,
    /// More modules of the program, which may export definitions.
    #[arg(value_name = "FILE")]
    pub others: Vec<PathBuf>,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub given: Given,
    /// Set the number of a conforming type in interface values.
    #[arg(long, value_name = "TYPE:INTERFACE[=ID]")]
    pub conformance: Vec<String>,
    /// The threads of a group, for kernels that leave them to the launch (`[CudaKernel]`); 1 by default.
    #[arg(long, value_name = "X,Y,Z")]
    pub threads: Option<String>,
    /// Store or recompute values in backward passes, except in functions marked `[PreferRecompute]` or `[PreferCheckpoint]`;
    /// by default, bytes are weighed against work.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub prefer: Option<Prefer>,
    /// Cut the loops that say nothing about it into segments, which backward passes run again: `log`, `sqrt`, or the iterations of
    /// a segment. Loops that must not run twice stay whole.
    #[arg(long, value_parser = segments, value_name = "HOW")]
    pub checkpoint: Option<Segments>,
    /// The most bytes that a backward pass may store at a time. It recomputes more, and cuts loops into segments, as far as that is
    /// needed to keep to it.
    #[arg(long, value_name = "BYTES")]
    pub context: Option<u64>,
}

/// Reads how loops are cut.
fn segments(text: &str) -> Result<Segments, String> {
    match text {
        "log" => Ok(Segments::Log),
        "sqrt" => Ok(Segments::Sqrt),
        _ => match text.parse() {
            Ok(length @ 1..) => Ok(Segments::Of(length)),
            _ => Err("write `log`, `sqrt`, or a number of at least 1".to_string()),
        },
    }
}

/// Whether backward passes store or recompute the values that they need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Prefer {
    /// Recompute values, to store as few bytes as possible.
    Recompute,
    /// Store values, to do as little work as possible.
    Checkpoint,
}

/// Types and values for `extern` declarations, generics and interface parameters.
#[derive(Args, Debug, Default)]
pub struct Given {
    /// Generic arguments of an entry point or function: `main=Circle,4`. Types of interface parameters come after the generic
    /// arguments.
    #[arg(long, value_name = "NAME=TYPE,..")]
    pub specialize: Vec<String>,
    /// Define a `type_param`, an `extern struct` or an `extern static const`, or set the length of an array of resources that has
    /// none.
    #[arg(long, value_name = "NAME=TYPE")]
    pub specialize_global: Vec<String>,
    /// Set the type of a shader parameter of interface type.
    #[arg(long, value_name = "NAME=TYPE")]
    pub set_type: Vec<String>,
}

/// Search paths, macros and warnings.
#[derive(Args, Debug, Default)]
pub struct Search {
    /// Add a folder to search for imports and includes.
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Read no file outside this folder, whether by imports, includes, links or `--set`.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Define a macro.
    #[arg(short = 'D', value_name = "NAME[=VAL]")]
    pub define: Vec<String>,
    /// The version of the language for files without a `#language` line.
    #[arg(long, value_enum, value_name = "VERSION")]
    pub language: Option<LanguageVersion>,
    /// Hide warnings: codes such as W0301, or `all`.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub no_warn: Vec<String>,
    /// Fail if there are warnings.
    #[arg(long)]
    pub deny_warnings: bool,
    /// Print to stderr how long each pass took, and the instructions before and after it.
    #[arg(long)]
    pub time_passes: bool,
}

/// The versions of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LanguageVersion {
    /// Before versions were counted.
    #[value(name = "2018", alias = "legacy")]
    Legacy,
    /// Unmarked declarations are internal to their module.
    #[value(name = "2025")]
    V2025,
    /// `(a, b)` is a tuple, and structures inherit from interfaces only.
    #[value(name = "2026", alias = "latest")]
    V2026,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Args, Debug)]
pub struct Check {
    /// The source files.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Generate the derivatives that the modules use, to find errors in them. This takes longer.
    #[arg(long)]
    pub derivatives: bool,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub given: Given,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// A stage of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Stage {
    Compute,
    Vertex,
    #[value(alias = "pixel")]
    Fragment,
}

/// The targets of `cotangent compile`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CompileTarget {
    /// The intermediate representation.
    Ir,
    /// WGSL.
    Wgsl,
    /// SPIR-V, the binary form.
    Spirv,
    /// SPIR-V as text.
    SpirvAsm,
    /// GLSL.
    Glsl,
    /// HLSL.
    Hlsl,
    /// The Metal shading language.
    Metal,
    /// C++.
    Cpp,
    /// CUDA.
    Cuda,
}

/// A derivative to compile instead of the program itself.
#[derive(Args, Debug)]
pub struct DerivativeOf {
    /// The derivative of an entry point or function, instead of the program itself: `main:bwd`, `f:fwd`. That of an entry point is
    /// a kernel whose buffers and uniforms have derivatives; `cotangent reflect --derivative` lists the parameters that hold them.
    #[arg(long, value_name = "NAME:MODE", conflicts_with = "entry")]
    pub derivative: Option<String>,
    /// With `--derivative` of an entry point: the parameters whose gradients are wanted, by default all.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "derivative")]
    pub wrt: Vec<String>,
    /// With `--derivative` of an entry point: it will be launched with groups along x only, `[n, 1, 1]`. Then gradients of elements
    /// that belong to one thread are added without atomic operations.
    #[arg(long, requires = "derivative")]
    pub along_x: bool,
    /// With `--derivative` of an entry point: add gradients in an order that is always the same. Each thread has a copy of the
    /// gradients, which the host adds up; groups lie along x only.
    #[arg(long, requires = "derivative", conflicts_with = "wave_sums")]
    pub deterministic: bool,
    /// With `--derivative` of an entry point: where all lanes of a wave add to one element of a gradient, sum over the lanes and
    /// let one of them add the sum. The device must support arithmetic on waves. CUDA does this without the flag.
    #[arg(long, requires = "derivative")]
    pub wave_sums: bool,
}

#[derive(Args, Debug)]
pub struct Compile {
    #[command(flatten)]
    pub source: Source,
    /// The target language.
    #[arg(long, value_enum, value_name = "TARGET")]
    pub target: CompileTarget,
    /// Entry points; by default, the whole module.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub entry: Vec<String>,
    #[command(flatten)]
    pub derivative: DerivativeOf,
    /// The stage of entry points without a `[shader("..")]` attribute.
    #[arg(long, value_enum, value_name = "STAGE")]
    pub stage: Option<Stage>,
    /// Print the code after this pass, such as linearize, unzip, transpose, fold, cse, hoist, autodiff, optimize or finish;
    /// a wrong name lists them all. With -o the result is written too.
    #[arg(long, value_name = "PASS")]
    pub dump_after: Option<String>,
    /// The memory layout of matrices where the program does not specify one.
    #[arg(long, value_enum, default_value = "row")]
    pub matrix_layout: MatrixLayout,
    /// Emit source lines: `#line` directives, `OpLine` in SPIR-V, comments in WGSL.
    #[arg(long)]
    pub lines: bool,
    /// The output file; `-` is stdout.
    #[arg(short, value_name = "OUT", default_value = "-")]
    pub output: String,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Args, Debug)]
pub struct Derivative {
    #[command(flatten)]
    pub source: Source,
    /// The function: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`.
    #[arg(long = "fn", value_name = "NAME")]
    pub function: String,
    /// The derivative: `bwd_diff` or `fwd_diff` of the function.
    #[arg(long, value_enum, default_value = "bwd")]
    pub mode: DerivativeMode,
    /// The output file; `-` is stdout.
    #[arg(short, value_name = "OUT", default_value = "-")]
    pub output: String,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DerivativeMode {
    /// Reverse mode.
    Bwd,
    /// Forward mode.
    Fwd,
}

#[derive(Args, Debug)]
pub struct Report {
    #[command(flatten)]
    pub source: Source,
    /// The function: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`.
    #[arg(long = "fn", value_name = "NAME", required_unless_present = "entry", default_value = "")]
    pub function: String,
    /// An entry point instead: what a thread of its backward kernel stores.
    #[arg(long, value_name = "NAME", conflicts_with = "function")]
    pub entry: Option<String>,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Write the report to this file as a page: the source with the bytes stored for each line.
    #[arg(long, value_name = "FILE")]
    pub html: Option<String>,
}

#[derive(Args, Debug)]
pub struct Reflect {
    #[command(flatten)]
    pub source: Source,
    /// The target: wgsl, spirv, glsl, hlsl, metal, cuda, cpp.
    #[arg(long, value_name = "TARGET", default_value = "wgsl")]
    pub target: String,
    /// Entry points; by default, all.
    #[arg(long, value_name = "NAME")]
    pub entry: Vec<String>,
    #[command(flatten)]
    pub derivative: DerivativeOf,
    /// The memory layout of matrices.
    #[arg(long, value_enum, default_value = "row")]
    pub matrix_layout: MatrixLayout,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Args, Debug)]
pub struct Explain {
    /// The code, such as E0301.
    pub code: String,
}
