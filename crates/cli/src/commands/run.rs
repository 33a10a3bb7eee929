//! `cotangent run`: runs entry points over buffers.

mod progress;
mod show;
mod stages;

pub use show::{list, number};
pub use stages::groups;

use super::INTERPRETED;
use super::set::{lengths, set_all, split_constants};
use crate::args::{Backend, Format, LaneChoice, Run, RunTarget};
use crate::output::print;
use crate::report::{Failure, finish, note, show_one, tell, trapped};
use cotangent::interp::Interpreter;
use cotangent::ir::Trap;
use cotangent::ir::layout::Target;
use cotangent::jit::{self, Limits, Monitor, Native};
use cotangent::runtime::{self, Launch, Params, Runner, Stopped};
use cotangent::{Lowered, Roots, Session, Sources, Symbol};
use progress::Progress;
use stages::{Round, Stage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub fn run(args: &Run) -> Result<(), Failure> {
    refuse_what_does_not_fit(args)?;
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(match args.backend {
        None | Some(Backend::Cpu | Backend::Interpreter) => INTERPRETED,
        Some(Backend::Gpu) if args.target == Some(RunTarget::Spirv) => Target::SpirV,
        Some(Backend::Gpu) => Target::Wgsl,
        Some(Backend::Cuda) => Target::Cuda,
    });
    // A function without a stage runs as one thread.
    request.options.stage = Some(cotangent::ir::Stage::Compute);
    request.options.runs = true;
    request.options.matrices = args.matrix_layout.into();
    let names = stages::names(args.entry.as_deref())?;
    let mut roots: Vec<Symbol> = Vec::new();
    let all = names.iter().flat_map(|round| &round.stages);
    for name in all.filter_map(|(name, _)| name.as_deref()).map(Symbol::new) {
        if !roots.contains(&name) {
            roots.push(name);
        }
    }
    let session = Session::new(loader.clone());
    let program = session.program(&request);
    let (constants, sets) = split_constants(&args.set, &program.constants());
    let lengths = lengths(&sets, &program.open_arrays(), &request.settings);
    request.settings.extend(constants.into_iter().chain(lengths));
    let program = session.program(&request);
    let lowered = finish(program.compile(Roots::Entries(roots)), args.format)?;
    let sources = program.sources();
    let rounds = stages::rounds(&lowered.module, &lowered.entries, &names, &args.groups)?;
    let mut params = Params::new(&lowered.module);
    params.turned = lowered.turned.clone();
    set_all(&mut params, &lowered, &sets, &loader, args.format)?;
    let prints = show::prints(args, &params)?;
    let saves = show::saves(args, &params)?;
    let job = Job { args, sources: &sources, lowered: &lowered, rounds };
    let (params, done) = match args.backend {
        None | Some(Backend::Cpu) => job.natively(params)?,
        Some(Backend::Interpreter) => job.launch(&Arc::new(Interpreter::default()), params)?,
        Some(Backend::Gpu) => on_device(&job, params)?,
        Some(Backend::Cuda) => job.launch(&Arc::new(open_cuda(args)?), params)?,
    };
    for (name, path) in saves {
        show::save(&params, &name, &path)?;
    }
    match args.format {
        Format::Text => show::print_text(&prints, &params, args.full)?,
        Format::Json => show::print_json(&prints, &params, &done.printed)?,
    }
    if done.is_interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// What to run, and how.
pub struct Job<'a> {
    pub args: &'a Run,
    pub sources: &'a Sources,
    pub lowered: &'a Lowered,
    rounds: Vec<Round<Stage>>,
}

/// What came of all launches.
#[derive(Default)]
struct Done {
    printed: String,
    /// The seconds that each repetition took, and whether a device took the time.
    times: Vec<f64>,
    by_device: bool,
    is_interrupted: bool,
}

impl Job<'_> {
    /// Runs as native code, or on the interpreter if nobody asked for native code and it refuses the program.
    fn natively(&self, params: Params) -> Result<(Params, Done), Failure> {
        let mut native = Native::default();
        if let Some(cores) = self.args.cores {
            native.limits = Limits { cores: cores as usize, ..native.limits };
        }
        native.lanes = match self.args.lanes {
            LaneChoice::Auto => jit::LaneChoice::Auto,
            LaneChoice::Never => jit::LaneChoice::Never,
            LaneChoice::Always => jit::LaneChoice::Always,
        };
        let (native, monitor) = (Arc::new(native.clone()), native.monitor);
        let runner = self.loaded(&native, params)?;
        for stage in self.stages() {
            match native.prepare(runner.program(), stage.entry, self.limits(Duration::ZERO)) {
                Err(runtime::Failure::Refused(refusal)) if self.args.backend.is_none() => {
                    note(&format!("the interpreter runs the program: {}", refusal.message), self.args.format);
                    if self.args.max_seconds.is_some() {
                        return Err(Failure::Usage(INTERPRETER_COUNTS.into()));
                    }
                    return self.launch(&Arc::new(Interpreter::default()), runner.params);
                }
                prepared => prepared.map_err(|failure| self.failed(failure))?,
            }
            if self.args.lanes == LaneChoice::Always {
                let refused = native.no_lanes(runner.program(), stage.entry, self.limits(Duration::ZERO));
                if let Some(why) = refused.map_err(|failure| self.failed(failure))? {
                    note(&format!("`{}` runs thread by thread: {why}", stage.name), self.args.format);
                }
            }
        }
        let compile_time = runner.program().compile_time();
        stop_on_interrupt(&monitor);
        let (params, done) = self.launch_all(runner, Some(monitor))?;
        if self.args.timings {
            tell(format_args!("compiled to native code in {:.3} ms", compile_time.as_secs_f64() * 1e3));
        }
        Ok((params, done))
    }

    /// Runs on a back end; gives the parameters as it left them.
    fn launch<B: runtime::Backend>(
        &self,
        backend: &Arc<B>,
        params: Params,
    ) -> Result<(Params, Done), Failure> {
        self.launch_all(self.loaded(backend, params)?, None)
    }

    fn loaded<B: runtime::Backend>(&self, backend: &Arc<B>, params: Params) -> Result<Runner<B>, Failure> {
        let compiled = cotangent::compiled(self.lowered);
        Runner::with_params(backend.clone(), compiled, params).map_err(|failure| self.failed(failure))
    }

    /// The limits of a launch, after others have taken some time.
    fn limits(&self, elapsed: Duration) -> Launch {
        let max_time = self.args.max_seconds.map(Duration::from_secs);
        let max_time = max_time.map(|max| max.saturating_sub(elapsed).max(Duration::from_millis(1)));
        Launch { max_steps: self.args.max_steps, max_time, timed: self.args.timings }
    }

    /// Launches all stages, as often as they are to be repeated: each time on the parameters as they were set.
    fn launch_all<B: runtime::Backend>(
        &self,
        mut runner: Runner<B>,
        monitor: Option<Monitor>,
    ) -> Result<(Params, Done), Failure> {
        let progress =
            Progress { rounds: &self.rounds, begun: AtomicU64::new(0), monitor, format: self.args.format };
        let mut done = Done::default();
        let start = Instant::now();
        let ended: Result<Result<(), Stopped>, Failure> = progress.during(|| {
            for repetition in 0..self.args.repeat {
                runner.restart();
                progress.begun.store(0, Relaxed);
                let ended = self.launch_once((&mut runner, &progress), start, repetition == 0, &mut done)?;
                if ended.is_err() {
                    return Ok(ended);
                }
            }
            Ok(Ok(()))
        });
        self.tell_times(&done);
        match ended? {
            Ok(()) => {}
            Err(stopped) if stopped.trap == Trap::Interrupted => {
                done.is_interrupted = true;
                let (begun, total) = (progress.begun.load(Relaxed), self.launches());
                let text = format!("interrupted in `{}`, launch {begun} of {total}", stopped.func);
                note(&format!("{text}; the results are those so far"), self.args.format);
            }
            Err(stopped) => return Err(trapped(self.sources, &stopped, self.args.format)),
        }
        runner.download().map_err(|failure| self.failed(failure))?;
        Ok((runner.params, done))
    }

    /// Launches all stages once, within the limits of the run that began at `start`.
    fn launch_once<B: runtime::Backend>(
        &self,
        (runner, progress): (&mut Runner<B>, &Progress<'_>),
        start: Instant,
        prints: bool,
        done: &mut Done,
    ) -> Result<Result<(), Stopped>, Failure> {
        let mut seconds = 0.0;
        let rounds = self.rounds.iter().flat_map(|round| (0..round.times).map(move |_| round));
        for stage in rounds.flat_map(|round| &round.stages) {
            for _ in 0..stage.times {
                progress.begun.fetch_add(1, Relaxed);
                // Launches that end before the back end checks its clock do not stop by themselves.
                if self.args.max_seconds.is_some_and(|max| start.elapsed() >= Duration::from_secs(max)) {
                    let func = &self.lowered.module.funcs[stage.entry];
                    return Ok(Err(Stopped::between_launches(Trap::TimeLimit, func.name, func.span)));
                }
                let launched = runner.launch_id(stage.entry, stage.groups, self.limits(start.elapsed()));
                let launched = launched.map_err(|failure| self.failed(failure))?;
                match self.args.format {
                    Format::Text if prints => print(&launched.printed)?,
                    Format::Json if prints => done.printed += &launched.printed,
                    Format::Text | Format::Json => {}
                }
                if let Some(time) = launched.time {
                    seconds += time.seconds;
                    done.by_device = time.by_device;
                }
                if let Err(stopped) = launched.ended {
                    return Ok(Err(stopped));
                }
            }
        }
        done.times.push(seconds);
        Ok(Ok(()))
    }

    /// Prints how long it ran, and how many threads that is per second.
    fn tell_times(&self, done: &Done) {
        let mut times = done.times.clone();
        times.sort_by(f64::total_cmp);
        let Some(median) = times.get(times.len() / 2).copied().filter(|_| self.args.timings) else { return };
        let clock = match (done.by_device, self.args.backend) {
            (true, _) => " on the device",
            (false, Some(Backend::Gpu | Backend::Cuda)) => " of wall-clock time",
            (false, Some(Backend::Interpreter)) => " on the interpreter",
            (false, None | Some(Backend::Cpu)) => "",
        };
        let of =
            if times.len() > 1 { format!(", the median of {} runs", times.len()) } else { String::new() };
        let rate = self.threads() / median.max(1e-9);
        let rate = match rate {
            rate if rate >= 1e6 => format!("{:.1} million", rate / 1e6),
            rate => format!("{rate:.0}"),
        };
        tell(format_args!("ran for {:.3} ms{clock}{of}; {rate} threads per second", median * 1e3));
    }

    /// How many threads all launches have together.
    fn threads(&self) -> f64 {
        let count = |sizes: [u32; 3]| sizes.iter().map(|n| f64::from(*n)).product::<f64>();
        let of = |round: &Round<Stage>| {
            let of = |stage: &Stage| {
                let entry = self.lowered.module.funcs[stage.entry].entry.as_ref();
                stage.times as f64 * count(stage.groups) * entry.map_or(1.0, |entry| count(entry.threads))
            };
            round.times as f64 * round.stages.iter().map(of).sum::<f64>()
        };
        self.rounds.iter().map(of).sum()
    }

    /// All stages, each once.
    fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.rounds.iter().flat_map(|round| &round.stages)
    }

    /// How many launches a repetition has.
    fn launches(&self) -> u64 {
        self.rounds.iter().map(Round::launches).sum()
    }

    fn failed(&self, failure: runtime::Failure) -> Failure {
        match failure {
            runtime::Failure::Refused(refusal) => {
                show_one(self.sources, &refusal, self.args.format);
                Failure::Refused
            }
            runtime::Failure::Usage(error) => error.into(),
            runtime::Failure::Device(why) => Failure::Device(why),
        }
    }
}

/// An NVIDIA device.
fn open_cuda(args: &Run) -> Result<cotangent_cuda::Cuda, Failure> {
    let nvrtc = std::env::var_os("COTANGENT_NVRTC").map(std::path::PathBuf::from);
    let device =
        cotangent_cuda::Device::open(args.device.as_deref(), nvrtc.as_deref()).map_err(Failure::Device)?;
    Ok(cotangent_cuda::Cuda::new(device, cotangent::cuda::translate))
}

/// Has Ctrl-C stop the run and keep its results so far; a second one ends the command at once.
fn stop_on_interrupt(monitor: &Monitor) {
    let monitor = monitor.clone();
    // Where it cannot be caught, Ctrl-C ends the command as ever.
    let _ = ctrlc::set_handler(move || {
        if monitor.is_interrupted() {
            std::process::exit(Failure::INTERRUPTED.into());
        }
        monitor.interrupt();
    });
}

#[cfg(feature = "gpu")]
fn on_device(job: &Job<'_>, params: Params) -> Result<(Params, Done), Failure> {
    job.launch(&Arc::new(super::device::open(job)?), params)
}

#[cfg(not(feature = "gpu"))]
fn on_device(_: &Job<'_>, _: Params) -> Result<(Params, Done), Failure> {
    Err(super::without_gpu())
}

const INTERPRETER_COUNTS: &str = "--max-seconds does not limit the interpreter; use --max-steps";

fn refuse_what_does_not_fit(args: &Run) -> Result<(), Failure> {
    let refuse = |why: &str| Err(Failure::Usage(why.to_string()));
    match args.backend {
        Some(Backend::Gpu) if args.max_steps.is_some() => {
            refuse("--max-steps does not limit `--backend gpu`; use --max-seconds")
        }
        Some(Backend::Gpu) if args.cores.is_some() => refuse("--cores does not fit `--backend gpu`"),
        Some(Backend::Cuda) if args.max_steps.is_some() || args.max_seconds.is_some() => {
            refuse("CUDA cannot limit a launch: leave out --max-steps and --max-seconds")
        }
        Some(Backend::Cuda) if args.cores.is_some() => refuse("--cores does not fit `--backend cuda`"),
        Some(Backend::Cuda) if args.target.is_some() => refuse("--target needs `--backend gpu`"),
        Some(Backend::Gpu | Backend::Cuda | Backend::Interpreter) if args.lanes != LaneChoice::Auto => {
            refuse("--lanes is for native code: leave out --backend")
        }
        Some(Backend::Gpu | Backend::Cuda) => Ok(()),
        _ if args.device.is_some() => refuse("--device needs `--backend gpu` or `--backend cuda`"),
        _ if args.target.is_some() => refuse("--target needs `--backend gpu`"),
        Some(Backend::Interpreter) if args.max_seconds.is_some() => refuse(INTERPRETER_COUNTS),
        Some(Backend::Interpreter) if args.cores.is_some() => {
            refuse("the interpreter uses one core: leave out --cores")
        }
        Some(Backend::Interpreter | Backend::Cpu) | None => Ok(()),
    }
}
