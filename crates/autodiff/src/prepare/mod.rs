//! Removes early exits from a copy of a function, so that it can be run backwards.

use cotangent_base::Map;
use cotangent_ir::{Func, Value};

/// A function without `break` and `continue` and with one `return`, at the end of its body.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The function.
    pub func: Func,
    /// Arguments of loop bodies that are known in every round.
    pub induction: Map<Value, Induction>,
}

/// In round `k` of its loop, counted from 0, the argument is `init + step * k` where the body begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Induction {
    /// Its value in the first round.
    pub init: Value,
    /// What is added after each round.
    pub step: i64,
}
