//! Barriers that lanes reach together.
//!
//! Lanes wait as one ([`turns`](crate::turns)). Where only some lanes may reach a barrier, code runs thread by thread.

use super::{LANES, Lanes};
use crate::compile::Result;
use crate::state::at;
use cranelift_codegen::ir::{InstBuilder, types};

impl Lanes<'_, '_, '_> {
    /// Waits for the other threads of the group.
    pub(super) fn barrier(&mut self) -> Result<()> {
        if !self.mask.is_full() {
            return self.refuse("barriers in branches that lanes take apart");
        }
        // Threads before a dead lane have come as far as they may.
        let live = self.body.load_state(types::I32, at::LIVE);
        let is_whole = self.body.is_const(live, (1 << LANES) - 1);
        let (end, whole) = (self.body.stopped_block(), self.body.b.create_block());
        self.body.b.ins().brif(is_whole, whole, &[], end, &[]);
        self.body.b.switch_to_block(whole);
        self.body.barrier()?;
        let next = self.order.new_segment();
        self.order.go_on_in(next);
        Ok(())
    }
}
