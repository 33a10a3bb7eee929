//! Copies instructions from one function into another (or the same), renaming values.

use crate::{Builder, Func, Inst, Region, RegionData, Value};
use cotangent_base::Map;

/// The renaming so far. A value without an entry stands for itself, which is right for captures when source
/// and destination are the same function.
#[derive(Default, Clone)]
pub struct Copier {
    map: Map<Value, Value>,
}

impl Copier {
    /// No renaming.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on `old` is `new`.
    pub fn rename(&mut self, old: Value, new: Value) {
        self.map.insert(old, new);
    }

    /// What `old` is called now.
    pub fn get(&self, old: Value) -> Value {
        self.map.get(&old).copied().unwrap_or(old)
    }

    /// What all of `old` are called now.
    pub fn all(&self, old: &[Value]) -> Vec<Value> {
        old.iter().map(|v| self.get(*v)).collect()
    }

    /// Appends a copy of `inst`, regions and all, and renames its results.
    pub fn inst(&mut self, from: &Func, inst: Inst, to: &mut Builder<'_>) -> Inst {
        let copy = self.copy(Some(from), inst, to.func);
        to.func.regions[to.region].insts.push(copy);
        copy
    }

    /// Appends copies of all instructions of `region`, its exit included.
    pub fn insts(&mut self, from: &Func, region: Region, to: &mut Builder<'_>) {
        for &inst in &from.regions[region].insts {
            self.inst(from, inst, to);
        }
    }

    /// Makes a copy of a region that hangs on no instruction yet.
    pub fn region(&mut self, from: &Func, region: Region, to: &mut Builder<'_>) -> Region {
        self.copy_region(Some(from), region, to.func)
    }

    /// Makes a copy of an instruction of `func` beside it, in no region yet, and renames its results.
    pub fn again(&mut self, func: &mut Func, inst: Inst) -> Inst {
        self.copy(None, inst, func)
    }

    /// Copies from another function, or from `to` itself.
    fn copy(&mut self, from: Option<&Func>, inst: Inst, to: &mut Func) -> Inst {
        let data = from.unwrap_or(to).insts[inst].clone();
        let regions: Vec<Region> = data.regions.iter().map(|r| self.copy_region(from, *r, to)).collect();
        let types: Vec<_> = data.results.iter().map(|v| from.unwrap_or(to).ty(*v)).collect();
        let copy = to.new_inst(data.op, &self.all(&data.operands), &types, data.span);
        to.insts[copy].regions.extend(regions);
        for (i, &old) in data.results.iter().enumerate() {
            self.copied(from, old, to.insts[copy].results[i], to);
        }
        copy
    }

    fn copy_region(&mut self, from: Option<&Func>, region: Region, to: &mut Func) -> Region {
        let RegionData { args, insts } = from.unwrap_or(to).regions[region].clone();
        let copy = to.new_region();
        for old in args {
            let ty = from.unwrap_or(to).ty(old);
            let new = to.add_arg(copy, ty);
            self.copied(from, old, new, to);
        }
        for inst in insts {
            let inst = self.copy(from, inst, to);
            to.regions[copy].insts.push(inst);
        }
        copy
    }

    fn copied(&mut self, from: Option<&Func>, old: Value, new: Value, to: &mut Func) {
        to.values[new].name = from.unwrap_or(to).values[old].name;
        self.rename(old, new);
    }
}
