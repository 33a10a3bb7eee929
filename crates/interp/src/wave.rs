//! Executes wave operations.
//!
//! A wave is [`LANES`] consecutive threads of a group. A thread that reaches a wave operation stops there with its operands.
//! When no thread of the group can continue, the least advanced thread determines which lanes run: all threads of its wave at
//! the same point take part, get their results, and continue. So threads that took different branches, or left a loop
//! earlier, reconverge after it, as on hardware that runs lanes in lockstep.
//!
//! The [`Point`] of a thread is its position in each active function, and its iteration of each enclosing loop. Codes are in
//! source order, so points compare as lists of numbers.

use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::wave::Wave;
use cotangent_ir::{Const, Trap, Type};

/// How many threads make a wave.
pub const LANES: u32 = 32;

/// How far a thread is.
pub(crate) type Point = Vec<u64>;

/// A lane that takes part: its number and its operands.
pub(crate) struct Lane {
    pub number: u32,
    pub operands: Vec<Val>,
}

impl Machine<'_> {
    /// What each of some lanes, in order, gets from an operation; `ty` is the type of the result.
    pub(crate) fn wave(&mut self, kind: Wave, ty: Type, lanes: &[Lane]) -> Result<Vec<Val>, Trap> {
        let truth =
            |m: &mut Self, lane: &Lane| m.scalar(&lane.operands[0], Scalar::Bool) == Const::Bool(true);
        let same = |value: Val| vec![value; lanes.len()];
        let own = |lane: &Lane| lane.operands[0].clone();
        Ok(match kind {
            Wave::LaneIndex => lanes.iter().map(|lane| Val::int(lane.number.into())).collect(),
            Wave::LaneCount => same(Val::int(LANES.into())),
            Wave::All => {
                let all = lanes.iter().all(|lane| truth(self, lane));
                same(Val::Scalar(Const::Bool(all)))
            }
            Wave::Any => {
                let any = lanes.iter().any(|lane| truth(self, lane));
                same(Val::Scalar(Const::Bool(any)))
            }
            Wave::Ballot => {
                let set = lanes.iter().filter(|lane| truth(self, lane)).map(|lane| 1 << lane.number);
                same(Val::ints(&[set.sum::<i64>(), 0, 0, 0]))
            }
            Wave::ReadFirst => same(own(&lanes[0])),
            Wave::ReadAt => {
                let mut read = Vec::new();
                for lane in lanes {
                    let from = self.scalar(&lane.operands[1], Scalar::U32);
                    // What a lane gives that is not there is anything; here it is zero.
                    let found = lanes.iter().find(|other| Const::Int(other.number.into()) == from);
                    read.push(found.map_or_else(|| self.none(ty), own));
                }
                read
            }
            Wave::QuadX | Wave::QuadY | Wave::QuadDiagonal => {
                let across = kind.across().unwrap_or(0);
                let from = |lane: &Lane| lanes.iter().find(|other| other.number == lane.number ^ across);
                lanes.iter().map(|lane| from(lane).map_or_else(|| self.none(ty), own)).collect()
            }
            Wave::Sum | Wave::Product | Wave::Min | Wave::Max | Wave::And | Wave::Or | Wave::Xor => {
                let all = self.gathered(kind, ty, lanes)?;
                same(all.last().cloned().unwrap_or_default())
            }
            Wave::PrefixSum | Wave::PrefixProduct => {
                let first = self.number_value(ty, if kind == Wave::PrefixSum { 0.0 } else { 1.0 });
                let mut before = self.gathered(kind, ty, lanes)?;
                before.pop();
                std::iter::once(first).chain(before).collect()
            }
        })
    }

    /// What the lanes up to each make together.
    fn gathered(&mut self, kind: Wave, ty: Type, lanes: &[Lane]) -> Result<Vec<Val>, Trap> {
        let (Some(math), Some(scalar)) = (kind.math(), ty.scalar()) else { return Ok(vec![]) };
        let mut sums: Vec<Vec<Const>> = Vec::new();
        for lane in lanes {
            let mut numbers = self.numbers(&lane.operands[0], ty).into_vec();
            if let Some(sum) = sums.last() {
                for (number, before) in numbers.iter_mut().zip(sum) {
                    *number = self.eval.math(math, scalar, &[*before, *number])?;
                }
            }
            sums.push(numbers);
        }
        Ok(sums.into_iter().map(|numbers| shaped(ty, numbers)).collect())
    }

    /// Zero.
    fn none(&self, ty: Type) -> Val {
        self.number_value(ty, 0.0)
    }

    fn number_value(&self, ty: Type, x: f64) -> Val {
        let scalar = ty.scalar().unwrap_or(Scalar::F32);
        let number = if scalar.is_float() { Const::float(x) } else { Const::Int(x as i64) };
        let lanes = if let Type::Vector(_, n) = ty { n.into() } else { 1 };
        shaped(ty, vec![number; lanes])
    }
}

fn shaped(ty: Type, numbers: Vec<Const>) -> Val {
    match (ty, &numbers[..]) {
        (Type::Scalar(_), [one]) => Val::Scalar(*one),
        _ => Val::aggregate(numbers.into_iter().map(Val::Scalar)),
    }
}
