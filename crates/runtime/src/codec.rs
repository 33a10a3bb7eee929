//! Between bytes in C layout and the interpreter's values.

use crate::data::Number;
use cotangent_interp::Val;
use cotangent_ir::{Ty, Type, Types, layout};

/// The value of type `ty` at the start of `bytes`, which are long enough.
pub fn decode(types: &mut Types, ty: Ty, bytes: &[u8]) -> Val {
    if let Type::Scalar(scalar) = types.get(ty) {
        let number = Number::read(scalar, bytes);
        return Val::Scalar(number.constant(scalar).expect("a value fits its own type"));
    }
    let mut part = |index| {
        let (offset, inner) = layout::part(types, ty, index)?;
        Some(decode(types, inner, &bytes[offset as usize..]))
    };
    let parts: Vec<Val> = (0..).map_while(&mut part).collect();
    if parts.is_empty() && types.get(ty) == Type::Unit { Val::Unit } else { Val::aggregate(parts) }
}

/// Writes `value` of type `ty` at the start of `bytes`. What was never written in the program stays as it is.
pub fn encode(types: &mut Types, ty: Ty, value: &Val, bytes: &mut [u8]) {
    if let (Type::Scalar(scalar), Val::Scalar(constant)) = (types.get(ty), value) {
        let mut word = Vec::new();
        Number::of(*constant, scalar).write(scalar, &mut word).expect("a value fits its own type");
        bytes[..word.len()].copy_from_slice(&word);
        return;
    }
    for (index, part) in value.parts().iter().enumerate() {
        let Some((offset, inner)) = layout::part(types, ty, index as u32) else { return };
        encode(types, inner, part, &mut bytes[offset as usize..]);
    }
}

/// The elements of a buffer.
pub fn decode_buffer(types: &mut Types, elem: Ty, bytes: &[u8]) -> Val {
    let size = layout::layout(types, elem).map_or(0, |l| l.size as usize).max(1);
    Val::aggregate(bytes.chunks_exact(size).map(|chunk| decode(types, elem, chunk)))
}

/// The bytes of a buffer whose elements are `value`; `bytes` is what they were before.
pub fn encode_buffer(types: &mut Types, elem: Ty, value: &Val, bytes: &mut [u8]) {
    let size = layout::layout(types, elem).map_or(0, |l| l.size as usize).max(1);
    for (chunk, element) in bytes.chunks_exact_mut(size).zip(value.parts()) {
        encode(types, elem, element, chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_base::Scalar;
    use cotangent_ir::StructField;

    #[test]
    fn bytes_survive_the_way_there_and_back() {
        let mut types = Types::default();
        let (flag, unsigned) = (types.scalar(Scalar::Bool), types.scalar(Scalar::U64));
        let half2 = types.intern(Type::Vector(Scalar::F16, 2));
        let matrix = types.intern(Type::Matrix(Scalar::F32, 2, 2));
        let field = |name: &str, ty| StructField { name: name.into(), ty };
        let fields = vec![field("a", flag), field("b", half2), field("c", matrix), field("d", unsigned)];
        let id = types.add_struct("S".into(), fields);
        let ty = types.intern(Type::Struct(id));
        let mut bytes = vec![0u8; 32];
        bytes[0] = 1;
        bytes[2..6].copy_from_slice(&[0, 0x3c, 0, 0xc0]);
        for (i, x) in [1f32, 2.0, 3.0, -4.5].iter().enumerate() {
            bytes[8 + 4 * i..12 + 4 * i].copy_from_slice(&x.to_le_bytes());
        }
        bytes[24..].copy_from_slice(&u64::MAX.to_le_bytes());
        let value = decode(&mut types, ty, &bytes);
        assert_eq!(value.parts()[1].parts()[1].as_float(), Some(-2.0));
        assert_eq!(value.parts()[2].parts()[1].parts()[1].as_float(), Some(-4.5));
        let mut back = vec![0u8; 32];
        encode(&mut types, ty, &value, &mut back);
        assert_eq!(back, bytes);
    }
}
