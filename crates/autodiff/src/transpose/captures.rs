//! Finds the linear values that each construct captures: values defined outside it to which instructions inside contribute.
//!
//! One walk handles all constructs, inner ones first. A value that an inner construct captures is defined in the enclosing
//! region or further out, so one look at its definition tells whether the enclosing construct captures it too. (Examining the
//! contents of every construct separately would take time cubic in the nesting depth.)

use crate::checkpoint::nest::Nest;
use cotangent_base::{EntitySet, Map, Set};
use cotangent_ir::{Func, Inst, Region, Value};

/// What constructs capture, in order of first use.
pub(super) struct Captures {
    table: Map<Inst, Vec<Value>>,
}

impl Captures {
    /// What the constructs of `func` capture of the values in `reach`.
    pub fn of(func: &Func, reach: &EntitySet<Value>) -> Self {
        let mut walk = Walk { func, nest: Nest::of(func), reach, table: Map::default() };
        walk.region(func.body);
        Captures { table: walk.table }
    }

    /// What one of them captures.
    pub fn of_inst(&self, inst: Inst) -> Vec<Value> {
        self.table.get(&inst).cloned().unwrap_or_default()
    }
}

struct Walk<'a> {
    func: &'a Func,
    nest: Nest,
    reach: &'a EntitySet<Value>,
    table: Map<Inst, Vec<Value>>,
}

impl Walk<'_> {
    /// The values used in `region` and made outside of it.
    fn region(&mut self, region: Region) -> Vec<Value> {
        let mut found = Found::default();
        for &inst in &self.func.regions[region].insts {
            let data = &self.func.insts[inst];
            for &operand in data.operands.iter().filter(|v| self.reach.contains(**v)) {
                self.note(region, operand, &mut found);
            }
            if data.regions.is_empty() {
                continue;
            }
            let mut captured = Found::default();
            for &inner in &data.regions {
                self.region(inner).into_iter().for_each(|value| captured.add(value));
            }
            for &value in &captured.values {
                self.note(region, value, &mut found);
            }
            self.table.insert(inst, captured.values);
        }
        found.values
    }

    fn note(&self, region: Region, value: Value, found: &mut Found) {
        if self.nest.region_of_value(self.func, value) != region {
            found.add(value);
        }
    }
}

/// Values in order, each once.
#[derive(Default)]
struct Found {
    values: Vec<Value>,
    seen: Set<Value>,
}

impl Found {
    fn add(&mut self, value: Value) {
        if self.seen.insert(value) {
            self.values.push(value);
        }
    }
}
