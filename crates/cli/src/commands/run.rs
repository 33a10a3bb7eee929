//! `cotangent run`: runs an entry point over buffers.

use super::INTERPRETED;
use super::set::set_all;
use crate::args::{Backend, Format, Run, RunTarget};
use crate::output::{print, write};
use crate::report::{Failure, finish, note, show_one, tell, trapped};
use cotangent::interp::Interpreter;
use cotangent::ir::layout::Target;
use cotangent::jit::{Limits, Native};
use cotangent::runtime::image::{shape, to_png};
use cotangent::runtime::{self, Compiled, Launch, Launched, Params, Runner, Tree, data, npy};
use cotangent::{Lowered, Roots, Scalar, Session, Sources, Symbol, ir};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

pub fn run(args: &Run) -> Result<(), Failure> {
    refuse_what_does_not_fit(args)?;
    let groups = groups(&args.groups)?;
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(match args.backend {
        None | Some(Backend::Cpu | Backend::Interpreter) => INTERPRETED,
        Some(Backend::Gpu) if args.target == Some(RunTarget::Spirv) => Target::SpirV,
        Some(Backend::Gpu) => Target::Wgsl,
    });
    request.options.matrices = args.matrix_layout.into();
    let roots = Roots::Entries(args.entry.iter().map(|name| Symbol::new(name)).collect());
    let program = Session::new(loader.clone()).program(&request);
    let lowered = finish(program.compile(roots), args.format)?;
    let sources = program.sources();
    let entry = entry(&lowered.module, &lowered.entries, args.entry.as_deref())?;
    let mut params = Params::new(&lowered.module);
    params.turned = lowered.turned.clone();
    set_all(&mut params, &lowered, &args.set, &loader, args.format)?;
    let prints = prints(args, &params)?;
    let saves = saves(args, &params)?;
    let job = Job { args, sources: &sources, lowered: &lowered, entry, groups };
    let (params, output) = match args.backend {
        None | Some(Backend::Cpu) => job.natively(params)?,
        Some(Backend::Interpreter) => job.launch(&Arc::new(Interpreter::default()), params)?,
        Some(Backend::Gpu) => on_device(&job, params)?,
    };
    for (name, path) in saves {
        save(&params, &name, &path)?;
    }
    match args.format {
        Format::Text => print_text(&prints, &params),
        Format::Json => print_json(&prints, &params, &output),
    }
}

/// What to run, and how.
pub struct Job<'a> {
    pub args: &'a Run,
    pub sources: &'a Sources,
    pub lowered: &'a Lowered,
    entry: ir::FuncId,
    groups: [u32; 3],
}

impl Job<'_> {
    /// Runs the entry point as native code, or on the interpreter if nobody asked for native code and it refuses the program.
    fn natively(&self, params: Params) -> Result<(Params, String), Failure> {
        let mut native = Native::default();
        if let Some(cores) = self.args.cores {
            native.limits = Limits { cores: cores as usize, ..native.limits };
        }
        let compiled = cotangent::compiled(self.lowered);
        let mut runner = self.loaded(&Arc::new(native), compiled, params)?;
        match self.try_launch(&mut runner) {
            Err(runtime::Failure::Refused(refusal)) if self.args.backend.is_none() => {
                note(&format!("the interpreter runs the program: {}", refusal.message), self.args.format);
                if self.args.max_seconds.is_some() {
                    return Err(Failure::Usage(INTERPRETER_COUNTS.into()));
                }
                self.launch(&Arc::new(Interpreter::default()), runner.params)
            }
            result => self.finish(runner.params, result),
        }
    }

    /// Runs the entry point on a back end; gives the parameters as it left them, and what was printed.
    pub fn launch<B: runtime::Backend>(
        &self,
        backend: &Arc<B>,
        params: Params,
    ) -> Result<(Params, String), Failure> {
        let mut runner = self.loaded(backend, cotangent::compiled(self.lowered), params)?;
        let launched = self.try_launch(&mut runner);
        self.finish(runner.params, launched)
    }

    fn loaded<B: runtime::Backend>(
        &self,
        backend: &Arc<B>,
        compiled: Compiled,
        params: Params,
    ) -> Result<Runner<B>, Failure> {
        Runner::with_params(backend.clone(), compiled, params).map_err(|failure| self.failed(failure))
    }

    fn try_launch<B: runtime::Backend>(&self, runner: &mut Runner<B>) -> Result<Launched, runtime::Failure> {
        let launch = Launch {
            max_steps: self.args.max_steps,
            max_time: self.args.max_seconds.map(Duration::from_secs),
            timed: self.args.timings,
        };
        let launched = runner.launch_id(self.entry, self.groups, launch)?;
        runner.download()?;
        Ok(launched)
    }

    /// Shows what came of a launch, other than its parameters.
    fn finish(
        &self,
        params: Params,
        launched: Result<Launched, runtime::Failure>,
    ) -> Result<(Params, String), Failure> {
        let (args, launched) = (self.args, launched.map_err(|failure| self.failed(failure))?);
        if args.format == Format::Text {
            print(&launched.printed)?;
        }
        if let Some(time) = launched.time {
            let clock = match (time.by_device, args.backend) {
                (true, _) => " on the device",
                (false, Some(Backend::Gpu)) => " of wall-clock time",
                (false, Some(Backend::Interpreter)) => " on the interpreter",
                (false, None | Some(Backend::Cpu)) => "",
            };
            tell(format_args!("ran for {:.3} ms{clock}", time.seconds * 1e3));
        }
        launched.ended.map_err(|stopped| trapped(self.sources, &stopped, args.format))?;
        Ok((params, launched.printed))
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

#[cfg(feature = "gpu")]
fn on_device(job: &Job<'_>, params: Params) -> Result<(Params, String), Failure> {
    job.launch(&Arc::new(super::device::open(job)?), params)
}

#[cfg(not(feature = "gpu"))]
fn on_device(_: &Job<'_>, _: Params) -> Result<(Params, String), Failure> {
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
        Some(Backend::Gpu) => Ok(()),
        _ if args.device.is_some() => refuse("--device needs `--backend gpu`"),
        _ if args.target.is_some() => refuse("--target needs `--backend gpu`"),
        Some(Backend::Interpreter) if args.max_seconds.is_some() => refuse(INTERPRETER_COUNTS),
        Some(Backend::Interpreter) if args.cores.is_some() => {
            refuse("the interpreter uses one core: leave out --cores")
        }
        Some(Backend::Interpreter | Backend::Cpu) | None => Ok(()),
    }
}

/// The entry point to run: the one named, or the only one.
fn entry(module: &ir::Module, entries: &[ir::FuncId], name: Option<&str>) -> Result<ir::FuncId, Failure> {
    let computes = |id: &ir::FuncId| {
        module.funcs[*id].entry.as_ref().is_some_and(|entry| entry.stage == ir::Stage::Compute)
    };
    let computing: Vec<ir::FuncId> = entries.iter().copied().filter(computes).collect();
    // Shaders of other stages are left out if there is something to run.
    let entries = if name.is_none() && !computing.is_empty() { &computing } else { entries };
    let names: Vec<&str> = entries.iter().map(|f| module.funcs[*f].name.as_str()).collect();
    let list = names.join(", ");
    let found = match (name, entries) {
        (Some(name), _) => names.iter().position(|n| *n == name).map(|i| entries[i]),
        (None, [only]) => Some(*only),
        (None, _) => None,
    };
    if let Some(id) = found
        && let Some(entry) = &module.funcs[id].entry
        && entry.stage != ir::Stage::Compute
    {
        let (name, stage) = (module.funcs[id].name, entry.stage.name());
        return Err(Failure::Usage(format!("`{name}` is a {stage} shader; only compute shaders can be run")));
    }
    found.ok_or_else(|| {
        Failure::Usage(match (name, entries) {
            (_, []) => "the module has no entry point: mark a function with [numthreads(x, y, z)]".into(),
            (Some(name), _) => format!("there is no entry point `{name}`; the module has {list}"),
            (None, _) => format!("the module has several entry points; choose one with --entry: {list}"),
        })
    })
}

fn groups(text: &str) -> Result<[u32; 3], Failure> {
    let mut groups = [1; 3];
    let words: Vec<&str> = text.split(',').collect();
    if words.len() > 3 {
        return Err(Failure::Usage(format!("--groups takes X,Y,Z, not `{text}`")));
    }
    for (group, word) in groups.iter_mut().zip(words) {
        let count = word.trim().parse().ok().filter(|n| *n > 0);
        *group =
            count.ok_or_else(|| Failure::Usage(format!("--groups: `{word}` is not a number of groups")))?;
    }
    Ok(groups)
}

/// A parameter to print, and the type to print it in.
type Print = (String, Option<Scalar>);

fn prints(args: &Run, params: &Params) -> Result<Vec<Print>, Failure> {
    if args.print.is_empty() {
        return Ok(params.writable().iter().map(|name| (name.to_string(), None)).collect());
    }
    let mut prints = Vec::new();
    for item in &args.print {
        let (name, ty) = item.split_once(':').map_or((item.as_str(), None), |(name, ty)| (name, Some(ty)));
        params.find(name)?;
        prints.push((name.to_string(), ty.map(data::scalar).transpose()?));
    }
    Ok(prints)
}

fn saves(args: &Run, params: &Params) -> Result<Vec<(String, String)>, Failure> {
    let mut saves = Vec::new();
    for item in &args.save {
        let Some((name, path)) = item.split_once('=') else {
            return Err(Failure::Usage(format!("--save takes NAME=FILE.npy, not `{item}`")));
        };
        params.find(name)?;
        let is_texture = params.texture(name).is_some();
        match path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("npy") => {}
            Some("png") if is_texture => {}
            Some("png") => {
                return Err(Failure::Usage(format!(
                    "`{name}` is not a texture: save it as FILE.npy, not `{path}`"
                )));
            }
            _ => {
                let endings = if is_texture { "FILE.npy or FILE.png" } else { "FILE.npy" };
                return Err(Failure::Usage(format!("--save writes {endings}, not `{path}`")));
            }
        }
        saves.push((name.to_string(), path.to_string()));
    }
    Ok(saves)
}

fn save(params: &Params, name: &str, path: &str) -> Result<(), Failure> {
    let (scalar, bytes) = params.get(name)?;
    let content = match params.texture(name) {
        Some((texture, extent, texels)) if path.ends_with(".png") => to_png(texture, extent, texels)?,
        Some((texture, extent, texels)) => npy::write_shaped(texture.scalar, &shape(texture, extent), texels),
        None => npy::write(scalar.unwrap_or(Scalar::U8), bytes),
    };
    write(path, &content)
}

fn print_text(prints: &[Print], params: &Params) -> Result<(), Failure> {
    let mut out = String::new();
    for (name, ty) in prints {
        let (scalar, bytes) = params.get(name)?;
        match ty.or(scalar) {
            Some(scalar) => {
                let numbers: Vec<String> = data::numbers(scalar, bytes).map(|n| n.show(scalar)).collect();
                out += &format!("{name} = {scalar}[{}]\n", numbers.join(", "));
            }
            None => match params.tree(name)? {
                Some(tree) => out += &format!("{name} = {tree}\n"),
                None => out += &format!("{name} = bytes[{}]\n", data::show_hex(bytes)),
            },
        }
    }
    print(&out)
}

fn print_json(prints: &[Print], params: &Params, output: &str) -> Result<(), Failure> {
    let mut buffers = Map::new();
    for (name, ty) in prints {
        let (scalar, bytes) = params.get(name)?;
        let scalar = ty.or(scalar);
        let values = match scalar {
            Some(scalar) => Some(data::numbers(scalar, bytes).map(|n| number(n, scalar)).collect()),
            None => params.tree(name)?.map(tree_json),
        };
        let entry =
            json!({ "type": scalar.map(Scalar::name), "values": values, "bytes": data::show_hex(bytes) });
        buffers.insert(name.clone(), entry);
    }
    print(&format!("{}\n", json!({ "buffers": buffers, "stdout": output })))
}

fn tree_json(tree: Tree) -> Value {
    match tree {
        Tree::Number(n, scalar) => number(n, scalar),
        Tree::List(items) => items.into_iter().map(tree_json).collect(),
        Tree::Fields(fields) => fields.into_iter().map(|(name, tree)| (name, tree_json(tree))).collect(),
    }
}

/// A number in JSON, which has no infinities: they and NaN become strings.
pub fn number(number: data::Number, scalar: Scalar) -> Value {
    match number {
        data::Number::Int(n) if scalar == Scalar::Bool => json!(n != 0),
        data::Number::Int(n) if n < 0 => json!(n as i64),
        data::Number::Int(n) => json!(n as u64),
        data::Number::Float(x) if x.is_finite() => json!(x),
        data::Number::Float(x) => json!(x.to_string()),
    }
}
