//! Who calls whom: which functions are recursive, and an order in which callees come before their callers.
//!
//! Only calls count that are written: what a derivative not written yet will call is not known.

use cotangent_base::{Entity, EntityMap, EntitySet};
use cotangent_ir::{Func, FuncId, Module, Op};

/// The calls of a module.
pub struct Calls {
    /// The functions that call themselves, directly or through others.
    pub recursive: EntitySet<FuncId>,
    /// All functions, callees before callers as far as recursion allows.
    pub callees_first: Vec<FuncId>,
}

impl Calls {
    /// Looks at all functions of a module.
    pub fn of(module: &Module) -> Calls {
        let calls: EntityMap<FuncId, Vec<FuncId>> = module.funcs.values().map(callees).collect();
        let unseen = EntityMap::filled(0, calls.len());
        let found = Calls { recursive: EntitySet::new(), callees_first: Vec::with_capacity(calls.len()) };
        let mut search =
            Search { calls, order: unseen.clone(), low: unseen, path: Vec::new(), seen: 0, found };
        for func in module.funcs.keys() {
            if search.order[func] == 0 {
                search.visit(func);
            }
        }
        search.found
    }
}

fn callees(func: &Func) -> Vec<FuncId> {
    let mut callees = Vec::new();
    func.walk(func.body, &mut |inst| {
        if let Op::Call(callee) = func.insts[inst].op {
            callees.push(callee);
        }
    });
    callees
}

/// Tarjan's search for strongly connected components. A finished function has `low` zero.
struct Search {
    calls: EntityMap<FuncId, Vec<FuncId>>,
    order: EntityMap<FuncId, u32>,
    low: EntityMap<FuncId, u32>,
    path: Vec<FuncId>,
    seen: u32,
    found: Calls,
}

impl Search {
    fn visit(&mut self, func: FuncId) {
        self.seen += 1;
        (self.order[func], self.low[func]) = (self.seen, self.seen);
        let start = self.path.len();
        self.path.push(func);
        for callee in std::mem::take(&mut self.calls[func]) {
            if callee.index() >= self.order.len() {
                continue;
            }
            if callee == func {
                self.found.recursive.insert(func);
            }
            if self.order[callee] == 0 {
                self.visit(callee);
            }
            if self.low[callee] != 0 {
                self.low[func] = self.low[func].min(self.low[callee]);
            }
        }
        if self.low[func] == self.order[func] {
            let component = self.path.split_off(start);
            if component.len() > 1 {
                self.found.recursive.extend(component.iter().copied());
            }
            self.found.callees_first.extend(component.iter().copied());
            for member in component {
                self.low[member] = 0;
            }
        }
    }
}
