//! Which parts of a parameter have floats that carry no derivative although nothing in the program says so: structures without
//! `IDifferentiable`. What is `no_diff` is not among them.

use cotangent::Symbol;
use cotangent::ir::{Module, Ty, Type};
use cotangent::sema::hir;

/// The paths of such parts below a value of a type, each with the name of its structure.
pub fn of(program: &hir::Program, module: &Module, ty: Ty) -> Vec<(Vec<String>, String)> {
    let mut found = vec![];
    collect(program, module, ty, &mut vec![], &mut found);
    found
}

fn collect(
    program: &hir::Program,
    module: &Module,
    ty: Ty,
    path: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, String)>,
) {
    match module.types.get(ty) {
        Type::Array(elem, _) => collect(program, module, elem, path, found),
        Type::Struct(id) => {
            let own = module.types.struct_def(id);
            let Some(row) = module.diff.get(id) else {
                if holds_floats(module, ty) {
                    found.push((path.clone(), own.name.to_string()));
                }
                return;
            };
            for (field, derivative) in own.fields.iter().zip(&row.fields) {
                let is_constant = derivative.is_none()
                    && (module.diff.find_differential(&module.types, field.ty).is_some()
                        || is_no_diff(program, own.name, field.name));
                if !is_constant {
                    path.push(field.name.to_string());
                    collect(program, module, field.ty, path, found);
                    path.pop();
                }
            }
        }
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => {}
    }
}

fn holds_floats(module: &Module, ty: Ty) -> bool {
    match module.types.get(ty) {
        Type::Scalar(scalar) | Type::Vector(scalar, _) | Type::Matrix(scalar, ..) => scalar.is_float(),
        Type::Array(elem, _) => holds_floats(module, elem),
        Type::Struct(id) => module.types.struct_def(id).fields.iter().any(|f| holds_floats(module, f.ty)),
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

/// Whether a field of a structure, or of the generic one that it is an instance of, is `no_diff`.
fn is_no_diff(program: &hir::Program, structure: Symbol, field: Symbol) -> bool {
    let name = structure.to_string();
    let generic = name.split('<').next().unwrap_or_default();
    let mut own = program.structs.values().filter(|s| s.name == *generic);
    own.any(|s| s.fields.iter().any(|f| f.name == field && f.no_diff))
}
