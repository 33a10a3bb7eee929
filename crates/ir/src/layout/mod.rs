//! Sizes and offsets of types in memory, and bindings of shader parameters.
//!
//! [`Rules`] are the sets of layout rules, [`Target`] says which target uses which, and [`bind`] assigns bindings. Host
//! memory has C layout: a scalar is aligned to its size, a vector or matrix to its scalar, a `bool` takes one byte, matrices
//! are row-major, and the size of a structure is a multiple of its alignment. A sum in host memory is a header followed by
//! data words: as many as its interface specifies, or as its largest member needs. Functions here that take no rules use C
//! layout.
//!
//! Sizes are computed in 64 bits and saturate, since a program can declare arrays larger than any memory. Only types of at
//! most [`MAX_SIZE`] have a layout.

pub mod bind;
mod repack;
mod rules;
mod target;

pub use repack::{Move, Repack};
pub use rules::{Matrices, Rules, Set};
pub use target::{Memory, Target};

use crate::{Ty, Types};

/// The size in bytes of the largest value.
pub const MAX_SIZE: u64 = 1 << 31;

/// The bytes before what a sum holds, where the host sees it: two words for the host, the number of the member, and a word
/// that is zero.
pub const HEADER: u32 = 16;

/// Where in that the number of the member is.
pub const ID: u32 = 8;

/// What has more parts than this, written out, is too large as well: nobody could visit them.
const MAX_WEIGHT: u64 = 1 << 20;

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
    Rules::C.layout(types, ty)
}

/// Whether values of type `ty` are larger than any program may hold. Here what is empty counts one byte, because
/// a billion of it is too much as well.
pub fn is_too_large(types: &Types, ty: Ty) -> bool {
    Rules::C.measure(types, ty, 1).size > MAX_SIZE
}

/// Where part `index` of `ty` begins in C layout, and its type. `None` if there is no such part.
pub fn part(types: &Types, ty: Ty, index: u32) -> Option<(u32, Ty)> {
    Rules::C.part(types, ty, index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StructField, Type};
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

    #[test]
    fn a_structure_that_holds_the_one_before_twice_is_measured_in_time() {
        let mut types = Types::default();
        let mut ty = types.scalar(Scalar::F32);
        for _ in 0..100 {
            let fields = ["a", "b"].map(|name| StructField { name: name.into(), ty }).to_vec();
            let id = types.add_struct("S".into(), fields);
            ty = types.intern(Type::Struct(id));
        }
        assert!(is_too_large(&types, ty));
        assert_eq!(layout(&types, ty), None);
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
