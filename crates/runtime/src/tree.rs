//! Values as trees of numbers, for people and scripts to read: `{pos = [1, 2, 3], kind = 4}`.

use crate::data::Number;
use cotangent_base::Scalar;
use cotangent_ir::layout::{self, Rules};
use cotangent_ir::{StructId, Ty, Type, Types, type_group};

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

impl Tree {
    /// The value of type `ty` at the start of `bytes`, which are long enough and in C layout.
    pub fn of(types: &Types, ty: Ty, bytes: &[u8]) -> Tree {
        Reader { types, rules: Rules::C }.tree(ty, bytes)
    }

    /// The elements of a buffer.
    pub fn of_buffer(types: &Types, elem: Ty, bytes: &[u8]) -> Tree {
        let stride = layout::layout(types, elem).map_or(0, |l| l.size as usize).max(1);
        Tree::List(bytes.chunks_exact(stride).map(|chunk| Tree::of(types, elem, chunk)).collect())
    }
}

#[derive(Clone, Copy)]
struct Reader<'t> {
    types: &'t Types,
    rules: Rules,
}

impl Reader<'_> {
    fn tree(self, ty: Ty, bytes: &[u8]) -> Tree {
        match self.types.get(ty) {
            // Where it takes a word, all of the word counts.
            Type::Scalar(Scalar::Bool) => {
                let bytes = &bytes[..self.rules.scalar_bytes(Scalar::Bool) as usize];
                let holds = bytes.iter().any(|byte| *byte != 0);
                Tree::Number(Number::Int(holds.into()), Scalar::Bool)
            }
            Type::Scalar(scalar) => Tree::Number(Number::read(scalar, bytes), scalar),
            Type::Ref(_) => Tree::Number(Number::read(Scalar::U64, bytes), Scalar::U64),
            Type::Sum(id) => Tree::Fields(self.member(id, bytes).into_iter().collect()),
            Type::Struct(id) => {
                let fields = self.types.struct_def(id).fields.iter().zip(self.parts(ty, bytes));
                Tree::Fields(fields.map(|(field, part)| (field.name.to_string(), part)).collect())
            }
            Type::Array(..) | type_group!(unit | number | handle) => Tree::List(self.parts(ty, bytes)),
        }
    }

    fn parts(self, ty: Ty, bytes: &[u8]) -> Vec<Tree> {
        let part = |index| {
            let (offset, inner) = self.rules.part(self.types, ty, index)?;
            Some(self.tree(inner, &bytes[offset as usize..]))
        };
        (0..).map_while(part).collect()
    }

    /// What a value of interface type holds, if its type is known.
    fn member(self, id: StructId, bytes: &[u8]) -> Option<(String, Tree)> {
        let def = self.types.struct_def(id);
        let word = bytes.get(layout::ID as usize..)?.first_chunk()?;
        let member = def.ids.iter().position(|known| *known == u32::from_le_bytes(*word))?;
        let field = &def.fields[member];
        let held = Reader { rules: Rules::HELD, ..self };
        Some((field.name.to_string(), held.tree(field.ty, &bytes[layout::HEADER as usize..])))
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
