//! The arguments of `grad` and `gradcheck`.

use super::{Format, Source};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum GradMode {
    /// Forward mode: one run per input.
    Fwd,
    /// Reverse mode: one run per output.
    Bwd,
    /// Both, and compare them.
    Both,
}

#[derive(Args, Debug)]
pub struct Grad {
    #[command(flatten)]
    pub source: Source,
    /// The function: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`.
    #[arg(long = "fn", value_name = "NAME", required_unless_present = "entry", default_value = "")]
    pub function: String,
    #[command(flatten)]
    pub kernel: GradKernel,
    /// The point: `x=3, p.dir=[1, 0, 0]`. Other inputs are zero. `@points.npy` is a batch: an array with the numbers of all inputs
    /// in each row.
    #[arg(long, value_name = "POINT", default_value = "", conflicts_with = "entry")]
    pub at: String,
    /// Save the derivatives at a batch of points, `FILE.npy`, or with `--entry` the gradient of a parameter.
    #[arg(long, value_name = "[NAME=]FILE.npy")]
    pub save: Vec<String>,
    /// Print all numbers of a batch of points.
    #[arg(long)]
    pub full: bool,
    /// Print derivatives with respect to these parameters only: `x,p`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub wrt: Vec<String>,
    /// Set a shader parameter that the function reads, as `cotangent run` does.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The mode of differentiation.
    #[arg(long, value_enum, default_value = "bwd")]
    pub mode: GradMode,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Stop each evaluation after N steps; 4 billion by default.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
}

/// A kernel to differentiate as a whole.
#[derive(Args, Debug)]
pub struct GradKernel {
    /// An entry point instead of a function: gradients of its buffers and uniforms, over a whole dispatch.
    #[arg(long, value_name = "NAME", conflicts_with = "function")]
    pub entry: Option<String>,
    /// With `--entry`: the number of thread groups.
    #[arg(long, value_name = "X,Y,Z", default_value = "1,1,1", requires = "entry")]
    pub groups: String,
    /// With `--entry`: the cotangent of a result, `loss=1` or `image=f32[..]`; by default 1 for the only result.
    #[arg(long, value_name = "NAME=VALUE", requires = "entry")]
    pub cotangent: Vec<String>,
    /// With `--entry` and `--mode fwd`: the tangent of a parameter; by default 1 for all.
    #[arg(long, value_name = "NAME=VALUE", requires = "entry")]
    pub tangent: Vec<String>,
}

#[derive(Args, Debug)]
pub struct Gradcheck {
    #[command(flatten)]
    pub source: Source,
    /// A function to check: `energy`, `Ray.at`, one overload `f(float2)`, an instance `sum<float, 3>`; by default, all
    /// differentiable functions of the file.
    #[arg(long = "fn", value_name = "NAME")]
    pub function: Vec<String>,
    /// An entry point to check instead: its gradients are compared with finite differences of a whole dispatch.
    #[arg(long, value_name = "NAME", conflicts_with = "function")]
    pub entry: Option<String>,
    /// With `--entry`: the number of thread groups.
    #[arg(long, value_name = "X,Y,Z", default_value = "1,1,1", requires = "entry")]
    pub groups: String,
    /// Inputs that are the same at every point: `n=3, p.dir=[1, 0, 0]`. All others are random.
    #[arg(long, value_name = "POINT", default_value = "")]
    pub at: String,
    /// Set a shader parameter or a buffer, as `cotangent run` does. All others are random.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The number of random points.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: u32,
    /// The random seed.
    #[arg(long, value_name = "S", default_value = "1")]
    pub seed: u64,
    /// Print JSON, as `--format json`.
    #[arg(long)]
    pub json: bool,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}
