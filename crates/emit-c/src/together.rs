//! Finds the additions to gradients at which all lanes of a warp probably have one address, as in `weights[j]` in a loop over `j`.
//!
//! An index is followed by [`Uniform`], through calls: an input of a function varies if it does in one of the calls. Only speed
//! depends on it: the device compares the addresses (`ct::atomic_add_together` in the prelude). CUDA alone has such additions.

use cotangent_base::{EntitySet, Map, Scalar, Set};
use cotangent_ir::{Atomic, AtomicKind, Func, FuncId, Inst, Module, Op, Type, Value};
use cotangent_passes::uniform::{Rules, Uniform};

/// The additions, by function. The functions are given callees first.
pub(crate) fn together(
    module: &Module,
    callees_first: &[FuncId],
    recursive: &EntitySet<FuncId>,
) -> Map<FuncId, Set<Inst>> {
    let mut found = Map::default();
    let mut inputs: Map<FuncId, Vec<bool>> = Map::default();
    for &id in callees_first.iter().rev() {
        let func = &module.funcs[id];
        let known = inputs.get(&id).filter(|_| !recursive.contains(id)).cloned().unwrap_or_default();
        let uniform = Uniform::of(&module.types, func, Rules { inputs: &known, ..Rules::default() });
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            if let Op::Call(callee) = data.op {
                let varies = data.operands.iter().map(|operand| uniform.varies(*operand));
                let all = inputs.entry(callee).or_insert_with(|| vec![false; data.operands.len()]);
                all.iter_mut().zip(varies).for_each(|(known, varies)| *known |= varies);
            }
        }
        found.insert(id, additions(module, func, &uniform));
    }
    found
}

fn additions(module: &Module, func: &Func, uniform: &Uniform<'_>) -> Set<Inst> {
    let insts = func.all_insts();
    let used: Set<Value> = insts.iter().flat_map(|inst| func.insts[*inst].operands.iter().copied()).collect();
    let is_together = |inst: &Inst| {
        let data = &func.insts[*inst];
        let is_sum = matches!(&data.op, Op::Atomic(Atomic { kind: AtomicKind::Add, .. }));
        is_sum
            && matches!(module.types.get(func.ty(data.operands[1])), Type::Scalar(Scalar::F32 | Scalar::F64))
            && data.results.iter().all(|result| !used.contains(result))
            && data.operands[2..].iter().all(|index| !uniform.varies(*index))
    };
    insts.into_iter().filter(is_together).collect()
}
