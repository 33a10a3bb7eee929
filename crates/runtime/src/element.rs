//! The element types of buffers.

use cotangent_base::Scalar;
use cotangent_ir::layout::Rules;
use cotangent_ir::{Module, StructId, Ty, Type, Types};
use std::sync::Arc;

/// The type of the elements of a buffer, with the types that it is made of.
#[derive(Clone, Debug)]
pub struct Element {
    module: Arc<Module>,
    ty: Ty,
}

impl Element {
    /// A type of a module.
    pub fn new(module: &Arc<Module>, ty: Ty) -> Self {
        Element { module: module.clone(), ty }
    }

    /// Single numbers.
    pub fn scalar(scalar: Scalar) -> Self {
        let mut module = Module::default();
        let ty = module.types.scalar(scalar);
        Element { module: Arc::new(module), ty }
    }

    /// The type, and the types that it is one of.
    pub fn ty(&self) -> (&Types, Ty) {
        (&self.module.types, self.ty)
    }

    /// How many bytes an element takes in C layout; `None` if it has no layout or no bytes.
    pub fn stride(&self) -> Option<usize> {
        Rules::C.stride(&self.module.types, self.ty).map(|stride| stride as usize).filter(|n| *n > 0)
    }

    /// Whether elements of `other` have the same numbers in the same places. Where it need not be `exact`, integers and
    /// floats of one size count as the same: memory is bytes.
    pub fn is_like(&self, other: &Element, exact: bool) -> bool {
        if Arc::ptr_eq(&self.module, &other.module) && self.ty == other.ty {
            return true;
        }
        let both = Both { a: &self.module.types, b: &other.module.types, exact };
        both.same(self.ty, other.ty)
    }
}

/// Types of two programs.
struct Both<'t> {
    a: &'t Types,
    b: &'t Types,
    exact: bool,
}

impl Both<'_> {
    fn same(&self, a: Ty, b: Ty) -> bool {
        match (self.a.get(a), self.b.get(b)) {
            (Type::Unit, Type::Unit) => true,
            (Type::Scalar(s), Type::Scalar(t)) => self.same_scalar(s, t),
            (Type::Vector(s, n), Type::Vector(t, m)) => n == m && self.same_scalar(s, t),
            (Type::Matrix(s, r, c), Type::Matrix(t, q, d)) => (r, c) == (q, d) && self.same_scalar(s, t),
            (Type::Array(s, n), Type::Array(t, m)) => n == m && self.same(s, t),
            (Type::Struct(s), Type::Struct(t)) => self.same_fields(s, t),
            (Type::Sum(s), Type::Sum(t)) => {
                let [s_def, t_def] = [self.a.struct_def(s), self.b.struct_def(t)];
                s_def.ids == t_def.ids && s_def.room == t_def.room && self.same_fields(s, t)
            }
            _ => false,
        }
    }

    fn same_scalar(&self, s: Scalar, t: Scalar) -> bool {
        let is_bool = [s, t].contains(&Scalar::Bool);
        s == t || !self.exact && !is_bool && s.bytes() == t.bytes()
    }

    fn same_fields(&self, s: StructId, t: StructId) -> bool {
        let [s, t] = [&self.a.struct_def(s).fields, &self.b.struct_def(t).fields];
        s.len() == t.len() && s.iter().zip(t).all(|(a, b)| self.same(a.ty, b.ty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_two_programs_are_compared_by_what_they_are_made_of() {
        let [float, word, double] = [Scalar::F32, Scalar::U32, Scalar::F64].map(Element::scalar);
        assert!(float.is_like(&Element::scalar(Scalar::F32), true));
        assert!(float.is_like(&word, false) && !float.is_like(&word, true));
        assert!(!float.is_like(&double, false));
        assert_eq!((float.stride(), double.stride()), (Some(4), Some(8)));
    }
}
