//! Compares all derivatives at one point with finite differences.

use super::differences::{Estimate, Line};
use super::point::Random;
use super::sides::{Sides, Span};
use super::{Disagreement, Finding, Hidden, Kink, Outcome, Why};
use crate::gradient::{Entry, Evaluator, Functions, Jacobian};
use cotangent_interp::Stopped;
use cotangent_ir::Mode;

/// How far derivatives and differences may be apart, relative to their size, beyond what differences may be off themselves.
const TOLERANCE: f64 = 1e-9;

/// By how much the error of differences may exceed what two steps tell of it, as where the second derivative jumps.
const MARGIN: f64 = 4.0;

/// Differences whose own error is larger than this, relative to their size, tell nothing.
const STEADY: f64 = 1e-4;

/// A function with more numbers than this has as many of them checked, other ones at each point.
const MOST: usize = 24;

/// Why nothing is said of a function whose differences do not settle on a slope.
const UNSETTLED: &str = "it is too rough for finite differences";

/// What a point is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// To compare; a kink is looked for only if what is compared differs.
    Random {
        /// Whether the derivative was made by the compiler, from rules for what is inside.
        made: bool,
    },
    /// To find a kink, even one whose derivative is the mean of both sides, as central differences are.
    ForKinks {
        /// The same.
        made: bool,
    },
}

/// Compares at the point where the evaluator is. Gives whether some derivative is not singular there, or the reason why nothing
/// can be compared.
pub(super) fn judge(
    evaluator: &mut Evaluator,
    functions: Functions,
    look: Look,
    finding: &mut Finding,
    random: &mut Random,
) -> Result<bool, String> {
    let stopped = |s: Stopped| s.to_string();
    let outputs = evaluator.outputs().map_err(stopped)?;
    let numbers = outputs.iter().filter(|o| o.diff).flat_map(|o| evaluator.numbers(o));
    // A number that is none spoils in reverse mode what does not even depend on it.
    if !numbers.into_iter().all(|(_, n)| n.as_f64().is_finite()) {
        return Err("it is not finite at any sampled point".to_string());
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
    let found = verdicts(evaluator, look, (&rows, &columns), [&forward, &backward]);
    // The next point has values of its own, whatever came of this one.
    evaluator.let_detached_go();
    let found = found.map_err(stopped)?;
    let unsuited = match rows.is_empty() {
        true => "no output carries a derivative",
        false => "its types have no finite differences",
    };
    let (mut compared, mut reason) = (false, unsuited.to_string());
    // Where an output ends or jumps, an infinite slope by one input makes those by all others no numbers.
    let is_break = |(r, _, verdict): &(usize, &Entry, Verdict)| verdict.is_break().then_some(*r);
    let broken: Vec<usize> = found.iter().filter_map(is_break).collect();
    let mut is_singular = true;
    for (r, column, verdict) in found {
        is_singular &= verdict.is_break();
        compared |= match verdict {
            Verdict::Agrees(_) | Verdict::Kink(_) | Verdict::Differs(_) | Verdict::Split(_) => true,
            Verdict::Unclear(_) | Verdict::Hidden(_) | Verdict::Waves(_) | Verdict::Elsewhere(_) => false,
        };
        let place = (&rows[r], column);
        if let Verdict::Differs(case) = &verdict
            && case.error.is_infinite()
            && broken.contains(&r)
        {
            continue;
        }
        reason = note(evaluator, finding, place, verdict).unwrap_or(reason);
    }
    if compared { Ok(!is_singular) } else { Err(reason) }
}

/// Records one verdict. Returns the reason if nothing was compared.
fn note(
    evaluator: &Evaluator,
    finding: &mut Finding,
    place: (&Entry, &Entry),
    verdict: Verdict,
) -> Option<String> {
    match verdict {
        Verdict::Agrees(error) => finding.error = finding.error.max(error),
        Verdict::Unclear(why) => return Some(why.to_string()),
        Verdict::Hidden(given) => {
            note_hidden(evaluator, finding, place, (Why::NotFinite, given));
            return Some("an intermediate value is not finite at any sampled point".to_string());
        }
        Verdict::Waves(given) => {
            note_hidden(evaluator, finding, place, (Why::Waves, given));
            return Some(UNSETTLED.to_string());
        }
        Verdict::Elsewhere(given) => {
            note_hidden(evaluator, finding, place, (Why::Detached, given));
            return Some("near each sampled point it detaches different values".to_string());
        }
        Verdict::Kink(at) => note_kink(evaluator, finding, place, at),
        Verdict::Differs(case) | Verdict::Split(case) => note_difference(evaluator, finding, place, case),
    }
    None
}

/// What is to be said of each row and column, with what is detached held still.
fn verdicts<'c>(
    evaluator: &mut Evaluator,
    look: Look,
    (rows, columns): (&[Entry], &'c [Entry]),
    jacobians: [&Option<Jacobian>; 2],
) -> Result<Vec<(usize, &'c Entry, Verdict)>, Stopped> {
    let mut found = Vec::new();
    for (c, column) in columns.iter().enumerate() {
        let Some(mut line) = Line::new(evaluator, rows, column)? else { continue };
        for r in 0..rows.len() {
            let given = jacobians.map(|j| j.as_ref().map(|j| j.entries[r][c]));
            found.push((r, column, verdict(&mut line, look, r, given)));
        }
    }
    Ok(found)
}

/// Leaves at most [`MOST`] entries, chosen at random, in order.
fn choose(entries: &mut Vec<Entry>, random: &mut Random) {
    while entries.len() > MOST {
        entries.remove(random.below(entries.len()));
    }
}

enum Verdict {
    Agrees(f64),
    /// No derivative is there.
    Kink(At),
    Differs(Case),
    /// Something inside is not finite, and one mode is, but not the other.
    Split(Case),
    /// Something inside is not finite, which the result hides; this is the derivative.
    Hidden(f64),
    /// The function goes up and down between the steps of differences; this is the derivative.
    Waves(f64),
    /// Near the point the function detaches a value that it does not detach at the point; this is the derivative.
    Elsewhere(f64),
    /// Nothing can be said here.
    Unclear(&'static str),
}

impl Verdict {
    fn is_break(&self) -> bool {
        matches!(self, Verdict::Kink(At { breaks: true, .. }))
    }
}

/// The slopes at a kink.
struct At {
    left: f64,
    right: f64,
    given: f64,
    /// Whether the function jumps.
    jumps: bool,
    /// Whether it ends or gets ever steeper.
    breaks: bool,
}

impl At {
    /// Whether a side has no values.
    fn ends(&self) -> bool {
        self.left.is_nan() || self.right.is_nan()
    }
}

/// Numbers that should be the same.
struct Case {
    given: [Option<f64>; 2],
    estimate: Estimate,
    sides: Option<[f64; 2]>,
    error: f64,
}

fn verdict(line: &mut Line<'_>, look: Look, row: usize, given: [Option<f64>; 2]) -> Verdict {
    match compare(line, look, row, given) {
        Verdict::Differs(_) | Verdict::Unclear(_) if line.strays() => Verdict::Elsewhere(shown(given)),
        Verdict::Kink(at) if at.ends() && line.strays() => Verdict::Elsewhere(shown(given)),
        Verdict::Differs(case) if is_split(line, &case) => Verdict::Split(case),
        Verdict::Differs(case) if is_hidden(line, &case) => Verdict::Hidden(shown(given)),
        Verdict::Differs(case) if derivatives_waver(line, row, &case) => Verdict::Waves(shown(given)),
        verdict => verdict,
    }
}

/// Whether forward mode gives a finite number and reverse mode does not, for what is not finite inside: one of them is wrong, though
/// differences cannot tell which. At a kink, and on the edge of the domain of what is inside, modes may take different sides.
/// The other way round nothing is wrong: forward mode multiplies what is not finite by the tangents of inputs that do not move,
/// which are zero, where reverse mode knows that they have no part in it.
fn is_split(line: &mut Line<'_>, case: &Case) -> bool {
    let [forward, backward] = case.given.map(|given| given.map(f64::is_finite));
    forward == Some(true)
        && backward == Some(false)
        && case.sides.is_none()
        && matches!(line.hides(), [left, true, right] if left == right)
}

/// Whether a derivative differs where the function leaves the domain of something inside. There its value is an accident of
/// how it treats what is no number, and nothing binds the derivative. If that happens at this very point only, and a
/// function of one number is smooth across it, it is in the domain by all that can be seen. (One of several numbers need not be:
/// where all are zero, a factor may hide anything.)
fn is_hidden(line: &mut Line<'_>, case: &Case) -> bool {
    match line.hides() {
        [true, _, _] | [_, _, true] => true,
        [false, true, false] => case.sides.is_some() || !line.is_alone(),
        [false, false, false] => false,
    }
}

/// Whether every derivative wavers within the step of the differences by as much as it differs from them: a right one does where
/// the function has waves that they step over, a wrong one seldom.
fn derivatives_waver(line: &mut Line<'_>, row: usize, case: &Case) -> bool {
    [Mode::Forward, Mode::Backward].into_iter().zip(case.given).all(|(mode, given)| match given {
        Some(given) => given.is_finite() && line.wavers(row, mode, given, case.estimate),
        None => true,
    })
}

fn compare(line: &mut Line<'_>, look: Look, row: usize, given: [Option<f64>; 2]) -> Verdict {
    // Even where a result is zero, what cancels in it may be of the size of one, and rounds like that.
    let floor = 1e-3 * line.here(row).abs().max(1.0);
    if matches!(look, Look::ForKinks { .. })
        && let Some(sides) = line.kink(row)
    {
        return at_kink(line, look, row, given, sides, floor);
    }
    let best = line.best(row, STEADY, TOLERANCE, floor);
    if let Some(estimate) = best {
        let error = apart(given, estimate.slope, floor);
        if error <= TOLERANCE + estimate.uncertainty / estimate.slope.abs().max(floor) {
            return Verdict::Agrees(error);
        }
    }
    if let Some(sides) = line.kink(row) {
        return at_kink(line, look, row, given, sides, floor);
    }
    let Some(best) = best else { return Verdict::Unclear(UNSETTLED) };
    let estimate = line.doubted(row, best);
    let error = apart(given, estimate.slope, floor);
    let doubt = MARGIN * estimate.uncertainty / estimate.slope.abs().max(floor);
    if error <= TOLERANCE + doubt {
        return Verdict::Agrees((error - doubt).max(0.0));
    }
    let farthest = given.into_iter().flatten().map(|x| (x - estimate.slope).abs()).fold(0.0, f64::max);
    if line.has_fine_structure(row, estimate.slope, farthest) {
        return Verdict::Unclear(UNSETTLED);
    }
    match look {
        Look::ForKinks { .. } => beside_kinks(line, look, row, given, estimate, floor),
        Look::Random { .. } => differs(given, estimate, floor),
    }
}

fn differs(given: [Option<f64>; 2], estimate: Estimate, floor: f64) -> Verdict {
    Verdict::Differs(Case { given, estimate, sides: None, error: apart(given, estimate.slope, floor) })
}

/// At a kink any slope between those of its sides will do, or between those around it, where several kinks meet. Where the
/// function ends or gets ever steeper, the derivative need not be a finite number. Where it jumps and values tie inside as well, the
/// sides of the jump are those of the tie too, and the share that its rule gives is none of them.
fn at_kink(
    line: &mut Line<'_>,
    look: Look,
    row: usize,
    given: [Option<f64>; 2],
    sides: Sides,
    floor: f64,
) -> Verdict {
    let breaks = sides.are_unbounded();
    let [left, right] = [sides.left.slope(), sides.right.slope()];
    let judged = given.map(|g| g.filter(|x| x.is_finite() || !breaks));
    let mut span = Span::between(&sides);
    if !span.has_all(judged) {
        line.slopes_around(row).into_iter().for_each(|slope| span.include(slope));
    }
    if span.has_all(judged) || sides.jump() && is_shared(line, look, given) {
        return Verdict::Kink(At { left, right, given: shown(given), jumps: sides.jump(), breaks });
    }
    let estimate = line.between([left, right]);
    let error = apart(given, estimate.slope, floor);
    Verdict::Differs(Case { given, estimate, sides: Some([left, right]), error })
}

/// The function is smooth along this line and the derivative is another slope. That is no mistake if kinks meet here that
/// cross other lines, as those of `min(max(x, 0), max(y, 0))` at zero: then slopes differ around the point. Nor is it if values
/// tie inside: rules for ties give each its share, and in `clamp(x, 0, 1) + max(x - 1, 0)` the shares at one are a half too many.
fn beside_kinks(
    line: &mut Line<'_>,
    look: Look,
    row: usize,
    given: [Option<f64>; 2],
    estimate: Estimate,
    floor: f64,
) -> Verdict {
    let mut span = Span::of(estimate.slope);
    line.slopes_around(row).into_iter().for_each(|slope| span.include(slope));
    if span.is_wide() && span.has_all(given) || is_shared(line, look, given) {
        let (left, right) = (span.low, span.high);
        return Verdict::Kink(At { left, right, given: shown(given), jumps: false, breaks: false });
    }
    differs(given, estimate, floor)
}

/// Whether the derivative may be made of shares that rules for ties give: values tie inside, and the compiler made it.
fn is_shared(line: &mut Line<'_>, look: Look, given: [Option<f64>; 2]) -> bool {
    let (Look::Random { made } | Look::ForKinks { made }) = look;
    made && given.into_iter().flatten().all(f64::is_finite) && line.ties()
}

/// The derivative that is told of a kink.
fn shown(given: [Option<f64>; 2]) -> f64 {
    given[1].or(given[0]).unwrap_or(f64::NAN)
}

/// The larger difference from `slope`, relative to the size of both.
fn apart(given: [Option<f64>; 2], slope: f64, floor: f64) -> f64 {
    let one = |x: f64| match x.is_finite() {
        true => (x - slope).abs() / x.abs().max(slope.abs()).max(floor),
        false => f64::INFINITY,
    };
    given.into_iter().flatten().map(one).fold(0.0, f64::max)
}

fn names(evaluator: &Evaluator, row: &Entry, column: &Entry) -> (String, String) {
    let output = match evaluator.output_names().swap_remove(row.of) {
        result if result.is_empty() => "result".to_string(),
        output => output,
    };
    let input = &evaluator.inputs[column.of].name;
    (format!("{output}{}", row.leaf.path), format!("{input}{}", column.leaf.path))
}

fn note_kink(evaluator: &Evaluator, finding: &mut Finding, (row, column): (&Entry, &Entry), at: At) {
    let (output, input) = names(evaluator, row, column);
    let At { left, right, given, jumps, breaks } = at;
    let same =
        |a: f64, b: f64| a == b || (a - b).abs() <= 1e-3 * a.abs().max(1.0) || a.is_nan() && b.is_nan();
    let known =
        |k: &Kink| k.output == output && k.input == input && same(k.left, left) && same(k.right, right);
    if !finding.kinks.iter().any(known) {
        let at = evaluator.show_point();
        finding.kinks.push(Kink { output, input, left, right, given, jumps, singular: breaks, at });
    }
}

fn note_hidden(
    evaluator: &Evaluator,
    finding: &mut Finding,
    (row, column): (&Entry, &Entry),
    (why, given): (Why, f64),
) {
    let (output, input) = names(evaluator, row, column);
    if !finding.hidden.iter().any(|h| h.output == output && h.input == input && h.why == why) {
        finding.hidden.push(Hidden { output, input, why, given, at: evaluator.show_point() });
    }
}

fn note_difference(
    evaluator: &Evaluator,
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
        sides: case.sides,
        error: case.error,
        at: evaluator.show_point(),
    }));
}
