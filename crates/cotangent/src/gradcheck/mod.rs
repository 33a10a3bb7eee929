//! Whether derivatives are derivatives: every differentiable function of a module against differences of itself.
//!
//! At random points ([`point`]) forward mode, reverse mode and central differences give the same Jacobian, all in the
//! interpreter's wide mode. Beside random points there are three where kinks like to be: all zero, all one and all a half. A point
//! where the function is not finite, or traps, is replaced by another. What is detached is held still, since a derivative that
//! was dropped on purpose is no mistake.
//!
//! The rule for the derivative of an output by an input number, at a point:
//!
//! 1. It *agrees* if it is the slope by central differences, which come with an estimate of their own error ([`differences`]).
//! 2. Where the sides have two slopes however near one looks ([`sides`]) it is at a *kink*, or a jump, and must lie between them,
//!    or between the slopes around, where kinks of several inputs meet. (Slopes around say nothing of a function that jumps
//!    there, as `abs(x) > y ? max(x, y) : 3 * x` does at zero.) Something that is not a number lies between no slopes. Where
//!    `min`, `max` or `abs` inside cannot tell what to choose, the compiler's rules give each a share, whose sum is not judged if
//!    there is but one slope.
//! 3. Where a side ends or gets ever steeper the function is *singular*. A derivative that is not finite is not judged there.
//!    A finite one must lie between the slopes; zero counts as a slope where the function gets ever steeper. Between two poles
//!    any derivative is accepted.
//! 4. Where the function makes of finite numbers one that is not, and its result hides it, as `saturate(sqrt(x))` does below
//!    zero, the derivative is reported and not judged. It is judged where that happens at a single point which the function
//!    crosses smoothly, as `select(x == 0, 1, sin(x) / x)` does at zero.
//!    Where one mode is finite and the other is not, they disagree all the same, unless this begins or ends at the very point:
//!    differences need not tell which of them is wrong.
//! 5. Where a derivative goes to and fro within the step of the differences by as much as it is apart from them, as that of
//!    `x + 1e-9 * sin(1e12 * x)` does, it is reported and not judged: they step over such waves.
//! 6. Detached values are held by place: by call and by iteration of each loop. If the function, near the point, detaches a value
//!    at a place that it does not reach at the point, that value is unknown. A derivative that disagrees with differences there
//!    is reported and not judged.
//! 7. All else is a *disagreement*.

mod differences;
mod fixed;
mod judge;
mod point;
mod sides;

use crate::asked::{self, Chosen};
use crate::gradient::{self, Evaluator, Functions};
use crate::pipeline::{self, Listing, Memory};
use crate::{Compiler, Stop};
use cotangent_base::{Diagnostics, Span, Symbol};
use cotangent_interp::Options as Machine;
use cotangent_ir::{Mode, Module};
use cotangent_lower::{Lowered, Roots};
use cotangent_runtime::{Data, Error};
use cotangent_sema::{Checked, hir};
use fixed::Fixed;
use judge::Look;
use std::collections::BTreeSet;

/// What to check, and how thoroughly.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only these functions, as in `energy`, `Ray.at`, `f(float2)` and `sum<float, 3>`; every differentiable one of the
    /// file if there is none.
    pub functions: Vec<String>,
    /// Inputs that are the same at every point: `n=3, p.dir=[1, 0, 0]`. Derivatives by them are checked there.
    pub at: String,
    /// Shader parameters and buffers that are the same at every point.
    pub set: Vec<(String, Data)>,
    /// At how many random points.
    pub samples: u32,
    /// Where random numbers start. The same seed gives the same points everywhere.
    pub seed: u64,
    /// Enumerators that `at` may name. The checked program's are used.
    pub enumerators: Vec<(String, i64)>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            functions: vec![],
            at: String::new(),
            set: vec![],
            samples: 20,
            seed: 1,
            enumerators: vec![],
        }
    }
}

/// What was found out about one function.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its name, with the names around it: `Ray.at`.
    pub name: Symbol,
    /// Where its name stands.
    pub span: Span,
    /// Which derivatives it has.
    pub modes: Vec<Mode>,
    /// Whether the compiler made them.
    pub made: bool,
    /// Why not both of them were compared, if so.
    pub unchecked: Option<String>,
    /// At how many points derivatives were compared.
    pub points: u32,
    /// The largest difference at those points that is none, relative to the size of the derivative.
    pub error: f64,
    /// Where it has no derivative; one for each pair of numbers.
    pub kinks: Vec<Kink>,
    /// Where derivatives were not judged.
    pub hidden: Vec<Hidden>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of checking a function.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Derivatives and differences agree.
    Agrees,
    /// There was nothing to compare: at every point the function ends or gets ever steeper.
    Singular,
    /// They do not; the worst case.
    Differs(Box<Disagreement>),
    /// It could not be checked, for this reason.
    Skipped(String),
}

/// A derivative that is not one.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The output number, such as `result.x`.
    pub output: String,
    /// The input number, such as `v.y`.
    pub input: String,
    /// Its derivative in forward mode.
    pub forward: Option<f64>,
    /// In reverse mode.
    pub backward: Option<f64>,
    /// By differences.
    pub differences: f64,
    /// How far these may be off.
    pub uncertainty: f64,
    /// The slopes on the left and on the right, where they are two.
    pub sides: Option<[f64; 2]>,
    /// The larger difference, relative to the size of the derivatives; infinite if one is not a number.
    pub error: f64,
    /// The point, with what buffers and uniforms held: `x = 1.5, v = [1, 0]`.
    pub at: String,
}

/// A place without derivative.
#[derive(Clone, Debug)]
pub struct Kink {
    /// The output number.
    pub output: String,
    /// The input number.
    pub input: String,
    /// The slope on the left; infinite where it gets ever steeper, not a number where the function ends.
    pub left: f64,
    /// The slope on the right.
    pub right: f64,
    /// What the derivatives say.
    pub given: f64,
    /// Whether the function jumps: the slopes are those of its pieces.
    pub jumps: bool,
    /// Whether the function ends or gets ever steeper: its derivative is infinite or not defined.
    pub singular: bool,
    /// The point.
    pub at: String,
}

/// A place where a derivative cannot be judged by the values of the function.
#[derive(Clone, Debug)]
pub struct Hidden {
    /// The output number.
    pub output: String,
    /// The input number.
    pub input: String,
    /// Why it cannot.
    pub why: Why,
    /// What the derivatives say.
    pub given: f64,
    /// The point.
    pub at: String,
}

/// Why a derivative cannot be judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The function leaves the domain of something inside, and its result does not show it.
    NotFinite,
    /// The function goes up and down between the steps of differences.
    Waves,
    /// Near the point the function detaches a value at a place that it does not reach at the point.
    Detached,
}

/// Checks the functions of the module at `path`.
pub fn gradcheck(compiler: &mut Compiler<'_>, path: &str, options: &Options) -> Result<Vec<Finding>, Stop> {
    let mut checked = compiler.check(path)?;
    gradient::check_once(&options.at).map_err(|error| Stop::Usage(error.0))?;
    let options = &Options { enumerators: compiler.enumerators.clone(), ..options.clone() };
    let chosen = asked::choose(compiler, &mut checked, path, &options.functions)?;
    let mut used = BTreeSet::new();
    let mut findings = vec![];
    for chosen in chosen {
        findings.push(check_function(&mut checked, &chosen, options, &mut used)?);
    }
    match fixed::unknown(options, &used) {
        Some(name) => Err(Stop::Usage(format!("no function that is checked has a parameter `{name}`"))),
        None => Ok(findings),
    }
}

fn check_function(
    checked: &mut Checked,
    chosen: &Chosen,
    options: &Options,
    used: &mut BTreeSet<String>,
) -> Result<Finding, Stop> {
    let data = &checked.program.funcs[chosen.func];
    let mut finding = Finding {
        name: chosen.name,
        span: data.span,
        modes: vec![],
        made: !data.diff.is_custom(),
        unchecked: None,
        points: 0,
        error: 0.0,
        kinks: vec![],
        hidden: vec![],
        outcome: Outcome::Agrees,
    };
    let func = match (unsuitable(data), chosen.instance) {
        (None, Some(func)) => func,
        (reason, _) => {
            let generic = "it is generic: ask for an instance, as in `--fn 'f<float, 3>'`";
            finding.outcome = Outcome::Skipped(reason.unwrap_or(generic).into());
            return Ok(finding);
        }
    };
    match compile(checked, func) {
        Ok((mut lowered, functions, unchecked)) => {
            finding.unchecked = unchecked;
            finding.modes.extend(functions.forward.map(|_| Mode::Forward));
            finding.modes.extend(functions.backward.map(|_| Mode::Backward));
            let compared = compare(&mut lowered.module, functions, options, used, &mut finding);
            compared.map_err(|error| Stop::Usage(error.0))?;
        }
        Err(reason) => finding.outcome = Outcome::Skipped(reason),
    }
    Ok(finding)
}

/// Why a function cannot be run as it is.
fn unsuitable(func: &hir::Func) -> Option<&'static str> {
    match func.kind {
        hir::FuncKind::Requirement(_) => Some("a requirement is checked where it is met"),
        _ if func.diff.constant => Some("its derivative is zero on purpose"),
        _ => None,
    }
}

/// The function and the derivatives it has, and why it has only one of them, if so: a function with only one custom
/// derivative need not have the other, and a loop without a bound cannot.
fn compile(
    checked: &mut Checked,
    func: hir::FuncRef,
) -> Result<(Lowered, Functions, Option<String>), String> {
    let mut reason = None;
    for modes in [&[Mode::Forward, Mode::Backward][..], &[Mode::Backward], &[Mode::Forward]] {
        match compile_modes(checked, func, modes) {
            Ok(lowered) => {
                let functions = Functions::of(&lowered, modes);
                return Ok((lowered, functions, reason));
            }
            Err(diagnostics) => {
                let first = diagnostics.iter().find(|d| d.is_error());
                let told = first.map(|d| format!("{}: {}", d.code.name, d.message));
                reason = reason.or(told);
            }
        }
    }
    Err(reason.unwrap_or_default())
}

fn compile_modes(checked: &mut Checked, func: hir::FuncRef, modes: &[Mode]) -> Result<Lowered, Diagnostics> {
    let options = cotangent_lower::Options { show_dropped: true, ..Default::default() };
    let roots = Roots::DerivativesOf { func, modes: modes.to_vec() };
    let mut lowered = cotangent_lower::lower_with(checked, roots, options);
    // Constants keep their digits too.
    lowered.module.types.wide = true;
    let mut diagnostics = std::mem::take(&mut checked.diagnostics);
    diagnostics.append(std::mem::take(&mut lowered.diagnostics));
    if !diagnostics.has_errors() {
        diagnostics.append(pipeline::run(&mut lowered, Memory::Declared, &mut Listing::default()));
    }
    if diagnostics.has_errors() { Err(diagnostics) } else { Ok(lowered) }
}

/// How many steps one run may take: random inputs must not make a program run forever.
const MAX_STEPS: u64 = 4_000_000;

/// At how many points in a row to give up.
const ATTEMPTS: u32 = 40;

fn compare(
    module: &mut Module,
    functions: Functions,
    options: &Options,
    used: &mut BTreeSet<String>,
    finding: &mut Finding,
) -> Result<(), Error> {
    let handles = point::give_buffers(module, functions.primal);
    let machine = Machine { wide: true, max_steps: MAX_STEPS, ..Machine::default() };
    let mut evaluator = Evaluator::new(module, functions, machine);
    evaluator.enumerators.clone_from(&options.enumerators);
    let mut random = point::Random::new(options.seed, finding.name.as_str());
    if evaluator.shape(&|_| true).columns.is_empty() {
        let elsewhere = "; what its custom derivative writes, differences do not see";
        let reason = "no input carries a derivative".to_string();
        finding.outcome = Outcome::Skipped(if finding.made { reason } else { reason + elsewhere });
        return Ok(());
    }
    if let Some(name) = point::without_value(module, &evaluator) {
        let reason = format!("`{name}` has a resource in it, for which there is no random value");
        finding.outcome = Outcome::Skipped(reason);
        return Ok(());
    }
    let fixed = Fixed::new(&mut evaluator, module, options, used)?;
    for special in point::SPECIAL {
        point::set_all(&mut evaluator, module, &handles, special, &mut random);
        fixed.restore(&mut evaluator);
        // Where the function is not finite there is nothing to see.
        let _ = judge::judge(
            &mut evaluator,
            functions,
            Look::ForKinks { made: finding.made },
            finding,
            &mut random,
        );
    }
    let (mut reason, mut failures, mut is_singular) = (String::new(), 0, true);
    while finding.points < options.samples && failures < ATTEMPTS {
        let range = point::RANGES[(finding.points + failures) as usize % point::RANGES.len()];
        point::set_all(&mut evaluator, module, &handles, range, &mut random);
        fixed.restore(&mut evaluator);
        let look = Look::Random { made: finding.made };
        match judge::judge(&mut evaluator, functions, look, finding, &mut random) {
            Ok(is_plain) => {
                is_singular &= !is_plain;
                (finding.points, failures) = (finding.points + 1, 0);
            }
            Err(why) => (reason, failures) = (why, failures + 1),
        }
    }
    if matches!(finding.outcome, Outcome::Agrees) {
        match finding.points {
            0 => finding.outcome = Outcome::Skipped(reason),
            _ if is_singular => finding.outcome = Outcome::Singular,
            _ => {}
        }
    }
    Ok(())
}
