//! Times the gradients of `bench/kernels` natively, thread by thread and in lanes, and on the interpreter, on one core:
//! `cargo run --release -p cotangent-jit --example kernels`.

use cotangent::interp::Interpreter;
use cotangent::ir::{FuncId, Global, Module};
use cotangent::runtime::{Data, Failure, Launch, Params, Runner};
use cotangent::{Disk, Lowered, Request, Roots, Scalar, Session};
use cotangent_jit::{LaneChoice, Limits, Options, Program};
use std::sync::Arc;
use std::time::Instant;

/// A kernel: its file, what is defined for it, and how many numbers a thread takes or gives at most.
const KERNELS: [(&str, &[&str], usize); 9] = [
    ("k1_polyloop", &[], 2),
    ("k2_arrayupdate", &["N=16", "OFS=1"], 16),
    ("k2_arrayupdate", &["N=64", "OFS=1"], 64),
    ("k2_arrayupdate", &["N=256", "OFS=1"], 256),
    ("k2_arrayupdate", &["N=1024", "OFS=1"], 1024),
    ("k3_splat", &[], 581),
    ("k3_splat_buf", &[], 581),
    ("k4_mlp", &[], 496),
    ("k4_mlp_buf", &[], 496),
];

fn main() {
    println!(
        "{:<26} {:>10} {:>12} {:>12} {:>12} {:>8}  bytes, and what is chosen",
        "kernel", "compile ms", "scalar ns", "lanes ns", "interp ns", "times"
    );
    for (file, defines, numbers) in KERNELS {
        let name = format!("{file} {}", defines.first().unwrap_or(&""));
        match measure(file, defines, numbers) {
            Ok(row) => println!("{name:<26} {row}"),
            Err(error) => println!("{name:<26} {error}"),
        }
    }
}

fn measure(file: &str, defines: &[&str], numbers: usize) -> Result<String, String> {
    let path = format!("{}/../../bench/kernels/{file}.slang", env!("CARGO_MANIFEST_DIR"));
    let defines = defines.iter().filter_map(|d| d.split_once('='));
    let mut request = Request::new(path);
    request.defines = defines.map(|(a, b)| (a.into(), b.into())).collect();
    let program = Session::new(Disk::new(vec![])).program(&request);
    let lowered = program.compile(Roots::Entries(vec!["gradMain".into()]));
    let lowered = lowered.accept().map_err(|rejected| rejected.to_string())?;
    let (module, entry) = (&lowered.module, lowered.entries[0]);
    let threads = module.funcs[entry].entry.as_ref().map_or(1, |e| e.threads[0]) as usize;
    let params = inputs(module, threads * numbers);
    let memory = || -> Vec<(Global, Vec<u8>)> {
        params.iter().map(|(_, global, _, bytes)| (global, bytes.to_vec())).collect()
    };
    let (mut scalar, mut lanes) = (memory(), memory());
    let (one, _) = compile(module, entry, LaneChoice::Never)?;
    let one = native(&one, &mut scalar)? / threads as f64;
    let (side_by_side, compiled) = compile(module, entry, LaneChoice::Always)?;
    let fast = native(&side_by_side, &mut lanes)? / threads as f64;
    let (params, slow) = interpreted(&lowered, params).map_err(|failure| failure.to_string())?;
    let slow = slow / threads as f64;
    let agrees =
        |memory: &[(Global, Vec<u8>)]| params.iter().zip(memory).all(|((_, _, _, a), (_, b))| a == b);
    let verdict = if agrees(&scalar) && agrees(&lanes) { "agree" } else { "DIFFER" };
    let (auto, _) = compile(module, entry, LaneChoice::Auto)?;
    let choice = if auto.lanes() > 1 { "lanes" } else { "scalar" };
    let why = side_by_side.no_lanes().map_or(String::new(), |why| format!(" ({})", why.what));
    Ok(format!(
        "{compiled:>10.2} {one:>12.0} {fast:>12.0} {slow:>12.0} {:>8.0}  {verdict}, {choice}{why}",
        slow / fast
    ))
}

/// Compiles an entry point several times. Gives the least number of milliseconds, too.
fn compile(module: &Module, entry: FuncId, lanes: LaneChoice) -> Result<(Program, f64), String> {
    let mut best = f64::INFINITY;
    let mut program = None;
    for _ in 0..10 {
        let start = Instant::now();
        let options = Options { lanes, ..Options::default() };
        program = Some(Program::compile(module, entry, options).map_err(|e| e.to_string())?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((program.ok_or("nothing was compiled")?, best * 1e3))
}

/// Numbers between 0 and 1 for all parameters.
fn inputs(module: &Module, count: usize) -> Params {
    let mut params = Params::new(module);
    let names: Vec<_> = params.iter().map(|(name, ..)| name).collect();
    for name in names {
        let number = |i: usize| (i * 7919 % 1000) as f32 / 1000.0;
        let bytes: Vec<u8> = (0..count).flat_map(|i| number(i).to_le_bytes()).collect();
        // What takes other bytes is left as it is.
        let _ = params.set(name.as_str(), &Data::Bytes(Some(Scalar::F32), bytes));
    }
    params
}

/// Nanoseconds of a group: the least of several launches, each once on fresh memory.
fn native(program: &Program, memory: &mut Vec<(Global, Vec<u8>)>) -> Result<f64, String> {
    let fresh = memory.clone();
    let mut best = f64::INFINITY;
    for _ in 0..50 {
        memory.clone_from(&fresh);
        let mut given: Vec<(Global, &mut [u8])> =
            memory.iter_mut().map(|(global, bytes)| (*global, &mut bytes[..])).collect();
        let start = Instant::now();
        let ended = program.launch(&mut given, [1; 3], Limits::default(), &mut String::new());
        best = best.min(start.elapsed().as_secs_f64());
        ended.map_err(|stopped| format!("{stopped:?}"))?;
    }
    Ok(best * 1e9)
}

/// The same on the interpreter, once, and what it left in the parameters.
fn interpreted(lowered: &Lowered, params: Params) -> Result<(Params, f64), Failure> {
    let backend = Arc::new(Interpreter::default());
    let mut runner = Runner::with_params(backend, cotangent::compiled(lowered), params)?;
    let start = Instant::now();
    let launched = runner.launch_id(lowered.entries[0], [1; 3], Launch::default())?;
    let time = start.elapsed().as_secs_f64() * 1e9;
    launched.ended.unwrap_or_else(|stopped| panic!("{stopped}"));
    runner.download()?;
    Ok((runner.params, time))
}
