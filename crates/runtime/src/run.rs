//! Runs entry points over host memory.

use crate::Params;
use crate::codec::{decode, decode_buffer, encode_buffer};
use cotangent_interp::{Machine, Options, Stopped, Val};
use cotangent_ir::{FuncId, Module, Ty, Type, Types};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Stop after so many steps.
    pub max_steps: Option<u64>,
}

/// What a run leaves besides memory.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the program printed.
    pub stdout: String,
    /// How many steps it took.
    pub steps: u64,
}

fn machine<'m>(module: &'m Module, options: &RunOptions) -> Machine<'m> {
    let mut inner = Options::default();
    if let Some(steps) = options.max_steps {
        inner.max_steps = steps;
    }
    Machine::new(module, inner)
}

/// Runs an entry point over `groups` groups of threads; what it writes is in `params` afterwards.
pub fn run(
    module: &Module,
    entry: FuncId,
    groups: [u32; 3],
    params: &mut Params,
    options: &RunOptions,
) -> Result<Outcome, Stopped> {
    let mut types = module.types.clone();
    let mut machine = machine(module, options);
    for (_, global, ty, bytes) in params.iter() {
        machine.set_global(global, value_of(&mut types, ty, bytes));
    }
    machine.dispatch(entry, groups)?;
    for name in params.writable() {
        let (global, ty, mut bytes) = params.block(name);
        if let Type::Buffer(elem, _) = types.get(ty) {
            encode_buffer(&mut types, elem, machine.global(global), &mut bytes);
        }
        params.replace(name, bytes);
    }
    Ok(Outcome { stdout: String::new(), steps: machine.counters().steps })
}

fn value_of(types: &mut Types, ty: Ty, bytes: &[u8]) -> Val {
    match types.get(ty) {
        Type::Buffer(elem, _) => decode_buffer(types, elem, bytes),
        _ => decode(types, ty, bytes),
    }
}
