//! What may be done again in the backward pass of a request.
//!
//! Everything that the function in question calls runs in the forward pass or in the backward pass, the user's own
//! derivatives included. So what any of that writes may differ between the two, and whoever reads it reads it once. What an
//! operation by itself allows is a column of the operation table, [`Again`]; whether memory changes is known here.

use cotangent_base::{EntitySet, Set};
use cotangent_ir::{Again, Func, FuncId, FuncKind, Inst, Module, Op, Prefer};
use cotangent_passes::calls::Calls;
use cotangent_passes::effects::{Effects, Writes, is_read_only, place};

/// The function that the user asked a derivative of, and what is known about all it calls.
pub(super) struct Root {
    func: FuncId,
    /// What functions do.
    pub effects: Effects,
    /// What may change between the two passes.
    pub changing: Writes,
    /// The functions that call themselves, directly or through others.
    pub recursive: EntitySet<FuncId>,
    /// Whether the derivative is differentiated again.
    pub again: bool,
}

impl Root {
    /// Looks at the module as it is now.
    pub fn of(module: &Module, func: FuncId, again: bool) -> Self {
        let effects = Effects::below(module, [func]);
        let changing = effects.derivative_writes(func);
        Root { func, effects, changing, recursive: Calls::below(module, [func]).recursive, again }
    }

    /// Whether a source may run again, as far as derivatives of this derivative go: they would run the user's derivative twice.
    pub fn may_repeat_source(&self, prefer: Prefer) -> bool {
        !self.again || prefer == Prefer::Recompute
    }

    /// Whether a function may run again: all that it and those it calls are made of may, and where the user wrote a
    /// backward derivative in two steps, all that the first is made of.
    pub fn may_repeat(&self, module: &Module, func: FuncId) -> bool {
        let mut seen = Set::from_iter([func]);
        let mut open = vec![func];
        while let Some(func) = open.pop() {
            let func = &module.funcs[func];
            // Nobody knows yet what a derivative does that is not written.
            if matches!(func.kind, FuncKind::Request(..)) {
                return false;
            }
            open.extend(func.diff.apply.map(|apply| apply.primal).filter(|first| seen.insert(*first)));
            for inst in func.all_insts() {
                if let Op::Call(callee) = func.insts[inst].op {
                    open.extend(seen.insert(callee).then_some(callee));
                } else if !self.may_repeat_op(module, func, inst) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether an instruction may run again, its regions aside.
    pub fn may_repeat_inst(&self, module: &Module, func: &Func, inst: Inst) -> bool {
        if let Op::Call(callee) = func.insts[inst].op {
            self.may_repeat(module, callee)
        } else {
            self.may_repeat_op(module, func, inst)
        }
    }

    fn may_repeat_op(&self, module: &Module, func: &Func, inst: Inst) -> bool {
        let data = &func.insts[inst];
        match data.op.again() {
            Again::Same | Again::Inner => true,
            Again::Never => false,
            Again::Unwritten => {
                let (types, handle) = (&module.types, data.operands[0]);
                is_read_only(types, func, handle)
                    || !self.effects.derivative_may_write(self.func, place(types, func, handle))
            }
        }
    }
}
