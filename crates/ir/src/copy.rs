//! Copies instructions from one function into another (or the same), renaming values.

use crate::{Builder, Func, Inst, Region, Value};
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
        let data = &from.insts[inst];
        let regions: Vec<Region> = data.regions.iter().map(|r| self.region(from, *r, to)).collect();
        let types: Vec<_> = data.results.iter().map(|v| from.ty(*v)).collect();
        let outer = std::mem::replace(&mut to.span, data.span);
        let new = to.emit(data.op.clone(), &self.all(&data.operands), &types);
        to.span = outer;
        to.func.insts[new].regions.extend(regions);
        for (i, &old) in data.results.iter().enumerate() {
            self.result(from, old, to, new, i);
        }
        new
    }

    fn result(&mut self, from: &Func, old: Value, to: &mut Builder<'_>, inst: Inst, index: usize) {
        let value = to.func.insts[inst].results[index];
        to.func.values[value].name = from.values[old].name;
        self.rename(old, value);
    }

    /// Makes a copy of a region that hangs on no instruction yet.
    pub fn region(&mut self, from: &Func, region: Region, to: &mut Builder<'_>) -> Region {
        let data = &from.regions[region];
        let types: Vec<_> = data.args.iter().map(|v| from.ty(*v)).collect();
        to.region(&types, |to, args| {
            for (&old, &new) in data.args.iter().zip(args) {
                to.func.values[new].name = from.values[old].name;
                self.rename(old, new);
            }
            self.insts(from, region, to);
        })
    }

    /// Appends copies of all instructions of `region`, its exit included.
    pub fn insts(&mut self, from: &Func, region: Region, to: &mut Builder<'_>) {
        for &inst in &from.regions[region].insts {
            self.inst(from, inst, to);
        }
    }
}
