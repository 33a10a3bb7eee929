//! Values without derivative, held still.
//!
//! What `detach` gives counts as constant for derivatives, but moves with the inputs all the same. Whoever compares a
//! derivative with differences of the function must hold it still: note the values in one run, and give them in runs nearby.
//!
//! A value is known by where and when it is made: by its place in each function that is running, and by the round of each loop
//! around that place. So a run nearby that takes another branch, or makes more rounds, gets the values of the places
//! that it has in common with the first. At a place that the first did not come to there is nothing to hold: the run has
//! *strayed*, and its results are not those of the function that was differentiated.

use crate::wave::Point;
use crate::{Machine, Val};
use cotangent_base::Map;
use std::mem;
use std::rc::Rc;

/// What was detached in a run.
#[derive(Clone, Default, Debug)]
pub struct Detached(Rc<Map<Point, Val>>);

/// What detached values are.
#[derive(Default)]
pub(crate) enum Held {
    /// What was computed.
    #[default]
    No,
    /// What was computed, noted.
    Noting(Map<Point, Val>),
    /// What was noted in another run.
    Given(Detached),
}

impl Machine<'_> {
    /// Notes what is detached from here on.
    pub fn note_detached(&mut self) {
        self.count_rounds();
        self.held = Held::Noting(Map::default());
    }

    /// What was detached since noting began.
    pub fn take_detached(&mut self) -> Detached {
        match mem::take(&mut self.held) {
            Held::Noting(values) => Detached(Rc::new(values)),
            Held::No | Held::Given(_) => Detached::default(),
        }
    }

    /// Gives these instead of what will be detached in the same places.
    pub fn give_detached(&mut self, values: &Detached) {
        self.count_rounds();
        self.held = Held::Given(values.clone());
    }

    /// Whether something was detached where nothing was to be given.
    pub fn has_strayed(&self) -> bool {
        self.strayed
    }

    /// What detaching a value gives at a point.
    pub(crate) fn detach(&mut self, point: Point, value: Val) -> Val {
        match &mut self.held {
            Held::No => value,
            Held::Noting(values) => {
                values.insert(point, value.clone());
                value
            }
            Held::Given(values) => match values.0.get(&point) {
                Some(held) => held.clone(),
                None => {
                    self.strayed = true;
                    value
                }
            },
        }
    }
}
