//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Gradients of Slang programs.
///
/// Exit codes: 0 fine, 1 the program has errors, 2 bad command line, 3 internal error, 4 the program trapped, 5 no device can run
/// it.
#[derive(Parser, Debug)]
#[command(name = "cotangent", version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Value and derivatives of a differentiable function at a point.
    Grad(Grad),
    /// Check that derivatives are derivatives: compare them with differences at random points.
    Gradcheck(Gradcheck),
    /// Run an entry point over buffers.
    Run(Run),
    /// Report all diagnostics of whole modules.
    ///
    /// Every function is checked, called or not, and every entry point. What shows only when derivatives are written (E06..)
    /// needs --derivatives; what a target cannot express is found by `compile`, what depends on values by `run`.
    Check(Check),
    /// Compile to IR or a target's source.
    Compile(Compile),
    /// Show what the backward pass of a function stores.
    Report(Report),
    /// Show what a host must know: parameters, bindings, layouts, entry points, context sizes.
    Reflect(Reflect),
    /// List the graphics processors that `run --backend gpu` can use.
    Devices(Devices),
    /// Show the page of one diagnostic.
    Explain(Explain),
}

/// What every command that reads a module takes.
#[derive(Args, Debug, Default)]
pub struct Source {
    /// The module.
    pub file: PathBuf,
    /// More modules of the program, for what they export.
    #[arg(value_name = "FILE")]
    pub others: Vec<PathBuf>,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub given: Given,
    /// The number by which a type that conforms to an interface is known outside.
    #[arg(long, value_name = "TYPE:INTERFACE[=ID]")]
    pub conformance: Vec<String>,
    /// What backward passes do with values where no function says `[PreferRecompute]` or `[PreferCheckpoint]`; without it,
    /// bytes are weighed against work.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub prefer: Option<Prefer>,
}

/// What backward passes do with the values that they need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Prefer {
    /// Compute them again: as few bytes as possible.
    Recompute,
    /// Keep them: as little work as possible.
    Checkpoint,
}

/// Types and values for what the program leaves open.
#[derive(Args, Debug, Default)]
pub struct Given {
    /// Generic arguments of an entry point or function: `main=Circle,4`. Parameters of interface type come behind the generic
    /// ones.
    #[arg(long, value_name = "NAME=TYPE,..")]
    pub specialize: Vec<String>,
    /// What a `type_param`, an `extern struct` or an `extern static const` stands for.
    #[arg(long, value_name = "NAME=TYPE")]
    pub specialize_global: Vec<String>,
    /// The type of a shader parameter of interface type.
    #[arg(long, value_name = "NAME=TYPE")]
    pub set_type: Vec<String>,
}

/// Where to look, and what is defined.
#[derive(Args, Debug, Default)]
pub struct Search {
    /// Directories to look for imports and includes in.
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Read no file outside this folder, through imports, includes, links or `--set`: for servers.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Macros.
    #[arg(short = 'D', value_name = "NAME[=VAL]")]
    pub define: Vec<String>,
    /// Warnings not to show: codes such as W0301, or `all`.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub no_warn: Vec<String>,
    /// Fail if there are warnings.
    #[arg(long)]
    pub deny_warnings: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum GradMode {
    /// Forward mode: one run per input.
    Fwd,
    /// Reverse mode: one run per output.
    Bwd,
    /// Both, compared.
    Both,
}

#[derive(Args, Debug)]
pub struct Grad {
    #[command(flatten)]
    pub source: Source,
    /// The function: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`.
    #[arg(long = "fn", value_name = "NAME")]
    pub function: String,
    /// The point: `x=3, p.dir=[1, 0, 0]`. What is not named is zero.
    #[arg(long, value_name = "POINT", default_value = "")]
    pub at: String,
    /// Only derivatives with respect to these parameters: `x,p`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub wrt: Vec<String>,
    /// Set a shader parameter that the function reads, as `cotangent run` does.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// How to compute them.
    #[arg(long, value_enum, default_value = "bwd")]
    pub mode: GradMode,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Stop each evaluation after so many steps; 4 billion by default.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
}

#[derive(Args, Debug)]
pub struct Gradcheck {
    #[command(flatten)]
    pub source: Source,
    /// A function to check: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`; without any, all
    /// differentiable functions of the file.
    #[arg(long = "fn", value_name = "NAME")]
    pub function: Vec<String>,
    /// Inputs that are the same at every point: `n=3, p.dir=[1, 0, 0]`. All others are random.
    #[arg(long, value_name = "POINT", default_value = "")]
    pub at: String,
    /// Set a shader parameter or a buffer, as `cotangent run` does. All others are random.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// At how many random points.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: u32,
    /// Where random numbers start.
    #[arg(long, value_name = "S", default_value = "1")]
    pub seed: u64,
    /// Print JSON, as `--format json`.
    #[arg(long)]
    pub json: bool,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Backend {
    /// The reference interpreter.
    Interp,
    /// Compiled for this machine (not yet).
    Cpu,
    /// On a graphics processor, or what stands for one; see `cotangent devices`.
    Gpu,
}

/// What a device is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunTarget {
    Wgsl,
    Spirv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MatrixLayout {
    /// Row by row.
    Row,
    /// Column by column.
    Column,
}

#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    pub source: Source,
    /// The entry point; not needed if there is only one.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// How many thread groups.
    #[arg(long, value_name = "X,Y,Z", default_value = "1,1,1")]
    pub groups: String,
    /// What runs it.
    #[arg(long, value_enum, default_value = "interp")]
    pub backend: Backend,
    /// In which language `--backend gpu` hands the program to the device: wgsl, or spirv, which Vulkan takes as it is.
    #[arg(long, value_enum, value_name = "TARGET")]
    pub target: Option<RunTarget>,
    /// On which device `--backend gpu` runs: its number in `cotangent devices`, or a part of its name.
    #[arg(long, value_name = "NAME|INDEX")]
    pub device: Option<String>,
    /// Print elapsed time to stderr. Compiling the program, here and in the driver, does not count.
    #[arg(long)]
    pub timings: bool,
    /// Stop waiting for `--backend gpu` after so many seconds; 120 by default. Compiling in the driver does not count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub max_seconds: Option<u64>,
    /// Set a parameter: `NAME=f32[1, 2]`, `NAME=3`, `NAME=zeros(f32, 8)`, `NAME=@file.npy`, `NAME=bytes[00ff]`; a texture
    /// `NAME=@image.png` or `NAME=image(4x4, f32[..])`, a sampler `NAME=linear,clamp`. Numbers are
    /// written to memory in the type named; NAME may be a path such as `lights[2].pos`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print a parameter afterwards, as that type.
    #[arg(long, value_name = "NAME[:TYPE]")]
    pub print: Vec<String>,
    /// Save a parameter afterwards; a texture of two dimensions also as PNG.
    #[arg(long, value_name = "NAME=FILE.npy")]
    pub save: Vec<String>,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Stop the interpreter after so many steps; 4 billion by default, which take a minute or two.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// How matrices lie in memory.
    #[arg(long, value_enum, default_value = "row")]
    pub matrix_layout: MatrixLayout,
}

#[derive(Args, Debug)]
pub struct Devices {
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Args, Debug)]
pub struct Check {
    /// The modules.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Write the derivatives that the modules take, to find what is wrong with them. This takes longer.
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

/// What `cotangent compile` makes.
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

#[derive(Args, Debug)]
pub struct Compile {
    #[command(flatten)]
    pub source: Source,
    /// What to make.
    #[arg(long, value_enum, value_name = "TARGET")]
    pub target: CompileTarget,
    /// Entry points; without any, the whole module.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub entry: Vec<String>,
    /// The stage of entry points that do not say theirs with `[shader("..")]`.
    #[arg(long, value_enum, value_name = "STAGE")]
    pub stage: Option<Stage>,
    /// Print the code after this pass: lower, prepare, linearize, checkpoint, unzip, transpose, extract, autodiff, prune,
    /// optimize or finish. With -o the result is written too.
    #[arg(long, value_name = "PASS")]
    pub dump_after: Option<String>,
    /// How matrices lie in memory where the program does not say.
    #[arg(long, value_enum, default_value = "row")]
    pub matrix_layout: MatrixLayout,
    /// Say where each statement comes from: with `#line`, in SPIR-V with `OpLine`, in WGSL with comments.
    #[arg(long)]
    pub lines: bool,
    /// Where to write; `-` is the terminal.
    #[arg(short, value_name = "OUT", default_value = "-")]
    pub output: String,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Args, Debug)]
pub struct Report {
    #[command(flatten)]
    pub source: Source,
    /// The function: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`.
    #[arg(long = "fn", value_name = "NAME")]
    pub function: String,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Args, Debug)]
pub struct Reflect {
    #[command(flatten)]
    pub source: Source,
    /// For which target: wgsl, spirv, glsl, hlsl, metal, cuda, cpp.
    #[arg(long, value_name = "TARGET", default_value = "wgsl")]
    pub target: String,
    /// Entry points; without any, all.
    #[arg(long, value_name = "NAME")]
    pub entry: Vec<String>,
    /// How matrices lie in memory.
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
