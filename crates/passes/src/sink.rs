//! Moves what only one branch needs into that branch.
//!
//! ```text
//! func @f(%x: f32, %c: bool) -> f32 {
//!   %root: f32 = sqrt %x
//!   %r: f32 = if %c {
//!     yield %x
//!   } else {
//!     yield %root
//!   }
//!   return %r
//! }
//! ```
//! becomes
//! ```text
//! func @f(%x: f32, %c: bool) -> f32 {
//!   %r: f32 = if %c {
//!     yield %x
//!   } else {
//!     %root: f32 = sqrt %x
//!     yield %root
//!   }
//!   return %r
//! }
//! ```
//!
//! It runs before a function is turned round. Forwards an unused value is a little work for nothing. Backwards its derivative
//! is zero, and zero times an infinite slope, as of a root at zero, is no number.
//!
//! One walk, last instructions first, so that those who use a value have found their places before it looks for its own: the
//! innermost region around all its uses that is in no more loops. Whole constructs move too.
//!
//! Only what has no effect and reads no memory moves, and constants stay where they are. What takes an array stays: moved behind an update of that array, it would
//! keep the old one alive. Nothing is written twice, so what two of three branches need stays.

use crate::effects::Effects;
use crate::shape::Shape;
use crate::types::holds_array;
use cotangent_base::{EntityMap, Map};
use cotangent_ir::{Func, Inst, Op, Region, Types, Value};

/// Sinks code of `func` into branches. Says whether there was any.
pub fn sink(types: &Types, func: &mut Func, effects: &Effects) -> bool {
    let all = func.all_insts();
    let mut users: EntityMap<Value, Vec<Inst>> = EntityMap::filled(Vec::new(), func.values.len());
    for &inst in &all {
        for &operand in &func.insts[inst].operands {
            users[operand].push(inst);
        }
    }
    let mut sink = Sink { types, func, effects, shape: Shape::of(func), users, moved: Map::default() };
    let mut arrivals: Map<Region, Vec<Inst>> = Map::default();
    for inst in all.into_iter().rev() {
        if let Some(region) = sink.place(inst) {
            sink.moved.insert(inst, region);
            arrivals.entry(region).or_default().push(inst);
        }
    }
    let moved = sink.moved;
    for region in func.regions.keys() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let stay = insts.into_iter().filter(|inst| !moved.contains_key(inst));
        let arrive = arrivals.remove(&region).unwrap_or_default();
        func.regions[region].insts = arrive.into_iter().rev().chain(stay).collect();
    }
    !moved.is_empty()
}

struct Sink<'a> {
    types: &'a Types,
    func: &'a Func,
    effects: &'a Effects,
    /// The function before anything moved.
    shape: Shape,
    users: EntityMap<Value, Vec<Inst>>,
    /// Where instructions go.
    moved: Map<Inst, Region>,
}

impl Sink<'_> {
    /// The region `inst` moves to, if it does.
    fn place(&self, inst: Inst) -> Option<Region> {
        let home = self.home(inst)?;
        let results = self.func.insts[inst].results.iter();
        let mut users = results.flat_map(|result| &self.users[*result]);
        let mut common = self.path(home, *users.next()?);
        for user in users {
            if common.is_empty() {
                break;
            }
            let path = self.path(home, *user);
            let shared = common.iter().zip(&path).take_while(|(a, b)| a == b).count();
            common.truncate(shared);
        }
        let place = *common.last()?;
        self.is_movable(inst).then_some(place)
    }

    /// The region an instruction is in by now.
    fn home(&self, inst: Inst) -> Option<Region> {
        self.moved.get(&inst).copied().or_else(|| self.shape.home(inst))
    }

    /// The regions inside `home` around a user, outermost first, up to the first loop.
    fn path(&self, home: Region, user: Inst) -> Vec<Region> {
        let mut path = vec![];
        let mut at = self.home(user);
        while let Some(region) = at.filter(|region| *region != home) {
            path.push(region);
            let owner = self.shape.owner(region);
            if owner.is_some_and(|owner| self.func.insts[owner].op.is_loop()) {
                path.clear();
            }
            at = owner.and_then(|owner| self.home(owner));
        }
        path.reverse();
        path
    }

    fn is_movable(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let is_source = data.operands.is_empty() && data.regions.is_empty();
        let mut movable = !is_source && self.is_light(inst);
        for region in &data.regions {
            self.func.walk(*region, &mut |inner| movable &= self.is_light(inner));
        }
        movable
    }

    /// Whether an instruction, its regions aside, keeps nothing from moving. A call whose derivative does something stays:
    /// the user may want that done.
    fn is_light(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let does = match data.op {
            Op::Call(callee) => self.effects.derivative(callee),
            _ => self.effects.shallow(&data.op),
        };
        does.is_pure() && !data.operands.iter().any(|v| holds_array(self.types, self.func.ty(*v)))
    }
}
