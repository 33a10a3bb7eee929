//! What the lanes of a wave compute together, for back ends that compute on a CPU.

use cotangent_base::Scalar;
use cotangent_ir::eval::Eval;
use cotangent_ir::wave::Wave;
use cotangent_ir::{Const, Trap, Type};

/// How many threads make a wave.
pub const LANES: u32 = 32;

/// A lane that takes part: its number and the numbers of its operands.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// Its number in the wave.
    pub number: u32,
    /// What it gives.
    pub given: Vec<Const>,
    /// The lane that it reads, if the operation reads a lane.
    pub from: Option<Const>,
}

/// What each of some lanes, in order, gets from an operation; `ty` is the type of the result.
pub fn together(eval: Eval, kind: Wave, ty: Type, lanes: &[Lane]) -> Result<Vec<Vec<Const>>, Trap> {
    let truth = |lane: &&Lane| lane.given[0] == Const::Bool(true);
    let same = |value: Vec<Const>| vec![value; lanes.len()];
    let all_of = |x: f64| numbers(ty, x);
    // What a lane gives that is not there is anything; here it is zero.
    let of = |found: Option<&Lane>| found.map_or_else(|| all_of(0.0), |lane| lane.given.clone());
    Ok(match kind {
        Wave::LaneIndex => lanes.iter().map(|lane| vec![Const::Int(lane.number.into())]).collect(),
        Wave::LaneCount => same(vec![Const::Int(LANES.into())]),
        Wave::All => same(vec![Const::Bool(lanes.iter().all(|lane| truth(&lane)))]),
        Wave::Any => same(vec![Const::Bool(lanes.iter().any(|lane| truth(&lane)))]),
        Wave::Ballot => {
            let set = lanes.iter().filter(truth).map(|lane| 1 << lane.number).sum::<i64>();
            same([set, 0, 0, 0].map(Const::Int).to_vec())
        }
        Wave::ReadFirst => same(lanes[0].given.clone()),
        Wave::ReadAt => {
            let is_asked = |lane: &Lane, other: &&Lane| lane.from == Some(Const::Int(other.number.into()));
            lanes.iter().map(|lane| of(lanes.iter().find(|other| is_asked(lane, other)))).collect()
        }
        Wave::QuadX | Wave::QuadY | Wave::QuadDiagonal => {
            let across = kind.across().unwrap_or(0);
            let from = |lane: &Lane| lanes.iter().find(|other| other.number == lane.number ^ across);
            lanes.iter().map(|lane| of(from(lane))).collect()
        }
        Wave::Sum | Wave::Product | Wave::Min | Wave::Max | Wave::And | Wave::Or | Wave::Xor => {
            let all = gathered(eval, kind, ty, lanes)?;
            same(all.last().cloned().unwrap_or_default())
        }
        Wave::PrefixSum | Wave::PrefixProduct => {
            let first = all_of(if kind == Wave::PrefixSum { 0.0 } else { 1.0 });
            let mut before = gathered(eval, kind, ty, lanes)?;
            before.pop();
            std::iter::once(first).chain(before).collect()
        }
    })
}

/// What the lanes up to each make together.
fn gathered(eval: Eval, kind: Wave, ty: Type, lanes: &[Lane]) -> Result<Vec<Vec<Const>>, Trap> {
    let (Some(math), Some(scalar)) = (kind.math(), ty.scalar()) else { return Ok(vec![]) };
    let mut sums: Vec<Vec<Const>> = Vec::new();
    for lane in lanes {
        let mut numbers = lane.given.clone();
        if let Some(sum) = sums.last() {
            for (number, before) in numbers.iter_mut().zip(sum) {
                *number = eval.math(math, scalar, &[*before, *number])?;
            }
        }
        sums.push(numbers);
    }
    Ok(sums)
}

/// A number for each component of a type.
fn numbers(ty: Type, x: f64) -> Vec<Const> {
    let is_float = ty.scalar().unwrap_or(Scalar::F32).is_float();
    let number = if is_float { Const::float(x) } else { Const::Int(x as i64) };
    let components = if let Type::Vector(_, n) = ty { n.into() } else { 1 };
    vec![number; components]
}
