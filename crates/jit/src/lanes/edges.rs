//! Variables, and how values go from block to block.

use super::value::{Leaf, Leaves, Vector, native};
use super::{Lanes, PARTS};
use crate::compile::Result;
use crate::shape;
use cotangent_base::Scalar;
use cotangent_ir::Value;
use cranelift_codegen::ir::{Type as Native, Value as Reg};
use cranelift_frontend::Variable;

/// A variable for a leaf in vectors.
pub(super) type LaneVariable = [Variable; PARTS];

/// A variable for a leaf.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    One(Variable, Native),
    Each(LaneVariable, Scalar),
}

impl Lanes<'_, '_, '_> {
    // Variables.

    pub(super) fn variable(&mut self, scalar: Scalar) -> LaneVariable {
        std::array::from_fn(|_| self.body.b.declare_var(native(scalar)))
    }

    pub(super) fn set_variable(&mut self, variable: &LaneVariable, vector: Vector) {
        for (variable, reg) in variable.iter().zip(vector) {
            self.body.b.def_var(*variable, reg);
        }
    }

    pub(super) fn variable_value(&mut self, variable: &LaneVariable) -> Vector {
        variable.map(|variable| self.body.b.use_var(variable))
    }

    /// Variables for the leaves of values that are not in memory.
    pub(super) fn slots(&mut self, values: &[Value]) -> Result<Vec<Slot>> {
        let mut slots = Vec::new();
        for value in self.with_leaves(values) {
            if self.varies(value) {
                for scalar in self.scalars(self.ty(value))? {
                    slots.push(Slot::Each(self.variable(scalar), scalar));
                }
            } else {
                for leaf in self.body.leaf_types(self.ty(value)) {
                    let ty = leaf.native();
                    slots.push(Slot::One(self.body.b.declare_var(ty), ty));
                }
            }
        }
        Ok(slots)
    }

    /// Sets variables in lanes of a mask, or at first in all.
    pub(super) fn set_slots(&mut self, slots: &[Slot], leaves: &[Leaf], mask: Option<Vector>) {
        for (slot, leaf) in slots.iter().zip(leaves) {
            match slot {
                Slot::One(variable, _) => {
                    let Leaf::One(reg) = leaf else { unreachable!("the analysis says that it is uniform") };
                    self.body.b.def_var(*variable, *reg);
                }
                Slot::Each(variable, scalar) => {
                    let mut vector = self.vector(*leaf, *scalar);
                    if let Some(mask) = mask {
                        let old = self.variable_value(variable);
                        vector = self.blend_vector(mask, vector, old);
                    }
                    self.set_variable(variable, vector);
                }
            }
        }
    }

    pub(super) fn slot_leaves(&mut self, slots: &[Slot]) -> Vec<Leaf> {
        let value = |lanes: &mut Self, slot: &Slot| match slot {
            Slot::One(variable, _) => Leaf::One(lanes.body.b.use_var(*variable)),
            Slot::Each(variable, _) => Leaf::Each(lanes.variable_value(variable)),
        };
        slots.iter().map(|slot| value(self, slot)).collect()
    }

    /// Gives variables a value, so that they have one on all ways.
    pub(super) fn clear_slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            match slot {
                Slot::One(variable, ty) => {
                    let zero = self.body.zero_of(*ty);
                    self.body.b.def_var(*variable, zero);
                }
                Slot::Each(variable, scalar) => {
                    let zero = self.zero_vector(*scalar);
                    self.set_variable(variable, zero);
                }
            }
        }
    }

    // Values along edges.

    /// The leaves of all values that have them.
    pub(super) fn all_leaves(&self, values: &[Value]) -> Leaves {
        self.with_leaves(values).into_iter().flat_map(|value| self.leaves(value)).collect()
    }

    /// The values that are not in memory.
    pub(super) fn with_leaves(&self, values: &[Value]) -> Vec<Value> {
        values.iter().copied().filter(|value| !self.in_memory(*value)).collect()
    }

    /// The types of what a block takes for values.
    pub(super) fn native_types(&self, values: &[Value]) -> Result<Vec<Native>> {
        let mut all = Vec::new();
        for value in self.with_leaves(values) {
            if self.varies(value) {
                let scalars = self.scalars(self.ty(value))?;
                all.extend(scalars.into_iter().flat_map(|scalar| [native(scalar); PARTS]));
            } else {
                all.extend(self.body.leaf_types(self.ty(value)).into_iter().map(shape::Leaf::native));
            }
        }
        Ok(all)
    }

    /// What is handed to a block for values of `to`.
    pub(super) fn registers(&mut self, from: &[Value], to: &[Value]) -> Result<Vec<Reg>> {
        let mut all = Vec::new();
        for (from, to) in from.iter().zip(to) {
            if self.in_memory(*to) {
                continue;
            }
            let leaves = self.leaves(*from);
            if self.varies(*to) {
                for (leaf, scalar) in leaves.into_iter().zip(self.scalars(self.ty(*to))?) {
                    all.extend(self.vector(leaf, scalar));
                }
                continue;
            }
            for leaf in leaves {
                let Leaf::One(reg) = leaf else { unreachable!("the analysis says that it is uniform") };
                all.push(reg);
            }
        }
        Ok(all)
    }

    /// Makes values those that a block was given.
    pub(super) fn take(&mut self, values: &[Value], given: &[Reg]) -> Result<()> {
        let mut given = given.iter().copied();
        for value in values {
            if self.in_memory(*value) {
                self.stored(*value);
                continue;
            }
            let count = self.body.shape_of(*value).leaves as usize;
            let leaves: Leaves = match self.varies(*value) {
                true => (0..count)
                    .map(|_| Leaf::Each(std::array::from_fn(|_| given.next().expect("it was handed on"))))
                    .collect(),
                false => given.by_ref().take(count).map(Leaf::One).collect(),
            };
            self.set(*value, leaves)?;
        }
        Ok(())
    }

    /// Makes values what leaves say.
    pub(super) fn take_leaves(&mut self, values: &[Value], leaves: &[Leaf]) -> Result<()> {
        let mut leaves = leaves.iter().copied();
        for value in values {
            if self.in_memory(*value) {
                self.stored(*value);
                continue;
            }
            let count = self.body.shape_of(*value).leaves as usize;
            let own = leaves.by_ref().take(count).collect();
            self.set(*value, own)?;
        }
        Ok(())
    }

    /// Moves values in memory to the storage of others, in lanes of the mask.
    pub(super) fn move_storage(&mut self, from: &[Value], to: &[Value]) -> Result<()> {
        let moves = from.iter().zip(to).filter(|(_, to)| self.in_memory(**to));
        let moves: Vec<_> =
            moves.map(|(from, to)| (self.repr(*from), self.body.storage(*to), self.ty(*to))).collect();
        self.move_at_once(moves)
    }
}
