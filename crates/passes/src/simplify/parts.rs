//! Aggregates: replaces a read of a packed or inserted part by the part itself.

use super::lanes::lane_of;
use crate::bounds::Bounds;
use crate::consts::{self, is_zero};
use crate::rewrite::{Change, Rewriter};
use cotangent_ir::{Inst, Op, Path, Step, Ty, Type, Types, Value};
use smallvec::SmallVec;

/// How many updates a search steps past. Long chains come from unrolled loops; looking at all of each would
/// take quadratic time.
const REACH: usize = 32;

/// Aggregates without arrays and of at most this many scalars are read from any version without a second thought.
const SMALL: u32 = 16;

/// A part of an aggregate: the way there, dynamic steps filled in.
#[derive(Clone, PartialEq, Eq)]
struct Part(SmallVec<[PartStep; 4]>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartStep {
    Known(u32),
    At(Value),
}

impl Part {
    fn new(path: &Path, indices: &[Value]) -> Part {
        let mut indices = indices.iter();
        let step = |step: &Step| match step {
            Step::Part(i) => PartStep::Known(*i),
            Step::Index => PartStep::At(*indices.next().expect("an index for each dynamic step")),
        };
        Part(path.0.iter().map(step).collect())
    }

    /// Whether the two can have nothing in common.
    fn is_apart_from(&self, other: &Part) -> bool {
        let mut both = self.0.iter().zip(&other.0);
        both.any(|steps| matches!(steps, (PartStep::Known(a), PartStep::Known(b)) if a != b))
    }

    /// The way from the part `outer` to this one, if it lies inside.
    fn inside(&self, outer: &Part) -> Option<&[PartStep]> {
        self.0.strip_prefix(&outer.0[..])
    }
}

fn path_of(steps: &[PartStep]) -> (Path, SmallVec<[Value; 2]>) {
    let mut indices = SmallVec::new();
    let step = |step: &PartStep| match step {
        PartStep::Known(i) => Step::Part(*i),
        PartStep::At(index) => {
            indices.push(*index);
            Step::Index
        }
    };
    (Path(steps.iter().map(step).collect()), indices)
}

/// Dynamic steps whose index is a constant inside the aggregate become known ones. Others stay and trap.
fn settle(cx: &mut Rewriter<'_>, of: Value, path: &Path, indices: &[Value]) -> Option<(Path, Vec<Value>)> {
    let mut ty = cx.func.ty(of);
    let (mut steps, mut rest, mut given) = (SmallVec::new(), Vec::new(), indices.iter());
    for step in &path.0 {
        let step = match step {
            Step::Part(_) => *step,
            Step::Index => {
                let index = *given.next()?;
                let known = consts::int(cx.types, cx.func, index);
                let size = i64::from(cx.types.arity(ty)?);
                match known.filter(|n| (0..size).contains(n)) {
                    Some(n) => Step::Part(n as u32),
                    None => {
                        rest.push(index);
                        Step::Index
                    }
                }
            }
        };
        ty = cx.types.part(ty, step.known())?;
        steps.push(step);
    }
    (rest.len() < indices.len()).then_some((Path(steps), rest))
}

/// How many scalars a type has, counted up to a little over [`SMALL`]. An array counts as large whatever its length, so
/// that what a program costs does not jump with it.
fn size(types: &Types, ty: Ty) -> u32 {
    match types.get(ty) {
        Type::Unit => 0,
        Type::Scalar(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => 1,
        Type::Vector(_, n) => n.into(),
        Type::Matrix(_, r, c) => u32::from(r) * u32::from(c),
        Type::Array(..) => u32::MAX,
        Type::Struct(id) | Type::Sum(id) => {
            let mut sum = 0u32;
            for field in &types.struct_def(id).fields {
                sum = sum.saturating_add(size(types, field.ty));
                if sum > SMALL {
                    break;
                }
            }
            sum
        }
    }
}

fn is_small(cx: &Rewriter<'_>, value: Value) -> bool {
    size(cx.types, cx.func.ty(value)) <= SMALL
}

/// Whether reading an older version than `value`, which `value` was made from, costs nothing.
fn may_look_behind(cx: &Rewriter<'_>, value: Value) -> bool {
    is_small(cx, value) || cx.uses(value) <= 1
}

/// `extract` from what was just put together.
pub(super) fn extract(cx: &mut Rewriter<'_>, bounds: &Bounds, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let Op::Extract(path) = data.op.clone() else {
        return Change::Keep;
    };
    let (of, indices) = (data.operands[0], SmallVec::<[Value; 2]>::from_slice(&data.operands[1..]));
    if path.0.is_empty() {
        return Change::value(of);
    }
    if let Some((path, rest)) = settle(cx, of, &path, &indices) {
        return cx.become_(inst, Op::Extract(path), &[&[of], &rest[..]].concat());
    }
    let wanted = Part::new(&path, &indices);
    if let Some(change) = extract_inserted(cx, bounds, inst, of, &wanted) {
        return change;
    }
    let Some(made) = cx.func.def(of) else {
        return Change::Keep;
    };
    let (op, parts) = (made.op.clone(), made.operands.clone());
    extract_made(cx, inst, &wanted, &op, &parts).unwrap_or(Change::Keep)
}

/// Looks through the updates that led to `of` for the one that wrote what is wanted. One that might trap is not
/// looked through: without the read nobody may need it, and the trap would be gone.
fn extract_inserted(
    cx: &mut Rewriter<'_>,
    bounds: &Bounds,
    inst: Inst,
    of: Value,
    wanted: &Part,
) -> Option<Change> {
    let mut version = of;
    for _ in 0..REACH {
        let Some(update) = cx.func.def(version) else { break };
        let (Op::Insert(path) | Op::InsertAdd(path)) = &update.op else {
            break;
        };
        if !bounds.is_inside(cx.types, cx.func, update) {
            break;
        }
        let written = Part::new(path, &update.operands[2..]);
        let (older, value) = (update.operands[0], update.operands[1]);
        if let (Op::Insert(_), Some(inner)) = (&update.op, wanted.inside(&written)) {
            let (path, indices) = path_of(inner);
            return Some(part_of(cx, inst, value, path, &indices));
        }
        if !wanted.is_apart_from(&written) {
            break;
        }
        version = older;
    }
    let steps_back = version != of && is_small(cx, of);
    steps_back.then(|| {
        let (path, indices) = path_of(&wanted.0);
        part_of(cx, inst, version, path, &indices)
    })
}

/// Looks through one operation that makes an aggregate whole.
fn extract_made(
    cx: &mut Rewriter<'_>,
    inst: Inst,
    wanted: &Part,
    op: &Op,
    parts: &[Value],
) -> Option<Change> {
    let PartStep::Known(first) = wanted.0[0] else {
        return None;
    };
    let (rest, indices) = path_of(&wanted.0[1..]);
    if let Op::Pack = op {
        return Some(part_of(cx, inst, parts[first as usize], rest, &indices));
    }
    let all_known = wanted.0.iter().all(|step| matches!(step, PartStep::Known(_)));
    if let (Op::Zero | Op::Undef, true) = (op, all_known) {
        return Some(cx.become_(inst, op.clone(), &[]));
    }
    if let Op::Swizzle(lanes) = op {
        let lane = lanes[first as usize];
        return Some(cx.become_(inst, Op::Extract(Path::part(lane.into())), parts));
    }
    if let (Op::Splat, true) = (op, all_known) {
        return extract_splat(cx, inst, parts[0], &rest);
    }
    if let Op::Extract(outer) = op
        && is_small(cx, parts[0])
    {
        let path = Path(outer.0.iter().chain(&path_of(&wanted.0).0.0).copied().collect());
        let operands = [parts, &path_of(&wanted.0).1[..]].concat();
        return Some(cx.become_(inst, Op::Extract(path), &operands));
    }
    None
}

/// A part of a splat is what was splatted, or a smaller splat of it.
fn extract_splat(cx: &mut Rewriter<'_>, inst: Inst, scalar: Value, rest: &Path) -> Option<Change> {
    let wanted = cx.func.ty(cx.func.insts[inst].results[0]);
    if wanted == cx.func.ty(scalar) {
        return Some(Change::value(scalar));
    }
    if rest.0.is_empty() {
        return Some(cx.become_(inst, Op::Splat, &[scalar]));
    }
    Some(cx.become_(inst, Op::Extract(rest.clone()), &[scalar]))
}

fn part_of(cx: &mut Rewriter<'_>, inst: Inst, of: Value, path: Path, indices: &[Value]) -> Change {
    if path.0.is_empty() {
        return Change::value(of);
    }
    cx.become_(inst, Op::Extract(path), &[&[of], indices].concat())
}

/// `insert` of everything, of what is there already, or over another `insert`.
pub(super) fn insert(cx: &mut Rewriter<'_>, bounds: &Bounds, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let Op::Insert(path) = data.op.clone() else {
        return Change::Keep;
    };
    let (into, value) = (data.operands[0], data.operands[1]);
    let indices = SmallVec::<[Value; 2]>::from_slice(&data.operands[2..]);
    if path.0.is_empty() {
        return Change::value(value);
    }
    if let Some((path, rest)) = settle(cx, into, &path, &indices) {
        return cx.become_(inst, Op::Insert(path), &[&[into, value], &rest[..]].concat());
    }
    if let Some(read) = cx.func.def(value)
        && read.op == Op::Extract(path.clone())
        && read.operands[0] == into
        && read.operands[1..] == indices[..]
        && bounds.is_inside(cx.types, cx.func, read)
    {
        return Change::value(into);
    }
    if let Some(older) = overwritten(cx, into, &path, &indices) {
        return cx.become_(inst, Op::Insert(path), &[&[older, value], &indices[..]].concat());
    }
    match all_inserted(cx, inst) {
        Some(parts) => cx.become_(inst, Op::Pack, &parts),
        None => Change::Keep,
    }
}

/// The version before `into`, if `into` differs from it only in the part that is to be written.
fn overwritten(cx: &Rewriter<'_>, into: Value, path: &Path, indices: &[Value]) -> Option<Value> {
    let update = cx.func.def(into)?;
    let (Op::Insert(before) | Op::InsertAdd(before)) = &update.op else {
        return None;
    };
    let is_same = before == path && update.operands[2..] == *indices;
    (is_same && may_look_behind(cx, into)).then_some(update.operands[0])
}

/// The parts of an aggregate of which every one was inserted.
fn all_inserted(cx: &Rewriter<'_>, inst: Inst) -> Option<Vec<Value>> {
    let ty = cx.func.ty(cx.func.insts[inst].results[0]);
    let count = cx.types.arity(ty)?;
    if count > SMALL {
        return None;
    }
    let mut parts = vec![None; count as usize];
    let (mut missing, mut at) = (count, inst);
    for _ in 0..REACH {
        let data = &cx.func.insts[at];
        let Op::Insert(path) = &data.op else { return None };
        let [Step::Part(part)] = path.0[..] else {
            return None;
        };
        let entry = &mut parts[part as usize];
        if entry.is_none() {
            *entry = Some(data.operands[1]);
            missing -= 1;
        }
        if missing == 0 {
            return parts.into_iter().collect();
        }
        at = cx.def(data.operands[0])?;
    }
    None
}

/// `insert_add` to nothing, of nothing, or to a part that was cleared just before.
pub(super) fn insert_add(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let Op::InsertAdd(path) = data.op.clone() else {
        return Change::Keep;
    };
    let (into, value) = (data.operands[0], data.operands[1]);
    let indices = SmallVec::<[Value; 2]>::from_slice(&data.operands[2..]);
    if is_zero(cx.func, value) {
        return Change::value(into);
    }
    if let Some((path, rest)) = settle(cx, into, &path, &indices) {
        return cx.become_(inst, Op::InsertAdd(path), &[&[into, value], &rest[..]].concat());
    }
    if is_zero(cx.func, into) {
        return cx.become_(inst, Op::Insert(path), &[&[into, value], &indices[..]].concat());
    }
    if let Some(cleared) = cx.func.def(into)
        && cleared.op == Op::Insert(path.clone())
        && is_zero(cx.func, cleared.operands[1])
        && cleared.operands[2..] == indices[..]
        && may_look_behind(cx, into)
    {
        let older = cleared.operands[0];
        return cx.become_(inst, Op::Insert(path), &[&[older, value], &indices[..]].concat());
    }
    Change::Keep
}

/// `pack` of all parts of one value, of one value many times, or of lanes of one vector.
pub(super) fn pack(cx: &mut Rewriter<'_>, inst: Inst) -> Change {
    let data = &cx.func.insts[inst];
    let (parts, ty) = (data.operands.clone(), cx.func.ty(data.results[0]));
    let Some(&first) = parts.first() else {
        return Change::Keep;
    };
    if let Some(whole) = unpacked(cx, &parts).filter(|whole| cx.func.ty(*whole) == ty) {
        return Change::value(whole);
    }
    if parts.iter().all(|part| is_zero(cx.func, *part)) {
        return cx.become_(inst, Op::Zero, &[]);
    }
    match cx.types.get(ty) {
        Type::Vector(_, n) if n > 1 && parts.iter().all(|p| *p == first) => {
            cx.become_(inst, Op::Splat, &[first])
        }
        Type::Vector(..) => match shuffled(cx, &parts) {
            Some((vector, lanes)) => cx.become_(inst, Op::Swizzle(lanes), &[vector]),
            None => Change::Keep,
        },
        Type::Unit
        | Type::Scalar(_)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => Change::Keep,
    }
}

/// The value of which these are all parts in order.
fn unpacked(cx: &Rewriter<'_>, parts: &[Value]) -> Option<Value> {
    let mut whole = None;
    for (i, part) in parts.iter().enumerate() {
        let data = cx.func.def(*part)?;
        if data.op != Op::Extract(Path::part(i as u32))
            || *whole.get_or_insert(data.operands[0]) != data.operands[0]
        {
            return None;
        }
    }
    whole
}

/// The vector all these are lanes of.
fn shuffled(cx: &Rewriter<'_>, parts: &[Value]) -> Option<(Value, SmallVec<[u8; 4]>)> {
    let (vector, _) = lane_of(cx, *parts.first()?)?;
    let lane = |part: &Value| lane_of(cx, *part).filter(|(of, _)| *of == vector).map(|(_, lane)| lane);
    Some((vector, parts.iter().map(lane).collect::<Option<_>>()?))
}
