//! The arguments of `run`.

use super::{Format, Source};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Backend {
    /// Native code, compiled in process, on all cores.
    Cpu,
    /// The reference interpreter, which is slow.
    #[value(alias = "interp")]
    Interpreter,
    /// A GPU or a software driver; see `cotangent devices`.
    Gpu,
    /// An NVIDIA device, by CUDA's driver and its compiler NVRTC (`COTANGENT_NVRTC` is its path).
    Cuda,
}

/// Whether native code runs threads of a group side by side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ValueEnum)]
pub enum LaneChoice {
    /// Where that is estimated to be faster.
    #[default]
    Auto,
    /// Thread by thread.
    Never,
    /// Wherever it is possible; a note says why it is not.
    Always,
}

/// The language in which a device receives the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunTarget {
    Wgsl,
    Spirv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MatrixLayout {
    /// Row-major.
    Row,
    /// Column-major.
    Column,
}

#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    pub source: Source,
    /// The entry point; optional if there is only one. Several run one after the other: `init,step*100,loss`, or in turns:
    /// `(step,adam)*100`.
    #[arg(long, value_name = "NAME[*TIMES],..")]
    pub entry: Option<String>,
    /// The number of thread groups, 1 by default; of one of several entry points `NAME=X,Y,Z`.
    #[arg(long, value_name = "X,Y,Z")]
    pub groups: Vec<String>,
    /// Where to run the program; by default as native code, or on the interpreter if native code does not support the program.
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// The language in which `--backend gpu` passes the program to the device: wgsl, or spirv for Vulkan.
    #[arg(long, value_enum, value_name = "TARGET")]
    pub target: Option<RunTarget>,
    /// The device for `--backend gpu` or `--backend cuda`: a part of its name, or for `gpu` its number in `cotangent devices`.
    #[arg(long, value_name = "NAME|INDEX")]
    pub device: Option<String>,
    /// Print elapsed time and threads per second to stderr, and apart from it how long compiling took.
    #[arg(long)]
    pub timings: bool,
    /// Run N times, each time on the parameters as they were set; `--timings` prints the median.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// The number of cores for native code; all by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cores: Option<u32>,
    /// Whether native code runs threads of a group side by side, in vectors.
    #[arg(long, value_enum, default_value = "auto")]
    pub lanes: LaneChoice,
    /// Stop after N seconds. There is no limit for native code, and one of 120 for `--backend gpu`. Compiling does not count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub max_seconds: Option<u64>,
    /// Set a parameter: `NAME=[1, 2]`, `NAME=f32[1, 2]`, `NAME=3`, `NAME=zeros(f32, 8)`, `NAME=@file.npy`, `NAME=bytes[00ff]`; a
    /// texture `NAME=@image.png` or `NAME=image(4x4, f32[..])`, a sampler `NAME=linear,clamp`. The type gives the bytes that are
    /// written; NAME can be a path such as `lights[2].pos`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print a parameter after the run, as that type.
    #[arg(long, value_name = "NAME[:TYPE]")]
    pub print: Vec<String>,
    /// Print all numbers of long buffers.
    #[arg(long)]
    pub full: bool,
    /// Save a parameter after the run; a 2D texture also as PNG.
    #[arg(long, value_name = "NAME=FILE.npy")]
    pub save: Vec<String>,
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Stop after N steps: iterations and recursive calls in native code, instructions on the interpreter, which stops after 4
    /// billion by default.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// The memory layout of matrices.
    #[arg(long, value_enum, default_value = "row")]
    pub matrix_layout: MatrixLayout,
}

#[derive(Args, Debug)]
pub struct Devices {
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}
