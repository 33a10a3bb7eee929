//! Orders `static` variables so that each is initialized after those that it reads.
//!
//! ```text
//! static float a = scale;
//! static float b = 2 * a;      the program may use `b` first
//! ```
//!
//! Input: the module. Programs initialize variables in the order of the module's globals. Lowering adds globals in the order of
//! first use, so this permutes the variables among the indices that they have. Variables that do not read each other stay in order.

use cotangent_base::{Map, Set};
use cotangent_ir::{FuncId, Global, GlobalKind, Module, Op};

/// Orders the variables of a module.
pub(crate) fn order(module: &mut Module) {
    let init = |global: &Global| matches!(module.globals[*global].kind, GlobalKind::Static(Some(_)));
    let places: Vec<Global> = module.globals.keys().filter(init).collect();
    let mut sorted = Sorted { module, seen: Set::default(), order: vec![] };
    places.iter().for_each(|global| sorted.variable(*global));
    let order = sorted.order;
    if order == places {
        return;
    }
    let moved: Map<Global, Global> = order.iter().copied().zip(places.iter().copied()).collect();
    let data: Vec<_> = order.iter().map(|global| module.globals[*global].clone()).collect();
    for (place, data) in places.into_iter().zip(data) {
        module.globals[place] = data;
    }
    for inst in module.funcs.values_mut().flat_map(|func| func.insts.values_mut()) {
        if let Op::Global(global) = &mut inst.op {
            *global = moved.get(global).copied().unwrap_or(*global);
        }
    }
}

struct Sorted<'m> {
    module: &'m Module,
    seen: Set<Global>,
    order: Vec<Global>,
}

impl Sorted<'_> {
    /// Adds a variable after those that its initial value depends on.
    fn variable(&mut self, global: Global) {
        let GlobalKind::Static(Some(init)) = self.module.globals[global].kind else { return };
        if self.seen.insert(global) {
            self.function(init, &mut Set::default());
            self.order.push(global);
        }
    }

    /// Adds the variables that a function may read.
    fn function(&mut self, func: FuncId, seen: &mut Set<FuncId>) {
        if !seen.insert(func) {
            return;
        }
        for inst in self.module.funcs[func].all_insts() {
            if let Op::Global(global) = self.module.funcs[func].insts[inst].op {
                self.variable(global);
            } else if let Op::Call(callee) = self.module.funcs[func].insts[inst].op {
                self.function(callee, seen);
            }
        }
    }
}
