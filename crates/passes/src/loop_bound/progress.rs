//! Computes how many steps a counter with a regular step can make.

use crate::interval::Interval;
use cotangent_ir::Math;

/// How a slot gets from one iteration to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Something of this range is added, always up or always down.
    Add(Interval),
    /// It is multiplied by this much or more, up to the other; both are at least 2.
    Multiply(i128, i128),
    /// It is divided by this much or more, at least 2, and rounded towards zero; or, if `floors`, downwards.
    Divide { by: i128, floors: bool },
}

impl Way {
    /// Adds a number that is never 0.
    pub fn add(by: Interval) -> Option<Way> {
        (by.low > 0 || by.high < 0).then_some(Way::Add(by))
    }

    pub fn multiply(by: Interval) -> Option<Way> {
        (by.low >= 2).then_some(Way::Multiply(by.low, by.high))
    }

    /// Shifts by less than the width of the type.
    pub fn shift_left(by: Interval) -> Option<Way> {
        (by.low >= 1).then(|| Way::Multiply(1 << by.low, 1 << by.high))
    }

    pub fn divide(by: Interval) -> Option<Way> {
        (by.low >= 2).then_some(Way::Divide { by: by.low, floors: false })
    }

    /// Shifts by less than the width of the type.
    pub fn shift_right(by: Interval) -> Option<Way> {
        (by.low >= 1).then(|| Way::Divide { by: 1 << by.low, floors: true })
    }

    /// Whether it adds, so that what is a constant away moves in the same way.
    pub fn is_sum(self) -> bool {
        matches!(self, Way::Add(_))
    }

    /// One way or the other.
    pub fn joined(self, other: Way) -> Option<Way> {
        match (self, other) {
            (Way::Add(a), Way::Add(b)) => Way::add(a.union(b)),
            (Way::Multiply(a, b), Way::Multiply(c, d)) => Some(Way::Multiply(a.min(c), b.max(d))),
            (Way::Divide { by: a, floors: f }, Way::Divide { by: b, floors: g }) => {
                Some(Way::Divide { by: a.min(b), floors: f || g })
            }
            (Way::Add(_) | Way::Multiply(..) | Way::Divide { .. }, _) => None,
        }
    }

    /// Where it is after an iteration from `start`, if it does not wrap around.
    pub fn after(self, start: Interval, all: Interval) -> Option<Interval> {
        let after = match self {
            Way::Add(by) => Interval { low: start.low + by.low, high: start.high + by.high },
            Way::Multiply(low, high) if start.low >= 0 => {
                Interval { low: start.low * low, high: start.high * high }
            }
            Way::Multiply(..) => return None,
            Way::Divide { by, .. } if start.low >= 0 => Interval { low: 0, high: start.high / by },
            Way::Divide { .. } => return None,
        };
        all.contains(after).then_some(after)
    }

    /// For how many iterations it compares with `limit` as `math` says. It is of a type that holds `all`; if it can wrap around
    /// before the comparison fails, nobody knows.
    pub fn iterations(self, start: Interval, math: Math, limit: Interval, all: Interval) -> Option<u32> {
        let count = match self {
            Way::Add(by) if by.low > 0 => {
                let last = last_below(math, limit, || same(start, limit, by))?;
                (last + by.high <= all.high).then(|| (last - start.low).max(-1).div_euclid(by.low) + 1)?
            }
            Way::Add(by) => {
                let first = first_above(math, limit, || same(start, limit, by))?;
                (first + by.low >= all.low).then(|| (start.high - first).max(-1).div_euclid(-by.high) + 1)?
            }
            Way::Multiply(low, high) => {
                let last = last_below(math, limit, || false)?;
                let fits = start.low >= 1 && last.saturating_mul(high) <= all.high;
                fits.then(|| steps(start.low, |n| n * low, |n| n <= last))?
            }
            Way::Divide { by, floors } => {
                // Down to zero it gets there, but below it may stay for ever.
                let ends_at_zero =
                    math == Math::Ne && limit == Interval::one(0) && (start.low >= 0 || !floors);
                let first = first_above(math, limit, || ends_at_zero)?;
                let most = if math == Math::Ne { start.high.max(-start.low) } else { start.high };
                let first = if math == Math::Ne { 1 } else { first };
                (first >= 1).then(|| steps(most, |n| n / by, |n| n >= first))?
            }
        };
        u32::try_from(count).ok().filter(|n| *n < i32::MAX as u32)
    }

    /// What it can be in iterations in which it compares with `limit` as `math` says.
    pub fn while_holds(
        self,
        start: Interval,
        math: Math,
        limit: Interval,
        all: Interval,
    ) -> Option<Interval> {
        let Way::Add(by) = self else { return None };
        if by.low > 0 {
            let last = last_below(math, limit, || false)?;
            (last + by.high <= all.high).then(|| Interval { low: start.low, high: last.max(start.low) })
        } else {
            let first = first_above(math, limit, || false)?;
            (first + by.low >= all.low).then(|| Interval { low: first.min(start.high), high: start.high })
        }
    }
}

/// The last number for which a comparison that ends further up can hold. `meets` says whether one that ends at a single
/// number is sure to find it.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other operation is such a comparison")]
fn last_below(math: Math, limit: Interval, meets: impl Fn() -> bool) -> Option<i128> {
    match math {
        Math::Lt => Some(limit.high - 1),
        Math::Le => Some(limit.high),
        Math::Ne if meets() => Some(limit.high - 1),
        _ => None,
    }
}

/// The same for one that ends further down.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other operation is such a comparison")]
fn first_above(math: Math, limit: Interval, meets: impl Fn() -> bool) -> Option<i128> {
    match math {
        Math::Gt => Some(limit.low + 1),
        Math::Ge => Some(limit.low),
        Math::Ne if meets() => Some(limit.low + 1),
        _ => None,
    }
}

/// Whether equal steps from one number lead exactly to another.
fn same(start: Interval, limit: Interval, by: Interval) -> bool {
    let known = [start, limit, by].iter().all(|r| r.is_one());
    let way = limit.low - start.low;
    known && way % by.low == 0 && way / by.low >= 0
}

/// How often `holds` on the way from `n`.
fn steps(mut n: i128, next: impl Fn(i128) -> i128, holds: impl Fn(i128) -> bool) -> i128 {
    let mut count = 0;
    while holds(n) {
        n = next(n);
        count += 1;
    }
    count
}
