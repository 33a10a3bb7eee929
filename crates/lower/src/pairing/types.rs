//! The types of companions.
//!
//! | type                       | of its companion                                              |
//! |----------------------------|---------------------------------------------------------------|
//! | a pointer type `P`         | `P.Differential`                                              |
//! | an array of `T`            | an array of companions of `T`                                 |
//! | another structure or tuple | a structure of the companions of those fields that have one   |
//! | a value of interface type  | none, although it may hold a pointer                          |

use crate::instance::Lowerer;
use cotangent_base::{Span, Symbol};
use cotangent_ir::{Path, Step, StructField, StructId, Ty, Type};
use cotangent_sema::hir;

impl Lowerer<'_> {
    /// The type of the companions of a type's values, if they have any.
    pub(super) fn companion(&mut self, ty: Ty) -> Option<Ty> {
        if let Some(&known) = self.pairing.companions.get(&ty) {
            return known;
        }
        let companion = match self.module.types.get(ty) {
            Type::Array(elem, n) => {
                let elem = self.companion(elem);
                elem.map(|elem| self.module.types.intern(Type::Array(elem, n)))
            }
            Type::Struct(id) => self.companion_of_struct(id),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => None,
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => None,
        };
        self.pairing.companions.insert(ty, companion);
        companion
    }

    fn companion_of_struct(&mut self, id: StructId) -> Option<Ty> {
        match self.pointer(id) {
            Pointer::Pair => return None,
            Pointer::Yes(pair) => {
                let pair = self.lower_ty(pair, Span::none());
                return self.pair_parts(pair).map(|(_, differential)| differential);
            }
            Pointer::No => {}
        }
        let def = self.module.types.struct_def(id).clone();
        let mut fields = Vec::new();
        for StructField { name, ty } in def.fields {
            let companion = self.companion(ty);
            fields.extend(companion.map(|ty| StructField { name, ty }));
        }
        if fields.is_empty() {
            return None;
        }
        let name = Symbol::new(&format!("{}Derivatives", def.name));
        let id = self.module.types.add_struct(name, fields);
        Some(self.module.types.defined(id))
    }

    /// What a structure is among pointers.
    fn pointer(&mut self, id: StructId) -> Pointer {
        if let Some(&known) = self.pairing.pointers.get(&id) {
            return known;
        }
        let lowered = self.module.types.find(Type::Struct(id));
        let pointer = match lowered.and_then(|lowered| self.types.source(lowered)) {
            Some(ty) if self.queries.is_pointer_pair(ty) => Pointer::Pair,
            Some(ty) => self.queries.pointer_pair(ty).map_or(Pointer::No, Pointer::Yes),
            None => Pointer::No,
        };
        self.pairing.pointers.insert(id, pointer);
        pointer
    }

    /// Whether values of a type are pointers or hold some, also where no companion can be.
    pub(super) fn holds_pointer(&mut self, ty: Ty) -> bool {
        match self.module.types.get(ty) {
            Type::Sum(id) => {
                let members: Vec<Ty> = self.module.types.struct_def(id).fields.iter().map(|f| f.ty).collect();
                members.into_iter().any(|member| self.holds_pointer(member))
            }
            Type::Array(elem, _) => self.holds_pointer(elem),
            Type::Struct(id) if !self.is_pointer_struct(id) => {
                let fields: Vec<Ty> = self.module.types.struct_def(id).fields.iter().map(|f| f.ty).collect();
                !matches!(self.pointer(id), Pointer::Pair)
                    && fields.into_iter().any(|field| self.holds_pointer(field))
            }
            Type::Struct(_) => true,
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }

    /// Whether a structure is a pointer type.
    pub(super) fn is_pointer_struct(&mut self, id: StructId) -> bool {
        matches!(self.pointer(id), Pointer::Yes(_))
    }

    /// The way in a companion to the companion of a part, given the way to the part; `None` if the part has none there.
    pub(super) fn companion_path(&mut self, ty: Ty, path: &Path) -> Option<Path> {
        let mut found = Path::default();
        let (mut ty, mut companion) = (ty, self.companion(ty)?);
        for step in &path.0 {
            let part = self.module.types.part(ty, step.known())?;
            let wanted = self.companion(part)?;
            let step = match (self.module.types.get(ty), step) {
                (Type::Struct(id), Step::Part(index)) => {
                    let name = self.module.types.struct_def(id).fields[*index as usize].name;
                    let Type::Struct(companion) = self.module.types.get(companion) else { return None };
                    let fields = &self.module.types.struct_def(companion).fields;
                    Step::Part(fields.iter().position(|field| field.name == name)? as u32)
                }
                _ => *step,
            };
            companion = self.module.types.part(companion, step.known())?;
            if companion != wanted {
                return None;
            }
            found.0.push(step);
            ty = part;
        }
        Some(found)
    }
}

/// What a structure is among pointers.
#[derive(Clone, Copy)]
pub(super) enum Pointer {
    /// No pointer.
    No,
    /// A pointer, with the type of its pair.
    Yes(hir::Ty),
    /// A pair itself, which nothing is paired with.
    Pair,
}
