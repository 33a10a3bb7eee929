//! Finds flags that end a loop: booleans of a loop's body that have one of their two values only in the last iteration.
//!
//! ```text
//! while (x, live) { yield live && .. } do {     left:  leaves loop 0 if true
//!   left = x > 9
//!   yield x * x, if left { false } else { true }
//! }
//! ```
//!
//! Such a flag is stored once, not per iteration: each iteration overwrites it. In the last iteration the flag has the stored
//! value, in all others its other value.
//!
//! The search starts from slots, such as `live`, that make the condition of the loop false when they are false. From the value of
//! such a slot at the end of the body it follows branches, `not`, `and` and `or` back to the flag.

use super::nest::Nest;
use cotangent_base::{Map, Set};
use cotangent_ir::{Const, Func, Inst, Math, Op, Region, Value, ValueDef};

/// The loop that a flag ends, and the value that ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// The loop.
    pub looped: Inst,
    /// The value that the flag can have only in the last iteration.
    pub with: bool,
}

/// The flags of `func` that end loops.
pub fn leaving(func: &Func, nest: &Nest) -> Map<Value, Leaving> {
    let mut search = Search { func, nest, found: Map::default() };
    for looped in func.all_insts() {
        let data = &func.insts[looped];
        let (Op::While(_), [cond, body]) = (&data.op, &data.regions[..]) else {
            continue;
        };
        let needed = needed(func, func.exit(*cond).operands[0]);
        let slots = func.regions[*cond].args.iter().zip(&func.exit(*body).operands);
        for (_, next) in slots.filter(|(slot, _)| needed.contains(slot)) {
            search.follow(*next, *body, Leaving { looped, with: false });
        }
    }
    search.found
}

/// The values without which `condition` is false.
fn needed(func: &Func, condition: Value) -> Set<Value> {
    let mut needed = Set::default();
    let mut open = vec![condition];
    while let Some(value) = open.pop() {
        let ValueDef::Result(inst, index) = func.values[value].def else {
            needed.insert(value);
            continue;
        };
        if !needed.insert(value) {
            continue;
        }
        let data = &func.insts[inst];
        if data.op == Op::Math(Math::And) {
            open.extend(data.operands.iter().copied());
        } else if let Some((then, otherwise)) = choice(func, inst, index) {
            if is_constant(func, otherwise, false) {
                open.extend([data.operands[0], then]);
            } else if is_constant(func, then, false) {
                open.push(otherwise);
            }
        }
    }
    needed
}

struct Search<'a> {
    func: &'a Func,
    nest: &'a Nest,
    found: Map<Value, Leaving>,
}

impl Search<'_> {
    /// Notes that `value` ends the loop, and finds the flags that made it so. Only flags of `region` do: it runs whenever `value`
    /// is computed. A flag from further out may have the same value in an iteration that does not reach the region.
    fn follow(&mut self, value: Value, region: Region, leaving: Leaving) {
        let func = self.func;
        let ValueDef::Result(inst, index) = func.values[value].def else {
            return;
        };
        if self.nest.region_of(inst) != region || self.found.insert(value, leaving).is_some() {
            return;
        }
        let data = &func.insts[inst];
        // `and` is false if one operand is, `or` true.
        let joins = Op::Math(if leaving.with { Math::Or } else { Math::And });
        if data.op == joins {
            data.operands.iter().for_each(|operand| self.follow(*operand, region, leaving));
        } else if data.op == Op::Math(Math::Not) {
            self.follow(data.operands[0], region, Leaving { with: !leaving.with, ..leaving });
        } else if let Some((then, otherwise)) = choice(func, inst, index) {
            for (with, alternative) in [(true, then), (false, otherwise)] {
                if is_constant(func, alternative, leaving.with) {
                    self.follow(data.operands[0], region, Leaving { with, ..leaving });
                }
            }
            for (branch, alternative) in data.regions.iter().zip([then, otherwise]) {
                self.follow(alternative, *branch, leaving);
            }
        }
    }
}

/// The alternatives of `if` and `select` for a result.
fn choice(func: &Func, inst: Inst, index: u32) -> Option<(Value, Value)> {
    let data = &func.insts[inst];
    match (&data.op, &data.operands[..]) {
        (Op::If, _) => {
            let chosen = |n: usize| func.exit(data.regions[n]).operands.get(index as usize).copied();
            Some((chosen(0)?, chosen(1)?))
        }
        (Op::Select, [_, then, otherwise]) => Some((*then, *otherwise)),
        _ => None,
    }
}

fn is_constant(func: &Func, value: Value, flag: bool) -> bool {
    matches!(func.op(value), Some(Op::Const(Const::Bool(known))) if *known == flag)
}
