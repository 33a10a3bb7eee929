//! Slopes of a function along one input number, by finite differences.
//!
//! Let `D(h)` be the central difference over `h`, with an error of order `h²`. Then `E(h) = (4 D(h/2) - D(h)) / 3` has an
//! error of order `h⁴`, and `(16 E(h/2) - E(h)) / 15` one of order `h⁶`: twelve digits where the function is smooth. Its
//! distance from `E(h/2)` estimates the error. Steps go from large to small: large steps suffer least from rounding, and
//! small steps cross no kink. Cancellation inside the function may round more than its result shows. So where a derivative
//! differs, the uncertainty is at least the distance between the estimates of two steps.
//!
//! [`super::sides`] handles one-sided slopes. Slopes at nearby points show which kinks meet, but only if the function does
//! not jump there: across jumps that approach the point, a difference can have any value.

use super::point::Random;
use super::sides::{NEAR, Side, Sides, Span};
use crate::gradient::{Entry, Evaluator};
use cotangent_interp::{Stopped, Val};
use cotangent_ir::{Const, Mode};

/// Steps, relative to the larger of the number and one.
const STEPS: [f64; 7] = [4e-3, 4e-4, 4e-5, 4e-6, 4e-7, 4e-8, 4e-9];

/// How many points around are looked at, where several kinks may meet, and how far they are.
const AROUND: usize = 48;
const ASIDE: [f64; 2] = [1e-7, 1e-8];

/// How many steps to walk through each of the points around, to find jumps.
const WALK: i32 = 8;

/// How often to halve a step that looks like a jump.
const HALVES: usize = 7;

/// Where on a side the derivative is asked for, in steps of the differences, to see whether it goes to and fro.
const ALONG: [f64; 7] = [0.13, 0.29, 0.41, 0.58, 0.71, 0.86, 1.0];

/// Values near a point along one input number.
pub(super) struct Line<'e> {
    evaluator: &'e mut Evaluator,
    rows: &'e [Entry],
    column: &'e Entry,
    input: usize,
    index: usize,
    x: f64,
    here: Vec<f64>,
    /// By step: the estimates for every row, once they have been made.
    estimates: [Option<Vec<Estimate>>; STEPS.len()],
    /// The values near the point, below and above.
    near: Option<[Near; 2]>,
    /// The slopes of every row at points around, far and near.
    around: Option<[Vec<Vec<f64>>; ASIDE.len()]>,
    /// The values of every row on the way through each of the near ones.
    walks: Option<Vec<Vec<Vec<f64>>>>,
}

/// By step: the values of every row one step and two steps away.
type Near = [(f64, [Vec<f64>; 2]); NEAR.len()];

/// A slope, how far it may be off, and how far from the point its values lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) slope: f64,
    pub(super) uncertainty: f64,
    pub(super) step: f64,
}

impl<'e> Line<'e> {
    /// The line through the point along `column`, if that is the derivative by one number.
    pub(super) fn new(
        evaluator: &'e mut Evaluator,
        rows: &'e [Entry],
        column: &'e Entry,
    ) -> Result<Option<Self>, Stopped> {
        let Some((index, x)) = evaluator.input_number(column) else { return Ok(None) };
        let here = evaluator.rows_at(rows, column.of, index, x)?;
        let (estimates, near, around, walks) = Default::default();
        let input = column.of;
        Ok(Some(Line { evaluator, rows, column, input, index, x, here, estimates, near, around, walks }))
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
            Estimate { slope, uncertainty: (slope - fine).abs() + rounding, step }
        };
        (0..self.rows.len()).map(estimate).collect()
    }

    /// The slope that is least uncertain, doubted as far as the next best estimate is from it.
    pub(super) fn doubted(&mut self, row: usize, best: Estimate) -> Estimate {
        let estimates: Vec<Estimate> = (0..STEPS.len()).map(|step| self.estimate(step, row)).collect();
        let apart = estimates.iter().map(|e| (e.slope - best.slope).abs()).filter(|apart| *apart > 0.0);
        let nearest = apart.fold(f64::INFINITY, f64::min);
        let doubt = if nearest.is_finite() { nearest } else { 0.0 };
        Estimate { uncertainty: best.uncertainty.max(doubt), ..best }
    }

    /// What happens on both sides, if they do not meet in one slope.
    pub(super) fn kink(&mut self, row: usize) -> Option<Sides> {
        if self.near.is_none() {
            self.near = Some([-1.0, 1.0].map(|sign| self.near(sign)));
        }
        let [below, above] = self.near.as_ref().expect("they have just been computed");
        let here = self.here[row];
        let [left, right] = [(-1.0, below), (1.0, above)].map(|(sign, near)| {
            let values = near.each_ref().map(|(step, [once, twice])| (*step, [once[row], twice[row]]));
            Side::new(here, sign, &values)
        });
        Sides { left, right }.are_apart(here).then_some(Sides { left, right })
    }

    /// Whether the slopes at the smallest steps are about as far from this one as something else is by `apart`: the function has
    /// waves or stairs that larger steps do not see.
    pub(super) fn has_fine_structure(&self, row: usize, slope: f64, apart: f64) -> bool {
        let Some([below, above]) = &self.near else { return false };
        let mut sides = below.iter().zip(above).skip(1);
        sides.all(|((step, [low, _]), (_, [high, _]))| {
            let near = (high[row] - low[row]) / (2.0 * step);
            let noise = 100.0 * f64::EPSILON * self.here[row].abs().max(1e-3) / step;
            (near - slope).abs() > (0.5 * apart).max(noise)
        })
    }

    /// The slope of two sides that do not meet, from the farthest of their values.
    pub(super) fn between(&self, [left, right]: [f64; 2]) -> Estimate {
        let finite: Vec<f64> = [left, right].into_iter().filter(|s| s.is_finite()).collect();
        let slope = finite.iter().sum::<f64>() / finite.len().max(1) as f64;
        Estimate { slope, uncertainty: (right - left).abs() / 2.0, step: self.step(NEAR[0]) }
    }

    /// The values on one side: one and two steps away.
    fn near(&mut self, sign: f64) -> Near {
        NEAR.map(|relative| {
            let step = self.step(relative);
            (step, [self.at(sign * step), self.at(sign * 2.0 * step)])
        })
    }

    /// Whether the function leaves the domain of something inside, which its result hides: to the left, here and to the right.
    pub(super) fn hides(&mut self) -> [bool; 3] {
        let step = self.step(NEAR[0]);
        let cost = |x: f64| self.evaluator.cost_at(self.input, self.index, x);
        let leaves = |x: f64| cost(x).is_none_or(|cost| cost.escapes > 0);
        [leaves(self.x - step), leaves(self.x), leaves(self.x + step)]
    }

    /// Whether at some nearby point the function detaches a value at a place that it does not reach at the point itself.
    pub(super) fn strays(&mut self) -> bool {
        let steps = NEAR.map(|relative| self.step(relative));
        let mut offsets = steps.into_iter().flat_map(|step| [-step, step]);
        offsets.any(|offset| self.evaluator.strays_at(self.input, self.index, self.x + offset))
    }

    /// Whether inner values tie here, so that rules for ties give each its share.
    pub(super) fn ties(&self) -> bool {
        self.evaluator.cost_at(self.input, self.index, self.x).is_some_and(|cost| cost.ties > 0)
    }

    /// Whether the derivative, within the step of an estimate on either side, goes to and fro by about as much as it is apart from
    /// that: so do values then, between the steps.
    pub(super) fn wavers(&mut self, row: usize, mode: Mode, given: f64, estimate: Estimate) -> bool {
        let apart = (given - estimate.slope).abs();
        [-estimate.step, estimate.step].into_iter().all(|step| {
            let at = ALONG.map(|part| {
                let (row, place) = (&self.rows[row], (self.column, self.index));
                self.evaluator.derivative_at(mode, row, place, self.x + part * step).unwrap_or(f64::NAN)
            });
            let path: f64 = at.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
            path - (at[ALONG.len() - 1] - at[0]).abs() > 0.5 * apart
        })
    }

    /// The slopes along this input at points around, to which all inputs move; none if they come together as the points do,
    /// since then the function is but sharp, and none if it jumps there, since then they bound nothing.
    pub(super) fn slopes_around(&mut self, row: usize) -> Vec<f64> {
        if self.around.is_none() {
            self.around = Some(ASIDE.map(|aside| (0..AROUND).map(|i| self.slopes_aside(i, aside)).collect()));
        }
        let around = self.around.as_ref().expect("they have just been computed");
        let [far, near] =
            around.each_ref().map(|points| points.iter().map(|slopes| slopes[row]).collect::<Vec<_>>());
        let span = Span::over(&near);
        let sharp = span.width() < 0.5 * Span::over(&far).width();
        if sharp || self.straddles(row, &near) || self.jumps_around(row, span) { vec![] } else { near }
    }

    /// Whether the lowest or the highest of the slopes at points around is that of a jump between the two values it comes from.
    fn straddles(&mut self, row: usize, slopes: &[f64]) -> bool {
        let step = self.step(ASIDE[1] * 1e-2);
        let noise = 100.0 * f64::EPSILON * self.here[row].abs().max(1e-3) / step;
        let span = Span::over(slopes);
        let is_end = |slope: f64| (slope == span.low || slope == span.high) && slope.abs() > noise;
        let ends: Vec<usize> = (0..slopes.len()).filter(|i| is_end(slopes[*i])).collect();
        ends.into_iter().any(|number| {
            self.aside(number, ASIDE[1], |line| {
                let beside = line.beside();
                line.is_jump(row, beside - step, beside + step)
            })
        })
    }

    /// How far the input has been moved from the point.
    fn beside(&self) -> f64 {
        self.evaluator.number(self.input, self.index) - self.x
    }

    /// Whether there are jumps between points around: steps steeper than all slopes, and ever steeper the smaller they are.
    fn jumps_around(&mut self, row: usize, slopes: Span) -> bool {
        if self.walks.is_none() {
            self.walks = Some((0..AROUND).map(|i| self.aside(i, ASIDE[1], Self::walk)).collect());
        }
        let step = self.step(ASIDE[1]) / f64::from(WALK);
        let noise = 100.0 * f64::EPSILON * self.here[row].abs().max(1e-3) / step;
        let slack = 0.5 * slopes.width() + noise;
        let walks = self.walks.as_ref().expect("they have just been computed");
        let mut steep = Vec::new();
        for (number, values) in walks.iter().enumerate() {
            let slope = |k: usize| (values[k + 1][row] - values[k][row]) / step;
            let is_steep = |k: &usize| slope(*k) < slopes.low - slack || slope(*k) > slopes.high + slack;
            steep.extend((0..values.len() - 1).filter(is_steep).map(|k| (number, k)));
        }
        steep.into_iter().any(|(number, k)| {
            let from = (k as f64 - f64::from(WALK)) * step;
            self.aside(number, ASIDE[1], |line| line.is_jump(row, from, from + step))
        })
    }

    /// The values of all rows along this input, on both sides of the point.
    fn walk(&mut self) -> Vec<Vec<f64>> {
        let step = self.step(ASIDE[1]) / f64::from(WALK);
        (-WALK..=WALK).map(|k| self.at(f64::from(k) * step)).collect()
    }

    /// Whether most of what lies between the values at two offsets lies between two that are much nearer.
    fn is_jump(&mut self, row: usize, mut from: f64, mut to: f64) -> bool {
        let [mut low, mut high] = [self.at(from)[row], self.at(to)[row]];
        let whole = (high - low).abs();
        for _ in 0..HALVES {
            let middle = 0.5 * (from + to);
            let value = self.at(middle)[row];
            if (value - low).abs() > (high - value).abs() {
                (to, high) = (middle, value);
            } else {
                (from, low) = (middle, value);
            }
        }
        (high - low).abs() > 0.5 * whole
    }

    /// Whether the function has no other real input number.
    pub(super) fn is_alone(&self) -> bool {
        let reals = |value: &Val| value.scalars().iter().filter(|c| matches!(c, Const::Float(_))).count();
        self.evaluator.inputs.iter().map(|input| reals(&input.value)).sum::<usize>() == 1
    }

    /// The slopes of all rows at the point of that number around this one.
    fn slopes_aside(&mut self, number: usize, aside: f64) -> Vec<f64> {
        let step = self.step(aside * 1e-2);
        let [above, below] = self.aside(number, aside, |line| {
            let beside = line.beside();
            [step, -step].map(|h| line.at(beside + h))
        });
        above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * step)).collect()
    }

    /// What `look` sees with all inputs moved to the point of that number around this one.
    fn aside<T>(&mut self, number: usize, aside: f64, look: impl FnOnce(&mut Self) -> T) -> T {
        let before: Vec<_> = self.evaluator.inputs.iter().map(|input| input.value.clone()).collect();
        let mut random = Random::new(number as u64, "around");
        // Every number moves by much more than the step, so as not to stand on the same edge again.
        let mut moved = || random.between((0.125, 1.0)) * if random.below(2) == 0 { -1.0 } else { 1.0 };
        self.evaluator.move_inputs(|x| x + aside * x.abs().max(1.0) * moved());
        let seen = look(self);
        for (input, value) in self.evaluator.inputs.iter_mut().zip(before) {
            input.value = value;
        }
        seen
    }
}
