//! Estimates whether lanes are faster than threads one after the other.
//!
//! Costs are counted while code is emitted: for all lanes at once, and for as many threads in scalar code. A unit is an
//! instruction. Both run the same uniform and varying operations, so what decides is what lanes cannot do in vectors, and code that
//! lanes run for some of them only:
//!
//! - An operation that is done lane by lane costs lanes more than scalar code.
//! - An arm of a branch that lanes part at costs lanes its whole, and scalar code its share.
//! - A loop that lanes leave apart runs as long as the last lane needs.

use super::{LANES, Lanes, PARTS};
use crate::compile::Result;
use cotangent_ir::{InstData, Op, op_group};
use cranelift_codegen::entity::EntityRef;
use cranelift_codegen::ir::Block;

/// How many iterations a loop is taken to have.
const ITERATIONS: f64 = 8.0;

/// How much longer the longest of all lanes runs than the mean.
const LONGEST: f64 = 1.5;

/// Lanes are used if they cost at most this share of scalar code: a call of native code for each thread costs something, too.
const SHARE: f64 = 1.0;

/// What lanes and scalar code cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    lanes: f64,
    scalar: f64,
    /// How often the code that is emitted runs, for each.
    weight: (f64, f64),
}

impl Default for Cost {
    fn default() -> Self {
        Cost { lanes: 0.0, scalar: 0.0, weight: (1.0, 1.0) }
    }
}

impl Cost {
    /// Whether lanes are faster.
    pub fn favours_lanes(&self) -> bool {
        self.lanes <= SHARE * self.scalar
    }

    /// Enters a loop. Gives what [`Self::leave`] needs.
    pub fn enter_loop(&mut self, is_masked: bool) -> (f64, f64) {
        let before = self.weight;
        self.weight.0 *= if is_masked { ITERATIONS * LONGEST } else { ITERATIONS };
        self.weight.1 *= ITERATIONS;
        before
    }

    /// Enters one of several arms that lanes part at.
    pub fn enter_arm(&mut self, arms: usize) -> (f64, f64) {
        let before = self.weight;
        self.weight.1 /= arms as f64;
        before
    }

    /// Enters code that hardly ever runs.
    pub fn enter_cold(&mut self) -> (f64, f64) {
        std::mem::replace(&mut self.weight, (0.0, 0.0))
    }

    pub fn leave(&mut self, before: (f64, f64)) {
        self.weight = before;
    }
}

impl Lanes<'_, '_, '_> {
    /// Counts an instruction.
    pub(super) fn count_cost(&mut self, data: &InstData) {
        let leaves = match data.results.first() {
            Some(result) if self.in_memory(*result) => 1,
            Some(result) => self.body.shape_of(*result).leaves.max(1),
            None => 1,
        };
        let each = match &data.op {
            Op::Math(math) if super::control::is_long(*math) => 16 * leaves,
            Op::Math(_) | Op::Select | Op::Convert | Op::Load(_) | Op::Store(_) => leaves,
            Op::Extract(_) | Op::Insert(_) | Op::InsertAdd(_) if data.operands.len() > 1 => leaves,
            Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat => 2 * leaves,
            op_group!(plain | call | control | exit) => 0,
        } as f64;
        let varies = data.results.first().is_none_or(|result| self.varies(*result));
        let vectors = if varies { PARTS as f64 } else { 1.0 };
        self.cost.lanes += self.cost.weight.0 * each * vectors;
        self.cost.scalar += self.cost.weight.1 * each * LANES as f64;
    }

    /// Counts a loop that copies `n` elements to or from an array, four at a time.
    pub(super) fn count_copy(&mut self, n: u32) {
        let n = f64::from(n);
        self.cost.lanes += self.cost.weight.0 * 4.0 * PARTS as f64 * n;
        self.cost.scalar += self.cost.weight.1 * 2.0 * LANES as f64 * n;
    }

    /// Emits code that rarely runs, beginning with a block. It comes after all other code.
    pub(super) fn in_cold(&mut self, block: Block, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (weight, first) = (self.cost.enter_cold(), self.body.b.func.dfg.num_blocks());
        emit(self)?;
        self.cost.leave(weight);
        let made = (first..self.body.b.func.dfg.num_blocks()).map(Block::new);
        std::iter::once(block).chain(made).for_each(|block| self.body.b.set_cold_block(block));
        Ok(())
    }

    /// Counts what is done lane by lane: so many scalar instructions for each.
    pub(super) fn count_by_lane(&mut self, instructions: usize) {
        self.cost.lanes += self.cost.weight.0 * (instructions * LANES) as f64;
    }
}
