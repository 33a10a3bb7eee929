//! `prepare`: removes early exits from a copy of a function, so that reverse mode can run it backwards.
//!
//! ```text
//! f(x) {                              f(x) {
//!   if c {                              r = if c {
//!     return a                            yield a
//!   } else { yield }                    } else {
//!   y = ..                                y = ..
//!   return y                              yield y
//! }                                     }
//!                                       return r
//!                                     }
//! ```
//!
//! One recursive pass processes each region to its end. There it has values and an *outcome*: the code 0 if control reached
//! the end, and otherwise the code of an exit. The region's `Landing` says where they go.
//!
//! - **Sink.** If at most one branch of an `if` or `switch` reaches its end, the code after the construct moves into that
//!   branch. Nothing is duplicated and no flag is needed.
//! - **Guard.** Otherwise the construct also yields the code and the values of each exit, and the code after it moves into
//!   `if code == 0 {..} else {..}`, whose other branch passes them on.
//! - **Loops.** A loop with early exits gets a slot `live`, and its condition becomes `if live {condition} else {false}`, so
//!   that it is never evaluated more often than before. Only a loop with exits to an outer construct carries their code and
//!   values.
//! - **Pass through.** A path that leaves a slot unset yields the current value of that slot, not an undefined one, so that
//!   neither an array nor its derivative is ever filled again.
//!
//! Each loop has one group of slots, shared by its `break`, its `continue` and the end of its body; `return` has another
//! group. A counted loop with early exits becomes a `while`.
//!
//! The pass also records what only the original edges show (see `induction`): induction variables, and bounds on iteration
//! counts.

mod exits;
pub(crate) mod induction;
mod landing;
mod loops;
mod versions;

use cotangent_base::{Map, Span};
use cotangent_ir::{Builder, Copier, Func, Inst, InstData, Op, Region, Ty, Types, Value};
use cotangent_passes::shape::Shape;
use exits::{Code, Exits, FALL};
use landing::{Landing, Outcome};
use versions::{Met, Versions};

/// A function without `break` and `continue` and with one `return`, at the end of its body.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The function.
    pub func: Func,
    /// Arguments of loop bodies that are known in every iteration.
    pub induction: Induction,
}

/// Arguments of loop bodies, each with its step, which is added after each iteration: in iteration `k` of its loop, counted
/// from 0, the argument is `init + step * k` where the body begins.
pub type Induction = Map<Value, i64>;

/// Removes the early exits of `func`.
pub fn prepare(types: &mut Types, func: &Func) -> Prepared {
    let mut to = Func::new(func.name, func.sig.clone(), func.span);
    to.origin = func.origin;
    to.inline = func.inline;
    to.diff = func.diff.clone();
    let mut copier = Copier::new();
    for (&old, &new) in func.inputs().iter().zip(to.inputs()) {
        copier.rename(old, new);
    }
    let mut p = Preparer {
        from: func,
        exits: Exits::of(func),
        shape: Shape::of(func),
        types,
        region: to.body,
        span: to.span,
        to,
        copier,
        current: Versions::default(),
        slots: Vec::new(),
        induction: Induction::default(),
    };
    if !func.regions[func.body].insts.is_empty() {
        p.sequence(At { region: func.body, index: 0 }, None, &Landing::Function);
    }
    Prepared { func: p.to, induction: p.induction }
}

/// A place in the original function.
#[derive(Clone, Copy)]
struct At {
    region: Region,
    index: usize,
}

/// Where to go on once the end of a branch is reached: after `inst`, whose results the branch has yielded.
struct Rest<'r> {
    inst: Inst,
    at: At,
    next: Option<&'r Rest<'r>>,
}

struct Preparer<'a> {
    from: &'a Func,
    exits: Exits,
    shape: Shape,
    types: &'a mut Types,
    to: Func,
    /// Where instructions go.
    region: Region,
    span: Span,
    /// New names of values.
    copier: Copier,
    /// The current values of slots, to be passed through.
    current: Versions,
    /// The types of the slots of the loops around, outermost first.
    slots: Vec<Vec<Ty>>,
    induction: Induction,
}

impl Preparer<'_> {
    /// Rewrites what follows `at`, then `rest`, and lands.
    fn sequence(&mut self, at: At, rest: Option<&Rest<'_>>, landing: &Landing) {
        let from = self.from;
        for (index, &inst) in from.regions[at.region].insts.iter().enumerate().skip(at.index) {
            let data = &from.insts[inst];
            self.span = data.span;
            let next = At { region: at.region, index: index + 1 };
            if data.op == Op::Yield {
                return self.fall(data, rest, landing);
            } else if data.op.is_exit() {
                let values = self.copier.all(&data.operands);
                let code = exits::code(&data.op, self.slots.len());
                return self.land(landing, &Outcome::Known(code, values));
            } else if data.op.is_loop() {
                if let Some(carried) = self.loop_(inst, data) {
                    return self.guard(carried, next, rest, landing);
                }
            } else if data.regions.is_empty() {
                self.copy(inst);
            } else if self.exits.leaving(inst).is_empty() {
                self.branches(data);
            } else {
                let rest = Rest { inst, at: next, next: rest };
                return self.branches_with_exits(data, &rest, landing);
            }
        }
    }

    /// The end of a branch or body.
    fn fall(&mut self, data: &InstData, rest: Option<&Rest<'_>>, landing: &Landing) {
        let values = self.copier.all(&data.operands);
        let Some(rest) = rest else {
            return self.land(landing, &Outcome::Known(FALL, values));
        };
        self.bind(&self.from.insts[rest.inst].results, &values);
        self.sequence(rest.at, rest.next, landing);
    }

    /// An instruction without regions.
    fn copy(&mut self, inst: Inst) {
        let Preparer { from, types, to, region, span, copier, .. } = self;
        let mut b = Builder { types, func: to, region: *region, span: *span };
        let new = copier.inst(from, inst, &mut b);
        let data = &self.to.insts[new];
        if let (Op::Insert(_) | Op::InsertAdd(_), Some(&old)) = (&data.op, data.operands.first()) {
            self.current.update(old, data.results[0]);
        }
    }

    /// A construct that no exit leaves.
    fn branches(&mut self, data: &InstData) {
        let types = self.types_of(&data.results);
        let branch = Landing::Branch { fall: types.clone(), exits: vec![], met: Met::default() };
        let results = self.construct(data, &types, None, &branch);
        self.land_branches(&branch, data, &results);
    }

    /// A construct that is left early on some paths: the end of `landing`'s region.
    fn branches_with_exits(&mut self, data: &InstData, rest: &Rest<'_>, landing: &Landing) {
        let falling = data.regions.iter().filter(|r| self.exits.falls(**r)).count();
        if falling <= 1 {
            let types = self.layout(landing);
            let results = self.construct(data, &types, Some(rest), landing);
            return self.terminate(&results);
        }
        let exits = self.exits.leaving(rest.inst).to_vec();
        let branch = Landing::Branch { fall: self.types_of(&data.results), exits, met: Met::default() };
        let types = self.layout(&branch);
        let results = self.construct(data, &types, None, &branch);
        let (fall, carried) = self.unpack(&branch, &results);
        self.land_branches(&branch, data, &fall);
        self.guard(carried, rest.at, rest.next, landing);
    }

    /// After a construct: its results are `values`.
    fn land_branches(&mut self, branch: &Landing, data: &InstData, values: &[Value]) {
        self.bind(&data.results, values);
        if let Landing::Branch { met, .. } = branch {
            self.current.take(met, values);
        }
    }

    /// An `if` or `switch` whose branches go on with `rest` and land on `landing`, which takes values of `types`.
    fn construct(
        &mut self,
        data: &InstData,
        types: &[Ty],
        rest: Option<&Rest<'_>>,
        landing: &Landing,
    ) -> Vec<Value> {
        let condition = self.copier.all(&data.operands);
        let branch = |p: &mut Self, region: Region| {
            p.build(&[], |p, _| p.sequence(At { region, index: 0 }, rest, landing))
        };
        let regions: Vec<Region> = data.regions.iter().map(|r| branch(self, *r)).collect();
        self.span = data.span;
        let inst = self.b().emit(data.op.clone(), &condition, types);
        self.to.insts[inst].regions.extend(regions);
        self.to.insts[inst].results.to_vec()
    }

    /// `if code == 0 {what follows} else {hand on}`.
    fn guard(&mut self, carried: Outcome, at: At, rest: Option<&Rest<'_>>, landing: &Landing) {
        let Outcome::Carried { code, .. } = carried else {
            return;
        };
        let span = self.span;
        let types = self.layout(landing);
        let follow = self.build(&[], |p, _| p.sequence(at, rest, landing));
        let hand_on = self.build(&[], |p, _| p.land(landing, &carried));
        self.span = span;
        let falls = self.is_code(code, FALL);
        let inst = self.b().emit(Op::If, &[falls], &types);
        self.to.insts[inst].regions.extend([follow, hand_on]);
        let results = self.to.insts[inst].results.to_vec();
        self.terminate(&results);
    }

    fn is_code(&mut self, value: Value, code: Code) -> Value {
        let mut b = self.b();
        let code = b.int(code.into());
        b.math(cotangent_ir::Math::Eq, &[value, code])
    }

    /// Ends the region being built.
    fn terminate(&mut self, values: &[Value]) {
        let exit = if self.region == self.to.body { Op::Return } else { Op::Yield };
        self.b().emit(exit, values, &[]);
    }

    /// Builds a region. New versions of slots' values made in it are forgotten after it.
    fn build(&mut self, args: &[Ty], build: impl FnOnce(&mut Self, &[Value])) -> Region {
        let region = self.to.new_region();
        let args: Vec<Value> = args.iter().map(|ty| self.to.add_arg(region, *ty)).collect();
        let outer = std::mem::replace(&mut self.region, region);
        let current = self.current.clone();
        build(self, &args);
        self.current = current;
        self.region = outer;
        region
    }

    fn b(&mut self) -> Builder<'_> {
        Builder { types: self.types, func: &mut self.to, region: self.region, span: self.span }
    }

    fn bind(&mut self, old: &[Value], new: &[Value]) {
        for (&old, &new) in old.iter().zip(new) {
            self.copier.rename(old, new);
            let name = &mut self.to.values[new].name;
            *name = name.or(self.from.values[old].name);
        }
    }

    fn types_of(&self, values: &[Value]) -> Vec<Ty> {
        values.iter().map(|v| self.from.ty(*v)).collect()
    }
}
