//! Small edits that keep a function's tables consistent.

use cotangent_base::Map;
use cotangent_ir::{Exit, Func, Inst, Region, Value, ValueDef};

/// Keeps the results of `inst` for which `keep` holds and numbers them anew.
pub(crate) fn keep_results(func: &mut Func, inst: Inst, keep: impl Fn(usize) -> bool) {
    let mut index = 0;
    func.insts[inst].results.retain(|_| (keep(index), index += 1).0);
    for (i, &value) in func.insts[inst].results.iter().enumerate() {
        func.values[value].def = ValueDef::Result(inst, i as u32);
    }
}

/// Keeps the operands of `inst` for which `keep` holds.
pub(crate) fn keep_operands(func: &mut Func, inst: Inst, keep: impl Fn(usize) -> bool) {
    let mut index = 0;
    func.insts[inst].operands.retain(|_| (keep(index), index += 1).0);
}

/// Keeps the arguments of `region` for which `keep` holds and numbers them anew.
pub(crate) fn keep_args(func: &mut Func, region: Region, keep: impl Fn(usize) -> bool) {
    let mut index = 0;
    func.regions[region].args.retain(|_| (keep(index), index += 1).0);
    for (i, &value) in func.regions[region].args.iter().enumerate() {
        func.values[value].def = ValueDef::Arg(region, i as u32);
    }
}

/// Values that have become other values. Chains are followed to their end.
#[derive(Default)]
pub(crate) struct Renaming {
    map: Map<Value, Value>,
}

impl Renaming {
    /// Whether nothing was renamed.
    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// From now on `old` is `new`. `new` keeps the name of the source variable if it has none of its own.
    pub(crate) fn rename(&mut self, func: &mut Func, old: Value, new: Value) {
        let new = self.get(new);
        if old == new {
            return;
        }
        if func.values[new].name.is_none() {
            func.values[new].name = func.values[old].name;
        }
        self.map.insert(old, new);
    }

    /// What `value` is now. Long chains are shortened on the way.
    pub(crate) fn get(&mut self, value: Value) -> Value {
        let mut end = value;
        while let Some(&next) = self.map.get(&end) {
            end = next;
        }
        let mut at = value;
        while at != end {
            at = self.map.insert(at, end).unwrap_or(end);
        }
        end
    }

    /// Replaces the operands of one instruction.
    pub(crate) fn apply_to(&mut self, func: &mut Func, inst: Inst) {
        if self.is_empty() {
            return;
        }
        for index in 0..func.insts[inst].operands.len() {
            let operand = func.insts[inst].operands[index];
            func.insts[inst].operands[index] = self.get(operand);
        }
    }

    /// Replaces operands everywhere; says whether there was anything to replace.
    pub(crate) fn apply(mut self, func: &mut Func) -> bool {
        if self.is_empty() {
            return false;
        }
        for inst in func.all_insts() {
            self.apply_to(func, inst);
        }
        true
    }
}

/// Changes every exit among `insts` and below, given how many loops there are between it and them.
pub(crate) fn change_exits(func: &mut Func, insts: &[Inst], depth: u32, change: &impl Fn(Exit, u32) -> Exit) {
    for &inst in insts {
        let data = &mut func.insts[inst];
        if let Some(exit) = data.op.exit() {
            data.op = change(exit, depth).op();
        }
        let inner = depth + u32::from(data.op.is_loop());
        for region in data.regions.clone() {
            let insts = func.regions[region].insts.clone();
            change_exits(func, &insts, inner, change);
        }
    }
}
