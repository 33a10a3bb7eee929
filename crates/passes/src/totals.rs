//! Adds up in a loop what would be added to memory in each iteration.
//!
//! ```text
//! global @sums: rwbuffer<f32> param
//!
//! func @f(%n: i32, %x: f32, %i: u32) {
//!   %sums: rwbuffer<f32> = global @sums
//!   for %n () body(%k: i32) {
//!     %t: f32 = convert %k
//!     %y: f32 = mul %t, %x
//!     %old: f32 = atomic add %sums, %y [%i]
//!     yield
//!   }
//!   return
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @sums: rwbuffer<f32> param
//!
//! func @f(%n: i32, %x: f32, %i: u32) {
//!   %zero: f32 = zero
//!   %sum: f32 = for %n (%zero) body(%k: i32, %a: f32) {
//!     %t: f32 = convert %k
//!     %y: f32 = mul %t, %x
//!     %b: f32 = add %a, %y
//!     yield %b
//!   }
//!   %none: i32 = const 0
//!   %ran: bool = gt %n, %none
//!   if %ran {
//!     %sums: rwbuffer<f32> = global @sums
//!     %old: f32 = atomic add %sums, %sum [%i]
//!     yield
//!   } else {
//!     yield
//!   }
//!   return
//! }
//! ```
//!
//! Backward kernels add to gradients in loops. The order of these additions is not defined, so the loop may sum the terms first. This
//! changes rounding, so the pass runs on derived kernels only.
//!
//! The additions must be of floats whose old value is not used, at an index that the loop does not change. Where a branch of the loop
//! adds, the loop also carries whether it did: memory is touched only then, as before.
//!
//! These stay: additions to memory that the loop accesses in another way, and all in loops with other exits than their end, with
//! barriers, or with calls that access memory.

use crate::effects::Effects;
use cotangent_base::{EntitySet, Map, Set};
use cotangent_ir::{
    Atomic, AtomicKind, Builder, Const, Control, Exit, Func, Global, Inst, Math, Op, Path, Region, Ty, Types,
    Value,
};

/// A loop adds up for at most as many places: each is a value that it carries.
const MOST: usize = 24;

/// Moves additions to memory out of the loops of `func`. Says whether there were any.
pub fn totals(types: &mut Types, func: &mut Func, effects: &Effects) -> bool {
    let has_any = |inst: &Inst| matches!(func.insts[*inst].op, Op::Atomic(_));
    let insts = func.all_insts();
    if !insts.iter().any(has_any) {
        return false;
    }
    let used = insts.iter().flat_map(|inst| func.insts[*inst].operands.iter().copied()).collect();
    let body = func.body;
    let mut totals = Totals { types, func, effects, used, changed: false };
    totals.region(body);
    totals.changed
}

/// An index of a place: a value from outside the loop, or a constant.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Index {
    Outside(Value),
    Const(Const, Ty),
}

/// A place in memory that is added to.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    global: Global,
    path: Path,
    indices: Vec<Index>,
    /// The type of what is added, and that of the handle of the memory.
    ty: Ty,
    handle: Ty,
}

/// The places that a loop adds to, and the number of the place of each addition.
#[derive(Default)]
struct Found {
    places: Vec<Place>,
    numbers: Map<Inst, usize>,
    /// Whether each place is only added to where a branch says so.
    is_conditional: Vec<bool>,
}

/// What is known of a place at some point of the loop.
#[derive(Clone, Copy)]
struct State {
    sum: Value,
    /// Whether something was added; none if it is in every iteration.
    ran: Option<Value>,
}

struct Totals<'a> {
    types: &'a mut Types,
    func: &'a mut Func,
    effects: &'a Effects,
    used: Set<Value>,
    changed: bool,
}

impl Totals<'_> {
    fn region(&mut self, region: Region) {
        for inst in std::mem::take(&mut self.func.regions[region].insts) {
            for inner in self.func.insts[inst].regions.clone() {
                self.region(inner);
            }
            let found = self.find(inst);
            if found.places.is_empty() {
                self.func.regions[region].insts.push(inst);
            } else {
                self.changed = true;
                self.add_up(region, inst, &found);
            }
        }
    }

    fn builder(&mut self, region: Region, inst: Inst) -> Builder<'_> {
        let span = self.func.insts[inst].span;
        Builder { types: self.types, func: self.func, region, span }
    }

    /// What a loop may add up.
    fn find(&self, inst: Inst) -> Found {
        let mut found = Found::default();
        let body = match self.func.insts[inst].op.control() {
            Control::For(_) => self.func.insts[inst].regions[0],
            Control::While(_) => self.func.insts[inst].regions[1],
            Control::If | Control::Switch(_) | Control::Plain | Control::Exit(_) => return found,
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => return found,
        };
        let Some(within) = Within::of(self, inst) else { return found };
        self.collect(body, false, &within, &mut found);
        found
    }

    /// Collects the additions of a region and of its branches.
    fn collect(&self, region: Region, is_conditional: bool, within: &Within, found: &mut Found) {
        for &inst in &self.func.regions[region].insts {
            let data = &self.func.insts[inst];
            if let Control::If | Control::Switch(_) = data.op.control() {
                data.regions.iter().for_each(|inner| self.collect(*inner, true, within, found));
            }
            let Some(place) = self.place(inst, within) else { continue };
            let number = found.places.iter().position(|known| *known == place);
            let number = number.unwrap_or(found.places.len());
            if number >= MOST {
                continue;
            }
            if number == found.places.len() {
                found.places.push(place);
                found.is_conditional.push(is_conditional);
            }
            found.is_conditional[number] &= is_conditional;
            found.numbers.insert(inst, number);
        }
    }

    /// The place that an instruction adds to, if the loop may add up for it.
    fn place(&self, inst: Inst, within: &Within) -> Option<Place> {
        let data = &self.func.insts[inst];
        let global = self.is_addition(inst)?;
        if within.otherwise.contains(&global) {
            return None;
        }
        let Op::Atomic(Atomic { path, .. }) = &data.op else { return None };
        let indices = data.operands[2..].iter().map(|index| match self.func.op(*index) {
            Some(Op::Const(constant)) => Some(Index::Const(*constant, self.func.ty(*index))),
            _ => (!within.values.contains(*index)).then_some(Index::Outside(*index)),
        });
        let ty = self.func.ty(data.operands[1]);
        let handle = self.func.ty(data.operands[0]);
        Some(Place { global, path: path.clone(), indices: indices.collect::<Option<_>>()?, ty, handle })
    }

    /// The memory that an instruction adds to, if it adds a float whose old value is not used.
    fn is_addition(&self, inst: Inst) -> Option<Global> {
        let data = &self.func.insts[inst];
        let Op::Atomic(Atomic { kind: AtomicKind::Add, .. }) = data.op else { return None };
        let is_float = self.types.scalar_of(self.func.ty(data.operands[1])).is_some_and(|s| s.is_float());
        let is_used = data.results.iter().any(|result| self.used.contains(result));
        self.memory(inst).filter(|_| is_float && !is_used)
    }

    fn memory(&self, inst: Inst) -> Option<Global> {
        match self.func.op(*self.func.insts[inst].operands.first()?) {
            Some(Op::Global(global)) => Some(*global),
            _ => None,
        }
    }

    /// Has a loop add up, and adds the sums to memory after it.
    fn add_up(&mut self, region: Region, inst: Inst, found: &Found) {
        let counted = matches!(self.func.insts[inst].op.control(), Control::For(_));
        // Whether the loop carries if something was added; else that follows from the count.
        let carries: Vec<bool> =
            found.is_conditional.iter().map(|is_conditional| *is_conditional || !counted).collect();
        let mut begin = vec![];
        for (place, carries) in found.places.iter().zip(&carries) {
            let mut b = self.builder(region, inst);
            let sum = b.zero(place.ty);
            begin.push(State { sum, ran: carries.then(|| b.bool(false)) });
        }
        let slots: Vec<Value> = begin.iter().flat_map(State::values).collect();
        self.func.insts[inst].operands.extend(slots.iter().copied());
        let types: Vec<Ty> = slots.iter().map(|slot| self.func.ty(*slot)).collect();
        let mut args = vec![];
        for inner in self.func.insts[inst].regions.clone() {
            args = types.iter().map(|ty| self.func.add_arg(inner, *ty)).collect();
        }
        let body = *self.func.insts[inst].regions.last().expect("a loop has a body");
        self.body(body, states(&begin, &args), found);
        self.func.regions[region].insts.push(inst);
        let results: Vec<Value> = types.iter().map(|ty| self.func.add_result(inst, *ty)).collect();
        for (place, end) in found.places.iter().zip(states(&begin, &results)) {
            let mut b = self.builder(region, inst);
            let ran = end.ran.unwrap_or_else(|| {
                let count = b.func.insts[inst].operands[0];
                let ty = b.ty(count);
                let none = b.constant(Const::Int(0), ty);
                b.math(Math::Gt, &[count, none])
            });
            b.if_(
                ran,
                &[],
                |b| {
                    add(b, place, end.sum);
                    b.yield_(&[]);
                },
                |b| b.yield_(&[]),
            );
        }
    }

    /// Rewrites a region of the loop: its exit hands on the states at its end, which it gives.
    fn body(&mut self, region: Region, mut states: Vec<State>, found: &Found) -> Vec<State> {
        for inst in std::mem::take(&mut self.func.regions[region].insts) {
            if let Some(number) = found.numbers.get(&inst) {
                let value = self.func.insts[inst].operands[1];
                let state = &mut states[*number];
                let mut b = self.builder(region, inst);
                state.sum = b.add(state.sum, value);
                state.ran = state.ran.map(|_| b.bool(true));
                continue;
            }
            if self.adds(inst, found) {
                for inner in self.func.insts[inst].regions.clone() {
                    self.body(inner, states.clone(), found);
                }
                let types: Vec<Ty> =
                    states.iter().flat_map(State::values).map(|value| self.func.ty(value)).collect();
                let results: Vec<Value> = types.iter().map(|ty| self.func.add_result(inst, *ty)).collect();
                states = self::states(&states, &results);
            }
            if let Some(Exit::Yield) = self.func.insts[inst].op.exit() {
                self.func.insts[inst].operands.extend(states.iter().flat_map(State::values));
            }
            self.func.regions[region].insts.push(inst);
        }
        states
    }

    /// Whether a branch has additions in it that the loop adds up.
    fn adds(&self, inst: Inst, found: &Found) -> bool {
        let mut adds = false;
        if let Control::If | Control::Switch(_) = self.func.insts[inst].op.control() {
            for region in &self.func.insts[inst].regions {
                self.func.walk(*region, &mut |inner| adds |= found.numbers.contains_key(&inner));
            }
        }
        adds
    }
}

impl State {
    fn values(&self) -> impl Iterator<Item = Value> + use<> {
        [Some(self.sum), self.ran].into_iter().flatten()
    }
}

/// The same states with other values.
fn states(like: &[State], values: &[Value]) -> Vec<State> {
    let mut values = values.iter().copied();
    let mut next = || values.next().expect("a value for each slot");
    like.iter().map(|state| State { sum: next(), ran: state.ran.map(|_| next()) }).collect()
}

/// Adds a sum to its place.
fn add(b: &mut Builder<'_>, place: &Place, sum: Value) {
    let handle = b.emit1(Op::Global(place.global), &[], place.handle);
    let indices: Vec<Value> = place
        .indices
        .iter()
        .map(|index| match index {
            Index::Outside(value) => *value,
            Index::Const(constant, ty) => b.constant(*constant, *ty),
        })
        .collect();
    let op = Op::Atomic(Atomic { kind: AtomicKind::Add, path: place.path.clone() });
    b.emit(op, &[&[handle, sum], &indices[..]].concat(), &[place.ty]);
}

/// What a loop makes and accesses.
struct Within {
    /// The values that are defined in it.
    values: EntitySet<Value>,
    /// The memory that it accesses in another way than by additions.
    otherwise: Set<Global>,
}

impl Within {
    /// None if the loop does something that may not change its order with additions.
    fn of(totals: &Totals<'_>, looped: Inst) -> Option<Within> {
        let func = &*totals.func;
        let mut within = Within { values: EntitySet::new(), otherwise: Set::default() };
        let mut insts = vec![];
        for region in &func.insts[looped].regions {
            within.enter(func, *region);
            func.walk(*region, &mut |inst| insts.push(inst));
        }
        for inst in insts {
            let data = &func.insts[inst];
            data.results.iter().for_each(|result| _ = within.values.insert(*result));
            data.regions.iter().for_each(|region| within.enter(func, *region));
            if !matches!(data.op.exit(), None | Some(Exit::Yield)) {
                return None;
            }
            let is_structure = matches!(
                data.op.control(),
                Control::If | Control::Switch(_) | Control::For(_) | Control::While(_)
            );
            if is_structure
                || totals.is_addition(inst).is_some()
                || totals.effects.shallow(&data.op).is_pure()
            {
                continue;
            }
            within.otherwise.insert(totals.memory(inst)?);
        }
        Some(within)
    }

    fn enter(&mut self, func: &Func, region: Region) {
        func.regions[region].args.iter().for_each(|arg| _ = self.values.insert(*arg));
    }
}
