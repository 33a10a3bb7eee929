//! The functions that an entry point calls: their order, recursion, inlining, and the memory that the deepest calls need.

use super::{Compiler, MOST_INLINED, MOST_INLINED_BYTES, MOST_INLINED_ONCE, Result};
use crate::Unsupported;
use cotangent_base::{Map, Set};
use cotangent_ir::{Func, FuncId, FuncKind, GlobalKind, Module, Op};

impl Compiler<'_> {
    /// The functions that an entry point runs, callees first. Notes which recur.
    pub(super) fn reachable(&mut self, entry: FuncId) -> Result<Vec<FuncId>> {
        let statics = self.module.globals.values().filter_map(|g| match g.kind {
            GlobalKind::Static(init) => init,
            GlobalKind::Param | GlobalKind::Shared => None,
        });
        let mut walk = Walk { module: self.module, state: Map::default(), order: vec![], recursive: vec![] };
        for root in statics.chain([entry]) {
            walk.visit(root);
        }
        self.recursive = walk.recursive;
        for id in &walk.order {
            let func = &self.module.funcs[*id];
            if func.kind != FuncKind::Defined {
                return Err(Unsupported {
                    span: func.span,
                    what: "a derivative that is not written yet".into(),
                });
            }
            self.look_at(func);
        }
        Ok(walk.order)
    }

    fn look_at(&mut self, func: &Func) {
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            if let Op::Barrier(barrier) = &data.op {
                self.has_barriers |= barrier.sync;
            }
            if let Op::Wave(kind) = &data.op {
                self.has_waves |= !kind.is_alone();
            }
            if let Op::Store(_) = &data.op {
                self.stores_memory |= self.shapes.shape(func.ty(data.operands[1])).in_memory();
            }
        }
    }

    /// Decides which functions are inlined: small ones, those that are called once, and the entry point.
    pub(super) fn decide_inlining(&mut self, order: &[FuncId], entry: FuncId) {
        let calls: Vec<FuncId> = order.iter().flat_map(|id| callees(&self.module.funcs[*id])).collect();
        let mut totals: Map<FuncId, (usize, u64)> = Map::default();
        for id in order {
            let func = &self.module.funcs[*id];
            let (mut size, mut bytes) = (func.insts.len(), self.storage(*id));
            for callee in callees(func).into_iter().filter(|callee| self.inlined.contains(callee)) {
                let (more, more_bytes) = totals[&callee];
                (size, bytes) = (size + more, bytes.saturating_add(more_bytes));
            }
            totals.insert(*id, (size, bytes));
            let count = calls.iter().filter(|callee| **callee == *id).count();
            let most = if *id == entry || count == 1 { MOST_INLINED_ONCE } else { MOST_INLINED };
            let is_called = *id == entry || count > 0;
            if is_called && size <= most && bytes <= MOST_INLINED_BYTES && !self.recursive.contains(id) {
                self.inlined.insert(*id);
            }
        }
        // Their first values are computed by calls.
        for global in self.module.globals.values() {
            if let GlobalKind::Static(Some(init)) = global.kind {
                self.inlined.remove(&init);
            }
        }
    }

    /// At most so many bytes of storage a function needs for values that are in memory.
    fn storage(&self, id: FuncId) -> u64 {
        let func = &self.module.funcs[id];
        let mut seen = Set::default();
        let values = func.values.keys().filter(|value| self.shapes.shape(func.ty(*value)).in_memory());
        let own = values.filter(|value| self.places[&id].slot(*value).is_none_or(|slot| seen.insert(slot)));
        own.map(|value| self.shapes.shape(func.ty(value)).size).fold(0, u64::saturating_add)
    }

    /// What the deepest calls need together, if they do not recur. Callees come first in `order`.
    pub(super) fn deepest(&self, order: &[FuncId], each: &Map<FuncId, u64>) -> u64 {
        let mut needs: Map<FuncId, u64> = Map::default();
        for id in order {
            let func = &self.module.funcs[*id];
            let below =
                callees(func).into_iter().filter_map(|callee| needs.get(&callee)).max().copied().unwrap_or(0);
            needs.insert(*id, below + each.get(id).copied().unwrap_or(0));
        }
        needs.values().max().copied().unwrap_or(0)
    }
}

/// The callee of each call.
fn callees(func: &Func) -> Vec<FuncId> {
    func.all_insts().into_iter().filter_map(|inst| func.insts[inst].op.callee()).collect()
}

/// A walk along calls, depth first.
struct Walk<'m> {
    module: &'m Module,
    /// Whether each function seen is done.
    state: Map<FuncId, bool>,
    order: Vec<FuncId>,
    recursive: Vec<FuncId>,
}

impl Walk<'_> {
    fn visit(&mut self, id: FuncId) {
        if self.state.contains_key(&id) {
            return;
        }
        self.state.insert(id, false);
        for callee in callees(&self.module.funcs[id]) {
            match self.state.get(&callee) {
                // It is among those that are being visited: a call of it closes a circle.
                Some(false) => self.recursive.push(callee),
                Some(true) => {}
                None => self.visit(callee),
            }
        }
        self.state.insert(id, true);
        self.order.push(id);
    }
}
