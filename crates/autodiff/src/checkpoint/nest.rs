//! Maps each instruction to its region, and each region to its enclosing loops.

use cotangent_base::EntityMap;
use cotangent_ir::{Const, Func, Inst, Op, Region, Value, ValueDef};

/// How often a loop runs that says nothing about it. Only weights depend on this guess.
const UNKNOWN_TRIPS: u64 = 16;

/// The tree of a function, upwards.
pub struct Nest {
    home: EntityMap<Inst, Option<Region>>,
    owner: EntityMap<Region, Option<Inst>>,
}

impl Nest {
    /// Looks at every instruction once.
    pub fn of(func: &Func) -> Self {
        let mut nest = Nest {
            home: EntityMap::filled(None, func.insts.len()),
            owner: EntityMap::filled(None, func.regions.len()),
        };
        nest.enter(func, func.body);
        nest
    }

    fn enter(&mut self, func: &Func, region: Region) {
        for &inst in &func.regions[region].insts {
            self.home[inst] = Some(region);
            for &inner in &func.insts[inst].regions {
                self.owner[inner] = Some(inst);
                self.enter(func, inner);
            }
        }
    }

    /// The region an instruction is in.
    pub fn region_of(&self, inst: Inst) -> Region {
        self.home[inst].expect("an instruction of the function")
    }

    /// The region in which a value is made.
    pub fn region_of_value(&self, func: &Func, value: Value) -> Region {
        match func.values[value].def {
            ValueDef::Arg(region, _) => region,
            ValueDef::Result(inst, _) => self.region_of(inst),
        }
    }

    /// The instruction a region hangs on; none for the function's body.
    pub fn owner(&self, region: Region) -> Option<Inst> {
        self.owner[region]
    }

    /// The instructions around a region, innermost first.
    pub fn around(&self, region: Region) -> impl Iterator<Item = Inst> + '_ {
        let outer = |inst: &Inst| self.owner(self.region_of(*inst));
        std::iter::successors(self.owner(region), outer)
    }

    /// The loops around a region, outermost first.
    pub fn loops(&self, func: &Func, region: Region) -> Vec<Inst> {
        let mut loops: Vec<Inst> = self.around(region).filter(|i| func.insts[*i].op.is_loop()).collect();
        loops.reverse();
        loops
    }

    /// How often a region runs per run of the function, as far as anybody can tell.
    pub fn trips(&self, func: &Func, region: Region) -> u64 {
        let trips = |inst: &Inst| loop_bound(func, *inst).map_or(UNKNOWN_TRIPS, u64::from).max(1);
        self.loops(func, region).iter().map(trips).fold(1, u64::saturating_mul)
    }
}

/// The most iterations of a loop, if that is known: its constant count, or its stated bound.
pub fn loop_bound(func: &Func, inst: Inst) -> Option<u32> {
    let data = &func.insts[inst];
    if let Op::For(info) = &data.op {
        constant_count(func, data.operands[0]).or(info.max_iters)
    } else if let Op::While(info) = &data.op {
        info.max_iters
    } else {
        None
    }
}

/// The value with which argument `arg` of a region of the loop `inst` begins.
pub fn init_of(func: &Func, inst: Inst, arg: Value) -> Option<Value> {
    let data = &func.insts[inst];
    match func.values[arg].def {
        ValueDef::Arg(region, index) if data.op.is_loop() && data.regions.contains(&region) => {
            data.operands.get(index as usize).copied()
        }
        ValueDef::Arg(..) | ValueDef::Result(..) => None,
    }
}

/// The value of a constant count; negative counts run no iteration.
pub fn constant_count(func: &Func, value: Value) -> Option<u32> {
    if let Some(Op::Const(Const::Int(n))) = func.op(value) {
        return Some(u32::try_from(*n).unwrap_or(0));
    }
    matches!(func.op(value), Some(Op::Zero)).then_some(0)
}
