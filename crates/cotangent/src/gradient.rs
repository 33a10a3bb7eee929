//! A function and its derivatives at a point, all of them: the Jacobian.
//!
//! Forward mode runs once per input number and gives a column each; reverse mode runs once per output number and
//! gives a row each. Both go through the functions a program would call, `fwd_diff(f)` and `bwd_diff(f)`, so that
//! what is shown is what a program gets. Central differences need neither; they are what both are checked with, in
//! the interpreter's wide mode, where `float` is evaluated in double precision.

mod places;

use cotangent_interp::{Counters, Machine, Options, Stopped, Val};
use cotangent_ir::{Const, Dir, FuncId, Global, Mode, Module, Param, Ret, Ty, Type, Types, layout};
use cotangent_runtime::data::Number;
use cotangent_runtime::path::{Leaf, descend, leaves, split};
use cotangent_runtime::{Error, Params};

/// A function with the derivatives the module has of it.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// The function.
    pub primal: FuncId,
    /// `fwd_diff` of it.
    pub forward: Option<FuncId>,
    /// `bwd_diff` of it.
    pub backward: Option<FuncId>,
}

/// A value with its name; the result of a function has none.
#[derive(Clone, Debug)]
pub struct Named {
    /// The parameter's name, or nothing for the result.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// The value.
    pub value: Val,
    /// Whether it carries a derivative.
    pub diff: bool,
}

/// All derivatives of outputs with respect to inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Jacobian {
    /// The output numbers.
    pub rows: Vec<Entry>,
    /// The input numbers.
    pub columns: Vec<Entry>,
    /// A row per output number.
    pub entries: Vec<Vec<f64>>,
}

/// A number of an input or output, as part of its differential.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Which input or output.
    pub of: usize,
    /// Which of the differential's numbers, in order.
    pub index: usize,
    /// Where it is in the differential.
    pub leaf: Leaf,
}

/// How a value is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One number.
    Number,
    /// The numbers of a vector, matrix or array.
    List,
    /// The numbers of a structure, or of an array of structures, each with its name.
    Record,
}

/// Evaluates a function and its derivatives at a point.
pub struct Evaluator<'m> {
    module: &'m Module,
    types: Types,
    functions: Functions,
    options: Options,
    globals: Vec<(Global, Val)>,
    /// What is detached during differences.
    held: Option<Vec<Val>>,
    /// The inputs, in order; `out` parameters are none.
    pub inputs: Vec<Named>,
}

impl<'m> Evaluator<'m> {
    /// With every input zero.
    pub fn new(module: &'m Module, functions: Functions, options: Options) -> Self {
        let types = module.types.clone();
        let named = |p: &Param| Named {
            name: p.name.to_string(),
            ty: p.ty,
            value: Val::zero(&types, p.ty),
            diff: p.diff,
        };
        let inputs = module.funcs[functions.primal].sig.inputs().map(named).collect();
        Evaluator { module, types, functions, options, globals: vec![], held: None, inputs }
    }

    /// Gives the shader parameters that the function reads their values. Without this, uniforms are zero and buffers empty.
    pub fn set_params(&mut self, params: &Params) {
        self.set_globals(params.values().collect());
    }

    /// Gives globals their values.
    pub fn set_globals(&mut self, globals: Vec<(Global, Val)>) {
        self.globals = globals;
    }

    /// Gives some globals other values.
    pub fn replace_globals(&mut self, some: &[(Global, Val)]) {
        for (global, value) in some {
            self.globals.retain(|(other, _)| other != global);
            self.globals.push((*global, value.clone()));
        }
    }

    /// An input that is a resource, which has no value to write down.
    pub fn resource(&self) -> Option<&Named> {
        self.inputs.iter().find(|i| layout::layout(&self.types, i.ty).is_none())
    }

    /// Sets inputs from `x=3, p.dir=[1, 0, 0]`.
    pub fn set_point(&mut self, text: &str) -> Result<(), Error> {
        for item in items(text) {
            let Some((path, value)) = item.split_once('=') else {
                return Err(Error(format!("`{item}` is not of the form name=value")));
            };
            self.set(path.trim(), value.trim())?;
        }
        Ok(())
    }

    fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let (name, steps) = split(path)?;
        let Some(input) = self.inputs.iter().position(|i| i.name == name) else {
            let names: Vec<&str> = self.inputs.iter().map(|i| i.name.as_str()).collect();
            return Err(Error(format!("the function has no input `{name}`; it has {}", names.join(", "))));
        };
        let places =
            self.part(self.inputs[input].ty, &steps).ok_or_else(|| Error(format!("there is no `{path}`")))?;
        let apart = |c: char| ",[]{}".contains(c) || c.is_whitespace();
        let numbers: Vec<&str> = value.split(apart).filter(|w| !w.is_empty()).collect();
        if numbers.len() != places.len() {
            let wanted = if places.len() == 1 {
                "one number".to_string()
            } else {
                format!("{} numbers", places.len())
            };
            return Err(Error(format!(
                "`{path}` takes {wanted}, as in `{path}={}`, but `{value}` has {}",
                if places.len() == 1 { "3" } else { "[1, 0, ..]" },
                numbers.len()
            )));
        }
        for ((index, leaf), word) in places.iter().zip(numbers) {
            let number = Number::parse(word).ok_or_else(|| Error(format!("`{word}` is not a number")))?;
            let constant = number.constant(leaf.scalar)?;
            replace(&mut self.inputs[input].value, &mut { *index }, constant);
        }
        Ok(())
    }

    /// The numbers of the part of `ty` at `steps`, with their positions among all.
    fn part(&self, ty: Ty, steps: &[String]) -> Option<Vec<(usize, Leaf)>> {
        let (mut start, mut inner) = (0, ty);
        for step in steps {
            let (offset, next) = descend(&self.types, inner, step)?;
            (start, inner) = (start + offset as usize, next);
        }
        let end = start + layout::layout(&self.types, inner)?.size as usize;
        let all = leaves(&self.types, ty).into_iter().enumerate();
        Some(all.filter(|(_, leaf)| (start..end).contains(&leaf.offset)).collect())
    }

    /// A machine with what globals were given.
    fn machine(&self) -> Machine<'m> {
        let mut machine = Machine::new(self.module, self.options);
        for (global, value) in &self.globals {
            machine.set_global(*global, value.clone());
        }
        machine
    }

    fn call(&self, func: FuncId, inputs: Vec<Val>) -> Result<Vec<Val>, Stopped> {
        let mut machine = self.machine();
        if let Some(held) = &self.held {
            machine.give_detached(held);
        }
        machine.call(func, inputs)
    }

    /// From here on the outputs are those with everything detached as it is at this point, until it is let go again.
    pub fn hold_detached(&mut self) -> Result<(), Stopped> {
        let mut machine = self.machine();
        machine.note_detached();
        machine.call(self.functions.primal, self.inputs.iter().map(|i| i.value.clone()).collect())?;
        self.held = Some(machine.take_detached());
        Ok(())
    }

    /// Detached values move with the inputs again.
    pub fn let_detached_go(&mut self) {
        self.held = None;
    }

    /// The names of the outputs; the result has none.
    pub fn output_names(&self) -> Vec<String> {
        let sig = &self.module.funcs[self.functions.primal].sig;
        let result = sig.ret.iter().map(|_| String::new());
        result.chain(sig.params.iter().filter(|p| p.dir != Dir::In).map(|p| p.name.to_string())).collect()
    }

    /// The outputs: the result first, then `out` and `inout` parameters.
    pub fn outputs(&self) -> Result<Vec<Named>, Stopped> {
        let inputs = self.inputs.iter().map(|i| i.value.clone()).collect();
        let values = self.call(self.functions.primal, inputs)?;
        let sig = &self.module.funcs[self.functions.primal].sig;
        let named = |((name, value), out): ((String, Val), Ret)| {
            let value = written(&self.types, out.ty, value);
            Named { name, ty: out.ty, value, diff: out.diff }
        };
        Ok(self.output_names().into_iter().zip(values).zip(sig.outputs()).map(named).collect())
    }

    /// The Jacobian by one of the modes, with respect to the inputs that `wrt` accepts.
    pub fn jacobian(&mut self, mode: Mode, wrt: &dyn Fn(&str) -> bool) -> Result<Jacobian, Stopped> {
        let mut jacobian = self.shape(wrt);
        self.fill(mode, &mut jacobian)?;
        Ok(jacobian)
    }

    /// Computes the entries of a Jacobian, which may have some of the rows and columns only.
    pub fn fill(&mut self, mode: Mode, jacobian: &mut Jacobian) -> Result<(), Stopped> {
        match mode {
            Mode::Forward => self.fill_columns(jacobian),
            Mode::Backward => self.fill_rows(jacobian),
        }
    }

    /// The rows and columns there are, with zeros.
    pub fn shape(&mut self, wrt: &dyn Fn(&str) -> bool) -> Jacobian {
        let sig = self.module.funcs[self.functions.primal].sig.clone();
        let inputs = sig.inputs().enumerate().filter(|(_, p)| p.diff && wrt(p.name.as_str()));
        let columns: Vec<Entry> = inputs.flat_map(|(i, p)| self.entries(i, p.ty)).collect();
        let outputs = sig.outputs().enumerate().filter(|(_, o)| o.diff);
        let rows: Vec<Entry> = outputs.flat_map(|(i, o)| self.entries(i, o.ty)).collect();
        let entries = vec![vec![0.0; columns.len()]; rows.len()];
        Jacobian { rows, columns, entries }
    }

    fn entries(&mut self, of: usize, ty: Ty) -> Vec<Entry> {
        let differential = self.differential(ty);
        let all = leaves(&self.types, differential).into_iter().enumerate();
        all.map(|(index, leaf)| Entry { of, index, leaf }).collect()
    }

    fn differential(&mut self, ty: Ty) -> Ty {
        self.module.diff.differential(&mut self.types, ty).unwrap_or(ty)
    }

    /// The differential of `ty` that is one at `seed` and zero elsewhere.
    fn seed(&mut self, ty: Ty, seed: Option<&Entry>) -> Val {
        let differential = self.differential(ty);
        let mut value = Val::zero(&self.types, differential);
        if let Some(entry) = seed {
            replace(&mut value, &mut { entry.index }, Const::float(1.0));
        }
        value
    }

    /// An input as it is, or as a pair whose derivative is one at `seed`.
    fn argument(&mut self, input: usize, seed: Option<&Entry>) -> Val {
        let Named { value, diff, ty, .. } = self.inputs[input].clone();
        if diff { Val::aggregate([value, self.seed(ty, seed)]) } else { value }
    }

    fn fill_columns(&mut self, jacobian: &mut Jacobian) -> Result<(), Stopped> {
        let forward = self.functions.forward.expect("the module has the forward derivative");
        for column in 0..jacobian.columns.len() {
            let entry = jacobian.columns[column].clone();
            let count = self.inputs.len();
            let inputs = (0..count).map(|i| self.argument(i, (i == entry.of).then_some(&entry))).collect();
            let values = self.call(forward, inputs)?;
            for (row, Entry { of, index, .. }) in jacobian.rows.iter().enumerate() {
                jacobian.entries[row][column] = number_at(&values[*of].parts()[1], *index);
            }
        }
        Ok(())
    }

    fn fill_rows(&mut self, jacobian: &mut Jacobian) -> Result<(), Stopped> {
        let backward = self.functions.backward.expect("the module has the backward derivative");
        for row in 0..jacobian.rows.len() {
            let (inputs, pairs) = self.backward_arguments(&jacobian.rows[row].clone());
            let values = self.call(backward, inputs)?;
            for (column, Entry { of, index, .. }) in jacobian.columns.iter().enumerate() {
                let at = pairs.iter().position(|p| p == of).expect("a differentiable input comes back");
                jacobian.entries[row][column] = number_at(&values[at].parts()[1], *index);
            }
        }
        Ok(())
    }

    /// The arguments of `bwd_diff(f)` with the derivative of one output number one, and which of our inputs come
    /// back as pairs, in order.
    fn backward_arguments(&mut self, row: &Entry) -> (Vec<Val>, Vec<usize>) {
        let sig = self.module.funcs[self.functions.primal].sig.clone();
        let (mut arguments, mut pairs) = (Vec::new(), Vec::new());
        let (mut input, mut output) = (0, usize::from(sig.ret.is_some()));
        for param in &sig.params {
            let seed = (param.dir != Dir::In && output == row.of).then_some(row);
            match (param.dir, param.diff) {
                (Dir::In | Dir::InOut, diff) => {
                    arguments.push(self.argument(input, seed));
                    pairs.extend(diff.then_some(input));
                }
                (Dir::Out, true) => arguments.push(self.seed(param.ty, seed)),
                (Dir::Out, false) => {}
            }
            input += usize::from(param.dir != Dir::Out);
            output += usize::from(param.dir != Dir::In);
        }
        if let Some(ret) = sig.ret.filter(|r| r.diff) {
            arguments.push(self.seed(ret.ty, (row.of == 0).then_some(row)));
        }
        (arguments, pairs)
    }

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
        let index = places::of_differential(self.module, &self.types, input.ty)[column.index]?;
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

    /// The output numbers in `rows`, with one input number replaced.
    pub fn rows_at(
        &mut self,
        rows: &[Entry],
        input: usize,
        index: usize,
        x: f64,
    ) -> Result<Vec<f64>, Stopped> {
        let before = self.inputs[input].value.clone();
        replace(&mut self.inputs[input].value, &mut { index }, Const::float(x));
        let outputs = self.outputs();
        self.inputs[input].value = before;
        let outputs = outputs?;
        Ok(rows.iter().map(|row| self.output_number(&outputs[row.of], row)).collect())
    }

    /// What it costs to run the function with one input number replaced, if it runs.
    pub fn cost_at(&self, input: usize, index: usize, x: f64) -> Option<Counters> {
        let mut inputs: Vec<Val> = self.inputs.iter().map(|i| i.value.clone()).collect();
        replace(&mut inputs[input], &mut { index }, Const::float(x));
        let mut machine = self.machine();
        machine.call(self.functions.primal, inputs).ok().map(|_| machine.counters())
    }

    fn output_number(&self, output: &Named, row: &Entry) -> f64 {
        let index = places::of_differential(self.module, &self.types, output.ty)[row.index];
        index.map_or(f64::NAN, |i| number_at(&output.value, i))
    }

    /// The numbers of a value with their places.
    pub fn numbers(&self, named: &Named) -> Vec<(Leaf, Number)> {
        let places = leaves(&self.types, named.ty).into_iter();
        let numbered = |(leaf, constant): (Leaf, Const)| (leaf.clone(), Number::of(constant, leaf.scalar));
        places.zip(named.value.scalars()).map(numbered).collect()
    }

    /// A value on one line: a number, a list, or a structure's fields.
    pub fn show(&self, named: &Named) -> String {
        let (form, numbers) = (self.form(named), self.numbers(named));
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

    /// The inputs on one line: `x = 3, v = [1, 0]`.
    pub fn show_inputs(&self) -> String {
        let values = self.inputs.iter().filter(|i| !matches!(i.value, Val::Handle(_)));
        let shown = values.map(|i| format!("{} = {}", i.name, self.show(i)));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The inputs and what globals were given, on one line: `x = 3, buffer = [1, 0, 2]`.
    pub fn show_point(&self) -> String {
        let mut shown = vec![self.show_inputs()];
        let mut globals: Vec<_> = self.globals.iter().collect();
        globals.sort_by_key(|(global, _)| *global);
        for (global, value) in globals {
            let data = &self.module.globals[*global];
            let value = match self.types.get(data.ty) {
                Type::Buffer(elem, _) => self.show_elements(elem, value),
                _ => self.show(&self.unnamed(data.ty, value)),
            };
            shown.push(format!("{} = {value}", data.name));
        }
        shown.retain(|part| !part.is_empty());
        shown.join(", ")
    }

    fn show_elements(&self, elem: Ty, buffer: &Val) -> String {
        let elements = buffer.parts();
        let shown = elements.iter().take(ELEMENTS_SHOWN).map(|e| self.show(&self.unnamed(elem, e)));
        let more =
            (elements.len() > ELEMENTS_SHOWN).then(|| format!("{} more", elements.len() - ELEMENTS_SHOWN));
        format!("[{}]", shown.chain(more).collect::<Vec<_>>().join(", "))
    }

    fn unnamed(&self, ty: Ty, value: &Val) -> Named {
        Named { name: String::new(), ty, value: value.clone(), diff: false }
    }

    /// How a value is shown.
    pub fn form(&self, named: &Named) -> Form {
        let mut ty = named.ty;
        while let Type::Array(elem, _) = self.types.get(ty) {
            ty = elem;
        }
        match (self.types.get(named.ty), self.types.get(ty)) {
            (Type::Scalar(_), _) => Form::Number,
            (_, Type::Struct(_)) => Form::Record,
            _ => Form::List,
        }
    }
}

/// Most elements of a buffer that are shown.
const ELEMENTS_SHOWN: usize = 32;

/// `value` with zeros for what the function never wrote.
fn written(types: &Types, ty: Ty, value: Val) -> Val {
    match value {
        Val::Undef => Val::zero(types, ty),
        Val::Aggregate(parts) => {
            let part = |(i, part): (usize, &Val)| match types.part(ty, Some(i as u32)) {
                Some(inner) => written(types, inner, part.clone()),
                None => part.clone(),
            };
            Val::aggregate(parts.iter().enumerate().map(part))
        }
        Val::Unit | Val::Scalar(_) | Val::Handle(_) | Val::Pointer(_) | Val::Null => value,
    }
}

/// Replaces the scalar that `index` others precede; counts `index` down on the way.
fn replace(value: &mut Val, index: &mut usize, constant: Const) {
    match value {
        Val::Scalar(scalar) => {
            if *index == 0 {
                *scalar = constant;
            }
            *index = index.wrapping_sub(1);
        }
        Val::Aggregate(parts) => {
            let mut new = parts.to_vec();
            new.iter_mut().for_each(|part| replace(part, index, constant));
            *value = Val::aggregate(new);
        }
        Val::Undef | Val::Unit | Val::Handle(_) | Val::Pointer(_) | Val::Null => {}
    }
}

/// The number that `index` others precede; zero in what was never written.
fn number_at(value: &Val, index: usize) -> f64 {
    match value.scalars().get(index) {
        Some(Const::Float(bits)) => f64::from_bits(*bits),
        Some(Const::Int(n)) => *n as f64,
        Some(Const::Bool(b)) => f64::from(u8::from(*b)),
        None => 0.0,
    }
}

/// The parts of `x=3, p.dir=[1, 0, 0]`: it is split at commas that stand in no brackets.
pub(crate) fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0i32, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' | ';' if depth == 0 => {
                items.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn a_point_is_split_outside_brackets() {
        assert_eq!(items("x=3, p.dir=[1, 0, 0], "), ["x=3", "p.dir=[1, 0, 0]"]);
        assert_eq!(items(""), Vec::<&str>::new());
    }
}
