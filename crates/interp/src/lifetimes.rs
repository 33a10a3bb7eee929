//! Finds the last use of each value.
//!
//! An aggregate with one owner is changed in place. So an operand is *taken* from its slot at its last use. If a path does
//! not use a value, the value is *dropped* at the start of that path. Then an array that a loop carries and updates is never
//! copied. The rules:
//!
//! - A use is the last if no instruction that may run later, in this region or after it, uses the value. No instruction runs
//!   after a `return`, and none of the loop's body after a `break` or `continue`.
//! - A captured value that is dead after an `if` or `switch` may be taken in each branch. A branch that does not use it drops
//!   it on entry.
//! - A value from outside a loop is never taken inside it, because the next iteration may use it. It is dropped after the
//!   loop.
//!
//! The analysis is one backward walk over the function with the set of live values.

use cotangent_base::{EntityMap, EntitySet, Map};
use cotangent_ir::{Func, Inst, Op, Region, Value};
use smallvec::SmallVec;

/// What the walk found.
pub(crate) struct Lifetimes {
    /// For each operand, whether it is a last use.
    takes: EntityMap<Inst, SmallVec<[bool; 4]>>,
    /// What a branch drops on entry.
    pub(crate) on_entry: Map<Region, Vec<Value>>,
    /// What is dropped behind a loop.
    pub(crate) behind: Map<Inst, Vec<Value>>,
    /// Values nobody uses.
    pub(crate) unused: EntitySet<Value>,
}

impl Lifetimes {
    /// Finds the last uses of a function.
    pub(crate) fn of(func: &Func) -> Self {
        let mut walk = Walk {
            func,
            depth: EntityMap::filled(0, func.values.len()),
            loops: 0,
            found: Lifetimes {
                takes: EntityMap::filled(SmallVec::new(), func.insts.len()),
                on_entry: Map::default(),
                behind: Map::default(),
                unused: EntitySet::new(),
            },
        };
        walk.depths(func.body, 0);
        let mut live = EntitySet::new();
        walk.region(func.body, &mut live);
        // What only code after an exit uses is never used, but that code is decoded too and names it.
        for inst in func.all_insts() {
            for &operand in &func.insts[inst].operands {
                walk.found.unused.remove(operand);
            }
        }
        walk.found
    }

    /// Whether operand `index` of `inst` is taken.
    pub(crate) fn takes(&self, inst: Inst, index: usize) -> bool {
        self.takes[inst].get(index).copied().unwrap_or(false)
    }
}

struct Walk<'a> {
    func: &'a Func,
    /// How many loops enclose the definition of each value.
    depth: EntityMap<Value, usize>,
    /// How many loops enclose the current place.
    loops: usize,
    found: Lifetimes,
}

impl Walk<'_> {
    fn depths(&mut self, region: Region, depth: usize) {
        let func = self.func;
        for &arg in &func.regions[region].args {
            self.depth[arg] = depth;
        }
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            for &result in &data.results {
                self.depth[result] = depth;
            }
            for &inner in &data.regions {
                self.depths(inner, depth + usize::from(data.op.is_loop()));
            }
        }
    }

    /// Walks a region backwards. `live` is what is used after it, and becomes what is used from its start on.
    fn region(&mut self, region: Region, live: &mut EntitySet<Value>) {
        let func = self.func;
        for &inst in func.regions[region].insts.iter().rev() {
            self.inst(inst, live);
        }
        self.define(&func.regions[region].args, live);
    }

    fn define(&mut self, values: &[Value], live: &mut EntitySet<Value>) {
        for &value in values {
            if !live.remove(value) {
                self.found.unused.insert(value);
            }
        }
    }

    fn inst(&mut self, inst: Inst, live: &mut EntitySet<Value>) {
        let data = &self.func.insts[inst];
        self.define(&data.results, live);
        if data.op.is_loop() {
            self.looped(inst, live);
        } else if !data.regions.is_empty() {
            self.branches(&data.regions, live);
        }
        // How many loops a value may be inside of and still be dead after this instruction.
        let mut dead_from = self.loops;
        if data.op == Op::Return {
            dead_from = 0;
        } else if let Op::Break(out) | Op::Continue(out) = data.op {
            dead_from = self.loops.saturating_sub(out as usize);
        }
        if data.op.is_exit() && data.op != Op::Yield {
            *live = EntitySet::new();
        }
        let takes = |operand: &Value| live.insert(*operand) && self.depth[*operand] >= dead_from;
        let mut takes: SmallVec<[bool; 4]> = data.operands.iter().rev().map(takes).collect();
        takes.reverse();
        self.found.takes[inst] = takes;
    }

    fn branches(&mut self, regions: &[Region], live: &mut EntitySet<Value>) {
        let mut starts = Vec::new();
        for &region in regions {
            let mut start = live.clone();
            self.region(region, &mut start);
            starts.push(start);
        }
        *live = EntitySet::new();
        for start in &starts {
            live.extend(start.iter());
        }
        for (&region, start) in regions.iter().zip(&starts) {
            let dead = live.iter().filter(|v| !start.contains(*v) && self.depth[*v] == self.loops);
            self.found.on_entry.insert(region, dead.collect());
        }
    }

    fn looped(&mut self, inst: Inst, live: &mut EntitySet<Value>) {
        let mut captured = EntitySet::new();
        self.loops += 1;
        for &region in &self.func.insts[inst].regions {
            let mut start = EntitySet::new();
            self.region(region, &mut start);
            captured.extend(start.iter());
        }
        self.loops -= 1;
        let dead = captured.iter().filter(|v| !live.contains(*v) && self.depth[*v] == self.loops);
        self.found.behind.insert(inst, dead.collect());
        live.extend(captured.iter());
    }
}
