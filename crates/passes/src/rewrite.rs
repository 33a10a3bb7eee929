//! The walk that [`fold`](crate::fold) and [`simplify`](crate::simplify) share.
//!
//! It visits the instructions of a function once, in order of execution. It first updates the operands of each instruction,
//! since earlier rewrites may have replaced them. Then it applies the rules. A rule leaves the instruction, changes it in
//! place, replaces its results by existing values, or replaces it by one of its regions. Every use of a result comes later in
//! this order, so a replacement never needs a second visit.
//!
//! Rules change instructions in place where possible, so that values keep their numbers and tables beside the function (which
//! values are linear) stay valid. The only new instructions are constants.

use crate::edit::Renaming;
use cotangent_base::EntityMap;
use cotangent_ir::{Const, Exit, Func, Inst, Op, Region, Ty, Types, Value};
use smallvec::SmallVec;

/// What a rule makes of an instruction.
pub(crate) enum Change {
    /// It stays as it is.
    Keep,
    /// It was changed in place; the rules look at it again.
    Again,
    /// Its results are these values; it goes.
    Values(SmallVec<[Value; 1]>),
    /// The instructions of this region run in its place, and what the region yields are its results. If the
    /// region ends otherwise, what follows is never reached and goes.
    Splice(Region),
}

impl Change {
    /// The one result is this value.
    pub(crate) fn value(value: Value) -> Change {
        Change::Values(SmallVec::from_slice(&[value]))
    }
}

/// The rules of a pass.
pub(crate) trait Rules {
    /// Looks at an instruction with regions before they are visited.
    fn enter(&mut self, cx: &mut Rewriter<'_>, inst: Inst) -> Change;
    /// Region number `index` of `inst` is about to be visited.
    fn begin(&mut self, _cx: &Rewriter<'_>, _inst: Inst, _index: usize) {}
    /// Region number `index` of `inst` was visited.
    fn end(&mut self, _cx: &Rewriter<'_>, _inst: Inst, _index: usize) {}
    /// Looks at an instruction; if it has regions, after they were visited.
    fn leave(&mut self, cx: &mut Rewriter<'_>, inst: Inst) -> Change;
}

/// How often rules may change one instruction in place: a guard against rules that undo each other.
const PATIENCE: usize = 64;

/// The function under rewriting.
pub(crate) struct Rewriter<'a> {
    pub(crate) types: &'a mut Types,
    pub(crate) func: &'a mut Func,
    uses: EntityMap<Value, u32>,
    renaming: Renaming,
    out: Vec<Inst>,
    changed: bool,
}

/// Applies `rules` to all of `func`. Says whether anything changed.
pub(crate) fn rewrite(types: &mut Types, func: &mut Func, rules: &mut impl Rules) -> bool {
    let mut uses = EntityMap::filled(0, func.values.len());
    for inst in func.all_insts() {
        for &operand in &func.insts[inst].operands {
            uses[operand] += 1;
        }
    }
    let body = func.body;
    let mut rewriter =
        Rewriter { types, func, uses, renaming: Renaming::default(), out: Vec::new(), changed: false };
    rewriter.region(rules, body);
    rewriter.changed
}

impl Rewriter<'_> {
    /// At most how often a value is used. Uses that went away in this walk still count.
    pub(crate) fn uses(&self, value: Value) -> u32 {
        self.uses.get(value).copied().unwrap_or(u32::MAX)
    }

    /// What makes `value`, if it is an instruction.
    pub(crate) fn def(&self, value: Value) -> Option<Inst> {
        match self.func.values[value].def {
            cotangent_ir::ValueDef::Result(inst, _) => Some(inst),
            cotangent_ir::ValueDef::Arg(..) => None,
        }
    }

    /// Makes `inst` another operation on other operands.
    pub(crate) fn become_(&mut self, inst: Inst, op: Op, operands: &[Value]) -> Change {
        for &operand in operands {
            self.uses[operand] = self.uses[operand].saturating_add(1);
        }
        let data = &mut self.func.insts[inst];
        data.op = op;
        data.operands = operands.into();
        data.regions.clear();
        Change::Again
    }

    /// A new constant before the instruction that the rules examine.
    pub(crate) fn constant(&mut self, value: Const, ty: Ty, like: Inst) -> Value {
        let span = self.func.insts[like].span;
        let inst = self.func.new_inst(Op::Const(value), &[], &[ty], span);
        self.out.push(inst);
        let result = self.func.insts[inst].results[0];
        self.uses.grow_to(result, u32::MAX);
        result
    }

    fn region(&mut self, rules: &mut impl Rules, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let outer = std::mem::take(&mut self.out);
        for inst in insts {
            if self.inst(rules, inst) {
                break;
            }
        }
        self.func.regions[region].insts = std::mem::replace(&mut self.out, outer);
    }

    /// Says whether what follows is unreachable.
    fn inst(&mut self, rules: &mut impl Rules, inst: Inst) -> bool {
        self.renaming.apply_to(self.func, inst);
        if !self.func.insts[inst].regions.is_empty() {
            match rules.enter(self, inst) {
                Change::Keep => {}
                change @ (Change::Again | Change::Values(_) | Change::Splice(_)) => {
                    return self.apply(rules, inst, change);
                }
            }
            for (index, region) in self.func.insts[inst].regions.clone().into_iter().enumerate() {
                rules.begin(self, inst, index);
                self.region(rules, region);
                rules.end(self, inst, index);
            }
        }
        for _ in 0..PATIENCE {
            match rules.leave(self, inst) {
                Change::Keep => break,
                Change::Again => self.changed = true,
                change @ (Change::Values(_) | Change::Splice(_)) => return self.apply(rules, inst, change),
            }
        }
        self.out.push(inst);
        self.func.insts[inst].op.is_exit()
    }

    fn apply(&mut self, rules: &mut impl Rules, inst: Inst, change: Change) -> bool {
        self.changed = true;
        match change {
            Change::Keep | Change::Again => {
                self.out.push(inst);
                false
            }
            Change::Values(values) => {
                self.rename_results(inst, &values);
                false
            }
            Change::Splice(region) => self.splice(rules, inst, region),
        }
    }

    fn splice(&mut self, rules: &mut impl Rules, inst: Inst, region: Region) -> bool {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        for inner in insts {
            if self.func.insts[inner].op.exit() == Some(Exit::Yield) {
                self.renaming.apply_to(self.func, inner);
                let values = self.func.insts[inner].operands.clone();
                self.rename_results(inst, &values);
                return false;
            }
            if self.inst(rules, inner) {
                return true;
            }
        }
        false
    }

    /// The results of `inst` are these values from now on.
    fn rename_results(&mut self, inst: Inst, values: &[Value]) {
        for (index, &new) in values.iter().enumerate() {
            self.rename(self.func.insts[inst].results[index], new);
        }
    }

    /// `old` is `new` from now on.
    pub(crate) fn rename(&mut self, old: Value, new: Value) {
        let more = self.uses(old);
        if let Some(count) = self.uses.get(new).copied() {
            self.uses[new] = count.saturating_add(more);
        }
        self.renaming.rename(self.func, old, new);
        self.changed = true;
    }
}
