//! Runs entry points over host memory.

use crate::Params;
use cotangent_interp::{Machine, Options, Stopped};
use cotangent_ir::{FuncId, Module};

/// Runs an entry point over `groups` groups of threads; what it writes is in `params` afterwards. What it prints is
/// appended to `output`, also if it stops before its end.
pub fn run(
    module: &Module,
    entry: FuncId,
    groups: [u32; 3],
    params: &mut Params,
    options: Options,
    output: &mut String,
) -> Result<(), Stopped> {
    let mut machine = Machine::new(module, options);
    for (global, value) in params.values() {
        machine.set_global(global, value);
    }
    let ended = machine.dispatch(entry, groups);
    output.push_str(&machine.take_output());
    ended?;
    params.update(|global| machine.global(global));
    Ok(())
}
