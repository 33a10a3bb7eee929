//! Adds to a function its derivative as a linear map.

use cotangent_base::EntitySet;
use cotangent_ir::{Func, Value};

/// A function beside its derivative. Its inputs are those of the original function and then a tangent for each
/// active one; its outputs are those of the original and then a tangent for each active one.
#[derive(Clone, Debug)]
pub struct Linearized {
    /// The function. Instructions of the original have kept their identity.
    pub func: Func,
    /// Which values are linear: tangents, and what is computed from them. All others are primal.
    pub lin: EntitySet<Value>,
    /// Which of the original's inputs have a tangent.
    pub inputs: Box<[bool]>,
    /// Which of the original's outputs have a tangent: all that carry a derivative.
    pub outputs: Box<[bool]>,
}
