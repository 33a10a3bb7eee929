//! Finds substitutes that are reached through calls.
//!
//! In differentiated code, a substitute runs in place of the original, also in functions that are differentiated on the way.
//! Reverse mode runs those functions for their values too: as primal halves that store nothing, and again in the backward
//! pass. There the original would compute a different value. So if a call in a function leads to a substitute, directly or
//! indirectly, a copy of the function is differentiated:
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
//! Functions whose derivative does not come from their body are called unchanged.

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
pub(crate) fn stand_in(module: &Module, mut func: FuncId) -> FuncId {
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

/// Whether calls in the function run substitutes where its derivatives are wanted: they come from its body, or are zero.
/// A custom derivative replaces the body, and the body of a derivative is not written yet.
fn is_followed(func: &Func) -> bool {
    let diff = &func.diff;
    let is_zero = diff.constant && diff.differentiable.is_some() && diff.rule.is_none();
    let is_open = func.kind == FuncKind::Defined && !diff.is_custom();
    is_open && (func.is_differentiated_from_body() || is_zero)
}
