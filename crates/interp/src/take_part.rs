//! Moves parts out of an aggregate that are about to be replaced.
//!
//! ```text
//! %x  = extract %s [0]          the array in field 0
//! %x2 = insert %x, %v [%i]
//! %s2 = insert %s, %x2 [0]      the last use of %s
//! ```
//!
//! While `%s` also holds the array, changing `%x` would copy it. But that field of `%s` is about to be replaced, so `%x` is
//! moved out and leaves a hole that no instruction reads. In between, other parts of `%s` may be read and replaced, if they
//! are provably different parts.

use crate::lifetimes::Lifetimes;
use cotangent_ir::{Func, Inst, InstData, Op, Path, Step, Value};

/// Whether the extract at `position` of `insts` may move its part out.
pub(crate) fn moves_out(func: &Func, lifetimes: &Lifetimes, insts: &[Inst], position: usize) -> bool {
    let extract = &func.insts[insts[position]];
    let Op::Extract(path) = &extract.op else { return false };
    let part = Part { path, indices: &extract.operands[1..] };
    let mut aggregate = extract.operands[0];
    for &inst in &insts[position + 1..] {
        let data = &func.insts[inst];
        match next_use(func, lifetimes, inst, data, aggregate, &part) {
            Use::None => {}
            Use::Other(result) => aggregate = result.unwrap_or(aggregate),
            Use::Replaces => return true,
            Use::Looks => return false,
        }
    }
    false
}

/// A place inside an aggregate.
struct Part<'a> {
    path: &'a Path,
    indices: &'a [Value],
}

/// What an instruction does with the aggregate.
enum Use {
    /// Nothing.
    None,
    /// Reads another part, or replaces it and gives the aggregate on.
    Other(Option<Value>),
    /// Replaces the part, as the last use of the aggregate.
    Replaces,
    /// Anything else.
    Looks,
}

fn next_use(
    func: &Func,
    lifetimes: &Lifetimes,
    inst: Inst,
    data: &InstData,
    aggregate: Value,
    part: &Part<'_>,
) -> Use {
    let direct = data.operands.iter().filter(|v| **v == aggregate).count();
    let mut captured = false;
    for &region in &data.regions {
        func.walk(region, &mut |i| captured |= func.insts[i].operands.contains(&aggregate));
    }
    if direct == 0 && !captured {
        return Use::None;
    }
    if direct > 1 || captured || data.operands[0] != aggregate {
        return Use::Looks;
    }
    if let Op::Extract(path) = &data.op {
        let other = Part { path, indices: &data.operands[1..] };
        return if part.differs(&other) { Use::Other(None) } else { Use::Looks };
    }
    if let Op::Insert(path) | Op::InsertAdd(path) = &data.op
        && lifetimes.takes(inst, 0)
    {
        let other = Part { path, indices: &data.operands[2..] };
        let replaces = matches!(data.op, Op::Insert(_)) && part.is(&other);
        if replaces {
            return Use::Replaces;
        }
        return if part.differs(&other) { Use::Other(Some(data.results[0])) } else { Use::Looks };
    }
    Use::Looks
}

impl Part<'_> {
    fn is(&self, other: &Part<'_>) -> bool {
        self.path == other.path && self.indices == other.indices
    }

    /// Whether the two are certainly different parts, neither inside the other.
    fn differs(&self, other: &Part<'_>) -> bool {
        let (mut mine, mut theirs) = (self.indices.iter(), other.indices.iter());
        for (a, b) in self.path.0.iter().zip(&other.path.0) {
            match (a, b) {
                (Step::Part(a), Step::Part(b)) if a != b => return true,
                (Step::Part(_), Step::Part(_)) => {}
                (Step::Index, Step::Index) if mine.next() == theirs.next() => {}
                (Step::Index | Step::Part(_), Step::Index | Step::Part(_)) => return false,
            }
        }
        false
    }
}
