//! Finds custom derivatives that take care of memory themselves. Input: the functions of a module, one with a custom derivative, a
//! mode. Output: whether that derivative accesses memory for what its function accesses.
//!
//! ```text
//! float f(int i) { return x[i]; }        void f_bwd(int i, float d) { InterlockedAdd(dx[i], d); }      takes care
//! float g(float a) { return a * w[0]; }  void g_bwd(inout DifferentialPair<float> a, float d) { .. }    `w` gets nothing
//! ```
//!
//! A backward derivative that writes memory is trusted to write gradients, a forward derivative that reads memory which its function
//! does not read, to read tangents. All others pass on what their parameters tell, and nothing of what the function reads.

use cotangent_base::{EntityMap, Set};
use cotangent_ir::{Func, FuncId, Global, Inst, Mode, Op};
use cotangent_passes::calls::callees;

/// Whether the custom derivative of `id` of that mode, if there is one, takes care of memory.
pub(crate) fn takes_care(funcs: &EntityMap<FuncId, Func>, id: FuncId, mode: Mode) -> bool {
    let diff = &funcs[id].diff;
    match mode {
        Mode::Forward => {
            let own = accesses(funcs, id, is_read);
            let read = diff.forward.map(|forward| accesses(funcs, forward, is_read));
            read.into_iter().flatten().any(|read| read.is_none() || !own.contains(&read))
        }
        Mode::Backward => {
            let pullback = diff.apply.map(|apply| apply.pullback);
            let derivatives = diff.backward.into_iter().chain(pullback);
            derivatives.into_iter().any(|id| !accesses(funcs, id, is_write).is_empty())
        }
    }
}

/// Whether a function, or one that it calls, reads memory.
pub(crate) fn reads_memory(funcs: &EntityMap<FuncId, Func>, id: FuncId) -> bool {
    !accesses(funcs, id, is_read).is_empty()
}

fn is_read(op: &Op) -> bool {
    matches!(op, Op::Load(_) | Op::Texel | Op::Sample(_))
}

fn is_write(op: &Op) -> bool {
    matches!(op, Op::Store(_) | Op::StoreTexel | Op::Atomic(_))
}

/// The memory that a function and those below it access in some way; none stands for what has no name there.
fn accesses(funcs: &EntityMap<FuncId, Func>, id: FuncId, counts: fn(&Op) -> bool) -> Set<Option<Global>> {
    let (mut open, mut seen) = (vec![id], Set::from_iter([id]));
    let mut found = Set::default();
    while let Some(func) = open.pop().map(|id| &funcs[id]) {
        let insts = func.all_insts().into_iter().filter(|inst| counts(&func.insts[*inst].op));
        found.extend(insts.map(|inst| accessed(func, inst)));
        open.extend(callees(func).into_iter().filter(|callee| seen.insert(*callee)));
    }
    found
}

/// The global that an instruction accesses, if it names one.
fn accessed(func: &Func, inst: Inst) -> Option<Global> {
    let handle = func.insts[inst].operands.first()?;
    let Some(Op::Global(global)) = func.op(*handle) else { return None };
    Some(*global)
}
