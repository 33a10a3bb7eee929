//! Differentials of types: their zero, their sum, and access to their parts.
//!
//! The differential of a number is a number of the same type, and that of an array is the array of differentials. The
//! differential of a structure is in its row of the [`DiffTable`]. A structure inside a differential may have a user-defined
//! `dzero` and `dadd`. The functions here call those where they exist, at any depth, and otherwise work part by part, so that
//! no other module handles them. A differential that contains neither such a structure nor a sum is *plain*.

use cotangent_ir::{
    Builder, DiffRow, DiffTable, FuncId, LoopInfo, Math, Op, Path, Step, StructId, Ty, Type, Types, Value,
};

/// The additive identity of the differential type `ty`.
pub fn zero(b: &mut Builder<'_>, diff: &DiffTable, ty: Ty) -> Value {
    if !has_user_code(b.types, diff, ty, &|row| row.zero) {
        return b.zero(ty);
    }
    match b.types.get(ty) {
        Type::Array(elem, _) => {
            let elem = zero(b, diff, elem);
            b.emit1(Op::Splat, &[elem], ty)
        }
        Type::Struct(id) => match user_code(diff, id, ty, &|row| row.zero) {
            Some(dzero) => b.emit1(Op::Call(dzero), &[], ty),
            None => {
                let parts: Vec<Value> =
                    field_types(b.types, id).into_iter().map(|t| zero(b, diff, t)).collect();
                b.pack(&parts, ty)
            }
        },
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => b.zero(ty),
    }
}

/// The sum of two differentials of one type. Parts that are not numbers, such as an integer field, are taken
/// from `x`.
pub fn add(b: &mut Builder<'_>, diff: &DiffTable, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    match b.types.get(ty) {
        Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) if s.is_float() => b.add(x, y),
        Type::Array(_, n) => add_arrays(b, diff, x, y, n),
        Type::Sum(_) => add_sums(b, diff, x, y),
        Type::Struct(id) => match user_code(diff, id, ty, &|row| row.add) {
            Some(dadd) => b.emit1(Op::Call(dadd), &[x, y], ty),
            None => {
                let count = b.types.struct_def(id).fields.len() as u32;
                let sum = |i: u32| {
                    let (x, y) = (b.part(x, i), b.part(y, i));
                    add(b, diff, x, y)
                };
                let parts: Vec<Value> = (0..count).map(sum).collect();
                b.pack(&parts, ty)
            }
        },
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => x,
    }
}

/// The sum of two differentials of a sum type. The first member stands for nothing, which changes nothing; of the
/// others both are the same member, or one of them is nothing.
///
/// ```text
/// switch tag y { 0: x    m: inject m, (project m, x) + (project m, y) }
/// ```
fn add_sums(b: &mut Builder<'_>, diff: &DiffTable, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let count = b.types.members(ty).map_or(0, |members| members.len() as u32);
    if count == 0 {
        return x;
    }
    let tag = b.tag(y);
    let sums = b.switch_(tag, count, &[ty], |b, member| {
        let sum = if member == 0 {
            x
        } else {
            let (a, c) = (b.project(member, x), b.project(member, y));
            let sum = add(b, diff, a, c);
            let sum = b.inject(member, sum, ty);
            // Where the user adds, nothing must not be added.
            if is_plain(b.types, diff, b.ty(a)) {
                sum
            } else {
                let (tag, none) = (b.tag(x), b.int(0));
                let nothing = b.math(Math::Eq, &[tag, none]);
                b.select(nothing, y, sum)
            }
        };
        b.yield_(&[sum]);
    });
    sums[0]
}

/// `for k < n: x[k] += y[k]`.
fn add_arrays(b: &mut Builder<'_>, diff: &DiffTable, x: Value, y: Value, n: u32) -> Value {
    let count = b.int(n.into());
    let info = LoopInfo { max_iters: Some(n), ..LoopInfo::default() };
    let sums = b.for_(info, count, &[x], |b, k, carried| {
        let part = b.extract(y, Path::index(), &[k]);
        let sum = insert_add(b, diff, carried[0], part, Path::index(), &[k]);
        b.yield_(&[sum]);
    });
    sums[0]
}

/// The differential `a` with `v` added to the part at `path`. One operation if that part is a number and nobody but us
/// adds up what it is a part of. Where the user does, the part alone, all else zero, is added to the whole.
pub fn insert_add(
    b: &mut Builder<'_>,
    diff: &DiffTable,
    a: Value,
    v: Value,
    path: Path,
    indices: &[Value],
) -> Value {
    if let Some(way) = way_to_user_sum(b.types, diff, b.ty(a), &path) {
        return add_part_by_user_code(b, diff, a, v, (path, way), indices);
    }
    let ty = b.ty(v);
    if b.types.scalar_of(ty).is_some() {
        return b.insert_add(a, v, path, indices);
    }
    let old = b.extract(a, path.clone(), indices);
    let new = add(b, diff, old, v);
    b.insert(a, new, path, indices)
}

/// How many steps of `path` lead to the outermost structure on the way whose sum is the user's.
fn way_to_user_sum(types: &Types, diff: &DiffTable, ty: Ty, path: &Path) -> Option<usize> {
    let mut ty = ty;
    for (way, step) in path.0.iter().enumerate() {
        if let Type::Struct(id) = types.get(ty)
            && user_code(diff, id, ty, &|row| row.add).is_some()
        {
            return Some(way);
        }
        ty = types.part(ty, step.known())?;
    }
    None
}

/// Adds `v` to the part of `a` at a path, the first steps of which lead to a structure that the user adds up.
fn add_part_by_user_code(
    b: &mut Builder<'_>,
    diff: &DiffTable,
    a: Value,
    v: Value,
    (path, way): (Path, usize),
    indices: &[Value],
) -> Value {
    let (outer, inner) = path.0.split_at(way);
    let (outer, inner) = (Path(outer.into()), Path(inner.into()));
    let dynamic = outer.0.iter().filter(|s| matches!(s, Step::Index)).count();
    let (outside, inside) = indices.split_at(dynamic);
    let old = if way == 0 { a } else { b.extract(a, outer.clone(), outside) };
    let ty = b.ty(old);
    let nothing = zero(b, diff, ty);
    let alone = b.insert(nothing, v, inner, inside);
    let sum = add(b, diff, old, alone);
    if way == 0 { sum } else { b.insert(a, sum, outer, outside) }
}

/// The way, in the differential of `ty`, to the derivative of the part of `ty` at `path`. Its dynamic steps are
/// those of `path`, so it takes the same index operands. `None` if that part carries no derivative.
pub fn differential_path(types: &mut Types, diff: &DiffTable, ty: Ty, path: &Path) -> Option<Path> {
    let mut ty = ty;
    let mut translated = Path::default();
    for step in &path.0 {
        let (part, derivative) = match (types.get(ty), step) {
            (Type::Struct(id), Step::Part(i)) => {
                let field = (*diff.get(id)?.fields.get(*i as usize)?)?;
                (Some(*i), Step::Part(field))
            }
            (_, Step::Part(i)) => (Some(*i), Step::Part(*i)),
            (_, Step::Index) => (None, Step::Index),
        };
        translated.0.push(derivative);
        ty = types.part(ty, part)?;
    }
    diff.differential(types, ty).map(|_| translated)
}

/// Whether differentials of type `ty` are added part by part: nowhere inside does the user add or make zeros, and there is
/// no sum.
pub fn is_plain(types: &Types, diff: &DiffTable, ty: Ty) -> bool {
    !holds_sum(types, ty)
        && !has_user_code(types, diff, ty, &|row| row.zero)
        && !has_user_code(types, diff, ty, &|row| row.add)
}

/// Whether a sum is somewhere inside, which is not added part by part.
fn holds_sum(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Sum(_) => true,
        Type::Array(elem, _) => holds_sum(types, elem),
        Type::Struct(id) => types.struct_def(id).fields.iter().any(|f| holds_sum(types, f.ty)),
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => false,
    }
}

/// The user's function `which` for the differential `ty` of structure `id`. A differential may have it in its own
/// row; more often it is in the row of the type that it is the differential of.
fn user_code(
    diff: &DiffTable,
    id: StructId,
    ty: Ty,
    which: &dyn Fn(&DiffRow) -> Option<FuncId>,
) -> Option<FuncId> {
    let own = diff.get(id).filter(|row| row.differential == ty).and_then(which);
    own.or_else(|| diff.iter().filter(|(_, row)| row.differential == ty).find_map(|(_, row)| which(row)))
}

fn has_user_code(
    types: &Types,
    diff: &DiffTable,
    ty: Ty,
    which: &dyn Fn(&DiffRow) -> Option<FuncId>,
) -> bool {
    match types.get(ty) {
        Type::Array(elem, _) => has_user_code(types, diff, elem, which),
        Type::Struct(id) | Type::Sum(id) => {
            user_code(diff, id, ty, which).is_some()
                || field_types(types, id).into_iter().any(|t| has_user_code(types, diff, t, which))
        }
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => false,
    }
}

fn field_types(types: &Types, id: StructId) -> Vec<Ty> {
    types.struct_def(id).fields.iter().map(|f| f.ty).collect()
}
