//! A function and its gradient, compiled once and called often.
//!
//! A [`Function`] owns its program but no point, so that several threads can call it. A point is the sequence of the numbers
//! of all inputs; a batch is a sequence of points. Numbers are passed to the back end as bytes in C layout. A back end that
//! implements [`Call`] evaluates a whole batch.

use super::Functions;
use cotangent_base::{Scalar, Symbol};
use cotangent_ir::{Dir, FuncId, Ty, Types, layout};
use cotangent_jit::Native;
use cotangent_runtime::path::{Leaf, leaves};
use cotangent_runtime::{Arguments, Call, Called, Compiled, Failure, Launch, Number, Stopped};
use std::sync::Arc;

/// An input or output of a function.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name; the result of a function has none.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: Ty,
    /// Whether it carries a derivative.
    pub diff: bool,
    /// Its numbers, in the order in which points have them.
    pub numbers: Vec<Leaf>,
    /// The numbers of its derivative: none if it carries no derivative, and often as many as it has itself.
    pub derivatives: Vec<Leaf>,
}

/// Why a function has no value.
#[derive(Clone, PartialEq, Debug)]
pub enum NoValue {
    /// It stopped at that point of the batch.
    Stopped(usize, Box<Stopped>),
    /// It cannot be called so.
    Failure(Failure),
}

impl std::fmt::Display for NoValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoValue::Stopped(point, stopped) => write!(f, "{stopped} at point {point}"),
            NoValue::Failure(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for NoValue {}

impl From<Failure> for NoValue {
    fn from(failure: Failure) -> Self {
        NoValue::Failure(failure)
    }
}

/// A function with its derivatives, loaded by a back end.
pub struct Function<B: Call = Native> {
    backend: Arc<B>,
    program: B::Program,
    compiled: Compiled,
    functions: Functions,
    /// What the function takes, in order; `out` parameters are no inputs.
    pub inputs: Vec<Slot>,
    /// What it gives: the result first, then `out` and `inout` parameters.
    pub outputs: Vec<Slot>,
    /// What its shader parameters are given.
    pub arguments: Arguments<B>,
    /// The limits of a call.
    pub launch: Launch,
}

impl<B: Call> Function<B> {
    /// Loads a function with the derivatives that the program has of it.
    pub fn new(backend: Arc<B>, compiled: Compiled, functions: Functions) -> Result<Self, NoValue> {
        let module = &compiled.module;
        let mut types = module.types.clone();
        let mut slot = |name: Option<Symbol>, ty: Ty, diff: bool| {
            let derivatives = match module.diff.differential(&mut types, ty).filter(|_| diff) {
                Some(differential) => leaves(&types, differential),
                None => vec![],
            };
            Slot { name, ty, diff, numbers: leaves(&types, ty), derivatives }
        };
        let sig = &module.funcs[functions.primal].sig;
        let inputs: Vec<Slot> = sig.inputs().map(|p| slot(Some(p.name), p.ty, p.diff)).collect();
        let names = sig.ret.iter().map(|_| None);
        let names = names.chain(sig.params.iter().filter(|p| p.dir != Dir::In).map(|p| Some(p.name)));
        let outputs: Vec<Slot> =
            names.zip(sig.outputs()).map(|(name, output)| slot(name, output.ty, output.diff)).collect();
        if let Some(input) = inputs.iter().find(|i| layout::layout(&module.types, i.ty).is_none()) {
            let name = input.name.unwrap_or_else(|| Symbol::new(""));
            return Err(Failure::usage(format!("`{name}` is a resource, which has no numbers")).into());
        }
        let program = backend.load(&compiled)?;
        let (arguments, launch) = (Arguments::default(), Launch::default());
        Ok(Function { backend, program, compiled, functions, inputs, outputs, arguments, launch })
    }

    /// How many numbers a point has.
    pub fn point_size(&self) -> usize {
        self.inputs.iter().map(|input| input.numbers.len()).sum()
    }

    /// How many numbers the function gives.
    pub fn value_size(&self) -> usize {
        self.outputs.iter().map(|output| output.numbers.len()).sum()
    }

    /// The numbers that the function gives at a point.
    pub fn value(&self, point: &[f64]) -> Result<Vec<f64>, NoValue> {
        self.values(point, 1)
    }

    /// The numbers that the function gives at each of `count` points.
    pub fn values(&self, points: &[f64], count: usize) -> Result<Vec<f64>, NoValue> {
        let given = self.split(points, count)?;
        let called = self.call(self.functions.primal, count, &given)?;
        let types = &self.compiled.module.types;
        let outputs: Vec<(Ty, Vec<f64>)> = self
            .outputs
            .iter()
            .zip(&called.outputs)
            .map(|(slot, bytes)| (slot.ty, unpack(types, slot.ty, &slot.numbers, bytes, count)))
            .collect();
        Ok(interleaved(&outputs.into_iter().map(|(_, numbers)| numbers).collect::<Vec<_>>(), count))
    }

    /// The derivatives of the only output number by all input numbers that have one, at a point.
    pub fn grad(&self, point: &[f64]) -> Result<Vec<f64>, NoValue> {
        self.grads(point, 1)
    }

    /// The same at each of `count` points.
    pub fn grads(&self, points: &[f64], count: usize) -> Result<Vec<f64>, NoValue> {
        let rows: usize = self.outputs.iter().map(|output| output.derivatives.len()).sum();
        if rows != 1 {
            let why = format!("the function gives {rows} numbers with a derivative: ask for its Jacobian");
            return Err(Failure::usage(why).into());
        }
        self.row(0, points, count)
    }

    /// The derivatives of all output numbers by all input numbers, at a point: a row per output number.
    pub fn jacobian(&self, point: &[f64]) -> Result<Vec<Vec<f64>>, NoValue> {
        let rows: usize = self.outputs.iter().map(|output| output.derivatives.len()).sum();
        (0..rows).map(|row| self.row(row, point, 1)).collect()
    }

    /// The derivatives of one output number by all input numbers, at each of `count` points: one call of `bwd_diff(f)` each.
    pub fn row(&self, row: usize, points: &[f64], count: usize) -> Result<Vec<f64>, NoValue> {
        let Some(backward) = self.functions.backward else {
            return Err(Failure::usage("the program has no backward derivative of the function").into());
        };
        let given = self.split(points, count)?;
        let (arguments, pairs) = self.backward_arguments(row, &given, count);
        let called = self.call(backward, count, &arguments)?;
        let types = &self.compiled.module.types;
        let outputs: Vec<Ty> = self.compiled.module.funcs[backward].sig.outputs().map(|o| o.ty).collect();
        let mut columns = Vec::new();
        for (at, input) in pairs.into_iter().enumerate() {
            let all = leaves(types, outputs[at]);
            // A pair has its value first.
            let derivatives = &all[self.inputs[input].numbers.len().min(all.len())..];
            columns.push(unpack(types, outputs[at], derivatives, &called.outputs[at], count));
        }
        Ok(interleaved(&columns, count))
    }

    /// The arguments of `bwd_diff(f)` with the cotangent of one output number one, and which inputs come back as pairs.
    fn backward_arguments(
        &self,
        row: usize,
        given: &[Vec<f64>],
        count: usize,
    ) -> (Vec<Vec<f64>>, Vec<usize>) {
        let sig = &self.compiled.module.funcs[self.functions.primal].sig;
        let mut first = 0;
        let mut seeds = self.outputs.iter().map(|output| {
            let size = output.derivatives.len();
            let own = first..first + size;
            first += size;
            (0..size).map(|i| if own.start + i == row { 1.0 } else { 0.0 }).collect::<Vec<f64>>()
        });
        let of_result = if sig.ret.is_some() { seeds.next() } else { None };
        let (mut arguments, mut pairs, mut input) = (Vec::new(), Vec::new(), 0);
        for param in &sig.params {
            let seed = if param.dir == Dir::In { None } else { seeds.next() };
            if param.dir == Dir::Out {
                arguments.extend(param.diff.then(|| seed.unwrap_or_default().repeat(count)));
                continue;
            }
            let slot = &self.inputs[input];
            let seed = seed.unwrap_or_else(|| vec![0.0; slot.derivatives.len()]);
            arguments.push(match slot.diff {
                true => interleaved(&[given[input].clone(), seed.repeat(count)], count),
                false => given[input].clone(),
            });
            pairs.extend(slot.diff.then_some(input));
            input += 1;
        }
        if sig.ret.as_ref().is_some_and(|ret| ret.diff) {
            arguments.push(of_result.unwrap_or_default().repeat(count));
        }
        (arguments, pairs)
    }

    /// The numbers of each input, at all points.
    fn split(&self, points: &[f64], count: usize) -> Result<Vec<Vec<f64>>, NoValue> {
        let size = self.point_size();
        if points.len() != size * count {
            let given = points.len();
            let why = format!("{count} points of {size} numbers are {}, not {given}", size * count);
            return Err(Failure::usage(why).into());
        }
        let mut start = 0;
        let part = |input: &Slot| {
            let own = start..start + input.numbers.len();
            start = own.end;
            points.chunks_exact(size.max(1)).flat_map(|point| point[own.clone()].iter().copied()).collect()
        };
        Ok(self.inputs.iter().map(part).collect())
    }

    /// Calls a function at all points; `given` has the numbers of each input.
    fn call(&self, func: FuncId, count: usize, given: &[Vec<f64>]) -> Result<Called, NoValue> {
        let module = &self.compiled.module;
        let inputs = module.funcs[func].sig.inputs().zip(given);
        let packed: Result<Vec<Vec<u8>>, Failure> =
            inputs.map(|(input, numbers)| pack(&module.types, input.ty, numbers, count)).collect();
        let packed = packed?;
        let packed: Vec<&[u8]> = packed.iter().map(|bytes| &bytes[..]).collect();
        let called = self.backend.call(&self.program, func, &self.arguments, count, &packed, self.launch)?;
        match called.ended {
            Ok(()) => Ok(called),
            Err((point, stopped)) => Err(NoValue::Stopped(point, Box::new(stopped))),
        }
    }
}

/// Numbers as an array of values of a type, in C layout.
fn pack(types: &Types, ty: Ty, numbers: &[f64], count: usize) -> Result<Vec<u8>, Failure> {
    let size = layout::layout(types, ty).map_or(0, |l| l.size as usize);
    let (leaves, mut bytes) = (leaves(types, ty), vec![0; size * count]);
    for (point, numbers) in numbers.chunks_exact(leaves.len().max(1)).enumerate() {
        for (leaf, number) in leaves.iter().zip(numbers) {
            write(leaf.scalar, *number, &mut bytes[point * size + leaf.offset..])?;
        }
    }
    Ok(bytes)
}

fn write(scalar: Scalar, number: f64, bytes: &mut [u8]) -> Result<(), Failure> {
    match scalar {
        Scalar::F32 => bytes[..4].copy_from_slice(&(number as f32).to_le_bytes()),
        Scalar::F64 => bytes[..8].copy_from_slice(&number.to_le_bytes()),
        _ => {
            let mut word = vec![];
            Number::Float(number).write(scalar, &mut word)?;
            bytes[..word.len()].copy_from_slice(&word);
        }
    }
    Ok(())
}

/// Some of the numbers of each value of an array.
fn unpack(types: &Types, ty: Ty, leaves: &[Leaf], bytes: &[u8], count: usize) -> Vec<f64> {
    let size = layout::layout(types, ty).map_or(0, |l| l.size as usize);
    let number =
        |point: usize, leaf: &Leaf| Number::read(leaf.scalar, &bytes[point * size + leaf.offset..]).as_f64();
    (0..count).flat_map(|point| leaves.iter().map(move |leaf| number(point, leaf))).collect()
}

/// Arrays with as many numbers for each point, as one with all numbers of a point side by side.
fn interleaved(arrays: &[Vec<f64>], count: usize) -> Vec<f64> {
    let point = |i: usize| {
        arrays.iter().flat_map(move |array| {
            let size = array.len() / count.max(1);
            array[i * size..(i + 1) * size].iter().copied()
        })
    };
    (0..count).flat_map(point).collect()
}
