//! The slow path of loads and stores: rows that extend beyond their buffer, and rows in which some lanes are inactive. It rarely
//! runs, so a loop over the lanes keeps the code short, which saves compile time.

use super::Lanes;
use super::value::{Leaf, native};
use super::{LANES, LEAF_BYTES, PARTS};
use crate::compile::Result;
use crate::shape::{self, Leaf as Kind};
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::{Step, Ty};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as Reg, types};

impl Lanes<'_, '_, '_> {
    /// Where a part lies whose path has no index: so many bytes from the start.
    pub(super) fn fixed_part(&self, mut ty: Ty, steps: &[Step]) -> Option<(i64, Ty)> {
        let mut offset = 0;
        for step in steps {
            let Step::Part(number) = step else { return None };
            let part = self.body.c.shapes.part(ty, *number).expect("the verifier checked the path");
            offset += part.offset as i64;
            ty = part.ty;
        }
        Some((offset, ty))
    }

    /// The vectors of all leaves of elements, read lane by lane.
    pub(super) fn read_one_by_one(
        &mut self,
        base: Reg,
        index: Leaf,
        stride: i64,
        ty: Ty,
    ) -> Result<Vec<Reg>> {
        let scalars = self.scalars(ty)?;
        let leaves = self.body.c.shapes.leaves(ty);
        let room = self.rows_in_frame(index, scalars.len());
        self.repeat(LANES as u64, |lanes, lane| {
            let (address, own) = lanes.element_of(base, stride, room, lane);
            for (number, (kind, offset)) in (1..).zip(leaves.iter()) {
                let found = lanes.body.load_leaf(*kind, address, *offset as i32)?;
                let found = if *kind == Kind::Scalar(Scalar::Bool) {
                    let word = lanes.body.b.ins().uextend(types::I32, found);
                    lanes.body.b.ins().ineg(word)
                } else {
                    found
                };
                let at = number * LEAF_BYTES as i32;
                lanes.body.b.ins().store(MemFlagsData::trusted(), found, own, at);
            }
            Ok(())
        })?;
        let mut all = Vec::new();
        for (number, scalar) in (1..).zip(scalars) {
            for part in 0..PARTS as i32 {
                let at = number * LEAF_BYTES as i32 + 16 * part;
                all.push(self.body.b.ins().load(native(scalar), MemFlagsData::trusted(), room, at));
            }
        }
        Ok(all)
    }

    /// Writes the leaves of elements for the lanes that are here and live, one after the other.
    pub(super) fn write_one_by_one(
        &mut self,
        base: Reg,
        index: Leaf,
        stride: i64,
        ty: Ty,
        values: &[Leaf],
    ) -> Result<()> {
        let scalars = self.scalars(ty)?;
        let leaves = self.body.c.shapes.leaves(ty);
        let room = self.rows_in_frame(index, scalars.len());
        for (number, (value, scalar)) in (1..).zip(values.iter().zip(&scalars)) {
            for (part, reg) in (0..).zip(self.vector(*value, *scalar)) {
                let at = number * LEAF_BYTES as i32 + 16 * part;
                self.body.b.ins().store(MemFlagsData::trusted(), reg, room, at);
            }
        }
        let active = self.active();
        self.repeat(LANES as u64, |lanes, lane| {
            let number = lanes.body.b.ins().ireduce(types::I32, lane);
            let bits = lanes.body.b.ins().ushr(active, number);
            let one = lanes.body.int(types::I32, 1);
            let is_here = lanes.body.b.ins().band(bits, one);
            let (here, next) = (lanes.body.b.create_block(), lanes.body.b.create_block());
            lanes.body.b.ins().brif(is_here, here, &[], next, &[]);
            lanes.body.b.switch_to_block(here);
            let (address, own) = lanes.element_of(base, stride, room, lane);
            for (number, ((kind, offset), scalar)) in (1..).zip(leaves.iter().zip(&scalars)) {
                let (at, flags) = (number * LEAF_BYTES as i32, MemFlagsData::trusted());
                let value = match scalar {
                    // The lowest bit of a mask.
                    Scalar::Bool => {
                        let mask = lanes.body.b.ins().load(types::I8, flags, own, at);
                        let one = lanes.body.int(types::I8, 1);
                        lanes.body.b.ins().band(mask, one)
                    }
                    scalar_group!(int | float) => {
                        lanes.body.b.ins().load(shape::native(*scalar), flags, own, at)
                    }
                };
                lanes.body.store_leaf(*kind, value, address, *offset as i32)?;
            }
            lanes.body.b.ins().jump(next, &[]);
            lanes.body.b.switch_to_block(next);
            Ok(())
        })
    }

    /// Room in the frame for the indices of lanes, which it has, and leaves.
    fn rows_in_frame(&mut self, index: Leaf, leaves: usize) -> Reg {
        let room = self.room_in_frame(LEAF_BYTES * (1 + leaves as u64));
        for (part, reg) in (0..).zip(self.vector(index, Scalar::U32)) {
            self.body.b.ins().store(MemFlagsData::trusted(), reg, room, 16 * part);
        }
        room
    }

    /// The address of the element of a lane, and that of its index.
    fn element_of(&mut self, base: Reg, stride: i64, room: Reg, lane: Reg) -> (Reg, Reg) {
        let at = self.body.mul_const(lane, 4);
        let own = self.body.b.ins().iadd(room, at);
        let index = self.body.b.ins().uload32(MemFlagsData::trusted(), own, 0);
        let at = self.body.mul_const(index, stride);
        (self.body.b.ins().iadd(base, at), own)
    }
}
