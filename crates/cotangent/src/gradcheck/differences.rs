//! Slopes of a function along one input number, from its values alone.
//!
//! With `D(h)` the central difference over `h` either way, whose error goes with `h²`, the combination
//! `(4 D(h/2) - D(h)) / 3` has one that goes with `h⁴`, and how far it is from `D(h/2)` tells how far to trust it. Steps go from
//! large to small, since large ones suffer least from rounding and small ones step over no kink.

use crate::gradient::{Entry, Evaluator};
use cotangent_interp::Stopped;

/// Steps, relative to the larger of the number and one.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

/// The steps at which the sides of a kink are compared.
const SIDES: [f64; 2] = [1e-5, 1e-6];

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
        let (estimates, sides) = Default::default();
        Ok(Some(Line { evaluator, rows, input: column.of, index, x, here, estimates, sides }))
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

    /// The slopes of an output number by ever smaller steps, until `enough` says so.
    pub(super) fn slopes(&mut self, row: usize, mut enough: impl FnMut(Estimate) -> bool) -> bool {
        (0..STEPS.len()).any(|i| enough(self.estimate(i, row)))
    }

    fn estimate(&mut self, step: usize, row: usize) -> Estimate {
        if self.estimates[step].is_none() {
            self.estimates[step] = Some(self.estimate_rows(self.step(STEPS[step])));
        }
        self.estimates[step].as_ref().expect("it has just been made")[row]
    }

    fn estimate_rows(&mut self, step: f64) -> Vec<Estimate> {
        let [wide, narrow] = [step, step / 2.0].map(|h| {
            let (above, below) = (self.at(h), self.at(-h));
            above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>()
        });
        let estimate = |(row, (wide, narrow)): (usize, (f64, f64))| {
            let slope = (4.0 * narrow - wide) / 3.0;
            let rounding = 8.0 * f64::EPSILON * self.here[row].abs().max(1e-3) / step;
            Estimate { slope, uncertainty: (slope - narrow).abs() + rounding }
        };
        wide.into_iter().zip(narrow).enumerate().map(estimate).collect()
    }

    /// The slopes on both sides, if they do not meet: they differ by about as much, or more, when the step is a tenth. One
    /// that is not a number is where the function ends.
    pub(super) fn kink(&mut self, row: usize) -> Option<(f64, f64)> {
        let [(wide_left, wide_right), (left, right)] = self.sides(row);
        if left.is_finite() != right.is_finite() {
            return Some((left, right));
        }
        let (wide_gap, gap) = ((wide_right - wide_left).abs(), (right - left).abs());
        let noise = 1e-3 * left.abs().max(right.abs()) + 1e-8 * self.here[row].abs().max(1.0);
        (gap > noise && gap > 0.3 * wide_gap).then_some((left, right))
    }

    /// The slopes on the left and on the right, by each of [`SIDES`].
    fn sides(&mut self, row: usize) -> [(f64, f64); SIDES.len()] {
        let steps = SIDES.map(|relative| self.step(relative));
        if self.sides.is_none() {
            self.sides = Some(steps.map(|step| [self.at(-step), self.at(step)]));
        }
        let values = self.sides.as_ref().expect("they have just been computed");
        let here = self.here[row];
        std::array::from_fn(|i| {
            let [below, above] = &values[i];
            ((here - below[row]) / steps[i], (above[row] - here) / steps[i])
        })
    }
}
