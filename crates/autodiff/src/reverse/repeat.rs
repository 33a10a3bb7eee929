//! Decides what may run again in the backward pass of a request.
//!
//! Input: the module and the function that a request differentiates. Output: a yes or no per instruction or callee. All
//! callees of the function, including custom derivatives, run in the forward pass or in the backward pass. So memory that any
//! of them writes may differ between the passes, and loads from it must not be repeated. The operation table says which
//! operations may run again at all ([`Again`]); this module finds which memory changes.

use crate::budget::Policy;
use crate::callee::is_source;
use cotangent_base::{EntitySet, Set};
use cotangent_ir::{Again, Func, FuncId, FuncKind, Inst, Module, Op};
use cotangent_passes::calls::Calls;
use cotangent_passes::effects::{Effects, Writes, is_read_only, place};

/// The function that the user asked a derivative of, and what is known about all it calls.
pub(crate) struct Root {
    func: FuncId,
    /// What functions do.
    pub effects: Effects,
    /// The memory that may change between the two passes.
    pub changing: Writes,
    /// The functions that call themselves, directly or through others.
    pub recursive: EntitySet<FuncId>,
    /// Whether the derivative is differentiated again.
    pub again: bool,
    /// How bytes are weighed against work.
    pub policy: Policy,
}

impl Root {
    /// Looks at the module as it is now.
    pub fn of(module: &Module, func: FuncId, again: bool, policy: Policy) -> Self {
        let effects = Effects::below(module, [func]);
        let changing = effects.derivative_writes(func);
        Root { func, effects, changing, recursive: Calls::below(module, [func]).recursive, again, policy }
    }

    /// Whether a function may run again as far as sources are concerned. If the derivative is differentiated again, running a
    /// source again would run the custom derivative twice, whichever mode it serves.
    pub fn may_repeat_sources(&self, module: &Module, func: FuncId) -> bool {
        !self.again || !is_source(&module.funcs, func)
    }

    /// Whether a function may run again: all instructions of it and of the functions it calls may. For a custom backward
    /// derivative in two steps, those of the first step count too.
    pub fn may_repeat(&self, module: &Module, func: FuncId) -> bool {
        let mut seen = Set::from_iter([func]);
        let mut open = vec![func];
        while let Some(func) = open.pop() {
            let func = &module.funcs[func];
            // The effects of a derivative without a body are not known yet.
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
            self.may_repeat(module, callee) && self.may_repeat_sources(module, callee)
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
