//! Computes which values interfere: one is live where the other is defined.
//!
//! One backward walk tracks the set of live values. A value that a loop captures is live until the loop ends. The arguments
//! of a loop's condition are live after it, because the body gets the same values.
//!
//! The walk considers only values that may get a slot ([`candidates`]) and records only pairs of equal type, because values
//! of different types never share. So straight-line code costs nothing, however long it is.

use cotangent_base::{EntitySet, Map, Set};
use cotangent_ir::{Control, Exit, Func, FuncId, Inst, Op, Region, Value};

/// For each value, those that it must not share storage with.
#[derive(Default)]
pub(super) struct Interference {
    with: Map<Value, Set<Value>>,
}

/// The values that may get a slot: what is updated, and what calls, branches and loops take and give.
fn candidates(func: &Func) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    found.extend(func.inputs().iter().copied());
    for inst in func.all_insts() {
        let data = &func.insts[inst];
        match data.op.control() {
            Control::While(_) | Control::For(_) | Control::If | Control::Switch(_) | Control::Call(_) => {
                found.extend(data.operands.iter().chain(&data.results).copied());
                for region in &data.regions {
                    found.extend(func.regions[*region].args.iter().copied());
                }
            }
            Control::Exit(_) => found.extend(data.operands.iter().copied()),
            Control::Plain if matches!(data.op, Op::Insert(_) | Op::InsertAdd(_)) => {
                found.extend([data.operands[0], data.results[0]]);
            }
            Control::Plain | Control::DiffCall(_) | Control::LinCall(_) => {}
        }
    }
    found
}

impl Interference {
    /// `passed` says which output of a function is an update of which input.
    pub fn of<'p>(func: &Func, passed: impl Fn(FuncId) -> Option<&'p [Option<usize>]>) -> Self {
        let (candidates, found) = (candidates(func), Interference::default());
        let mut walk = Walk { func, passed, candidates, found, loops: vec![] };
        let live = walk.region(func.body, &EntitySet::new());
        walk.define(func.inputs(), &live);
        walk.found
    }

    pub fn between(&self, a: Value, b: Value) -> bool {
        self.with.get(&a).is_some_and(|with| with.contains(&b))
    }

    /// With how many others a value must not share.
    pub fn degree(&self, value: Value) -> usize {
        self.with.get(&value).map_or(0, Set::len)
    }

    /// `b` becomes part of `a`.
    pub fn merge(&mut self, a: Value, b: Value) {
        for other in self.with.get(&b).cloned().unwrap_or_default() {
            self.add(a, other);
        }
    }

    fn add(&mut self, a: Value, b: Value) {
        if a != b {
            self.with.entry(a).or_default().insert(b);
            self.with.entry(b).or_default().insert(a);
        }
    }
}

struct Walk<'f, P> {
    func: &'f Func,
    passed: P,
    candidates: EntitySet<Value>,
    found: Interference,
    /// What is needed after a `break` and a `continue` of the loops around.
    loops: Vec<(EntitySet<Value>, EntitySet<Value>)>,
}

impl<'p, P: Fn(FuncId) -> Option<&'p [Option<usize>]>> Walk<'_, P> {
    /// Values are made where `live` are needed.
    fn define(&mut self, values: &[Value], live: &EntitySet<Value>) {
        for (number, &value) in values.iter().enumerate().filter(|(_, v)| self.candidates.contains(**v)) {
            let ty = self.func.ty(value);
            let others = live.iter().chain(values[..number].iter().copied());
            for other in others.filter(|other| self.func.ty(*other) == ty) {
                self.found.add(value, other);
            }
        }
    }

    /// What is needed before a region, given what is needed after its `yield`.
    fn region(&mut self, region: Region, behind: &EntitySet<Value>) -> EntitySet<Value> {
        let mut live = behind.clone();
        for inst in self.func.regions[region].insts.clone().into_iter().rev() {
            self.inst(inst, &mut live);
        }
        live
    }

    fn inst(&mut self, inst: Inst, live: &mut EntitySet<Value>) {
        let data = self.func.insts[inst].clone();
        self.define(&data.results, live);
        data.results.iter().for_each(|r| _ = live.remove(*r));
        match data.op.control() {
            Control::Plain | Control::DiffCall(_) | Control::LinCall(_) => {}
            Control::Call(callee) => self.call(callee, &data.operands, &data.results),
            Control::If | Control::Switch(_) => {
                let behind = live.clone();
                for region in &data.regions {
                    let before = self.region(*region, &behind);
                    live.extend(before.iter());
                }
            }
            Control::While(_) | Control::For(_) => self.loops(&data.op, &data.regions, live),
            Control::Exit(Exit::Yield) => {}
            Control::Exit(Exit::Break(out)) => *live = self.loops[self.at(out)].0.clone(),
            Control::Exit(Exit::Continue(out)) => *live = self.loops[self.at(out)].1.clone(),
            Control::Exit(Exit::Return) => *live = EntitySet::new(),
        }
        live.extend(data.operands.iter().copied().filter(|v| self.candidates.contains(*v)));
    }

    fn at(&self, out: u32) -> usize {
        self.loops.len() - 1 - out as usize
    }

    /// Results are written while operands may still be read, except where a result is an update of an operand.
    fn call(&mut self, callee: FuncId, operands: &[Value], results: &[Value]) {
        let passed = (self.passed)(callee).unwrap_or(&[]);
        for (output, &result) in results.iter().enumerate() {
            for (input, &operand) in operands.iter().enumerate() {
                let updates = passed.get(output).copied().flatten() == Some(input);
                let twice = operands.iter().filter(|o| **o == operand).count() > 1;
                if (!updates || twice) && self.func.ty(result) == self.func.ty(operand) {
                    self.found.add(result, operand);
                }
            }
        }
    }

    fn loops(&mut self, op: &Op, regions: &[Region], live: &mut EntitySet<Value>) {
        // What the loop reads from outside is needed until its last iteration.
        let mut back = live.clone();
        let inside = self.made_in(regions);
        for region in regions {
            self.func.walk(*region, &mut |inst| {
                let operands = self.func.insts[inst].operands.iter();
                back.extend(
                    operands.copied().filter(|v| self.candidates.contains(*v) && !inside.contains(*v)),
                );
            });
        }
        self.loops.push((live.clone(), back.clone()));
        let (body, cond) = regions.split_last().expect("a loop has a body");
        let before = self.region(*body, &back);
        let mut before = self.begin(*body, before);
        if matches!(op, Op::While(_)) {
            let mut behind = before;
            behind.extend(back.iter());
            behind.extend(self.func.regions[cond[0]].args.iter().copied());
            before = self.region(cond[0], &behind);
            before = self.begin(cond[0], before);
        }
        self.loops.pop();
        live.extend(before.iter());
        live.extend(back.iter());
    }

    fn begin(&mut self, region: Region, mut live: EntitySet<Value>) -> EntitySet<Value> {
        let args = self.func.regions[region].args.clone();
        args.iter().for_each(|arg| _ = live.remove(*arg));
        self.define(&args, &live);
        live
    }

    /// The values that are made inside regions.
    fn made_in(&self, regions: &[Region]) -> EntitySet<Value> {
        let mut made = EntitySet::new();
        for region in regions {
            made.extend(self.func.regions[*region].args.iter().copied());
            self.func.walk(*region, &mut |inst| {
                let data = &self.func.insts[inst];
                made.extend(data.results.iter().copied());
                for inner in &data.regions {
                    made.extend(self.func.regions[*inner].args.iter().copied());
                }
            });
        }
        made
    }
}
