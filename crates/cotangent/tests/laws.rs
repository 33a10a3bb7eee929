//! Gradient laws on the programs in `tests/grad`.
//!
//! ```text
//! //grad: f(x=3, a=2) = 18; x=12, a=9
//! //kink: g(x=0) = 0; x=0
//! ```
//!
//! At each point: forward mode, reverse mode and central differences give the same Jacobian, all in the interpreter's
//! wide mode, the latter also if loops are cut into segments. Native code in binary64 gives the same bits. In ordinary precision value and derivatives are the expected ones, where
//! the line gives any. The derivatives are those of the one output, or of the sum of all output numbers. At a `kink` there are no
//! central differences. `-D NAME=VALUE` before the function defines a macro. Every number of the inputs that is no integer must have a
//! derivative, unless a line `//constant: s.x, s.y` says that it has none.

use cotangent::gradient::{Evaluator, Functions, Jacobian};
use cotangent::interp::Options;
use cotangent::ir::shader::ShaderParams;
use cotangent::ir::{FuncId, Mode, Segments};
use cotangent::runtime::path::Leaf;
use cotangent::runtime::{Compiled, Params};
use cotangent::{Disk, Lowered, Program, Request, Roots, Session, Symbol, render};
use cotangent_passes::widen;
use std::path::Path;

mod support;

fn main() {
    support::each_law(check)
}

/// One line of a header.
struct Law<'t> {
    defines: Vec<(String, String)>,
    function: &'t str,
    point: &'t str,
    value: Option<&'t str>,
    derivatives: Vec<(&'t str, f64)>,
    smooth: bool,
    /// The numbers of inputs that have no derivative.
    constant: Vec<&'t str>,
}

fn parse<'t>(line: &'t str, constant: &[&'t str]) -> Option<Law<'t>> {
    let (mut rest, smooth) = match line.strip_prefix("//grad:") {
        Some(rest) => (rest.trim(), true),
        None => (line.strip_prefix("//kink:")?.trim(), false),
    };
    let mut defines = Vec::new();
    while let Some(more) = rest.strip_prefix("-D ") {
        let (define, tail) = more.split_once(' ')?;
        let (name, value) = define.split_once('=')?;
        defines.push((name.to_string(), value.to_string()));
        rest = tail.trim();
    }
    let (function, rest) = rest.split_once('(')?;
    let (point, rest) = rest.rsplit_once(')')?;
    let (value, derivatives) = rest.split_once(';').unwrap_or((rest, ""));
    let pair =
        |item| str::split_once(item, '=').and_then(|(name, x)| Some((name.trim(), x.trim().parse().ok()?)));
    let derivatives =
        derivatives.split(',').filter(|d| !d.trim().is_empty()).map(pair).collect::<Option<_>>()?;
    let value = value.trim().strip_prefix('=').map(str::trim);
    Some(Law { defines, function, point, value, derivatives, smooth, constant: constant.to_vec() })
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let lines: Vec<&str> =
        text.lines().filter(|l| l.starts_with("//grad:") || l.starts_with("//kink:")).collect();
    if lines.is_empty() {
        return Err("no line begins with //grad: or //kink:".into());
    }
    let constant = text.lines().filter_map(|l| l.strip_prefix("//constant:"));
    let constant: Vec<&str> = constant.flat_map(|l| l.split(',')).map(str::trim).collect();
    for line in lines {
        let law = parse(line, &constant).ok_or_else(|| format!("cannot read `{line}`"))?;
        hold(path, &law).map_err(|e| format!("{line}\n{e}"))?;
    }
    Ok(())
}

fn hold(path: &Path, law: &Law<'_>) -> Result<(), String> {
    let mut request = Request::new(path.display().to_string());
    request.defines.clone_from(&law.defines);
    let program = Session::new(Disk::default()).program(&request);
    let modes = [Mode::Forward, Mode::Backward];
    let roots = Roots::Derivatives { func: Symbol::new(law.function), modes: modes.to_vec() };
    let lowered = program.compile(roots).accept().map_err(|rejected| rejected.complaints)?;
    let functions = Functions::of(&lowered, &modes);
    let evaluator = |wide: bool| {
        let mut evaluator =
            Evaluator::new(lowered.module.clone(), functions, Options { wide, ..Options::default() });
        evaluator.set_point(law.point).map(|()| evaluator).map_err(|e| e.to_string())
    };
    let said = |stopped: cotangent::interp::Stopped| {
        render::render(&program.sources(), &stopped.diagnostic(), render::Style::Plain)
    };
    let all = |_: &str| true;
    let mut wide = evaluator(true)?;
    let by_forward = wide.jacobian(Mode::Forward, &all).map_err(said)?;
    let by_backward = wide.jacobian(Mode::Backward, &all).map_err(said)?;
    complete(&wide, &by_backward, &law.constant)?;
    same(&by_forward, &by_backward, 1e-9, "forward and reverse mode")?;
    let mut native = natively(&lowered, functions)?;
    native.set_point(law.point).map_err(|e| e.to_string())?;
    for (mode, expected) in [(Mode::Forward, &by_forward), (Mode::Backward, &by_backward)] {
        let found = native.jacobian(mode, &all).map_err(said)?;
        same_bits(expected, &found)
            .map_err(|error| format!("{mode:?} as native code in binary64: {error}"))?;
    }
    if law.smooth {
        // The right step depends on the function: one that suits numbers near one, or one relative to the number.
        let steps: [fn(f64) -> f64; 2] = [|x| 1e-5 * (1.0 + x.abs()), |x| 1e-5 * x.abs().max(1e-30)];
        let [absolute, relative] = steps.map(|step| wide.differences(step));
        same(&absolute.map_err(said)?, &by_backward, 1e-6, "central differences and reverse mode").or(
            same(
                &relative.map_err(said)?,
                &by_backward,
                1e-6,
                "relative central differences and reverse mode",
            ),
        )?;
    }
    in_segments(&program, &request, law, &by_forward)?;
    let mut narrow = evaluator(false)?;
    if let Some(value) = law.value {
        let outputs = narrow.outputs().map_err(said)?;
        let found: Vec<f64> =
            outputs.iter().flat_map(|o| narrow.numbers(o)).map(|(_, n)| n.as_f64()).collect();
        let words = value.split(|c: char| ",[]{}".contains(c) || c.is_whitespace()).filter(|w| !w.is_empty());
        let expected: Option<Vec<f64>> = words.map(|w| w.parse().ok()).collect();
        let expected = expected.ok_or_else(|| format!("`{value}` is not a list of numbers"))?;
        let close =
            expected.len() == found.len() && expected.iter().zip(&found).all(|(a, b)| near(*a, *b, 1e-5));
        if !close {
            return Err(format!("the value is {found:?}"));
        }
    }
    for mode in [Mode::Forward, Mode::Backward] {
        let jacobian = narrow.jacobian(mode, &all).map_err(said)?;
        for (name, expected) in &law.derivatives {
            let named = |c: usize| {
                let entry = &jacobian.columns[c];
                format!("{}{}", narrow.inputs[entry.of].name, entry.leaf.path) == **name
            };
            let column =
                (0..jacobian.columns.len()).find(|c| named(*c)).ok_or_else(|| format!("no input {name}"))?;
            let found: f64 = jacobian.entries.iter().map(|row| row[column]).sum();
            if !near(*expected, found, 1e-5) {
                return Err(format!("{mode:?}: the derivative by {name} is {found}, not {expected}"));
            }
        }
    }
    Ok(())
}

/// Reverse mode gives the same if loops are cut into segments, on the interpreter and as native code.
fn in_segments(
    program: &Program,
    request: &Request,
    law: &Law<'_>,
    expected: &Jacobian,
) -> Result<(), String> {
    let sources = program.sources();
    let said = |stopped: cotangent::interp::Stopped| {
        render::render(&sources, &stopped.diagnostic(), render::Style::Plain)
    };
    let text = std::fs::read_to_string(&request.path).unwrap_or_default();
    if !["for", "while", "do"]
        .iter()
        .any(|word| text.split(|c: char| !c.is_alphanumeric()).any(|w| w == *word))
    {
        return Ok(());
    }
    for segments in [Segments::Of(1), Segments::Of(3), Segments::Sqrt, Segments::Log] {
        let mut request = request.clone();
        request.options.segments = segments;
        let program = Session::new(Disk::default()).program(&request);
        let modes = [Mode::Forward, Mode::Backward];
        let roots = Roots::Derivatives { func: Symbol::new(law.function), modes: modes.to_vec() };
        let lowered = program.compile(roots).accept().map_err(|rejected| rejected.complaints)?;
        let functions = Functions::of(&lowered, &modes);
        let wide = Options { wide: true, ..Options::default() };
        let mut interpreted = Evaluator::new(lowered.module.clone(), functions, wide);
        let mut native = natively(&lowered, functions)?;
        for evaluator in [&mut interpreted, &mut native] {
            evaluator.set_point(law.point).map_err(|e| e.to_string())?;
        }
        let found = interpreted.jacobian(Mode::Backward, &|_| true).map_err(said)?;
        same(expected, &found, 1e-9, &format!("forward mode and reverse mode with {segments:?}"))?;
        let natively = native.jacobian(Mode::Backward, &|_| true).map_err(said)?;
        same_bits(&found, &natively).map_err(|error| format!("{segments:?} as native code: {error}"))?;
    }
    Ok(())
}

/// The functions as native code in binary64. What native code does not support runs on the interpreter.
fn natively(lowered: &Lowered, functions: Functions) -> Result<Evaluator, String> {
    let mut module = lowered.module.clone();
    let funcs: Vec<FuncId> = module.funcs.keys().collect();
    if let Some(what) = widen::refused(&module, &funcs) {
        return Err(format!("{what} cannot be widened"));
    }
    widen::widen(&mut module);
    cotangent::ir::verify(&module).map_err(|e| format!("{e:?}"))?;
    let compiled = Compiled::new(module, ShaderParams::default());
    let mut evaluator = Evaluator::new(compiled.module.clone(), functions, Options::default());
    let params = Params::new(&compiled.module);
    evaluator.compile(compiled, params);
    Ok(evaluator)
}

fn same_bits(a: &Jacobian, b: &Jacobian) -> Result<(), String> {
    let pairs = a.entries.iter().flatten().zip(b.entries.iter().flatten());
    match pairs.into_iter().find(|(x, y)| x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan())) {
        Some((x, y)) => Err(format!("{x} and {y} differ")),
        None => Ok(()),
    }
}

/// Every number of an input has a column, but for integers and what the law says is constant: a derivative that is lost
/// would be missed by nobody, since all ways to compute the Jacobian go by the same columns.
fn complete(evaluator: &Evaluator, jacobian: &Jacobian, constant: &[&str]) -> Result<(), String> {
    for (place, input) in evaluator.inputs.iter().enumerate() {
        let varies = |leaf: &Leaf| {
            leaf.scalar.is_float() && !constant.contains(&&*format!("{}{}", input.name, leaf.path))
        };
        let expected = evaluator.numbers(input).iter().filter(|(leaf, _)| varies(leaf)).count();
        let found = jacobian.columns.iter().filter(|column| column.of == place).count();
        if found != expected {
            return Err(format!("`{}` has {found} derivatives, not {expected}", input.name));
        }
    }
    if jacobian.rows.is_empty() { Err("no output has a derivative".into()) } else { Ok(()) }
}

fn near(a: f64, b: f64, relative: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= relative * (0.1 + a.abs().max(b.abs()))
}

fn same(a: &Jacobian, b: &Jacobian, relative: f64, what: &str) -> Result<(), String> {
    for (row, (x, y)) in a.entries.iter().zip(&b.entries).enumerate() {
        for (column, (x, y)) in x.iter().zip(y).enumerate() {
            if !near(*x, *y, relative) {
                let (row, column) = (&a.rows[row], &a.columns[column]);
                return Err(format!("{what} differ: {x} and {y} (output {row:?}, input {column:?})"));
            }
        }
    }
    Ok(())
}
