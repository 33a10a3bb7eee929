//! Computes intervals of integer values, to show that an index is in bounds or that a sum does not wrap.
//!
//! ```text
//! for 8 () body(%k: i32) {        %k is 0..=7
//!   %i: i32 = add %k, 1           1..=8
//!   %j: i32 = rem %i, 4           0..=3
//! }
//! ```
//!
//! The analysis works backwards from the queried value, a few steps deep. It returns the full range of the type for unknown
//! values (parameters, loads, values that loops carry), and where a sum or product might wrap. It ignores the conditions
//! under which a value is used.

use crate::consts;
use crate::interval::Interval;
use cotangent_base::Map;
use cotangent_ir::{Control, Func, Inst, InstData, Op, Region, Step, Type, Types, Value, ValueDef};

/// How many operations a search looks through.
const DEPTH: usize = 8;

/// The counted loops around the places that are looked at, which say how far their counters go.
#[derive(Default)]
pub struct Bounds {
    counts: Map<Region, Value>,
}

impl Bounds {
    /// With all loops of a function.
    pub fn of(func: &Func) -> Self {
        let mut bounds = Bounds::default();
        func.walk(func.body, &mut |inst| bounds.enter(func, inst));
        bounds
    }

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
                if !self.is_below(types, func, *index, arity) {
                    return false;
                }
            }
            let Some(part) = types.part(ty, step.known()) else { return false };
            ty = part;
        }
        true
    }

    /// Whether `index` is one of the numbers from zero up to, not including, `count` for sure.
    pub fn is_below(&self, types: &Types, func: &Func, index: Value, count: u32) -> bool {
        let all = Interval { low: 0, high: i128::from(count) - 1 };
        self.interval(types, func, index, DEPTH).is_some_and(|i| all.contains(i))
    }

    /// Between what `value` lies, if it is an integer.
    pub fn range(&self, types: &Types, func: &Func, value: Value) -> Option<(i128, i128)> {
        self.interval(types, func, value, DEPTH).map(|found| (found.low, found.high))
    }

    /// Whether an operation on integers gives what it gives on numbers without end for sure.
    pub fn stays(&self, types: &Types, func: &Func, data: &InstData) -> bool {
        let of = |value: Value| self.interval(types, func, value, DEPTH);
        let all = types.scalar_of(func.ty(data.results[0])).and_then(Interval::of_type);
        all.is_some_and(|all| result(types, func, data, &of).is_some_and(|made| all.contains(made)))
    }

    /// Between what `value` lies, if it is an integer.
    fn interval(&self, types: &Types, func: &Func, value: Value, depth: usize) -> Option<Interval> {
        let Type::Scalar(scalar) = types.get(func.ty(value)) else {
            return None;
        };
        let all = Interval::of_type(scalar)?;
        let known = match func.values[value].def {
            ValueDef::Arg(region, 0) => self.counter(types, func, region, depth),
            ValueDef::Arg(..) => None,
            ValueDef::Result(inst, _) if depth > 0 => {
                let of = |value: Value| self.interval(types, func, value, depth - 1);
                result(types, func, &func.insts[inst], &of)
            }
            ValueDef::Result(..) => consts::int(types, func, value).map(|n| all.constant(n)),
        };
        Some(known.filter(|known| all.contains(*known)).unwrap_or(all))
    }

    fn counter(&self, types: &Types, func: &Func, body: Region, depth: usize) -> Option<Interval> {
        let count = *self.counts.get(&body)?;
        let count = self.interval(types, func, count, depth.checked_sub(1)?)?;
        Some(Interval { low: 0, high: (count.high - 1).max(0) })
    }
}

/// Between what the result of an instruction lies, if nothing wraps around.
fn result(
    types: &Types,
    func: &Func,
    data: &InstData,
    of: &dyn Fn(Value) -> Option<Interval>,
) -> Option<Interval> {
    let scalar = types.scalar_of(func.ty(*data.results.first()?))?;
    match &data.op {
        Op::Const(_) | Op::Zero => {
            let all = Interval::of_type(scalar)?;
            consts::int(types, func, data.results[0]).map(|n| all.constant(n))
        }
        // An integer read as another is itself if the other can hold it, which the caller sees to.
        Op::Convert | Op::Bitcast => of(data.operands[0]),
        Op::Select => Some(of(data.operands[1])?.union(of(data.operands[2])?)),
        Op::Math(math) => match data.operands[..] {
            [a] => Interval::unary(*math, of(a)?),
            [a, b] => Interval::binary(*math, scalar, of(a)?, of(b)?),
            _ => None,
        },
        Op::Undef | Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Pack => None,
        Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer | Op::Transpose => None,
        Op::Extract(_) | Op::Insert(_) | Op::InsertAdd(_) => None,
        Op::Inject(_) | Op::Project(_) | Op::Tag | Op::Detach => None,
        Op::DiffCall(_) | Op::LinCall(_) | Op::Call(_) => None,
        Op::Global(_)
        | Op::Load(_)
        | Op::Store(_)
        | Op::Atomic(_)
        | Op::Barrier(_)
        | Op::Print(_)
        | Op::TargetText(_) => None,
        Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions | Op::Wave(_) => None,
        Op::Point(_) | Op::Offset | Op::Address | Op::Pointer | Op::Length | Op::Assert(_) => None,
        Op::Discard | Op::Screen(_) => None,
        Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => None,
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => None,
    }
}
