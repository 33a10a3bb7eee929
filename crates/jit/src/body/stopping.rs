//! Where and how a function ends with a trap.

use super::Body;
use crate::compile::Result;
use crate::state::{Helper, at};
use cotangent_ir::Trap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value as Reg, types};

impl Body<'_, '_, '_> {
    /// Ends the function with a trap if a condition holds.
    pub fn stop_if(&mut self, cond: Reg, trap: Trap, found: Option<(Reg, Reg)>) {
        let (stop, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cond, stop, &[], go_on, &[]);
        self.b.switch_to_block(stop);
        self.b.set_cold_block(stop);
        self.stop(trap, found);
        self.b.switch_to_block(go_on);
    }

    /// This place, where the program may stop.
    pub fn site(&mut self, trap: Trap) -> u32 {
        self.c.site(trap, self.span, self.func, self.inlined)
    }

    /// Ends the function with a trap. Nothing can be emitted after it in this block.
    pub fn stop(&mut self, trap: Trap, found: Option<(Reg, Reg)>) {
        let site = self.site(trap);
        let site = self.int(types::I32, site.into());
        self.store_state(site, at::SITE);
        if self.is_lanes {
            // All lanes stop here, the first of them first.
            let first = self.int(types::I32, 0);
            self.store_state(first, at::LANE);
        }
        if let Some((index, len)) = found {
            self.store_state(index, at::INDEX);
            self.store_state(len, at::LEN);
        }
        let end = self.stopped_block();
        self.b.ins().jump(end, &[]);
    }

    /// Where the function returns that something is wrong.
    pub fn stopped_block(&mut self) -> Block {
        if let Some(block) = self.stopped {
            return block;
        }
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        self.stopped = Some(block);
        block
    }

    /// Ends the function if the launch must end; counts a step, if steps are counted.
    pub fn count_step(&mut self) -> Result<()> {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let word = self.b.ins().load(types::I64, flags, self.state, at::INTERRUPT);
        let flags = MemFlagsData::new().with_notrap().with_aligned();
        let must_end = self.b.ins().atomic_load(types::I32, flags, word);
        self.stop_if(must_end, Trap::Interrupted, None);
        if self.c.options.count_steps {
            let left = self.load_state(types::I64, at::FUEL);
            let left = self.add_const(left, -1);
            self.store_state(left, at::FUEL);
            let zero = self.int(types::I64, 0);
            let is_over = self.b.ins().icmp(IntCC::SignedLessThan, left, zero);
            let (empty, go_on) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(is_over, empty, &[], go_on, &[]);
            self.b.switch_to_block(empty);
            self.b.set_cold_block(empty);
            let status = self.helper(Helper::Refuel, &[self.state])?.expect("it gives a status");
            self.stop_if(status, Trap::StepLimit, None);
            self.b.ins().jump(go_on, &[]);
            self.b.switch_to_block(go_on);
        }
        Ok(())
    }
}
