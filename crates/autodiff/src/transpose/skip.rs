//! Skips transposed loops and calls where all cotangents that they are given are zero.
//!
//! ```text
//! ~t' = if %miss { yield zero } else { yield ~t }           t_ct = if miss { yield zero } else { yield y }
//!                                                           a_ct' = if miss { yield a_ct }
//! ~t  = for n (~a) { .. }                                           else  { yield for n rev (t_ct ..) { .. } }
//! ```
//!
//! A transposed loop or call is linear in its *seeds*: if they are zero, it adds zero to the accumulators. So it need not run.
//! Whether a seed is zero is read off the code that was emitted for it: a branch or the side of a `select` gave a zero, and
//! what was computed since is linear. Only choices that are made outside are found, since others are not known here.
//!
//! What contains a call of a source always runs, and so does a call that costs less than a branch.

use super::Transposer;
use crate::driver::Reported;
use cotangent_base::{Map, Scalar};
use cotangent_ir::{Const, FuncId, Linear, Math, Op, Region, Type, Value, ValueDef};

/// A call of a function with fewer instructions runs in any case.
const LEAST_WORK: usize = 16;
/// How many choices are tested before a loop or call.
const MOST_TESTS: usize = 2;
/// How far back the code is read.
const DEPTH: u32 = 24;

/// One side of a choice: its condition, and the value of the condition there.
pub(super) type Side = (Value, bool);

/// Where a value is zero.
#[derive(Clone, Debug)]
enum Zero {
    /// Everywhere.
    Always,
    /// On these sides, and perhaps elsewhere.
    On(Vec<Side>),
}

impl Zero {
    /// Where both are zero.
    fn and(self, other: Zero) -> Zero {
        match (self, other) {
            (Zero::Always, other) => other,
            (this, Zero::Always) => this,
            (Zero::On(mut sides), Zero::On(others)) => {
                sides.retain(|side| others.contains(side));
                Zero::On(sides)
            }
        }
    }

    /// Where one of them is zero.
    fn or(self, other: Zero) -> Zero {
        match (self, other) {
            (Zero::On(mut sides), Zero::On(others)) => {
                sides.extend(others.into_iter().filter(|side| !sides.contains(side)).collect::<Vec<_>>());
                Zero::On(sides)
            }
            (Zero::Always, _) | (_, Zero::Always) => Zero::Always,
        }
    }
}

impl Transposer<'_, '_> {
    /// Whether a call is worth a branch.
    pub(super) fn is_worth_a_branch(&self, callee: FuncId) -> bool {
        self.cx.module.funcs[callee].all_insts().len() >= LEAST_WORK
    }

    /// The sides on which all of `seeds` are zero; none if they are never used as seeds of anything.
    pub(super) fn idle_sides(&self, seeds: &[Value]) -> Vec<Side> {
        let mut known = Map::default();
        let zero =
            seeds.iter().map(|seed| self.zero_of(*seed, DEPTH, &mut known)).fold(Zero::Always, Zero::and);
        match zero {
            Zero::Always => Vec::new(),
            Zero::On(mut sides) => {
                sides.truncate(MOST_TESTS);
                sides
            }
        }
    }

    /// Runs `emit` in branches that are not taken on `sides`. There the results are `otherwise`.
    pub(super) fn unless(
        &mut self,
        sides: &[Side],
        otherwise: &[Value],
        emit: &mut dyn FnMut(&mut Self) -> Result<Vec<Value>, Reported>,
    ) -> Result<Vec<Value>, Reported> {
        let Some(((condition, idle), sides)) = sides.split_first() else {
            return emit(self);
        };
        let live = self.out.new_region();
        let outer = std::mem::replace(&mut self.region, live);
        let results = self.unless(sides, otherwise, emit)?;
        self.build(|b, _| b.yield_(&results));
        let skipped = self.out.new_region();
        self.region = skipped;
        self.build(|b, _| b.yield_(otherwise));
        self.region = outer;
        let types: Vec<_> = otherwise.iter().map(|value| self.out.ty(*value)).collect();
        let branch = self.build(|b, _| b.emit(Op::If, &[*condition], &types));
        let regions: [Region; 2] = if *idle { [skipped, live] } else { [live, skipped] };
        self.out.insts[branch].regions.extend(regions);
        Ok(self.out.insts[branch].results.to_vec())
    }

    /// Where a value of the new function is zero.
    fn zero_of(&self, value: Value, depth: u32, known: &mut Map<Value, Zero>) -> Zero {
        if let Some(zero) = known.get(&value) {
            return zero.clone();
        }
        let nowhere = Zero::On(Vec::new());
        let zero = match self.out.values[value].def {
            ValueDef::Result(inst, index) if depth > 0 => {
                let data = &self.out.insts[inst];
                let operands = &data.operands[..];
                let mut of = |value: Value| self.zero_of(value, depth - 1, known);
                match &data.op {
                    Op::Zero => Zero::Always,
                    Op::Const(Const::Float(0)) => Zero::Always,
                    Op::If => {
                        // What a branch chooses inside is not known outside of it.
                        let [then, otherwise] = [0, 1].map(|side| {
                            let exit = self.out.exit(data.regions[side]);
                            matches!(of(exit.operands[index as usize]), Zero::Always)
                        });
                        self.on_sides(operands[0], then, otherwise)
                    }
                    Op::Select => {
                        let (then, otherwise) = (of(operands[1]), of(operands[2]));
                        let is_zero = |zero: &Zero| matches!(zero, Zero::Always);
                        let sides = self.on_sides(operands[0], is_zero(&then), is_zero(&otherwise));
                        sides.or(then.and(otherwise))
                    }
                    Op::Math(math) => match math.linear() {
                        Linear::Jointly => operands.iter().map(|v| of(*v)).fold(Zero::Always, Zero::and),
                        Linear::Each => operands.iter().map(|v| of(*v)).fold(nowhere, Zero::or),
                        Linear::First if *math == Math::Div => of(operands[0]),
                        Linear::First | Linear::No | Linear::Inner => nowhere,
                    },
                    Op::Pack | Op::Insert(_) | Op::InsertAdd(_) => {
                        let parts = if data.op == Op::Pack { operands } else { &operands[..2] };
                        parts.iter().map(|v| of(*v)).fold(Zero::Always, Zero::and)
                    }
                    Op::Convert | Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Transpose | Op::Extract(_) => {
                        of(operands[0])
                    }
                    Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => {
                        of(operands[0]).or(of(operands[1]))
                    }
                    Op::Const(_) | Op::Undef | Op::Bitcast | Op::Tag | Op::Detach | Op::Inject(_) => nowhere,
                    Op::Project(_) | Op::DiffCall(_) | Op::LinCall(_) | Op::Call(_) | Op::Global(_) => {
                        nowhere
                    }
                    Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Barrier(_) | Op::Wave(_) => nowhere,
                    Op::Print(_)
                    | Op::TargetText(_)
                    | Op::Point(_)
                    | Op::Offset
                    | Op::Address
                    | Op::Pointer => nowhere,
                    Op::Length | Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => nowhere,
                    Op::Assert(_) | Op::Discard | Op::Screen(_) => nowhere,
                    Op::Switch(_) | Op::While(_) | Op::For(_) => nowhere,
                    Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => nowhere,
                }
            }
            ValueDef::Result(..) | ValueDef::Arg(..) => nowhere,
        };
        known.insert(value, zero.clone());
        zero
    }

    /// What a choice with zeros on these sides says.
    fn on_sides(&self, condition: Value, then: bool, otherwise: bool) -> Zero {
        let is_single =
            matches!(self.cx.module.types.get(self.out.ty(condition)), Type::Scalar(Scalar::Bool));
        match (then, otherwise) {
            (true, true) => Zero::Always,
            (then, otherwise) if is_single && (then || otherwise) => Zero::On(vec![(condition, then)]),
            _ => Zero::On(Vec::new()),
        }
    }
}
