//! Gives every structure that contains floats a differential, if it has none: `struct Ball { float3 at; int id; }` gets the
//! differential `{ at: float3 }`. The differential of an interface type is the sum of those of its members, after a first member
//! that stands for nothing.

use cotangent_base::{Set, Symbol};
use cotangent_ir::{DiffRow, Module, StructField, StructId, Ty, Type};

/// Completes the table of differentiable types. Gives the structures and sums that it added.
pub(super) fn rows(module: &mut Module) -> Set<StructId> {
    let all: Vec<StructId> = module.types.structs().map(|(id, _)| id).collect();
    let mut added = Added::default();
    all.into_iter().for_each(|id| row(module, id, &mut added));
    added.rows
}

#[derive(Default)]
struct Added {
    /// The structures being added, and those that were: one that contains a buffer of itself comes here again.
    open: Set<StructId>,
    rows: Set<StructId>,
}

/// Adds the row of a structure or sum after those of its fields or members.
fn row(module: &mut Module, id: StructId, added: &mut Added) {
    let def = module.types.struct_def(id).clone();
    if module.diff.get(id).is_some() || !added.open.insert(id) {
        return;
    }
    let mut places = Vec::new();
    let mut fields = Vec::new();
    for field in &def.fields {
        within(module, field.ty, added);
        let differential = module.diff.differential(&mut module.types, field.ty);
        places.push(differential.map(|_| fields.len() as u32));
        fields.extend(differential.map(|ty| StructField { name: field.name, ty }));
    }
    if fields.is_empty() {
        return;
    }
    let name = Symbol::new(&format!("{}.Differential", def.name));
    let (inner, differential) = if def.sum {
        let nothing = module.types.add_struct(Symbol::new("Nothing"), vec![]);
        let ty = module.types.intern(Type::Struct(nothing));
        module.diff.set(nothing, DiffRow { differential: ty, fields: vec![], zero: None, add: None });
        fields.insert(0, StructField { name: Symbol::new("nothing"), ty });
        places.iter_mut().flatten().for_each(|place| *place += 1);
        let inner = module.types.add_sum(name, fields.clone());
        (inner, module.types.intern(Type::Sum(inner)))
    } else {
        let inner = module.types.add_struct(name, fields.clone());
        (inner, module.types.intern(Type::Struct(inner)))
    };
    let itself = (0..fields.len() as u32).map(Some).collect();
    module.diff.set(id, DiffRow { differential, fields: places, zero: None, add: None });
    module.diff.set(inner, DiffRow { differential, fields: itself, zero: None, add: None });
    added.rows.insert(id);
}

/// Adds the rows of the structures in a type.
fn within(module: &mut Module, ty: Ty, added: &mut Added) {
    if let Type::Array(elem, _) = module.types.get(ty) {
        within(module, elem, added);
    } else if let Type::Struct(id) | Type::Sum(id) = module.types.get(ty) {
        row(module, id, added);
    }
}
