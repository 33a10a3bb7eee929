//! The behaviour of a function on either side of a point, from its values at shrinking distances.
//!
//! Each step is a tenth of the previous one. The difference between the point and its neighbour shrinks to a tenth where
//! there is a slope, to more than that where the function becomes infinitely steep (to a third for a square root), and not at
//! all at a jump. Where the difference quotient grows like a logarithm, it changes by a constant with each step. A side that jumps has the slope of its own values, without the point; if that slope grows, it is a pole.
//! Rounding errors do not shrink either, so a jump must be larger than those.

/// How near the values are, relative to the larger of the input number and one.
pub(super) const NEAR: [f64; 3] = [1e-6, 1e-7, 1e-8];

/// One side of a point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// The function has no value there.
    Ends,
    /// It gets ever steeper; with the slope nearest to the point.
    Steep(f64),
    /// It gets ever steeper and farther from the value at the point, which is not of this side; with the slope nearest to the
    /// point.
    Pole(f64),
    /// It begins at another value, with this slope.
    Jumps(f64),
    /// It goes on with this slope; with one at the widest step to compare.
    Goes { slope: f64, wide: f64 },
}

impl Side {
    /// The side where inputs change by `sign`, from the value `here` and those one and two steps away, by step.
    pub(super) fn new(here: f64, sign: f64, near: &[(f64, [f64; 2]); NEAR.len()]) -> Self {
        let [wide, middle, narrow] = near.map(|(step, [once, twice])| {
            [(once - here) / (sign * step), (twice - once) / (sign * step), once - here]
        });
        let [through, within, rise] = narrow;
        if !(through.is_finite() && within.is_finite()) {
            return Side::Ends;
        }
        let is_large = rise.abs() > 1e-9 * here.abs().max(1.0);
        if is_large && rise.abs() > 0.9 * middle[2].abs() {
            let is_pole = within.abs() > 1.0 && within.abs() > 1.5 * middle[1].abs();
            return if is_pole { Side::Pole(within) } else { Side::Jumps(within) };
        }
        if is_large && rise.abs() > 0.15 * middle[2].abs() {
            return Side::Steep(through);
        }
        if drifts([wide[0], middle[0], through]) {
            return Side::Steep(through);
        }
        Side::Goes { slope: through, wide: wide[0] }
    }

    /// Its slope: infinite where it gets ever steeper, not a number where it ends.
    pub(super) fn slope(&self) -> f64 {
        match self {
            Side::Ends => f64::NAN,
            Side::Steep(near) | Side::Pole(near) => near.signum() * f64::INFINITY,
            Side::Jumps(slope) | Side::Goes { slope, .. } => *slope,
        }
    }

    /// Whether there is no end to the slope.
    fn is_unbounded(&self) -> bool {
        match self {
            Side::Ends | Side::Steep(_) | Side::Pole(_) => true,
            Side::Jumps(_) | Side::Goes { .. } => false,
        }
    }
}

/// Whether slopes at shrinking distances change by as much each time, as that of `x log x` does: there is no end to them, although
/// the values come closer as fast as where there is a slope.
fn drifts([wide, middle, narrow]: [f64; 3]) -> bool {
    let (first, second) = (middle - wide, narrow - middle);
    let steady = second.abs() > 0.5 * first.abs() && second.abs() < 2.0 * first.abs();
    steady && first.signum() == second.signum() && second.abs() > 1e-3 * narrow.abs().max(1.0)
}

/// Both sides of a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub(super) left: Side,
    pub(super) right: Side,
}

impl Sides {
    /// Whether the function jumps here.
    pub(super) fn jump(&self) -> bool {
        [self.left, self.right].iter().any(|side| matches!(side, Side::Jumps(_)))
    }

    /// Whether the function ends or gets ever steeper, so that its derivative need not be a number.
    pub(super) fn are_unbounded(&self) -> bool {
        self.left.is_unbounded() || self.right.is_unbounded()
    }

    /// Whether the value at the point belongs to neither side, and both run off.
    pub(super) fn are_poles(&self) -> bool {
        matches!((self.left, self.right), (Side::Pole(_), Side::Pole(_)))
    }

    /// Whether they do not meet in one slope: their slopes differ by as much however near the values are.
    pub(super) fn are_apart(&self, here: f64) -> bool {
        let (Side::Goes { slope: left, wide: wide_left }, Side::Goes { slope: right, wide: wide_right }) =
            (self.left, self.right)
        else {
            return true;
        };
        let (gap, wide_gap) = ((right - left).abs(), (wide_right - wide_left).abs());
        let noise = 1e-3 * left.abs().max(right.abs()) + 1e-6 * here.abs().max(1.0);
        gap > noise && 0.5 * wide_gap < gap && gap < 2.0 * wide_gap
    }
}

/// Slopes from one to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Span {
    pub(super) fn of(slope: f64) -> Self {
        Span { low: slope, high: slope }
    }

    /// From the least to the largest of slopes that are numbers.
    pub(super) fn over(slopes: &[f64]) -> Self {
        let mut span = Span { low: f64::INFINITY, high: f64::NEG_INFINITY };
        slopes.iter().for_each(|slope| span.include(*slope));
        span
    }

    /// How far they are apart.
    pub(super) fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Makes room for a slope, if it is one.
    pub(super) fn include(&mut self, slope: f64) {
        self.low = self.low.min(slope);
        self.high = self.high.max(slope);
    }

    /// All slopes between those of both sides. If a side gets ever steeper, zero is included, since derivative rules give any
    /// number of that sign, or zero. Between two poles everything is.
    pub(super) fn between(sides: &Sides) -> Self {
        if sides.are_poles() {
            return Span { low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let slopes = [sides.left.slope(), sides.right.slope()];
        let mut span = Span::over(&slopes);
        if slopes.iter().any(|slope| slope.is_infinite()) {
            span.include(0.0);
        }
        span
    }

    /// Whether the slopes are several.
    pub(super) fn is_wide(&self) -> bool {
        self.width() > slack(self.low).max(slack(self.high))
    }

    /// Whether all derivatives that were given lie in between.
    pub(super) fn has_all(&self, given: [Option<f64>; 2]) -> bool {
        let [low, high] = [self.low - slack(self.low), self.high + slack(self.high)];
        given.into_iter().flatten().all(|x| low <= x && x <= high)
    }
}

/// Slack for a slope that comes from steps.
fn slack(slope: f64) -> f64 {
    let size = if slope.is_finite() { slope.abs() } else { 0.0 };
    5e-3 * size.max(1.0)
}
