//! `cotangent grad`: a function and its derivatives at a point.

use super::run::number;
use crate::args::{Format, Grad, GradMode};
use crate::output::print;
use crate::report::{Failure, finish, trapped};
use cotangent::gradient::{Entry, Evaluator, Form, Functions, Jacobian, Named};
use cotangent::interp::Options;
use cotangent::ir::Mode;
use cotangent::runtime::Number;
use cotangent::{Compiler, Roots, Symbol};
use serde_json::{Map, Value, json};

pub fn grad(args: &Grad) -> Result<(), Failure> {
    let modes = match args.mode {
        GradMode::Fwd => vec![Mode::Forward],
        GradMode::Bwd => vec![Mode::Backward],
        GradMode::Both => vec![Mode::Forward, Mode::Backward],
    };
    let loader = args.source.search.loader();
    let mut compiler = Compiler::new(&loader, args.source.search.defines());
    let roots = Roots::Derivatives { func: Symbol::new(&args.function), modes: modes.clone() };
    let result = compiler.compile(&args.source.path(), roots);
    let lowered = finish(&compiler, args.format, result)?;
    // The function comes first, then its derivatives as asked for.
    let find = |mode| modes.iter().position(|m| *m == mode).map(|i| lowered.roots[i + 1]);
    let functions =
        Functions { primal: lowered.roots[0], forward: find(Mode::Forward), backward: find(Mode::Backward) };
    let mut evaluator = Evaluator::new(&lowered.module, functions, Options::default());
    evaluator.set_point(&args.at)?;
    for name in &args.wrt {
        if !evaluator.inputs.iter().any(|i| i.name == *name && i.diff) {
            return Err(Failure::Usage(format!("the function has no differentiable parameter `{name}`")));
        }
    }
    let wrt = |name: &str| args.wrt.is_empty() || args.wrt.iter().any(|w| w == name);
    let trap = |stopped| trapped(&compiler.sources, &stopped, args.format);
    let outputs = evaluator.outputs().map_err(trap)?;
    let mut jacobians = Vec::new();
    for mode in modes.iter().copied() {
        jacobians.push(evaluator.jacobian(mode, &wrt).map_err(trap)?);
    }
    let worst = disagreement(&jacobians);
    let shown = Shown { function: &args.function, outputs, jacobian: jacobians.swap_remove(0) };
    let text = match args.format {
        Format::Text => shown.text(&mut evaluator, worst),
        Format::Json => shown.json(&mut evaluator, args.mode, worst),
    };
    print(&text)?;
    match worst {
        Some(worst) if worst > AGREEMENT => {
            Err(Failure::Internal(format!("forward and reverse mode differ by {worst:e}")))
        }
        _ => Ok(()),
    }
}

/// How far apart, relative to their size, numbers of the two modes may be. They are computed in another order, in
/// `float`.
const AGREEMENT: f64 = 1e-3;

/// The largest relative difference between the modes, if there are two. It is infinite where only one has a number.
fn disagreement(jacobians: &[Jacobian]) -> Option<f64> {
    let [a, b] = jacobians else { return None };
    let pairs = a.entries.iter().flatten().zip(b.entries.iter().flatten());
    let apart = |x: &f64, y: &f64| match x == y || x.is_nan() && y.is_nan() {
        true => 0.0,
        false if x.is_finite() && y.is_finite() => (x - y).abs() / (1.0 + x.abs().max(y.abs())),
        false => f64::INFINITY,
    };
    Some(pairs.map(|(x, y)| apart(x, y)).fold(0.0, f64::max))
}

struct Shown<'a> {
    function: &'a str,
    outputs: Vec<Named>,
    jacobian: Jacobian,
}

impl Shown<'_> {
    fn text(&self, evaluator: &mut Evaluator<'_>, worst: Option<f64>) -> String {
        let inputs = evaluator.inputs.clone();
        let at: Vec<String> =
            inputs.iter().map(|i| format!("{} = {}", i.name, value(evaluator, i))).collect();
        let mut out = format!("{}({})", self.function, at.join(", "));
        match &self.outputs[..] {
            [only] if only.name.is_empty() => out += &format!(" = {}\n", value(evaluator, only)),
            outputs => {
                out.push('\n');
                for output in outputs {
                    out += &format!("  {} = {}\n", self.output_name(output, ""), value(evaluator, output));
                }
            }
        }
        out.push('\n');
        for (row, Entry { of, leaf, .. }) in self.jacobian.rows.iter().enumerate() {
            let of = self.output_name(&self.outputs[*of], &leaf.path);
            for (column, x) in self.jacobian.columns.iter().zip(&self.jacobian.entries[row]) {
                let (wrt, x) = (&inputs[column.of].name, Number::Float(*x).show(column.leaf.scalar));
                out += &format!("  d {of} / d {wrt}{} = {x}\n", column.leaf.path);
            }
        }
        if worst.is_some_and(|w| w <= AGREEMENT) {
            out += "\nForward and reverse mode agree.\n";
        }
        out
    }

    fn output_name(&self, output: &Named, path: &str) -> String {
        let name = if output.name.is_empty() { self.function } else { &output.name };
        format!("{name}{path}")
    }

    fn json(&self, evaluator: &mut Evaluator<'_>, mode: GradMode, worst: Option<f64>) -> String {
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

/// A value on one line: a number, a list, or a structure's fields.
fn value(evaluator: &mut Evaluator<'_>, named: &Named) -> String {
    let (form, numbers) = (evaluator.form(named), evaluator.numbers(named));
    let shown = numbers.iter().map(|(leaf, n)| match form {
        Form::Number | Form::List => n.show(leaf.scalar),
        Form::Record => format!("{} = {}", leaf.path.trim_start_matches('.'), n.show(leaf.scalar)),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match form {
        Form::Number => shown,
        Form::List => format!("[{shown}]"),
        Form::Record => format!("{{{shown}}}"),
    }
}

fn json_value(evaluator: &mut Evaluator<'_>, named: &Named) -> Value {
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
