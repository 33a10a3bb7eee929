//! Finds the linear values that get a cotangent. Input: a linear function and which of its outputs have a cotangent.
//!
//! The analysis runs before code is emitted: a loop must know its slots before its body is transposed, and a caller must know
//! which cotangents the callee returns. It is one backward sweep, repeated over loops until nothing changes.

use crate::Context;
use crate::driver::Reported;
use crate::kind::{Kind, kind};
use crate::reverse::backward;
use crate::unzip::LinearFunc;
use cotangent_base::EntitySet;
use cotangent_ir::{Func, FuncId, Inst, InstData, Op, OutputMask, Region, TangentMask, Value};

/// The values that get a cotangent.
pub struct Reach {
    values: EntitySet<Value>,
    /// Which tangent inputs are among them.
    contributions: TangentMask,
}

impl Reach {
    /// What is reached in `linear` if the given outputs have a cotangent.
    pub fn of(cx: &mut Context<'_>, linear: &LinearFunc, outputs: &OutputMask) -> Result<Self, Reported> {
        let mut sweep = Sweep { cx, source: linear, values: EntitySet::new() };
        let returned = &linear.func.exit(linear.func.body).operands;
        for (&value, _) in returned.iter().zip(outputs).filter(|(_, seeded)| **seeded) {
            sweep.mark(value);
        }
        sweep.region(linear.func.body)?;
        let values = sweep.values;
        let contributions = super::tangents(linear).iter().map(|t| values.contains(*t)).collect();
        Ok(Reach { values, contributions })
    }

    /// Which tangent inputs get a cotangent.
    pub fn contributions(&self) -> &TangentMask {
        &self.contributions
    }

    /// The values.
    pub fn values(&self) -> &EntitySet<Value> {
        &self.values
    }
}

/// Whether contributions to `value` go anywhere: it is linear and not zero. A call of the user's `dzero` is a zero.
pub(super) fn is_wanted(cx: &Context<'_>, linear: &LinearFunc, value: Value) -> bool {
    let is_zero = |data: &InstData| {
        if let Op::Call(callee) = data.op {
            data.operands.is_empty() && !cx.reverse.is_linear_half(callee)
        } else {
            matches!(data.op, Op::Zero | Op::Undef)
        }
    };
    linear.lin.contains(value) && !linear.func.def(value).is_some_and(is_zero)
}

struct Sweep<'a, 'm> {
    cx: &'a mut Context<'m>,
    source: &'a LinearFunc,
    values: EntitySet<Value>,
}

impl<'a> Sweep<'a, '_> {
    fn func(&self) -> &'a Func {
        &self.source.func
    }

    /// Marks a linear value; says whether that is news. Nothing flows into a zero.
    fn mark(&mut self, value: Value) -> bool {
        is_wanted(self.cx, self.source, value) && self.values.insert(value)
    }

    fn is_marked(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    /// Whether a call contributes to cotangents even if none arrives.
    fn is_source(&self, inst: Inst) -> bool {
        self.source.sources.contains(inst)
    }

    fn region(&mut self, region: Region) -> Result<(), Reported> {
        for &inst in self.func().regions[region].insts.iter().rev() {
            self.inst(inst)?;
        }
        Ok(())
    }

    fn inst(&mut self, inst: Inst) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        match kind(&data.op) {
            Kind::Branches => self.branches(data),
            Kind::Counted(_) => self.counted(data),
            Kind::Call(callee) if self.cx.reverse.is_linear_half(callee) => self.call(inst, callee),
            Kind::Plain
            | Kind::Memory
            | Kind::Conditional(_)
            | Kind::Call(_)
            | Kind::DiffCall(_)
            | Kind::LinCall(_)
            | Kind::Exit => {
                if self.is_source(inst) || data.results.iter().any(|r| self.is_marked(*r)) {
                    for &operand in &data.operands {
                        self.mark(operand);
                    }
                }
                Ok(())
            }
        }
    }

    fn branches(&mut self, data: &InstData) -> Result<(), Reported> {
        for &branch in &data.regions {
            let yields = &self.func().exit(branch).operands;
            for (&value, &result) in yields.iter().zip(&data.results) {
                if self.is_marked(result) {
                    self.mark(value);
                }
            }
            self.region(branch)?;
        }
        Ok(())
    }

    fn counted(&mut self, data: &InstData) -> Result<(), Reported> {
        let body = data.regions[0];
        let args = &self.func().regions[body].args;
        let yields = &self.func().exit(body).operands;
        let carries =
            |sweep: &Self, i: usize| sweep.is_marked(data.results[i]) || sweep.is_marked(args[i + 1]);
        loop {
            let mut news = false;
            for (i, &value) in yields.iter().enumerate() {
                news |= carries(self, i) && self.mark(value);
            }
            self.region(body)?;
            let missing = |i: usize| {
                let wanted = is_wanted(self.cx, self.source, yields[i]);
                carries(self, i) && wanted && !self.is_marked(yields[i])
            };
            if !news && !(0..yields.len()).any(missing) {
                break;
            }
        }
        for (i, &init) in data.operands[1..].iter().enumerate() {
            if carries(self, i) {
                self.mark(init);
            }
        }
        Ok(())
    }

    fn call(&mut self, inst: Inst, callee: FuncId) -> Result<(), Reported> {
        let data = &self.func().insts[inst];
        let outputs: OutputMask = data.results.iter().map(|r| self.is_marked(*r)).collect();
        if self.is_source(inst) || outputs.any() {
            let contributes = backward::contributions(self.cx, callee, &outputs)?;
            let tangents = &data.operands[data.operands.len() - contributes.len()..];
            for (&tangent, _) in tangents.iter().zip(&contributes).filter(|(_, c)| **c) {
                self.mark(tangent);
            }
        }
        Ok(())
    }
}
