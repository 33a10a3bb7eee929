//! Verifies the types of operations that reach outside the function: memory, textures, pointers, effects, waves.

use super::super::{Check, Verifier, ensure};
use super::{BOOL, I32, U32, behind, integer, misfit};
use crate::texture::{Dim, Opaque, Sampling};
use crate::wave::Wave;
use crate::{Access, InstData, Op, Type};
use cotangent_base::Scalar;

pub(super) fn memory(v: &Verifier<'_>, data: &InstData, operands: &[Type], results: &[Type]) -> Check {
    match (&data.op, operands, results) {
        (Op::Load(path), [_, indices @ ..], [r]) => {
            ensure!(behind(v, data, path, indices)? == *r, "the result is not the part at that path");
        }
        (Op::Store(path), [handle, value, indices @ ..], []) => {
            ensure!(!matches!(handle, Type::Buffer(_, Access::Read)), "the buffer may only be read");
            ensure!(behind(v, data, path, indices)? == *value, "the value is not a part at that path");
        }
        (Op::Atomic(atomic), [handle, rest @ ..], [r]) if rest.len() >= atomic.kind.values() => {
            let (values, indices) = rest.split_at(atomic.kind.values());
            ensure!(!matches!(handle, Type::Buffer(_, Access::Read)), "the buffer may only be read");
            ensure!(
                matches!(r, Type::Scalar(s) if *s != Scalar::Bool),
                "only numbers are changed in one step"
            );
            let part = behind(v, data, &atomic.path, indices)?;
            let two_words = part == U32 && matches!(r, Type::Scalar(s) if s.bytes() == 8);
            ensure!(part == *r || two_words, "the result is not the part at that path");
            ensure!(values.iter().all(|value| value == r), "a value is not a part at that path");
        }
        (Op::Length, [Type::Buffer(..)], [r]) => ensure!(*r == U32, "a length is a `u32`"),
        _ => return misfit(),
    }
    Ok(())
}

pub(super) fn texture(op: &Op, operands: &[Type], results: &[Type]) -> Check {
    let [Type::Opaque(Opaque::Texture(texture)), rest @ ..] = operands else { return misfit() };
    let vector = |s, n: u8| if n == 1 { Type::Scalar(s) } else { Type::Vector(s, n) };
    let floats = |n| vector(Scalar::F32, n);
    let is_position =
        |ty: &Type| [Scalar::I32, Scalar::U32].into_iter().any(|s| *ty == vector(s, texture.position()));
    let read = texture.access == Access::Read;
    match (op, rest, results) {
        (Op::Sample(how), [Type::Opaque(sampler), at, rest @ ..], [r]) if rest.len() >= how.operands() => {
            let (rest, offset) = rest.split_at(how.operands());
            let moves = if texture.axes() == 1 { I32 } else { Type::Vector(Scalar::I32, texture.axes()) };
            let is_flat = texture.dim != Dim::Cube;
            ensure!(offset.is_empty() || is_flat && offset == [moves], "the offset does not fit the texture");
            let wanted = if how.compares() { Opaque::Comparison } else { Opaque::Sampler };
            ensure!(*sampler == wanted, "the sampler is of another kind");
            ensure!(read && texture.scalar.is_float(), "the texture cannot be sampled");
            ensure!(*at == floats(texture.coordinates()), "the coordinates do not fit the texture");
            let operand = if *how == Sampling::Gradient { floats(texture.axes()) } else { floats(1) };
            ensure!(rest.iter().all(|ty| *ty == operand), "an operand has another type");
            ensure!(how.result(*texture) == *r, "the result has another type");
        }
        (Op::Texel, [at, level @ ..], [r]) => {
            ensure!(is_position(at), "the position does not fit the texture");
            let wanted: &[Type] = if read { &[I32] } else { &[] };
            ensure!(level == wanted, "the level is not one `i32`, or there is none");
            ensure!(texture.texel() == *r, "the result is not a texel");
        }
        (Op::StoreTexel, [at, value], []) => {
            ensure!(!read, "the texture may only be read");
            ensure!(is_position(at), "the position does not fit the texture");
            ensure!(texture.texel() == *value, "the value is not a texel");
        }
        (Op::Dimensions, [level], [r]) => {
            ensure!(*level == U32 && *r == Type::Vector(Scalar::U32, 4), "dimensions are four `u32`");
        }
        _ => return misfit(),
    }
    Ok(())
}

pub(super) fn pointer(v: &Verifier<'_>, data: &InstData, operands: &[Type], results: &[Type]) -> Check {
    match (&data.op, operands, results) {
        (Op::Point(path), [_, indices @ ..], [Type::Ref(to)]) => {
            let part = behind(v, data, path, indices)?;
            ensure!(v.module.types.get(*to) == part, "the result does not point to the part at that path");
        }
        (Op::Offset, [p @ Type::Ref(_), n], [r]) => {
            ensure!(p == r, "the result must have the type of the pointer");
            ensure!(integer(*n), "the number of elements is not an integer");
        }
        (Op::Address, [Type::Ref(_) | Type::Buffer(..)], [r]) => {
            ensure!(*r == Type::Scalar(Scalar::U64), "an address is a `u64`");
        }
        (Op::Pointer, [Type::Ref(_) | Type::Scalar(Scalar::U64)], [Type::Ref(_)]) => {}
        _ => return misfit(),
    }
    Ok(())
}

pub(super) fn effect(op: &Op, operands: &[Type], results: &[Type]) -> Check {
    match (op, operands, results) {
        (Op::Barrier(_), [], []) => {}
        (Op::Print(_), values, []) => {
            ensure!(values.iter().all(|v| matches!(v, Type::Scalar(_))), "only numbers are printed");
        }
        (Op::Assert(_), [cond], []) => ensure!(*cond == BOOL, "the condition is not a `bool`"),
        (Op::Discard, [], []) => {}
        (Op::Screen(_), [a], [r]) => {
            ensure!(a == r, "the result must have the type of the operand");
            let floats =
                matches!(a, Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) if s.is_float());
            ensure!(floats, "only floats differ from pixel to pixel");
        }
        _ => return misfit(),
    }
    Ok(())
}

pub(super) fn wave(kind: Wave, operands: &[Type], results: &[Type]) -> Check {
    const U32: Type = Type::Scalar(Scalar::U32);
    let number = |ty: Type| match ty {
        Type::Scalar(s) | Type::Vector(s, _) => s != Scalar::Bool,
        Type::Unit
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => false,
    };
    match (kind, operands, results) {
        (Wave::LaneIndex | Wave::LaneCount, [], [r]) => ensure!(*r == U32, "it is a `u32`"),
        (Wave::All | Wave::Any, [BOOL], [r]) => ensure!(*r == BOOL, "the result is not a `bool`"),
        (Wave::Ballot, [BOOL], [r]) => {
            ensure!(*r == Type::Vector(Scalar::U32, 4), "a ballot is a `u32x4`");
        }
        (Wave::ReadAt, [v, U32], [r]) => ensure!(number(*v) && v == r, "a lane gives a number"),
        (Wave::And | Wave::Or | Wave::Xor, [v], [r]) => {
            ensure!(number(*v) && v == r, "a lane gives a number");
            ensure!(v.scalar().is_some_and(Scalar::is_int), "these numbers have no bits");
        }
        (Wave::Sum | Wave::Product | Wave::Min | Wave::Max, [v], [r])
        | (Wave::PrefixSum | Wave::PrefixProduct | Wave::ReadFirst, [v], [r])
        | (Wave::QuadX | Wave::QuadY | Wave::QuadDiagonal, [v], [r]) => {
            ensure!(number(*v) && v == r, "a lane gives a number");
        }
        _ => return misfit(),
    }
    Ok(())
}
