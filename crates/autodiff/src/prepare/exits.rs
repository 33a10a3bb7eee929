//! Finds which exits leave a construct, and which regions reach their end.

use cotangent_base::Map;
use cotangent_ir::{Func, Inst, Op, Region};
use std::collections::BTreeSet;

/// How a path goes on: 0 if it reaches the end, else the exit it takes. The loop at depth `d`, counted from the
/// outermost, has `2 + 2 * d` for `break` and one more for `continue`, so what is further out is smaller.
pub(super) type Code = u32;

/// The end is reached.
pub(super) const FALL: Code = 0;
/// The function is left.
pub(super) const RETURN: Code = 1;

/// The loop at that depth is left.
pub(super) fn break_of(depth: usize) -> Code {
    2 + 2 * depth as Code
}

/// The loop at that depth goes on.
pub(super) fn continue_of(depth: usize) -> Code {
    3 + 2 * depth as Code
}

/// The code of an exit that stands inside `loops` loops.
pub(super) fn code(op: &Op, loops: usize) -> Code {
    if let Op::Break(n) = op {
        break_of(loops - 1 - *n as usize)
    } else if let Op::Continue(n) = op {
        continue_of(loops - 1 - *n as usize)
    } else if *op == Op::Return {
        RETURN
    } else {
        FALL
    }
}

/// Whose slots an exit sets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Group {
    /// The outputs of the function.
    Return,
    /// The slots of the loop at that depth.
    Loop(usize),
}

/// Whose slots the exit `code` sets.
pub(super) fn group(code: Code) -> Group {
    if code <= RETURN { Group::Return } else { Group::Loop((code as usize - 2) / 2) }
}

/// The groups that `codes` set, each once, in order.
pub(super) fn groups(codes: &[Code]) -> Vec<Group> {
    let groups: BTreeSet<Group> = codes.iter().map(|c| group(*c)).collect();
    groups.into_iter().collect()
}

/// The answers for a function.
pub(super) struct Exits {
    leaving: Map<Inst, Vec<Code>>,
    falls: Map<Region, bool>,
}

impl Exits {
    pub(super) fn of(func: &Func) -> Self {
        let mut exits = Exits { leaving: Map::default(), falls: Map::default() };
        if !func.regions[func.body].insts.is_empty() {
            exits.region(func, func.body, 0);
        }
        exits
    }

    /// The exits inside `inst` that lead out of it, in order.
    pub(super) fn leaving(&self, inst: Inst) -> &[Code] {
        self.leaving.get(&inst).map_or(&[], Vec::as_slice)
    }

    /// Whether the end of `region` can be reached.
    pub(super) fn falls(&self, region: Region) -> bool {
        self.falls[&region]
    }

    /// The exits in `region`, which stands inside `loops` loops.
    fn region(&mut self, func: &Func, region: Region, loops: usize) -> BTreeSet<Code> {
        let mut codes = BTreeSet::new();
        let mut falls = matches!(func.exit(region).op, Op::Yield);
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let depth = loops + usize::from(data.op.is_loop());
            let mut inner = BTreeSet::new();
            for &region in &data.regions {
                inner.extend(self.region(func, region, depth));
            }
            if data.op.is_loop() {
                inner.retain(|c| *c < break_of(loops));
            } else if !data.regions.is_empty() {
                falls &= data.regions.iter().any(|r| self.falls[r]);
            } else if data.op.is_exit() && data.op != Op::Yield {
                codes.insert(code(&data.op, loops));
            }
            codes.extend(inner.iter().copied());
            if !inner.is_empty() {
                self.leaving.insert(inst, inner.into_iter().collect());
            }
        }
        self.falls.insert(region, falls);
        codes
    }
}
