//! Between which numbers an integer lies: what tells whether an index is inside its array for sure.
//!
//! ```text
//! for 8 () body(%k: i32) {        %k is 0..=7
//!   %i: i32 = add %k, 1           1..=8
//!   %j: i32 = rem %i, 4           0..=3
//! }
//! ```
//!
//! Intervals, computed backwards from the value that is asked for, a few steps deep. Where a sum or product might wrap
//! around, and of whatever is not known (parameters, loads, values that loops carry), the answer is all of the type. It does
//! not look at the conditions under which a value is used.

use crate::consts;
use cotangent_base::{Map, Scalar};
use cotangent_ir::{Control, Func, Inst, InstData, Math, Op, Region, Step, Type, Types, Value, ValueDef};

/// How many operations a search looks through.
const DEPTH: usize = 8;

/// An interval, with both its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Interval {
    low: i128,
    high: i128,
}

impl Interval {
    fn of(ends: [i128; 4]) -> Interval {
        let low = ends.into_iter().fold(i128::MAX, i128::min);
        Interval { low, high: ends.into_iter().fold(i128::MIN, i128::max) }
    }

    fn is_inside(self, other: Interval) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    fn and(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// The counted loops around the place that is looked at, which say how far their counters go.
#[derive(Default)]
pub(crate) struct Bounds {
    counts: Map<Region, Value>,
}

impl Bounds {
    /// A walk is about to enter the regions of `inst`.
    pub(crate) fn enter(&mut self, func: &Func, inst: Inst) {
        let data = &func.insts[inst];
        if let Control::For(_) = data.op.control() {
            self.counts.insert(data.regions[0], data.operands[0]);
        }
    }

    /// Whether every dynamic index of an access to an aggregate is inside for sure.
    pub(crate) fn is_inside(&self, types: &Types, func: &Func, access: &InstData) -> bool {
        let Some(path) = access.op.path() else { return false };
        let mut ty = func.ty(access.operands[0]);
        let mut indices = access.operands[access.operands.len() - path.indices()..].iter();
        for step in &path.0 {
            if let Step::Index = step {
                let (Some(index), Some(arity)) = (indices.next(), types.arity(ty)) else {
                    return false;
                };
                let all = Interval { low: 0, high: i128::from(arity) - 1 };
                if !self.interval(types, func, *index, DEPTH).is_some_and(|i| i.is_inside(all)) {
                    return false;
                }
            }
            let Some(part) = types.part(ty, step.known()) else { return false };
            ty = part;
        }
        true
    }

    /// Between what `value` lies, if it is an integer.
    fn interval(&self, types: &Types, func: &Func, value: Value, depth: usize) -> Option<Interval> {
        let Type::Scalar(scalar) = types.get(func.ty(value)) else {
            return None;
        };
        let all = all_of(scalar)?;
        let known = match func.values[value].def {
            ValueDef::Arg(region, 0) => self.counter(types, func, region, depth),
            ValueDef::Arg(..) => None,
            ValueDef::Result(inst, _) if depth > 0 => {
                let of = |value: Value| self.interval(types, func, value, depth - 1);
                result(types, func, inst, &of)
            }
            ValueDef::Result(..) => consts::int(types, func, value).map(|n| number(n, scalar)),
        };
        Some(known.filter(|known| known.is_inside(all)).unwrap_or(all))
    }

    fn counter(&self, types: &Types, func: &Func, body: Region, depth: usize) -> Option<Interval> {
        let count = *self.counts.get(&body)?;
        let count = self.interval(types, func, count, depth.checked_sub(1)?)?;
        Some(Interval { low: 0, high: (count.high - 1).max(0) })
    }
}

/// All numbers of an integer type.
fn all_of(scalar: Scalar) -> Option<Interval> {
    let bits = scalar.bits();
    scalar.is_int().then(|| match scalar.is_signed() {
        true => Interval { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1 },
        false => Interval { low: 0, high: (1 << bits) - 1 },
    })
}

fn number(n: i64, scalar: Scalar) -> Interval {
    let n = if scalar.is_signed() { i128::from(n) } else { i128::from(n as u64) };
    Interval { low: n, high: n }
}

/// Between what the result of an instruction lies, if nothing wraps around.
fn result(
    types: &Types,
    func: &Func,
    inst: Inst,
    of: &dyn Fn(Value) -> Option<Interval>,
) -> Option<Interval> {
    let data = &func.insts[inst];
    let scalar = types.scalar_of(func.ty(*data.results.first()?))?;
    match &data.op {
        Op::Const(_) | Op::Zero => consts::int(types, func, data.results[0]).map(|n| number(n, scalar)),
        // An integer read as another is itself if the other can hold it, which the caller sees to.
        Op::Convert | Op::Bitcast => of(data.operands[0]),
        Op::Select => Some(of(data.operands[1])?.and(of(data.operands[2])?)),
        Op::Math(math) => {
            let b = data.operands.get(1).and_then(|b| of(*b));
            arithmetic(*math, scalar, of(data.operands[0])?, b)
        }
        Op::Undef | Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Pack => None,
        Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer | Op::Transpose => None,
        Op::Extract(_) | Op::Insert(_) | Op::InsertAdd(_) => None,
        Op::Inject(_) | Op::Project(_) | Op::Tag | Op::Detach => None,
        Op::DiffCall(_) | Op::LinCall(_) | Op::Call(_) => None,
        Op::Global(_) | Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Barrier(_) | Op::Print(_) => None,
        Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => None,
        Op::Point(_) | Op::Offset | Op::Address | Op::Length | Op::Assert(_) => None,
        Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => None,
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => None,
    }
}

fn arithmetic(math: Math, scalar: Scalar, a: Interval, b: Option<Interval>) -> Option<Interval> {
    match b {
        Some(b) => binary(math, scalar, a, b),
        None if math == Math::Neg => Some(Interval { low: -a.high, high: -a.low }),
        None if math == Math::Abs && a.low >= 0 => Some(a),
        None => None,
    }
}

fn binary(math: Math, scalar: Scalar, a: Interval, b: Interval) -> Option<Interval> {
    let of_ends = |f: fn(i128, i128) -> Option<i128>| {
        Some(Interval::of([f(a.low, b.low)?, f(a.low, b.high)?, f(a.high, b.low)?, f(a.high, b.high)?]))
    };
    let is_positive = b.low > 0;
    // Larger amounts are taken modulo the width.
    let is_shift = 0 <= b.low && b.high < i128::from(scalar.bits());
    if math == Math::Add {
        of_ends(i128::checked_add)
    } else if math == Math::Sub {
        of_ends(i128::checked_sub)
    } else if math == Math::Mul {
        of_ends(i128::checked_mul)
    } else if math == Math::Div && is_positive {
        of_ends(i128::checked_div)
    } else if math == Math::Rem && is_positive {
        let most = b.high - 1;
        Some(Interval { low: a.low.clamp(-most, 0), high: a.high.clamp(0, most) })
    } else if math == Math::Min {
        Some(Interval { low: a.low.min(b.low), high: a.high.min(b.high) })
    } else if math == Math::Max {
        Some(Interval { low: a.low.max(b.low), high: a.high.max(b.high) })
    } else if math == Math::And {
        let highs = [a, b].into_iter().filter(|i| i.low >= 0).map(|i| i.high);
        highs.min().map(|high| Interval { low: 0, high })
    } else if math == Math::Shr && is_shift {
        of_ends(|a, b| Some(a >> b))
    } else {
        None
    }
}
