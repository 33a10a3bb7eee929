//! Executes wave operations.
//!
//! A wave is [`LANES`] consecutive threads of a group. A thread that reaches a wave operation stops there with its operands.
//! When no thread of the group can continue, the least advanced thread determines which lanes run: all threads of its wave at
//! the same point take part, get their results, and continue. So threads that took different branches, or left a loop
//! earlier, reconverge after it, as on hardware that runs lanes in lockstep.
//!
//! The [`Point`] of a thread is its position in each active function, and its iteration of each enclosing loop. Codes are in
//! source order, so points compare as lists of numbers.

use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::wave::Wave;
use cotangent_ir::{Const, Trap, Type};
pub use cotangent_runtime::wave::LANES;
use cotangent_runtime::wave::{self, together};

/// How far a thread is.
pub(crate) type Point = Vec<u64>;

/// A lane that takes part: its number and its operands.
pub(crate) struct Lane {
    pub number: u32,
    pub operands: Vec<Val>,
}

impl Machine<'_> {
    /// What each of some lanes, in order, gets from an operation; `ty` is the type of the result.
    pub(crate) fn wave(&mut self, kind: Wave, ty: Type, lanes: &[Lane]) -> Result<Vec<Val>, Trap> {
        let given =
            if let Wave::All | Wave::Any | Wave::Ballot = kind { Type::Scalar(Scalar::Bool) } else { ty };
        let mut all = Vec::new();
        for Lane { number, operands } in lanes {
            let numbers = operands.first().map(|value| self.numbers(value, given).into_vec());
            let from = operands.get(1).map(|value| self.scalar(value, Scalar::U32));
            all.push(wave::Lane { number: *number, given: numbers.unwrap_or_default(), from });
        }
        let results = together(self.eval, kind, ty, &all)?;
        Ok(results.into_iter().map(|numbers| shaped(ty, numbers)).collect())
    }
}

fn shaped(ty: Type, numbers: Vec<Const>) -> Val {
    match (ty, &numbers[..]) {
        (Type::Scalar(_), [one]) => Val::Scalar(*one),
        _ => Val::aggregate(numbers.into_iter().map(Val::Scalar)),
    }
}
