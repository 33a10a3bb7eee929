//! Checks derivatives: compares every differentiable function of a module with finite differences.
//!
//! At each point ([`point`]), forward mode, reverse mode and central differences compute the Jacobian, all in the
//! interpreter's wide mode, or by native code with the same bits if that takes long. In addition to random points there are three where kinks are common: all zero, all one and all
//! one half. A point where the function is not finite, or traps, is replaced by another. Detached values are held constant,
//! since their derivatives are dropped on purpose.
//!
//! The rule for the derivative of an output with respect to an input number, at a point:
//!
//! 1. It *agrees* if it equals the slope by central differences, within their estimated error ([`differences`]).
//! 2. If the one-sided slopes differ at every scale ([`sides`]), the point is a *kink* or a jump. The derivative must lie
//!    between the slopes, or, where kinks of several inputs meet, between the slopes at nearby points. (Nearby slopes are
//!    ignored if the function jumps there, as `abs(x) > y ? max(x, y) : 3 * x` does at zero.) NaN lies between no slopes. At
//!    a tie of `min`, `max` or `abs` inside, the compiler's rules give each operand a share; their sum is not judged if there
//!    is only one slope.
//! 3. If a side ends or becomes infinitely steep, the function is *singular*. A derivative that is not finite is not judged
//!    there. A finite one must lie between the slopes; zero counts as a slope where the function becomes infinitely steep.
//!    Between two poles any derivative is accepted.
//! 4. If the function computes a non-finite intermediate value from finite inputs but has a finite result, as
//!    `saturate(sqrt(x))` does below zero, the derivative is reported and not judged. It is judged if that happens at a
//!    single point which the function crosses smoothly, as `select(x == 0, 1, sin(x) / x)` does at zero. If one mode is
//!    finite and the other is not, they still disagree, unless the non-finite value begins or ends exactly at the point: then
//!    differences need not show which of them is wrong.
//! 5. If a derivative oscillates within the step of the differences by as much as it differs from them, as that of `x + 1e-9
//!    * sin(1e12 * x)` does, it is reported and not judged: the differences step over such waves.
//! 6. Detached values are identified by call and by the iteration of each loop. If the function detaches a value near the
//!    point that it does not detach at the point, that value is unknown. A derivative that disagrees with differences there
//!    is reported and not judged.
//! 7. Everything else is a *disagreement*.

mod differences;
mod fixed;
mod judge;
mod point;
mod sides;

use crate::function_names::{self, Chosen};
use crate::gradient::{self, Evaluator, Functions};
use crate::pipeline::{self, Memory, Watch};
use crate::session::Counters;
use crate::{Answer, Program, Stop};
use cotangent_base::{Diagnostics, Span, Symbol};
use cotangent_interp::Options as Machine;
use cotangent_ir::{Mode, Module};
use cotangent_lower::{Lowered, Roots};
use cotangent_runtime::{Data, Error};
use cotangent_sema::{Checked, hir};
use fixed::Fixed;
use judge::Look;
pub(crate) use point::Random;
use std::collections::BTreeSet;
use std::sync::Arc;

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

/// Checks the functions of a program's main module.
pub fn gradcheck(program: &Program, options: &Options) -> Answer<Vec<Finding>> {
    program.ask(|telling| {
        let mut checked = Checked::clone(&*program.accepted(false, telling)?);
        checked.diagnostics = Diagnostics::new();
        gradient::check_once(&options.at).map_err(|error| Stop::Usage(error.0))?;
        let options = &Options { enumerators: checked.user_enumerators(), ..options.clone() };
        let mut asking = program.asking();
        let chosen =
            function_names::choose(&mut asking, &mut checked, &program.request().path, &options.functions);
        telling.add(&asking.diagnostics);
        let mut used = BTreeSet::new();
        let mut findings = vec![];
        for chosen in chosen? {
            findings.push(check_function(&checked, &chosen, options, &mut used, program.counters())?);
        }
        match fixed::unknown(options, &used) {
            Some(name) => Err(Stop::Usage(format!("no checked function has a parameter `{name}`"))),
            None => Ok(findings),
        }
    })
}

fn check_function(
    checked: &Checked,
    chosen: &Chosen,
    options: &Options,
    used: &mut BTreeSet<String>,
    counters: &Counters,
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
            let generic = "it is generic: select an instance, as in `--fn 'f<float, 3>'`";
            finding.outcome = Outcome::Skipped(reason.unwrap_or(generic).into());
            return Ok(finding);
        }
    };
    match compile(checked, func, counters) {
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
        hir::FuncKind::Requirement(_) => Some("an interface requirement is checked in the conforming types"),
        _ if func.diff.constant => Some("it is `[TreatAsDifferentiable]`, so its derivative is zero"),
        _ => None,
    }
}

/// The function and the derivatives it has, and why it has only one of them, if so: a function with only one custom
/// derivative need not have the other, and a loop without a bound cannot.
fn compile(
    checked: &Checked,
    func: hir::FuncRef,
    counters: &Counters,
) -> Result<(Lowered, Functions, Option<String>), String> {
    let mut reason = None;
    for modes in [&[Mode::Forward, Mode::Backward][..], &[Mode::Backward], &[Mode::Forward]] {
        match compile_modes(checked, func, modes, counters) {
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

fn compile_modes(
    checked: &Checked,
    func: hir::FuncRef,
    modes: &[Mode],
    counters: &Counters,
) -> Result<Lowered, Diagnostics> {
    counters.lowered.add(1);
    let options = cotangent_lower::Options { show_dropped: true, ..Default::default() };
    let roots = Roots::DerivativesOf { funcs: vec![func], modes: modes.to_vec() };
    let mut lowered = cotangent_lower::lower_with(checked, roots, options);
    // Constants keep their digits too.
    lowered.module.types.wide = true;
    let mut diagnostics = std::mem::take(&mut lowered.diagnostics);
    if !diagnostics.has_errors() {
        counters.derived.add(1);
        counters.optimized.add(1);
        diagnostics.append(pipeline::run(&mut lowered, Memory::Declared, &mut Watch::default()));
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
    if point::is_too_large(module, functions.primal) {
        finding.outcome = Outcome::Skipped("its parameters have more than 16 MiB".to_string());
        return Ok(());
    }
    let handles = point::give_buffers(module, functions.primal);
    let machine = Machine { wide: true, max_steps: MAX_STEPS, ..Machine::default() };
    let module = &Arc::new(std::mem::take(module));
    let mut evaluator = Evaluator::new(module.clone(), functions, machine);
    evaluator.enumerators.clone_from(&options.enumerators);
    let mut random = Random::new(options.seed, finding.name.as_str());
    if evaluator.shape(&|_| true).columns.is_empty() {
        let elsewhere = "; finite differences do not cover what its custom derivative writes";
        let reason = "no input carries a derivative".to_string();
        finding.outcome = Outcome::Skipped(if finding.made { reason } else { reason + elsewhere });
        return Ok(());
    }
    if let Some(name) = point::without_value(module, &evaluator) {
        let reason = format!("`{name}` contains a resource, which has no random value");
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
