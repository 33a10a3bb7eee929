//! How functions take arguments and return results.
//!
//! What is larger than [`MOST_BY_VALUE`], such as the context between the halves of a derivative, is passed by reference: the
//! function takes a pointer to a variable of its caller.
//!
//! ```text
//! %c: Context, %y: f32 = call @f_primal (%x)         let y = f_primal(x, &c);
//! %x_ct: f32 = call @f_bwd (%c, %y_ct)               let x_ct = f_bwd(&c, y_ct);
//! ```
//!
//! - A function only reads the variable of an argument. A parameter that shares its slot with later values is copied first.
//! - The variable of a result belongs to the function until it returns. No argument points to it, because results and operands
//!   of a call never share a slot: [`place`](cotangent_passes::place) gets no table of callees. So if all values that a function
//!   returns share a slot, it builds them in that variable.
//!
//! Results by value are one value or a structure. Entry points take and return what their stage says, by value.

use crate::func::{FuncEmitter, plain_name};
use crate::values::Place;
use crate::{Emitter, Result};
use cotangent_base::Set;
use cotangent_ir::layout::layout;
use cotangent_ir::{Func, FuncId, InstData, Op, Ty, Type, Types, Value};
use cotangent_passes::place::Slot;
use naga::{Expression, Handle, Statement};

/// The largest value, in bytes, that is passed by value.
const MOST_BY_VALUE: u64 = 64;

/// The storage of values that change or that are indexed at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Variable {
    /// A variable of the function.
    Local(Handle<naga::LocalVariable>),
    /// A variable of its caller: a pointer that it takes.
    Passed(Handle<Expression>),
}

/// Whether values of a type are passed by reference.
fn is_by_reference(types: &Types, ty: Ty) -> bool {
    let is_aggregate = matches!(types.get(ty), Type::Struct(_) | Type::Array(..));
    is_aggregate && layout(types, ty).is_some_and(|layout| u64::from(layout.size) > MOST_BY_VALUE)
}

impl Emitter<'_> {
    /// The type of a parameter of a function that is not an entry point.
    fn passed_type(&mut self, func: &Func, ty: Ty) -> Result<Handle<naga::Type>> {
        let base = self.ty(ty, func.span)?;
        Ok(match is_by_reference(&self.module.types, ty) {
            true => self.plain(naga::TypeInner::Pointer { base, space: naga::AddressSpace::Function }),
            false => base,
        })
    }

    /// The parameters of a function that is not an entry point: its inputs, then the results that are passed by reference.
    pub fn parameters(&mut self, func: &Func) -> Result<Vec<naga::FunctionArgument>> {
        let types = &self.module.types;
        let inputs = func.sig.inputs().map(|input| (plain_name(input.name), input.ty));
        let outputs = func.sig.outputs().filter(|output| is_by_reference(types, output.ty));
        let outputs = outputs.map(|output| ("result".to_string(), output.ty));
        let all: Vec<_> = inputs.chain(outputs).collect();
        let parameter = |(name, ty)| {
            let ty = self.passed_type(func, ty)?;
            Ok(naga::FunctionArgument { name: Some(name), ty, binding: None })
        };
        all.into_iter().map(parameter).collect()
    }

    /// What a function that is not an entry point returns by value.
    pub fn returned(&mut self, id: FuncId, func: &Func) -> Result<Option<naga::FunctionResult>> {
        let outputs = func.sig.outputs().map(|output| output.ty);
        let by_value: Vec<Ty> = outputs.filter(|ty| !is_by_reference(&self.module.types, *ty)).collect();
        let ty = match by_value[..] {
            [] => return Ok(None),
            [only] => self.ty(only, func.span)?,
            _ => {
                let mut fields = Vec::new();
                for (i, ty) in by_value.into_iter().enumerate() {
                    fields.push((format!("_{i}"), self.ty(ty, func.span)?));
                }
                let ty = self.structure_of(&format!("{}_outputs", plain_name(func.name)), fields);
                self.sized(ty, func.span)?;
                self.results.insert(id, ty);
                ty
            }
        };
        Ok(Some(naga::FunctionResult { ty, binding: None }))
    }
}

impl FuncEmitter<'_, '_> {
    fn is_by_reference(&self, ty: Ty) -> bool {
        is_by_reference(&self.module().types, ty)
    }

    /// The pointer to a variable.
    pub fn pointer_to(&mut self, variable: Variable) -> Handle<Expression> {
        match variable {
            Variable::Local(local) => self.expr(Expression::LocalVariable(local)),
            Variable::Passed(pointer) => pointer,
        }
    }

    /// Places the inputs of a function that is not an entry point, and its results by reference.
    pub fn take_parameters(&mut self) -> Result<()> {
        let inputs = self.func.inputs();
        let outputs =
            self.func.sig.outputs().enumerate().filter(|(_, output)| self.is_by_reference(output.ty));
        let outputs: Vec<usize> = outputs.map(|(output, _)| output).collect();
        let mut used: Set<Slot> = Set::default();
        for (output, number) in outputs.into_iter().zip(inputs.len() as u32..) {
            let variable = Variable::Passed(self.expr(Expression::FunctionArgument(number)));
            self.outputs.push(variable);
            if let Some(slot) = self.returned_slot(output).filter(|slot| used.insert(*slot)) {
                self.variables.insert(slot, variable);
            }
        }
        for (&input, number) in inputs.iter().zip(0..) {
            let argument = self.expr(Expression::FunctionArgument(number));
            let is_shared = self.shared.slot(input).is_some_and(|slot| self.shared.members(slot).len() > 1);
            let variable = Variable::Passed(argument);
            match (self.is_by_reference(self.func.ty(input)), is_shared) {
                (false, _) => self.place(input, Place::Expr(argument))?,
                (true, false) => _ = self.places.insert(input, Place::Var(variable)),
                (true, true) => {
                    let value = self.load_var(variable);
                    self.place(input, Place::Expr(value))?;
                }
            }
        }
        Ok(())
    }

    /// The slot that all values share which the function returns as this output.
    fn returned_slot(&self, output: usize) -> Option<Slot> {
        let is_return = |data: &&InstData| data.op == Op::Return;
        let all = self.func.all_insts();
        let mut slots = all
            .iter()
            .map(|inst| &self.func.insts[*inst])
            .filter(is_return)
            .map(|data| self.shared.slot(data.operands[output]));
        let first = slots.next()??;
        slots.all(|slot| slot == Some(first)).then_some(first)
    }

    /// Stores the results that are passed by reference, and returns the others.
    pub fn pass_back(&mut self, operands: &[Value]) -> Vec<Handle<Expression>> {
        let (mut by_value, mut stores) = (vec![], vec![]);
        let mut outputs = self.outputs.clone().into_iter();
        for operand in operands {
            let output = match self.is_by_reference(self.func.ty(*operand)) {
                true => outputs.next(),
                false => None,
            };
            match (output, self.places[operand]) {
                (None, _) => by_value.push(self.value(*operand)),
                (Some(output), Place::Var(variable)) if variable == output => {}
                (Some(output), _) => stores.push((output, self.value(*operand))),
            }
        }
        for (output, value) in stores {
            self.store_var(output, value);
        }
        by_value
    }

    /// A call of a function that is emitted.
    pub fn call(&mut self, callee: FuncId, operands: &[Value], results: &[Value]) -> Result<()> {
        let mut arguments = vec![];
        for operand in operands {
            arguments.push(match self.is_by_reference(self.func.ty(*operand)) {
                true => {
                    let variable = self.variable_of(*operand)?;
                    self.pointer_to(variable)
                }
                false => self.value(*operand),
            });
        }
        let (mut by_value, mut written) = (vec![], vec![]);
        for result in results {
            if !self.is_by_reference(self.func.ty(*result)) {
                by_value.push(*result);
                continue;
            }
            let variable = match self.shared_variable(*result)? {
                Some(variable) => variable,
                None => self.new_variable(self.func.ty(*result), self.name_of(*result))?,
            };
            arguments.push(self.pointer_to(variable));
            written.push((*result, variable));
        }
        let result = self.call_function(callee, arguments, !by_value.is_empty());
        for (value, variable) in written {
            self.forget(variable);
            self.place(value, Place::Var(variable))?;
        }
        match (&by_value[..], result) {
            ([only], Some(result)) => self.place(*only, Place::Expr(result))?,
            (many, Some(base)) => {
                for (index, value) in many.iter().enumerate() {
                    let part = self.expr(Expression::AccessIndex { base, index: index as u32 });
                    self.place(*value, Place::Expr(part))?;
                }
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// The value of a function without parameters that gives one result: the first value of a `static` variable.
    pub fn first_value(&mut self, function: FuncId) -> Result<Handle<Expression>> {
        let module = self.module();
        let func = &module.funcs[function];
        let ty = func.sig.outputs().next().expect("a first value").ty;
        if !self.is_by_reference(ty) {
            return Ok(self.call_function(function, vec![], true).expect("a result by value"));
        }
        let variable = self.new_variable(ty, None)?;
        let pointer = self.pointer_to(variable);
        self.call_function(function, vec![pointer], false);
        Ok(self.load_var(variable))
    }

    fn call_function(
        &mut self,
        callee: FuncId,
        arguments: Vec<Handle<Expression>>,
        has_result: bool,
    ) -> Option<Handle<Expression>> {
        let function = self.emitter.funcs[&callee];
        let result = has_result.then(|| self.expr(Expression::CallResult(function)));
        self.statement(Statement::Call { function, arguments, result });
        result
    }
}
