//! Emits regions, branches, loops and exits.
//!
//! naga's `break` and `continue` apply to the innermost loop only. An exit from several loops sets a `leave` variable for
//! each loop that it crosses, and a test after that loop continues the exit. In naga, `break` also ends a `switch`, so a
//! switch that contains loop exits becomes a chain of `if`s.

use crate::Result;
use crate::func::FuncEmitter;
use crate::passing::Variable;
use crate::refuse::refuse;
use crate::values::Place;
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{Inst, InstData, Op, Region, Value, op_group};
use cotangent_passes::shape::choice;
use naga::{Block, Expression, Handle, Literal, Statement};

/// A loop under construction.
pub(crate) struct LoopFrame {
    /// A variable per carried slot.
    slots: Vec<Variable>,
    /// If an exit crosses the loop, how to go on after it: 0 normally, [`CONTINUE`] with the next iteration of the loop
    /// around, [`BREAK`] by leaving that too.
    leave: Option<Variable>,
}

const BREAK: i32 = 1;
const CONTINUE: i32 = 2;

/// Expressions that nest deeper get a name: a reader of WGSL may refuse some hundred parentheses.
const MOST_DEPTH: u32 = 40;

impl FuncEmitter<'_, '_> {
    /// Emits the instructions of a region, its exit included.
    pub fn region(&mut self, region: Region) -> Result<()> {
        let func = self.func;
        func.regions[region].insts.iter().try_for_each(|inst| self.inst(*inst))
    }

    fn inst(&mut self, inst: Inst) -> Result<()> {
        let func = self.func;
        let data = &func.insts[inst];
        self.span = data.span;
        let place = match &data.op {
            Op::If => return self.if_(data),
            Op::Switch(cases) => return self.switch(data, cases),
            Op::While(_) => return self.while_(data),
            Op::For(info) => return self.for_(data, info.reversed),
            Op::Yield => return Ok(()),
            Op::Break(depth) => return self.exit(data, *depth, BREAK),
            Op::Continue(depth) => return self.exit(data, *depth, CONTINUE),
            Op::Return => return self.return_(data),
            Op::Call(callee) => return self.call(*callee, &data.operands, &data.results),
            Op::Store(path) => return self.store(data, path),
            Op::StoreTexel => return self.store_texel(data),
            Op::Assert(trap) => return self.assert(data.operands[0], *trap),
            Op::Barrier(barrier) => {
                self.barrier(*barrier);
                return Ok(());
            }
            Op::Discard => {
                self.discard();
                return Ok(());
            }
            Op::Print(_) => return refuse(Feature::Printf, self.span, "`printf` is not supported"),
            Op::TargetText(_) => {
                return refuse(Feature::TargetText, self.span, "text of a target language is not supported");
            }
            Op::Pointer => {
                return refuse(Feature::PointerValue, self.span, "a cast to a pointer is not supported");
            }
            Op::Point(_) | Op::Offset | Op::Address => {
                let what = "a pointer that is not dereferenced at once is not supported";
                return refuse(Feature::PointerValue, self.span, what);
            }
            Op::Insert(path) => self.insert(data, path, false)?,
            Op::InsertAdd(path) => self.insert(data, path, true)?,
            // Its parts are read where they are used.
            Op::Global(_) if data.results.iter().all(|value| self.parted.contains(value)) => return Ok(()),
            Op::Global(global) => self.global(*global)?,
            Op::Atomic(atomic) => Place::Expr(self.atomic(data, atomic)?),
            Op::Wave(kind) => Place::Expr(self.wave(data, *kind)?),
            // A variable of the program that was not assigned is zero, as on the interpreter; nobody looks at others.
            Op::Undef if self.func.values[data.results[0]].name.is_none() => {
                match self.shared_variable(data.results[0])? {
                    Some(var) => Place::Var(var),
                    None => Place::Expr(self.operation(data)?),
                }
            }
            Op::DiffCall(_)
            | Op::LinCall(_)
            | Op::Load(_)
            | Op::Length
            | Op::Screen(_)
            | op_group!(pure | texture) => Place::Expr(self.operation(data)?),
        };
        self.keep(data, place)
    }

    /// Says where the result of an operation is.
    fn keep(&mut self, data: &InstData, place: Place) -> Result<()> {
        let Some(result) = data.results.first() else { return Ok(()) };
        self.place(*result, place)?;
        let Place::Expr(handle) = place else { return Ok(()) };
        if let Some(name) = self.name_of(*result) {
            self.out.named_expressions.insert(handle, name);
            return Ok(());
        }
        let depth = 1 + data.operands.iter().filter_map(|v| self.depths.get(v)).max().copied().unwrap_or(0);
        let is_expr = matches!(self.places[result], Place::Expr(_));
        if is_expr && (self.invariants.contains(result) || depth > MOST_DEPTH) {
            self.out.named_expressions.entry(handle).or_insert_with(|| "t".to_string());
        } else if is_expr {
            self.depths.insert(*result, depth);
        }
        Ok(())
    }

    /// A variable per result of a region operation.
    fn result_variables(&mut self, values: &[Value]) -> Result<Vec<Variable>> {
        let func = self.func;
        let variable = |v: &Value| match self.shared_variable(*v)? {
            Some(var) => Ok(var),
            None => self.new_variable(func.ty(*v), self.name_of(*v)),
        };
        values.iter().map(variable).collect()
    }

    /// Writes values into variables, all read before any is written.
    fn assign(&mut self, vars: &[Variable], values: &[Value]) {
        let is_there = |place: &Place, var| matches!(place, Place::Var(v) if v == var);
        let (mut writes, span) = (Vec::new(), self.span);
        for (var, value) in vars.iter().zip(values) {
            if !is_there(&self.places[value], var) {
                // The line that computes a value is the one that assigns it in the source.
                let from = self.func.def(*value).map_or(span, |def| def.span);
                writes.push((*var, self.value(*value), from));
            }
        }
        for (var, value, from) in writes {
            self.span = from;
            self.store_var(var, value);
        }
        self.span = span;
    }

    /// A region as a block that ends by writing what it yields into `vars`.
    fn yielding(&mut self, region: Region, vars: &[Variable]) -> Result<Block> {
        let func = self.func;
        self.block(|e| {
            e.region(region)?;
            let exit = func.exit(region);
            if exit.op == Op::Yield {
                e.assign(vars, &exit.operands);
            }
            Ok(())
        })
    }

    fn bind(&mut self, values: &[Value], vars: &[Variable]) {
        for (value, var) in values.iter().zip(vars) {
            self.places.insert(*value, Place::Var(*var));
        }
    }

    fn if_(&mut self, data: &InstData) -> Result<()> {
        let condition = self.value(data.operands[0]);
        if let Some([accept, reject]) = choice(&self.module().types, self.func, data) {
            data.regions.iter().try_for_each(|region| self.region(*region))?;
            let [accept, reject] = [accept, reject].map(|value| self.value(value));
            let chosen = self.expr(Expression::Select { condition, accept, reject });
            return self.keep(data, Place::Expr(chosen));
        }
        let condition = self.decides(data, condition)?;
        let vars = self.result_variables(&data.results)?;
        let accept = self.yielding(data.regions[0], &vars)?;
        let reject = self.yielding(data.regions[1], &vars)?;
        self.statement(Statement::If { condition, accept, reject });
        self.bind(&data.results, &vars);
        Ok(())
    }

    fn switch(&mut self, data: &InstData, values: &[i64]) -> Result<()> {
        let selector = self.value(data.operands[0]);
        let selector = self.decides(data, selector)?;
        let vars = self.result_variables(&data.results)?;
        let mut blocks = Vec::new();
        for region in &data.regions {
            blocks.push(self.yielding(*region, &vars)?);
        }
        let default = blocks.pop().unwrap_or_default();
        if self.has_loop_exit(data) || !self.is_word(data.operands[0]) {
            let chain = self.chain(data.operands[0], selector, values, blocks, default)?;
            self.statement(Statement::Block(chain));
        } else {
            let unsigned = self.is_unsigned(data.operands[0]);
            let value = |n: i64| {
                if unsigned { naga::SwitchValue::U32(n as u32) } else { naga::SwitchValue::I32(n as i32) }
            };
            let case = |value, body| naga::SwitchCase { value, body, fall_through: false };
            let mut cases: Vec<_> =
                values.iter().zip(blocks).map(|(n, body)| case(value(*n), body)).collect();
            cases.push(case(naga::SwitchValue::Default, default));
            self.statement(Statement::Switch { selector, cases });
        }
        self.bind(&data.results, &vars);
        Ok(())
    }

    /// `if s == a {..} else { if s == b {..} else {..} }`.
    fn chain(
        &mut self,
        value: Value,
        selector: Handle<Expression>,
        values: &[i64],
        blocks: Vec<Block>,
        default: Block,
    ) -> Result<Block> {
        let ty = self.func.ty(value);
        let mut rest = default;
        for (n, accept) in values.iter().zip(blocks).rev() {
            let reject = rest;
            rest = self.block(|e| {
                let right = e.literal(cotangent_ir::Const::Int(*n), ty)?;
                let op = naga::BinaryOperator::Equal;
                let condition = e.expr(Expression::Binary { op, left: selector, right });
                e.statement(Statement::If { condition, accept, reject });
                Ok(())
            })?;
        }
        Ok(rest)
    }

    fn has_loop_exit(&self, data: &InstData) -> bool {
        let mut found = false;
        for region in &data.regions {
            self.func.walk(*region, &mut |inst| {
                found |= matches!(self.func.insts[inst].op, Op::Break(_) | Op::Continue(_))
            });
        }
        found
    }

    fn open_loop(&mut self, data: &InstData) -> Result<()> {
        let slots = self.result_variables(&data.results)?;
        let i32 = self.emitter.plain(naga::TypeInner::Scalar(naga::Scalar::I32));
        let leave = self.is_crossed(data).then(|| self.new_naga_variable(i32, Some("leave".into())));
        self.loops.push(LoopFrame { slots, leave });
        Ok(())
    }

    /// Adds the loop, and after it the way on for exits that cross it.
    fn close_loop(&mut self, data: &InstData, body: Block, continuing: Block) -> Result<()> {
        let LoopFrame { slots, leave } = self.loops.pop().expect("the loop was opened");
        if let Some(leave) = leave {
            let zero = self.expr(Expression::Literal(Literal::I32(0)));
            self.store_var(leave, zero);
        }
        self.statement(Statement::Loop { body, continuing, break_if: None });
        self.bind(&data.results, &slots);
        if let Some(leave) = leave {
            for (code, jump) in [(CONTINUE, Statement::Continue), (BREAK, Statement::Break)] {
                let left = self.load_var(leave);
                let right = self.expr(Expression::Literal(Literal::I32(code)));
                let op = naga::BinaryOperator::Equal;
                let condition = self.expr(Expression::Binary { op, left, right });
                let accept = Block::from_vec(vec![jump]);
                self.statement(Statement::If { condition, accept, reject: Block::new() });
            }
        }
        Ok(())
    }

    /// Whether an exit inside this loop goes to a loop outside.
    fn is_crossed(&self, data: &InstData) -> bool {
        data.regions.iter().any(|r| self.crosses(*r, 0))
    }

    fn crosses(&self, region: Region, depth: u32) -> bool {
        self.func.regions[region].insts.iter().any(|inst| {
            let data = &self.func.insts[*inst];
            if let Op::Break(target) | Op::Continue(target) = data.op {
                target > depth
            } else {
                data.regions.iter().any(|r| self.crosses(*r, depth + u32::from(data.op.is_loop())))
            }
        })
    }

    fn while_(&mut self, data: &InstData) -> Result<()> {
        let func = self.func;
        self.open_loop(data)?;
        let slots = self.loops.last().expect("just opened").slots.clone();
        self.assign(&slots, &data.operands);
        let [cond, body] = [data.regions[0], data.regions[1]];
        let block = self.repeated(|e| {
            e.bind(&func.regions[cond].args, &slots);
            e.region(cond)?;
            let condition = e.value(func.exit(cond).operands[0]);
            e.break_unless(condition);
            e.bind(&func.regions[body].args, &slots);
            e.round(body, &slots)
        })?;
        self.close_loop(data, block, Block::new())
    }

    fn break_unless(&mut self, condition: Handle<Expression>) {
        let condition = self.expr(Expression::Unary { op: naga::UnaryOperator::LogicalNot, expr: condition });
        self.break_if(condition);
    }

    pub fn break_if(&mut self, condition: Handle<Expression>) {
        let accept = Block::from_vec(vec![Statement::Break]);
        self.statement(Statement::If { condition, accept, reject: Block::new() });
    }

    fn round(&mut self, body: Region, slots: &[Variable]) -> Result<()> {
        self.region(body)?;
        let exit = self.func.exit(body);
        if exit.op == Op::Yield {
            self.assign(slots, &exit.operands);
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn for_(&mut self, data: &InstData, reversed: bool) -> Result<()> {
        let func = self.func;
        self.open_loop(data)?;
        let slots = self.loops.last().expect("just opened").slots.clone();
        self.assign(&slots, &data.operands[1..]);
        let args = &func.regions[data.regions[0]].args;
        let name = self.name_of(args[0]).or(Some("i".to_string()));
        let (counter, n) = (self.new_variable(func.ty(args[0]), name)?, self.value(data.operands[0]));
        let n = self.decides(data, n)?;
        let [zero, one] = [0, 1].map(|n| self.expr(Expression::Literal(Literal::I32(n))));
        let binary = |e: &mut Self, op, left, right| e.expr(Expression::Binary { op, left, right });
        let first = match self.out.expressions[n] {
            _ if !reversed => zero,
            Expression::Literal(Literal::I32(n)) => {
                self.expr(Expression::Literal(Literal::I32(n.wrapping_sub(1))))
            }
            _ => binary(self, naga::BinaryOperator::Subtract, n, one),
        };
        self.store_var(counter, first);
        let body = self.repeated(|e| {
            let k = e.load_var(counter);
            let (op, limit) = if reversed {
                (naga::BinaryOperator::Less, zero)
            } else {
                (naga::BinaryOperator::GreaterEqual, n)
            };
            let condition = binary(e, op, k, limit);
            e.break_if(condition);
            e.places.insert(args[0], Place::Expr(k));
            e.bind(&args[1..], &slots);
            e.round(data.regions[0], &slots)
        })?;
        let continuing = self.block(|e| {
            let k = e.load_var(counter);
            let op = if reversed { naga::BinaryOperator::Subtract } else { naga::BinaryOperator::Add };
            let next = binary(e, op, k, one);
            e.store_var(counter, next);
            Ok(())
        })?;
        self.close_loop(data, body, continuing)
    }

    /// `break` and `continue`: writes the slots of the loop that is meant and leaves those within it.
    fn exit(&mut self, data: &InstData, depth: u32, code: i32) -> Result<()> {
        let target = self.loops.len() - 1 - depth as usize;
        let slots = self.loops[target].slots.clone();
        self.assign(&slots, &data.operands);
        for crossed in target + 1..self.loops.len() {
            // The last loop crossed is followed by what is meant; those within it by another break.
            let code = if crossed == target + 1 { code } else { BREAK };
            let code = self.expr(Expression::Literal(Literal::I32(code)));
            let leave = self.loops[crossed].leave.expect("a loop that is crossed was opened as such");
            self.store_var(leave, code);
        }
        let jump = if depth == 0 && code == CONTINUE { Statement::Continue } else { Statement::Break };
        self.statement(jump);
        Ok(())
    }

    fn return_(&mut self, data: &InstData) -> Result<()> {
        let mut values = self.pass_back(&data.operands);
        if let (Some(poison), true) = (self.emitter.poison, self.func.entry.is_some()) {
            for (value, operand) in values.iter_mut().zip(&data.operands) {
                *value = self.poisoned(*value, self.func.ty(*operand), poison)?;
            }
        }
        let value = match values[..] {
            [] => None,
            [only] => Some(only),
            _ => {
                let ty = self.emitter.results[&self.id];
                let components = self.output_members(values);
                Some(self.expr(Expression::Compose { ty, components }))
            }
        };
        self.statement(Statement::Return { value });
        Ok(())
    }

    /// Whether a value is a 32-bit integer.
    fn is_word(&self, value: Value) -> bool {
        let scalar = self.module().types.scalar_of(self.func.ty(value));
        scalar.is_some_and(|s| s.is_int() && s.bits() == 32)
    }

    fn is_unsigned(&self, value: Value) -> bool {
        let scalar = self.module().types.scalar_of(self.func.ty(value));
        scalar.is_some_and(|s| s.is_int() && !s.is_signed())
    }
}
