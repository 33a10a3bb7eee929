//! Barriers that lanes reach together.
//!
//! Lanes wait as one ([`turns`](crate::turns)). Where only some lanes may reach a barrier, code runs thread by thread.

use super::Lanes;
use crate::compile::Result;
use cranelift_codegen::ir::InstBuilder;

impl Lanes<'_, '_, '_> {
    /// Waits for the other threads of the group.
    pub(super) fn barrier(&mut self) -> Result<()> {
        if !self.mask.is_full() {
            return self.refuse("barriers in branches that lanes take apart");
        }
        // Threads before a dead lane have come as far as they may.
        let dead = self.is_lane_dead();
        let (end, whole) = (self.body.stopped_block(), self.body.b.create_block());
        self.body.b.ins().brif(dead, end, &[], whole, &[]);
        self.body.b.switch_to_block(whole);
        self.body.barrier()?;
        let next = self.order.new_segment();
        self.order.go_on_in(next);
        Ok(())
    }
}
