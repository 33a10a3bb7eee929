//! Where a value is read for the last time, so that an update may overwrite it.
//!
//! A use inside a nested region counts at the instruction that owns the region. A value may be overwritten by an
//! `insert` in its own region that is its last use, or by one in a branch of an `if` or `switch` that is its last
//! use; never from inside a loop, whose next round might read it again.

use cotangent_base::{Map, Set};
use cotangent_ir::{Func, Inst, Op, Region, Value};

/// For each `insert` and `insert_add`, whether it may overwrite its aggregate.
pub(crate) fn overwriting(func: &Func) -> Set<Inst> {
    let mut found = Set::default();
    scan(func, func.body, &Set::default(), &mut found);
    found
}

/// `free` are values from outside that may be consumed in `region`.
fn scan(func: &Func, region: Region, free: &Set<Value>, found: &mut Set<Inst>) {
    let insts = &func.regions[region].insts;
    let mut own: Set<Value> = func.regions[region].args.iter().copied().collect();
    own.extend(insts.iter().flat_map(|i| func.insts[*i].results.iter().copied()));
    own.extend(free);
    let mut last: Map<Value, Inst> = Map::default();
    for &inst in insts {
        for value in uses(func, inst) {
            last.insert(value, inst);
        }
    }
    for &inst in insts {
        let data = &func.insts[inst];
        let dies_here = |value: &Value| own.contains(value) && last.get(value) == Some(&inst);
        match data.op {
            Op::Insert(_) | Op::InsertAdd(_) => {
                let aggregate = data.operands[0];
                if dies_here(&aggregate) && !data.operands[1..].contains(&aggregate) {
                    found.insert(inst);
                }
            }
            Op::If | Op::Switch(_) => {
                let free: Set<Value> = uses(func, inst).into_iter().filter(dies_here).collect();
                data.regions.iter().for_each(|r| scan(func, *r, &free, found));
            }
            _ => data.regions.iter().for_each(|r| scan(func, *r, &Set::default(), found)),
        }
    }
}

/// What an instruction and the regions in it read.
fn uses(func: &Func, inst: Inst) -> Vec<Value> {
    let mut all: Vec<Value> = func.insts[inst].operands.to_vec();
    for region in &func.insts[inst].regions {
        func.walk(*region, &mut |inner| all.extend(&func.insts[inner].operands));
    }
    all
}
