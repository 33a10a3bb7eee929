//! Verifies the types of instructions, with one function per family of operations. [`check`] selects the family.
//!
//! [`Type`]s are compared, not [`Ty`]s, so that nothing needs to be interned.

mod memory;

use memory::{effect, memory, pointer, texture, wave};

use super::{Check, Verifier, ensure};
use crate::{Class, Const, Control, DiffCall, InstData, Math, Op, Path, Region, Ty, Type, Value};
use cotangent_base::{Scalar, Set};

const BOOL: Type = Type::Scalar(Scalar::Bool);
const I32: Type = Type::Scalar(Scalar::I32);
const U32: Type = Type::Scalar(Scalar::U32);

/// Checks operands, results and the shape of regions. What is in regions and exits is checked elsewhere.
pub(super) fn check(v: &Verifier<'_>, data: &InstData) -> Check {
    let (operands, results) = (&v.tys(&data.operands)[..], &v.tys(&data.results)[..]);
    match &data.op {
        Op::Math(op) => math(*op, operands, results),
        Op::Const(_) | Op::Zero | Op::Undef | Op::Global(_) => source(v, &data.op, operands, results),
        Op::Select | Op::Convert | Op::Bitcast | Op::Detach => element_wise(&data.op, operands, results),
        Op::Splat | Op::Sum | Op::Swizzle(_) | Op::Transpose => shape(v, &data.op, operands, results),
        Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => product(&data.op, operands, results),
        Op::Pack | Op::Extract(_) | Op::Insert(_) | Op::InsertAdd(_) => aggregate(v, data, operands, results),
        Op::Inject(_) | Op::Project(_) | Op::Tag => sum(v, data, operands, results),
        Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Length => memory(v, data, operands, results),
        Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => texture(&data.op, operands, results),
        Op::Point(_) | Op::Offset | Op::Address | Op::Pointer => pointer(v, data, operands, results),
        Op::Barrier(_) | Op::Print(_) | Op::Assert(_) | Op::Discard | Op::Screen(_) => {
            effect(&data.op, operands, results)
        }
        Op::TargetText(_) if results.len() <= 1 => Ok(()),
        Op::TargetText(_) => misfit(),
        Op::Wave(kind) => wave(*kind, operands, results),
        Op::Call(_) | Op::DiffCall(_) | Op::LinCall(_) => call(v, &data.op, operands, results),
        Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => structured(v, data, operands, results),
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => Ok(()),
    }
}

/// What is wrong if an operation has the wrong number of operands or results.
fn misfit() -> Check {
    Err("the operation takes other operands or gives other results".into())
}

fn source(v: &Verifier<'_>, op: &Op, operands: &[Type], results: &[Type]) -> Check {
    let ([], [r]) = (operands, results) else { return misfit() };
    if let Op::Const(value) = op {
        return constant(*value, *r);
    }
    if let Op::Global(global) = op {
        let data = v.module.globals.get(*global);
        ensure!(data.is_some_and(|g| v.module.types.get(g.ty) == *r), "the global has another type");
    }
    Ok(())
}

fn element_wise(op: &Op, operands: &[Type], results: &[Type]) -> Check {
    match (op, operands, results) {
        (Op::Select, [cond, a, b], [r]) => {
            ensure!(a == b && a == r, "both sides and the result must have one type");
            let fits = *cond == BOOL || Some(*cond) == r.with_scalar(Scalar::Bool);
            ensure!(fits, "the condition does not fit");
        }
        (Op::Convert, [a], [r]) => {
            let fits = r.scalar().is_some_and(|s| a.with_scalar(s) == Some(*r));
            ensure!(fits, "a conversion keeps the shape of a number");
        }
        (Op::Bitcast, [a], [r]) => {
            ensure!(bits(*a).is_some() && bits(*a) == bits(*r), "the types are not numbers of one size");
        }
        (Op::Detach, [a], [r]) => ensure!(a == r, "the result must have the type of the operand"),
        _ => return misfit(),
    }
    Ok(())
}

fn shape(v: &Verifier<'_>, op: &Op, operands: &[Type], results: &[Type]) -> Check {
    let ([a], [r]) = (operands, results) else { return misfit() };
    match (op, *a) {
        (Op::Splat, a) => ensure!(splats(v, a, *r), "the result is not a shape of the operand"),
        (Op::Sum, a) => {
            ensure!(splats(v, *r, a), "the operand is not a shape of the result");
            ensure!(addable(v, *r), "the type has no sum");
        }
        (Op::Swizzle(lanes), a) => return swizzle(lanes, a, *r),
        (Op::Transpose, Type::Matrix(s, rows, columns)) => {
            ensure!(*r == Type::Matrix(s, columns, rows), "the result is not the transposed shape");
        }
        _ => return misfit(),
    }
    Ok(())
}

fn aggregate(v: &Verifier<'_>, data: &InstData, operands: &[Type], results: &[Type]) -> Check {
    match (&data.op, operands, results) {
        (Op::Pack, _, [_]) => pack(v, data),
        (Op::Extract(path), [_, indices @ ..], [r]) => {
            ensure!(inside(v, data, path, indices)? == *r, "the result is not the part at that path");
            Ok(())
        }
        (Op::Insert(path), [_, _, indices @ ..], [_]) => insert(v, data, path, indices),
        (Op::InsertAdd(path), [_, value, indices @ ..], [_]) => {
            ensure!(addable(v, *value), "the type has no sum");
            insert(v, data, path, indices)
        }
        _ => misfit(),
    }
}

/// Sums: which member, and of which type.
fn sum(v: &Verifier<'_>, data: &InstData, operands: &[Type], results: &[Type]) -> Check {
    match (&data.op, operands, results) {
        (Op::Inject(member), [part], [whole]) | (Op::Project(member), [whole], [part]) => {
            let Type::Sum(id) = *whole else { return Err("there is no sum".into()) };
            let found = v.module.types.struct_def(id).fields.get(*member as usize);
            ensure!(found.is_some_and(|f| v.module.types.get(f.ty) == *part), "the sum has no such member");
        }
        (Op::Tag, [a], [r]) => {
            ensure!(matches!(a, Type::Sum(_)), "the operand is not a sum");
            ensure!(*r == I32, "the number of a member is an `i32`");
        }
        _ => return misfit(),
    }
    Ok(())
}

fn call(v: &Verifier<'_>, op: &Op, operands: &[Type], results: &[Type]) -> Check {
    match op.control() {
        Control::Call(callee) => {
            let callee = v.callee(callee)?;
            ensure!(*operands == v.inputs(callee), "the operands are not the inputs of the function");
            ensure!(*results == v.outputs(callee), "the results are not the outputs of the function");
            Ok(())
        }
        Control::DiffCall(call) => diff_call(v, call, operands, results),
        Control::LinCall(call) => {
            ensure!(call.primals as usize <= operands.len(), "there are fewer operands than primals");
            let (inputs, outputs) = tangents(v, &call.call)?;
            ensure!(operands[call.primals as usize..] == inputs, "the tangents do not fit the function");
            ensure!(*results == outputs, "the results do not fit the function");
            Ok(())
        }
        Control::Plain | Control::If | Control::Switch(_) => misfit(),
        Control::While(_) | Control::For(_) | Control::Exit(_) => misfit(),
    }
}

fn structured(v: &Verifier<'_>, data: &InstData, operands: &[Type], results: &[Type]) -> Check {
    match (&data.op, operands) {
        (Op::If, [cond]) => {
            ensure!(*cond == BOOL, "the condition is not a `bool`");
            plain_regions(v, &data.regions, 2)
        }
        (Op::Switch(cases), [selector]) => {
            ensure!(integer(*selector), "the selector is not an integer");
            let distinct: Set<i64> = cases.iter().copied().collect();
            ensure!(distinct.len() == cases.len(), "two cases have one value");
            plain_regions(v, &data.regions, cases.len() + 1)
        }
        (Op::While(_), slots) => {
            ensure!(data.regions.len() == 2, "a `while` has a condition and a body");
            ensure!(slots == results, "the results must have the types of the slots");
            data.regions.iter().try_for_each(|r| region_args(v, *r, slots))
        }
        (Op::For(_), [n, slots @ ..]) => {
            ensure!(data.regions.len() == 1, "a `for` has a body");
            ensure!(*n == I32, "the number of rounds is not an `i32`");
            ensure!(slots == results, "the results must have the types of the slots");
            region_args(v, data.regions[0], operands)
        }
        _ => misfit(),
    }
}

fn integer(ty: Type) -> bool {
    matches!(ty, Type::Scalar(s) if s.is_int())
}

/// The size of a number that has bits to look at.
fn bits(ty: Type) -> Option<u32> {
    let s = ty.scalar().filter(|s| *s != Scalar::Bool)?;
    let elements = match ty {
        Type::Vector(_, n) => n.into(),
        Type::Matrix(_, r, c) => u32::from(r) * u32::from(c),
        Type::Unit
        | Type::Scalar(_)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => 1,
    };
    Some(s.bits() * elements)
}

/// Whether values of a type can be added, part by part.
fn addable(v: &Verifier<'_>, ty: Type) -> bool {
    let get = |ty: Ty| v.module.types.get(ty);
    match ty {
        Type::Unit => true,
        Type::Scalar(s) | Type::Vector(s, _) | Type::Matrix(s, ..) => s != Scalar::Bool,
        Type::Array(elem, _) => addable(v, get(elem)),
        Type::Struct(id) => v.module.types.struct_def(id).fields.iter().all(|f| addable(v, get(f.ty))),
        Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

fn math(op: Math, operands: &[Type], results: &[Type]) -> Check {
    let [result] = results else { return misfit() };
    ensure!(operands.len() == op.arity(), "the operation takes {} operands", op.arity());
    let ty = operands[0];
    ensure!(operands.iter().all(|t| *t == ty), "the operands must have one type");
    let Some(s) = ty.scalar() else {
        return Err("the operands are not numbers".into());
    };
    let gives = match op.class() {
        Class::Number | Class::Float | Class::Integer | Class::Bits => Some(ty),
        Class::Compare | Class::Test => ty.with_scalar(Scalar::Bool),
    };
    ensure!(op.class().takes(s), "the operation is not defined on {s}");
    ensure!(gives == Some(*result), "the result has the wrong type");
    Ok(())
}

fn constant(value: Const, result: Type) -> Check {
    let Type::Scalar(s) = result else {
        return Err("a constant is a scalar".into());
    };
    match value {
        Const::Bool(_) => ensure!(s == Scalar::Bool, "a truth value is not a {s}"),
        Const::Float(_) => ensure!(s.is_float(), "a float is not a {s}"),
        Const::Int(i) => {
            ensure!(s.is_int(), "an integer is not a {s}");
            let bits = s.bits();
            let fits = bits == 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&i);
            ensure!(fits, "the constant does not fit its type");
        }
    }
    Ok(())
}

/// Whether a splat of `a` can be an `r`.
fn splats(v: &Verifier<'_>, a: Type, r: Type) -> bool {
    match r {
        Type::Vector(s, _) | Type::Matrix(s, ..) => a == Type::Scalar(s),
        Type::Array(elem, _) => v.module.types.get(elem) == a,
        Type::Unit
        | Type::Scalar(_)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => false,
    }
}

fn swizzle(lanes: &[u8], a: Type, r: Type) -> Check {
    let Type::Vector(s, n) = a else {
        return Err("the operand is not a vector".into());
    };
    ensure!(!lanes.is_empty() && lanes.iter().all(|l| *l < n), "the vector has no such lane");
    let scalar = lanes.len() == 1 && r == Type::Scalar(s);
    ensure!(scalar || r == Type::Vector(s, lanes.len() as u8), "the result is not of those lanes");
    Ok(())
}

fn product(op: &Op, operands: &[Type], results: &[Type]) -> Check {
    let (&[a, b], &[r]) = (operands, results) else { return misfit() };
    let fits = match (op, a, b) {
        (Op::Dot, Type::Vector(s, _), _) => a == b && r == Type::Scalar(s),
        (Op::MatVec, Type::Matrix(s, rows, cols), _) => {
            b == Type::Vector(s, cols) && r == Type::Vector(s, rows)
        }
        (Op::VecMat, _, Type::Matrix(s, rows, cols)) => {
            a == Type::Vector(s, rows) && r == Type::Vector(s, cols)
        }
        (Op::MatMat, Type::Matrix(s, rows, k), Type::Matrix(t, l, cols)) => {
            s == t && k == l && r == Type::Matrix(s, rows, cols)
        }
        (Op::Outer, Type::Vector(s, rows), Type::Vector(t, cols)) => {
            s == t && r == Type::Matrix(s, rows, cols)
        }
        _ => false,
    };
    ensure!(fits && r.scalar() != Some(Scalar::Bool), "the shapes do not fit");
    Ok(())
}

fn pack(v: &Verifier<'_>, data: &InstData) -> Check {
    let types = &v.module.types;
    let whole = v.func.ty(data.results[0]);
    let arity = types.arity(whole).ok_or("the result is not an aggregate")? as usize;
    ensure!(data.operands.len() == arity, "the aggregate has {arity} parts");
    for (i, &part) in data.operands.iter().enumerate() {
        ensure!(types.part(whole, Some(i as u32)) == Some(v.func.ty(part)), "part {i} has another type");
    }
    Ok(())
}

/// The type of what `path` leads to inside the first operand.
fn part(v: &Verifier<'_>, data: &InstData, path: &Path, indices: &[Type]) -> Result<Type, String> {
    ensure!(indices.len() == path.indices(), "the path takes {} indices", path.indices());
    ensure!(indices.iter().all(|i| integer(*i)), "an index is not an integer");
    let types = &v.module.types;
    let end = types.part_at(v.func.ty(data.operands[0]), path).ok_or("the path does not fit the type")?;
    Ok(types.get(end))
}

/// The type of the part of an aggregate.
fn inside(v: &Verifier<'_>, data: &InstData, path: &Path, indices: &[Type]) -> Result<Type, String> {
    let handle = matches!(v.ty(data.operands[0]), Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_));
    ensure!(!handle, "the operand is a handle");
    part(v, data, path, indices)
}

fn insert(v: &Verifier<'_>, data: &InstData, path: &Path, indices: &[Type]) -> Check {
    let [a, value] = [0, 1].map(|i| v.ty(data.operands[i]));
    ensure!(a == v.ty(data.results[0]), "the result must have the type of the aggregate");
    ensure!(inside(v, data, path, indices)? == value, "the value is not a part at that path");
    Ok(())
}

/// The type of the part of what is behind a handle.
fn behind(v: &Verifier<'_>, data: &InstData, path: &Path, indices: &[Type]) -> Result<Type, String> {
    match v.ty(data.operands[0]) {
        Type::Ref(_) => {}
        Type::Buffer(..) => ensure!(!path.0.is_empty(), "the path does not begin with an element"),
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Opaque(_) => return Err("the operand is not a handle".into()),
    }
    part(v, data, path, indices)
}

/// The types of the tangents that go in and come out.
fn tangents(v: &Verifier<'_>, call: &DiffCall) -> Result<(Vec<Type>, Vec<Type>), String> {
    let sig = &v.callee(call.func)?.sig;
    let inputs: Vec<Ty> = sig.inputs().map(|p| p.ty).collect();
    let outputs: Vec<Ty> = sig.outputs().map(|r| r.ty).collect();
    let active = |types: &[Ty], mask: &[bool]| -> Result<Vec<Type>, String> {
        ensure!(types.len() == mask.len(), "a mask does not fit the function");
        let active = types.iter().zip(mask).filter(|(_, active)| **active);
        let tangent =
            |ty| v.module.diff.find_differential(&v.module.types, ty).ok_or("a type has no derivative");
        active.map(|(ty, _)| Ok(v.module.types.get(tangent(*ty)?))).collect()
    };
    Ok((active(&inputs, &call.inputs)?, active(&outputs, &call.outputs)?))
}

fn diff_call(v: &Verifier<'_>, call: &DiffCall, operands: &[Type], results: &[Type]) -> Check {
    let callee = v.callee(call.func)?;
    let (tangents_in, tangents_out) = tangents(v, call)?;
    let takes = [v.inputs(callee), tangents_in].concat();
    let gives = [v.outputs(callee), tangents_out].concat();
    ensure!(*operands == takes, "the operands are not inputs and tangents of the function");
    ensure!(*results == gives, "the results are not outputs and tangents of the function");
    Ok(())
}

/// Regions without arguments.
fn plain_regions(v: &Verifier<'_>, regions: &[Region], count: usize) -> Check {
    ensure!(regions.len() == count, "the operation has {count} regions");
    regions.iter().try_for_each(|r| region_args(v, *r, &[]))
}

fn region_args(v: &Verifier<'_>, region: Region, types: &[Type]) -> Check {
    let Some(data) = v.func.regions.get(region) else {
        return Err(format!("{region} does not exist"));
    };
    let exists = |a: &Value| v.func.values.get(*a).is_some();
    ensure!(data.args.iter().all(exists), "an argument is no value");
    ensure!(v.tys(&data.args) == types, "the arguments of a region have other types");
    Ok(())
}
