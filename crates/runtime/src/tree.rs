//! Values as trees of numbers, for people and scripts to read: `{pos = [1, 2, 3], kind = 4}`.

use crate::codec::Codec;
use crate::data::Number;
use cotangent_base::Scalar;
use cotangent_interp::Val;
use cotangent_ir::{Ty, Type, layout};

/// A value and what it is made of.
#[derive(Clone, PartialEq, Debug)]
pub enum Tree {
    /// A number.
    Number(Number, Scalar),
    /// The elements of a buffer or array, the lanes of a vector, the rows of a matrix.
    List(Vec<Tree>),
    /// The fields of a structure. A value of interface type has one, named by its type.
    Fields(Vec<(String, Tree)>),
}

impl Codec<'_> {
    /// The elements of a buffer.
    pub fn buffer_tree(self, elem: Ty, bytes: &[u8]) -> Tree {
        let elements = self.decode_buffer(elem, bytes);
        Tree::List(elements.parts().iter().map(|element| self.tree(elem, element)).collect())
    }

    /// The tree of a value of type `ty`.
    pub fn tree(self, ty: Ty, value: &Val) -> Tree {
        let inner = |index: usize| layout::part(self.types, ty, index as u32).map(|(_, inner)| inner);
        match (self.types.get(ty), value.parts()) {
            (Type::Scalar(scalar), _) => match value {
                Val::Scalar(constant) => Tree::Number(Number::of(*constant, scalar), scalar),
                _ => Tree::List(vec![]),
            },
            (Type::Sum(id), [tag, held]) => {
                let member = tag.as_int().and_then(|tag| self.types.struct_def(id).fields.get(tag as usize));
                Tree::Fields(member.iter().map(|m| (m.name.to_string(), self.tree(m.ty, held))).collect())
            }
            (Type::Struct(id), parts) => {
                let fields = self.types.struct_def(id).fields.iter().zip(parts);
                Tree::Fields(fields.map(|(f, part)| (f.name.to_string(), self.tree(f.ty, part))).collect())
            }
            (_, parts) => {
                let part = |(index, part)| inner(index).map(|ty| self.tree(ty, part));
                Tree::List(parts.iter().enumerate().filter_map(part).collect())
            }
        }
    }
}

impl std::fmt::Display for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tree::Number(number, scalar) => f.write_str(&number.show(*scalar)),
            Tree::List(items) => {
                let items: Vec<String> = items.iter().map(Tree::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Tree::Fields(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, tree)| format!("{name} = {tree}")).collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
        }
    }
}
