//! Runs entry points over host memory.

use crate::Params;
use cotangent_interp::{Machine, Options, Stopped};
use cotangent_ir::{FuncId, Module};

/// Runs an entry point over `groups` groups of threads; what it writes is in `params` afterwards.
pub fn run(
    module: &Module,
    entry: FuncId,
    groups: [u32; 3],
    params: &mut Params,
    options: Options,
) -> Result<(), Stopped> {
    let mut machine = Machine::new(module, options);
    for (global, value) in params.values() {
        machine.set_global(global, value);
    }
    machine.dispatch(entry, groups)?;
    params.update(|global| machine.global(global));
    Ok(())
}
