//! Runs threads of a group that do not wait for each other: several at once in lanes, the rest one by one.
#![allow(unsafe_code)]

use crate::compile::Program;
use crate::lanes::LANES;
use crate::state::State;
use std::mem;

/// A function of native code that runs threads.
type Run = unsafe extern "C" fn(*mut State) -> u32;

impl Program {
    /// How many threads run at once.
    pub fn lanes(&self) -> u32 {
        if self.run_lanes.is_some() { LANES as u32 } else { 1 }
    }

    /// Runs the thread that a state is of, and those after it if there are enough left for lanes. Gives whether one stopped, and
    /// how many ran. If one of several stopped, the state says which.
    ///
    /// # Safety
    /// What the state leads to is there until the call returns, and nobody else uses it meanwhile.
    pub(crate) unsafe fn call_some(&self, state: *mut State, left: u32) -> (u32, u32) {
        let lanes = self.run_lanes.filter(|_| left >= LANES as u32);
        // SAFETY: both are addresses of functions of this type.
        let run: Run = unsafe { mem::transmute(lanes.unwrap_or(self.run)) };
        // SAFETY: what the caller promises.
        let status = unsafe { run(state) };
        (status, if lanes.is_some() { LANES as u32 } else { 1 })
    }
}

/// Where a thread of a group is, x fastest.
pub(crate) fn position([x, y, _]: [u32; 3], index: u32) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}
