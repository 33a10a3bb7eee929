//! Derivatives in flat memory: a value as a run of floats in a buffer or array of floats.
//!
//! Input: a handle of the memory, the index of the first float, and the value or its type. The floats of a value are in order,
//! without padding; other scalars take no room. So a value of any type can be added to memory float by float, which is all that
//! atomic operations can do on every target. The memory may hold floats of another width: numbers are converted.
//!
//! ```text
//! struct { f32 a; f32x2 b[3]; i32 n; }     a  b[0].x  b[0].y  b[1].x  b[1].y  b[2].x  b[2].y
//! ```
//!
//! The floats of a matrix are in the order of the host's layout: [`Order`] says row-major or column-major.

use crate::layout::Matrices;
use crate::{Atomic, AtomicKind, Builder, Const, LoopInfo, Op, Path, StructId, Ty, Type, Types, Value};
use cotangent_base::{Map, Scalar};

/// Arrays of more elements than this are accessed in a loop.
const UNROLLED: u32 = 4;

/// The layout of matrices in values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The layout of those for which no structure specifies one.
    pub matrices: Matrices,
    /// The layout of fields of structures, by structure and field index.
    pub own: Map<(StructId, u32), Matrices>,
}

impl Order {
    /// All matrices have the same layout, unless their structures specify another one.
    pub fn new(matrices: Matrices) -> Order {
        Order { matrices, own: Map::default() }
    }
}

/// The layout of the parts of one value.
#[derive(Clone, Copy)]
pub struct Lie<'o> {
    order: &'o Order,
    /// The layout of matrices.
    matrices: Matrices,
    /// The distance between components of a vector: more than one in rows of a column-major matrix.
    lanes: u32,
}

impl<'o> Lie<'o> {
    /// The layout of a value that is not a part of another.
    pub const fn new(order: &'o Order) -> Lie<'o> {
        Lie { order, matrices: order.matrices, lanes: 1 }
    }

    /// The layout of a field.
    pub fn field(self, types: &Types, id: StructId, index: u32) -> Lie<'o> {
        let own = self.order.own.get(&(id, index)).copied();
        let own = own.or_else(|| types.struct_def(id).own_matrices(index as usize));
        Lie { matrices: own.unwrap_or(self.order.matrices), lanes: 1, ..self }
    }

    /// The parts of a vector, matrix or array: the distance between them, and the layout of each.
    pub fn parts(self, types: &Types, ty: Ty) -> (u32, Lie<'o>) {
        match types.get(ty) {
            Type::Vector(..) => (self.lanes, self),
            Type::Matrix(_, rows, columns) => match self.matrices {
                Matrices::Rows => (columns.into(), self),
                Matrices::Columns => (1, Lie { lanes: rows.into(), ..self }),
            },
            Type::Array(elem, _) => (floats(types, elem), self),
            Type::Unit | Type::Scalar(_) | Type::Struct(_) | Type::Sum(_) => (0, self),
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => (0, self),
        }
    }
}

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
pub fn add(b: &mut Builder<'_>, lie: Lie<'_>, (handle, at): (Value, Value), value: Value, atomic: bool) {
    each(b, lie, value, at, &|b, value, at| {
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
pub fn store(b: &mut Builder<'_>, lie: Lie<'_>, (handle, at): (Value, Value), value: Value) {
    each(b, lie, value, at, &|b, value, at| {
        let value = to_memory(b, value, handle);
        b.store(handle, value, Path::index(), &[at]);
    });
}

/// The value of type `ty` that is there. What is no float is zero.
pub fn load(b: &mut Builder<'_>, lie: Lie<'_>, (handle, at): (Value, Value), ty: Ty) -> Value {
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
                let part = load(b, lie, (handle, at), elem);
                let next = b.insert(carried[0], part, Path::index(), &[k]);
                b.yield_(&[next]);
            });
            filled[0]
        }
        Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
            let mut parts = Vec::new();
            for (i, (skipped, lie)) in (0..).zip(parts_of(b.types, lie, ty)) {
                let part = b.types.part(ty, Some(i)).expect("a part for each number");
                let at = skip(b, at, skipped);
                parts.push(load(b, lie, (handle, at), part));
            }
            b.pack(&parts, ty)
        }
        Type::Unit | Type::Scalar(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
            b.zero(ty)
        }
    }
}

/// Calls `act` for each float of a value, with the number of the float in memory that belongs to it.
fn each(
    b: &mut Builder<'_>,
    lie: Lie<'_>,
    value: Value,
    at: Value,
    act: &dyn Fn(&mut Builder<'_>, Value, Value),
) {
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
                each(b, lie, part, at, act);
                b.yield_(&[]);
            });
        }
        Type::Vector(..) | Type::Matrix(..) | Type::Array(..) | Type::Struct(_) => {
            for (i, (skipped, lie)) in (0..).zip(parts_of(b.types, lie, ty)) {
                let part = b.part(value, i);
                if floats(b.types, b.ty(part)) > 0 {
                    let at = skip(b, at, skipped);
                    each(b, lie, part, at, act);
                }
            }
        }
        Type::Unit | Type::Scalar(_) | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {}
    }
}

/// For each part of a value of this type, the number of floats before it, and its layout.
fn parts_of<'o>(types: &Types, lie: Lie<'o>, ty: Ty) -> Vec<(u32, Lie<'o>)> {
    if let Type::Struct(id) = types.get(ty) {
        let mut skipped = 0;
        let fields = types.struct_def(id).fields.iter().zip(0..);
        let field = fields.map(|(field, index)| {
            let before = skipped;
            skipped += floats(types, field.ty);
            (before, lie.field(types, id, index))
        });
        return field.collect();
    }
    let (stride, inner) = lie.parts(types, ty);
    (0..types.arity(ty).unwrap_or(0)).map(|i| (i * stride, inner)).collect()
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
