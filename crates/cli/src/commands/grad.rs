//! `cotangent grad`: a function and its derivatives at a point.

use super::run::number;
use crate::args::{Format, Grad, GradMode};
use crate::report::{Failure, finish, trapped};
use cotangent::gradient::{Entry, Evaluator, Functions, Jacobian, Named};
use cotangent::interp::Options;
use cotangent::ir::Mode;
use cotangent::runtime::{Leaf, Number};
use cotangent::{Compiler, Roots, Scalar, Symbol};
use serde_json::{Map, Value, json};

pub fn grad(args: &Grad) -> Result<(), Failure> {
    let modes = match args.mode {
        GradMode::Fwd => vec![Mode::Forward],
        GradMode::Bwd => vec![Mode::Backward],
        GradMode::Both => vec![Mode::Forward, Mode::Backward],
    };
    let loader = args.source.loader();
    let mut compiler = Compiler::new(&loader, args.source.defines());
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
    match args.format {
        Format::Text => shown.text(&mut evaluator, worst),
        Format::Json => shown.json(&mut evaluator, args.mode, worst),
    }
    match worst {
        Some(worst) if worst > 1e-3 => {
            Err(Failure::Internal(format!("forward and reverse mode differ by {worst:e}")))
        }
        _ => Ok(()),
    }
}

/// The largest relative difference between the modes, if there are two.
fn disagreement(jacobians: &[Jacobian]) -> Option<f64> {
    let [a, b] = jacobians else { return None };
    let pairs = a.entries.iter().flatten().zip(b.entries.iter().flatten());
    let apart = |x: &f64, y: &f64| {
        if x == y || x.is_nan() && y.is_nan() { 0.0 } else { (x - y).abs() / (1.0 + x.abs().max(y.abs())) }
    };
    Some(pairs.map(|(x, y)| apart(x, y)).fold(0.0, f64::max))
}

struct Shown<'a> {
    function: &'a str,
    outputs: Vec<Named>,
    jacobian: Jacobian,
}

impl Shown<'_> {
    fn text(&self, evaluator: &mut Evaluator<'_>, worst: Option<f64>) {
        let inputs = evaluator.inputs.clone();
        let at: Vec<String> =
            inputs.iter().map(|i| format!("{} = {}", i.name, value(evaluator, i))).collect();
        let call = format!("{}({})", self.function, at.join(", "));
        match &self.outputs[..] {
            [only] if only.name.is_empty() => println!("{call} = {}", value(evaluator, only)),
            outputs => {
                println!("{call}");
                for output in outputs {
                    println!("  {} = {}", self.output_name(output, ""), value(evaluator, output));
                }
            }
        }
        println!();
        for (row, Entry { of, leaf, .. }) in self.jacobian.rows.iter().enumerate() {
            let of = self.output_name(&self.outputs[*of], &leaf.path);
            for (input, numbers) in self.by_input(row) {
                for line in lines(&inputs[input].name, &numbers) {
                    println!("  d {of} / d {line}");
                }
            }
        }
        if worst.is_some_and(|w| w <= 1e-3) {
            println!("\nForward and reverse mode agree.");
        }
    }

    fn output_name(&self, output: &Named, path: &str) -> String {
        let name = if output.name.is_empty() { self.function } else { &output.name };
        format!("{name}{path}")
    }

    /// The entries of a row, per input.
    fn by_input(&self, row: usize) -> Vec<(usize, Vec<(&Leaf, f64)>)> {
        let mut groups: Vec<(usize, Vec<(&Leaf, f64)>)> = Vec::new();
        for (Entry { of: input, leaf, .. }, entry) in
            self.jacobian.columns.iter().zip(&self.jacobian.entries[row])
        {
            match groups.last_mut() {
                Some((last, group)) if last == input => group.push((leaf, *entry)),
                _ => groups.push((*input, vec![(leaf, *entry)])),
            }
        }
        groups
    }

    fn json(&self, evaluator: &mut Evaluator<'_>, mode: GradMode, worst: Option<f64>) {
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
        println!("{all}");
    }
}

/// A value on one line: a number, a list, or a structure's fields.
fn value(evaluator: &mut Evaluator<'_>, named: &Named) -> String {
    let numbers = evaluator.numbers(named);
    let is_struct =
        numbers.first().is_some_and(|(leaf, _)| leaf.path.starts_with('.') && leaf.path.len() > 2);
    let show = |(leaf, n): &(Leaf, Number)| match is_struct {
        true => format!("{} = {}", &leaf.path[1..], n.show(leaf.scalar)),
        false => n.show(leaf.scalar),
    };
    let shown: Vec<String> = numbers.iter().map(show).collect();
    match (&shown[..], is_struct) {
        ([one], false) if evaluator.is_scalar(named) => one.clone(),
        (all, false) => format!("[{}]", all.join(", ")),
        (all, true) => format!("{{{}}}", all.join(", ")),
    }
}

/// `x = 12`, or one line per number where there are several: `p.dir.x = 1`.
fn lines(name: &str, numbers: &[(&Leaf, f64)]) -> Vec<String> {
    let show =
        |(leaf, x): &(&Leaf, f64)| format!("{name}{} = {}", leaf.path, Number::Float(*x).show(leaf.scalar));
    numbers.iter().map(show).collect()
}

fn json_value(evaluator: &mut Evaluator<'_>, named: &Named) -> Value {
    let numbers = evaluator.numbers(named);
    let scalar = |(leaf, n): &(Leaf, Number)| number(*n, leaf.scalar);
    match &numbers[..] {
        [one] if evaluator.is_scalar(named) => scalar(one),
        many if many.iter().all(|(l, _)| l.scalar != Scalar::Bool && is_list(&l.path)) => {
            many.iter().map(scalar).collect()
        }
        many => {
            many.iter().map(|item| (item.0.path[1..].to_string(), scalar(item))).collect::<Map<_, _>>().into()
        }
    }
}

/// Whether a path goes through lanes and elements only.
fn is_list(path: &str) -> bool {
    path.split(['.', '[']).skip(1).all(|step| step.len() == 1 || step.ends_with(']'))
}
