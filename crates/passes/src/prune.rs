//! Removes unused functions.
//!
//! ```text
//! global @out: rwbuffer<f32> param
//! func @f() {
//!   %out: rwbuffer<f32> = global @out
//!   %one: f32 = const 1.0
//!   store %out, %one [0]
//!   return
//! }
//! func @unused() {
//!   call @f()
//!   return
//! }
//! func @main() entry(1, 1, 1) {
//!   call @f()
//!   return
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @out: rwbuffer<f32> param
//! func @f() {
//!   %out: rwbuffer<f32> = global @out
//!   %one: f32 = const 1.0
//!   store %out, %one [0]
//!   return
//! }
//! func @main() entry(1, 1, 1) {
//!   call @f()
//!   return
//! }
//! ```
//!
//! A function is used if it is in `roots`, is an entry point, is called by a used function, or initializes a global or a
//! differential. Being the rule or the custom derivative of another function does not count: run this after derivatives have
//! been written.
//!
//! The remaining functions are renumbered; the result maps old numbers to new ones. Types and globals do not change.

use cotangent_base::{EntityMap, Map};
use cotangent_ir::{Func, FuncId, FuncKind, GlobalKind, Module};

/// Keeps what `roots` and entry points need, and gives the new number of each function kept.
pub fn prune(module: &mut Module, roots: &[FuncId]) -> Map<FuncId, FuncId> {
    let kept = needed(module, roots);
    let new: Map<FuncId, FuncId> =
        kept.iter().enumerate().map(|(i, f)| (*f, cotangent_base::Entity::new(i))).collect();
    let mut old: EntityMap<FuncId, Option<Func>> =
        std::mem::take(&mut module.funcs).into_values().map(Some).collect();
    for id in kept {
        let mut func = old[id].take().expect("a function is kept once");
        renumber(&mut func, &new);
        module.funcs.push(func);
    }
    for global in module.globals.values_mut() {
        if let GlobalKind::Static(Some(init)) = &mut global.kind {
            *init = new[init];
        }
    }
    let rows: Vec<_> = module.diff.iter().map(|(id, row)| (id, row.clone())).collect();
    for (id, mut row) in rows {
        row.zero = row.zero.map(|f| new[&f]);
        row.add = row.add.map(|f| new[&f]);
        module.diff.set(id, row);
    }
    new
}

/// The functions to keep, in their order.
fn needed(module: &Module, roots: &[FuncId]) -> Vec<FuncId> {
    let mut keep: EntityMap<FuncId, bool> = EntityMap::filled(false, module.funcs.len());
    let mut todo: Vec<FuncId> = roots.to_vec();
    todo.extend(module.funcs.iter().filter(|(_, f)| f.entry.is_some()).map(|(id, _)| id));
    todo.extend(module.diff.iter().flat_map(|(_, row)| [row.zero, row.add]).flatten());
    todo.extend(module.globals.values().filter_map(|g| match g.kind {
        GlobalKind::Static(init) => init,
        GlobalKind::Param | GlobalKind::Shared => None,
    }));
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut keep[id], true) {
            todo.extend(mentioned(&module.funcs[id]));
        }
    }
    module.funcs.keys().filter(|id| keep[*id]).collect()
}

/// What a function calls, and what it is a request of.
fn mentioned(func: &Func) -> Vec<FuncId> {
    let of = match func.kind {
        FuncKind::Request(_, of) => Some(of),
        FuncKind::Defined => None,
    };
    func.all_insts().into_iter().filter_map(|inst| func.insts[inst].op.callee()).chain(of).collect()
}

fn renumber(func: &mut Func, new: &Map<FuncId, FuncId>) {
    for inst in func.all_insts() {
        if let Some(callee) = func.insts[inst].op.callee_mut() {
            *callee = new[callee];
        }
    }
    if let FuncKind::Request(_, of) = &mut func.kind {
        *of = new[of];
    }
    func.diff.relink(|f| new.get(&f).copied());
}
