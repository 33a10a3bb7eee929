//! Operations on waves, and how far a thread is when it comes to one.
//!
//! A thread that comes to such an operation lets the others run, and those of its wave that are at the same point take part
//! ([`turns`](crate::turns)). Its point is a list of numbers, which grows along the program: for each function that it is in and each
//! loop around, the position of the loop and the number of the iteration, then the position of the call or of the operation.
//! Positions are counted as code is emitted, which is the order of the source. The list is in memory that the state leads to:
//!
//! ```text
//!   position of a loop, iteration, position of a loop, iteration, position of a call | the same for the callee | ..
//! ```
//!
//! Only programs with operations on waves keep it.

use crate::body::{Body, Regs};
use crate::compile::Result;
use crate::state::{Helper, at};
use crate::turns::WaveOp;
use cotangent_base::Scalar;
use cotangent_ir::wave::Wave;
use cotangent_ir::{InstData, Trap};
use cotangent_runtime::wave::LANES;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};
use smallvec::smallvec;

/// How deeply loops of one function may nest.
const MOST_LOOPS: u32 = 64;

/// The bytes that a function may need.
pub(crate) const MOST_BYTES: u64 = 16 * (MOST_LOOPS as u64 + 1);

/// What a function under construction knows of it.
#[derive(Default)]
pub(crate) struct Trail {
    /// Where the part of the function begins.
    base: Option<Reg>,
    /// How many loops are around.
    depth: u32,
    /// The next position.
    position: i64,
}

impl Body<'_, '_, '_> {
    /// Begins the part of a function.
    pub fn begin_trail(&mut self) {
        if !self.c.has_waves {
            return;
        }
        let base = self.load_state(types::I64, at::TRAIL);
        let most = self.add_const(base, MOST_BYTES as i64);
        let end = self.load_state(types::I64, at::TRAIL_END);
        let is_over = self.b.ins().icmp(IntCC::UnsignedGreaterThan, most, end);
        self.stop_if(is_over, Trap::CallDepth, None);
        self.trail.base = Some(base);
    }

    /// The next position in the function.
    fn position(&mut self) -> Reg {
        self.trail.position += 1;
        self.int(types::I64, self.trail.position)
    }

    /// The address of what belongs to the innermost loop, or after it.
    fn trail_at(&mut self, base: Reg, depth: u32) -> Reg {
        self.add_const(base, 16 * i64::from(depth))
    }

    /// Before a loop.
    pub fn enter_loop(&mut self) -> Result<()> {
        let Some(base) = self.trail.base else { return Ok(()) };
        if self.trail.depth == MOST_LOOPS {
            return self.refuse("deeply nested loops around operations on waves");
        }
        let (address, position, none) =
            (self.trail_at(base, self.trail.depth), self.position(), self.int(types::I64, -1));
        self.b.ins().store(MemFlagsData::trusted(), position, address, 0);
        self.b.ins().store(MemFlagsData::trusted(), none, address, 8);
        self.trail.depth += 1;
        Ok(())
    }

    /// At the head of a loop.
    pub fn next_iteration(&mut self) {
        let Some(base) = self.trail.base else { return };
        let address = self.trail_at(base, self.trail.depth - 1);
        let before = self.b.ins().load(types::I64, MemFlagsData::trusted(), address, 8);
        let now = self.add_const(before, 1);
        self.b.ins().store(MemFlagsData::trusted(), now, address, 8);
    }

    /// After a loop.
    pub fn leave_loop(&mut self) {
        if self.trail.base.is_some() {
            self.trail.depth -= 1;
        }
    }

    /// Before a call: what the callee adds comes after the position of the call.
    pub fn lengthen_trail(&mut self) {
        if self.trail.base.is_some() {
            let end = self.end_of_trail();
            self.store_state(end, at::TRAIL);
        }
    }

    /// Ends the list with the position here. Gives where it ends.
    fn end_of_trail(&mut self) -> Reg {
        let base = self.trail.base.expect("programs with operations on waves have it");
        let (address, position) = (self.trail_at(base, self.trail.depth), self.position());
        self.b.ins().store(MemFlagsData::trusted(), position, address, 0);
        self.add_const(address, 8)
    }

    /// An operation on a wave.
    pub fn wave(&mut self, kind: Wave, data: &InstData) -> Result<Regs> {
        if kind == Wave::LaneCount {
            return Ok(smallvec![self.int(types::I32, LANES.into())]);
        }
        if kind == Wave::LaneIndex {
            let index = self.load_state(types::I32, at::INDEX_IN_GROUP);
            let mask = self.int(types::I32, i64::from(LANES) - 1);
            return Ok(smallvec![self.b.ins().band(index, mask)]);
        }
        let ty = self.ty(data.results[0]);
        let given = self.scalar_of(data.operands[0]);
        let count = self.regs(data.operands[0]).len();
        let slot = self.stack(8 * 5);
        let words = self.b.ins().stack_addr(types::I64, slot, 0);
        let mut number = 0;
        for operand in &data.operands {
            let scalar = self.scalar_of(*operand);
            for reg in self.regs(*operand) {
                let word = self.word_of(reg, scalar);
                self.b.ins().store(MemFlagsData::trusted(), word, words, 8 * number);
                number += 1;
            }
        }
        self.c.waves.push(WaveOp { kind, ty, given, count });
        let (op, end) = (self.int(types::I32, self.c.waves.len() as i64 - 1), self.end_of_trail());
        let site = self.site(Trap::Barrier);
        let site = self.int(types::I32, site.into());
        let status =
            self.helper(Helper::Wave, &[self.state, op, site, end, words])?.expect("it gives a status");
        let (stopped, go_on) = (self.stopped_block(), self.b.create_block());
        self.b.ins().brif(status, stopped, &[], go_on, &[]);
        self.b.switch_to_block(go_on);
        let scalar = self.scalar_of(data.results[0]);
        let leaves = self.shape_of(data.results[0]).leaves;
        Ok((0..leaves).map(|i| self.of_word(words, i as i32, scalar)).collect())
    }

    /// A number in 64 bits: a float as binary64, an integer extended as its type says.
    pub fn word_of(&mut self, reg: Reg, scalar: Scalar) -> Reg {
        match self.b.func.dfg.value_type(reg) {
            types::F32 => self.b.ins().fpromote(types::F64, reg),
            types::F64 => reg,
            _ => self.extended(reg, scalar),
        }
    }

    /// A number from a list of such words.
    pub fn of_word(&mut self, words: Reg, number: i32, scalar: Scalar) -> Reg {
        let flags = MemFlagsData::trusted();
        let native = crate::shape::native(scalar);
        match native {
            types::F32 => {
                let wide = self.b.ins().load(types::F64, flags, words, 8 * number);
                self.b.ins().fdemote(types::F32, wide)
            }
            native => self.b.ins().load(native, flags, words, 8 * number),
        }
    }
}
