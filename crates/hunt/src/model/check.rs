//! Compares the compiler with the model on the interpreter and as native code. Input: a tree and a seed for its inputs. Output: a
//! failure, or the expected and the compiled program, for [`super::cpp`]. In every mode the run must give the numbers and the memory
//! that [`super::eval`] computes, and native code the same bits as the interpreter.

use super::eval::{Memory, Mode, Outcome, Point, run};
use super::print::{self, ROOM, SHOWN, entry, initial};
#[cfg(test)]
use super::tree::Way;
use super::tree::{CELLS, Mem, Tree, Ty};
use super::walk;
use crate::laws::{Failure, Kind};
use crate::random::Random;
use cotangent::runtime::{self, Data, Number, Params};
use cotangent::{Lowered, Request, Roots, Scalar, Session, Sources, Symbol, Texts, interp, jit, render};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A comparison closer than this may turn out differently in single precision.
const MARGIN: f64 = 2e-4;

/// Numbers larger than this are not compared: single precision is not enough.
const TAME: f64 = 200.0;

/// How near numbers must be, both absolutely and relative to their size.
const NEAR: f64 = 3e-4;

/// A tree with what is expected of it, and what the compiler made of it.
pub struct Case {
    pub tree: Tree,
    pub point: Point,
    /// Per mode: what is expected.
    pub expected: Vec<(Mode, Outcome)>,
    pub lowered: Arc<Lowered>,
    pub sources: Sources,
}

/// The inputs that belong to a seed.
pub fn point(tree: &Tree, seed: u64) -> Point {
    let mut random = Random::new(seed ^ 0x9014_7000);
    let threads = tree.threads;
    let mut values = Vec::new();
    let mut tangents = Vec::new();
    for p in &tree.root().params {
        let one = |random: &mut Random| match p.ty {
            Ty::Float => f64::from(random.float() as f32),
            Ty::Int | Ty::Bool => random.below(4) as f64,
        };
        values.push((0..threads).map(|_| one(&mut random)).collect());
        tangents.push((0..threads).map(|_| f64::from(random.float() as f32)).collect());
    }
    let weight = (0..threads).map(|_| f64::from(random.float() as f32) + 1.5).collect();
    let mut memory = Memory::new();
    for mem in walk::memory(tree) {
        let cells = (0..threads * CELLS).map(|at| match (mem.is_parameter(), mem.ty()) {
            (false, _) => initial(mem, at % CELLS),
            (true, Ty::Float) => f64::from(random.float() as f32),
            (true, Ty::Int | Ty::Bool) => random.below(4) as f64,
        });
        memory.insert(mem.name(), cells.collect());
    }
    Point { values, tangents, weight, memory }
}

/// What the entry points read.
pub fn inputs(tree: &Tree, point: &Point) -> Vec<f32> {
    let mut all = vec![0.0; tree.threads * ROOM];
    for lane in 0..tree.threads {
        for at in 0..point.values.len() {
            all[lane * ROOM + 2 * at] = point.values[at][lane] as f32;
            all[lane * ROOM + 2 * at + 1] = point.tangents[at][lane] as f32;
        }
        all[lane * ROOM + 2 * point.values.len()] = point.weight[lane] as f32;
    }
    all
}

/// What the model computes, per mode; `None` if single precision may decide differently or numbers are too large.
pub fn expected(tree: &Tree, point: &Point) -> Option<Vec<(Mode, Outcome)>> {
    let mut all = Vec::new();
    for mode in walk::modes(tree) {
        let outcome = run(tree, mode, point).ok()?;
        if outcome.margin < MARGIN || outcome.largest > TAME || outcome.largest.is_nan() {
            return None;
        }
        all.push((mode, outcome));
    }
    Some(all)
}

/// Compiles a tree and compares the interpreter with the model; `None` if the model does not decide.
pub fn check(tree: &Tree, seed: u64) -> Result<Option<Case>, Failure> {
    let point = point(tree, seed);
    let Some(expected) = expected(tree, &point) else { return Ok(None) };
    let work = || {
        let (lowered, sources) = compiled(tree)?;
        for (mode, outcome) in &expected {
            let found = ran(interp::Interpreter::default(), tree, &lowered, &point, *mode)?;
            compare(tree, outcome, &found).map_err(|text| {
                let text = format!("{} on the interpreter: {text}", entry(*mode));
                Failure { kind: Kind::Model(*mode), text }
            })?;
            // One core: the model's threads run in order.
            let native = jit::Native::new(jit::Limits::default());
            let other = ran(native, tree, &lowered, &point, *mode)?;
            if !found.is(&other) {
                let text = format!("{} as native code: {other:?}, not {found:?}", entry(*mode));
                return Err(Failure { kind: Kind::Native, text });
            }
        }
        Ok((lowered, sources))
    };
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(Failure { kind: Kind::Panicked, text: text.unwrap_or_default() })
    });
    let (lowered, sources) = done?;
    Ok(Some(Case { tree: tree.clone(), point, expected, lowered, sources }))
}

fn compiled(tree: &Tree) -> Result<(Arc<Lowered>, Sources), Failure> {
    let modes = walk::modes(tree);
    let source = print::source(tree, &modes);
    let session = Session::new(Texts::new([("program.slang", source)]));
    let names = modes.iter().map(|m| Symbol::new(entry(*m))).collect();
    let answer = session.program(&Request::new("program.slang")).compile(Roots::Entries(names));
    match answer.result {
        Ok(lowered) => Ok((lowered, answer.sources)),
        Err(_) => {
            let all: Vec<_> = answer.diagnostics.iter().filter(|d| d.is_error()).collect();
            let code = all.first().map_or(String::new(), |d| d.code.name.to_string());
            let shown = all.iter().map(|d| render::render(&answer.sources, d, render::Style::Plain));
            let text = shown.collect::<Vec<_>>().join("\n");
            Err(Failure { kind: Kind::Refused(code), text })
        }
    }
}

/// The results of a run: the numbers of all threads, and the memory that the host sees.
#[derive(Debug)]
pub struct Found {
    pub numbers: Vec<f64>,
    pub memory: Memory,
}

impl Found {
    /// Whether another run gave the same bits.
    fn is(&self, other: &Found) -> bool {
        let same = |a: &[f64], b: &[f64]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
        same(&self.numbers, &other.numbers)
            && self.memory.len() == other.memory.len()
            && self.memory.iter().zip(&other.memory).all(|((n, a), (m, b))| n == m && same(a, b))
    }
}

fn ran<B: runtime::Backend>(
    backend: B,
    tree: &Tree,
    lowered: &Lowered,
    point: &Point,
    mode: Mode,
) -> Result<Found, Failure> {
    let stopped = |text: String| Failure { kind: Kind::Stopped, text };
    let mut params = Params::new(&lowered.module);
    params.declare(&lowered.params);
    let mut set = |name: &str, data: &str| match params.find(name) {
        Ok(_) => {
            let data = Data::parse(data).map_err(|e| e.to_string())?;
            params.set(name, &data).map_err(|e| format!("{name}: {e}"))
        }
        Err(_) => Ok(()),
    };
    let listed = |cells: &[f64]| cells.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>().join(", ");
    let numbers: Vec<f64> = inputs(tree, point).iter().map(|x| f64::from(*x)).collect();
    set("inp", &format!("f32[{}]", listed(&numbers))).map_err(stopped)?;
    set("outp", &format!("zeros(f32, {})", tree.threads * ROOM)).map_err(stopped)?;
    for mem in walk::memory(tree).into_iter().filter(|m| m.is_parameter()) {
        let cells = &point.memory[mem.name()];
        let ints = cells.iter().map(|c| (*c as i32).to_string()).collect::<Vec<_>>().join(", ");
        let data = match mem {
            Mem::Texture => format!("image({CELLS}x{}, f32[{}])", tree.threads, listed(cells)),
            _ if mem.ty() == Ty::Float => format!("f32[{}]", listed(cells)),
            _ => format!("i32[{ints}]"),
        };
        set(mem.name(), &data).map_err(stopped)?;
    }
    let name = Symbol::new(entry(mode));
    let entries = &lowered.entries;
    let func = entries.iter().find(|f| lowered.module.funcs[**f].name == name).copied();
    let func = func.ok_or_else(|| stopped("the entry point is gone".into()))?;
    let backend = Arc::new(backend);
    let failed = |why: runtime::Failure| stopped(why.to_string());
    let compiled = cotangent::compiled(lowered);
    let mut runner = runtime::Runner::with_params(backend, compiled, params).map_err(failed)?;
    let limit = runtime::Launch { max_steps: Some(20_000_000), ..Default::default() };
    let launched = runner.launch_id(func, [1; 3], limit).map_err(failed)?;
    launched.ended.map_err(|s| stopped(s.to_string()))?;
    runner.download().map_err(failed)?;
    let params = runner.params;
    let read = |name: &str, scalar: Scalar| -> Option<Vec<f64>> {
        let (.., bytes) = params.iter().find(|(n, ..)| *n == Symbol::new(name))?;
        Some(bytes.chunks(4).map(|b| Number::read(scalar, b).as_f64()).collect())
    };
    let numbers = read("outp", Scalar::F32).unwrap_or_default();
    let mut memory = Memory::new();
    for mem in Mem::ALL.into_iter().filter(|m| m.is_parameter()) {
        let scalar = if mem.ty() == Ty::Float { Scalar::F32 } else { Scalar::I32 };
        memory.extend(read(mem.name(), scalar).map(|cells| (mem.name(), cells)));
    }
    Ok(Found { numbers, memory })
}

/// Compares the results of a run with the expected ones.
pub fn compare(tree: &Tree, expected: &Outcome, found: &Found) -> Result<(), String> {
    let near = |a: f64, b: f64| (a - b).abs() <= NEAR * (1.0 + a.abs());
    for (lane, numbers) in expected.numbers.iter().enumerate() {
        for (at, number) in numbers.iter().enumerate() {
            let other = found.numbers.get(lane * ROOM + at).copied().unwrap_or(f64::NAN);
            if !near(*number, other) {
                return Err(format!("number {at} of thread {lane} is {other}, not {number}"));
            }
        }
    }
    for (name, cells) in &expected.memory {
        let shown = SHOWN.iter().find(|(mem, _)| mem.name() == *name);
        for (at, cell) in cells.iter().enumerate() {
            let other = match shown {
                Some((_, first)) => found.numbers.get(at / CELLS * ROOM + first + at % CELLS),
                // A parameter that no entry point uses does not exist.
                None => found.memory.get(name).map_or(Some(cell), |cells| cells.get(at)),
            };
            let other = other.copied().unwrap_or(f64::NAN);
            if !near(*cell, other) {
                return Err(format!("{name}[{at}] is {other}, not {cell}, of {} threads", tree.threads));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::make::{self, feature};

    /// Without custom derivatives the model agrees with its own central differences, so its rules are right by themselves.
    #[test]
    fn the_model_agrees_with_differences() {
        use feature::Feature::{Exit, Inline, Wave, Wrapper};
        let mut compared = 0;
        for seed in 1..201 {
            let tree = make::tree(seed, &[Exit, Wrapper, Inline, Wave]);
            let mut point = point(&tree, seed);
            let (Ok(forward), Ok(backward)) =
                (run(&tree, Mode::Forward, &point), run(&tree, Mode::Backward, &point))
            else {
                continue;
            };
            let outputs =
                |point: &Point| run(&tree, Mode::Value, point).map(|o| o.numbers).unwrap_or_default();
            let params = &tree.root().params;
            let floats: Vec<usize> = (0..params.len()).filter(|i| params[*i].varies()).collect();
            let shift = |point: &mut Point, h: f64| {
                for at in &floats {
                    for lane in 0..tree.threads {
                        point.values[*at][lane] += h * point.tangents[*at][lane];
                    }
                }
            };
            let h = 1e-6;
            shift(&mut point, h);
            let above = outputs(&point);
            shift(&mut point, -2.0 * h);
            let below = outputs(&point);
            if tree.root().ret != Some(Ty::Float) || forward.margin < 1e-3 || forward.largest > TAME {
                continue;
            }
            compared += 1;
            for lane in 0..tree.threads {
                let (mut one, mut other) = (0.0, 0.0);
                for at in 0..above[lane].len() {
                    let difference = (above[lane][at] - below[lane][at]) / (2.0 * h);
                    let tangent = forward.numbers[lane][2 * at + 1];
                    assert!((difference - tangent).abs() < 1e-5 * (1.0 + tangent.abs()), "seed {seed}");
                    let written: Vec<usize> =
                        floats.iter().copied().filter(|i| params[*i].way == Way::InOut).collect();
                    let weight =
                        if at == 0 { point.weight[lane] } else { point.tangents[written[at - 1]][lane] };
                    one += weight * tangent;
                }
                for (number, at) in floats.iter().enumerate() {
                    other += backward.numbers[lane][number] * point.tangents[*at][lane];
                }
                assert!((one - other).abs() < 1e-9 * (1.0 + one.abs()), "seed {seed}: {one} {other}");
            }
        }
        assert!(compared > 60, "{compared}");
    }

    /// Most programs are decided.
    #[test]
    fn most_programs_are_decided() {
        let decides = |seed: &u64| {
            let tree = make::tree(*seed, feature::ALL);
            expected(&tree, &point(&tree, *seed)).is_some()
        };
        assert!((1..201).filter(decides).count() > 180);
    }
}
