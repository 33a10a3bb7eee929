//! `cotangent grad --entry` and `cotangent gradcheck --entry`: derivatives of whole kernels.

use super::INTERPRETED;
use super::derivative_roots::names;
use super::run::{groups, number};
use super::set::{set_all, setting};
use crate::args::{Format, Grad, GradMode, Gradcheck, Source};
use crate::output::{print, write};
use crate::report::{Failure, finish, note, show_one, trapped};
use cotangent::interp::Interpreter;
use cotangent::ir::Mode;
use cotangent::ir::shader::ShaderShadow;
use cotangent::jit::{Limits, Native};
use cotangent::kernel::{self, Row, make_shadows, seed};
use cotangent::runtime::{self, Data, Launch, Launched, Number, Params, Runner, data, npy};
use cotangent::{Disk, KernelRoot, Lowered, Program, Roots, Scalar, Session, Sources, Symbol};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A program and where its files are.
fn open(source: &Source) -> Result<(Program, Disk), Failure> {
    let loader = source.search.loader()?;
    let mut request = source.request()?;
    request.options.target = Some(INTERPRETED);
    Ok((Session::new(loader.clone()).program(&request), loader))
}

/// The parameters of a program, as the command line sets them.
fn set(lowered: &Lowered, items: &[String], disk: &Disk, format: Format) -> Result<Params, Failure> {
    let mut params = Params::new(&lowered.module);
    params.turned = lowered.turned.clone();
    set_all(&mut params, lowered, items, disk, format)?;
    Ok(params)
}

pub fn grad(args: &Grad, entry: &str) -> Result<(), Failure> {
    let groups = groups(&args.kernel.groups)?;
    let mode = match args.mode {
        GradMode::Fwd => Mode::Forward,
        GradMode::Bwd => Mode::Backward,
        GradMode::Both => {
            let why =
                "--entry takes --mode fwd or bwd; `cotangent gradcheck --entry` compares with differences";
            return Err(Failure::Usage(why.into()));
        }
    };
    let (program, disk) = open(&args.source)?;
    let (seeds, others, why) = match mode {
        Mode::Forward => {
            (&args.kernel.tangent, &args.kernel.cotangent, "--cotangent is for --mode bwd; give --tangent")
        }
        Mode::Backward => {
            (&args.kernel.cotangent, &args.kernel.tangent, "--tangent is for --mode fwd; give --cotangent")
        }
    };
    if !others.is_empty() {
        return Err(Failure::Usage(why.into()));
    }
    let seeds: Vec<(String, Data)> =
        seeds.iter().map(|item| setting(item, &disk)).collect::<Result<_, _>>()?;
    let along_x = groups[1..] == [1, 1];
    let root = KernelRoot { wrt: names(&args.wrt), along_x, ..KernelRoot::new(Symbol::new(entry), mode) };
    let lowered = finish(program.compile(Roots::Kernel(root)), args.format)?;
    require_gradients(args, &lowered, || {
        let root = KernelRoot::new(Symbol::new(entry), mode);
        finish(program.compile(Roots::Kernel(root)), args.format)
    })?;
    let mut params = set(&lowered, &args.set, &disk, args.format)?;
    make_shadows(&lowered, &mut params)?;
    let given = begin(&lowered, mode, seeds)?;
    note_apart(&lowered, mode, args.format);
    for (name, data) in &given {
        seed(&lowered, &mut params, name, data)?;
    }
    let sources = program.sources();
    let (launched, params) = launch(args, &lowered, &sources, params, groups)?;
    if args.format == Format::Text {
        print(&launched.printed)?;
    }
    launched.ended.map_err(|stopped| trapped(&sources, &stopped, args.format))?;
    let wanted: Vec<&ShaderShadow> = match mode {
        Mode::Forward => lowered.params.shadows.iter().filter(|s| s.written).collect(),
        Mode::Backward => {
            let listed = |s: &&ShaderShadow| args.wrt.is_empty() || args.wrt.iter().any(|w| s.of == **w);
            lowered.params.shadows.iter().filter(|s| s.read).filter(listed).collect()
        }
    };
    save(args, &wanted, &params)?;
    show(args.format, mode, &wanted, &params)
}

/// Runs the derived kernel as native code, or on the interpreter if native code refuses it.
fn launch(
    args: &Grad,
    lowered: &Lowered,
    sources: &Sources,
    params: Params,
    groups: [u32; 3],
) -> Result<(Launched, Params), Failure> {
    let failed = |failure| match failure {
        runtime::Failure::Refused(refusal) => {
            show_one(sources, &refusal, args.format);
            Failure::Refused
        }
        runtime::Failure::Usage(error) => error.into(),
        runtime::Failure::Device(why) => Failure::Device(why),
    };
    let launch = Launch { max_steps: args.max_steps, ..Launch::default() };
    // On one core: gradients are sums of floats, whose terms are always added in the same order then.
    let native = Native::new(Limits::default());
    let compiled = cotangent::compiled(lowered);
    let mut runner = Runner::with_params(Arc::new(native), compiled.clone(), params).map_err(failed)?;
    match runner.launch_id(lowered.entries[0], groups, launch) {
        Err(runtime::Failure::Refused(refusal)) => {
            note(&format!("the interpreter runs the program: {}", refusal.message), args.format);
            let interpreter = Arc::new(Interpreter::default());
            let mut slow = Runner::with_params(interpreter, compiled, runner.params).map_err(failed)?;
            let launched = slow.launch_id(lowered.entries[0], groups, launch).map_err(failed)?;
            slow.download().map_err(failed)?;
            Ok((launched, slow.params))
        }
        launched => {
            let launched = launched.map_err(failed)?;
            runner.download().map_err(failed)?;
            Ok((launched, runner.params))
        }
    }
}

/// The names of parameters with a shadow.
fn listed<'a>(shadows: impl Iterator<Item = &'a ShaderShadow>) -> String {
    let names: Vec<&str> = shadows.map(|shadow| shadow.of.as_str()).collect();
    if names.is_empty() { "none".to_string() } else { names.join(", ") }
}

/// Complains of parameters named with `--wrt` that have no gradient. `whole` gives the derivative with all gradients.
fn require_gradients(
    args: &Grad,
    lowered: &Lowered,
    whole: impl FnOnce() -> Result<Arc<Lowered>, Failure>,
) -> Result<(), Failure> {
    let has = |name: &&String| lowered.params.shadows.iter().any(|s| s.read && s.of == *name.as_str());
    let Some(name) = args.wrt.iter().find(|name| !has(name)) else { return Ok(()) };
    let whole = whole()?;
    let these = listed(whole.params.shadows.iter().filter(|shadow| shadow.read));
    Err(Failure::Usage(format!("`{name}` has no gradient in this kernel; these have: {these}")))
}

/// Says where the gradients of parameters go that have a place of their own for them.
fn note_apart(lowered: &Lowered, mode: Mode, format: Format) {
    let has_place = |ty: &Symbol| {
        ["DiffBuffer<", "RWDiffBuffer<", "DiffTexture", "RWDiffTexture", "DiffTensorView"]
            .iter()
            .any(|start| ty.as_str().starts_with(start))
    };
    for param in lowered.params.globals.iter().filter(|param| param.ty.as_ref().is_some_and(has_place)) {
        let ty = param.ty.map_or("", |ty| ty.as_str());
        let (name, ty) = (param.name, ty.split('<').next().unwrap_or(ty));
        let what = match mode {
            Mode::Forward => "reads its tangent from",
            Mode::Backward => "adds its gradient to",
        };
        note(&format!("`{name}` is a `{ty}`: the kernel {what} `{name}.diff`, which is not listed"), format);
    }
}

/// What the shadows hold before the launch. If nothing is said, the only result has cotangent 1, or all parameters have tangent 1.
fn begin(lowered: &Lowered, mode: Mode, seeds: Vec<(String, Data)>) -> Result<Vec<(String, Data)>, Failure> {
    let seeded = |shadow: &&ShaderShadow| match mode {
        Mode::Forward => shadow.read,
        Mode::Backward => shadow.written,
    };
    if let Some((name, _)) = seeds.iter().find(|(name, _)| {
        let shadow = lowered.params.shadows.iter().find(|shadow| shadow.of == **name);
        shadow.is_some_and(|shadow| !seeded(&shadow))
    }) {
        let what = match mode {
            Mode::Forward => "does not read",
            Mode::Backward => "does not write",
        };
        let these = listed(lowered.params.shadows.iter().filter(seeded));
        return Err(Failure::Usage(format!("the kernel {what} `{name}`; name one of these: {these}")));
    }
    if !seeds.is_empty() {
        return Ok(seeds);
    }
    let one = |shadow: &&ShaderShadow| (shadow.of.to_string(), Data::Number(Number::Int(1)));
    let shadows = &lowered.params.shadows;
    match mode {
        Mode::Forward => Ok(shadows.iter().filter(|s| s.read).map(|s| one(&s)).collect()),
        Mode::Backward => {
            let results: Vec<&ShaderShadow> = shadows.iter().filter(|s| s.written).collect();
            match &results[..] {
                [only] => Ok(vec![one(only)]),
                [] => Err(Failure::Usage(
                    "the kernel writes no floats, so there is nothing to differentiate".into(),
                )),
                several => {
                    let list: Vec<&str> = several.iter().map(|s| s.of.as_str()).collect();
                    let list = list.join(", ");
                    Err(Failure::Usage(format!(
                        "the kernel has several results; set the cotangent of some with --cotangent NAME=1: {list}"
                    )))
                }
            }
        }
    }
}

fn save(args: &Grad, wanted: &[&ShaderShadow], params: &Params) -> Result<(), Failure> {
    for item in &args.save {
        let shadow = item.split_once('=').and_then(|(name, path)| {
            let shadow = wanted.iter().find(|s| s.of == *name)?;
            path.ends_with(".npy").then_some((*shadow, path))
        });
        let Some((shadow, path)) = shadow else {
            let why = format!("--save takes NAME=FILE.npy with the name of a gradient, not `{item}`");
            return Err(Failure::Usage(why));
        };
        let (scalar, bytes) = params.get(shadow.name.as_str())?;
        write(path, &npy::write(scalar.unwrap_or(Scalar::F32), bytes))?;
    }
    Ok(())
}

fn show(format: Format, mode: Mode, wanted: &[&ShaderShadow], params: &Params) -> Result<(), Failure> {
    let what = match mode {
        Mode::Forward => "tangent",
        Mode::Backward => "gradient",
    };
    let (mut out, mut found) = (String::new(), Map::new());
    for shadow in wanted {
        let (scalar, bytes) = params.get(shadow.name.as_str())?;
        let scalar = scalar.unwrap_or(Scalar::F32);
        let numbers: Vec<String> = data::numbers(scalar, bytes).map(|n| n.show(scalar)).collect();
        out += &format!("{what} of {} = {scalar}[{}]\n", shadow.of, numbers.join(", "));
        let values: Value = data::numbers(scalar, bytes).map(|n| number(n, scalar)).collect();
        found.insert(shadow.of.to_string(), json!({ "type": scalar.name(), "values": values }));
    }
    print(&match format {
        Format::Text => out,
        Format::Json => format!("{}\n", json!({ format!("{what}s"): found })),
    })
}

pub fn check(args: &Gradcheck, entry: &str) -> Result<(), Failure> {
    let format = if args.json { Format::Json } else { args.format };
    let groups = groups(&args.groups)?;
    let (program, disk) = open(&args.source)?;
    let name = Symbol::new(entry);
    let original = finish(program.compile(Roots::Held(name)), format)?;
    let along_x = groups[1..] == [1, 1];
    let root = KernelRoot { along_x, ..KernelRoot::new(name, Mode::Backward) };
    let derived = finish(program.compile(Roots::Kernel(root)), format)?;
    // Data has the types of the program, not those under which it is compared.
    let plain = finish(program.compile(Roots::Entries(vec![name])), format)?;
    let given = set(&plain, &args.set, &disk, format)?;
    let set = |lowered: &Lowered| {
        let mut params = Params::new(&lowered.module);
        params.turned = lowered.turned.clone();
        params.declare(&lowered.params);
        let names: Vec<Symbol> = params.iter().map(|(name, ..)| name).collect();
        for name in names.iter().filter(|name| given.find(name.as_str()).is_ok()) {
            params.copy(*name, &given);
        }
        Ok(params)
    };
    let options = kernel::Options { groups, samples: args.samples, seed: args.seed };
    let sources = program.sources();
    let rows = kernel::check(&original, &derived, &set, &options).map_err(|stop| match stop {
        kernel::Stop::Trap(stopped) => trapped(&sources, &stopped, format),
        kernel::Stop::Failure(failure) => Failure::Usage(failure.to_string()),
    })?;
    print(&match format {
        Format::Text => text(entry, &rows),
        Format::Json => format!("{}\n", rows.iter().map(row_json).collect::<Value>()),
    })?;
    if rows.iter().all(|row| row.agrees) { Ok(()) } else { Err(Failure::Program) }
}

fn text(entry: &str, rows: &[Row]) -> String {
    if rows.is_empty() {
        return format!("`{entry}` reads no floats that could carry a derivative.\n");
    }
    let width = rows.iter().map(|row| row.name.as_str().len()).max().unwrap_or(0).max("parameter".len());
    let mut out = format!("{:width$}  {:8}  {:>10}  {:>8}\n", "parameter", "result", "directions", "error");
    for Row { name, agrees, judged, error, .. } in rows {
        let word = match (agrees, judged) {
            (_, 0) => "kinks",
            (true, _) => "agrees",
            (false, _) => "DIFFERS",
        };
        out += &format!("{:width$}  {word:8}  {judged:>10}  {error:>8.1e}\n", name.as_str());
    }
    for Row { name, worst: (gradient, difference), .. } in rows.iter().filter(|row| !row.agrees) {
        out += &format!(
            "\nalong a direction of `{name}` the gradient gives {gradient}, finite differences give {difference}\n"
        );
    }
    out
}

fn row_json(row: &Row) -> Value {
    let Row { name, agrees, judged, error, worst: (gradient, difference) } = row;
    json!({ "parameter": name.as_str(), "agrees": agrees, "directions": judged, "error": error,
        "gradient": gradient, "differences": difference })
}
