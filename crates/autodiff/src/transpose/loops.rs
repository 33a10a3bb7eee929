//! The transpose of a counted loop: the same loop in the opposite direction, with its body transposed.
//!
//! ```text
//! ~s = for n (~x) { (k, ~a)  %c = ..; ~w = extract ~W [k]; ~t = mul %c ~w; ~u = add ~a ~t; yield ~u }
//!
//! x_ct, W_ct' = for n rev (s_ct, W_ct) { (k, u_ct, W_ct)
//!     c = ..; w_ct = mul c u_ct; W_ct2 = insert_add W_ct w_ct [k]; yield u_ct, W_ct2 }
//! ```
//!
//! A slot carries the cotangent of the value that the body yields into it. The transposed body yields the cotangent of the
//! slot's argument, which is what the previous iteration yielded. Each captured value has its own slot, which starts with the
//! current cotangent: one accumulator for all iterations.

use super::Transposer;
use crate::driver::Reported;
use cotangent_base::Scalar;
use cotangent_ir::{Inst, LoopInfo, Op, Ty, Value};

impl Transposer<'_, '_> {
    pub(super) fn counted(&mut self, inst: Inst, info: LoopInfo) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let body = data.regions[0];
        let args = &self.func().regions[body].args;
        let slots: Vec<usize> = (0..data.results.len())
            .filter(|i| self.reach.contains(data.results[*i]) || self.reach.contains(args[i + 1]))
            .collect();
        let captured = self.captures.of_inst(inst);
        let n = self.copy.get(data.operands[0]);
        let mut inits = vec![n];
        for value in slots.iter().map(|i| data.results[*i]).chain(captured.iter().copied()) {
            inits.push(self.take_or_zero(value));
        }

        let idle = if self.is_source(inst) { Vec::new() } else { self.idle_sides(&inits[1..=slots.len()]) };
        let results = self
            .unless(&idle, &inits[1..], &mut |t| t.transposed_loop(inst, &info, &inits, &slots, &captured))?;
        for (&value, &result) in captured.iter().zip(&results[slots.len()..]) {
            self.cotangents.set(value, result);
        }
        for (&i, &result) in slots.iter().zip(&results) {
            self.add(data.operands[i + 1], result);
        }
        Ok(())
    }

    /// The loop `inst` in the opposite direction: gives its results.
    fn transposed_loop(
        &mut self,
        inst: Inst,
        info: &LoopInfo,
        inits: &[Value],
        slots: &[usize],
        captured: &[Value],
    ) -> Result<Vec<Value>, Reported> {
        let body = self.func().insts[inst].regions[0];
        let args = &self.func().regions[body].args;
        let counter = self.cx.module.types.scalar(Scalar::I32);
        let new = self.out.new_region();
        let k = self.out.add_arg(new, counter);
        self.copy.rename(args[0], k);
        let types: Vec<Ty> = inits[1..].iter().map(|v| self.out.ty(*v)).collect();
        let carried: Vec<Value> = types.iter().map(|ty| self.out.add_arg(new, *ty)).collect();
        let (yields, accumulators) = carried.split_at(slots.len());
        let next = &self.func().exit(body).operands;
        let given: Vec<(Value, Value)> = slots.iter().map(|i| next[*i]).zip(yields.iter().copied()).collect();
        let known: Vec<(Value, Value)> = captured.iter().copied().zip(accumulators.iter().copied()).collect();
        let mut after = self.nested(body, new, &known, &given)?;
        let ends: Vec<Value> = slots.iter().map(|i| args[i + 1]).chain(captured.iter().copied()).collect();
        let ends = self.values_in(new, &mut after, &ends);
        self.end_branch(new, &ends, &types);

        let info = LoopInfo { reversed: !info.reversed, ..*info };
        let turned = self.build(|b, _| b.emit(Op::For(info), inits, &types));
        self.out.insts[turned].regions.push(new);
        Ok(self.out.insts[turned].results.to_vec())
    }
}
