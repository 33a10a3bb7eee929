//! The function, its derivatives and its costs with one input number replaced, and the Jacobian by central differences.

use super::{Entry, Evaluator, Jacobian, Named, number_at, places, replace};
use cotangent_interp::{Counters, Stopped, Val};
use cotangent_ir::{Const, Mode};

impl Evaluator {
    /// The Jacobian by central differences: no derivative code takes part. `step` gives how far to go from a number.
    /// What has a derivative that is the derivative of no number in particular gets a NaN.
    pub fn differences(&mut self, step: fn(f64) -> f64) -> Result<Jacobian, Stopped> {
        let mut jacobian = self.shape(&|_| true);
        for column in 0..jacobian.columns.len() {
            let entry = jacobian.columns[column].clone();
            let Some((index, at)) = self.input_number(&entry) else {
                jacobian.entries.iter_mut().for_each(|row| row[column] = f64::NAN);
                continue;
            };
            let step = step(at);
            let above = self.rows_at(&jacobian.rows, entry.of, index, at + step)?;
            let below = self.rows_at(&jacobian.rows, entry.of, index, at - step)?;
            for (row, (above, below)) in above.into_iter().zip(below).enumerate() {
                jacobian.entries[row][column] = (above - below) / (2.0 * step);
            }
        }
        Ok(jacobian)
    }

    /// The input number that `column` is the derivative by, if there is one: its position and what it is.
    pub fn input_number(&self, column: &Entry) -> Option<(usize, f64)> {
        let input = &self.inputs[column.of];
        let index = places::of_differential(self.module(), &self.types, input.ty)[column.index]?;
        Some((index, number_at(&input.value, index)))
    }

    /// A number of an input.
    pub fn number(&self, input: usize, index: usize) -> f64 {
        number_at(&self.inputs[input].value, index)
    }

    /// Changes every real number of every input.
    pub fn move_inputs(&mut self, mut moved: impl FnMut(f64) -> f64) {
        for input in &mut self.inputs {
            for (index, constant) in input.value.scalars().into_iter().enumerate() {
                if let Const::Float(bits) = constant {
                    let constant = Const::float(moved(f64::from_bits(bits)));
                    replace(&mut input.value, &mut { index }, constant);
                }
            }
        }
    }

    /// The output numbers in `rows`, with one input number replaced. They are NaN if the function detaches a value at a place
    /// for which none is held.
    pub fn rows_at(
        &mut self,
        rows: &[Entry],
        input: usize,
        index: usize,
        x: f64,
    ) -> Result<Vec<f64>, Stopped> {
        let before = self.inputs[input].value.clone();
        replace(&mut self.inputs[input].value, &mut { index }, Const::float(x));
        let found = self.primal();
        self.inputs[input].value = before;
        let (values, is_known) = found?;
        if !is_known {
            return Ok(vec![f64::NAN; rows.len()]);
        }
        let outputs = self.name_outputs(values);
        Ok(rows.iter().map(|row| self.output_number(&outputs[row.of], row)).collect())
    }

    /// Whether the function, with one input number replaced, detaches a value at a place for which none is held.
    pub fn strays_at(&mut self, input: usize, index: usize, x: f64) -> bool {
        let before = self.inputs[input].value.clone();
        replace(&mut self.inputs[input].value, &mut { index }, Const::float(x));
        let found = self.primal();
        self.inputs[input].value = before;
        matches!(found, Ok((_, false)))
    }

    /// The derivative of the output number `row` by the input number `column`, with that number replaced.
    pub fn derivative_at(
        &mut self,
        mode: Mode,
        row: &Entry,
        (column, index): (&Entry, usize),
        x: f64,
    ) -> Result<f64, Stopped> {
        let (rows, columns) = (vec![row.clone()], vec![column.clone()]);
        let mut jacobian = Jacobian { rows, columns, entries: vec![vec![0.0]] };
        let before = self.inputs[column.of].value.clone();
        replace(&mut self.inputs[column.of].value, &mut { index }, Const::float(x));
        let filled = self.fill(mode, &mut jacobian);
        self.inputs[column.of].value = before;
        filled.map(|()| jacobian.entries[0][0])
    }

    /// What it costs to run the function with one input number replaced, if it runs.
    pub fn cost_at(&self, input: usize, index: usize, x: f64) -> Option<Counters> {
        let mut inputs: Vec<Val> = self.inputs.iter().map(|i| i.value.clone()).collect();
        replace(&mut inputs[input], &mut { index }, Const::float(x));
        let mut machine = self.machine();
        machine.call(self.functions.primal, inputs).ok().map(|_| machine.counters())
    }

    fn output_number(&self, output: &Named, row: &Entry) -> f64 {
        let index = places::of_differential(self.module(), &self.types, output.ty)[row.index];
        index.map_or(f64::NAN, |i| number_at(&output.value, i))
    }
}
