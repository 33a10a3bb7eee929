//! Which parameters an entry point writes, for hosts that keep track of what changes in memory of their own.

use cotangent_ir::{FuncId, Global, Op};
use cotangent_lower::Lowered;
use cotangent_passes::calls::Calls;
use cotangent_passes::effects::{Place, place};

/// Parameters that an entry point writes.
#[derive(Clone, Default, Debug)]
pub struct Writes {
    /// Those that some instruction names.
    pub named: Vec<Global>,
    /// Those that some instruction may write: also what a function takes as an argument, where that could be this parameter.
    pub possible: Vec<Global>,
}

/// What `entry` and the functions that it calls write.
pub fn writes(lowered: &Lowered, entry: FuncId) -> Writes {
    let module = &lowered.module;
    let mut found = Writes::default();
    let mut add = |place: Place| {
        for (global, data) in module.globals.iter() {
            let (named, possible) = match place {
                Place::Global(own) => (own == global, own == global),
                Place::AnyOf(ty) => (false, data.ty == ty),
                Place::Any => (false, true),
            };
            if named && !found.named.contains(&global) {
                found.named.push(global);
            }
            if possible && !found.possible.contains(&global) {
                found.possible.push(global);
            }
        }
    };
    for id in Calls::below(module, [entry]).callees_first {
        let func = &module.funcs[id];
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            if matches!(data.op, Op::Store(_) | Op::StoreTexel | Op::Atomic(_)) {
                add(place(&module.types, func, data.operands[0]));
            }
        }
    }
    found
}
