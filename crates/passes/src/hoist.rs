//! Moves loop-invariant instructions out of loops.
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
//!
//! becomes
//!
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
//! It runs before differentiation: a value that the derivative needs is stored once per iteration inside a loop, but only
//! once outside it. One walk moves each instruction before the outermost loop in which its operands are invariant, also out
//! of an `if`: an instruction that runs needlessly is cheap.
//!
//! An operation whose derivative may be infinite, such as a division, is an exception. Where it did not run before, its value
//! is unused; but the backward pass would multiply a zero cotangent by an infinite derivative, which is NaN. Before
//! differentiation, it moves only to where it runs anyway: not out of an `if`, not from after an exit, and not out of a loop
//! that may have no iterations.
//!
//! Only instructions without effects that cannot trap move. These stay: integer divisions by a possible zero, `extract` with
//! a dynamic index, loads, calls, and instructions with regions. Arrays stay too, since every iteration that updates a shared
//! array would copy it. A constant moves only as a copy, together with an instruction that needs it. `zero` and `undef` are
//! not copied, because they may be linear, so instructions that use them stay.

use crate::consts;
use crate::effects::{is_steep, may_trap};
use crate::pass::When;
use crate::shape::Loop;
use crate::types::holds_array;
use cotangent_base::EntityMap;
use cotangent_ir::{Effect, Exit, Func, Inst, Op, Region, Types, Value, ValueDef};

/// Hoists loop-invariant code in `func`. Says whether there was any.
pub fn hoist(types: &Types, func: &mut Func, when: When) -> bool {
    let mut hoist = Hoist {
        types,
        depths: EntityMap::filled(0, func.values.len()),
        loops: Vec::new(),
        front: vec![Vec::new()],
        sure: 0,
        when,
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
    /// For each loop around, and one for the body, what was moved before it.
    front: Vec<Vec<Inst>>,
    /// What is here is sure to run where the loop of that number begins, and before all loops in it.
    sure: u32,
    when: When,
    changed: bool,
}

impl Hoist<'_> {
    fn depth(&self) -> u32 {
        self.loops.len() as u32
    }

    /// Goes through a region. Says whether it may be left elsewhere than at its end.
    fn region(&mut self, region: Region) -> bool {
        for index in 0..self.func.regions[region].args.len() {
            let arg = self.func.regions[region].args[index];
            self.depths[arg] = self.depth();
        }
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let (sure, mut left) = (self.sure, false);
        for inst in insts {
            if self.inst(inst, &mut kept) {
                self.sure = self.depth();
                left = true;
            }
        }
        self.sure = sure;
        self.func.regions[region].insts = kept;
        left
    }

    /// Goes through an instruction. Says whether what follows it may be left out.
    fn inst(&mut self, inst: Inst, kept: &mut Vec<Inst>) -> bool {
        let (around, shape) = (self.sure, Loop::of(self.func, inst));
        let mut leaves = !matches!(self.func.insts[inst].op.exit(), None | Some(Exit::Yield));
        if shape.is_some() {
            self.loops.push(inst);
            self.front.push(Vec::new());
        }
        for region in self.func.insts[inst].regions.clone() {
            let is_sure = shape.is_some_and(|shape| shape.cond == Some(region) || self.has_rounds(inst));
            self.sure = if is_sure { around } else { self.depth() };
            leaves |= self.region(region);
        }
        self.sure = around;
        if shape.is_some() {
            self.loops.pop();
            kept.append(&mut self.front.pop().unwrap_or_default());
        }
        let depth = self.needed_depth(inst).max(if self.is_held(inst) { self.sure } else { 0 });
        if depth < self.depth() && self.is_movable(inst) && !self.func.insts[inst].operands.is_empty() {
            self.lift(inst, depth);
        } else {
            self.settle(inst, self.depth());
            kept.push(inst);
        }
        leaves
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

    /// Whether a loop is known to have an iteration.
    fn has_rounds(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let count = || consts::int(self.types, self.func, data.operands[0]);
        matches!(data.op, Op::For(_)) && count().is_some_and(|count| count > 0)
    }

    /// Whether an instruction stays where it is sure to run.
    fn is_held(&self, inst: Inst) -> bool {
        self.when == When::BeforeDerivatives && is_steep(self.types, self.func, inst)
    }

    /// Puts `inst` before the loop number `depth`, counted from outside, with copies of the constants it
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

    /// A copy of a constant, before loop number `depth`.
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
