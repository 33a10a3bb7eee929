//! Verifies linearized functions. The set of linear values is stored beside the function, and every instruction must respect
//! it.
//!
//! An instruction whose results are all primal has no linear operand. An instruction with linear results is linear in its
//! linear operands, as the table in [`op`](crate::op) says: all value operands of a jointly linear operation are linear,
//! exactly one of a product, and the first of a division. Conditions, selectors, indices and trip counts are always primal.
//! Values keep their kind across the border of a region: slots of loops, arguments, yields and results agree.

use super::{Check, VerifyError, ensure};
use crate::{Control, Exit, Func, FuncId, Inst, InstData, Linear, Module, Op, Path, Region, Value, text};
use cotangent_base::EntitySet;

/// Checks that `linear` is a consistent set of linear values of `func`, which is otherwise valid.
pub fn verify_linear(func: &Func, linear: &EntitySet<Value>, module: &Module) -> Result<(), VerifyError> {
    let mut checker = Checker { func, linear, module, loops: Vec::new(), current: None };
    checker.region(func.body, None).map_err(|rule| VerifyError {
        func: Some(func.name),
        inst: checker.current.map(|i| text::print_inst(module, func, i)),
        rule,
    })
}

struct Checker<'a> {
    func: &'a Func,
    linear: &'a EntitySet<Value>,
    module: &'a Module,
    /// Which slots of the enclosing loops are linear, innermost last.
    loops: Vec<Vec<bool>>,
    current: Option<Inst>,
}

impl Checker<'_> {
    fn is_linear(&self, value: Value) -> bool {
        self.linear.contains(value)
    }

    fn kinds(&self, values: &[Value]) -> Vec<bool> {
        values.iter().map(|v| self.is_linear(*v)).collect()
    }

    /// Checks a region that must yield values of these kinds.
    fn region(&mut self, region: Region, yields: Option<&[bool]>) -> Check {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            self.current = Some(inst);
            let data = &func.insts[inst];
            match data.op.linear() {
                Linear::No => self.primal(data)?,
                Linear::Jointly => self.jointly(data)?,
                Linear::Each => self.each(data)?,
                Linear::First => self.first(data)?,
                Linear::Inner => self.inner(data, yields)?,
            }
        }
        Ok(())
    }

    /// All operands and results are primal.
    fn primal(&self, data: &InstData) -> Check {
        ensure!(
            !data.operands.iter().any(|v| self.is_linear(*v)),
            "the operation is not linear in this operand"
        );
        ensure!(!data.results.iter().any(|v| self.is_linear(*v)), "the operation gives nothing linear");
        Ok(())
    }

    fn jointly(&self, data: &InstData) -> Check {
        let indices = data.op.path().map_or(0, Path::indices);
        let (values, indices) = data.operands.split_at(data.operands.len() - indices);
        let (conditions, values) = values.split_at(usize::from(data.op == Op::Select));
        let mut selectors = conditions.iter().chain(indices);
        ensure!(!selectors.any(|v| self.is_linear(*v)), "a condition or an index is linear");
        let result = data.results.iter().any(|v| self.is_linear(*v));
        for &value in values {
            ensure!(result || !self.is_linear(value), "a primal result has a linear operand");
            ensure!(!result || self.is_linear(value), "a linear result has a primal operand");
        }
        let scalar = |v: &Value| self.module.types.scalar_of(self.func.ty(*v));
        if result && data.op == Op::Convert {
            let floats =
                data.operands.iter().chain(&data.results).all(|v| scalar(v).is_some_and(|s| s.is_float()));
            ensure!(floats, "only a conversion between floats is linear");
        }
        Ok(())
    }

    fn each(&self, data: &InstData) -> Check {
        let linear = data.operands.iter().filter(|v| self.is_linear(**v)).count();
        match data.results.iter().any(|v| self.is_linear(*v)) {
            true => ensure!(linear == 1, "a linear product has one linear operand, not {linear}"),
            false => ensure!(linear == 0, "a primal result has a linear operand"),
        }
        Ok(())
    }

    fn first(&self, data: &InstData) -> Check {
        let result = data.results.iter().any(|v| self.is_linear(*v));
        for (i, &operand) in data.operands.iter().enumerate() {
            let linear = self.is_linear(operand);
            ensure!(i == 0 || !linear, "the operation is linear in its first operand only");
            ensure!(i > 0 || linear == result, "the first operand and the result must be of one kind");
        }
        Ok(())
    }

    fn inner(&mut self, data: &InstData, yields: Option<&[bool]>) -> Check {
        let operands = self.kinds(&data.operands);
        let results = self.kinds(&data.results);
        match data.op.control() {
            Control::Plain => Err("the operation has no inner linearity".into()),
            Control::Call(callee) => self.call(data, callee, &operands, &results),
            Control::DiffCall(call) => {
                let split = |kinds: &[bool], primals: usize| {
                    kinds.iter().enumerate().all(|(i, linear)| *linear == (i >= primals))
                };
                ensure!(split(&operands, call.inputs.len()), "inputs are primal, tangents linear");
                ensure!(split(&results, call.outputs.len()), "outputs are primal, tangents linear");
                Ok(())
            }
            Control::LinCall(call) => {
                let fits = |(i, linear): (usize, &bool)| *linear == (i >= call.primals as usize);
                ensure!(operands.iter().enumerate().all(fits), "the tangents are linear, the rest is not");
                ensure!(results.iter().all(|linear| *linear), "the results are linear");
                Ok(())
            }
            Control::If | Control::Switch(_) => {
                ensure!(!operands[0], "a condition or a selector is linear");
                data.regions.iter().try_for_each(|r| self.region(*r, Some(&results)))
            }
            Control::While(_) => {
                ensure!(operands == results, "a slot and its result must be of one kind");
                self.args(data.regions[0], &results)?;
                self.region(data.regions[0], Some(&[false]))?;
                self.loop_body(data.regions[1], results.clone(), results)
            }
            Control::For(_) => {
                ensure!(!operands[0], "a number of rounds is linear");
                ensure!(operands[1..] == results, "a slot and its result must be of one kind");
                self.loop_body(data.regions[0], operands, results)
            }
            Control::Exit(exit) => self.exit(exit, &operands, yields),
        }
    }

    fn call(&self, data: &InstData, callee: FuncId, operands: &[bool], results: &[bool]) -> Check {
        if *results == [true] && self.is_user_arithmetic(callee) {
            ensure!(operands.iter().all(|linear| *linear), "a sum of differentials has linear operands");
            return Ok(());
        }
        let takes_tangents = operands.contains(&true);
        if !results.iter().all(|linear| *linear) || results.is_empty() && !takes_tangents {
            return self.primal(data);
        }
        // The linear half of a function, which `unzip` has made: primal inputs, then tangents; gives tangents, if any.
        let primals = operands.iter().take_while(|linear| !**linear).count();
        ensure!(operands[primals..].iter().all(|linear| *linear), "the tangents come last");
        Ok(())
    }

    fn exit(&self, exit: Exit, carried: &[bool], yields: Option<&[bool]>) -> Check {
        match exit {
            Exit::Yield => ensure!(yields == Some(carried), "a yield and its result must be of one kind"),
            Exit::Break(out) | Exit::Continue(out) => {
                let slots = self.loops.len().checked_sub(1 + out as usize).map(|i| &self.loops[i][..]);
                ensure!(slots == Some(carried), "an exit and its slot must be of one kind");
            }
            Exit::Return => {}
        }
        Ok(())
    }

    /// Whether a function is the user's `dzero` or `dadd`, which stand for `zero` and `add`.
    fn is_user_arithmetic(&self, func: FuncId) -> bool {
        self.module.diff.iter().any(|(_, row)| row.zero == Some(func) || row.add == Some(func))
    }

    fn args(&self, region: Region, kinds: &[bool]) -> Check {
        let args = self.kinds(&self.func.regions[region].args);
        ensure!(args == kinds, "a slot and its argument must be of one kind");
        Ok(())
    }

    fn loop_body(&mut self, region: Region, args: Vec<bool>, slots: Vec<bool>) -> Check {
        self.args(region, &args)?;
        self.loops.push(slots.clone());
        self.region(region, Some(&slots))?;
        self.loops.pop();
        Ok(())
    }
}
