//! Finds additions to gradients at which all lanes of a wave have the same address, as in `weights[j]` in a loop over `j`. The
//! lanes are summed, and one of them adds the sum to memory.
//!
//! ```text
//! global @sums: rwbuffer<f32> param
//!
//! func @f(%x: f32, %i: u32) {
//!   %sums: rwbuffer<f32> = global @sums
//!   %zero: u32 = const 0
//!   %old: f32 = atomic add %sums, %x [%zero]
//!   return
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @sums: rwbuffer<f32> param
//!
//! func @f(%x: f32, %i: u32) {
//!   %sums: rwbuffer<f32> = global @sums
//!   %zero: u32 = const 0
//!   %sum: f32 = wave sum %x
//!   %lane: u32 = wave lane_index
//!   %first: u32 = wave min %lane
//!   %is_first: bool = eq %lane, %first
//!   if %is_first {
//!     %old: f32 = atomic add %sums, %sum [%zero]
//!     yield
//!   } else {
//!     yield
//!   }
//!   return
//! }
//! ```
//!
//! Memory and indices are followed by [`Uniform`], through calls: an input of a function varies if it does in one of the calls. The pass runs
//! on derived kernels, if they may use operations on waves. CUDA has an addition of its own instead, which compares the addresses
//! (`ct::atomic_add_together` in the prelude).

use crate::calls::Calls;
use crate::uniform::{Rules, Uniform};
use cotangent_base::{EntitySet, Map, Scalar, Set};
use cotangent_ir::wave::Wave;
use cotangent_ir::{
    Atomic, AtomicKind, Func, FuncId, Inst, Math, Module, Op, RegionData, Type, Types, Value,
};

/// The additions, by function. The functions are given callees first.
pub fn together(
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
            && !uniform.varies(data.operands[0])
            && data.operands[2..].iter().all(|index| !uniform.varies(*index))
    };
    insts.into_iter().filter(is_together).collect()
}

/// Sums what the lanes of a wave add to one element.
pub fn wave_sums(module: &mut Module) {
    let Calls { callees_first, recursive, .. } =
        Calls::below(module, module.funcs.keys().collect::<Vec<_>>());
    let found = together(module, &callees_first, &recursive);
    for (id, chosen) in found.into_iter().filter(|(_, chosen)| !chosen.is_empty()) {
        let mut func = module.detach(id);
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                let is_chosen = chosen.contains(&inst);
                let insts =
                    if is_chosen { first_adds(&mut module.types, &mut func, inst) } else { vec![inst] };
                func.regions[region].insts.extend(insts);
            }
        }
        module.funcs[id] = func;
    }
}

/// The addition of the sum over all active lanes, by the first of them.
fn first_adds(types: &mut Types, func: &mut Func, add: Inst) -> Vec<Inst> {
    let (word, truth) = (types.scalar(Scalar::U32), types.scalar(Scalar::Bool));
    let (value, span) = (func.insts[add].operands[1], func.insts[add].span);
    let result = |func: &Func, inst: Inst| func.insts[inst].results[0];
    let sum = func.new_inst(Op::Wave(Wave::Sum), &[value], &[func.ty(value)], span);
    func.insts[add].operands[1] = result(func, sum);
    let lane = func.new_inst(Op::Wave(Wave::LaneIndex), &[], &[word], span);
    let first = func.new_inst(Op::Wave(Wave::Min), &[result(func, lane)], &[word], span);
    let is_first =
        func.new_inst(Op::Math(Math::Eq), &[result(func, lane), result(func, first)], &[truth], span);
    let branch = func.new_inst(Op::If, &[result(func, is_first)], &[], span);
    for insts in [vec![add], vec![]] {
        let end = func.new_inst(Op::Yield, &[], &[], span);
        let insts = insts.into_iter().chain([end]).collect();
        let region = func.regions.push(RegionData { args: vec![], insts });
        func.insts[branch].regions.push(region);
    }
    vec![sum, lane, first, is_first, branch]
}
