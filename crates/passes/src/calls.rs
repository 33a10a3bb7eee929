//! The call graph: which functions are recursive, and an order in which callees come before callers.
//!
//! Only calls in existing bodies count. The calls of a derivative that is not written yet are unknown.

use cotangent_base::{EntitySet, Map};
use cotangent_ir::{Func, FuncId, FuncKind, GlobalKind, Module, Op};

/// The calls of functions of a module.
pub struct Calls {
    /// The functions that call themselves, directly or through others.
    pub recursive: EntitySet<FuncId>,
    /// The functions, callees before callers as far as recursion allows: in the order in which a depth-first search leaves them.
    pub callees_first: Vec<FuncId>,
}

impl Calls {
    /// Looks at all functions of a module.
    pub fn of(module: &Module) -> Calls {
        Calls::below(module, module.funcs.keys())
    }

    /// Looks at the functions that a target emits: initializers of `static` variables, which entry points run first, the entry points,
    /// and what they call. Without an entry point, all functions that have a body.
    pub fn emitted(module: &Module) -> Calls {
        let inits = module.globals.values().filter_map(|global| match global.kind {
            GlobalKind::Static(init) => init,
            GlobalKind::Param | GlobalKind::Shared => None,
        });
        let has_entry = module.funcs.values().any(|func| func.entry.is_some());
        let is_root =
            |func: &Func| if has_entry { func.entry.is_some() } else { func.kind == FuncKind::Defined };
        let roots = module.funcs.iter().filter(|(_, func)| is_root(func)).map(|(id, _)| id);
        Calls::below(module, inits.chain(roots))
    }

    /// Looks at `roots` and at what they call, perhaps through others.
    pub fn below(module: &Module, roots: impl IntoIterator<Item = FuncId>) -> Calls {
        let found = Calls { recursive: EntitySet::new(), callees_first: Vec::new() };
        let mut search = Search { module, marks: Map::default(), path: Vec::new(), found };
        for func in roots {
            if !search.marks.contains_key(&func) {
                search.visit(func);
            }
        }
        search.found
    }
}

/// The functions that `func` calls, in order and perhaps more than once.
pub fn callees(func: &Func) -> Vec<FuncId> {
    let mut callees = Vec::new();
    func.walk(func.body, &mut |inst| {
        if let Op::Call(callee) = func.insts[inst].op {
            callees.push(callee);
        }
    });
    callees
}

/// Tarjan's search for strongly connected components.
struct Search<'m> {
    module: &'m Module,
    marks: Map<FuncId, Mark>,
    path: Vec<FuncId>,
    found: Calls,
}

/// What is known of a function that the search has seen.
#[derive(Clone, Copy)]
enum Mark {
    /// On the path: the least number of a function on it that this one leads to. They are numbered in the order in which they were seen.
    Open(usize),
    /// Its component is known.
    Done,
}

impl Search<'_> {
    /// Visits a function not seen before; says what it leads to.
    fn visit(&mut self, func: FuncId) -> Mark {
        let number = self.marks.len();
        self.marks.insert(func, Mark::Open(number));
        let start = self.path.len();
        self.path.push(func);
        let mut low = number;
        for callee in self.module.funcs.get(func).map_or(Vec::new(), callees) {
            if callee == func {
                self.found.recursive.insert(func);
            }
            let mark = self.marks.get(&callee).copied();
            if let Mark::Open(leads) = mark.unwrap_or_else(|| self.visit(callee)) {
                low = low.min(leads);
            }
        }
        let mark = if low < number { Mark::Open(low) } else { Mark::Done };
        self.marks.insert(func, mark);
        if let Mark::Done = mark {
            let component = self.path.split_off(start);
            if component.len() > 1 {
                self.found.recursive.extend(component.iter().copied());
            }
            self.marks.extend(component.into_iter().map(|member| (member, Mark::Done)));
        }
        self.found.callees_first.push(func);
        mark
    }
}
