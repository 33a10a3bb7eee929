//! Sizes and offsets of types in memory.
//!
//! So far there is one layout, C's: what the host hands in and gets back, and what the C++ and CUDA targets
//! use. A scalar is aligned to its size, a vector or matrix to its scalar, a `bool` takes one byte, matrices
//! are stored row by row, and a structure is as large as its alignment makes it.

use crate::{Ty, Type, Types};

/// How much room a type takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes, a multiple of the alignment.
    pub size: u32,
    /// Every address of it is a multiple of this.
    pub align: u32,
}

impl Layout {
    fn repeated(self, n: u32) -> Self {
        Layout { size: self.size * n, align: self.align }
    }
}

/// The C layout of `ty`. Handles have none.
pub fn layout(types: &Types, ty: Ty) -> Option<Layout> {
    Some(match types.get(ty) {
        Type::Unit => Layout { size: 0, align: 1 },
        Type::Scalar(s) => Layout { size: s.bytes(), align: s.bytes() },
        Type::Vector(s, n) => Layout { size: s.bytes(), align: s.bytes() }.repeated(n.into()),
        Type::Matrix(s, r, c) => {
            Layout { size: s.bytes(), align: s.bytes() }.repeated(u32::from(r) * u32::from(c))
        }
        Type::Array(elem, n) => layout(types, elem)?.repeated(n),
        Type::Struct(id) => {
            let (mut size, mut align) = (0, 1);
            for field in &types.struct_def(id).fields {
                let inner = layout(types, field.ty)?;
                size = u32::next_multiple_of(size, inner.align) + inner.size;
                align = align.max(inner.align);
            }
            Layout { size: size.next_multiple_of(align), align }
        }
        Type::Buffer(..) | Type::Ref(_) => return None,
    })
}

/// Where part `index` of `ty` begins, and its type. `None` if there is no such part.
pub fn part(types: &Types, ty: Ty, index: u32) -> Option<(u32, Ty)> {
    let inner = types.part(ty, Some(index))?;
    let Type::Struct(id) = types.get(ty) else {
        return Some((layout(types, inner)?.size * index, inner));
    };
    let mut offset = 0;
    for field in &types.struct_def(id).fields[..index as usize] {
        let before = layout(types, field.ty)?;
        offset = u32::next_multiple_of(offset, before.align) + before.size;
    }
    Some((offset.next_multiple_of(layout(types, inner)?.align), inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StructField;
    use cotangent_base::Scalar;

    #[test]
    fn structures_are_laid_out_as_in_c() {
        let mut types = Types::default();
        let (byte, double) = (types.scalar(Scalar::U8), types.scalar(Scalar::F64));
        let float3 = types.intern(Type::Vector(Scalar::F32, 3));
        let field = |name: &str, ty| StructField { name: name.into(), ty };
        let fields = vec![field("a", byte), field("b", float3), field("c", double), field("d", byte)];
        let id = types.add_struct("S".into(), fields);
        let s = types.intern(Type::Struct(id));
        // a at 0, b at 4 (12 bytes), c at 16, d at 24, padded to 32.
        assert_eq!(layout(&types, s), Some(Layout { size: 32, align: 8 }));
        let offsets: Vec<u32> = (0..4).map(|i| part(&types, s, i).unwrap().0).collect();
        assert_eq!(offsets, [0, 4, 16, 24]);
        let array = types.intern(Type::Array(s, 3));
        assert_eq!(part(&types, array, 2), Some((64, s)));
    }
}
