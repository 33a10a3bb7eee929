//! Shows WGSL that the threads of a group stay together where a barrier is.
//!
//! WGSL accepts a barrier under a condition or in a loop only if it sees that all threads of the group take the same way. The backward
//! half of a derivative reads trip counts and conditions from a context, a structure in which numbers that differ by thread lie
//! beside them, and WGSL takes all of them to differ. They are the same in all threads, since all threads have met at the barriers of
//! the primal half. So the threads exchange such a number through group-shared memory:
//!
//! ```text
//! together = context.trips;  let trips = workgroupUniformLoad(&together);
//! ```

use crate::Result;
use crate::func::FuncEmitter;
use cotangent_base::{Scalar, Set};
use cotangent_ir::layout::Target;
use cotangent_ir::{Func, FuncId, InstData, Module, Op, Type, Value, op_group};
use naga::{Expression, Handle, Literal, Statement, TypeInner};

impl FuncEmitter<'_, '_> {
    /// What decides which way threads take through a construct: `value`, or the same number as WGSL knows it for all of them.
    pub fn decides(&mut self, data: &InstData, value: Handle<Expression>) -> Result<Handle<Expression>> {
        let operand = data.operands[0];
        let module = self.module();
        let needed = self.emitter.target == Target::Wgsl
            && from_context(module, self.func, operand)
            && data.regions.iter().any(|region| {
                let mut waits = false;
                self.func.walk(*region, &mut |inst| waits |= meets(module, &self.func.insts[inst].op));
                waits
            });
        if needed { self.exchanged(operand, value) } else { Ok(value) }
    }

    fn exchanged(&mut self, operand: Value, value: Handle<Expression>) -> Result<Handle<Expression>> {
        let i32 = self.emitter.plain(TypeInner::Scalar(naga::Scalar::I32));
        let types = &self.module().types;
        let scalar = types.scalar_of(self.func.ty(operand));
        let word = match scalar {
            Some(Scalar::Bool) => {
                let [accept, reject] = [1, 0].map(|n| self.expr(Expression::Literal(Literal::I32(n))));
                self.expr(Expression::Select { condition: value, accept, reject })
            }
            Some(Scalar::I32) => value,
            Some(Scalar::U32) => self.word_as(value, naga::ScalarKind::Sint),
            _ => return Ok(value),
        };
        let variable = match self.emitter.together {
            Some(variable) => variable,
            None => {
                let space = naga::AddressSpace::WorkGroup;
                let variable = crate::variable("together", space, i32, None, None);
                let variable = self.emitter.out.global_variables.append(variable, naga::Span::UNDEFINED);
                *self.emitter.together.insert(variable)
            }
        };
        let pointer = self.expr(Expression::GlobalVariable(variable));
        self.statement(Statement::Store { pointer, value: word });
        let result = self.expr(Expression::WorkGroupUniformLoadResult { ty: i32 });
        self.statement(Statement::WorkGroupUniformLoad { pointer, result });
        Ok(match scalar {
            Some(Scalar::Bool) => {
                let zero = self.expr(Expression::Literal(Literal::I32(0)));
                let op = naga::BinaryOperator::NotEqual;
                self.expr(Expression::Binary { op, left: result, right: zero })
            }
            Some(Scalar::U32) => self.word_as(result, naga::ScalarKind::Uint),
            _ => result,
        })
    }

    /// The bits of a word as another kind of number.
    fn word_as(&mut self, expr: Handle<Expression>, kind: naga::ScalarKind) -> Handle<Expression> {
        self.expr(Expression::As { expr, kind, convert: None })
    }
}

/// Whether threads of a group meet in this operation, or in what it calls.
fn meets(module: &Module, op: &Op) -> bool {
    let mut open = match op {
        Op::Barrier(barrier) => return barrier.sync,
        Op::Call(callee) => vec![*callee],
        Op::DiffCall(_) | Op::LinCall(_) | op_group!(plain | control | exit) => return false,
    };
    let mut seen: Set<FuncId> = open.iter().copied().collect();
    while let Some(func) = open.pop() {
        let func = &module.funcs[func];
        for inst in func.all_insts() {
            match &func.insts[inst].op {
                Op::Barrier(barrier) if barrier.sync => return true,
                Op::Call(callee) if seen.insert(*callee) => open.push(*callee),
                op_group!(plain | call | control | exit) => {}
            }
        }
    }
    false
}

/// Whether a number is computed from a part of a structure, or from one of several results of a call, which WGSL does not tell apart
/// from the other parts.
fn from_context(module: &Module, func: &Func, value: Value) -> bool {
    let (mut open, mut seen) = (vec![value], Set::default());
    while let Some(value) = open.pop() {
        let Some(data) = func.def(value).filter(|_| seen.insert(value)) else { continue };
        match &data.op {
            Op::Extract(_) if matches!(module.types.get(func.ty(data.operands[0])), Type::Struct(_)) => {
                let base = func.op(data.operands[0]);
                if !matches!(base, Some(Op::Global(_))) {
                    return true;
                }
            }
            Op::Call(_) if data.results.len() > 1 => return true,
            Op::Math(_) | Op::Convert | Op::Bitcast | Op::Select => open.extend(&data.operands),
            op_group!(plain | call | control | exit) => {}
        }
    }
    false
}
