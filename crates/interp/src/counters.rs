//! Counts what running costs: steps, copies, and operations whose finite differences mean nothing.

use cotangent_ir::{Const, Math};

/// What running cost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Instructions run, jumps of loops and branches included.
    pub steps: u64,
    /// Array elements zero-filled, added or copied beyond the instruction itself.
    pub elements: u64,
    /// Times that somebody looked at a value nobody may look at, and saw zero.
    pub undef_reads: u64,
    /// Times that an operation made of finite numbers one that is not, as `sqrt(-1.0)` and `1.0 / 0.0` do.
    pub escapes: u64,
    /// Times that `min`, `max` or `abs` could not tell which of two real numbers to choose.
    pub ties: u64,
}

impl Counters {
    /// Notes what is unusual about an operation on numbers.
    pub(crate) fn watch(&mut self, op: Math, operands: &[Const], result: Const) {
        self.escapes += u64::from(!is_finite(&result) && operands.iter().all(is_finite));
        if matches!(op, Math::Min | Math::Max | Math::Abs) && is_tie(operands) {
            self.ties += 1;
        }
    }
}

/// Whether real numbers are equal, or one alone is zero.
fn is_tie(operands: &[Const]) -> bool {
    let number = |c: &Const| match c {
        Const::Float(bits) => Some(f64::from_bits(*bits)),
        Const::Int(_) | Const::Bool(_) => None,
    };
    number(&operands[0]).is_some_and(|a| a == operands.get(1).map_or(0.0, |b| number(b).unwrap_or(f64::NAN)))
}

fn is_finite(number: &Const) -> bool {
    match number {
        Const::Float(bits) => f64::from_bits(*bits).is_finite(),
        Const::Int(_) | Const::Bool(_) => true,
    }
}
