//! Maps each number of a differential to the number of the value that it belongs to.
//!
//! In most types they have the same names. But a hand-written differential may rename or omit fields, or have numbers that
//! are not the derivative of any single number.

use cotangent_ir::{Module, Ty, Type, Types};
use cotangent_runtime::path::leaves;

/// For each number of the differential of `ty`, the number of `ty` it is the derivative of.
pub(super) fn of_differential(module: &Module, types: &Types, ty: Ty) -> Vec<Option<usize>> {
    let places = Places { module, types };
    let mut found = vec![None; places.differential_count(ty)];
    places.walk(ty, 0, 0, &mut found);
    found
}

struct Places<'a> {
    module: &'a Module,
    types: &'a Types,
}

impl Places<'_> {
    fn count(&self, ty: Ty) -> usize {
        leaves(self.types, ty).len()
    }

    fn differential_count(&self, ty: Ty) -> usize {
        match self.types.get(ty) {
            Type::Array(elem, n) => n as usize * self.differential_count(elem),
            _ => self.module.diff.find_differential(self.types, ty).map_or(0, |d| self.count(d)),
        }
    }

    /// Notes the numbers of `ty`, whose first is `at` and whose differential begins at `to`.
    fn walk(&self, ty: Ty, at: usize, to: usize, found: &mut [Option<usize>]) {
        match self.types.get(ty) {
            Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) if s.is_float() => {
                (0..self.count(ty)).for_each(|i| found[to + i] = Some(at + i));
            }
            Type::Array(elem, n) => {
                let (size, step) = (self.count(elem), self.differential_count(elem));
                (0..n as usize).for_each(|i| self.walk(elem, at + i * size, to + i * step, found));
            }
            Type::Struct(id) => {
                let Some(row) = self.module.diff.get(id) else { return };
                let Type::Struct(differential) = self.types.get(row.differential) else { return };
                let [fields, theirs] = [id, differential].map(|s| &self.types.struct_def(s).fields);
                let before = |fields: &[cotangent_ir::StructField]| -> usize {
                    fields.iter().map(|f| self.count(f.ty)).sum()
                };
                for (i, place) in row.fields.iter().enumerate() {
                    if let Some(k) = *place {
                        let (at, to) = (at + before(&fields[..i]), to + before(&theirs[..k as usize]));
                        self.walk(fields[i].ty, at, to, found);
                    }
                }
            }
            Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => {}
            Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {}
        }
    }
}
