//! Tracks the current value of each slot, for paths that leave the slot unset.
//!
//! At the start of an iteration, the current value is the argument of the loop's body. Code then creates new versions: an
//! `insert` into an array, a loop over it, an `if` that updates it in one branch. A path that exits early without setting the
//! slot could pass any version. It passes the latest: an older one would stay live after the update, and the whole array
//! would be copied.

use super::exits::Group;
use cotangent_ir::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A slot of a group.
type Slot = (Group, usize);

/// The latest version of each slot.
#[derive(Clone, Default)]
pub(super) struct Versions {
    latest: BTreeMap<Group, Vec<Value>>,
}

impl Versions {
    /// The latest versions of the slots of a group, if it has begun.
    pub(super) fn get(&self, group: Group) -> Option<&[Value]> {
        self.latest.get(&group).map(Vec::as_slice)
    }

    /// An iteration of the group's loop begins with these.
    pub(super) fn begin(&mut self, group: Group, values: &[Value]) {
        self.latest.insert(group, values.to_vec());
    }

    /// `new` has been made from `old`.
    pub(super) fn update(&mut self, old: Value, new: Value) {
        for value in self.latest.values_mut().flatten().filter(|v| **v == old) {
            *value = new;
        }
    }

    /// The slots of which `value` is the latest version.
    fn slots_of(&self, value: Value) -> BTreeSet<Slot> {
        let of_group = |(&group, values): (&Group, &Vec<Value>)| {
            let slots = values.iter().enumerate().filter(|(_, v)| **v == value);
            slots.map(|(i, _)| (group, i)).collect::<Vec<_>>()
        };
        self.latest.iter().flat_map(of_group).collect()
    }

    /// What the branches of a construct gave are now the latest versions.
    pub(super) fn take(&mut self, met: &Met, results: &[Value]) {
        for (slots, &result) in met.slots.borrow().iter().flatten().zip(results) {
            for (group, i) in slots {
                if let Some(values) = self.latest.get_mut(group) {
                    values[*i] = result;
                }
            }
        }
    }
}

/// Of which slots each result of a construct is the latest version, whichever branch gave it.
#[derive(Clone, Default, Debug)]
pub(super) struct Met {
    slots: RefCell<Option<Vec<BTreeSet<Slot>>>>,
}

impl Met {
    /// A branch ends with these values.
    pub(super) fn branch(&self, versions: &Versions, values: &[Value]) {
        let here: Vec<BTreeSet<Slot>> = values.iter().map(|v| versions.slots_of(*v)).collect();
        let mut slots = self.slots.borrow_mut();
        *slots = Some(match slots.take() {
            None => here,
            Some(before) => before.iter().zip(&here).map(|(a, b)| a & b).collect(),
        });
    }
}
