//! Dead code elimination: removes unused instructions, results of `if` and `switch`, and values carried by loops.
//!
//! ```text
//! func @f(%n: i32, %a: f32, %b: f32) -> f32 {
//!   %s: f32, %t: f32 = for %n (%a, %b) body(%k: i32, %x: f32, %y: f32) {
//!     %x2: f32 = mul %x, %x
//!     %y2: f32 = add %y, %x2
//!     yield %x2, %y2
//!   }
//!   %u: f32 = sin %s
//!   return %s
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%n: i32, %a: f32, %b: f32) -> f32 {
//!   %s: f32 = for %n (%a) body(%k: i32, %x: f32) {
//!     %x2: f32 = mul %x, %x
//!     yield %x2
//!   }
//!   return %s
//! }
//! ```
//!
//! The pass marks, then sweeps. The roots are instructions with effects (stores, asserts, calls that do either) and every
//! `return`. A live instruction makes its operands and the enclosing control flow live. Live control flow makes its condition
//! live. A live loop makes all its exits live, since they determine the trip count. *Values* passed along an edge are live
//! one by one: the third operand of a `yield` is live only if the third result is, or for a loop its third argument. So a
//! slot that only feeds itself is removed.
//!
//! An atomic addition of zero is removed if its result is unused. So a read of one field adds only that field's cotangent.
//!
//! An unused `extract`, division or such addition is removed even if it would trap. A `while` without a bound stays, since it may not
//! terminate. A counted loop, or one with `max_iters`, is removed if its results are unused.
//!
//! The pass does not remove code after an instruction that always exits, nor parameters of functions.

use crate::consts::is_zero;
use crate::edit::{keep_args, keep_operands, keep_results};
use crate::effects::Effects;
use crate::shape::{Loop, Shape};
use cotangent_base::EntitySet;
use cotangent_ir::{Atomic, AtomicKind, Exit, Func, Inst, Op, Region, Value, ValueDef};

/// Removes dead code from `func`. Says whether there was any.
pub fn dce(func: &mut Func, effects: &Effects) -> bool {
    let shape = Shape::of(func);
    let mut marks =
        Marks { func, shape: &shape, values: EntitySet::new(), insts: EntitySet::new(), list: Vec::new() };
    marks.roots(effects);
    marks.run();
    let (values, insts) = (marks.values, marks.insts);
    Sweep { func, values, insts, changed: false }.run()
}

/// Whether an instruction leaves memory as it is, but for the sign of a zero: it adds zero, atomically.
fn changes_nothing(func: &Func, inst: Inst) -> bool {
    let data = &func.insts[inst];
    let Op::Atomic(Atomic { kind: AtomicKind::Add, .. }) = data.op else { return false };
    is_part_of_zero(func, data.operands[1])
}

fn is_part_of_zero(func: &Func, value: Value) -> bool {
    let Some(data) = func.def(value) else { return false };
    is_zero(func, value) || matches!(data.op, Op::Extract(_)) && is_part_of_zero(func, data.operands[0])
}

struct Marks<'a> {
    func: &'a Func,
    shape: &'a Shape,
    values: EntitySet<Value>,
    insts: EntitySet<Inst>,
    list: Vec<Item>,
}

#[derive(Clone, Copy)]
enum Item {
    Inst(Inst),
    Value(Value),
}

impl Marks<'_> {
    fn roots(&mut self, effects: &Effects) {
        for inst in self.func.all_insts() {
            let op = &self.func.insts[inst].op;
            let stays = effects.shallow(op).stays() && !changes_nothing(self.func, inst);
            if stays || op.exit() == Some(Exit::Return) {
                self.inst(inst);
            }
        }
    }

    fn inst(&mut self, inst: Inst) {
        if self.insts.insert(inst) {
            self.list.push(Item::Inst(inst));
        }
    }

    fn value(&mut self, value: Value) {
        if self.values.insert(value) {
            self.list.push(Item::Value(value));
        }
    }

    fn values(&mut self, values: &[Value]) {
        for &value in values {
            self.value(value);
        }
    }

    fn run(&mut self) {
        while let Some(item) = self.list.pop() {
            match item {
                Item::Inst(inst) => self.live_inst(inst),
                Item::Value(value) => self.live_value(value),
            }
        }
    }

    fn live_inst(&mut self, inst: Inst) {
        let func = self.func;
        if let Some(parent) = self.shape.parent(inst) {
            self.inst(parent);
        }
        let data = &func.insts[inst];
        match data.op.exit() {
            Some(Exit::Return) => return self.values(&data.operands),
            Some(Exit::Yield | Exit::Break(_) | Exit::Continue(_)) => return,
            None => {}
        }
        if let Some(looped) = Loop::of(func, inst) {
            self.values(&data.operands[..looped.lead]);
            for &exit in self.shape.exits(inst) {
                self.inst(exit);
                if looped.is_condition(self.shape, exit) {
                    self.values(&func.insts[exit].operands);
                }
            }
        } else {
            self.values(&data.operands);
        }
    }

    fn live_value(&mut self, value: Value) {
        let func = self.func;
        match func.values[value].def {
            ValueDef::Result(inst, index) => {
                self.inst(inst);
                if let Some(looped) = Loop::of(func, inst) {
                    self.live_slot(looped, index as usize);
                } else if is_choice(&func.insts[inst].op) {
                    self.edges(inst, index as usize);
                }
            }
            ValueDef::Arg(region, index) => {
                let Some(looped) = self.shape.owner(region).and_then(|inst| Loop::of(func, inst)) else {
                    return;
                };
                self.inst(looped.inst);
                let lead = if region == looped.body { looped.lead } else { 0 };
                if let Some(slot) = (index as usize).checked_sub(lead) {
                    self.live_slot(looped, slot);
                }
            }
        }
    }

    /// All that a carried value is made of, and the result that stands for the slot in the sweep.
    fn live_slot(&mut self, looped: Loop, slot: usize) {
        let data = &self.func.insts[looped.inst];
        if self.values.insert(data.results[slot]) {
            self.list.push(Item::Value(data.results[slot]));
            return;
        }
        self.value(data.operands[looped.lead + slot]);
        self.edges(looped.inst, slot);
    }

    /// Operand `index` of every exit that ends at `control`.
    fn edges(&mut self, control: Inst, index: usize) {
        let cond = Loop::of(self.func, control);
        for &exit in self.shape.exits(control) {
            if cond.is_none_or(|looped| !looped.is_condition(self.shape, exit)) {
                self.value(self.func.insts[exit].operands[index]);
            }
        }
    }
}

fn is_choice(op: &Op) -> bool {
    matches!(op, Op::If | Op::Switch(_))
}

/// Takes out what is not marked. A slot is as live as its result.
struct Sweep<'a> {
    func: &'a mut Func,
    values: EntitySet<Value>,
    insts: EntitySet<Inst>,
    changed: bool,
}

impl Sweep<'_> {
    fn run(mut self) -> bool {
        self.region(self.func.body, &mut Vec::new(), None);
        self.changed
    }

    /// `loops` says which slots of the enclosing loops stay, `yields` which operands of this region's `yield`.
    fn region(&mut self, region: Region, loops: &mut Vec<Vec<bool>>, yields: Option<&[bool]>) {
        let before = std::mem::take(&mut self.func.regions[region].insts);
        let mut after = Vec::with_capacity(before.len());
        for &inst in &before {
            if self.func.insts[inst].op.is_exit() {
                self.exit(inst, loops, yields);
            } else if self.insts.contains(inst) {
                self.control(inst, loops);
            } else {
                continue;
            }
            after.push(inst);
        }
        self.changed |= before.len() != after.len();
        self.func.regions[region].insts = after;
    }

    fn exit(&mut self, inst: Inst, loops: &[Vec<bool>], yields: Option<&[bool]>) {
        let keep = match self.func.insts[inst].op.exit() {
            Some(Exit::Yield) => yields,
            Some(Exit::Break(out) | Exit::Continue(out)) => {
                loops.len().checked_sub(out as usize + 1).map(|index| &loops[index][..])
            }
            Some(Exit::Return) | None => None,
        };
        if let Some(keep) = keep {
            keep_operands(self.func, inst, |i| keep[i]);
        }
    }

    fn control(&mut self, inst: Inst, loops: &mut Vec<Vec<bool>>) {
        let data = &self.func.insts[inst];
        if data.regions.is_empty() {
            return;
        }
        let keep: Vec<bool> = data.results.iter().map(|v| self.values.contains(*v)).collect();
        let regions = data.regions.clone();
        if let Some(looped) = Loop::of(self.func, inst) {
            self.slots(looped, &keep);
            loops.push(keep.clone());
            for region in regions {
                self.region(region, loops, (region == looped.body).then_some(&keep[..]));
            }
            loops.pop();
        } else {
            for region in regions {
                self.region(region, loops, Some(&keep));
            }
        }
        self.changed |= keep.contains(&false);
        keep_results(self.func, inst, |i| keep[i]);
    }

    fn slots(&mut self, looped: Loop, keep: &[bool]) {
        let stays = |i: usize| i.checked_sub(looped.lead).is_none_or(|slot| keep[slot]);
        keep_operands(self.func, looped.inst, stays);
        keep_args(self.func, looped.body, stays);
        if let Some(cond) = looped.cond {
            keep_args(self.func, cond, |i| keep[i]);
        }
    }
}
