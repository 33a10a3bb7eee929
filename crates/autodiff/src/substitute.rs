//! Substitutes that are reached through calls.
//!
//! Where a derivative is wanted, a substitute runs in place of the function it stands for, and so it does in the
//! functions that are differentiated on the way. Reverse mode also runs those functions for their values alone: as
//! primal halves that keep nothing, and again in the backward pass. The original would give another value there. So a
//! function is differentiated by way of a copy if a call in it, perhaps through others, leads to a substitute:
//!
//! ```text
//! func @rough substitute(@smooth)         func @inner.1 differentiable {
//! func @inner differentiable {              call @smooth
//!   call @rough                           }
//! }                                       func @use.1 differentiable {
//! func @use differentiable {                call @inner.1
//!   call @inner                           }
//! }
//! ```
//!
//! Functions whose derivative is not taken from their body are called as they are.

use cotangent_base::{Map, Set};
use cotangent_ir::{Func, FuncId, FuncKind, Module, Op};

/// The copies made so far.
#[derive(Default)]
pub struct Substitutes {
    copies: Map<FuncId, FuncId>,
}

impl Substitutes {
    /// The function to differentiate for a derivative of `func`: itself, unless it leads to a substitute.
    pub fn resolve(&mut self, module: &mut Module, func: FuncId) -> FuncId {
        if module.funcs.values().all(|f| f.diff.substitute.is_none()) {
            return func;
        }
        let stand_in = stand_in(module, func);
        if leads_to_substitute(module, stand_in) { self.copy(module, stand_in) } else { func }
    }

    fn copy(&mut self, module: &mut Module, func: FuncId) -> FuncId {
        if let Some(&known) = self.copies.get(&func) {
            return known;
        }
        let id = module.add_func(module.funcs[func].clone());
        self.copies.insert(func, id);
        for inst in module.funcs[id].all_insts() {
            let Op::Call(callee) = module.funcs[id].insts[inst].op else {
                continue;
            };
            let mut callee = stand_in(module, callee);
            if leads_to_substitute(module, callee) {
                callee = self.copy(module, callee);
            }
            module.funcs[id].insts[inst].op = Op::Call(callee);
        }
        id
    }
}

/// The function that runs in place of `func` where derivatives are wanted.
fn stand_in(module: &Module, mut func: FuncId) -> FuncId {
    for _ in 0..module.funcs.len() {
        match module.funcs[func].diff.substitute {
            Some(substitute) => func = substitute,
            None => break,
        }
    }
    func
}

/// Whether a function that is differentiated from its body calls one that has a substitute, perhaps through others of
/// its kind.
fn leads_to_substitute(module: &Module, func: FuncId) -> bool {
    let mut seen = Set::from_iter([func]);
    let mut open = vec![func];
    while let Some(func) = open.pop() {
        let func = &module.funcs[func];
        if !is_followed(func) {
            continue;
        }
        for inst in func.all_insts() {
            let Op::Call(callee) = func.insts[inst].op else {
                continue;
            };
            if module.funcs[callee].diff.substitute.is_some() {
                return true;
            }
            open.extend(seen.insert(callee).then_some(callee));
        }
    }
    false
}

/// Whether derivatives of the function come from its body. Those that are declared zero count too.
fn is_followed(func: &Func) -> bool {
    let diff = &func.diff;
    let custom = diff.rule.or(diff.forward).is_some() || diff.has_custom_backward();
    func.kind == FuncKind::Defined && diff.differentiable.is_some() && !custom
}
