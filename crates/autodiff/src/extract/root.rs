//! What may be done again in the backward pass of a request.
//!
//! Everything that the function in question calls runs in the forward pass or in the backward pass, the user's own
//! derivatives included. So what any of that writes may differ between the two, and whoever reads it reads it once.

use super::Mask;
use cotangent_base::{EntitySet, Set};
use cotangent_ir::{Func, FuncId, Inst, Module, Op};
use cotangent_passes::calls::Calls;
use cotangent_passes::effects::{Effects, Place, place};

/// The function that the user asked a derivative of, and what is known about all it calls.
pub(super) struct Root {
    func: FuncId,
    /// What functions do.
    pub effects: Effects,
    /// Which globals may change between the two passes.
    pub changing: Mask,
    /// The functions that call themselves, directly or through others.
    pub recursive: EntitySet<FuncId>,
}

impl Root {
    /// Looks at the module as it is now.
    pub fn of(module: &Module, func: FuncId) -> Self {
        let effects = Effects::below(module, [func]);
        let changes = |g| effects.derivative_may_write(func, Place::Global(g));
        let changing = module.globals.keys().map(changes).collect();
        Root { func, effects, changing, recursive: Calls::below(module, [func]).recursive }
    }

    /// Whether a function may run again: it writes nothing, and what it reads does not change.
    pub fn may_repeat(&self, module: &Module, func: FuncId) -> bool {
        let does = self.effects.func(func);
        !does.writes && (!does.reads || self.reads_what_stays(module, func))
    }

    fn reads_what_stays(&self, module: &Module, func: FuncId) -> bool {
        let mut seen = Set::from_iter([func]);
        let mut open = vec![func];
        while let Some(func) = open.pop() {
            let func = &module.funcs[func];
            for inst in func.all_insts() {
                if let Op::Call(callee) = func.insts[inst].op {
                    open.extend(seen.insert(callee).then_some(callee));
                } else if !self.stays(module, func, inst) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a load gives the same again; true of everything else.
    fn stays(&self, module: &Module, func: &Func, inst: Inst) -> bool {
        let data = &func.insts[inst];
        !matches!(data.op, Op::Load(_))
            || !self.effects.derivative_may_write(self.func, place(&module.types, func, data.operands[0]))
    }

    /// Whether an instruction may run again, as far as memory goes.
    pub fn may_repeat_inst(&self, module: &Module, func: &Func, inst: Inst) -> bool {
        if let Op::Call(callee) = func.insts[inst].op {
            self.may_repeat(module, callee)
        } else {
            self.stays(module, func, inst)
        }
    }
}
