//! Lowers alternatives: the common part of `if`, `switch`, `?:`, `&&` and `||`.
//!
//! Each arm starts with the same values of variables. An arm that reaches its end yields its value, if the construct has one,
//! and the variables that some arm assigns. A variable that no such arm changes is not a result. If all arms exit in the same
//! way, the exit moves after the construct, so that no unreachable code remains:
//!
//! ```text
//! if %c { return %a } else { return %b }      %r = if %c { yield %a } else { yield %b }    return %r
//! ```
//!
//! If the condition is known (`fold`), only the arm that runs is lowered.

use crate::assigned::Assigned;
use crate::fold;
use crate::func::Frame;
use cotangent_ir::{Inst, Op, Region, Ty, Value};
use cotangent_sema::hir::LocalId;

/// A finished arm, but for its yield.
struct Arm {
    region: Region,
    /// What it would yield: the value asked for, then the slots. `None` if it left.
    yields: Option<Vec<Value>>,
}

impl Frame<'_, '_> {
    /// Those of the variables that have a value now; the others are declared inside.
    pub fn slots(&self, assigned: &Assigned) -> Vec<LocalId> {
        assigned.iter().filter(|l| self.vars[*l].is_some() && !self.by_ref.contains(*l)).collect()
    }

    /// Emits `op` with `count` regions. `build` fills the region of the given number and gives a value of type `value`
    /// if that is asked for. Gives the value the construct has then.
    pub fn branch(
        &mut self,
        op: Op,
        operand: Value,
        count: usize,
        assigned: &Assigned,
        value: Option<Ty>,
        mut build: impl FnMut(&mut Self, usize) -> Option<Value>,
    ) -> Option<Value> {
        if let Some(number) = self.number(operand).and_then(|selector| fold::arm(&op, selector)) {
            return self.only_arm(value, |f| build(f, number));
        }
        let (slots, span) = (self.slots(assigned), self.span);
        let mut arms = Vec::new();
        for number in 0..count {
            let (region, yields) = self.nested(&[], |f, _| {
                let result = build(f, number);
                if f.is_done() {
                    return None;
                }
                let result = value.map(|ty| result.unwrap_or_else(|| f.b().undef(ty)));
                Some(result.into_iter().chain(slots.iter().map(|l| f.var(*l))).collect())
            });
            arms.push(Arm { region, yields });
            self.span = span;
        }
        if arms.iter().all(|arm| arm.yields.is_none()) {
            self.leave_together(op, operand, &arms);
            return value.map(|ty| self.b().undef(ty));
        }
        self.join(op, operand, arms, &slots, value.is_some())
    }

    /// Lowers the only arm that runs in place of the construct. The others must not be lowered: they may not fit the instance.
    fn only_arm(
        &mut self,
        value: Option<Ty>,
        build: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let (before, span) = (self.vars.clone(), self.span);
        let result = build(self);
        self.span = span;
        for (local, outer) in before.iter() {
            if outer.is_none() {
                self.vars[local] = None;
            }
        }
        value.map(|ty| result.unwrap_or_else(|| self.b().undef(ty)))
    }

    /// Yields where control reaches the end, and takes over the results.
    fn join(
        &mut self,
        op: Op,
        operand: Value,
        arms: Vec<Arm>,
        slots: &[LocalId],
        has_value: bool,
    ) -> Option<Value> {
        let first = usize::from(has_value);
        let changed = |i: usize| {
            let old = self.vars[slots[i]];
            arms.iter().filter_map(|arm| arm.yields.as_ref()).any(|y| Some(y[first + i]) != old)
        };
        let kept: Vec<usize> = (0..slots.len()).filter(|i| changed(*i)).collect();
        let pick = |yields: &[Value]| -> Vec<Value> {
            let slots = kept.iter().map(|i| yields[first + i]);
            yields[..first].iter().copied().chain(slots).collect()
        };
        let mut types = None;
        for arm in &arms {
            let Some(yields) = &arm.yields else { continue };
            let values = pick(yields);
            types.get_or_insert_with(|| values.iter().map(|v| self.func.ty(*v)).collect::<Vec<Ty>>());
            let outer = std::mem::replace(&mut self.region, arm.region);
            self.b().yield_(&values);
            self.region = outer;
        }
        let inst = self.emit_branch(op, operand, &arms, &types.unwrap_or_default());
        let results = self.func.insts[inst].results.to_vec();
        for (&i, &result) in kept.iter().zip(&results[first..]) {
            self.set_var(slots[i], result);
        }
        results.first().copied().filter(|_| has_value)
    }

    fn emit_branch(&mut self, op: Op, operand: Value, arms: &[Arm], results: &[Ty]) -> Inst {
        let inst = self.b().emit(op, &[operand], results);
        self.func.insts[inst].regions.extend(arms.iter().map(|arm| arm.region));
        inst
    }

    /// No arm reaches its end. If all leave in the same way, they do it behind the construct.
    fn leave_together(&mut self, op: Op, operand: Value, arms: &[Arm]) {
        let exits: Vec<Inst> =
            arms.iter().filter_map(|arm| self.func.regions[arm.region].insts.last().copied()).collect();
        let exit = exits.first().map(|inst| self.func.insts[*inst].op.clone());
        let same = |inst: &Inst| Some(&self.func.insts[*inst].op) == exit.as_ref();
        let Some(exit) = exit.clone().filter(|_| exits.iter().all(same)) else {
            self.emit_branch(op, operand, arms, &[]);
            return self.unreachable();
        };
        let types: Vec<Ty> = self.func.insts[exits[0]].operands.iter().map(|v| self.func.ty(*v)).collect();
        for inst in exits {
            self.func.insts[inst].op = Op::Yield;
        }
        let inst = self.emit_branch(op, operand, arms, &types);
        let results = self.func.insts[inst].results.to_vec();
        self.b().emit(exit, &results, &[]);
    }
}
