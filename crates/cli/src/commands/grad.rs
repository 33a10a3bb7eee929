//! `cotangent grad`: evaluates a function and its derivatives at a point, or at a batch of points.

mod batch;

use super::INTERPRETED;
use super::run::number;
use super::set::set_all;
use crate::args::{Format, Grad, GradMode};
use crate::output::print;
use crate::report::{Failure, finish, trapped};
use cotangent::gradient::{Entry, Evaluator, Form, Functions, Jacobian, Named};
use cotangent::interp::Options;
use cotangent::ir::Mode;
use cotangent::runtime::{Number, Params};
use cotangent::{Roots, Session, Symbol};
use serde_json::{Map, Value, json};

pub fn grad(args: &Grad) -> Result<(), Failure> {
    if let Some(entry) = &args.kernel.entry {
        return super::grad_kernel::grad(args, entry);
    }
    let modes = match args.mode {
        GradMode::Fwd => vec![Mode::Forward],
        GradMode::Bwd => vec![Mode::Backward],
        GradMode::Both => vec![Mode::Forward, Mode::Backward],
    };
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(INTERPRETED);
    request.options.runs = true;
    let program = Session::new(loader.clone()).program(&request);
    let roots = Roots::Derivatives { func: Symbol::new(&args.function), modes: modes.clone() };
    let lowered = finish(program.compile(roots), args.format)?;
    let mut options = Options::default();
    options.max_steps = args.max_steps.unwrap_or(options.max_steps);
    let mut evaluator = Evaluator::new(lowered.module.clone(), Functions::of(&lowered, &modes), options);
    check_function(args, &evaluator)?;
    let sources = program.sources();
    let mut params = Params::new(&lowered.module);
    params.turned = lowered.turned.clone();
    set_all(&mut params, &lowered, &args.set, &loader, args.format)?;
    if let Some(path) = args.at.trim().strip_prefix('@') {
        let (points, shape) = batch::points(path, &loader)?;
        let functions = Functions::of(&lowered, &modes);
        let batch = batch::Batch { args, lowered: &lowered, functions, sources: &sources, points, shape };
        return batch.run(params);
    }
    if !args.save.is_empty() || args.full {
        return Err(Failure::Usage("--save and --full need a batch of points: `--at @points.npy`".into()));
    }
    evaluator.enumerators = program.enumerators();
    evaluator.set_point(&args.at)?;
    Evaluator::check_room(&params)?;
    evaluator.set_params(&params);
    evaluator.compile(cotangent::compiled(&lowered), params);
    let wrt = |name: &str| args.wrt.is_empty() || args.wrt.iter().any(|w| w == name);
    let trap = |stopped| trapped(&sources, &stopped, args.format);
    let outputs = evaluator.outputs().map_err(trap)?;
    let mut jacobians = Vec::new();
    for mode in modes.iter().copied() {
        jacobians.push(evaluator.jacobian(mode, &wrt).map_err(trap)?);
    }
    let worst = disagreement(&jacobians);
    // The types of its parameters are seen by what they are given.
    let function = args.function.split('(').next().unwrap_or_default();
    let shown = Shown { function, outputs, jacobian: jacobians.remove(0), other: jacobians.pop() };
    let text = match args.format {
        Format::Text => shown.text(&evaluator, worst) + &shown.not_finite(&evaluator, worst),
        Format::Json => shown.json(&evaluator, args.mode, worst),
    };
    print(&text)?;
    match worst {
        Some(worst) if worst > AGREEMENT => Err(Failure::Disagreement(worst)),
        _ => Ok(()),
    }
}

/// Refuses functions whose parameters a point cannot set, and parameters without a derivative.
fn check_function(args: &Grad, evaluator: &Evaluator) -> Result<(), Failure> {
    if let Some(input) = evaluator.resource() {
        let message =
            format!("`{}` takes the resource `{}`, which --at cannot set", args.function, input.name);
        return Err(Failure::Usage(format!("{message}; make it a shader parameter and set it with --set")));
    }
    if let Some(value) = evaluator.of_some_type() {
        let message = format!(
            "{value} of `{}` contains an interface value, whose numbers are not known",
            args.function
        );
        return Err(Failure::Usage(format!("{message}; use a function with known types")));
    }
    for name in &args.wrt {
        if !evaluator.inputs.iter().any(|i| i.name == *name && i.diff) {
            return Err(Failure::Usage(format!("the function has no differentiable parameter `{name}`")));
        }
    }
    Ok(())
}

/// How far apart, relative to their size, numbers of the two modes may be. They are computed in another order, in
/// `float`.
const AGREEMENT: f64 = 1e-3;

/// The largest difference between the modes, if there are two.
fn disagreement(jacobians: &[Jacobian]) -> Option<f64> {
    let [a, b] = jacobians else { return None };
    let pairs = a.entries.iter().flatten().zip(b.entries.iter().flatten());
    Some(pairs.map(|(x, y)| apart(*x, *y)).fold(0.0, f64::max))
}

/// The difference of two numbers relative to their size; infinite if only one is a number.
fn apart(x: f64, y: f64) -> f64 {
    match x == y || x.is_nan() && y.is_nan() {
        true => 0.0,
        false if x.is_finite() && y.is_finite() => (x - y).abs() / (1.0 + x.abs().max(y.abs())),
        false => f64::INFINITY,
    }
}

struct Shown<'a> {
    function: &'a str,
    outputs: Vec<Named>,
    jacobian: Jacobian,
    /// What the other mode found, if both were asked for.
    other: Option<Jacobian>,
}

impl Shown<'_> {
    fn text(&self, evaluator: &Evaluator, worst: Option<f64>) -> String {
        let inputs = evaluator.inputs.clone();
        let mut out = format!("{}({})", self.function, evaluator.show_inputs());
        match &self.outputs[..] {
            [only] if only.name.is_empty() => out += &format!(" = {}\n", evaluator.show(only)),
            outputs => {
                out.push('\n');
                for output in outputs {
                    out += &format!("  {} = {}\n", self.output_name(output, ""), evaluator.show(output));
                }
            }
        }
        out.push('\n');
        for (row, Entry { of, leaf, .. }) in self.jacobian.rows.iter().enumerate() {
            let of = self.output_name(&self.outputs[*of], &leaf.path);
            for (at, (column, x)) in self.jacobian.columns.iter().zip(&self.jacobian.entries[row]).enumerate()
            {
                let (wrt, show) =
                    (&inputs[column.of].name, |x: f64| Number::Float(x).show(column.leaf.scalar));
                out += &format!("  d {of} / d {wrt}{} = {}", column.leaf.path, show(*x));
                match self.other.as_ref().map(|o| o.entries[row][at]) {
                    Some(y) if apart(*x, y) > AGREEMENT => {
                        out += &format!(" forward, {} in reverse\n", show(y))
                    }
                    _ => out.push('\n'),
                }
            }
        }
        match worst {
            _ if self.jacobian.columns.is_empty() => out += "No input carries a derivative.\n",
            _ if self.jacobian.rows.is_empty() => out += "No output carries a derivative.\n",
            Some(worst) if worst <= AGREEMENT => out += "\nForward and reverse mode agree.\n",
            _ => {}
        }
        out
    }

    /// A line that says so if something is no finite number, and how to go on. If the modes differ there is more to say, elsewhere.
    fn not_finite(&self, evaluator: &Evaluator, worst: Option<f64>) -> String {
        let is_bad = |output: &Named| evaluator.numbers(output).iter().any(|(_, n)| !n.as_f64().is_finite());
        let value = if self.outputs.iter().any(is_bad) { "the value" } else { "" };
        let derivatives = match self.jacobian.entries.iter().flatten().filter(|x| !x.is_finite()).count() {
            0 => String::new(),
            1 => "1 derivative".into(),
            n => format!("{n} derivatives"),
        };
        if value.len() + derivatives.len() == 0 || worst.is_some_and(|worst| worst > AGREEMENT) {
            return String::new();
        }
        let and = if value.is_empty() || derivatives.is_empty() { "" } else { " and " };
        format!(
            "\nNot finite: {value}{and}{derivatives}. To find the cause, run `cotangent grad` on the functions that it calls.\n"
        )
    }

    fn output_name(&self, output: &Named, path: &str) -> String {
        let name = if output.name.is_empty() { self.function } else { &output.name };
        format!("{name}{path}")
    }

    fn json(&self, evaluator: &Evaluator, mode: GradMode, worst: Option<f64>) -> String {
        let inputs = evaluator.inputs.clone();
        let name =
            |output: &Named| if output.name.is_empty() { "result".to_string() } else { output.name.clone() };
        let mut outputs = Map::new();
        for output in &self.outputs {
            outputs.insert(name(output), json_value(evaluator, output));
        }
        let mut derivatives = Map::new();
        for (row, Entry { of, leaf, .. }) in self.jacobian.rows.iter().enumerate() {
            let columns = self.jacobian.columns.iter().zip(&self.jacobian.entries[row]);
            let entry = |(Entry { of: input, leaf, .. }, x): (&Entry, &f64)| {
                (format!("{}{}", inputs[*input].name, leaf.path), number(Number::Float(*x), leaf.scalar))
            };
            let entries: Map<String, Value> = columns.map(entry).collect();
            derivatives.insert(format!("{}{}", name(&self.outputs[*of]), leaf.path), Value::Object(entries));
        }
        let mode = match mode {
            GradMode::Fwd => "fwd",
            GradMode::Bwd => "bwd",
            GradMode::Both => "both",
        };
        let mut all = json!({ "function": self.function, "mode": mode, "outputs": outputs, "derivatives": derivatives });
        if let Some(worst) = worst {
            all["difference"] = json!(worst);
        }
        format!("{all}\n")
    }
}

fn json_value(evaluator: &Evaluator, named: &Named) -> Value {
    let (form, numbers) = (evaluator.form(named), evaluator.numbers(named));
    let mut numbers = numbers.into_iter().map(|(leaf, n)| {
        let value = number(n, leaf.scalar);
        (leaf.path.trim_start_matches('.').to_string(), value)
    });
    match form {
        Form::Number => numbers.next().map_or(Value::Null, |(_, value)| value),
        Form::List => numbers.map(|(_, value)| value).collect(),
        Form::Record => numbers.collect::<Map<_, _>>().into(),
    }
}
