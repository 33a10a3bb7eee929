//! Emits assertions.
//!
//! A program cannot trap on a GPU. After a failed `assert`, every float that the thread stores is NaN, so that a wrong result
//! cannot go unnoticed. The host can request a report: a buffer of six words, at a binding of its choice. The first thread
//! that fails writes the number of the assertion (counted from one), its three thread indices and, if an index was compared
//! with a length, those two numbers. [`Site`] describes each assertion.

use crate::func::FuncEmitter;
use crate::{Emitter, Result, variable};
use cotangent_base::{Scalar, Span, Symbol};
use cotangent_ir::{Math, Op, Trap, Type, Value};
use naga::{Expression, Handle, Literal, Span as NoSpan, Statement, TypeInner};

/// An assertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Why the program would stop.
    pub trap: Trap,
    /// Where.
    pub span: Span,
    /// In which function.
    pub func: Symbol,
    /// What the index is, if the buffer tells one.
    pub index: Option<Scalar>,
}

/// How many bytes the buffer has that says which assertion failed.
pub const FLAG_BYTES: usize = 24;

/// The variables behind assertions.
#[derive(Clone, Copy)]
pub(crate) struct Poison {
    pub failed: Handle<naga::GlobalVariable>,
    pub nan: Handle<naga::GlobalVariable>,
    pub told: Option<Told>,
}

/// The buffer that says which assertion failed, and which thread this is.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    flag: Handle<naga::GlobalVariable>,
    thread: Handle<naga::GlobalVariable>,
}

impl Emitter<'_> {
    /// Declares the variables behind assertions; with `flag`, also the buffer bound there.
    pub fn poison_variables(&mut self, flag: Option<naga::ResourceBinding>) -> Poison {
        let word = self.plain(TypeInner::Scalar(naga::Scalar::U32));
        let nan = Expression::Literal(Literal::U32(0x7fc0_0000));
        let nan = self.out.global_expressions.append(nan, NoSpan::UNDEFINED);
        let bool = self.plain(TypeInner::Scalar(naga::Scalar::BOOL));
        let failed = self.private("assertion_failed", bool, None);
        let nan = self.private("nan_bits", word, Some(nan));
        let told = flag.map(|binding| {
            let atomic = self.plain(TypeInner::Atomic(naga::Scalar::U32));
            let words = self.array(atomic, FLAG_BYTES as u32 / 4);
            let access = naga::StorageAccess::LOAD | naga::StorageAccess::STORE;
            let space = naga::AddressSpace::Storage { access };
            let flag = variable("first_failure", space, words, Some(binding), None);
            let flag = self.out.global_variables.append(flag, NoSpan::UNDEFINED);
            let scalar = naga::Scalar::U32;
            let thread = self.plain(TypeInner::Vector { size: naga::VectorSize::Tri, scalar });
            Told { flag, thread: self.private("thread", thread, None) }
        });
        Poison { failed, nan, told }
    }

    /// A variable of the thread.
    pub fn private(
        &mut self,
        name: &str,
        ty: Handle<naga::Type>,
        init: Option<Handle<Expression>>,
    ) -> Handle<naga::GlobalVariable> {
        let var = variable(name, naga::AddressSpace::Private, ty, None, init);
        self.out.global_variables.append(var, NoSpan::UNDEFINED)
    }
}

impl FuncEmitter<'_, '_> {
    /// An entry point begins by recording its thread, if traps report it.
    pub fn note_thread(&mut self) {
        let Some(told) = self.emitter.poison.and_then(|poison| poison.told) else { return };
        let builtin = Some(naga::Binding::BuiltIn(naga::BuiltIn::GlobalInvocationId));
        let known = self.out.arguments.iter().position(|argument| argument.binding == builtin);
        let index = known.unwrap_or_else(|| {
            let (size, scalar) = (naga::VectorSize::Tri, naga::Scalar::U32);
            let ty = self.emitter.plain(TypeInner::Vector { size, scalar });
            let argument = naga::FunctionArgument { name: Some("thread_id".into()), ty, binding: builtin };
            self.out.arguments.push(argument);
            self.out.arguments.len() - 1
        });
        let value = self.expr(Expression::FunctionArgument(index as u32));
        let pointer = self.expr(Expression::GlobalVariable(told.thread));
        self.statement(Statement::Store { pointer, value });
    }

    /// What follows a failed assertion is poisoned.
    pub fn assert(&mut self, condition: Value, trap: Trap) -> Result<()> {
        let Some(poison) = self.emitter.poison else { return Ok(()) };
        let compared = self.compared(condition).filter(|_| trap == Trap::OutOfBounds);
        let index = compared.map(|[index, _]| self.index_type(index));
        self.emitter.sites.push(Site { trap, span: self.span, func: self.func.name, index });
        let site = self.emitter.sites.len() as u32;
        let compared = compared.map(|both| both.map(|v| self.value(v)));
        let condition = self.value(condition);
        let reject = self.block(|e| {
            let pointer = e.expr(Expression::GlobalVariable(poison.failed));
            let value = e.expr(Expression::Literal(Literal::Bool(true)));
            e.statement(Statement::Store { pointer, value });
            poison.told.map_or(Ok(()), |told| e.tell(told, site, compared))
        })?;
        self.statement(Statement::If { condition, accept: naga::Block::new(), reject });
        Ok(())
    }

    /// The words that a condition compares.
    fn compared(&self, condition: Value) -> Option<[Value; 2]> {
        let def = self.func.def(condition)?;
        let [a, b] = def.operands[..] else { return None };
        let word = |v| self.module().types.get(self.func.ty(v)) == Type::Scalar(Scalar::U32);
        (def.op == Op::Math(Math::Lt) && word(a) && word(b)).then_some([a, b])
    }

    /// What an index was before it was compared as a word.
    fn index_type(&self, index: Value) -> Scalar {
        let before = self.func.def(index).filter(|def| def.op == Op::Bitcast).map(|def| def.operands[0]);
        let scalar = |v| self.module().types.scalar_of(self.func.ty(v));
        before.and_then(scalar).unwrap_or(Scalar::U32)
    }

    /// The first to come writes down what failed, and who it is.
    fn tell(&mut self, told: Told, site: u32, compared: Option<[Handle<Expression>; 2]>) -> Result<()> {
        let base = self.expr(Expression::GlobalVariable(told.flag));
        let first = self.expr(Expression::AccessIndex { base, index: 0 });
        let [none, number] = [0, site].map(|n| self.expr(Expression::Literal(Literal::U32(n))));
        let old = self.exchange_if_equal(first, naga::Scalar::U32, none, number)?;
        let condition =
            self.expr(Expression::Binary { op: naga::BinaryOperator::Equal, left: old, right: none });
        let accept = self.block(|e| {
            let base = e.expr(Expression::GlobalVariable(told.flag));
            let pointer = e.expr(Expression::GlobalVariable(told.thread));
            let thread = e.expr(Expression::Load { pointer });
            for axis in 0..3 {
                let pointer = e.expr(Expression::AccessIndex { base, index: axis + 1 });
                let value = e.expr(Expression::AccessIndex { base: thread, index: axis });
                e.statement(Statement::Store { pointer, value });
            }
            for (index, value) in (4..).zip(compared.into_iter().flatten()) {
                let pointer = e.expr(Expression::AccessIndex { base, index });
                e.statement(Statement::Store { pointer, value });
            }
            Ok(())
        })?;
        self.statement(Statement::If { condition, accept, reject: naga::Block::new() });
        Ok(())
    }
}
