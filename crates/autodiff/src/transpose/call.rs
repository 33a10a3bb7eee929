//! The transpose of calls.
//!
//! A call of a linear half becomes a call of its transpose, made for exactly the cotangents that are known here. The callee
//! adds to the current cotangent of each argument:
//!
//! ```text
//! ~r = call g.linear %ctx %i ~a       a_ct' = call g.bwd ctx i r_ct a_ct
//! ```
//!
//! A value passed twice is passed once to add to; the contribution of its second use is added afterwards. A call of a
//! user-defined `dadd` is an addition, and one of `dzero` a zero.

use super::{Seeds, Transposer};
use crate::driver::Reported;
use crate::reverse::backward;
use cotangent_ir::{FuncId, Inst, OutputMask, TangentMask, Ty, Value};

impl Transposer<'_, '_> {
    pub(super) fn call(&mut self, inst: Inst, callee: FuncId) -> Result<(), Reported> {
        if !self.cx.reverse.is_linear_half(callee) {
            return self.sum(inst);
        }
        let data = &self.func().insts[inst];
        let outputs: OutputMask = data.results.iter().map(|r| self.cotangents.has(*r)).collect();
        let contributes = backward::contributions(self.cx, callee, &outputs)?;
        let (primal, tangents) = data.operands.split_at(data.operands.len() - contributes.len());
        let inputs = self.handed_over(tangents, &contributes);
        let is_doubtful = data.results.iter().any(|r| self.doubtful.contains(*r));
        let certain = !(is_doubtful && backward::is_steep(self.cx, callee));
        let seeds = Seeds { outputs, inputs, certain };
        let transposed = backward::backward(self.cx, callee, &seeds)?;

        let mut operands = self.copy.all(primal);
        operands.extend(data.results.iter().filter_map(|r| self.take(*r)).collect::<Vec<_>>());
        let first_accumulator = operands.len();
        let accumulators = tangents.iter().zip(&seeds.inputs).filter(|(_, given)| **given);
        operands.extend(accumulators.filter_map(|(t, _)| self.take(*t)).collect::<Vec<_>>());
        let given: Vec<(Value, bool)> = tangents
            .iter()
            .zip(&seeds.inputs)
            .zip(&contributes)
            .filter(|(_, contributes)| **contributes)
            .map(|((tangent, given), _)| (*tangent, *given))
            .collect();
        let types: Vec<Ty> = given.iter().map(|(tangent, _)| self.func().ty(*tangent)).collect();
        let idle = match self.is_source(inst) || !self.is_worth_a_branch(transposed) {
            true => Vec::new(),
            false => self.idle_sides(&operands[primal.len()..first_accumulator]),
        };
        let mut accumulators = operands[first_accumulator..].iter().copied();
        let mut otherwise = Vec::new();
        for (&(_, is_given), &ty) in given.iter().zip(&types).filter(|_| !idle.is_empty()) {
            let given = if is_given { accumulators.next() } else { None };
            otherwise.push(given.unwrap_or_else(|| self.zero(ty)));
        }
        let results = self.unless(&idle, &otherwise, &mut |t| {
            let call = t.build(|b, _| b.emit(cotangent_ir::Op::Call(transposed), &operands, &types));
            Ok(t.out.insts[call].results.to_vec())
        })?;
        self.collect(&given, &results);
        Ok(())
    }

    /// Which tangents have a cotangent that the callee may add to.
    fn handed_over(&self, tangents: &[Value], contributes: &TangentMask) -> TangentMask {
        let is_first = |i: usize| !tangents[..i].contains(&tangents[i]);
        (0..tangents.len())
            .map(|i| contributes[i] && self.cotangents.has(tangents[i]) && is_first(i))
            .collect()
    }

    /// The results of a call: those handed over replace what was there, the others are added.
    fn collect(&mut self, given: &[(Value, bool)], results: &[Value]) {
        for ((tangent, _), result) in given.iter().zip(results).filter(|((_, given), _)| *given) {
            self.cotangents.set(*tangent, *result);
        }
        for ((tangent, _), result) in given.iter().zip(results).filter(|((_, given), _)| !*given) {
            self.add(*tangent, *result);
        }
    }

    /// The user's `dadd` or `dzero`.
    fn sum(&mut self, inst: Inst) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let [result] = data.results[..] else {
            return Err(self.not_linear(inst));
        };
        let Some(y) = self.cotangents.take(result) else {
            return Ok(());
        };
        for &operand in &data.operands {
            self.add_cotangent(operand, y.clone());
        }
        Ok(())
    }
}
