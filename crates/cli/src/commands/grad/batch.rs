//! `cotangent grad --at @points.npy`: values and derivatives at many points at once.

use crate::args::{Format, Grad, GradMode};
use crate::commands::run::{list, number};
use crate::output::{print, write};
use crate::report::{Failure, note, show_one, trapped};
use cotangent::gradient::{Function, Functions, NoValue, Slot};
use cotangent::interp::Interpreter;
use cotangent::jit::Native;
use cotangent::runtime::{self, Call, Launch, Leaf, Number, Params, Runner, data, npy};
use cotangent::{Disk, Lowered, Scalar, Sources};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A file of points, and what to do with them.
pub struct Batch<'a> {
    pub args: &'a Grad,
    pub lowered: &'a Lowered,
    pub functions: Functions,
    pub sources: &'a Sources,
    /// The numbers of all points, and the shape of the array that they were in.
    pub points: Vec<f64>,
    pub shape: Vec<usize>,
}

/// The numbers of a `.npy` file, and their shape.
pub fn points(path: &str, disk: &Disk) -> Result<(Vec<f64>, Vec<usize>), Failure> {
    let bytes = disk.read(path).map_err(|e| Failure::Usage(format!("cannot read `{path}`: {e}")))?;
    let (scalar, shape, bytes) =
        npy::read_shaped(&bytes).map_err(|e| Failure::Usage(format!("{path}: {e}")))?;
    Ok((data::numbers(scalar, &bytes).map(Number::as_f64).collect(), shape))
}

/// A number for each point, with its name.
struct Column {
    name: String,
    scalar: Scalar,
    numbers: Vec<f64>,
}

/// The derivatives of an output number.
struct Row {
    name: String,
    columns: Vec<Column>,
}

impl Batch<'_> {
    /// Evaluates as native code, or on the interpreter if native code refuses the function.
    pub fn run(&self, params: Params) -> Result<(), Failure> {
        if self.args.mode != GradMode::Bwd {
            return Err(Failure::Usage("a batch of points needs `--mode bwd`".into()));
        }
        let compiled = cotangent::compiled(self.lowered);
        let native = Runner::with_params(Arc::new(Native::default()), compiled.clone(), params);
        let mut native = native.map_err(|failure| self.failed(failure.into()))?;
        match self.evaluate(Arc::new(Native::default()), &mut native) {
            Err(NoValue::Failure(runtime::Failure::Refused(refusal))) => {
                note(
                    &format!("the interpreter evaluates the function: {}", refusal.message),
                    self.args.format,
                );
                let interpreter = Arc::new(Interpreter::default());
                let params = native.params;
                let runner = Runner::with_params(interpreter.clone(), compiled, params);
                let mut runner = runner.map_err(|failure| self.failed(failure.into()))?;
                let result = self.evaluate(interpreter, &mut runner);
                self.show(result.map_err(|why| self.failed(why))?)
            }
            result => self.show(result.map_err(|why| self.failed(why))?),
        }
    }

    /// The values of the outputs, and the derivatives of each output number.
    fn evaluate<B: Call>(
        &self,
        backend: Arc<B>,
        runner: &mut Runner<B>,
    ) -> Result<(Vec<Column>, Vec<Row>), NoValue> {
        let mut function = Function::new(backend, runner.compiled().clone(), self.functions)?;
        function.arguments = runner.arguments()?.clone();
        function.launch = Launch { max_steps: self.args.max_steps, ..Launch::default() };
        let count = self.count(function.point_size())?;
        let values = function.values(&self.points, count)?;
        let outputs = function.outputs.iter().flat_map(|slot| names(slot, &slot.numbers, self.name()));
        let outputs = columns(outputs.collect(), &values, count);
        let mut rows = Vec::new();
        let of = function.outputs.iter().flat_map(|slot| names(slot, &slot.derivatives, self.name()));
        for (index, (name, _)) in of.enumerate() {
            let numbers = function.row(index, &self.points, count)?;
            let inputs = function.inputs.iter().filter(|slot| slot.diff);
            let inputs = inputs.flat_map(|slot| names(slot, &slot.derivatives, ""));
            let mut found = columns(inputs.collect(), &numbers, count);
            let is_asked = |column: &Column| {
                let root = column.name.split(['.', '[']).next().unwrap_or_default();
                self.args.wrt.is_empty() || self.args.wrt.iter().any(|name| name == root)
            };
            found.retain(is_asked);
            rows.push(Row { name, columns: found });
        }
        Ok((outputs, rows))
    }

    fn name(&self) -> &str {
        self.args.function.split('(').next().unwrap_or_default()
    }

    /// How many points there are.
    fn count(&self, size: usize) -> Result<usize, NoValue> {
        let (total, last) = (self.points.len(), self.shape.last().copied().unwrap_or(1));
        let fits = size > 0 && total % size == 0 && (self.shape.len() < 2 || last == size);
        if fits {
            return Ok(total / size);
        }
        let why = format!("a point has {size} numbers, but the array has the shape {:?}", self.shape);
        Err(runtime::Failure::usage(why).into())
    }

    fn failed(&self, why: NoValue) -> Failure {
        match why {
            NoValue::Stopped(point, stopped) => {
                note(&format!("point {point} stopped"), self.args.format);
                trapped(self.sources, &stopped, self.args.format)
            }
            NoValue::Failure(runtime::Failure::Refused(refusal)) => {
                show_one(self.sources, &refusal, self.args.format);
                Failure::Refused
            }
            NoValue::Failure(runtime::Failure::Usage(error)) => error.into(),
            NoValue::Failure(runtime::Failure::Device(why)) => Failure::Device(why),
        }
    }

    fn show(&self, (outputs, rows): (Vec<Column>, Vec<Row>)) -> Result<(), Failure> {
        if let Some(path) = self.args.save.first() {
            self.save(path, &rows)?;
        }
        match self.args.format {
            Format::Text => print(&self.text(&outputs, &rows)),
            Format::Json => print(&format!("{}\n", self.json(&outputs, &rows))),
        }
    }

    fn text(&self, outputs: &[Column], rows: &[Row]) -> String {
        let count = outputs.first().map_or(0, |column| column.numbers.len());
        let mut out = format!("{} at {count} points\n", self.name());
        for column in outputs {
            out += &format!("  {} = {}\n", column.name, column.show(self.args.full));
        }
        out.push('\n');
        for row in rows {
            for column in &row.columns {
                out += &format!("  d {} / d {} = {}\n", row.name, column.name, column.show(self.args.full));
            }
        }
        out
    }

    fn json(&self, outputs: &[Column], rows: &[Row]) -> Value {
        let list = |column: &Column| -> Value {
            column.numbers.iter().map(|x| number(Number::Float(*x), column.scalar)).collect()
        };
        let object = |columns: &[Column]| -> Map<String, Value> {
            columns.iter().map(|column| (column.name.clone(), list(column))).collect()
        };
        let derivatives: Map<String, Value> =
            rows.iter().map(|row| (row.name.clone(), object(&row.columns).into())).collect();
        json!({ "function": self.name(), "mode": "bwd", "outputs": object(outputs), "derivatives": derivatives })
    }

    /// Saves all derivatives: an array of points by input numbers, or of points by output numbers by input numbers.
    fn save(&self, path: &str, rows: &[Row]) -> Result<(), Failure> {
        if !path.ends_with(".npy") {
            return Err(Failure::Usage(format!("--save writes FILE.npy, not `{path}`")));
        }
        let columns = || rows.iter().flat_map(|row| &row.columns);
        let scalar = if columns().all(|c| c.scalar == Scalar::F32) { Scalar::F32 } else { Scalar::F64 };
        let count = columns().next().map_or(0, |column| column.numbers.len());
        let mut bytes = Vec::new();
        for point in 0..count {
            for column in columns() {
                Number::Float(column.numbers[point]).write(scalar, &mut bytes)?;
            }
        }
        let inputs = rows.first().map_or(0, |row| row.columns.len());
        let shape = if rows.len() == 1 { vec![count, inputs] } else { vec![count, rows.len(), inputs] };
        write(path, &npy::write_shaped(scalar, &shape, &bytes))
    }
}

impl Column {
    fn show(&self, full: bool) -> String {
        let mut bytes = Vec::new();
        for x in &self.numbers {
            // Numbers of a type come back as that type.
            let _ = Number::Float(*x).write(self.scalar, &mut bytes);
        }
        list(self.scalar, &bytes, full)
    }
}

/// The names of numbers; the result has that of the function.
fn names(slot: &Slot, leaves: &[Leaf], function: &str) -> Vec<(String, Scalar)> {
    let name = slot.name.map_or_else(|| function.to_string(), |name| name.to_string());
    leaves.iter().map(|leaf| (format!("{name}{}", leaf.path), leaf.scalar)).collect()
}

/// Splits numbers that lie point by point.
fn columns(names: Vec<(String, Scalar)>, numbers: &[f64], count: usize) -> Vec<Column> {
    let width = names.len();
    let column = |(index, (name, scalar)): (usize, (String, Scalar))| Column {
        name,
        scalar,
        numbers: (0..count).map(|point| numbers[point * width + index]).collect(),
    };
    names.into_iter().enumerate().map(column).collect()
}
