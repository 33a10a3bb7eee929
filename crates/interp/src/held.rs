//! Holds detached values constant while finite differences are taken.
//!
//! Derivatives treat the result of `detach` as constant, but it changes with the inputs. To compare a derivative with finite
//! differences, record the detached values in one run, and replay them in runs at nearby points.
//!
//! A value is identified by the thread, the call stack, the instruction, and the iteration of each enclosing loop. A run that takes
//! another branch, or runs more iterations, gets the values of the instructions that both runs reach. If it detaches a value
//! that the first run did not record, it has *strayed*: its results are not those of the function that was differentiated.

use crate::wave::Point;
use crate::{Machine, Val};
use cotangent_base::Map;
use std::mem;
use std::sync::Arc;

/// What was detached in a run.
#[derive(Clone, Default, Debug)]
pub struct Detached(Arc<Map<Point, Val>>);

/// What detached values are.
#[derive(Default)]
pub(crate) enum Held {
    /// What was computed.
    #[default]
    No,
    /// What was computed, which is noted.
    Noting(Map<Point, Val>),
    /// What was noted in another run.
    Given(Detached),
}

impl Machine<'_> {
    /// Notes what is detached from here on.
    pub fn note_detached(&mut self) {
        self.count_iterations();
        self.held = Held::Noting(Map::default());
    }

    /// What was detached since noting began.
    pub fn take_detached(&mut self) -> Detached {
        match mem::take(&mut self.held) {
            Held::Noting(values) => Detached(Arc::new(values)),
            Held::No | Held::Given(_) => Detached::default(),
        }
    }

    /// From here on, replaces values detached in the same places by these.
    pub fn give_detached(&mut self, values: &Detached) {
        self.count_iterations();
        self.held = Held::Given(values.clone());
    }

    /// Whether a value was detached for which none was noted.
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
