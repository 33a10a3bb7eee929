//! The laws that every program must obey.
//!
//! At random inputs `x`, for a random direction `v` and random weights `u` of the outputs of `f` with Jacobian `J`:
//!
//! - Every number of an input or output has a derivative, unless it is marked otherwise.
//! - The forward derivative computes the same values as `f`, bit by bit. The backward derivative leaves values unchanged. All
//!   three write the same to memory.
//! - `<u, J v>` from the forward derivative, `<J' u, v>` from the backward one, and the central difference of `<u, f>` along
//!   `v`, in the interpreter's wide mode, are equal.
//! - They are equal for every checkpointing preference, with loops cut into segments, and with loops unrolled.
//! - They are equal for functions that use derivatives of `f`, which have derivatives of second order.
//! - Native code gives the same bits as the interpreter, for `f` and both derivatives.

use crate::program::Program;
use crate::random::Random;
use crate::values::{inner, moved, random, varying};
use cotangent::interp::{self, Machine, Options, Stopped, Val};
use cotangent::ir::shader::ShaderParams;
use cotangent::ir::{Dir, FuncId, Mode, Module, Prefer, Segments, Signature, Ty};
use cotangent::jit::{Limits, Native};
use cotangent::runtime::{self, Argument, Arguments, Backend, Call, Compiled, Launch};
use cotangent::{Request, Roots, Session, Symbol, Texts, pipeline, render};
use cotangent_lower::Lowered;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What went wrong. Shrinking keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The compiler refuses the program, with this code first.
    Refused(String),
    /// The compiler or the interpreter panicked.
    Panicked,
    /// A run stopped.
    Stopped,
    /// A derivative gives other values than the function, or writes other things.
    Values,
    /// A number has no derivative that should have one.
    Lost,
    /// Forward and reverse mode disagree.
    Transposed,
    /// Both disagree with central differences.
    Differences,
    /// Another choice of what to keep gives another gradient.
    Kept,
    /// With loops unrolled the gradient is another.
    Unrolled,
    /// In this mode the program gives other numbers or memory than its model.
    Model(crate::model::eval::Mode),
    /// Native code gives other bits than the interpreter.
    Native,
    /// As C++ the program gives other numbers or memory than its model.
    Cpp,
}

/// A law broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// In what way.
    pub kind: Kind,
    /// The details.
    pub text: String,
}

/// What was found out about programs that obey.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Points at which everything was compared.
    pub smooth: usize,
    /// Points at which central differences depend on the step, because there is a jump or a kink nearby, or at which the
    /// function is huge.
    pub rough: usize,
    /// Functions of second order.
    pub second: usize,
}

fn failure<T>(kind: Kind, text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { kind, text: text.into() })
}

/// Checks all laws of a program.
pub fn check(program: &Program, seed: u64) -> Result<Tally, Failure> {
    let source = program.source();
    let names: Vec<&str> = program.orders.iter().map(|(name, _)| name.as_str()).collect();
    let run = || {
        let mut tally = Tally::default();
        function(&source, "f", seed, &mut tally)?;
        for name in names {
            function(&source, name, seed, &mut tally)?;
            tally.second += 1;
        }
        Ok(tally)
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        failure(Kind::Panicked, text.unwrap_or_default())
    })
}

/// Lowers a function and requests for its derivatives.
fn lowered(source: &str, name: &str, unroll: bool) -> Result<Arc<Lowered>, Failure> {
    let session = Session::new(Texts::new([("program.slang", source)]));
    let word = if unroll { "[ForceUnroll]" } else { "" };
    let mut request = Request::new("program.slang");
    request.defines = vec![("LOOP".to_string(), word.to_string())];
    let modes = vec![Mode::Forward, Mode::Backward];
    let roots = Roots::Derivatives { func: Symbol::new(name), modes };
    let answer = session.program(&request).lower(roots);
    answer.result.or_else(|_| refused(&answer.sources, answer.diagnostics.iter()))
}

fn refused<'d, T>(
    sources: &cotangent::Sources,
    diagnostics: impl Iterator<Item = &'d cotangent::Diagnostic>,
) -> Result<T, Failure> {
    let all: Vec<_> = diagnostics.collect();
    let code = all.first().map_or(String::new(), |d| d.code.name.to_string());
    let shown: Vec<String> = all.iter().map(|d| render::render(sources, d, render::Style::Plain)).collect();
    failure(Kind::Refused(code), shown.join("\n"))
}

/// A function with its derivatives, ready to run.
struct Trio {
    /// Whether it computes in double throughout, its folded constants included.
    wide: bool,
    module: Module,
    f: FuncId,
    forward: FuncId,
    backward: FuncId,
}

/// Writes the derivatives, with this preference and loops cut so; through all passes of the compiler, or just as they are written.
fn written(from: &Lowered, policy: Option<(Prefer, Segments)>, wide: bool) -> Result<Trio, Failure> {
    let mut lowered = Lowered::clone(from);
    lowered.module.types.wide = wide;
    let diagnostics = match policy {
        Some(policy) => {
            (lowered.module.prefer, lowered.module.segments) = policy;
            cotangent_autodiff::differentiate_also(&mut lowered.module, &lowered.roots)
        }
        None => pipeline::run(&mut lowered, pipeline::Memory::Declared, &mut pipeline::Watch::default()),
    };
    if diagnostics.has_errors() {
        let texts: Vec<String> =
            diagnostics.iter().map(|d| format!("{}: {}", d.code.name, d.message)).collect();
        let code = diagnostics.iter().next().map_or(String::new(), |d| d.code.name.to_string());
        return failure(Kind::Refused(code), texts.join("\n"));
    }
    let [f, forward, backward] = lowered.roots[..] else {
        return failure(Kind::Panicked, "a function and two derivatives were asked for");
    };
    Ok(Trio { wide, module: lowered.module, f, forward, backward })
}

/// Inputs, a direction for those that have a derivative, and weights of the outputs that do.
struct Point {
    inputs: Vec<Val>,
    direction: Vec<Option<Val>>,
    weights: Vec<Option<Val>>,
}

impl Point {
    fn random(module: &mut Module, f: FuncId, seed: u64) -> Self {
        let mut source = Random::new(seed);
        let sig = module.funcs[f].sig.clone();
        let inputs = sig.inputs().map(|p| random(module, p.ty, &mut source)).collect();
        let mut tangent = |ty: Ty| {
            let ty = module.diff.differential(&mut module.types, ty).expect("it carries a derivative");
            random(module, ty, &mut source)
        };
        let direction = sig.inputs().map(|p| p.diff.then(|| tangent(p.ty))).collect();
        let weights = sig.outputs().map(|o| o.diff.then(|| tangent(o.ty))).collect();
        Point { inputs, direction, weights }
    }

    /// The inputs a step of `h` along the direction.
    fn at(&self, module: &Module, sig: &Signature, h: f64) -> Vec<Val> {
        let all = sig.inputs().zip(&self.inputs).zip(&self.direction);
        all.map(|((p, x), v)| v.as_ref().map_or_else(|| x.clone(), |v| moved(module, p.ty, x, v, h)))
            .collect()
    }

    fn forward_arguments(&self) -> Vec<Val> {
        let pair = |(x, v): (&Val, &Option<Val>)| match v {
            Some(v) => Val::aggregate([x.clone(), v.clone()]),
            None => x.clone(),
        };
        self.inputs.iter().zip(&self.direction).map(pair).collect()
    }

    /// The arguments of the backward derivative. The derivative of a pair that takes none in is unlike zero, for nobody may look.
    fn backward_arguments(&self, sig: &Signature) -> Vec<Val> {
        let (mut arguments, mut input, mut output) = (Vec::new(), 0, usize::from(sig.ret.is_some()));
        for param in &sig.params {
            let weight = if param.dir == Dir::In { None } else { self.weights[output].clone() };
            match param.dir {
                Dir::In | Dir::InOut => {
                    let x = self.inputs[input].clone();
                    let derivative = weight.or_else(|| self.direction[input].clone());
                    arguments.push(match derivative {
                        Some(derivative) => Val::aggregate([x, derivative]),
                        None => x,
                    });
                }
                Dir::Out => arguments.extend(weight),
            }
            input += usize::from(param.dir != Dir::Out);
            output += usize::from(param.dir != Dir::In);
        }
        if sig.ret.is_some() {
            arguments.extend(self.weights[0].clone());
        }
        arguments
    }
}

/// What a run gives.
struct Ran {
    outputs: Vec<Val>,
    /// What the buffers hold afterwards.
    memory: Vec<Val>,
}

/// A sum with the sizes of what it adds up, by which it is judged.
#[derive(Clone, Copy, Debug)]
struct Sum(f64, f64);

impl Sum {
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        pairs.fold(Sum(0.0, 0.0), |sum, (value, size)| Sum(sum.0 + value, sum.1 + size))
    }

    fn near(self, other: Sum, relative: f64) -> bool {
        (self.0 - other.0).abs() <= relative * (1.0 + self.1.max(other.1))
    }
}

impl Trio {
    fn sig(&self) -> &Signature {
        &self.module.funcs[self.f].sig
    }

    fn run(&self, func: FuncId, inputs: Vec<Val>) -> Result<Ran, Failure> {
        let options = Options { wide: self.wide, max_steps: 20_000_000, ..Options::default() };
        let mut machine = Machine::new(&self.module, options);
        for global in self.module.globals.keys() {
            machine.set_global(global, Val::aggregate(CELLS.map(Val::float)));
        }
        let stopped = |s: Stopped| Failure { kind: Kind::Stopped, text: s.to_string() };
        let outputs = machine.call(func, inputs).map_err(stopped)?;
        let memory = self.module.globals.keys().map(|g| machine.global(g).clone()).collect();
        Ok(Ran { outputs, memory })
    }

    /// Every number that should have a derivative has one: the other laws compare those that there are.
    fn complete(&self, point: &Point) -> Result<(), Failure> {
        let Module { types, .. } = &self.module;
        let inputs = self.sig().inputs().zip(&point.direction).filter(|(p, _)| p.name != CONSTANT);
        let inputs = inputs.map(|(p, v)| (p.name.to_string(), p.ty, v));
        let outputs = self.sig().outputs().zip(&point.weights);
        let outputs = outputs.enumerate().map(|(n, (o, u))| (format!("output {n}"), o.ty, u));
        for (name, ty, differential) in inputs.chain(outputs) {
            let expected = varying(types, ty);
            let found = differential.as_ref().map_or(0, |d| d.scalars().len());
            if expected != found {
                return failure(Kind::Lost, format!("{name} has {found} derivatives, not {expected}"));
            }
        }
        Ok(())
    }

    /// `<u, f>` at a step along the direction.
    fn weighed(&self, point: &Point, h: f64) -> Result<f64, Failure> {
        let ran = self.run(self.f, point.at(&self.module, self.sig(), h))?;
        let all = ran.outputs.iter().zip(&point.weights);
        Ok(all.filter_map(|(y, u)| Some(inner_value(y, u.as_ref()?))).sum())
    }

    fn forward_product(&self, point: &Point) -> Result<Sum, Failure> {
        let ran = self.run(self.forward, point.forward_arguments())?;
        let all = ran.outputs.iter().zip(&point.weights);
        Ok(Sum::of(all.filter_map(|(y, u)| Some(inner(&y.parts()[1], u.as_ref()?)))))
    }

    fn backward_product(&self, point: &Point) -> Result<Sum, Failure> {
        let ran = self.run(self.backward, point.backward_arguments(self.sig()))?;
        let directions = point.direction.iter().flatten();
        assert_eq!(ran.outputs.len(), directions.clone().count(), "a pair comes back for every direction");
        Ok(Sum::of(ran.outputs.iter().zip(directions).map(|(x, v)| inner(&x.parts()[1], v))))
    }

    /// The derivatives compute the same values, and leave the same in memory.
    fn same_values(&self, point: &Point) -> Result<(), Failure> {
        let plain = self.run(self.f, point.inputs.clone())?;
        let forward = self.run(self.forward, point.forward_arguments())?;
        for (y, (pair, weight)) in plain.outputs.iter().zip(forward.outputs.iter().zip(&point.weights)) {
            let value = if weight.is_some() { &pair.parts()[0] } else { pair };
            if !same(value, y) {
                return failure(Kind::Values, format!("forward mode computes {value:?}, not {y:?}"));
            }
        }
        let backward = self.run(self.backward, point.backward_arguments(self.sig()))?;
        for (what, ran) in [("forward", &forward), ("backward", &backward)] {
            if !ran.memory.iter().zip(&plain.memory).all(|(a, b)| same(a, b)) {
                let text = format!("{what}: memory is {:?}, not {:?}", ran.memory, plain.memory);
                return failure(Kind::Values, text);
            }
        }
        Ok(())
    }
}

/// The floats in each buffer of a program before it runs.
const CELLS: [f64; 4] = [0.3, -0.5, 0.8, 0.1];

impl Trio {
    /// Native code gives the same outputs and memory as the interpreter, bit by bit.
    fn agrees_natively(&self, point: &Point) -> Result<(), Failure> {
        let program = interp::Program::new(self.module.clone(), Options::default());
        let compiled = Compiled::new(program.module().clone(), ShaderParams::default());
        let native = Native::new(Limits::default());
        let failed = |why: runtime::Failure| Failure { kind: Kind::Native, text: why.to_string() };
        let loaded = native.load(&compiled).map_err(failed)?;
        for (what, func, inputs) in [
            ("f", self.f, point.inputs.clone()),
            ("forward", self.forward, point.forward_arguments()),
            ("backward", self.backward, point.backward_arguments(self.sig())),
        ] {
            let sig = &self.module.funcs[func].sig;
            let bytes = |ty: Ty, value: &Val| program.bytes(ty, value).unwrap_or_default();
            let given: Vec<Vec<u8>> = sig.inputs().zip(&inputs).map(|(p, v)| bytes(p.ty, v)).collect();
            let given: Vec<&[u8]> = given.iter().map(|bytes| &bytes[..]).collect();
            let ran = self.run(func, inputs)?;
            let mut arguments = Arguments::default();
            let mut buffers = Vec::new();
            for (global, memory) in self.module.globals.keys().zip(&ran.memory) {
                if let Some(element) = compiled.element(global) {
                    let cells: Vec<u8> = CELLS.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
                    let buffer = native.make_buffer(&element, &cells).map_err(failed)?;
                    arguments.set(global, Argument::Buffer(buffer.clone()));
                    buffers.push((buffer, element, memory));
                }
            }
            let launch = Launch { max_steps: Some(20_000_000), ..Launch::default() };
            let called = native.call(&loaded, func, &arguments, 1, &given, launch).map_err(failed)?;
            if let Err((_, stopped)) = called.ended {
                return failure(Kind::Native, format!("{what} stopped: {stopped}"));
            }
            for ((output, value), found) in sig.outputs().zip(&ran.outputs).zip(&called.outputs) {
                if bytes(output.ty, value) != *found {
                    let found = program.value(output.ty, found);
                    return failure(Kind::Native, format!("{what} gives {found:?}, not {value:?}"));
                }
            }
            for (buffer, element, memory) in buffers {
                let found = native.read(&buffer, 0..native.size(&buffer)).map_err(failed)?;
                let (_, ty) = element.ty();
                let expected: Vec<u8> = memory.parts().iter().flat_map(|v| bytes(ty, v)).collect();
                if found != expected {
                    return failure(
                        Kind::Native,
                        format!("{what} leaves {found:?} in memory, not {expected:?}"),
                    );
                }
            }
        }
        Ok(())
    }
}

/// Whether two values are the same, bit by bit but for the sign of zeros, which depends on what is added to nothing.
fn same(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Aggregate(a), Val::Aggregate(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        // Nothing written at all, or in any part.
        (Val::Undef, Val::Aggregate(parts)) | (Val::Aggregate(parts), Val::Undef) => {
            parts.iter().all(|p| same(p, &Val::Undef))
        }
        _ => a == b || a.as_float().zip(b.as_float()).is_some_and(|(a, b)| a == b),
    }
}

/// The inner product of an output with a weight of its differential's type. Both must have the same numbers in the same order.
fn inner_value(y: &Val, u: &Val) -> f64 {
    inner(y, u).0
}

/// The parameter of every generated function that is marked `no_diff`.
const CONSTANT: &str = "c";

/// How far to step: far enough that rounding does not matter.
const STEP: f64 = 1e-5;

/// How near two ways to compute one number in double must come.
const SAME: f64 = 1e-9;

/// Where a function is larger than this, its derivatives are not looked at; where a derivative is, differences are not.
const TAME: f64 = 1e6;

/// How many points are tried.
const POINTS: u64 = 2;

fn function(source: &str, name: &str, seed: u64, tally: &mut Tally) -> Result<(), Failure> {
    let looped = lowered(source, name, false)?;
    let mut whole = written(&looped, None, true)?;
    let narrow = written(&looped, None, false)?;
    let mut others = Vec::new();
    if name == "f" {
        for prefer in Prefer::ALL {
            let policy = (prefer, Segments::Auto);
            others.push((Kind::Kept, format!("{prefer:?}"), written(&looped, Some(policy), true)?));
        }
        let cuts = [Segments::Of(1), Segments::Of(2), Segments::Of(3), Segments::Sqrt, Segments::Log];
        let policy = (Prefer::ALL[seed as usize / 5 % 3], cuts[seed as usize % 5]);
        others.push((Kind::Kept, format!("{policy:?}"), written(&looped, Some(policy), true)?));
        let unrolled = lowered(source, name, true)?;
        others.push((Kind::Unrolled, "unrolled".to_string(), written(&unrolled, None, true)?));
    }
    for number in 0..POINTS {
        let point = Point::random(&mut whole.module, whole.f, seed ^ (number << 32));
        whole.complete(&point)?;
        let value = whole.weighed(&point, 0.0)?;
        if value.is_nan() || value.abs() > TAME {
            tally.rough += 1;
            continue;
        }
        whole.same_values(&point)?;
        narrow.same_values(&point)?;
        if number == 0 {
            narrow.agrees_natively(&point)?;
        }
        let forward = whole.forward_product(&point)?;
        let backward = whole.backward_product(&point)?;
        if !forward.near(backward, SAME) {
            return failure(Kind::Transposed, format!("{name}: forward {forward:?}, backward {backward:?}"));
        }
        for (kind, what, trio) in &others {
            let other = trio.backward_product(&point)?;
            if !other.near(backward, SAME) {
                return failure(kind.clone(), format!("{name}: {what} {other:?}, before {backward:?}"));
            }
            trio.same_values(&point)?;
        }
        let difference = |h: f64| -> Result<f64, Failure> {
            Ok((whole.weighed(&point, h)? - whole.weighed(&point, -h)?) / (2.0 * h))
        };
        let (coarse, fine) = (difference(STEP)?, difference(STEP / 4.0)?);
        let [coarse, fine] = [coarse, fine].map(|d| Sum(d, forward.1));
        if forward.1 > TAME || !coarse.near(fine, 1e-6) {
            tally.rough += 1;
        } else if fine.near(forward, 1e-5) {
            tally.smooth += 1;
        } else {
            let text = format!("{name}: differences {}, forward {forward:?}", fine.0);
            return failure(Kind::Differences, text);
        }
    }
    Ok(())
}
