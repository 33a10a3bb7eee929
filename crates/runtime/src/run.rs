//! Runs entry points over host memory.

use crate::Params;
use crate::codec::{decode, decode_buffer, encode_buffer};
use cotangent_interp::{Machine, Options, Stopped, Val};
use cotangent_ir::{FuncId, Module, Ty, Type, Types};

/// Runs an entry point over `groups` groups of threads; what it writes is in `params` afterwards.
pub fn run(
    module: &Module,
    entry: FuncId,
    groups: [u32; 3],
    params: &mut Params,
    options: Options,
) -> Result<(), Stopped> {
    let mut types = module.types.clone();
    let mut machine = Machine::new(module, options);
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
    Ok(())
}

fn value_of(types: &mut Types, ty: Ty, bytes: &[u8]) -> Val {
    match types.get(ty) {
        Type::Buffer(elem, _) => decode_buffer(types, elem, bytes),
        _ => decode(types, ty, bytes),
    }
}
