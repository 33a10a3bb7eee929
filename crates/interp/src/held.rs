//! Values without derivative, held still.
//!
//! What `detach` gives counts as constant for derivatives, but moves with the inputs all the same. Whoever compares a
//! derivative with differences of the function must hold it still: note the values in one run, and give them, in the same
//! order, in runs nearby.

use crate::{Machine, Val};
use std::collections::VecDeque;
use std::mem;

/// What detached values are.
#[derive(Default)]
pub(crate) enum Held {
    /// What was computed.
    #[default]
    No,
    /// What was computed, noted in order.
    Noting(Vec<Val>),
    /// What was noted in another run.
    Given(VecDeque<Val>),
}

impl Machine<'_> {
    /// Notes what is detached from here on.
    pub fn note_detached(&mut self) {
        self.held = Held::Noting(Vec::new());
    }

    /// What was detached since noting began.
    pub fn take_detached(&mut self) -> Vec<Val> {
        match mem::take(&mut self.held) {
            Held::Noting(values) => values,
            Held::No | Held::Given(_) => Vec::new(),
        }
    }

    /// Gives these instead of what will be detached, one by one. A run that detaches more is on its own for the rest.
    pub fn give_detached(&mut self, values: &[Val]) {
        self.held = Held::Given(values.iter().cloned().collect());
    }

    /// What detaching a value gives.
    pub(crate) fn detach(&mut self, value: Val) -> Val {
        match &mut self.held {
            Held::No => value,
            Held::Noting(values) => {
                values.push(value.clone());
                value
            }
            Held::Given(values) => values.pop_front().unwrap_or(value),
        }
    }
}
