//! Replaces pointers of known origin by direct accesses to the buffer or variable.
//!
//! ```text
//! global @data: rwbuffer<f32> param
//! func @f(%i: i32, %n: i32) -> f32 {
//!   %buffer: rwbuffer<f32> = global @data
//!   %p: ref<f32> = point %buffer [%i]
//!   %q: ref<f32> = offset %p, %n
//!   %x: f32 = load %q
//!   return %x
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @data: rwbuffer<f32> param
//! func @f(%i: i32, %n: i32) -> f32 {
//!   %buffer: rwbuffer<f32> = global @data
//!   %j: i32 = add %i, %n
//!   %x: f32 = load %buffer [%j]
//!   return %x
//! }
//! ```
//!
//! Targets without pointers need this. They refuse the pointers that remain: a choice between two pointers, or a pointer that
//! a loop moves. An index out of bounds still traps at the access.
//!
//! The pass does not look through branches, loops and calls.

use cotangent_base::Scalar;
use cotangent_ir::{
    Atomic, Builder, Const, Func, Inst, Math, Op, Path, Region, Step, Ty, Type, Types, Value,
};

/// Follows pointers in `func`. Says whether there were any to follow.
pub fn pointers(types: &mut Types, func: &mut Func) -> bool {
    let body = func.body;
    let mut changed = false;
    region(types, func, body, &mut changed);
    changed
}

fn region(types: &mut Types, func: &mut Func, at: Region, changed: &mut bool) {
    for inst in std::mem::take(&mut func.regions[at].insts) {
        for inner in func.insts[inst].regions.clone() {
            region(types, func, inner, changed);
        }
        if func.insts[inst].op == Op::Offset {
            *changed |= offset(types, func, at, inst);
        }
        *changed |= access(func, inst);
        func.regions[at].insts.push(inst);
    }
}

/// Lets an access through a pointer begin where the pointer does.
fn access(func: &mut Func, inst: Inst) -> bool {
    let data = &func.insts[inst];
    let (values, with_path): (usize, Box<dyn Fn(Path) -> Op>) = if let Op::Load(_) = data.op {
        (0, Box::new(Op::Load))
    } else if let Op::Point(_) = data.op {
        (0, Box::new(Op::Point))
    } else if let Op::Store(_) = data.op {
        (1, Box::new(Op::Store))
    } else if let Op::Atomic(Atomic { kind, .. }) = data.op {
        (kind.values(), Box::new(move |path| Op::Atomic(Atomic { kind, path })))
    } else {
        return false;
    };
    let Some((base, outer, indices)) = origin(func, data.operands[0]) else { return false };
    let inner = data.op.path().expect("an access has a path");
    let path = Path(outer.0.iter().chain(&inner.0).copied().collect());
    let (given, rest) = data.operands[1..].split_at(values);
    let operands = [&[base], given, &indices[..], rest].concat();
    let op = with_path(path);
    func.insts[inst].op = op;
    func.insts[inst].operands = operands.into();
    true
}

/// Where a pointer comes from: a handle, the path and its indices.
fn origin(func: &Func, pointer: Value) -> Option<(Value, Path, Vec<Value>)> {
    let data = func.def(pointer)?;
    let Op::Point(path) = &data.op else { return None };
    Some((data.operands[0], path.clone(), data.operands[1..].to_vec()))
}

/// A pointer moved along an array or buffer points to another element.
fn offset(types: &mut Types, func: &mut Func, at: Region, inst: Inst) -> bool {
    let data = &func.insts[inst];
    let (pointer, n, span) = (data.operands[0], data.operands[1], data.span);
    let Some((base, mut path, mut indices)) = origin(func, pointer) else { return false };
    if !ends_in_element(types, func.ty(base), &path) {
        return false;
    }
    let Some(last) = path.0.pop() else { return false };
    let mut b = Builder { types, func, region: at, span };
    let index = match last {
        Step::Part(part) => {
            let int = b.types.scalar(Scalar::I32);
            b.constant(Const::Int(part.into()), int)
        }
        Step::Index => indices.pop().expect("an index for each dynamic step"),
    };
    let (index, n) = same_width(&mut b, index, n);
    let sum = b.math(Math::Add, &[index, n]);
    path.0.push(Step::Index);
    indices.push(sum);
    func.insts[inst].op = Op::Point(path);
    func.insts[inst].operands = [&[base], &indices[..]].concat().into();
    true
}

/// Both in the wider of their types, so that no sum is cut off; unsigned ones of 32 bits wrap back into range.
fn same_width(b: &mut Builder<'_>, index: Value, n: Value) -> (Value, Value) {
    let bits = |b: &Builder<'_>, v: Value| b.types.scalar_of(b.ty(v)).map_or(32, Scalar::bits);
    let to: Ty = if bits(b, n) > bits(b, index) { b.ty(n) } else { b.ty(index) };
    [index, n].map(|v| if b.ty(v) == to { v } else { b.emit1(Op::Convert, &[v], to) }).into()
}

/// Whether the last step of a path leads to an element of an array or buffer.
fn ends_in_element(types: &Types, base: Ty, path: &Path) -> bool {
    let Some((_, outer)) = path.0.split_last() else { return false };
    let around = match types.get(base) {
        Type::Buffer(..) if outer.is_empty() => return true,
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => types.part_at(base, &Path(outer.into())),
    };
    around.is_some_and(|ty| matches!(types.get(ty), Type::Array(..)))
}
