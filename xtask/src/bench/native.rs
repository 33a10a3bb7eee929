//! Gradients as native code in process: thread by thread, in lanes, as chosen, and on all cores.

use super::Figures;
use super::kernels::{Kernel, THREADS};
use cotangent::ir::{FuncId, Global};
use cotangent::jit::{LaneChoice, Limits, Options, Program};
use cotangent::runtime::{Data, Params};
use cotangent::{Disk, Lowered, Request, Roots, Scalar, Session};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A kernel that is optimized, and the memory of its parameters.
pub struct Native {
    lowered: Arc<Lowered>,
    entry: FuncId,
    fresh: Vec<(Global, Vec<u8>)>,
    gradient: Global,
    groups: u32,
}

/// How long one form is measured at a time, at least.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

impl Native {
    /// Compiles a kernel to the optimized IR.
    pub fn new(root: &Path, kernel: &Kernel, numbers: &[f32]) -> Result<Native, String> {
        let path = root.join(format!("bench/kernels/{}.slang", kernel.file));
        let mut request = Request::new(path.display().to_string());
        let defines = kernel.defines.iter().filter_map(|define| define.split_once('='));
        request.defines = defines.map(|(name, value)| (name.into(), value.into())).collect();
        let program = Session::new(Disk::new(vec![])).program(&request);
        let lowered = program.compile(Roots::Entries(vec!["gradMain".into()])).accept();
        let lowered = lowered.map_err(|rejected| rejected.to_string())?;
        let mut params = Params::new(&lowered.module);
        let threads = kernel.groups() * THREADS;
        let bytes = |numbers: &[f32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
        let sizes = [("gIn", bytes(numbers)), ("gGrad", vec![0; 4 * threads * kernel.gradient])];
        for (name, bytes) in sizes {
            params.set(name, &Data::Bytes(Some(Scalar::F32), bytes)).map_err(|e| e.to_string())?;
        }
        let gradient = params.iter().find(|(name, ..)| name.as_str() == "gGrad");
        let gradient = gradient.ok_or("it has no gradient")?.1;
        let fresh = params.iter().map(|(_, global, _, bytes)| (global, bytes.to_vec())).collect();
        let (entry, groups) = (lowered.entries[0], kernel.groups() as u32);
        Ok(Native { lowered, entry, fresh, gradient, groups })
    }

    /// Compiles the gradient. Notes the least time of several times in the figures.
    pub fn compile(&self, lanes: LaneChoice, figures: &mut Figures) -> Result<Program, String> {
        let options = Options { lanes, ..Options::default() };
        let mut best = f64::INFINITY;
        let mut last = None;
        for _ in 0..5 {
            let start = Instant::now();
            let program = Program::compile(&self.lowered.module, self.entry, options);
            last = Some(program.map_err(|e| e.to_string())?);
            best = best.min(start.elapsed().as_secs_f64() * 1000.0);
        }
        figures.compile_ms = Some(best);
        last.ok_or_else(|| "nothing was compiled".into())
    }

    /// Runs the gradients on some cores. Keeps the least time of this and earlier runs in the figures.
    pub fn measure(&self, program: &Program, cores: usize, figures: &mut Figures) -> Result<(), String> {
        let limits = Limits { cores, ..Limits::default() };
        let mut memory = self.fresh.clone();
        let threads = f64::from(self.groups) * THREADS as f64;
        let begin = Instant::now();
        let mut times = 0;
        while times < 3 || begin.elapsed() < LONG_ENOUGH {
            times += 1;
            for ((_, bytes), (_, fresh)) in memory.iter_mut().zip(&self.fresh) {
                bytes.copy_from_slice(fresh);
            }
            let mut given: Vec<(Global, &mut [u8])> =
                memory.iter_mut().map(|(global, bytes)| (*global, &mut bytes[..])).collect();
            let start = Instant::now();
            let ended = program.launch(&mut given, [self.groups, 1, 1], limits, &mut String::new());
            figures.ns = figures.ns.min(start.elapsed().as_secs_f64() * 1e9 / threads);
            ended.map_err(|stopped| format!("{stopped:?}"))?;
        }
        let gradient = memory.iter().find(|(global, _)| *global == self.gradient);
        let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        figures.gradient = gradient.map_or(vec![], |(_, bytes)| bytes.chunks_exact(4).map(float).collect());
        Ok(())
    }
}
