//! Lowers `reinterpret<To>(value)`, which reads the bytes of a value as another type.
//!
//! Both types are split into scalars at byte offsets, in the layout of buffers. If the value has a scalar of the same width
//! at the same offset, the result takes it. Otherwise the scalar is assembled with shifts from all scalars that it overlaps.
//! Bytes that the value does not have are zero, and bytes that the result does not have are dropped.
//!
//! ```text
//! struct A { int16_t a, b; }     %lo = convert u32 (bitcast u16 %a)
//! uint u = reinterpret<uint>(A)  %hi = shl (convert u32 (bitcast u16 %b)), 16
//!                                %u  = or %lo, %hi
//! ```

use crate::func::Frame;
use cotangent_base::{Scalar, scalar_group};
use cotangent_ir::{Builder, Const, Math, Op, Ty, Type, Types, Value, layout};

/// More scalars than this would make more code than anybody wants.
const MAX_SCALARS: usize = 4096;

impl Frame<'_, '_> {
    /// The bytes of `value` as a value of type `to`: what `createDynamicObject` makes of its data.
    pub fn reinterpret(&mut self, value: Value, to: Ty) -> Option<Value> {
        let result = reinterpret(&mut self.b(), value, to);
        if result.is_none() {
            self.unsupported("`createDynamicObject` with a resource or an interface value is");
        }
        result
    }
}

/// A scalar of a value at its place in memory.
#[derive(Clone, Copy)]
struct Leaf {
    offset: u32,
    scalar: Scalar,
    value: Value,
}

/// The bytes of `value` as a value of type `to`; none if a type has no bytes or too many.
pub(crate) fn reinterpret(b: &mut Builder<'_>, value: Value, to: Ty) -> Option<Value> {
    let from = b.ty(value);
    let size = |ty| layout::layout(b.types, ty).map(|l| l.size as usize);
    if size(from)? > MAX_SCALARS || size(to)? > MAX_SCALARS {
        return None;
    }
    if from == to {
        return Some(value);
    }
    let mut leaves = vec![];
    take_apart(b, value, 0, &mut leaves)?;
    put_together(b, to, 0, &leaves)
}

fn take_apart(b: &mut Builder<'_>, value: Value, offset: u32, leaves: &mut Vec<Leaf>) -> Option<()> {
    let ty = b.ty(value);
    if let Type::Scalar(scalar) = b.types.get(ty) {
        leaves.push(Leaf { offset, scalar, value });
        return Some(());
    }
    for (index, at) in parts(b.types, ty)?.into_iter().enumerate() {
        let part = b.part(value, index as u32);
        take_apart(b, part, offset + at.0, leaves)?;
    }
    Some(())
}

fn put_together(b: &mut Builder<'_>, ty: Ty, offset: u32, leaves: &[Leaf]) -> Option<Value> {
    if let Type::Scalar(scalar) = b.types.get(ty) {
        return Some(scalar_at(b, scalar, offset, leaves));
    }
    let mut values = vec![];
    for (at, part) in parts(b.types, ty)? {
        values.push(put_together(b, part, offset + at, leaves)?);
    }
    Some(b.pack(&values, ty))
}

/// Where the parts of an aggregate begin, and their types.
fn parts(types: &Types, ty: Ty) -> Option<Vec<(u32, Ty)>> {
    (0..types.arity(ty)?).map(|index| layout::part(types, ty, index)).collect()
}

/// The scalar that the bytes from `offset` on make.
fn scalar_at(b: &mut Builder<'_>, scalar: Scalar, offset: u32, leaves: &[Leaf]) -> Value {
    let ty = b.types.scalar(scalar);
    let same = |l: &&Leaf| l.offset == offset && l.scalar == scalar;
    if let Some(leaf) = leaves.iter().find(same) {
        return leaf.value;
    }
    let whole = unsigned(scalar);
    let word = b.types.scalar(whole);
    let end = offset + scalar.bytes();
    let mut bits = None;
    for leaf in leaves.iter().filter(|l| l.offset < end && offset < l.offset + l.scalar.bytes()) {
        let part = bits_of(b, *leaf);
        let part =
            if leaf.offset < offset { shifted(b, Math::Shr, part, offset - leaf.offset) } else { part };
        let part = converted(b, part, word);
        let part =
            if leaf.offset > offset { shifted(b, Math::Shl, part, leaf.offset - offset) } else { part };
        bits = Some(bits.map_or(part, |bits| b.math(Math::Or, &[bits, part])));
    }
    let bits = bits.unwrap_or_else(|| b.zero(word));
    match scalar {
        Scalar::Bool => converted(b, bits, ty),
        _ if scalar == whole => bits,
        scalar_group!(int | float) => b.emit1(Op::Bitcast, &[bits], ty),
    }
}

/// The unsigned integer of the width of a scalar.
fn unsigned(scalar: Scalar) -> Scalar {
    match scalar.bytes() {
        1 => Scalar::U8,
        2 => Scalar::U16,
        4 => Scalar::U32,
        _ => Scalar::U64,
    }
}

fn bits_of(b: &mut Builder<'_>, leaf: Leaf) -> Value {
    let whole = unsigned(leaf.scalar);
    let ty = b.types.scalar(whole);
    if leaf.scalar == Scalar::Bool {
        converted(b, leaf.value, ty)
    } else if leaf.scalar == whole {
        leaf.value
    } else {
        b.emit1(Op::Bitcast, &[leaf.value], ty)
    }
}

fn shifted(b: &mut Builder<'_>, math: Math, value: Value, bytes: u32) -> Value {
    let ty = b.ty(value);
    let amount = b.constant(Const::Int(i64::from(bytes) * 8), ty);
    b.math(math, &[value, amount])
}

fn converted(b: &mut Builder<'_>, value: Value, to: Ty) -> Value {
    if b.ty(value) == to { value } else { b.emit1(Op::Convert, &[value], to) }
}
