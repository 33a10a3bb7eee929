//! Where a value is read for the last time, so that an update may overwrite it.
//!
//! A use inside a nested region counts at the instruction that owns the region. A value may be overwritten by an
//! `insert` in its own region that is its last use, or by one in a branch of an `if` or `switch` that is its last
//! use; never from inside a loop, whose next round might read it again. The arguments of a loop's condition are what
//! its body gets, so a condition may not overwrite them either.

use cotangent_base::{Map, Set};
use cotangent_ir::{Func, Inst, Op, Region, Value};

/// For each `insert` and `insert_add`, whether it may overwrite its aggregate.
pub(crate) fn overwriting(func: &Func) -> Set<Inst> {
    let mut found = Set::default();
    let inputs = func.inputs().iter().copied().collect();
    scan(func, func.body, inputs, &mut found);
    found
}

/// `own` are arguments and values from outside that may be consumed in `region`.
fn scan(func: &Func, region: Region, mut own: Set<Value>, found: &mut Set<Inst>) {
    let insts = &func.regions[region].insts;
    own.extend(insts.iter().flat_map(|i| func.insts[*i].results.iter().copied()));
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
                data.regions.iter().for_each(|r| scan(func, *r, free.clone(), found));
            }
            Op::While(_) | Op::For(_) => {
                let (body, cond) = data.regions.split_last().expect("a loop has a body");
                cond.iter().for_each(|r| scan(func, *r, Set::default(), found));
                let args = func.regions[*body].args.iter().copied().collect();
                scan(func, *body, args, found);
            }
            _ => debug_assert!(data.regions.is_empty(), "only control operations own regions"),
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
