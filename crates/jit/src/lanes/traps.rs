//! Traps of lanes. The header of [`super`] says what happens to a lane that traps.

use super::value::{Leaf, Mask, Vector};
use super::{LANES, Lanes};
use crate::compile::Result;
use crate::state::at;
use cotangent_base::Scalar;
use cotangent_ir::{Trap, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};

/// An index that may be outside: the index, its type, and how many elements there are, in 64 bits.
pub(super) type Found = (Leaf, Scalar, Reg);

impl Lanes<'_, '_, '_> {
    /// Notes the first of some lanes that trap, and makes it and those above it dead. The function ends if none is left.
    pub(super) fn trap(&mut self, bad: Vector, trap: Trap, found: Option<Found>) {
        let any = self.any(bad);
        let (cold, go_on) = (self.body.b.create_block(), self.body.b.create_block());
        self.body.b.ins().brif(any, cold, &[], go_on, &[]);
        self.body.b.switch_to_block(cold);
        self.body.b.set_cold_block(cold);
        let bits = self.bits(bad);
        let live = self.body.load_state(types::I32, at::LIVE);
        let bits = self.body.b.ins().band(bits, live);
        let noted = self.body.b.create_block();
        self.body.b.ins().brif(bits, noted, &[], go_on, &[]);
        self.body.b.switch_to_block(noted);
        self.body.b.set_cold_block(noted);
        self.note(bits, trap, found);
        let one = self.body.int(types::I32, 1);
        let lane = self.body.b.ins().ctz(bits);
        let above = self.body.b.ins().ishl(one, lane);
        let below = self.body.b.ins().isub(above, one);
        self.body.store_state(below, at::LIVE);
        let end = self.body.stopped_block();
        self.body.b.ins().brif(below, go_on, &[], end, &[]);
        self.body.b.switch_to_block(go_on);
    }

    /// Writes the lowest lane, the site and the index into the state.
    fn note(&mut self, bits: Reg, trap: Trap, found: Option<Found>) {
        let lane = self.body.b.ins().ctz(bits);
        self.body.store_state(lane, at::LANE);
        let site = self.body.site(trap);
        let site = self.body.int(types::I32, site.into());
        self.body.store_state(site, at::SITE);
        let Some((index, scalar, len)) = found else { return };
        let index = match index {
            Leaf::One(index) => index,
            Leaf::Next(..) | Leaf::Each(_) => {
                let slot = self.body.stack(4 * LANES as u64);
                let base = self.body.b.ins().stack_addr(types::I64, slot, 0);
                let flags = MemFlagsData::new().with_notrap();
                for (part, vector) in self.vector(index, scalar).into_iter().enumerate() {
                    self.body.b.ins().store(flags, vector, base, 16 * part as i32);
                }
                let lane = self.body.b.ins().uextend(types::I64, lane);
                let at = self.body.mul_const(lane, 4);
                let address = self.body.b.ins().iadd(base, at);
                self.body.b.ins().load(types::I32, MemFlagsData::trusted(), address, 0)
            }
        };
        let index = self.body.extended(index, scalar);
        self.body.store_state(index, at::INDEX);
        self.body.store_state(len, at::LEN);
    }

    /// Whether some lane is dead: 0 or 1.
    pub(super) fn is_lane_dead(&mut self) -> Reg {
        let live = self.body.load_state(types::I32, at::LIVE);
        let is_whole = self.body.is_const(live, (1 << LANES) - 1);
        let one = self.body.int(types::I8, 1);
        self.body.b.ins().bxor(is_whole, one)
    }

    pub(super) fn assert(&mut self, cond: Value, trap: Trap) -> Result<()> {
        match (self.leaf(cond), self.mask) {
            (Leaf::One(holds), Mask::Full) => {
                let fails = self.body.is_const(holds, 0);
                self.body.stop_if(fails, trap, None);
            }
            (holds, mask) => {
                let holds = self.vector(holds, Scalar::Bool);
                let bad = self.without(mask, holds);
                self.trap(bad, trap, None);
            }
        }
        Ok(())
    }

    /// Whether an index is less than a constant length for all that counters of loops can be.
    pub(super) fn is_inside(&self, index: Reg, scalar: Scalar, len: Reg) -> bool {
        let is_word = matches!(scalar, Scalar::I32 | Scalar::U32);
        let len = self.known(len).filter(|_| is_word);
        len.zip(self.bounds_of(index).filter(|_| is_word)).is_some_and(|(len, (_, most))| most < len.into())
    }

    /// An index that is safe in all lanes, after the lanes have trapped for which it is not less than `len`.
    pub(super) fn checked(&mut self, index: Value, len: Reg) -> Result<Leaf> {
        let (leaf, scalar) = (self.leaf(index), self.body.scalar_of(index));
        if let Leaf::One(reg) = leaf {
            if self.is_inside(reg, scalar, len) {
                return Ok(Leaf::One(self.body.extended(reg, scalar)));
            }
            // If it is outside, lanes of a mask die, and the others go on.
            self.note_below(reg, len, self.mask.is_full());
        }
        match (leaf, self.mask) {
            (Leaf::One(reg), Mask::Full) => {
                let index = self.body.extended(reg, scalar);
                let is_outside = self.body.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
                self.body.stop_if(is_outside, Trap::OutOfBounds, Some((index, len)));
                Ok(Leaf::One(index))
            }
            (Leaf::One(reg), Mask::Some(mask)) => {
                let index = self.body.extended(reg, scalar);
                let is_outside = self.body.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
                let (cold, go_on) = (self.body.b.create_block(), self.body.block_with(&[types::I64]));
                self.body.b.ins().brif(is_outside, cold, &[], go_on, &[index.into()]);
                self.body.b.switch_to_block(cold);
                self.body.b.set_cold_block(cold);
                self.trap(mask, Trap::OutOfBounds, Some((Leaf::One(reg), scalar, len)));
                let zero = self.body.int(types::I64, 0);
                self.body.jump(go_on, &[zero]);
                self.body.b.switch_to_block(go_on);
                Ok(Leaf::One(self.body.b.block_params(go_on)[0]))
            }
            (leaf, mask) => {
                if !matches!(scalar, Scalar::I32 | Scalar::U32) {
                    return self.refuse("indices that do not have 32 bits");
                }
                let vector = self.vector(leaf, scalar);
                // No index of 32 bits reaches a longer length; as a signed number it would be negative.
                let most = self.body.int(types::I64, i64::from(u32::MAX));
                let short = self.body.b.ins().umin(len, most);
                let short = self.body.b.ins().ireduce(types::I32, short);
                let short = self.body.b.ins().splat(types::I32X4, short);
                let inside = vector.map(|part| self.body.b.ins().icmp(IntCC::UnsignedLessThan, part, short));
                let bad = self.without(mask, inside);
                self.trap(bad, Trap::OutOfBounds, Some((leaf, scalar, len)));
                Ok(Leaf::Each(self.and(vector, inside)))
            }
        }
    }
}
