//! Interval arithmetic on integers.
//!
//! [`bounds`](crate::bounds) and [`loop_bound`](crate::loop_bound) share it. They find the operands of a value; this module computes
//! what an operation does to their intervals. Results are exact, as if integers were unbounded: the caller must handle values
//! that exceed their type and wrap.

use cotangent_base::Scalar;
use cotangent_ir::Math;

/// All integers from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval {
    /// The smallest.
    pub low: i128,
    /// The largest.
    pub high: i128,
}

impl Interval {
    /// One number.
    pub fn one(n: i128) -> Self {
        Interval { low: n, high: n }
    }

    /// A constant of a type that holds `self`. Unsigned numbers of 64 bits are kept as signed ones.
    pub fn constant(self, n: i64) -> Self {
        let n = i128::from(n);
        Interval::one(if n < self.low { n + self.high + 1 } else { n })
    }

    /// All that an integer type holds.
    pub fn of_type(scalar: Scalar) -> Option<Self> {
        let bits = scalar.bits() - u32::from(scalar.is_signed());
        let low = if scalar.is_signed() { -(1 << bits) } else { 0 };
        scalar.is_int().then_some(Interval { low, high: (1 << bits) - 1 })
    }

    /// Whether it is one number.
    pub fn is_one(self) -> bool {
        self.low == self.high
    }

    /// Every number with `n` added, wherever that leads.
    pub fn plus(self, n: i128) -> Interval {
        Interval { low: self.low + n, high: self.high + n }
    }

    /// Whether all of `other` is in it.
    pub fn contains(self, other: Interval) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The smallest that has both.
    pub fn union(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether shifting a number of this type by any of these shifts so far: larger amounts are taken modulo the width.
    pub fn is_shift_of(self, scalar: Scalar) -> bool {
        self.low >= 0 && self.high < i128::from(scalar.bits())
    }

    /// What an operation on one number gives.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known about any other operation")]
    pub fn unary(math: Math, a: Interval) -> Option<Interval> {
        match math {
            Math::Neg => Some(Interval { low: -a.high, high: -a.low }),
            Math::Abs => Some(Interval { low: a.low.max(0), high: a.high.max(-a.low) }),
            _ => None,
        }
    }

    /// What an operation on two numbers of this type gives.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known about any other operation")]
    pub fn binary(math: Math, scalar: Scalar, a: Interval, b: Interval) -> Option<Interval> {
        let is_positive = b.low > 0;
        match math {
            Math::Add => Some(Interval { low: a.low + b.low, high: a.high + b.high }),
            Math::Sub => Some(Interval { low: a.low - b.high, high: a.high - b.low }),
            Math::Mul => Some(a.ends(b, i128::saturating_mul)),
            Math::Min => Some(Interval { low: a.low.min(b.low), high: a.high.min(b.high) }),
            Math::Max => Some(Interval { low: a.low.max(b.low), high: a.high.max(b.high) }),
            Math::Div if is_positive => Some(a.ends(b, |a, b| a / b)),
            Math::Rem if is_positive => {
                let most = b.high - 1;
                Some(Interval { low: a.low.clamp(-most, 0), high: a.high.clamp(0, most) })
            }
            Math::And => {
                let highs = [a, b].into_iter().filter(|i| i.low >= 0).map(|i| i.high);
                highs.min().map(|high| Interval { low: 0, high })
            }
            Math::Shr if b.is_shift_of(scalar) => Some(a.ends(b, |a, b| a >> b)),
            _ => None,
        }
    }

    /// The smallest with all results of `op` on ends of both.
    fn ends(self, other: Interval, op: impl Fn(i128, i128) -> i128) -> Interval {
        let all = [op(self.low, other.low), op(self.low, other.high), op(self.high, other.low)];
        let last = Interval::one(op(self.high, other.high));
        all.into_iter().fold(last, |sum, n| sum.union(Interval::one(n)))
    }
}
