//! How much a value takes in a context: C layout, a `bool` one byte.
//!
//! Beside [`cotangent_ir::layout`], because sizes of contexts under discussion may exceed what any program could have:
//! they are counted in 64 bits and saturate.

use cotangent_ir::{Ty, Type, Types};

/// Size and alignment in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Size, a multiple of the alignment.
    pub size: u64,
    /// Alignment.
    pub align: u64,
}

/// The layout of a type, or `None` if it holds a handle, which cannot be kept.
pub fn layout(types: &Types, ty: Ty) -> Option<Layout> {
    let scalars = |scalar: cotangent_base::Scalar, n: u64| {
        let align = u64::from(scalar.bytes());
        Some(Layout { size: align * n, align })
    };
    match types.get(ty) {
        Type::Unit => Some(Layout { size: 0, align: 1 }),
        Type::Scalar(s) => scalars(s, 1),
        Type::Vector(s, n) => scalars(s, n.into()),
        Type::Matrix(s, r, c) => scalars(s, u64::from(r) * u64::from(c)),
        Type::Array(elem, n) => {
            let Layout { size, align } = layout(types, elem)?;
            Some(Layout { size: size.saturating_mul(n.into()), align })
        }
        Type::Struct(id) => fields(types, types.struct_def(id).fields.iter().map(|f| f.ty)),
        Type::Buffer(..) | Type::Ref(_) => None,
    }
}

/// The layout of a structure with these fields.
pub fn fields(types: &Types, fields: impl Iterator<Item = Ty>) -> Option<Layout> {
    let mut all = Layout { size: 0, align: 1 };
    for ty in fields {
        let field = layout(types, ty)?;
        all.size = all.size.next_multiple_of(field.align).saturating_add(field.size);
        all.align = all.align.max(field.align);
    }
    all.size = all.size.next_multiple_of(all.align);
    Some(all)
}

/// How many scalars a value of the type has; a handle counts one.
pub fn scalars(types: &Types, ty: Ty) -> u64 {
    match types.get(ty) {
        Type::Unit => 0,
        Type::Scalar(_) | Type::Buffer(..) | Type::Ref(_) => 1,
        Type::Vector(_, n) => n.into(),
        Type::Matrix(_, r, c) => u64::from(r) * u64::from(c),
        Type::Array(elem, n) => scalars(types, elem).saturating_mul(n.into()),
        Type::Struct(id) => types.struct_def(id).fields.iter().map(|f| scalars(types, f.ty)).sum(),
    }
}
