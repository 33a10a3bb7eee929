//! Assigns storage to values so that updates happen in place.
//!
//! Input: a function. Output: a table of slots beside the function; the code does not change. The IR has values only:
//! `insert` makes a new aggregate, and a loop passes aggregates from iteration to iteration. An emitter that gives each value
//! its own variable would copy an array per iteration. This analysis gives every value that needs a variable a *slot*, and
//! values that are never live at the same time share one:
//!
//! ```text
//! %a: [f32; 4] = for %n (%zero) body(%i: i32, %b: [f32; 4]) {     slot a: %zero, %b, %c, %a
//!   %c: [f32; 4] = insert %b, %x [%i]                             a[i] = x
//!   yield %c                                                      nothing to do
//! }
//! ```
//!
//! The arguments of a loop's condition, those of its body, and its results always share a slot. These share one if they do
//! not interfere:
//!
//! - an update and the value it updates;
//! - the initial value of a loop slot and the values yielded to it;
//! - the results of a branch and the values its regions yield;
//! - an output of a function and the input that it updates ([`Places::passed`]).
//!
//! Two slots are merged if no value of one is live where a value of the other is defined ([`live`]). So a captured array that
//! is dead after an `if` is updated inside the branches. An array from outside a loop is never updated inside it. The
//! condition of a loop cannot overwrite what its body reads.
//!
//! If two values should share a slot but interfere, the emitter copies.

mod live;

use cotangent_base::{EntityMap, EntitySet, Map, entity};
use cotangent_ir::{Control, Exit, Func, FuncId, Inst, Module, Op, Region, Ty, Type, Types, Value};
use live::Interference;

entity!(
    /// A variable that values share.
    Slot,
    "slot"
);

/// Which values share storage.
#[derive(Clone, Debug)]
pub struct Places {
    slots: Map<Value, Slot>,
    members: EntityMap<Slot, Vec<Value>>,
    /// For each output, the input of which it is an update: one storage, passed by reference, serves both.
    pub passed: Vec<Option<usize>>,
}

/// Whether values of a type are too large to be copied for nothing: there is an array in them.
pub fn is_large(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Array(..) => true,
        Type::Struct(id) | Type::Sum(id) => types.struct_def(id).fields.iter().any(|f| is_large(types, f.ty)),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

impl Places {
    /// Finds the slots of a function. `callees` has the tables of functions that were placed before.
    pub fn of(module: &Module, func: &Func, callees: &Map<FuncId, Places>) -> Places {
        let mut classes = Classes {
            types: &module.types,
            func,
            callees,
            clash: Interference::of(func, |callee| callees.get(&callee).map(|p| &p.passed[..])),
            parent: func.values.keys().collect(),
            stored: EntitySet::new(),
        };
        classes.forced(func.body);
        classes.updates(func.body);
        let mut frames = Vec::new();
        classes.carried(func.body, None, &mut frames);
        classes.finish()
    }

    /// The slot a value lives in, unless it needs none.
    pub fn slot(&self, value: Value) -> Option<Slot> {
        self.slots.get(&value).copied()
    }

    /// All slots.
    pub fn all(&self) -> impl Iterator<Item = Slot> + use<> {
        self.members.keys()
    }

    /// The values that share a slot, in the order of their numbers.
    pub fn members(&self, slot: Slot) -> &[Value] {
        &self.members[slot]
    }
}

/// Slots under construction: a forest over the values.
struct Classes<'f> {
    types: &'f Types,
    func: &'f Func,
    callees: &'f Map<FuncId, Places>,
    clash: Interference,
    parent: EntityMap<Value, Value>,
    /// The values that need storage.
    stored: EntitySet<Value>,
}

impl Classes<'_> {
    fn root(&self, mut value: Value) -> Value {
        while self.parent[value] != value {
            value = self.parent[value];
        }
        value
    }

    fn union(&mut self, a: Value, b: Value) {
        let (mut a, mut b) = (self.root(a), self.root(b));
        if a != b {
            if self.clash.degree(a) < self.clash.degree(b) {
                (a, b) = (b, a);
            }
            self.clash.merge(a, b);
            self.parent[b] = a;
        }
    }

    /// Lets two values share a slot if they may.
    fn share(&mut self, a: Value, b: Value) {
        let (ra, rb) = (self.root(a), self.root(b));
        if self.func.ty(a) == self.func.ty(b) && (ra == rb || !self.clash.between(ra, rb)) {
            self.stored.insert(a);
            self.stored.insert(b);
            self.union(a, b);
        }
    }

    fn is_aggregate(&self, value: Value) -> bool {
        match self.types.get(self.func.ty(value)) {
            Type::Array(..) | Type::Struct(_) | Type::Sum(_) => true,
            Type::Vector(..) | Type::Matrix(..) | Type::Unit | Type::Scalar(_) => false,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }

    /// The slots of loops, and everything else that lives in a variable.
    fn forced(&mut self, region: Region) {
        let func = self.func;
        for inst in &func.regions[region].insts {
            let data = &func.insts[*inst];
            match data.op.control() {
                Control::While(_) | Control::For(_) => {
                    for (number, &result) in data.results.iter().enumerate() {
                        self.stored.insert(result);
                        for region in &data.regions {
                            let skip = usize::from(matches!(data.op, Op::For(_)));
                            let arg = func.regions[*region].args[number + skip];
                            self.stored.insert(arg);
                            self.union(result, arg);
                        }
                    }
                }
                Control::If | Control::Switch(_) => self.stored.extend(data.results.iter().copied()),
                Control::Call(_) => {
                    if by_reference(self.types, func, *inst) {
                        self.stored.extend(data.results.iter().copied());
                    }
                }
                Control::Plain if matches!(data.op, Op::Insert(_) | Op::InsertAdd(_)) => {
                    self.stored.insert(data.results[0]);
                }
                Control::Plain | Control::DiffCall(_) | Control::LinCall(_) | Control::Exit(_) => {}
            }
            data.regions.iter().for_each(|inner| self.forced(*inner));
        }
    }

    /// Updates, and calls that update what they are given.
    fn updates(&mut self, region: Region) {
        let func = self.func;
        for inst in &func.regions[region].insts {
            let data = &func.insts[*inst];
            data.regions.iter().for_each(|inner| self.updates(*inner));
            if let Op::Insert(_) | Op::InsertAdd(_) = data.op {
                self.share(data.operands[0], data.results[0]);
            } else if let Op::Call(callee) = &data.op {
                let passed = self.callees.get(callee).map_or(vec![], |p| p.passed.clone());
                for (output, input) in passed.into_iter().enumerate() {
                    if let Some(input) = input {
                        self.stored.insert(data.results[output]);
                        self.share(data.operands[input], data.results[output]);
                    }
                }
            }
        }
    }

    /// What loops and branches hand on. `results` are those of the branch around, `loops` those of the loops around.
    fn carried(&mut self, region: Region, results: Option<&[Value]>, loops: &mut Vec<Vec<Value>>) {
        let func = self.func;
        for inst in &func.regions[region].insts {
            let data = &func.insts[*inst];
            let to: Vec<Value> = data.results.to_vec();
            match data.op.control() {
                Control::While(_) | Control::For(_) => {
                    let skip = usize::from(matches!(data.op, Op::For(_)));
                    self.hand_on(&data.operands[skip..], &to);
                    loops.push(to.clone());
                    let (body, cond) = data.regions.split_last().expect("a loop has a body");
                    cond.iter().for_each(|r| self.carried(*r, None, loops));
                    self.carried(*body, Some(&to), loops);
                    loops.pop();
                }
                Control::If | Control::Switch(_) => {
                    data.regions.iter().for_each(|r| self.carried(*r, Some(&to), loops));
                }
                Control::Exit(Exit::Yield) => {
                    if let Some(results) = results {
                        self.hand_on(&data.operands, results);
                    }
                }
                Control::Exit(Exit::Break(out) | Exit::Continue(out)) => {
                    let target = loops[loops.len() - 1 - out as usize].clone();
                    self.hand_on(&data.operands, &target);
                }
                Control::Exit(Exit::Return) => {}
                Control::Plain | Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => {}
            }
        }
    }

    /// Aggregates, and what lives in a variable anyway, are made where they are wanted.
    fn hand_on(&mut self, from: &[Value], to: &[Value]) {
        for (&from, &to) in from.iter().zip(to) {
            if self.is_aggregate(from) || self.stored.contains(from) {
                self.share(to, from);
            }
        }
    }

    fn finish(self) -> Places {
        let mut places = Places { slots: Map::default(), members: EntityMap::new(), passed: vec![] };
        let mut numbers: Map<Value, Slot> = Map::default();
        for value in self.func.values.keys().filter(|v| self.stored.contains(*v)) {
            let root = self.root(value);
            let slot = *numbers.entry(root).or_insert_with(|| places.members.push(vec![]));
            places.members[slot].push(value);
            places.slots.insert(value, slot);
        }
        places.passed = self.passed(&places);
        places
    }

    /// An output is an update of an input if every `return` gives back the input's slot.
    fn passed(&self, places: &Places) -> Vec<Option<usize>> {
        let func = self.func;
        let returns: Vec<Inst> =
            func.all_insts().into_iter().filter(|i| matches!(func.insts[*i].op, Op::Return)).collect();
        let mut taken = Vec::new();
        let outputs = func.sig.outputs().count();
        (0..outputs)
            .map(|output| {
                let slot = places.slot(func.insts[*returns.first()?].operands[output])?;
                let same = |i: &Inst| places.slot(func.insts[*i].operands[output]) == Some(slot);
                let input = func.inputs().iter().position(|v| places.slot(*v) == Some(slot))?;
                let large = is_large(self.types, func.ty(func.inputs()[input]));
                let fits = large && func.entry.is_none() && returns.iter().all(same);
                if !fits || taken.contains(&input) {
                    return None;
                }
                taken.push(input);
                Some(input)
            })
            .collect()
    }
}

/// Whether a call gives its results through references: all but a single small one.
pub fn by_reference(types: &Types, func: &Func, call: Inst) -> bool {
    let results = &func.insts[call].results;
    results.len() > 1 || results.iter().any(|r| is_large(types, func.ty(*r)))
}
