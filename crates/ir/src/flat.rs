//! Derivatives in flat memory: a value as a run of floats in a buffer or array of floats.
//!
//! Input: a handle of the memory, the number of the first float, and the value or its type. A value has its floats in order, without
//! padding; what is no float takes no room. So a value of any type can be added to memory float by float, which is all that atomic
//! operations can do on every target. The memory may hold floats of another width: numbers are converted.
//!
//! ```text
//! struct { f32 a; f32x2 b[3]; i32 n; }     a  b[0].x  b[0].y  b[1].x  b[1].y  b[2].x  b[2].y
//! ```

use crate::{Atomic, AtomicKind, Builder, Const, LoopInfo, Op, Path, Ty, Type, Types, Value};
use cotangent_base::Scalar;

/// Arrays of more elements than this are accessed in a loop.
const UNROLLED: u32 = 4;

/// How many floats a value has.
pub fn floats(types: &Types, ty: Ty) -> u32 {
    match types.get(ty) {
        Type::Scalar(s) if s.is_float() => 1,
        Type::Vector(s, n) if s.is_float() => n.into(),
        Type::Matrix(s, rows, columns) if s.is_float() => u32::from(rows) * u32::from(columns),
        Type::Array(elem, n) => n * floats(types, elem),
        Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| floats(types, f.ty)).sum(),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => 0,
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 0,
    }
}

/// Whether some of them are `double`.
pub fn holds_double(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Array(elem, _) => holds_double(types, elem),
        Type::Struct(id) => types.struct_def(id).fields.iter().any(|f| holds_double(types, f.ty)),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => {
            types.scalar_of(ty) == Some(Scalar::F64)
        }
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

/// Adds a value to what is there, in one indivisible step for each float if other threads may do the same.
pub fn add(b: &mut Builder<'_>, handle: Value, at: Value, value: Value, atomic: bool) {
    each(b, value, at, &|b, value, at| {
        let value = to_memory(b, value, handle);
        if atomic {
            let add = Atomic { kind: AtomicKind::Add, path: Path::index() };
            let ty = b.ty(value);
            b.emit(Op::Atomic(add), &[handle, value, at], &[ty]);
        } else {
            let old = b.load(handle, Path::index(), &[at]);
            let new = b.add(old, value);
            b.store(handle, new, Path::index(), &[at]);
        }
    });
}

/// Replaces what is there by a value.
pub fn store(b: &mut Builder<'_>, handle: Value, at: Value, value: Value) {
    each(b, value, at, &|b, value, at| {
        let value = to_memory(b, value, handle);
        b.store(handle, value, Path::index(), &[at]);
    });
}

/// The value of type `ty` that is there. What is no float is zero.
pub fn load(b: &mut Builder<'_>, handle: Value, at: Value, ty: Ty) -> Value {
    match b.types.get(ty) {
        Type::Scalar(s) if s.is_float() => {
            let value = b.load(handle, Path::index(), &[at]);
            convert(b, value, ty)
        }
        Type::Array(elem, n) if n > UNROLLED => {
            let stride = floats(b.types, elem);
            let (count, zero) = (b.int(n.into()), b.zero(ty));
            let info = LoopInfo { max_iters: Some(n), ..LoopInfo::default() };
            let filled = b.for_(info, count, &[zero], |b, k, carried| {
                let at = element(b, at, k, stride);
                let part = load(b, handle, at, elem);
                let next = b.insert(carried[0], part, Path::index(), &[k]);
                b.yield_(&[next]);
            });
            filled[0]
        }
        Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
            let (mut skipped, mut parts) = (0, Vec::new());
            for i in 0..b.types.arity(ty).unwrap_or(0) {
                let part = b.types.part(ty, Some(i)).expect("a part for each number");
                let at = skip(b, at, skipped);
                skipped += floats(b.types, part);
                parts.push(load(b, handle, at, part));
            }
            b.pack(&parts, ty)
        }
        Type::Unit | Type::Scalar(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
            b.zero(ty)
        }
    }
}

/// Calls `act` for each float of a value, with the number of the float in memory that belongs to it.
fn each(b: &mut Builder<'_>, value: Value, at: Value, act: &dyn Fn(&mut Builder<'_>, Value, Value)) {
    let ty = b.ty(value);
    match b.types.get(ty) {
        Type::Scalar(s) if s.is_float() => act(b, value, at),
        Type::Array(elem, n) if n > UNROLLED => {
            let stride = floats(b.types, elem);
            let count = b.int(n.into());
            let info = LoopInfo { max_iters: Some(n), ..LoopInfo::default() };
            b.for_(info, count, &[], |b, k, _| {
                let part = b.extract(value, Path::index(), &[k]);
                let at = element(b, at, k, stride);
                each(b, part, at, act);
                b.yield_(&[]);
            });
        }
        Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
            let mut skipped = 0;
            for i in 0..b.types.arity(ty).unwrap_or(0) {
                let part = b.part(value, i);
                let (count, at) = (floats(b.types, b.ty(part)), skip(b, at, skipped));
                if count > 0 {
                    each(b, part, at, act);
                }
                skipped += count;
            }
        }
        Type::Unit | Type::Scalar(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {}
    }
}

/// A number as a float of the memory behind a handle.
fn to_memory(b: &mut Builder<'_>, value: Value, handle: Value) -> Value {
    let memory = b.types.get(b.ty(handle));
    let to = if let Type::Ref(array) = memory {
        b.types.part(array, None)
    } else if let Type::Buffer(elem, _) = memory {
        Some(elem)
    } else {
        None
    };
    convert(b, value, to.expect("the handle of a buffer or array"))
}

fn convert(b: &mut Builder<'_>, value: Value, to: Ty) -> Value {
    if b.ty(value) == to { value } else { b.emit1(Op::Convert, &[value], to) }
}

/// `at` and `count` further floats.
fn skip(b: &mut Builder<'_>, at: Value, count: u32) -> Value {
    if count == 0 {
        return at;
    }
    let ty = b.ty(at);
    let count = b.constant(Const::Int(count.into()), ty);
    b.add(at, count)
}

/// Where the element `k` of an array begins, whose elements have `stride` floats each.
fn element(b: &mut Builder<'_>, at: Value, k: Value, stride: u32) -> Value {
    let ty = b.ty(at);
    let k = b.emit1(Op::Bitcast, &[k], ty);
    let stride = b.constant(Const::Int(stride.into()), ty);
    let skipped = b.mul(k, stride);
    b.add(at, skipped)
}
