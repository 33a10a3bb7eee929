//! Gives every structure that contains floats a differential, if it has none: `struct Ball { float3 at; int id; }` gets the
//! differential `{ at: float3 }`. Interface values keep what they have.

use cotangent_base::{Set, Symbol};
use cotangent_ir::{DiffRow, Module, StructField, StructId, Ty, Type};

/// Completes the table of differentiable types.
pub(super) fn rows(module: &mut Module) {
    let all: Vec<StructId> = module.types.structs().map(|(id, _)| id).collect();
    let mut open = Set::default();
    all.into_iter().for_each(|id| row(module, id, &mut open));
}

/// Adds the row of a structure after those of its fields. `open` are the structures being added: one that contains a buffer of
/// itself comes here again.
fn row(module: &mut Module, id: StructId, open: &mut Set<StructId>) {
    let def = module.types.struct_def(id).clone();
    if def.sum || module.diff.get(id).is_some() || !open.insert(id) {
        return;
    }
    let mut places = Vec::new();
    let mut fields = Vec::new();
    for field in &def.fields {
        within(module, field.ty, open);
        let differential = module.diff.differential(&mut module.types, field.ty);
        places.push(differential.map(|_| fields.len() as u32));
        fields.extend(differential.map(|ty| StructField { name: field.name, ty }));
    }
    if fields.is_empty() {
        return;
    }
    let itself = (0..fields.len() as u32).map(Some).collect();
    let inner = module.types.add_struct(Symbol::new(&format!("{}.Differential", def.name)), fields);
    let differential = module.types.intern(Type::Struct(inner));
    module.diff.set(id, DiffRow { differential, fields: places, zero: None, add: None });
    module.diff.set(inner, DiffRow { differential, fields: itself, zero: None, add: None });
}

/// Adds the rows of the structures in a type.
fn within(module: &mut Module, ty: Ty, open: &mut Set<StructId>) {
    if let Type::Array(elem, _) = module.types.get(ty) {
        within(module, elem, open);
    } else if let Type::Struct(id) = module.types.get(ty) {
        row(module, id, open);
    }
}
