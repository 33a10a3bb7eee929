//! Emits atomic operations and barriers.
//!
//! In WGSL, the type of memory says which numbers are atomic. If a buffer or variable has atomic accesses, all its 32-bit
//! scalars (except components of vectors) are declared atomic, and values of that type are read and written scalar by scalar.
//! WGSL has only atomic integers, so a float is stored as its bits. An atomic operation on integers is one WGSL operation.
//! One on floats is a loop that retries until no other thread has interfered:
//!
//! ```text
//! old = load(place)
//! loop { result = compare_exchange_weak(place, old, bits(f(float(old), v)))  break if result.exchanged  old = result.old }
//! ```
//!
//! The same loop turns the weak exchange, which may fail spuriously, into one that does not.

use crate::func::FuncEmitter;
use crate::refuse::refuse;
use crate::{Emitter, Result};
use cotangent_base::{Diagnostic, EntitySet, Scalar, Span};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{
    Atomic, AtomicKind, Barrier, FuncId, Global, InstData, Memory, Module, Op, Ty, Type, Value, type_group,
};
use naga::{AtomicFunction, Block, Expression, Handle, ScalarKind, Statement, TypeInner};

type Expr = Handle<Expression>;

/// The globals that atomic operations of `funcs` are done on, and those of which they change components of vectors.
pub(crate) fn atomics(module: &Module, funcs: &[FuncId]) -> (EntitySet<Global>, EntitySet<Global>) {
    let (mut found, mut lanes) = (EntitySet::new(), EntitySet::new());
    for func in funcs.iter().map(|f| &module.funcs[*f]) {
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            if let (Op::Atomic(atomic), Some(Op::Global(global))) =
                (&data.op, data.operands.first().and_then(|v| func.op(*v)))
            {
                found.insert(*global);
                if leads_to_lane(module, module.globals[*global].ty, atomic) {
                    lanes.insert(*global);
                }
            }
        }
    }
    (found, lanes)
}

/// Whether a path ends in a component of a vector, which cannot be atomic.
fn leads_to_lane(module: &Module, ty: Ty, atomic: &Atomic) -> bool {
    let types = &module.types;
    let Some((_, outer)) = atomic.path.0.split_last() else { return false };
    if outer.is_empty() && matches!(types.get(ty), Type::Buffer(..)) {
        return false;
    }
    let around = types.part_at(ty, &cotangent_ir::Path(outer.into()));
    around.is_some_and(|ty| matches!(types.get(ty), Type::Vector(..)))
}

/// The integers that a number is kept as, if it can be atomic.
fn atomic_scalar(ty: Type) -> Option<naga::Scalar> {
    match ty {
        Type::Scalar(Scalar::I32) => Some(naga::Scalar::I32),
        Type::Scalar(Scalar::U32 | Scalar::F32) => Some(naga::Scalar::U32),
        type_group!(unit | number | composite | handle) => None,
    }
}

impl Emitter<'_> {
    /// The type of a value in atomic memory.
    pub fn atomic_ty(&mut self, ty: Ty, span: Span) -> Result<Handle<naga::Type>> {
        let shape = self.module.types.get(ty);
        if let Some(scalar) = atomic_scalar(shape) {
            return Ok(self.plain(TypeInner::Atomic(scalar)));
        }
        let ty = match shape {
            Type::Array(elem, n) => {
                let elem = self.atomic_ty(elem, span)?;
                self.array(elem, n)
            }
            Type::Struct(id) => {
                let def = self.module.types.struct_def(id);
                let mut fields = Vec::new();
                for field in &def.fields {
                    fields.push((field.name.to_string(), self.atomic_ty(field.ty, span)?));
                }
                self.structure_of(&format!("{}_atomic", crate::func::plain_name(def.name)), fields)
            }
            Type::Sum(_) | type_group!(unit | number | handle) => return self.ty(ty, span),
        };
        self.sized(ty, span)?;
        Ok(ty)
    }

    /// The type of a whole buffer in atomic memory.
    pub fn atomic_buffer(&mut self, elem: Ty, span: Span) -> Result<Handle<naga::Type>> {
        let base = self.atomic_ty(elem, span)?;
        Ok(self.runtime_array_of(base))
    }
}

impl FuncEmitter<'_, '_> {
    /// Whether a handle leads to memory that is declared atomic.
    pub fn is_atomic(&self, handle: Value) -> bool {
        matches!(self.func.op(handle), Some(Op::Global(global)) if self.emitter.atomics.contains(*global))
    }

    /// The parts of a value in atomic memory; none of a number.
    fn atomic_parts(&self, ty: Ty) -> Vec<Ty> {
        let types = &self.module().types;
        match types.get(ty) {
            Type::Array(elem, n) => vec![elem; n as usize],
            Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| f.ty).collect(),
            Type::Sum(_) | type_group!(unit | number | handle) => vec![],
        }
    }

    pub fn load_atomic(&mut self, pointer: Expr, ty: Ty) -> Result<Expr> {
        let parts = self.atomic_parts(ty);
        if parts.is_empty() {
            let value = self.expr(Expression::Load { pointer });
            return Ok(self.number_of(value, ty, self.kept_as(ty)));
        }
        let mut values = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            let inner = self.expr(Expression::AccessIndex { base: pointer, index: index as u32 });
            values.push(self.load_atomic(inner, part)?);
        }
        self.compose(ty, values)
    }

    pub fn store_atomic(&mut self, pointer: Expr, ty: Ty, value: Expr) -> Result<()> {
        let parts = self.atomic_parts(ty);
        if parts.is_empty() {
            let value = self.word_of(value, ty, self.kept_as(ty));
            self.statement(Statement::Store { pointer, value });
            return Ok(());
        }
        for (index, part) in parts.into_iter().enumerate() {
            let index = index as u32;
            let inner = self.expr(Expression::AccessIndex { base: pointer, index });
            let part_value = self.expr(Expression::AccessIndex { base: value, index });
            self.store_atomic(inner, part, part_value)?;
        }
        Ok(())
    }

    /// What a number is kept as where the target knows its type.
    fn kept_as(&self, ty: Ty) -> naga::Scalar {
        atomic_scalar(self.module().types.get(ty)).unwrap_or(naga::Scalar::U32)
    }

    fn is_float(&self, ty: Ty) -> bool {
        self.module().types.get(ty) == Type::Scalar(Scalar::F32)
    }

    /// What a number is kept as in atomic memory of `scalar`.
    fn word_of(&mut self, value: Expr, ty: Ty, scalar: naga::Scalar) -> Expr {
        match self.module().types.get(ty) {
            Type::Scalar(Scalar::F32) => {
                self.expr(Expression::As { expr: value, kind: scalar.kind, convert: None })
            }
            Type::Scalar(Scalar::I32) if scalar == naga::Scalar::U32 => {
                self.expr(Expression::As { expr: value, kind: scalar.kind, convert: None })
            }
            type_group!(unit | number | composite | handle) => value,
        }
    }

    /// The number that is kept as `value` in atomic memory of `scalar`.
    fn number_of(&mut self, value: Expr, ty: Ty, scalar: naga::Scalar) -> Expr {
        let kind = match self.module().types.get(ty) {
            Type::Scalar(Scalar::F32) => ScalarKind::Float,
            Type::Scalar(Scalar::I32) if scalar == naga::Scalar::U32 => ScalarKind::Sint,
            type_group!(unit | number | composite | handle) => return value,
        };
        self.expr(Expression::As { expr: value, kind, convert: None })
    }

    /// An atomic operation; gives what was there before.
    pub fn atomic(&mut self, data: &InstData, atomic: &Atomic) -> Result<Expr> {
        let (handle, ty) = (data.operands[0], self.func.ty(data.results[0]));
        let shape = self.module().types.get(ty);
        let words = self.words_of(handle);
        if words.is_none() && leads_to_lane(self.module(), self.func.ty(handle), atomic) {
            let what =
                "an atomic operation on a component of a vector in `groupshared` memory is not supported";
            return refuse(Feature::OtherAtomic, self.span, what)
                .map_err(|refusal: Box<Diagnostic>| Box::new(refusal.help("declare an array of scalars")));
        }
        let Some(scalar) = atomic_scalar(shape).filter(|_| self.is_atomic(handle)) else {
            let what = "an atomic operation on this type is not supported";
            return refuse(Feature::OtherAtomic, self.span, what);
        };
        let (values, indices) = data.operands[1..].split_at(atomic.kind.values());
        let pointer = match words {
            Some(words) => {
                let (at, _) = self.follow(words, self.pointee(handle), &atomic.path, indices)?;
                self.atomic_word(at)
            }
            None => {
                let base = self.value(handle);
                self.access(base, self.pointee(handle), &atomic.path, indices)?
            }
        };
        // Memory of words holds all numbers as unsigned ones.
        let signed = scalar == naga::Scalar::I32 && words.is_some();
        let scalar = if signed { naga::Scalar::U32 } else { scalar };
        let mut values: Vec<Expr> = values.iter().map(|v| self.value(*v)).collect();
        if let (Some(poison), Some(new)) = (self.emitter.poison, values.last_mut()) {
            *new = self.poisoned(*new, ty, poison)?;
        }
        let fun = match atomic.kind {
            AtomicKind::CompareExchange => {
                let [expected, new] = [values[0], values[1]].map(|v| self.word_of(v, ty, scalar));
                let old = self.exchange_if_equal(pointer, scalar, expected, new)?;
                return Ok(self.number_of(old, ty, scalar));
            }
            AtomicKind::Exchange => AtomicFunction::Exchange { compare: None },
            _ if self.is_float(ty) => return self.update(pointer, scalar, atomic.kind, values[0], ty),
            AtomicKind::Min | AtomicKind::Max if signed => {
                return self.update(pointer, scalar, atomic.kind, values[0], ty);
            }
            AtomicKind::Add => AtomicFunction::Add,
            AtomicKind::And => AtomicFunction::And,
            AtomicKind::Or => AtomicFunction::InclusiveOr,
            AtomicKind::Xor => AtomicFunction::ExclusiveOr,
            AtomicKind::Min => AtomicFunction::Min,
            AtomicKind::Max => AtomicFunction::Max,
        };
        let value = self.word_of(values[0], ty, scalar);
        let result_ty = self.emitter.plain(TypeInner::Scalar(scalar));
        let result = self.expr(Expression::AtomicResult { ty: result_ty, comparison: false });
        self.statement(Statement::Atomic { pointer, fun, value, result: Some(result) });
        Ok(self.number_of(result, ty, scalar))
    }

    /// One try: what was there, and whether it was exchanged.
    fn try_exchange(&mut self, pointer: Expr, scalar: naga::Scalar, compare: Expr, value: Expr) -> [Expr; 2] {
        let kind = naga::PredeclaredType::AtomicCompareExchangeWeakResult(scalar);
        let ty = self.emitter.out.generate_predeclared_type(kind);
        let result = self.expr(Expression::AtomicResult { ty, comparison: true });
        let fun = AtomicFunction::Exchange { compare: Some(compare) };
        self.statement(Statement::Atomic { pointer, fun, value, result: Some(result) });
        [0, 1].map(|index| self.expr(Expression::AccessIndex { base: result, index }))
    }

    /// Writes `new` if `expected` is there; gives what was there.
    pub fn exchange_if_equal(
        &mut self,
        pointer: Expr,
        scalar: naga::Scalar,
        expected: Expr,
        new: Expr,
    ) -> Result<Expr> {
        let word = self.emitter.plain(TypeInner::Scalar(scalar));
        let found = self.new_naga_variable(word, None);
        let body = self.repeated(|e| {
            let [old, exchanged] = e.try_exchange(pointer, scalar, expected, new);
            e.store_var(found, old);
            let differs =
                e.expr(Expression::Binary { op: naga::BinaryOperator::NotEqual, left: old, right: expected });
            let done = e.expr(Expression::Binary {
                op: naga::BinaryOperator::LogicalOr,
                left: exchanged,
                right: differs,
            });
            e.break_if(done);
            Ok(())
        })?;
        self.statement(Statement::Loop { body, continuing: Block::new(), break_if: None });
        Ok(self.load_var(found))
    }

    /// Tries until no other thread has come between.
    fn update(
        &mut self,
        pointer: Expr,
        scalar: naga::Scalar,
        kind: AtomicKind,
        value: Expr,
        ty: Ty,
    ) -> Result<Expr> {
        let word = self.emitter.plain(TypeInner::Scalar(scalar));
        let seen = self.new_naga_variable(word, None);
        let first = self.expr(Expression::Load { pointer });
        self.store_var(seen, first);
        let body = self.repeated(|e| {
            let bits = e.load_var(seen);
            let old = e.number_of(bits, ty, scalar);
            let math = |fun| Expression::Math { fun, arg: old, arg1: Some(value), arg2: None, arg3: None };
            let new = match kind {
                AtomicKind::Add => {
                    Expression::Binary { op: naga::BinaryOperator::Add, left: old, right: value }
                }
                AtomicKind::Min => math(naga::MathFunction::Min),
                AtomicKind::Max => math(naga::MathFunction::Max),
                AtomicKind::And
                | AtomicKind::Or
                | AtomicKind::Xor
                | AtomicKind::Exchange
                | AtomicKind::CompareExchange => {
                    let what = "an atomic operation on the bits of a float is not supported";
                    return refuse(Feature::OtherAtomic, e.span, what);
                }
            };
            let new = e.expr(new);
            let new = e.word_of(new, ty, scalar);
            let [found, exchanged] = e.try_exchange(pointer, scalar, bits, new);
            e.store_var(seen, found);
            e.break_if(exchanged);
            Ok(())
        })?;
        self.statement(Statement::Loop { body, continuing: Block::new(), break_if: None });
        let old = self.load_var(seen);
        Ok(self.number_of(old, ty, scalar))
    }

    /// WGSL has no barrier that orders without waiting; what only orders waits for nobody here, so it must not be
    /// emitted as one that does. Atomic and ordinary accesses of one thread stay in order anyway.
    pub fn barrier(&mut self, barrier: Barrier) {
        let flags = match barrier.memory {
            Memory::Group => naga::Barrier::WORK_GROUP,
            Memory::Device => naga::Barrier::STORAGE,
            Memory::All => naga::Barrier::WORK_GROUP | naga::Barrier::STORAGE,
        };
        if barrier.sync {
            self.statement(Statement::ControlBarrier(flags));
        }
    }
}
