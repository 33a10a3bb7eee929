//! Bounds the iterations that a thread makes in all loops together.
//!
//! Input: a function and all it calls. Output: the sum over its loops, if each has a bound. It changes nothing. `loop_bound` finds the
//! bounds of single loops; here only those count that are written beside the loops.

use cotangent_ir::{Const, Func, FuncId, Inst, Module, Op, Region};

/// The most iterations of a function and all it calls. `None` if a loop has no bound, or functions call themselves.
pub fn most_iterations(module: &Module, func: FuncId) -> Option<u64> {
    Search { module, known: vec![], open: vec![] }.func(func)
}

struct Search<'m> {
    module: &'m Module,
    known: Vec<(FuncId, Option<u64>)>,
    open: Vec<FuncId>,
}

impl Search<'_> {
    fn func(&mut self, id: FuncId) -> Option<u64> {
        if let Some((_, count)) = self.known.iter().find(|(known, _)| *known == id) {
            return *count;
        }
        if self.open.contains(&id) {
            return None;
        }
        self.open.push(id);
        let func = &self.module.funcs[id];
        let count = self.region(func, func.body);
        self.open.pop();
        self.known.push((id, count));
        count
    }

    fn region(&mut self, func: &Func, region: Region) -> Option<u64> {
        func.regions[region].insts.iter().try_fold(0_u64, |sum, inst| {
            let data = &func.insts[*inst];
            let mut own = if let Op::Call(callee) = data.op { self.func(callee)? } else { 0 };
            for region in &data.regions {
                own = own.saturating_add(self.region(func, *region)?);
            }
            if data.op.is_loop() {
                own = own.saturating_add(1).saturating_mul(bound(func, *inst)?);
            }
            Some(sum.saturating_add(own))
        })
    }
}

/// The most iterations of one loop.
fn bound(func: &Func, inst: Inst) -> Option<u64> {
    let data = &func.insts[inst];
    let count = data.operands.first().and_then(|count| func.op(*count));
    match (&data.op, count) {
        (Op::For(_), Some(Op::Const(Const::Int(count)))) => Some(u64::try_from(*count).unwrap_or(0)),
        (Op::For(info) | Op::While(info), _) => info.max_iters.map(u64::from),
        _ => None,
    }
}
