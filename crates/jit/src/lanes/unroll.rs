//! Loops of few iterations, one iteration after the other.
//!
//! In each iteration the counter is a constant: indices need no check, and parts of arrays have fixed addresses.

use super::Lanes;
use super::control::{LaneLoop, Yield};
use super::value::Leaf;
use crate::compile::Result;
use cotangent_ir::{Control, InstData, LoopInfo, Region};
use cranelift_codegen::ir::types;
use smallvec::SmallVec;

/// Loops of more iterations stay loops.
const MOST_ROUNDS: i32 = 4;

/// So do loops that would become more instructions of the IR than this.
const MOST_UNROLLED: usize = 128;

/// How many instructions a call is taken to be.
const CALL: usize = 64;

impl Lanes<'_, '_, '_> {
    /// Whether a loop of so many iterations is unrolled.
    pub(super) fn is_unrolled(&self, body: Region, rounds: i32) -> bool {
        rounds <= MOST_ROUNDS && rounds as usize * self.unrolled_size(body) <= MOST_UNROLLED
    }

    fn unrolled_size(&self, region: Region) -> usize {
        let func = self.body.func;
        let sizes = func.regions[region].insts.iter().map(|inst| {
            let data = &func.insts[*inst];
            let inner: usize = data.regions.iter().map(|region| self.unrolled_size(*region)).sum();
            match data.op.control() {
                // As if it were unrolled, too.
                Control::For(_) | Control::While(_) => 1 + MOST_ROUNDS as usize * inner,
                Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => CALL,
                Control::Plain | Control::If | Control::Switch(_) | Control::Exit(_) => 1 + inner,
            }
        });
        sizes.sum()
    }

    /// Emits a loop that lanes go through together as its iterations.
    pub(super) fn unrolled_loop(&mut self, data: &InstData, info: LoopInfo, rounds: i32) -> Result<()> {
        let func = self.body.func;
        let body = data.regions[0];
        let (counter, args) = func.regions[body].args.split_first().expect("it has a counter");
        let (results, args) = (data.results.to_vec(), args.to_vec());
        let types = self.native_types(&args)?;
        let end = self.native_types(&results)?;
        let end = self.body.block_with(&end);
        self.move_storage(&data.operands[1..], &results)?;
        let mut carried = self.registers(&data.operands[1..], &args)?;
        let before = self.mask;
        for round in 0..rounds {
            self.take(&args, &carried)?;
            let number = if info.reversed { rounds - 1 - round } else { round };
            let number = Leaf::One(self.body.int(types::I32, number.into()));
            self.set(*counter, SmallVec::from_slice(&[number]))?;
            let next = self.body.block_with(&types);
            let together = LaneLoop::Together { next, end, args: args.clone(), results: results.clone() };
            self.loops.push(together);
            self.region(body, &Yield::Round)?;
            self.loops.pop();
            self.mask = before;
            self.body.b.switch_to_block(next);
            carried = self.body.b.block_params(next).to_vec();
        }
        self.take(&args, &carried)?;
        let out = self.registers(&args, &results)?;
        self.body.jump(end, &out);
        self.body.b.switch_to_block(end);
        let given = self.body.b.block_params(end).to_vec();
        self.take(&results, &given)
    }
}
