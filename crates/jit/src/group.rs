//! How threads of a group run: several at once in lanes, the rest one by one.
#![allow(unsafe_code)]

use crate::compile::Program;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::state::State;
use std::mem;

/// A function of native code that runs threads.
type Run = unsafe extern "C" fn(*mut State) -> u32;

impl Program {
    /// How many threads run at once.
    pub fn lanes(&self) -> u32 {
        if self.run_lanes.is_some() { LANES as u32 } else { 1 }
    }

    /// Runs the thread of a state or, in lanes, it and those after it. Returns whether one stopped. If one of several
    /// stopped, the state says which.
    ///
    /// # Safety
    /// What the state leads to is there until the call returns, and nobody else uses it meanwhile.
    pub(crate) unsafe fn call(&self, state: *mut State, threads: u32) -> u32 {
        let run = if threads > 1 { self.run_lanes } else { self.run };
        let run = run.expect("`at_once` asks for what is there");
        // SAFETY: both are addresses of functions of this type.
        let run: Run = unsafe { mem::transmute(run) };
        // SAFETY: what the caller promises.
        unsafe { run(state) }
    }
}

impl Launch<'_> {
    /// The number of threads that run at once, if this many are left of a group.
    pub fn at_once(&self, left: u32) -> u32 {
        let lanes = self.program.lanes();
        if self.shares_memory || left < lanes { 1 } else { lanes }
    }
}

/// Where a thread of a group is, x fastest.
pub(crate) fn position([x, y, _]: [u32; 3], index: u32) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}
