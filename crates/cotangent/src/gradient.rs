//! A function and its Jacobian at a point.
//!
//! Forward mode runs once per input number and computes a column each. Reverse mode runs once per output number and computes
//! a row each. Both call `fwd_diff(f)` and `bwd_diff(f)`, as a program would, so the results are those of a program. Central
//! differences use neither; both modes are checked against them, in the interpreter's wide mode, where `float` is evaluated
//! in double precision.
//!
//! [`Function`] is for programs that evaluate a gradient often: points are plain numbers, one or many at once, and any back
//! end that can call functions evaluates them. [`Evaluator`] has a point with named parts, and supports finite differences.

mod differences;
mod function;
mod native;
mod places;
mod point;
mod show;

pub use function::{Function, NoValue, Slot};
pub(crate) use point::{check_once, items};
pub use show::Form;

use cotangent_interp::{Detached, Machine, Options, Program, Stopped, Val, Values};
use cotangent_ir::texture::Opaque;
use cotangent_ir::{Const, Dir, FuncId, Global, Mode, Module, Param, Ret, Ty, Type, Types, layout};
use cotangent_lower::Lowered;
use cotangent_runtime::data::room_for;
use cotangent_runtime::path::{Leaf, leaves};
use cotangent_runtime::{Compiled, Error, Params};
use native::{Calls, Wide};
use std::sync::{Arc, Mutex, PoisonError};

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

impl Functions {
    /// What [`Roots::Derivatives`](crate::Roots) with these modes gives: the function comes first, then its derivatives.
    pub fn of(lowered: &Lowered, modes: &[Mode]) -> Functions {
        let find = |mode| modes.iter().position(|m| *m == mode).map(|i| lowered.roots[i + 1]);
        Functions { primal: lowered.roots[0], forward: find(Mode::Forward), backward: find(Mode::Backward) }
    }
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

/// Evaluates a function and its derivatives at a point. It owns what it needs; clones share the program.
#[derive(Clone)]
pub struct Evaluator {
    program: Program,
    types: Types,
    functions: Functions,
    /// What globals were given, to be shown.
    globals: Arc<Vec<(Global, Val)>>,
    /// The same as the program wants it.
    values: Values,
    /// What is detached during differences, and whether the function detaches anything.
    held: Option<Detached>,
    detaches: bool,
    /// The functions as native code, with their shader parameters.
    native: Option<Arc<Mutex<Calls>>>,
    /// The same in wide mode.
    wide: Option<Arc<Mutex<Wide>>>,
    /// The inputs, in order; `out` parameters are none.
    pub inputs: Vec<Named>,
    /// The enumerators by whose names numbers may be given: `Kind.Round`.
    pub enumerators: Vec<(String, i64)>,
}

impl Evaluator {
    /// With every input zero.
    pub fn new(module: impl Into<Arc<Module>>, functions: Functions, options: Options) -> Self {
        let program = Program::new(module, options);
        let module = program.module();
        let types = module.types.clone();
        let named = |p: &Param| Named {
            name: p.name.to_string(),
            ty: p.ty,
            value: Val::zero(&types, p.ty),
            diff: p.diff,
        };
        let inputs = module.funcs[functions.primal].sig.inputs().map(named).collect();
        let detaches = native::detaches(module, functions.primal);
        Evaluator {
            program,
            types,
            functions,
            globals: Arc::default(),
            values: Values::default(),
            held: None,
            detaches,
            native: None,
            wide: options.wide.then(Arc::default),
            inputs,
            enumerators: vec![],
        }
    }

    /// Fails if there is not enough memory for the values of parameters: here each number takes many bytes.
    pub fn check_room(params: &Params) -> Result<(), Error> {
        let bytes = params.iter().map(|(_, _, _, bytes)| bytes.len()).fold(0, usize::saturating_add);
        // There are two copies of the values.
        room_for(bytes.saturating_mul(2 * size_of::<Val>()))
    }

    /// Gives the shader parameters that the function reads their values. Without this, uniforms are zero and buffers empty.
    pub fn set_params(&mut self, params: &Params) {
        self.set_globals(vec![]);
        self.replace_params(params, &|_| true);
    }

    /// Gives the shader parameters that `which` accepts other values.
    pub fn replace_params(&mut self, params: &Params, which: &dyn Fn(&str) -> bool) {
        for (_, global, ty, bytes) in params.iter().filter(|(name, ..)| which(name.as_str())) {
            match self.types.get(ty) {
                Type::Opaque(Opaque::Texture(_)) => {
                    self.values.set_texture(&self.program, global, params.extent(global), bytes);
                    continue;
                }
                Type::Opaque(Opaque::Sampler | Opaque::Comparison) => {
                    self.values.set_sampler(global, params.sampler(global));
                    continue;
                }
                _ => self.values.set_bytes(&self.program, global, bytes),
            }
            let value = match self.types.get(ty) {
                Type::Buffer(elem, _) => {
                    let size = layout::layout(&self.types, elem).map_or(0, |l| l.size as usize).max(1);
                    Val::aggregate(bytes.chunks_exact(size).map(|chunk| self.program.value(elem, chunk)))
                }
                _ => self.program.value(ty, bytes),
            };
            let globals = Arc::make_mut(&mut self.globals);
            globals.retain(|(other, _)| *other != global);
            globals.push((global, value));
        }
    }

    /// Gives globals their values.
    pub fn set_globals(&mut self, globals: Vec<(Global, Val)>) {
        self.values = Values::default();
        globals.iter().for_each(|(global, value)| self.values.set(&self.program, *global, value));
        self.globals = Arc::new(globals);
    }

    fn module(&self) -> &Module {
        self.program.module()
    }

    /// An input or output with something of interface type in it, of which there is no telling how many numbers it has.
    pub fn of_some_type(&self) -> Option<String> {
        let sig = &self.module().funcs[self.functions.primal].sig;
        let input = sig.inputs().find(|p| self.has_sum(p.ty)).map(|p| format!("`{}`", p.name));
        let output = || {
            let mut outputs = self.output_names().into_iter().zip(sig.outputs());
            let (name, _) = outputs.find(|(_, output)| self.has_sum(output.ty))?;
            Some(if name.is_empty() { "the result".to_string() } else { format!("`{name}`") })
        };
        input.or_else(output)
    }

    fn has_sum(&self, ty: Ty) -> bool {
        match self.types.get(ty) {
            Type::Sum(_) => true,
            Type::Array(elem, _) => self.has_sum(elem),
            Type::Struct(id) => self.types.struct_def(id).fields.iter().any(|field| self.has_sum(field.ty)),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }

    /// A machine with what globals were given.
    fn machine(&self) -> Machine<'_> {
        let mut machine = self.program.machine();
        machine.give(&self.values);
        machine
    }

    /// From here on calls run as native code, as far as it supports the program. `params` are the shader parameters.
    ///
    /// In wide mode this needs no request: calls become native when they have taken long. While values are held, functions that
    /// detach some run on the interpreter.
    pub fn compile(&mut self, compiled: Compiled, params: Params) {
        if !self.program.options().wide {
            let calls = Calls::new(self.program.clone(), compiled, params);
            self.native = calls.map(|calls| Arc::new(Mutex::new(calls)));
        }
    }

    fn call(&self, func: FuncId, inputs: Vec<Val>) -> Result<Vec<Val>, Stopped> {
        let native = self.native.as_ref();
        let called = native.and_then(|calls| locked(calls).call(func, &inputs));
        let wide = self.wide.as_ref();
        if let Some(result) =
            called.or_else(|| wide.and_then(|wide| locked(wide).call(func, &inputs, &self.globals)))
        {
            return result;
        }
        let mut machine = self.machine();
        let result = machine.call(func, inputs);
        if let Some(wide) = wide {
            locked(wide).note(&self.program, func, machine.counters().steps);
        }
        result
    }

    /// The outputs of the function with its detached values held, and whether all of those were known.
    fn primal(&self) -> Result<(Vec<Val>, bool), Stopped> {
        let inputs = self.inputs.iter().map(|i| i.value.clone()).collect();
        let Some(held) = self.held.as_ref().filter(|_| self.detaches) else {
            return Ok((self.call(self.functions.primal, inputs)?, true));
        };
        let mut machine = self.machine();
        machine.give_detached(held);
        let values = machine.call(self.functions.primal, inputs)?;
        Ok((values, !machine.has_strayed()))
    }

    /// From here on the outputs are those with everything detached as it is at this point, until it is let go again.
    pub fn hold_detached(&mut self) -> Result<(), Stopped> {
        let mut machine = self.machine();
        machine.note_detached();
        machine.call(self.functions.primal, self.inputs.iter().map(|i| i.value.clone()).collect())?;
        let held = machine.take_detached();
        self.held = Some(held);
        Ok(())
    }

    /// Detached values move with the inputs again.
    pub fn let_detached_go(&mut self) {
        self.held = None;
    }

    /// The names of the outputs; the result has none.
    pub fn output_names(&self) -> Vec<String> {
        let sig = &self.module().funcs[self.functions.primal].sig;
        let result = sig.ret.iter().map(|_| String::new());
        result.chain(sig.params.iter().filter(|p| p.dir != Dir::In).map(|p| p.name.to_string())).collect()
    }

    /// The outputs: the result first, then `out` and `inout` parameters.
    pub fn outputs(&self) -> Result<Vec<Named>, Stopped> {
        Ok(self.name_outputs(self.primal()?.0))
    }

    fn name_outputs(&self, values: Vec<Val>) -> Vec<Named> {
        let sig = &self.module().funcs[self.functions.primal].sig;
        let named = |((name, value), out): ((String, Val), Ret)| {
            let value = written(&self.types, out.ty, value);
            Named { name, ty: out.ty, value, diff: out.diff }
        };
        self.output_names().into_iter().zip(values).zip(sig.outputs()).map(named).collect()
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
        let sig = self.module().funcs[self.functions.primal].sig.clone();
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
        self.program.module().diff.differential(&mut self.types, ty).unwrap_or(ty)
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
                jacobian.entries[row][column] = number_at(values[*of].part(1), *index);
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
                jacobian.entries[row][column] = number_at(values[at].part(1), *index);
            }
        }
        Ok(())
    }

    /// The arguments of `bwd_diff(f)` with the derivative of one output number one, and which of our inputs come
    /// back as pairs, in order.
    fn backward_arguments(&mut self, row: &Entry) -> (Vec<Val>, Vec<usize>) {
        let sig = self.module().funcs[self.functions.primal].sig.clone();
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
}

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

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
