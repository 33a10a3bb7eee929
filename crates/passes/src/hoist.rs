//! Moves what is the same in every round out of the loop.
//!
//! ```text
//! func @f(%n: i32, %x: f32) -> f32 {
//!   %s: f32 = for %n (%x) body(%k: i32, %a: f32) {
//!     %c: f32 = cos %x
//!     %b: f32 = add %a, %c
//!     yield %b
//!   }
//!   return %s
//! }
//! ```
//! becomes
//! ```text
//! func @f(%n: i32, %x: f32) -> f32 {
//!   %c: f32 = cos %x
//!   %s: f32 = for %n (%x) body(%k: i32, %a: f32) {
//!     %b: f32 = add %a, %c
//!     yield %b
//!   }
//!   return %s
//! }
//! ```
//!
//! A value computed in a loop and needed by its derivative is kept once per round, an invariant one once: so
//! this runs before derivatives are taken. One walk: an instruction whose operands are all made outside of some
//! loops around it moves in front of the outermost of those, also from within an `if`, since it may as well
//! run once too often.
//!
//! Only what has no effect and cannot trap moves: not divisions of integers by what may be zero, not `extract`
//! with a dynamic index, not loads, not calls, nothing with regions. Arrays stay too: one that all rounds share is
//! copied by each round that updates it. A constant stays where it is until something that needs it moves; then a copy
//! moves along. Of `zero` and `undef` there are no copies, since those may be linear, and who takes one stays with it.

use crate::effects::may_trap;
use crate::shape::Loop;
use crate::types::holds_array;
use cotangent_base::EntityMap;
use cotangent_ir::{Effect, Func, Inst, Op, Region, Types, Value, ValueDef};

/// Hoists loop-invariant code in `func`. Says whether there was any.
pub fn hoist(types: &Types, func: &mut Func) -> bool {
    let mut hoist = Hoist {
        types,
        depths: EntityMap::filled(0, func.values.len()),
        loops: Vec::new(),
        front: vec![Vec::new()],
        changed: false,
        func,
    };
    let body = hoist.func.body;
    hoist.region(body);
    hoist.changed
}

struct Hoist<'a> {
    types: &'a Types,
    func: &'a mut Func,
    /// In how many loops a value is made.
    depths: EntityMap<Value, u32>,
    loops: Vec<Inst>,
    /// For each loop around, and one for the body, what was moved in front of it.
    front: Vec<Vec<Inst>>,
    changed: bool,
}

impl Hoist<'_> {
    fn depth(&self) -> u32 {
        self.loops.len() as u32
    }

    fn region(&mut self, region: Region) {
        for index in 0..self.func.regions[region].args.len() {
            let arg = self.func.regions[region].args[index];
            self.depths[arg] = self.depth();
        }
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            self.inst(inst, &mut kept);
        }
        self.func.regions[region].insts = kept;
    }

    fn inst(&mut self, inst: Inst, kept: &mut Vec<Inst>) {
        let is_loop = Loop::of(self.func, inst).is_some();
        if is_loop {
            self.loops.push(inst);
            self.front.push(Vec::new());
        }
        for region in self.func.insts[inst].regions.clone() {
            self.region(region);
        }
        if is_loop {
            self.loops.pop();
            kept.append(&mut self.front.pop().unwrap_or_default());
        }
        let depth = self.needed_depth(inst);
        if depth < self.depth() && self.is_movable(inst) && !self.func.insts[inst].operands.is_empty() {
            self.lift(inst, depth);
        } else {
            self.settle(inst, self.depth());
            kept.push(inst);
        }
    }

    fn settle(&mut self, inst: Inst, depth: u32) {
        for &result in &self.func.insts[inst].results {
            self.depths[result] = depth;
        }
    }

    /// In how many loops an instruction must at least be. Constants do not hold it back: they can come along.
    fn needed_depth(&self, inst: Inst) -> u32 {
        let operands = self.func.insts[inst].operands.iter();
        operands.map(|v| if self.source(*v).is_some() { 0 } else { self.depths[*v] }).max().unwrap_or(0)
    }

    /// The instruction that makes a constant.
    fn source(&self, value: Value) -> Option<Inst> {
        match self.func.values[value].def {
            ValueDef::Result(inst, _) if matches!(self.func.insts[inst].op, Op::Const(_)) => Some(inst),
            ValueDef::Result(..) | ValueDef::Arg(..) => None,
        }
    }

    fn is_movable(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        data.op.effect() == Effect::None
            && !may_trap(self.types, self.func, inst)
            && !data.results.iter().any(|v| holds_array(self.types, self.func.ty(*v)))
    }

    /// Puts `inst` in front of the loop number `depth`, counted from outside, with copies of the constants it
    /// takes.
    fn lift(&mut self, inst: Inst, depth: u32) {
        self.changed = true;
        for index in 0..self.func.insts[inst].operands.len() {
            let operand = self.func.insts[inst].operands[index];
            if let Some(source) = self.source(operand)
                && self.depths[operand] > depth
            {
                let copy = self.copy(source, depth);
                self.func.insts[inst].operands[index] = copy;
            }
        }
        self.settle(inst, depth);
        self.front[depth as usize + 1].push(inst);
    }

    /// A copy of a constant, in front of loop number `depth`.
    fn copy(&mut self, source: Inst, depth: u32) -> Value {
        let data = self.func.insts[source].clone();
        let old = data.results[0];
        let inst = self.func.new_inst(data.op, &[], &[self.func.ty(old)], data.span);
        let new = self.func.insts[inst].results[0];
        self.func.values[new].name = self.func.values[old].name;
        self.depths.grow_to(new, depth);
        self.front[depth as usize + 1].push(inst);
        new
    }
}
