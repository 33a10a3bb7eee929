//! Runs entry points over host memory.

use crate::Params;
use crate::codec::encode_buffer;
use cotangent_interp::{Machine, Options, Stopped};
use cotangent_ir::{FuncId, Module, Type};

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
    for (global, value) in params.values() {
        machine.set_global(global, value);
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
