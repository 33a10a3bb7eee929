//! All derivatives at one point, compared with differences.

use super::differences::{Estimate, Line};
use super::point::Random;
use super::{Disagreement, Finding, Kink, Outcome};
use crate::gradient::{Entry, Evaluator, Functions, Jacobian};
use cotangent_base::Scalar;
use cotangent_interp::Stopped;
use cotangent_ir::Mode;

/// How far derivatives and differences may be apart, relative to their size. Wide enough for constants with the digits of their
/// type: even in wide mode they have no more.
fn tolerance(row: &Entry, column: &Entry) -> f64 {
    let half = [row, column].iter().any(|entry| entry.leaf.scalar == Scalar::F16);
    if half { 2e-3 } else { 1e-5 }
}

/// Differences whose own error is larger than this, relative to their size, tell nothing.
const STEADY: f64 = 1e-4;

/// A function with more numbers than this has as many of them checked, other ones at each point.
const MOST: usize = 24;

/// What a point is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// To compare; a kink is looked for only if what is compared differs.
    Random,
    /// To find a kink, even one whose derivative is the mean of both sides, as central differences are.
    ForKinks,
}

/// Compares at the point where the evaluator is; the reason if nothing can be compared there.
pub(super) fn judge(
    evaluator: &mut Evaluator<'_>,
    functions: Functions,
    look: Look,
    finding: &mut Finding,
    random: &mut Random,
) -> Result<(), String> {
    let stopped = |s: Stopped| s.to_string();
    let outputs = evaluator.outputs().map_err(stopped)?;
    let numbers = outputs.iter().filter(|o| o.diff).flat_map(|o| evaluator.numbers(o));
    // A number that is none spoils in reverse mode what does not even depend on it.
    if !numbers.into_iter().all(|(_, n)| n.as_f64().is_finite()) {
        return Err("it is not finite at any point that was tried".to_string());
    }
    let mut shape = evaluator.shape(&|_| true);
    choose(&mut shape.rows, random);
    choose(&mut shape.columns, random);
    shape.entries = vec![vec![0.0; shape.columns.len()]; shape.rows.len()];
    let (rows, columns) = (shape.rows.clone(), shape.columns.clone());
    let mut filled = |mode, has: bool| -> Result<Option<Jacobian>, String> {
        let mut jacobian = shape.clone();
        match has {
            true => evaluator.fill(mode, &mut jacobian).map(|()| Some(jacobian)).map_err(stopped),
            false => Ok(None),
        }
    };
    let forward = filled(Mode::Forward, functions.forward.is_some())?;
    let backward = filled(Mode::Backward, functions.backward.is_some())?;
    evaluator.hold_detached().map_err(stopped)?;
    let (mut compared, mut reason) = (false, "no differences can be taken of its types".to_string());
    for (c, column) in columns.iter().enumerate() {
        let Some(mut line) = Line::new(evaluator, &rows, column).map_err(stopped)? else { continue };
        let mut found = Vec::new();
        for (r, row) in rows.iter().enumerate() {
            let given = [&forward, &backward].map(|j| j.as_ref().map(|j| j.entries[r][c]));
            found.push(verdict(&mut line, look, r, given, tolerance(row, column)));
        }
        for (row, verdict) in rows.iter().zip(found) {
            compared |= !matches!(verdict, Verdict::Unclear(_));
            match verdict {
                Verdict::Agrees(error) => finding.error = finding.error.max(error),
                Verdict::Unclear(why) => reason = why.to_string(),
                Verdict::Kink(left, right, given) => {
                    note_kink(evaluator, finding, (row, column), [left, right, given])
                }
                Verdict::Differs(case) => note_difference(evaluator, finding, (row, column), case),
            }
        }
    }
    evaluator.let_detached_go();
    if compared { Ok(()) } else { Err(reason) }
}

/// Leaves at most [`MOST`] entries, chosen at random, in order.
fn choose(entries: &mut Vec<Entry>, random: &mut Random) {
    while entries.len() > MOST {
        entries.remove(random.below(entries.len()));
    }
}

enum Verdict {
    Agrees(f64),
    Kink(f64, f64, f64),
    Differs(Case),
    /// Nothing can be said here.
    Unclear(&'static str),
}

/// Numbers that should be the same.
struct Case {
    given: [Option<f64>; 2],
    estimate: Estimate,
    error: f64,
}

fn verdict(
    line: &mut Line<'_, '_>,
    look: Look,
    row: usize,
    given: [Option<f64>; 2],
    tolerance: f64,
) -> Verdict {
    let here = line.here(row);
    let shown = given[1].or(given[0]).unwrap_or(f64::NAN);
    if look == Look::ForKinks
        && let Some((left, right)) = line.kink(row)
    {
        return Verdict::Kink(left, right, shown);
    }
    let floor = 1e-3 * here.abs().max(1e-3);
    let mut agreed = None;
    let mut best: Option<Estimate> = None;
    line.slopes(row, |estimate| {
        let size = estimate.slope.abs().max(floor);
        if !estimate.slope.is_finite() || estimate.uncertainty > STEADY * size {
            return false;
        }
        let error = apart(given, estimate.slope, floor);
        if error <= tolerance + estimate.uncertainty / size {
            agreed = Some(error);
        } else if best.is_none_or(|b| estimate.uncertainty < b.uncertainty) {
            best = Some(estimate);
        }
        agreed.is_some()
    });
    match (agreed, best) {
        (Some(error), _) => Verdict::Agrees(error),
        (None, best) => match (line.kink(row), best) {
            (Some((left, right)), _) => Verdict::Kink(left, right, shown),
            // The point is special: several kinks may meet there, none of which lies across this line.
            (None, Some(estimate)) if look == Look::ForKinks => {
                Verdict::Kink(estimate.slope, estimate.slope, shown)
            }
            (None, Some(estimate)) => {
                Verdict::Differs(Case { given, estimate, error: apart(given, estimate.slope, floor) })
            }
            (None, None) => Verdict::Unclear("it is too rough for differences"),
        },
    }
}

/// The larger difference from `slope`, relative to the size of both.
fn apart(given: [Option<f64>; 2], slope: f64, floor: f64) -> f64 {
    let one = |x: f64| match x.is_finite() {
        true => (x - slope).abs() / x.abs().max(slope.abs()).max(floor),
        false => f64::INFINITY,
    };
    given.into_iter().flatten().map(one).fold(0.0, f64::max)
}

fn names(evaluator: &Evaluator<'_>, row: &Entry, column: &Entry) -> (String, String) {
    let output = match evaluator.output_names().swap_remove(row.of) {
        result if result.is_empty() => "result".to_string(),
        output => output,
    };
    let input = &evaluator.inputs[column.of].name;
    (format!("{output}{}", row.leaf.path), format!("{input}{}", column.leaf.path))
}

fn note_kink(
    evaluator: &Evaluator<'_>,
    finding: &mut Finding,
    (row, column): (&Entry, &Entry),
    slopes: [f64; 3],
) {
    let (output, input) = names(evaluator, row, column);
    let [left, right, given] = slopes;
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.abs().max(1.0) || a.is_nan() && b.is_nan();
    let known =
        |k: &Kink| k.output == output && k.input == input && same(k.left, left) && same(k.right, right);
    if finding.kinks.iter().any(known) {
        return;
    }
    finding.kinks.push(Kink { output, input, left, right, given, at: evaluator.show_inputs() });
}

fn note_difference(
    evaluator: &Evaluator<'_>,
    finding: &mut Finding,
    (row, column): (&Entry, &Entry),
    case: Case,
) {
    if matches!(&finding.outcome, Outcome::Differs(worst) if worst.error >= case.error) {
        return;
    }
    let (output, input) = names(evaluator, row, column);
    finding.outcome = Outcome::Differs(Box::new(Disagreement {
        output,
        input,
        forward: case.given[0],
        backward: case.given[1],
        differences: case.estimate.slope,
        uncertainty: case.estimate.uncertainty,
        error: case.error,
        at: evaluator.show_inputs(),
    }));
}
