//! The current values of slots, which paths that leave a slot unset pass through.
//!
//! A slot begins a round with the argument of the loop's body. Code then makes new versions of it: an `insert` into an
//! array, a loop over it, an `if` that updates it in one branch. A path that leaves early and does not care about the
//! slot could pass any version; it passes the latest, for if it passed an older one, that would still be needed after
//! the newer was made, and the whole array would have to be copied.

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

    /// A round of the group's loop begins with these.
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
