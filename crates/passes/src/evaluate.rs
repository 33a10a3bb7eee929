//! Computes scalar instructions at compile time, by the rules of [`cotangent_ir::eval`].

use crate::consts;
use cotangent_base::{Map, Scalar};
use cotangent_ir::eval::{Eval, bits, from_bits};
use cotangent_ir::{Const, Func, Inst, Op, Type, Types, Value, ValueDef};

/// What `op` gives on constants, if it is an operation on scalars and does not trap. `from` is the type of its last
/// operand, `to` that of its result.
pub(crate) fn scalar_op(eval: Eval, op: &Op, from: Scalar, to: Scalar, operands: &[Const]) -> Option<Const> {
    if let Op::Math(math) = op {
        eval.math(*math, from, operands).ok()
    } else if let (Op::Select, [Const::Bool(cond), a, b]) = (op, operands) {
        Some(if *cond { *a } else { *b })
    } else if let (Op::Convert, [a]) = (op, operands) {
        Some(eval.convert(*a, from, to))
    } else if let (Op::Bitcast, [a]) = (op, operands) {
        Some(from_bits(bits(*a, from), to))
    } else if let (Op::Detach, [a]) = (op, operands) {
        Some(*a)
    } else {
        None
    }
}

/// Values under the assumption that some of them are constants: one iteration of a loop, tried out.
pub(crate) struct Trial<'a> {
    types: &'a Types,
    func: &'a Func,
    known: Map<Value, Option<Const>>,
    eval: Eval,
}

impl<'a> Trial<'a> {
    /// Assumes that each of `values` is the constant beside it, or not known.
    pub(crate) fn new(
        types: &'a Types,
        func: &'a Func,
        values: &[Value],
        constants: &[Option<Const>],
    ) -> Self {
        Self::with(types, func, values, constants, types.eval())
    }

    /// The same, by other rules of evaluation.
    pub(crate) fn with(
        types: &'a Types,
        func: &'a Func,
        values: &[Value],
        constants: &[Option<Const>],
        eval: Eval,
    ) -> Self {
        let known = values.iter().copied().zip(constants.iter().copied()).collect();
        Trial { types, func, known, eval }
    }

    /// What `value` is then.
    pub(crate) fn value(&mut self, value: Value) -> Option<Const> {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let result = self.compute(value);
        self.known.insert(value, result);
        result
    }

    fn compute(&mut self, value: Value) -> Option<Const> {
        if let Some(constant) = consts::constant(self.types, self.func, value) {
            return Some(constant);
        }
        let ValueDef::Result(inst, number) = self.func.values[value].def else {
            return None;
        };
        if let Op::If | Op::Switch(_) = self.func.insts[inst].op {
            return self.agreed(inst, number as usize);
        }
        let (from, to) = scalars(self.types, self.func, inst)?;
        let operands = self.func.insts[inst].operands.clone();
        let constants = operands.iter().map(|v| self.value(*v)).collect::<Option<Vec<_>>>()?;
        scalar_op(self.eval, &self.func.insts[inst].op, from, to, &constants)
    }

    /// The result of a branch, if all its arms give the same. While a function is rewritten, an arm may be empty.
    fn agreed(&mut self, branch: Inst, number: usize) -> Option<Const> {
        let func = self.func;
        let exits: Option<Vec<Inst>> = func.insts[branch]
            .regions
            .iter()
            .map(|region| func.regions[*region].insts.last().copied())
            .collect();
        let exits = exits?.into_iter().map(|exit| &func.insts[exit]);
        let mut given =
            exits.filter(|exit| exit.op == Op::Yield).map(|exit| self.value(exit.operands[number]));
        let first = given.next()??;
        given.all(|other| other == Some(first)).then_some(first)
    }
}

/// The types of the last operand and of the result of an instruction without regions, if both are scalars.
fn scalars(types: &Types, func: &Func, inst: Inst) -> Option<(Scalar, Scalar)> {
    let data = &func.insts[inst];
    let scalar = |value: &Value| {
        if let Type::Scalar(scalar) = types.get(func.ty(*value)) { Some(scalar) } else { None }
    };
    let [result] = &data.results[..] else { return None };
    if !data.regions.is_empty() {
        return None;
    }
    Some((scalar(data.operands.last()?)?, scalar(result)?))
}
