//! Slopes of a function along one input number, from its values alone.
//!
//! With `D(h)` the central difference over `h` either way, whose error goes with `h²`, the combination
//! `E(h) = (4 D(h/2) - D(h)) / 3` has one that goes with `h⁴`, and `(16 E(h/2) - E(h)) / 15` one that goes with `h⁶`: twelve digits
//! where a function is smooth. How far it is from `E(h/2)` tells how far to trust it. Steps go from large to small, since
//! large ones suffer least from rounding and small ones step over no kink.

use super::point::Random;
use crate::gradient::{Entry, Evaluator};
use cotangent_interp::Stopped;

/// Steps, relative to the larger of the number and one.
const STEPS: [f64; 5] = [4e-3, 4e-4, 4e-5, 4e-6, 4e-7];

/// The steps at which the sides of a kink are compared.
const SIDES: [f64; 2] = [1e-5, 1e-6];

/// How many points around are looked at, where several kinks may meet, and how far they are.
const AROUND: usize = 48;
const ASIDE: f64 = 1e-4;

/// Values near a point along one input number.
pub(super) struct Line<'e, 'm> {
    evaluator: &'e mut Evaluator<'m>,
    rows: &'e [Entry],
    input: usize,
    index: usize,
    x: f64,
    here: Vec<f64>,
    /// By step: the estimates for every row, once they have been made.
    estimates: [Option<Vec<Estimate>>; STEPS.len()],
    /// The values on both sides at each of [`SIDES`], below and above.
    sides: Option<[[Vec<f64>; 2]; SIDES.len()]>,
    /// The slopes of every row at points around.
    around: Option<Vec<Vec<f64>>>,
}

/// A slope and how far it may be off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) slope: f64,
    pub(super) uncertainty: f64,
}

impl<'e, 'm> Line<'e, 'm> {
    /// The line through the point along `column`, if that is the derivative by one number.
    pub(super) fn new(
        evaluator: &'e mut Evaluator<'m>,
        rows: &'e [Entry],
        column: &Entry,
    ) -> Result<Option<Self>, Stopped> {
        let Some((index, x)) = evaluator.input_number(column) else { return Ok(None) };
        let here = evaluator.rows_at(rows, column.of, index, x)?;
        let (estimates, sides, around) = Default::default();
        Ok(Some(Line { evaluator, rows, input: column.of, index, x, here, estimates, sides, around }))
    }

    fn at(&mut self, offset: f64) -> Vec<f64> {
        let rows = self.evaluator.rows_at(self.rows, self.input, self.index, self.x + offset);
        // Where the function does not run it has no value.
        rows.unwrap_or_else(|_| vec![f64::NAN; self.rows.len()])
    }

    fn step(&self, relative: f64) -> f64 {
        relative * self.x.abs().max(1.0)
    }

    /// The value of an output number at the point.
    pub(super) fn here(&self, row: usize) -> f64 {
        self.here[row]
    }

    /// The slope of an output number that is least uncertain, if any is `steady`, relative to its size; the first that is as good
    /// as `enough` will do. Sizes below `floor` count as that.
    pub(super) fn best(&mut self, row: usize, steady: f64, enough: f64, floor: f64) -> Option<Estimate> {
        let mut best: Option<Estimate> = None;
        for step in 0..STEPS.len() {
            let estimate = self.estimate(step, row);
            let size = estimate.slope.abs().max(floor);
            if !estimate.slope.is_finite() || estimate.uncertainty > steady * size {
                continue;
            }
            if best.is_none_or(|b| estimate.uncertainty < b.uncertainty) {
                best = Some(estimate);
            }
            if estimate.uncertainty <= enough * size {
                break;
            }
        }
        best
    }

    fn estimate(&mut self, step: usize, row: usize) -> Estimate {
        if self.estimates[step].is_none() {
            self.estimates[step] = Some(self.estimate_rows(self.step(STEPS[step])));
        }
        self.estimates[step].as_ref().expect("it has just been made")[row]
    }

    fn estimate_rows(&mut self, step: f64) -> Vec<Estimate> {
        let slopes = [step, step / 2.0, step / 4.0].map(|h| {
            let (above, below) = (self.at(h), self.at(-h));
            above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>()
        });
        let estimate = |row: usize| {
            let [wide, middle, narrow] = [0, 1, 2].map(|i: usize| slopes[i][row]);
            let (coarse, fine) = ((4.0 * middle - wide) / 3.0, (4.0 * narrow - middle) / 3.0);
            let slope = (16.0 * fine - coarse) / 15.0;
            let rounding = 8.0 * f64::EPSILON * self.here[row].abs().max(1e-3) / (step / 4.0);
            Estimate { slope, uncertainty: (slope - fine).abs() + rounding }
        };
        (0..self.rows.len()).map(estimate).collect()
    }

    /// The slopes on both sides, if they do not meet: they differ by about as much, or more, when the step is a tenth. One
    /// that is not a number is where the function ends.
    pub(super) fn kink(&mut self, row: usize) -> Option<Sides> {
        let [wide, sides] = self.sides(row);
        let sides = Sides { steeper: [sides.left / wide.left, sides.right / wide.right], ..sides };
        if sides.left.is_finite() != sides.right.is_finite() {
            return Some(sides);
        }
        let (wide_gap, gap) = ((wide.right - wide.left).abs(), (sides.right - sides.left).abs());
        let noise = 1e-3 * sides.left.abs().max(sides.right.abs()) + 1e-8 * self.here[row].abs().max(1.0);
        (gap > noise && gap > 0.3 * wide_gap).then_some(sides)
    }

    /// The slopes on the left and on the right, by each of [`SIDES`].
    fn sides(&mut self, row: usize) -> [Sides; SIDES.len()] {
        let steps = SIDES.map(|relative| self.step(relative));
        if self.sides.is_none() {
            self.sides = Some(steps.map(|step| [self.at(-step), self.at(step)]));
        }
        let values = self.sides.as_ref().expect("they have just been computed");
        let here = self.here[row];
        std::array::from_fn(|i| {
            let [below, above] = &values[i];
            let (left, right) = ((here - below[row]) / steps[i], (above[row] - here) / steps[i]);
            Sides { left, right, steeper: [1.0; 2] }
        })
    }

    /// The slopes along this input at points around, to which all inputs move; each point is followed by the one opposite.
    pub(super) fn slopes_around(&mut self, row: usize) -> Vec<f64> {
        if self.around.is_none() {
            self.around = Some((0..AROUND).map(|number| self.slopes_aside(number)).collect());
        }
        let around = self.around.as_ref().expect("they have just been computed");
        around.iter().map(|slopes| slopes[row]).collect()
    }

    /// Whether slopes are not the mean of those at opposite points around, as they are where a function is smooth: pieces of it
    /// meet here, though with one slope.
    pub(super) fn is_pieced(&mut self, row: usize, slope: f64) -> bool {
        let noise = 0.02 * ASIDE * slope.abs().max(1.0);
        let around = self.slopes_around(row);
        around.chunks(2).any(|opposite| (opposite[0] + opposite[1] - 2.0 * slope).abs() > noise)
    }

    /// The slopes of all rows at the point of that number around this one.
    fn slopes_aside(&mut self, number: usize) -> Vec<f64> {
        let before: Vec<_> = self.evaluator.inputs.iter().map(|input| input.value.clone()).collect();
        let mut random = Random::new(number as u64 / 2, "around");
        let aside = if number.is_multiple_of(2) { ASIDE } else { -ASIDE };
        self.evaluator.move_inputs(|x| x + aside * x.abs().max(1.0) * random.between((-1.0, 1.0)));
        let (x, step) = (self.evaluator.number(self.input, self.index), self.step(ASIDE * 1e-3));
        let [above, below] = [step, -step].map(|h| {
            let rows = self.evaluator.rows_at(self.rows, self.input, self.index, x + h);
            rows.unwrap_or_else(|_| vec![f64::NAN; self.rows.len()])
        });
        for (input, value) in self.evaluator.inputs.iter_mut().zip(before) {
            input.value = value;
        }
        above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * step)).collect()
    }
}

/// The slopes at a kink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub(super) left: f64,
    pub(super) right: f64,
    /// By how much each is steeper when the step is a tenth.
    steeper: [f64; 2],
}

impl Sides {
    /// Whether the function ends or jumps here, so that nothing bounds its derivative: one side has no value, or gets ever
    /// steeper.
    pub(super) fn is_break(&self) -> bool {
        let slopes = [self.left, self.right].into_iter().zip(self.steeper);
        slopes.into_iter().any(|(slope, steeper)| !slope.is_finite() || steeper > 1.5 && slope.abs() > 1.0)
    }

    /// What lies between the sides.
    pub(super) fn span(&self) -> Span {
        let mut span = Span::of(self.left);
        span.include(self.right);
        span
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

    /// Makes room for a slope, if it is one.
    pub(super) fn include(&mut self, slope: f64) {
        self.low = self.low.min(slope);
        self.high = self.high.max(slope);
    }

    /// Slack for slopes that come from steps.
    fn slack(&self) -> f64 {
        let size =
            [self.low, self.high].map(f64::abs).into_iter().filter(|s| s.is_finite()).fold(0.0, f64::max);
        5e-3 * size.max(1.0)
    }

    /// Whether the slopes are several.
    pub(super) fn is_wide(&self) -> bool {
        self.high - self.low > self.slack()
    }

    /// Whether all derivatives that were given lie in between.
    pub(super) fn has_all(&self, given: [Option<f64>; 2]) -> bool {
        let slack = self.slack();
        given.into_iter().flatten().all(|x| self.low - slack <= x && x <= self.high + slack)
    }
}
