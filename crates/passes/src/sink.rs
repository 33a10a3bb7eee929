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
//! innermost region around all its uses that is in no more loops. Whole constructs move too, but not deeper than
//! [`MOST_DEPTH`]: a variable that a thousand `if`s overwrite one after the other would nest them a thousand deep. What several branches use and
//! no path outside them is copied to each, if its slope may be infinite and it is small, until the function has twice its length.
//!
//! Only what has no effect and reads no memory moves, and constants stay where they are. What takes an array stays: moved
//! behind an update of that array, it would keep the old one alive.

use crate::effects::{Effects, is_steep};
use crate::shape::Shape;
use crate::types::holds_array;
use cotangent_base::{EntityMap, Map};
use cotangent_ir::{Func, FuncId, Inst, Op, Region, Types, Value};

/// How many regions may be around a construct that has moved.
const MOST_DEPTH: usize = 16;

/// Sinks code of `func` into branches. Calls of functions that are small may be copied.
pub fn sink(types: &Types, func: &mut Func, effects: &Effects, is_small: &dyn Fn(FuncId) -> bool) {
    let all = func.all_insts();
    let mut users: EntityMap<Value, Vec<Inst>> = EntityMap::filled(Vec::new(), func.values.len());
    for &inst in &all {
        for &operand in &func.insts[inst].operands {
            users[operand].push(inst);
        }
    }
    let (shape, room) = (Shape::of(func), all.len());
    let mut sink = Sink { types, func, effects, is_small, shape, users, moved: Map::default(), room };
    let mut arrivals: Map<Region, Vec<Inst>> = Map::default();
    for inst in all.into_iter().rev() {
        for (inst, region) in sink.inst(inst) {
            sink.moved.insert(inst, region);
            arrivals.entry(region).or_default().push(inst);
        }
    }
    let Sink { func, moved, .. } = sink;
    for region in func.regions.keys() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let stay = insts.into_iter().filter(|inst| !moved.contains_key(inst));
        let arrive = arrivals.remove(&region).unwrap_or_default();
        func.regions[region].insts = arrive.into_iter().rev().chain(stay).collect();
    }
}

struct Sink<'a> {
    types: &'a Types,
    func: &'a mut Func,
    effects: &'a Effects,
    is_small: &'a dyn Fn(FuncId) -> bool,
    /// The function before anything moved.
    shape: Shape,
    users: EntityMap<Value, Vec<Inst>>,
    /// Where instructions go.
    moved: Map<Inst, Region>,
    /// How many copies may still be made.
    room: usize,
}

/// Users of an instruction in one branch, and the regions around all of them, outermost first.
struct Group {
    path: Vec<Region>,
    users: Vec<Inst>,
}

impl Sink<'_> {
    /// The regions that `inst` and copies of it move to.
    fn inst(&mut self, inst: Inst) -> Vec<(Inst, Region)> {
        let Some(mut groups) = self.groups(inst).filter(|_| self.is_movable(inst)) else { return vec![] };
        let first = groups.swap_remove(0);
        if groups.len() > self.room
            || !groups.is_empty() && (self.is_dear(inst) || self.is_sure(&first, &groups))
        {
            return vec![];
        }
        if !self.func.insts[inst].regions.is_empty() && self.depth(first.place()) > MOST_DEPTH {
            return vec![];
        }
        self.room -= groups.len();
        let copies = groups.into_iter().map(|group| (self.copy(inst, &group.users), group.place()));
        copies.chain([(inst, first.place())]).collect()
    }

    /// The users of an instruction by the branch they are in. Nothing, if one is in no branch, or there is none.
    fn groups(&self, inst: Inst) -> Option<Vec<Group>> {
        let home = self.home(inst)?;
        let mut groups: Vec<Group> = vec![];
        for user in self.func.insts[inst].results.iter().flat_map(|result| &self.users[*result]) {
            let path = self.path(home, *user);
            let branch = path.first()?;
            match groups.iter_mut().find(|group| group.path[0] == *branch) {
                Some(group) => group.add(*user, &path),
                None => groups.push(Group { path, users: vec![*user] }),
            }
        }
        (!groups.is_empty()).then_some(groups)
    }

    /// In how many regions a region is.
    fn depth(&self, region: Region) -> usize {
        let outer = |region: &Region| self.shape.owner(*region).and_then(|owner| self.home(owner));
        std::iter::successors(Some(region), outer).count()
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

    /// Whether an instruction is not worth a copy.
    fn is_dear(&self, inst: Inst) -> bool {
        match self.func.insts[inst].op {
            Op::Call(callee) => !(self.is_small)(callee),
            _ => !is_steep(self.types, self.func, inst),
        }
    }

    /// Whether some construct uses a value whichever way it goes.
    fn is_sure(&self, first: &Group, others: &[Group]) -> bool {
        let branches: Vec<Region> = others.iter().chain([first]).map(|group| group.path[0]).collect();
        branches
            .iter()
            .filter_map(|branch| self.shape.owner(*branch))
            .any(|owner| self.func.insts[owner].regions.iter().all(|region| branches.contains(region)))
    }

    /// A copy of `inst` for some of its users.
    fn copy(&mut self, inst: Inst, users: &[Inst]) -> Inst {
        let data = self.func.insts[inst].clone();
        let types: Vec<_> = data.results.iter().map(|result| self.func.ty(*result)).collect();
        let copy = self.func.new_inst(data.op, &data.operands, &types, data.span);
        for (&old, &new) in data.results.iter().zip(&self.func.insts[copy].results.clone()) {
            self.func.values[new].name = self.func.values[old].name;
            for user in users {
                let operands = self.func.insts[*user].operands.iter_mut();
                operands.filter(|operand| **operand == old).for_each(|operand| *operand = new);
            }
        }
        for operand in &data.operands {
            self.users[*operand].push(copy);
        }
        copy
    }
}

impl Group {
    fn add(&mut self, user: Inst, path: &[Region]) {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        self.path.truncate(common);
        self.users.push(user);
    }

    /// The innermost region around all.
    fn place(&self) -> Region {
        self.path[self.path.len() - 1]
    }
}
