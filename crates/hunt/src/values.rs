//! Random values of IR types, steps away from them, and inner products.

use crate::random::Random;
use cotangent::Scalar;
use cotangent::interp::Val;
use cotangent::ir::{Module, Ty, Type, Types};

/// A random value of a type: floats between -1 and 1, small integers.
pub fn random(module: &Module, ty: Ty, source: &mut Random) -> Val {
    let types = &module.types;
    match types.get(ty) {
        Type::Scalar(s) if s.is_float() => Val::float(source.float()),
        Type::Scalar(Scalar::Bool) => Val::bool(source.once_in(2)),
        Type::Scalar(_) => Val::int(source.below(5) as i64),
        Type::Vector(..) | Type::Matrix(..) => numbers(&Val::zero(types, ty), source),
        Type::Array(elem, n) => Val::aggregate((0..n).map(|_| random(module, elem, source))),
        Type::Struct(id) => {
            Val::aggregate(types.struct_def(id).fields.iter().map(|f| random(module, f.ty, source)))
        }
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => Val::zero(types, ty),
    }
}

/// As `like`, with every number a random one.
fn numbers(like: &Val, source: &mut Random) -> Val {
    match like {
        Val::Aggregate(parts) => Val::aggregate(parts.iter().map(|part| numbers(part, source))),
        Val::Scalar(_) | Val::Undef | Val::Unit | Val::Handle(_) | Val::Pointer(_) | Val::Null => {
            Val::float(source.float())
        }
    }
}

/// How many numbers of a value of type `ty` have a derivative; of the generated structures only `Outer.k` is marked otherwise.
pub fn varying(types: &Types, ty: Ty) -> usize {
    match types.get(ty) {
        Type::Scalar(s) => usize::from(s.is_float()),
        Type::Vector(s, n) => usize::from(s.is_float()) * n as usize,
        Type::Matrix(s, rows, columns) => usize::from(s.is_float()) * rows as usize * columns as usize,
        Type::Array(elem, n) => varying(types, elem) * n as usize,
        Type::Struct(id) => {
            let fields = types.struct_def(id).fields.iter().filter(|f| f.name != "k");
            fields.map(|f| varying(types, f.ty)).sum()
        }
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 0,
    }
}

/// `x + h * v`, where `v` is of the differential of `x`'s type `ty`.
pub fn moved(module: &Module, ty: Ty, x: &Val, v: &Val, h: f64) -> Val {
    let part = |i: usize, ty: Ty| moved(module, ty, &x.parts()[i], &v.parts()[i], h);
    match module.types.get(ty) {
        Type::Array(elem, n) => Val::aggregate((0..n as usize).map(|i| part(i, elem))),
        Type::Struct(id) => {
            let row = module.diff.get(id).expect("the structure is differentiable");
            let fields = module.types.struct_def(id).fields.iter().zip(&row.fields).enumerate();
            Val::aggregate(fields.map(|(i, (field, place))| match place {
                Some(place) => moved(module, field.ty, &x.parts()[i], &v.parts()[*place as usize], h),
                None => x.parts()[i].clone(),
            }))
        }
        Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => moved_number(x, v, h),
        Type::Unit | Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => x.clone(),
    }
}

fn moved_number(x: &Val, v: &Val, h: f64) -> Val {
    match x {
        Val::Aggregate(parts) => {
            Val::aggregate(parts.iter().zip(v.parts()).map(|(x, v)| moved_number(x, v, h)))
        }
        Val::Scalar(_) | Val::Undef | Val::Unit | Val::Handle(_) | Val::Pointer(_) | Val::Null => {
            Val::float(x.as_float().unwrap_or(0.0) + h * v.as_float().unwrap_or(0.0))
        }
    }
}

/// The floats in a value, in order; zero where nothing was written.
pub fn floats(value: &Val) -> Vec<f64> {
    match value {
        Val::Aggregate(parts) => parts.iter().flat_map(floats).collect(),
        Val::Scalar(_) => value.as_float().into_iter().collect(),
        Val::Undef | Val::Unit | Val::Handle(_) | Val::Pointer(_) | Val::Null => vec![0.0],
    }
}

/// The inner product of two values of one differential type, and the sum of the sizes of what it adds up.
pub fn inner(a: &Val, b: &Val) -> (f64, f64) {
    let products: Vec<f64> = floats(a).iter().zip(floats(b)).map(|(a, b)| a * b).collect();
    (products.iter().sum(), products.iter().map(|p| p.abs()).sum())
}
