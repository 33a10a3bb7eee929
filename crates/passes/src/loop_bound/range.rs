//! Computes the range of an integer value.
//!
//! It follows definitions up to [`DEEPEST`] steps: constants, `min` and `max`, masks, remainders, sums, choices, conversions,
//! and counters of enclosing loops. Any other value has the full range of its type.

use super::progress::Way;
use crate::consts;
use crate::interval::Interval;
use crate::shape::{Loop, Shape};
use cotangent_base::Scalar;
use cotangent_ir::{Func, Inst, Math, Op, Region, Type, Types, Value, ValueDef};

/// How many instructions behind a value are looked at.
const DEEPEST: u32 = 6;

/// The ranges of a function's values.
pub(super) struct Ranges<'a> {
    pub types: &'a Types,
    pub func: &'a Func,
    pub shape: &'a Shape,
}

impl Ranges<'_> {
    /// What `value` can be, if it is an integer.
    pub fn of(&self, value: Value) -> Option<Interval> {
        self.within(value, DEEPEST)
    }

    /// What the type of `value` holds.
    pub fn all(&self, value: Value) -> Option<Interval> {
        if let Type::Scalar(scalar) = self.types.get(self.func.ty(value)) {
            Interval::of_type(scalar)
        } else {
            None
        }
    }

    /// Whether shifting `value` by any of `by` shifts so far.
    fn is_shift(&self, by: Interval, value: Value) -> bool {
        self.types.scalar_of(self.func.ty(value)).is_some_and(|scalar| by.is_shift_of(scalar))
    }

    /// How a slot of a `while` gets from one iteration to the next.
    pub fn way(&self, looped: Loop, slot: usize) -> Option<Way> {
        self.way_within(looped, slot, DEEPEST)
    }

    fn way_within(&self, looped: Loop, slot: usize, depth: u32) -> Option<Way> {
        let arg = self.func.regions[looped.body].args[slot];
        let edges = looped.back_edges(self.func, self.shape);
        let mut ways = edges.iter().map(|exit| self.step(self.func.insts[*exit].operands[slot], arg, depth));
        let first = ways.next()??;
        ways.try_fold(first, |sum, way| sum.joined(way?))
    }

    /// How `next` comes from `arg`.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known about any other operation")]
    fn step(&self, next: Value, arg: Value, depth: u32) -> Option<Way> {
        let data = self.func.def(next)?;
        let Op::Math(math) = data.op else { return None };
        let &[a, b] = &data.operands[..] else { return None };
        let by = |value| self.within(value, depth.checked_sub(1)?);
        match math {
            Math::Add if a == arg => Way::add(by(b)?),
            Math::Add if b == arg => Way::add(by(a)?),
            Math::Sub if a == arg => Way::add(Interval::unary(Math::Neg, by(b)?)?),
            Math::Mul if a == arg => Way::multiply(by(b)?),
            Math::Mul if b == arg => Way::multiply(by(a)?),
            Math::Shl if a == arg => by(b).filter(|by| self.is_shift(*by, a)).and_then(Way::shift_left),
            Math::Div if a == arg => Way::divide(by(b)?),
            Math::Shr if a == arg => by(b).filter(|by| self.is_shift(*by, a)).and_then(Way::shift_right),
            _ => None,
        }
    }

    fn within(&self, value: Value, depth: u32) -> Option<Interval> {
        let all = self.all(value)?;
        if let Some(n) = consts::int(self.types, self.func, value) {
            return Some(all.constant(n));
        }
        let found = depth.checked_sub(1).and_then(|depth| match self.func.values[value].def {
            ValueDef::Result(inst, index) => self.result(inst, index as usize, depth),
            ValueDef::Arg(region, index) => self.argument(region, index as usize, depth),
        });
        // What leaves the type wraps around, and may then be anything.
        Some(found.filter(|found| all.contains(*found)).unwrap_or(all))
    }

    fn result(&self, inst: Inst, index: usize, depth: u32) -> Option<Interval> {
        let data = &self.func.insts[inst];
        let of = |value| self.within(value, depth);
        match (&data.op, &data.operands[..]) {
            (Op::Math(math), &[a, b]) => {
                Interval::binary(*math, self.types.scalar_of(self.func.ty(a))?, of(a)?, of(b)?)
            }
            (Op::Math(math), &[a]) => Interval::unary(*math, of(a)?),
            (Op::Select, &[_, a, b]) => Some(of(a)?.union(of(b)?)),
            (Op::Convert | Op::Bitcast, &[a]) => match self.types.get(self.func.ty(a)) {
                Type::Scalar(Scalar::Bool) => Some(Interval { low: 0, high: 1 }),
                Type::Unit
                | Type::Scalar(_)
                | Type::Vector(..)
                | Type::Matrix(..)
                | Type::Array(..)
                | Type::Struct(_)
                | Type::Sum(_)
                | Type::Buffer(..)
                | Type::Opaque(_)
                | Type::Ref(_) => of(a),
            },
            (Op::If | Op::Switch(_), _) => self.choice(&data.regions, index, depth),
            _ => None,
        }
    }

    fn choice(&self, regions: &[Region], index: usize, depth: u32) -> Option<Interval> {
        let exits = regions.iter().map(|region| self.func.exit(*region)).filter(|exit| exit.op == Op::Yield);
        let mut ranges = exits.map(|exit| self.within(exit.operands[index], depth));
        let first = ranges.next()??;
        ranges.try_fold(first, |sum, range| Some(sum.union(range?)))
    }

    /// The counter of a `for`, or a counting slot of a `while` in its body, where the condition holds.
    fn argument(&self, region: Region, index: usize, depth: u32) -> Option<Interval> {
        let looped = Loop::of(self.func, self.shape.owner(region)?)?;
        let operands = &self.func.insts[looped.inst].operands;
        if region != looped.body {
            return None;
        }
        let Some(cond) = looped.cond else {
            let count = if index == 0 { self.within(operands[0], depth)? } else { return None };
            return Some(Interval { low: 0, high: (count.high - 1).max(0) });
        };
        let start = self.within(operands[index], depth)?;
        let asked = self.func.def(self.func.exit(cond).operands[0])?;
        let (Op::Math(math), &[a, b]) = (&asked.op, &asked.operands[..]) else { return None };
        if a != self.func.regions[cond].args[index] {
            return None;
        }
        let all = self.all(self.func.regions[region].args[index])?;
        let limit = self.within(b, depth)?;
        self.way_within(looped, index, depth)?.while_holds(start, *math, limit, all)
    }
}
