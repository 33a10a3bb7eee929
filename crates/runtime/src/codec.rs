//! Between bytes in C layout and the interpreter's values.

use crate::data::Number;
use cotangent_base::Scalar;
use cotangent_interp::Val;
use cotangent_ir::layout::{self, Rules};
use cotangent_ir::{StructId, Ty, Type, Types};

/// Reads and writes values of a module's types.
#[derive(Clone, Copy)]
pub struct Codec<'t> {
    /// The types.
    pub types: &'t Types,
    /// How the bytes lie.
    pub rules: Rules,
}

impl<'t> Codec<'t> {
    /// The codec of bytes in C layout.
    pub fn new(types: &'t Types) -> Self {
        Codec { types, rules: Rules::C }
    }

    /// The same of what a sum holds.
    fn held(self) -> Self {
        Codec { rules: Rules::HELD, ..self }
    }

    /// The value of type `ty` at the start of `bytes`, which are long enough.
    pub fn decode(self, ty: Ty, bytes: &[u8]) -> Val {
        match self.types.get(ty) {
            Type::Unit => Val::Unit,
            // Where it takes a word, all of the word counts.
            Type::Scalar(Scalar::Bool) => {
                let bytes = &bytes[..self.rules.scalar_bytes(Scalar::Bool) as usize];
                read(Scalar::Bool, &[bytes.iter().any(|byte| *byte != 0).into()])
            }
            Type::Scalar(scalar) => read(scalar, bytes),
            Type::Sum(id) => self.decode_sum(id, bytes),
            _ => {
                let part = |index| {
                    let (offset, inner) = self.rules.part(self.types, ty, index)?;
                    Some(self.decode(inner, &bytes[offset as usize..]))
                };
                Val::aggregate((0..).map_while(part))
            }
        }
    }

    /// Writes `value` of type `ty` at the start of `bytes`. What was never written in the program stays as it is.
    pub fn encode(self, ty: Ty, value: &Val, bytes: &mut [u8]) {
        match (self.types.get(ty), value) {
            (Type::Scalar(scalar), value) => {
                bytes[..self.rules.scalar_bytes(scalar) as usize].fill(0);
                write(scalar, value, bytes);
            }
            (Type::Sum(id), value) => self.encode_sum(ty, id, value, bytes),
            (_, value) => {
                for (index, part) in value.parts().iter().enumerate() {
                    let Some((offset, inner)) = self.rules.part(self.types, ty, index as u32) else { return };
                    self.encode(inner, part, &mut bytes[offset as usize..]);
                }
            }
        }
    }

    /// A value of a sum type. One whose number no member has stops the program that looks at it.
    fn decode_sum(self, id: StructId, bytes: &[u8]) -> Val {
        let def = self.types.struct_def(id);
        // A sum without members consists of its ID alone, and one whose members hold resources has no bytes.
        let at = if def.ids.is_empty() { 0 } else { layout::ID as usize };
        let Some(id) = bytes.get(at..at + 4) else { return Val::unknown(0) };
        let id = read(Scalar::U32, id).as_int().unwrap_or(0) as u32;
        let Some(member) = def.ids.iter().position(|known| *known == id) else { return Val::unknown(id) };
        let value = self.held().decode(def.fields[member].ty, &bytes[layout::HEADER as usize..]);
        Val::sum(member as u32, value)
    }

    /// A value that was written takes all bytes there are for it; one that is as it was keeps what the host left beside it.
    fn encode_sum(self, ty: Ty, id: StructId, value: &Val, bytes: &mut [u8]) {
        let def = self.types.struct_def(id);
        let [tag, inner] = value.parts() else { return };
        if def.ids.is_empty() || bytes.len() < layout::HEADER as usize {
            return;
        }
        if let Some(id) = value.unknown_id() {
            return bytes[layout::ID as usize..][..4].copy_from_slice(&id.to_le_bytes());
        }
        let Some(member) = tag.as_int().map(|tag| tag as usize) else { return };
        let (Some(id), Some(field)) = (def.ids.get(member), def.fields.get(member)) else { return };
        let Some(whole) = self.rules.layout(self.types, ty).filter(|_| self.decode(ty, bytes) != *value)
        else {
            return;
        };
        bytes[..whole.size as usize].fill(0);
        bytes[layout::ID as usize..][..4].copy_from_slice(&id.to_le_bytes());
        self.held().encode(field.ty, inner, &mut bytes[layout::HEADER as usize..]);
    }

    /// The elements of a buffer.
    pub fn decode_buffer(self, elem: Ty, bytes: &[u8]) -> Val {
        Val::aggregate(bytes.chunks_exact(self.stride(elem)).map(|chunk| self.decode(elem, chunk)))
    }

    /// The bytes of a buffer whose elements are `value`; `bytes` is what they were before.
    pub fn encode_buffer(self, elem: Ty, value: &Val, bytes: &mut [u8]) {
        for (chunk, element) in bytes.chunks_exact_mut(self.stride(elem)).zip(value.parts()) {
            self.encode(elem, element, chunk);
        }
    }

    fn stride(self, elem: Ty) -> usize {
        layout::layout(self.types, elem).map_or(0, |l| l.size as usize).max(1)
    }
}

/// The numbers in `bytes`.
pub(crate) fn scalars(scalar: Scalar, bytes: &[u8]) -> impl Iterator<Item = Val> {
    bytes.chunks_exact(scalar.bytes() as usize).map(move |chunk| read(scalar, chunk))
}

/// Writes numbers one behind the other.
pub(crate) fn write_scalars(scalar: Scalar, values: &[Val], bytes: &mut [u8]) {
    for (chunk, value) in bytes.chunks_exact_mut(scalar.bytes() as usize).zip(values) {
        write(scalar, value, chunk);
    }
}

fn read(scalar: Scalar, bytes: &[u8]) -> Val {
    Val::Scalar(Number::read(scalar, bytes).constant(scalar).expect("a value fits its own type"))
}

fn write(scalar: Scalar, value: &Val, bytes: &mut [u8]) {
    if let Val::Scalar(constant) = value {
        let mut word = Vec::new();
        Number::of(*constant, scalar).write(scalar, &mut word).expect("a value fits its own type");
        bytes[..word.len()].copy_from_slice(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let codec = Codec::new(&types);
        let value = codec.decode(ty, &bytes);
        assert_eq!(value.parts()[1].parts()[1].as_float(), Some(-2.0));
        assert_eq!(value.parts()[2].parts()[1].parts()[1].as_float(), Some(-4.5));
        let mut back = vec![0u8; 32];
        codec.encode(ty, &value, &mut back);
        assert_eq!(back, bytes);
    }
}
