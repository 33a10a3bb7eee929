//! Common subexpression elimination: replaces an operation by the result of an earlier one with the same operands, if that is
//! in scope.
//!
//! ```text
//! func @f(%x: f32, %y: f32, %c: bool) -> f32 {
//!   %a: f32 = mul %x, %y
//!   %r: f32 = if %c {
//!     %b: f32 = mul %y, %x
//!     %d: f32 = add %b, %x
//!     yield %d
//!   } else {
//!     yield %a
//!   }
//!   return %r
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! func @f(%x: f32, %y: f32, %c: bool) -> f32 {
//!   %a: f32 = mul %x, %y
//!   %r: f32 = if %c {
//!     %d: f32 = add %a, %x
//!     yield %d
//!   } else {
//!     yield %a
//!   }
//!   return %r
//! }
//! ```
//!
//! One walk keeps a table of available values; the entries of a region are removed at its end. Only operations without
//! effects are merged, including calls of pure functions and loads from read-only buffers. Other memory is never assumed
//! unchanged.
//!
//! The pass does not merge:
//!
//! - values that contain an array: two names for one array force a copy as soon as one of them is updated in place;
//! - `zero` and `undef`: they cost nothing, a fresh one can be updated in place, and of two zeros one may be linear;
//! - calls without arguments, which may be a user-defined zero;
//! - equal regions.

use crate::edit::Renaming;
use crate::effects::{Effects, is_read_only};
use crate::types::holds_array;
use cotangent_base::Map;
use cotangent_ir::{Func, Inst, Math, Op, Region, Ty, Types, Value};
use smallvec::SmallVec;

/// Removes common subexpressions from `func`. Says whether there were any.
pub fn cse(types: &Types, func: &mut Func, effects: &Effects) -> bool {
    let body = func.body;
    let mut cse = Cse { types, func, effects, available: Map::default(), renaming: Renaming::default() };
    cse.region(body);
    !cse.renaming.is_empty()
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    operands: SmallVec<[Value; 3]>,
    results: SmallVec<[Ty; 1]>,
}

struct Cse<'a> {
    types: &'a Types,
    func: &'a mut Func,
    effects: &'a Effects,
    available: Map<Key, Inst>,
    renaming: Renaming,
}

impl Cse<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let mut here = Vec::new();
        for inst in insts {
            self.renaming.apply_to(self.func, inst);
            for inner in self.func.insts[inst].regions.clone() {
                self.region(inner);
            }
            if let Some(key) = self.key(inst) {
                if let Some(&earlier) = self.available.get(&key) {
                    self.replace(inst, earlier);
                    continue;
                }
                self.available.insert(key.clone(), inst);
                here.push(key);
            }
            kept.push(inst);
        }
        for key in here {
            self.available.remove(&key);
        }
        self.func.regions[region].insts = kept;
    }

    fn replace(&mut self, inst: Inst, earlier: Inst) {
        let results = self.func.insts[inst].results.clone();
        for (index, old) in results.into_iter().enumerate() {
            let new = self.func.insts[earlier].results[index];
            self.renaming.rename(self.func, old, new);
        }
    }

    /// Whether `inst` reads memory that nobody writes while the program runs.
    fn is_fixed_load(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        matches!(data.op, Op::Load(_) | Op::Texel | Op::Sample(_))
            && is_read_only(self.types, self.func, data.operands[0])
    }

    /// What makes the instruction equal to another, if it may be merged at all.
    fn key(&self, inst: Inst) -> Option<Key> {
        let data = &self.func.insts[inst];
        let is_fresh = matches!(data.op, Op::Zero | Op::Undef)
            || (matches!(data.op, Op::Call(_)) && data.operands.is_empty());
        if is_fresh || !data.regions.is_empty() || data.op.is_exit() || data.results.is_empty() {
            return None;
        }
        if !self.effects.shallow(&data.op).is_pure() && !self.is_fixed_load(inst) {
            return None;
        }
        let results: SmallVec<[Ty; 1]> = data.results.iter().map(|v| self.func.ty(*v)).collect();
        let (op, mut operands) = (data.op.clone(), data.operands.clone());
        if results.iter().any(|ty| holds_array(self.types, *ty)) {
            return None;
        }
        if is_commutative(&op) {
            operands.sort();
        }
        Some(Key { op, operands, results })
    }
}

/// Whether the two operands may change places. `min` and `max` are left out: of two zeros they give one.
fn is_commutative(op: &Op) -> bool {
    matches!(
        op,
        Op::Math(Math::Add | Math::Mul | Math::And | Math::Or | Math::Xor | Math::Eq | Math::Ne) | Op::Dot
    )
}
