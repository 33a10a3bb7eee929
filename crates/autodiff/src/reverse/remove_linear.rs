//! Removes the linear halves after all backward functions are written. Nothing calls them.

use cotangent_base::{Entity, EntityMap, EntitySet};
use cotangent_ir::{Func, FuncId, FuncKind, GlobalKind, Module, Op};

/// Removes functions that no function left calls. All others keep their order, and those before the first that goes
/// their number.
pub(super) fn remove_linear(module: &mut Module, gone: &EntitySet<FuncId>) {
    if gone.is_empty() {
        return;
    }
    let mut numbers: EntityMap<FuncId, FuncId> = EntityMap::new();
    let mut next = 0;
    for id in module.funcs.keys() {
        numbers.push(FuncId::new(next));
        next += usize::from(!gone.contains(id));
    }
    let all = std::mem::take(&mut module.funcs);
    for (id, func) in all.iter().filter(|(id, _)| !gone.contains(*id)) {
        let mut func = func.clone();
        renumber(&mut func, &numbers);
        debug_assert_eq!(numbers[id], module.funcs.next_key());
        module.funcs.push(func);
    }
    for global in module.globals.values_mut() {
        if let GlobalKind::Static(Some(init)) = &mut global.kind {
            *init = numbers[*init];
        }
    }
    let rows: Vec<_> = module.diff.iter().map(|(id, row)| (id, row.clone())).collect();
    for (id, mut row) in rows {
        row.zero = row.zero.map(|f| numbers[f]);
        row.add = row.add.map(|f| numbers[f]);
        module.diff.set(id, row);
    }
}

/// Changes every mention of a function in `func`.
fn renumber(func: &mut Func, numbers: &EntityMap<FuncId, FuncId>) {
    func.diff.relink(|f| Some(numbers[f]));
    if let FuncKind::Request(_, of) = &mut func.kind {
        *of = numbers[*of];
    }
    for inst in func.all_insts() {
        let op = &mut func.insts[inst].op;
        if let Op::Call(callee) = op {
            *callee = numbers[*callee];
        } else if let Op::DiffCall(call) = op {
            call.func = numbers[call.func];
        } else if let Op::LinCall(call) = op {
            call.call.func = numbers[call.call.func];
        }
    }
}
