//! Predicates on types.

use cotangent_ir::{Ty, Type, Types};

/// Whether a value of this type holds an array: what is updated in place, and dear to copy.
pub(crate) fn holds_array(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Array(..) => true,
        Type::Struct(id) | Type::Sum(id) => {
            types.struct_def(id).fields.iter().any(|field| holds_array(types, field.ty))
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

/// Whether a value of this type holds a buffer or pointer.
pub(crate) fn holds_handle(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => true,
        Type::Array(elem, _) => holds_handle(types, elem),
        Type::Struct(id) | Type::Sum(id) => {
            types.struct_def(id).fields.iter().any(|field| holds_handle(types, field.ty))
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
    }
}
