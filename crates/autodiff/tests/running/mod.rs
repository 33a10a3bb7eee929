//! Runs the functions of random programs: three floats, an array and an integer in; a float, an array and an integer out.

use crate::random::{ELEMENTS, Random};
use cotangent_interp::{Machine, Options, Val};
use cotangent_ir::{FuncId, Module};

/// Floats in the state of a random program.
pub const FLOATS: usize = 3 + ELEMENTS as usize;

/// More than any random program needs: a program that was made endless by mistake stops.
const MAX_STEPS: u64 = 1_000_000;

/// A machine for one module.
pub struct Run<'m>(Machine<'m>);

impl<'m> Run<'m> {
    /// Floats are floats.
    pub fn narrow(module: &'m Module) -> Self {
        Run(Machine::new(module, Options { max_steps: MAX_STEPS, ..Options::default() }))
    }

    /// Floats are evaluated in binary64.
    pub fn wide(module: &'m Module) -> Self {
        Run(Machine::new(module, Options { wide: true, max_steps: MAX_STEPS, ..Options::default() }))
    }

    /// The outputs of a function, which must not stop.
    pub fn call(&mut self, func: FuncId, inputs: Vec<Val>) -> Vec<Val> {
        self.0.call(func, inputs).unwrap_or_else(|stopped| panic!("{stopped:?}"))
    }

    /// How often something looked at what nobody may look at.
    pub fn undef_reads(&self) -> u64 {
        self.0.counters().undef_reads
    }
}

/// Some floats for the state of program `seed`.
pub fn values(seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed + 1_000_000);
    (0..FLOATS).map(|_| random.float()).collect()
}

/// A direction in a space of `n` dimensions.
pub fn direction(seed: u64, n: usize) -> Vec<f64> {
    let mut random = Random::new(seed + 2_000_000);
    (0..n).map(|_| random.float()).collect()
}

/// The floats of a state as inputs.
pub fn state(floats: &[f64]) -> Vec<Val> {
    let mut state: Vec<Val> = floats[..3].iter().map(|f| Val::float(*f)).collect();
    state.push(Val::floats(&floats[3..FLOATS]));
    state
}

/// The inputs `values + h * direction` with the integer `start`.
pub fn shifted(values: &[f64], direction: &[f64], h: f64, start: i64) -> Vec<Val> {
    let floats: Vec<f64> = values.iter().zip(direction).map(|(v, d)| v + h * d).collect();
    let mut inputs = state(&floats);
    inputs.push(Val::int(start));
    inputs
}

/// The inputs of program `seed` with the integer `start`.
pub fn inputs(seed: u64, start: i64) -> Vec<Val> {
    let values = values(seed);
    shifted(&values, &values, 0.0, start)
}

/// All floats in some values, in order.
pub fn all_floats(values: &[Val]) -> Vec<f64> {
    let float = |v: &Val| v.as_float().into_iter().chain(all_floats(v.parts())).collect::<Vec<_>>();
    values.iter().flat_map(float).collect()
}
