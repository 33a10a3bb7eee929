//! Turns loops with a counter into counted loops.
//!
//! ```text
//! func @f(%n: i32, %x: f32, out end: i32) -> f32 {
//!   %zero: i32 = const 0
//!   %i: i32, %s: f32 = while (%zero, %x) cond(%i0: i32, %s0: f32) {
//!     %c: bool = lt %i0, %n
//!     yield %c
//!   } body(%j: i32, %s1: f32) {
//!     %t: f32 = convert %j
//!     %s2: f32 = mul %s1, %t
//!     %one: i32 = const 1
//!     %i2: i32 = add %j, %one
//!     yield %i2, %s2
//!   }
//!   return %s, %i
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%n: i32, %x: f32, out end: i32) -> f32 {
//!   %2: i32 = const 0
//!   %i: i32 = max %n, %2
//!   %s: f32 = for %i (%x) body(%j: i32, %s1: f32) {
//!     %t: f32 = convert %j
//!     %s2: f32 = mul %s1, %t
//!     yield %s2
//!   }
//!   return %s, %i
//! }
//! ```
//!
//! A `while` has a counter if its condition compares one carried integer with an invariant value, and every edge to the next
//! iteration adds the same constant to that integer. Then the trip count is known before the loop starts, and the integer in
//! iteration `k` is `start + step * k`.
//!
//! **Which loops.** A loop with a counter whose trip count is a constant, or has a [bound](crate::loop_bound), gets `max_iters`,
//! unless it has one already. A loop that exits only through its condition becomes a `for`.
//!
//! **Overflow.** All integers are 32 bits wide and wrap. Iterations are counted in `u32`, where the distance from start to
//! bound is exact. A loop that steps over its bound and wraps around gets the trip count 2^31 - 1, the largest that the IR
//! can express; so does any longer loop. The difference cannot be observed in practice: if the step is a power of two, the
//! loop never ends, and if it is at most [`LARGEST_STEP`], one wrap takes 2^28 iterations. With other steps, a loop becomes
//! counted only if its bounds are constants.
//!
//! The pass does not handle invariant bounds that the condition computes; [`hoist`](crate::hoist) has moved those out.

mod count;
mod emit;

pub use count::{Compare, Count, LARGEST_STEP, count_of};

use crate::consts;
use crate::edit::{Renaming, keep_args, keep_operands, keep_results};
use crate::fold::is_silent;
use crate::loop_bound;
use crate::shape::{Loop, Shape};
use cotangent_base::Scalar;
use cotangent_ir::{Builder, Const, Exit, Func, Op, Region, Types, Value};
use emit::{emit_at, emit_rounds};

/// Turns `while` loops of `func` that count into `for` loops, and notes how long loops are. Says whether there
/// were any.
pub fn counted(types: &mut Types, func: &mut Func) -> bool {
    let shape = Shape::of(func);
    let body = func.body;
    let mut pass = Counted { types, func, shape, renaming: Renaming::default(), changed: false };
    pass.region(body);
    let Counted { func, renaming, changed, .. } = pass;
    renaming.apply(func);
    changed
}

struct Counted<'a> {
    types: &'a mut Types,
    func: &'a mut Func,
    shape: Shape,
    renaming: Renaming,
    changed: bool,
}

impl Counted<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        for inst in insts {
            for inner in self.func.insts[inst].regions.clone() {
                self.region(inner);
            }
            match Loop::of(self.func, inst) {
                Some(looped) => self.visit(region, looped),
                None => self.func.regions[region].insts.push(inst),
            }
        }
    }

    /// Appends `looped`, changed or not, to `region`.
    fn visit(&mut self, region: Region, looped: Loop) {
        let count = count_of(self.types, self.func, &self.shape, looped);
        self.note_rounds(looped, count);
        match count.filter(|count| self.is_convertible(looped, count)) {
            Some(count) => self.convert(region, looped, count),
            None => self.func.regions[region].insts.push(looped.inst),
        }
    }

    fn note_rounds(&mut self, looped: Loop, count: Option<Count>) {
        let rounds = match count {
            Some(count) => {
                let constant = count.rounds(self.types, self.func);
                constant.or_else(|| loop_bound::most(self.types, self.func, &self.shape, looped))
            }
            None if looped.cond.is_none() => loop_bound::most(self.types, self.func, &self.shape, looped),
            None => None,
        };
        let (Op::While(info) | Op::For(info)) = &mut self.func.insts[looped.inst].op else {
            return;
        };
        if info.max_iters.is_none() && rounds.is_some() {
            info.max_iters = rounds;
            self.changed = true;
        }
    }

    fn is_convertible(&self, looped: Loop, count: &Count) -> bool {
        let Some(cond) = looped.cond else { return false };
        let is_constant = count.rounds(self.types, self.func).is_some();
        let is_word = matches!(count.scalar, Scalar::I32 | Scalar::U32);
        is_word
            && (is_constant || count.ends_soon_or_never())
            && is_silent(self.func, cond)
            && self.stays_inside(looped)
    }

    /// Whether a loop is left only through its condition.
    fn stays_inside(&self, looped: Loop) -> bool {
        let mut stays = true;
        let mut depth_of = vec![(looped.body, 0u32)];
        while let Some((region, depth)) = depth_of.pop() {
            for &inst in &self.func.regions[region].insts {
                let data = &self.func.insts[inst];
                stays &= match data.op.exit() {
                    Some(Exit::Return) => false,
                    Some(Exit::Break(out)) => out < depth,
                    Some(Exit::Continue(out)) => out <= depth,
                    Some(Exit::Yield) | None => true,
                };
                let inner = depth + u32::from(data.op.is_loop());
                depth_of.extend(data.regions.iter().map(|r| (*r, inner)));
            }
        }
        stays
    }

    fn convert(&mut self, region: Region, looped: Loop, mut count: Count) {
        self.changed = true;
        let span = self.func.insts[looped.inst].span;
        let mut b = Builder { types: self.types, func: self.func, region, span };
        if let Some(constant) = consts::int(b.types, b.func, count.bound) {
            let ty = b.types.scalar(count.scalar);
            count.bound = b.constant(Const::Int(constant), ty);
        }
        let rounds = emit_rounds(&mut b, &count);
        b.func.regions[region].insts.push(looped.inst);
        let last = emit_at(&mut b, &count, rounds);
        let result = b.func.insts[looped.inst].results[count.slot];
        self.renaming.rename(self.func, result, last);
        self.counter(looped, &count);
        self.drop_slot(looped, &count, rounds);
    }

    /// Gives the body its counter, from which the slot's value is computed.
    fn counter(&mut self, looped: Loop, count: &Count) {
        let int = self.types.scalar(Scalar::I32);
        let counter = self.func.add_arg(looped.body, int);
        let old = self.func.regions[looped.body].args[count.slot];
        let rest = std::mem::take(&mut self.func.regions[looped.body].insts);
        let span = self.func.insts[looped.inst].span;
        let mut b = Builder { types: self.types, func: self.func, region: looped.body, span };
        let now = emit_at(&mut b, count, counter);
        self.func.regions[looped.body].insts.extend(rest);
        self.func.regions[looped.body].args.rotate_right(1);
        self.renaming.rename(self.func, old, now);
    }

    /// Makes the instruction a `for` without the slot that counted.
    fn drop_slot(&mut self, looped: Loop, count: &Count, rounds: Value) {
        let others = |i: usize| i != count.slot;
        for &exit in self.shape.exits(looped.inst) {
            if !looped.is_condition(&self.shape, exit) {
                keep_operands(self.func, exit, others);
            }
        }
        keep_operands(self.func, looped.inst, others);
        keep_results(self.func, looped.inst, others);
        keep_args(self.func, looped.body, |i| i != count.slot + 1);
        let data = &mut self.func.insts[looped.inst];
        data.operands.insert(0, rounds);
        data.regions = smallvec::smallvec![looped.body];
        if let Op::While(info) = data.op {
            data.op = Op::For(info);
        }
    }
}
