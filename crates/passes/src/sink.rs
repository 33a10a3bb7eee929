//! Moves computations that only some branches need into those branches.
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
//!
//! becomes
//!
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
//! It runs before differentiation. In the forward pass, an unused value only costs a little time. In the backward pass its
//! cotangent is zero, and zero times an infinite derivative, such as that of a square root at zero, is NaN.
//!
//! One walk, from the last instruction to the first, moves each value to the innermost region that contains all its uses and
//! is in no additional loop. The uses of a value thus move before the value itself. Whole constructs move too, but not deeper
//! than [`MOST_DEPTH`]: otherwise a variable that a thousand `if`s overwrite in sequence would nest them a thousand deep. A
//! small value with a possibly infinite derivative that several branches use, and no path outside them, is copied into each,
//! until the function has doubled in length.
//!
//! Only instructions that have no effect and read no memory move. Constants stay. Instructions that take an array stay: after
//! an update of that array, they would keep the old version alive.

use crate::effects::{Effects, is_steep};
use crate::shape::Shape;
use crate::types::holds_array;
use cotangent_base::{EntityMap, Map};
use cotangent_ir::{Func, FuncId, Inst, Op, Region, Types, Value};

/// How many regions may be around a construct that has moved.
const MOST_DEPTH: usize = 16;

/// Sinks code of `func` into branches. Calls of functions that are small may be copied. Says whether something moved.
pub fn sink(types: &Types, func: &mut Func, effects: &Effects, is_small: &dyn Fn(FuncId) -> bool) -> bool {
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
    !moved.is_empty()
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

/// A user of a value, and the regions between it and where the value is made, outermost first, up to the first loop.
#[derive(Clone, Copy)]
struct User<'p> {
    inst: Inst,
    path: &'p [Region],
}

/// Where a value goes.
struct Settled {
    /// Regions, each with the users that find it there.
    places: Vec<(Region, Vec<Inst>)>,
    /// Whether it is used whichever way control goes.
    certain: bool,
}

impl Sink<'_> {
    /// The regions that `inst` and copies of it move to.
    fn inst(&mut self, inst: Inst) -> Vec<(Inst, Region)> {
        let Some(home) = self.home(inst) else { return vec![] };
        let results = self.func.insts[inst].results.iter();
        let users: Vec<Inst> = results.flat_map(|result| &self.users[*result]).copied().collect();
        let paths: Vec<Vec<Region>> = users.iter().map(|user| self.path(home, *user)).collect();
        if users.is_empty() || paths.iter().any(Vec::is_empty) || !self.is_movable(inst) {
            return vec![];
        }
        let users: Vec<User<'_>> =
            users.iter().zip(&paths).map(|(user, path)| User { inst: *user, path }).collect();
        let mut places = self.settle(home, &users, self.is_worth_copies(inst)).places;
        let is_construct = !self.func.insts[inst].regions.is_empty();
        if places[0].0 == home || is_construct && self.depth(places[0].0) > MOST_DEPTH {
            return vec![];
        }
        let (first, _) = places.swap_remove(0);
        self.room -= places.len();
        let copies = places.into_iter().map(|(region, users)| (self.copy(inst, &users), region));
        copies.chain([(inst, first)]).collect()
    }

    /// Where a value goes that is made in `home`: into branches, unless it is used whichever way control goes; into several
    /// only if it may be copied.
    fn settle(&self, home: Region, users: &[User<'_>], copies: bool) -> Settled {
        let stay = |certain| {
            let users = users.iter().map(|user| user.inst).collect();
            Settled { places: vec![(home, users)], certain }
        };
        let mut branches: Vec<(Region, Vec<User<'_>>)> = vec![];
        for user in users {
            let Some((branch, path)) = user.path.split_first() else { return stay(true) };
            let user = User { path, ..*user };
            match branches.iter_mut().find(|(known, _)| known == branch) {
                Some((_, users)) => users.push(user),
                None => branches.push((*branch, vec![user])),
            }
        }
        let mut places = vec![];
        let mut certain = vec![];
        for (branch, users) in branches {
            let settled = self.settle(branch, &users, copies);
            places.extend(settled.places);
            certain.extend(settled.certain.then_some(branch));
        }
        let owners = certain.iter().filter_map(|branch| self.shape.owner(*branch));
        let is_certain = |owner: Inst| self.func.insts[owner].regions.iter().all(|r| certain.contains(r));
        if owners.into_iter().any(is_certain) {
            stay(true)
        } else if places.len() > 1 && (!copies || places.len() > self.room) {
            stay(false)
        } else {
            Settled { places, certain: false }
        }
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
        let does = if let Op::Call(callee) = data.op {
            self.effects.derivative(callee)
        } else {
            self.effects.shallow(&data.op)
        };
        does.is_pure() && !data.operands.iter().any(|v| holds_array(self.types, self.func.ty(*v)))
    }

    /// Whether an instruction may be copied: its derivative may be infinite, and it is small.
    fn is_worth_copies(&self, inst: Inst) -> bool {
        if let Op::Call(callee) = self.func.insts[inst].op {
            return (self.is_small)(callee);
        }
        is_steep(self.types, self.func, inst)
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
