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
use cotangent_base::Map;
use cotangent_ir::{Const, Func, Inst, Math, Op, Value, ValueDef};

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
        let goes_on = func.exit(*cond).operands[0];
        let slots = func.regions[*cond].args.iter().zip(&func.exit(*body).operands);
        for (_, next) in slots.filter(|(slot, _)| is_needed(func, goes_on, **slot)) {
            search.follow(*next, Leaving { looped, with: false });
        }
    }
    search.found
}

/// Whether `value` is false whenever `flag` is.
fn is_needed(func: &Func, value: Value, flag: Value) -> bool {
    if value == flag {
        return true;
    }
    let ValueDef::Result(inst, index) = func.values[value].def else {
        return false;
    };
    let data = &func.insts[inst];
    let is_needed = |value: Value| is_needed(func, value, flag);
    if let Op::Math(Math::And) = data.op {
        return data.operands.iter().any(|operand| is_needed(*operand));
    }
    let Some((then, otherwise)) = choice(func, inst, index) else {
        return false;
    };
    (is_needed(data.operands[0]) && is_constant(func, otherwise, false))
        || (is_needed(then) && (is_needed(otherwise) || is_constant(func, otherwise, false)))
}

struct Search<'a> {
    func: &'a Func,
    nest: &'a Nest,
    found: Map<Value, Leaving>,
}

impl Search<'_> {
    /// `value` ends the loop, and so does what makes it so.
    fn follow(&mut self, value: Value, leaving: Leaving) {
        let ValueDef::Result(inst, index) = self.func.values[value].def else {
            return;
        };
        let func = self.func;
        let innermost =
            self.nest.around(self.nest.region_of(inst)).find(|outer| func.insts[*outer].op.is_loop());
        if innermost != Some(leaving.looped) || self.found.insert(value, leaving).is_some() {
            return;
        }
        let data = &func.insts[inst];
        let other = Leaving { with: !leaving.with, ..leaving };
        // `and` is false if one operand is, `or` true.
        let joins = if leaving.with { Math::Or } else { Math::And };
        if data.op == Op::Math(joins) {
            data.operands.iter().for_each(|v| self.follow(*v, leaving));
        } else if data.op == Op::Math(Math::Not) {
            self.follow(data.operands[0], other);
        } else if let Some((then, otherwise)) = choice(func, inst, index) {
            if is_constant(func, then, leaving.with) {
                self.follow(data.operands[0], Leaving { with: true, ..leaving });
            }
            if is_constant(func, otherwise, leaving.with) {
                self.follow(data.operands[0], Leaving { with: false, ..leaving });
            }
            // What an `if` does not choose, it does not compute either.
            if data.op == Op::If {
                self.follow(then, leaving);
                self.follow(otherwise, leaving);
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
