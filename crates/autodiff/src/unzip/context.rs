//! The types of contexts. Each has a row in the table of differentiable types, so a context can be differentiated again like
//! any structure.

use crate::checkpoint::{Field, Plan};
use cotangent_base::Symbol;
use cotangent_ir::{DiffRow, Module, StructField, Ty, Type};

/// The context of `plan`, or `None` if nothing is stored.
pub fn make(module: &mut Module, name: Symbol, plan: &Plan) -> Option<Ty> {
    if plan.fields.is_empty() {
        return None;
    }
    let fields = plan.fields.iter().map(|f| StructField { name: f.name, ty: tape(module, f) }).collect();
    Some(add_struct(module, &format!("{name}.Context"), fields))
}

/// The type of a field: what it holds, in an array per loop around it.
fn tape(module: &mut Module, field: &Field) -> Ty {
    let wrap = |ty: Ty, (_, room): &(_, u32)| module.types.intern(Type::Array(ty, *room));
    field.loops.iter().rev().fold(field.ty, wrap)
}

/// Makes a structure and, if some of its fields are differentiable, its differential.
fn add_struct(module: &mut Module, name: &str, fields: Vec<StructField>) -> Ty {
    let mut places = Vec::new();
    let mut differentials = Vec::new();
    for field in &fields {
        let differential = module.diff.differential(&mut module.types, field.ty);
        places.push(differential.map(|_| differentials.len() as u32));
        differentials.extend(differential.map(|ty| StructField { name: field.name, ty }));
    }
    let id = module.types.add_struct(Symbol::new(name), fields);
    if !differentials.is_empty() {
        let count = differentials.len() as u32;
        let own = Symbol::new(&format!("{}.Differential", module.types.struct_def(id).name));
        let inner = module.types.add_struct(own, differentials);
        let differential = module.types.intern(Type::Struct(inner));
        module.diff.set(id, DiffRow { differential, fields: places, zero: None, add: None });
        let itself = (0..count).map(Some).collect();
        module.diff.set(inner, DiffRow { differential, fields: itself, zero: None, add: None });
    }
    module.types.intern(Type::Struct(id))
}
