//! Maps bound parameters to the globals of the code.

use super::{Bindings, BlockPlace, Bound, Kind, Slot};
use crate::Global;
use crate::shader::{ShaderParam, ShaderParams, Shape};
use cotangent_base::Map;

/// Where a global of the code is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LeafPlace {
    /// A resource with a slot of its own.
    Slot(Slot),
    /// One of several resources that share a slot. In an array of resources, which number it has, and how many there are; nothing in
    /// arrays of structures and of arrays.
    Element(Slot, Option<(u32, u32)>),
    /// A value at an offset of a block.
    Value(BlockPlace, u32),
    /// A block whose members have places of their own.
    Packed(BlockPlace),
}

impl Bindings {
    /// Where each global is that the code uses.
    pub fn leaves(&self, params: &ShaderParams) -> Map<Global, LeafPlace> {
        let mut found = Map::default();
        let mut collect = |params: &[ShaderParam], bound: &[Bound], block: Option<BlockPlace>| {
            for (param, bound) in params.iter().zip(bound) {
                let mut globals = param.leaves.iter().copied();
                leaves(bound, block, false, &mut |place| {
                    if let (Some(global), Some(place)) = (globals.next(), place) {
                        found.insert(global, place);
                    }
                });
            }
        };
        collect(&params.globals, &self.params, self.block);
        for ((_, params), entry) in params.entries.iter().zip(&self.entries) {
            collect(params, &entry.params, entry.block);
        }
        found
    }
}

/// Visits the leaves of a parameter, arrays element by element.
fn leaves(bound: &Bound, around: Option<BlockPlace>, shared: bool, visit: &mut dyn FnMut(Option<LeafPlace>)) {
    match &bound.shape {
        Shape::Packed(..) => visit(around.map(LeafPlace::Packed)),
        Shape::Value(_) => {
            let offset = bound.data.map_or(0, |data| data.offset);
            visit(around.map(|block| LeafPlace::Value(block, offset)));
        }
        Shape::Resource(_) | Shape::Counter(_) => {
            let slot = bound.slots.iter().copied().find(|slot| slot.kind != Kind::PushConstant);
            visit(
                slot.map(|slot| if shared { LeafPlace::Element(slot, None) } else { LeafPlace::Slot(slot) }),
            );
        }
        Shape::Block(..) => bound.parts.iter().for_each(|part| leaves(part, bound.block, shared, visit)),
        Shape::Struct(_) => bound.parts.iter().for_each(|part| leaves(part, around, shared, visit)),
        Shape::Array(_, n) => {
            let stride = bound.data.map_or(0, |data| data.size) / (*n).max(1);
            for number in 0..*n {
                bound.parts.iter().for_each(|part| {
                    let numbered = !shared && matches!(part.shape, Shape::Resource(_));
                    leaves(part, around, true, &mut |place| {
                        visit(match place {
                            Some(LeafPlace::Element(slot, None)) if numbered => {
                                Some(LeafPlace::Element(slot, Some((number, *n))))
                            }
                            // What lies in a block of its own is the same for all elements.
                            Some(LeafPlace::Value(block, offset)) if Some(block) == around => {
                                Some(LeafPlace::Value(block, offset + number * stride))
                            }
                            other => other,
                        });
                    });
                });
            }
        }
    }
}
