//! The law of a linearized function.
//!
//! A primal instruction has no linear operand, and a linear one is linear in its linear operands: exactly one
//! factor of a product, never a divisor, a condition or an index. Constructs may be both; their parts are checked.

use super::Linearized;
use cotangent_ir::{Inst, InstData, Linear, Op, Value};

impl Linearized {
    /// Says what is wrong, if anything is.
    pub fn check(&self) -> Result<(), String> {
        self.func
            .all_insts()
            .into_iter()
            .try_for_each(|inst| self.check_inst(inst))
    }

    fn check_inst(&self, inst: Inst) -> Result<(), String> {
        let data = &self.func.insts[inst];
        let is_lin = |v: &Value| self.lin.contains(*v);
        let linear = data.operands.iter().filter(|v| is_lin(v)).count();
        let says = |what: &str| Err(format!("{inst} `{}`: {what}", data.op.name()));
        if data.op.linear() == Linear::Inner {
            return if self.controls_are_primal(data) {
                Ok(())
            } else {
                says("a tangent decides what runs")
            };
        }
        if !data.results.iter().any(is_lin) {
            return if linear == 0 {
                Ok(())
            } else {
                says("a primal instruction reads a tangent")
            };
        }
        match data.op.linear() {
            Linear::No => says("is not linear"),
            Linear::Each if linear != 1 => says("must have one linear operand"),
            Linear::First if linear != 1 || !is_lin(&data.operands[0]) => {
                says("must be linear in the first only")
            }
            Linear::Jointly if linear != self.values(data) => says("must have linear operands only"),
            Linear::Each | Linear::First | Linear::Jointly | Linear::Inner => Ok(()),
        }
    }

    /// How many operands are neither conditions nor indices.
    fn values(&self, data: &InstData) -> usize {
        match &data.op {
            Op::Select => data.operands.len() - 1,
            Op::Extract(path) | Op::Insert(path) | Op::InsertAdd(path) => {
                data.operands.len() - path.indices()
            }
            _ => data.operands.len(),
        }
    }

    fn controls_are_primal(&self, data: &InstData) -> bool {
        let decides = matches!(data.op, Op::If | Op::Switch(_) | Op::For(_));
        !decides || !self.lin.contains(data.operands[0])
    }
}
