//! Sizes and offsets of types in memory.
//!
//! So far there is one layout, C's: what the host hands in and gets back, and what the C++ and CUDA targets
//! use. A scalar is aligned to its size, a vector or matrix to its scalar, a `bool` takes one byte, matrices
//! are stored row by row, and a structure is as large as its alignment makes it. A sum is the number of the member it is and
//! room for the largest member.
//!
//! Sizes are worked out in 64 bits, where they saturate, since a source can name arrays of arrays that no memory holds.
//! Only what is at most [`MAX_SIZE`] has a layout.

use crate::{Ty, Type, Types};
use cotangent_base::Scalar;

/// The size in bytes of the largest value.
pub const MAX_SIZE: u64 = 1 << 31;

/// How much room a type takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes, a multiple of the alignment.
    pub size: u32,
    /// Every address of it is a multiple of this.
    pub align: u32,
}

/// The C layout of `ty`. Handles have none, nor has what is too large.
pub fn layout(types: &Types, ty: Ty) -> Option<Layout> {
    let Measure { size, align, handle } = measure(types, ty, 0);
    (!handle && size <= MAX_SIZE).then_some(Layout { size: size as u32, align: align as u32 })
}

/// Whether values of type `ty` are larger than any program may hold. Here what is empty counts one byte, because
/// a billion of it is too much as well.
pub fn is_too_large(types: &Types, ty: Ty) -> bool {
    measure(types, ty, 1).size > MAX_SIZE
}

/// Where part `index` of `ty` begins, and its type. `None` if there is no such part.
pub fn part(types: &Types, ty: Ty, index: u32) -> Option<(u32, Ty)> {
    let inner = types.part(ty, Some(index))?;
    let offset = match types.get(ty) {
        Type::Struct(id) => {
            let before = types.struct_def(id).fields[..index as usize].iter().map(|f| f.ty);
            let end = before.fold(Measure::EMPTY, |all, ty| all.followed_by(measure(types, ty, 0))).size;
            round_up(end, measure(types, inner, 0).align)
        }
        _ => measure(types, inner, 0).size.saturating_mul(index.into()),
    };
    layout(types, inner)?;
    Some((u32::try_from(offset).ok()?, inner))
}

/// A layout before it is known whether there is one.
#[derive(Clone, Copy)]
struct Measure {
    size: u64,
    align: u64,
    /// Whether there is a handle in it.
    handle: bool,
}

impl Measure {
    const EMPTY: Measure = Measure { size: 0, align: 1, handle: false };

    fn scalars(s: Scalar, n: u64) -> Self {
        let align = s.bytes().into();
        Measure { size: align * n, align, handle: false }
    }

    /// Room for either.
    fn or(self, other: Self) -> Self {
        let (size, align) = (self.size.max(other.size), self.align.max(other.align));
        Measure { size: round_up(size, align), align, handle: self.handle || other.handle }
    }

    /// With one more field at the end, not yet padded.
    fn followed_by(self, field: Self) -> Self {
        Measure {
            size: round_up(self.size, field.align).saturating_add(field.size),
            align: self.align.max(field.align),
            handle: self.handle || field.handle,
        }
    }
}

fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align).unwrap_or(u64::MAX)
}

/// Measures a type. What is empty takes `least` bytes.
fn measure(types: &Types, ty: Ty, least: u64) -> Measure {
    let measure = |ty| measure(types, ty, least);
    let mut whole = match types.get(ty) {
        Type::Unit => Measure::EMPTY,
        Type::Scalar(s) => Measure::scalars(s, 1),
        Type::Vector(s, n) => Measure::scalars(s, n.into()),
        Type::Matrix(s, r, c) => Measure::scalars(s, u64::from(r) * u64::from(c)),
        Type::Array(elem, n) => {
            let elem = measure(elem);
            Measure { size: elem.size.saturating_mul(n.into()), ..elem }
        }
        Type::Struct(id) => {
            let fields = types.struct_def(id).fields.iter();
            fields.fold(Measure::EMPTY, |all, field| all.followed_by(measure(field.ty)))
        }
        Type::Sum(id) => {
            let members = types.struct_def(id).fields.iter().map(|f| measure(f.ty));
            Measure::scalars(Scalar::U32, 1).followed_by(members.fold(Measure::EMPTY, Measure::or))
        }
        Type::Buffer(..) | Type::Ref(_) => Measure { size: 8, align: 8, handle: true },
    };
    whole.size = round_up(whole.size.max(least), whole.align);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StructField;

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

    #[test]
    fn what_no_memory_holds_has_no_layout_and_overflows_nothing() {
        let mut types = Types::default();
        let float4 = types.intern(Type::Vector(Scalar::F32, 4));
        let mut ty = types.intern(Type::Array(float4, 1 << 27));
        assert_eq!(layout(&types, ty), Some(Layout { size: 1 << 31, align: 4 }));
        assert!(!is_too_large(&types, ty));
        for _ in 0..4 {
            ty = types.intern(Type::Array(ty, u32::MAX));
            let fields = ["a", "b"].map(|name| StructField { name: name.into(), ty }).to_vec();
            let id = types.add_struct("Pair".into(), fields);
            ty = types.intern(Type::Struct(id));
            assert_eq!(layout(&types, ty), None);
            assert_eq!(part(&types, ty, 1), None);
            assert!(is_too_large(&types, ty));
        }
    }

    #[test]
    fn handles_and_empty_values_count_when_there_are_too_many() {
        let mut types = Types::default();
        let float = types.scalar(Scalar::F32);
        let (unit, handle) = (types.intern(Type::Unit), types.intern(Type::Ref(float)));
        for elem in [unit, handle] {
            assert!(!is_too_large(&types, elem));
            let many = types.intern(Type::Array(elem, u32::MAX));
            assert!(is_too_large(&types, many));
        }
    }
}
