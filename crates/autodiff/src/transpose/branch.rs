//! The transpose of `if` and `switch`: the same construct on the same condition, with each branch transposed.
//!
//! ```text
//! ~r = if %c { ~s = mul %p ~a; yield ~s } { yield ~b }
//!
//! a_ct', b_ct' = if c { t = mul p r_ct; u = add a_ct t; yield u, b_ct }
//!                     { w = add b_ct r_ct;              yield a_ct, w }
//! ```
//!
//! Each branch starts with the current cotangents of captured values and yields them updated. A branch that does not use one
//! yields it unchanged. Accumulating from zero in the branch and adding afterwards would cost a whole array for every element
//! touched.

use super::Transposer;
use super::cotangent::Cotangents;
use crate::driver::Reported;
use cotangent_ir::{Inst, Region, Ty, Value};

impl Transposer<'_, '_> {
    pub(super) fn branches(&mut self, inst: Inst) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let seeds: Vec<Option<Value>> = data.results.iter().map(|r| self.take(*r)).collect();
        let captured = self.captures.of_inst(inst);
        let before: Vec<Option<Value>> = captured.iter().map(|c| self.take(*c)).collect();
        let mut branches: Vec<(Region, Vec<Option<Value>>)> = Vec::new();
        for &branch in &data.regions {
            branches.push(self.branch(branch, &seeds, &captured, &before)?);
        }
        let is_changed = |i: &usize| branches.iter().any(|(_, after)| after[*i] != before[*i]);
        let changed: Vec<usize> = (0..captured.len()).filter(is_changed).collect();
        let types: Vec<Ty> = changed.iter().map(|i| self.func().ty(captured[*i])).collect();
        for (region, after) in &branches {
            let values: Vec<Option<Value>> = changed.iter().map(|i| after[*i]).collect();
            self.end_branch(*region, &values, &types);
        }
        let selector = self.copy.get(data.operands[0]);
        let new = self.build(|b, _| b.emit(data.op.clone(), &[selector], &types));
        self.out.insts[new].regions.extend(branches.iter().map(|(region, _)| *region));
        for (&value, &cotangent) in captured.iter().zip(&before) {
            if let Some(cotangent) = cotangent {
                self.cotangents.set(value, cotangent);
            }
        }
        for (position, i) in changed.into_iter().enumerate() {
            let result = self.out.insts[new].results[position];
            self.cotangents.set(captured[i], result);
        }
        Ok(())
    }

    /// Transposes one branch. Gives the new region, without exit, and the cotangents of the captured values at
    /// its end.
    fn branch(
        &mut self,
        branch: Region,
        seeds: &[Option<Value>],
        captured: &[Value],
        before: &[Option<Value>],
    ) -> Result<(Region, Vec<Option<Value>>), Reported> {
        let known: Vec<(Value, Value)> =
            captured.iter().zip(before).filter_map(|(v, c)| c.map(|c| (*v, c))).collect();
        let yields = &self.func().exit(branch).operands;
        let given: Vec<(Value, Value)> =
            yields.iter().zip(seeds).filter_map(|(v, s)| s.map(|s| (*v, s))).collect();
        let new = self.out.new_region();
        let mut after = self.nested(branch, new, &known, &given)?;
        Ok((new, self.values_in(new, &mut after, captured)))
    }

    /// The cotangents of `values`, as values made in `region`.
    pub(super) fn values_in(
        &mut self,
        region: Region,
        cotangents: &mut Cotangents,
        values: &[Value],
    ) -> Vec<Option<Value>> {
        let outer = std::mem::replace(&mut self.region, region);
        let found = values.iter().map(|v| cotangents.take(*v).map(|c| self.value(c))).collect();
        self.region = outer;
        found
    }

    /// Ends a region with a yield of these values; what is absent is zero.
    pub(super) fn end_branch(&mut self, region: Region, values: &[Option<Value>], types: &[Ty]) {
        let outer = std::mem::replace(&mut self.region, region);
        let values: Vec<Value> =
            values.iter().zip(types).map(|(v, ty)| v.unwrap_or_else(|| self.zero(*ty))).collect();
        self.build(|b, _| b.yield_(&values));
        self.region = outer;
    }
}
