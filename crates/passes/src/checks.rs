//! Inserts tests of indices and divisors, for targets where they do not trap.
//!
//! ```text
//! func @f(%a: [f32; 4], %i: i32) -> f32 {
//!   %x: f32 = extract %a [%i]
//!   return %x
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%a: [f32; 4], %i: i32) -> f32 {
//!   %u: u32 = bitcast %i
//!   %n: u32 = const 4
//!   %inside: bool = lt %u, %n
//!   assert out_of_bounds %inside
//!   %x: f32 = extract %a [%i]
//!   return %x
//! }
//! ```
//!
//! Indices that are provably in bounds and divisors that are provably nonzero are not tested. The target decides what happens
//! after a failed test; this pass does not prevent the access.

use crate::bounds::Bounds;
use cotangent_base::Scalar;
use cotangent_ir::{Builder, Const, Func, Inst, Math, Module, Op, Path, Trap, Ty, Type, Types, Value};

/// Tests every index and divisor of the module.
pub fn checks(module: &mut Module) {
    for func in module.funcs.values_mut() {
        let bounds = Bounds::of(func);
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                let span = func.insts[inst].span;
                let mut b = Builder { types: &mut module.types, func, region, span };
                check(&mut b, &bounds, inst);
                func.regions[region].insts.push(inst);
            }
        }
    }
}

fn check(b: &mut Builder<'_>, bounds: &Bounds, inst: Inst) {
    let data = &b.func.insts[inst];
    let operands = data.operands.clone();
    if let Op::Math(Math::Div | Math::Rem) = data.op {
        divisor(b, operands[1]);
        return;
    }
    let Some(path) = data.op.path().filter(|path| path.indices() > 0).cloned() else { return };
    // A pointer is tested where it is followed.
    if !matches!(data.op, Op::Point(_)) {
        let indices = &operands[operands.len() - path.indices()..];
        path_of(b, bounds, operands[0], &path, indices);
    }
}

/// Tests the indices of a path that begins at `base`.
fn path_of(b: &mut Builder<'_>, bounds: &Bounds, base: Value, path: &Path, indices: &[Value]) {
    let own = b.func.ty(base);
    let mut ty = if let Type::Ref(inner) = b.types.get(own) { inner } else { own };
    let mut indices = indices.iter();
    for step in &path.0 {
        let known = step.known();
        if known.is_none() {
            let Some(index) = indices.next() else { return };
            let length = b.types.arity(ty);
            if !length.is_some_and(|n| bounds.is_below(b.types, b.func, *index, n)) {
                index_of(b, base, length, *index);
            }
        }
        let Some(part) = part(b.types, ty, known) else { return };
        ty = part;
    }
}

fn part(types: &Types, ty: Ty, index: Option<u32>) -> Option<Ty> {
    match types.get(ty) {
        Type::Buffer(elem, _) => Some(elem),
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Opaque(_)
        | Type::Ref(_) => types.part(ty, index),
    }
}

/// Tests an index into so many elements, or into the buffer `base`.
fn index_of(b: &mut Builder<'_>, base: Value, length: Option<u32>, index: Value) {
    let Some(scalar) = b.types.scalar_of(b.func.ty(index)) else { return };
    let wide = scalar.bits() == 64;
    let unsigned = b.types.scalar(if wide { Scalar::U64 } else { Scalar::U32 });
    let index = match (scalar.is_signed(), scalar.bits()) {
        (true, 32 | 64) => b.emit1(Op::Bitcast, &[index], unsigned),
        (false, 32 | 64) => index,
        // A narrow index keeps its sign on the way, so that a negative one becomes large.
        _ => {
            let int = b.types.scalar(Scalar::I32);
            let index = b.emit1(Op::Convert, &[index], int);
            b.emit1(Op::Bitcast, &[index], unsigned)
        }
    };
    let length = match length {
        Some(n) => b.constant(Const::Int(n.into()), unsigned),
        None => {
            let u32 = b.types.scalar(Scalar::U32);
            let length = b.emit1(Op::Length, &[base], u32);
            if wide { b.emit1(Op::Convert, &[length], unsigned) } else { length }
        }
    };
    let inside = b.math(Math::Lt, &[index, length]);
    b.emit(Op::Assert(Trap::OutOfBounds), &[inside], &[]);
}

/// Tests that no lane of a divisor is zero. Floats may be divided by zero.
fn divisor(b: &mut Builder<'_>, divisor: Value) {
    let ty = b.func.ty(divisor);
    let Some(scalar) = b.types.scalar_of(ty).filter(|s| s.is_int()) else { return };
    match b.types.get(ty) {
        Type::Scalar(_) => {
            if matches!(b.func.op(divisor), Some(Op::Const(Const::Int(n))) if *n != 0) {
                return;
            }
            let ty = b.types.scalar(scalar);
            let zero = b.constant(Const::Int(0), ty);
            let fine = b.math(Math::Ne, &[divisor, zero]);
            b.emit(Op::Assert(Trap::DivisionByZero), &[fine], &[]);
        }
        Type::Unit
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => {
            if is_known(b.func, divisor) {
                return;
            }
            for index in 0..b.types.arity(ty).unwrap_or(0) {
                let lane = b.part(divisor, index);
                self::divisor(b, lane);
            }
        }
    }
}

/// Whether every lane is a constant that is not zero.
fn is_known(func: &Func, value: Value) -> bool {
    match func.def(value).map(|def| (&def.op, &def.operands)) {
        Some((Op::Const(Const::Int(n)), _)) => *n != 0,
        Some((Op::Pack | Op::Splat, operands)) => operands.iter().all(|v| is_known(func, *v)),
        _ => false,
    }
}
