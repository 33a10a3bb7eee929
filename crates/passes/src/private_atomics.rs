//! Replaces atomic operations on variables of one thread by a load and a store, for targets where only shared memory is atomic.
//!
//! ```text
//! global @n: ref<i32> static
//!
//! func @f(%v: i32) -> i32 {
//!   %n: ref<i32> = global @n
//!   %old: i32 = atomic add %n, %v
//!   return %old
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @n: ref<i32> static
//!
//! func @f(%v: i32) -> i32 {
//!   %n: ref<i32> = global @n
//!   %old: i32 = load %n
//!   %new: i32 = add %old, %v
//!   store %n, %new
//!   return %old
//! }
//! ```
//!
//! Atomic operations on buffers and group-shared variables stay, and so do those through a pointer of unknown origin.

use cotangent_base::Scalar;
use cotangent_ir::{Atomic, AtomicKind, Builder, Func, Global, GlobalKind, Inst, Math, Module, Op, Value};

/// Whether a module has something to replace.
pub fn has_any(module: &Module) -> bool {
    module.funcs.values().any(|func| func.all_insts().into_iter().any(|i| is_private(module, func, i)))
}

/// Makes atomic operations on variables of one thread plain accesses.
pub fn private_atomics(module: &mut Module) {
    replace(module, &is_private);
}

/// Makes atomic operations on memory of which each thread has elements of its own plain accesses.
pub fn owned_atomics(module: &mut Module, owned: &[Global]) {
    replace(module, &|_, func, inst| {
        let data = &func.insts[inst];
        let handle = data.operands.first().and_then(|handle| func.op(*handle));
        matches!(data.op, Op::Atomic(_)) && matches!(handle, Some(Op::Global(g)) if owned.contains(g))
    });
}

fn replace(module: &mut Module, is_chosen: &dyn Fn(&Module, &Func, Inst) -> bool) {
    for id in module.funcs.keys() {
        let mut func = module.detach(id);
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                func.regions[region].insts.push(inst);
                if is_chosen(module, &func, inst) {
                    let span = func.insts[inst].span;
                    split(&mut Builder { types: &mut module.types, func: &mut func, region, span }, inst);
                }
            }
        }
        module.funcs[id] = func;
    }
}

/// Whether an instruction is an atomic operation on a variable of one thread.
fn is_private(module: &Module, func: &Func, inst: Inst) -> bool {
    let data = &func.insts[inst];
    let variable = |global: Global| matches!(module.globals[global].kind, GlobalKind::Static(_));
    matches!(data.op, Op::Atomic(_))
        && matches!(func.op(data.operands[0]), Some(Op::Global(global)) if variable(*global))
}

/// Turns the instruction, which is the last of its region, into the load, and appends the rest.
fn split(b: &mut Builder<'_>, inst: Inst) {
    let data = &mut b.func.insts[inst];
    let Op::Atomic(Atomic { kind, path }) = data.op.clone() else { return };
    let operands = std::mem::take(&mut data.operands);
    let (values, indices) = operands[1..].split_at(kind.values());
    data.op = Op::Load(path.clone());
    data.operands = [&operands[..1], indices].concat().into();
    let new = replaced(b, kind, b.func.insts[inst].results[0], values);
    b.emit(Op::Store(path), &[&[operands[0], new], indices].concat(), &[]);
}

/// What becomes of `old`.
fn replaced(b: &mut Builder<'_>, kind: AtomicKind, old: Value, values: &[Value]) -> Value {
    match (kind, kind.math()) {
        (_, Some(math)) => b.math(math, &[old, values[0]]),
        (AtomicKind::CompareExchange, None) => {
            let (ours, theirs) = (bits(b, old), bits(b, values[0]));
            let same = b.math(Math::Eq, &[ours, theirs]);
            b.select(same, values[1], old)
        }
        (_, None) => values[0],
    }
}

/// The bits of a number: floats are compared by them.
fn bits(b: &mut Builder<'_>, value: Value) -> Value {
    let ty = b.ty(value);
    let bits = match b.types.scalar_of(ty) {
        Some(Scalar::F16) => Scalar::U16,
        Some(Scalar::F32) => Scalar::U32,
        Some(Scalar::F64) => Scalar::U64,
        _ => return value,
    };
    let bits = b.types.scalar(bits);
    b.emit1(Op::Bitcast, &[value], bits)
}
