//! Instructions, and those that change something.

use crate::expr::{Expr, PRIMARY, function};
use crate::func::{FuncEmitter, Val};
use crate::{Result, unsupported};
use cotangent_base::Scalar;
use cotangent_ir::{Atomic, FuncId, Global, GlobalKind, Inst, InstData, Op, Path, Trap, Type, Value};
use cotangent_passes::place::Slot;

impl FuncEmitter<'_, '_> {
    /// Emits one instruction.
    pub fn inst(&mut self, inst: Inst) -> Result<()> {
        let data = self.func.insts[inst].clone();
        if !data.span.is_none() {
            self.span = data.span;
        }
        if let Some(slots) = self.homes.get(&inst).cloned()
            && (!data.regions.is_empty() || matches!(data.op, Op::Call(_)) || self.is_unwritten(&data))
        {
            // A loop declares its own, with their first values.
            let own = |slot: &Slot| data.results.iter().any(|r| self.places.slot(*r) == Some(*slot));
            let others: Vec<Slot> =
                slots.into_iter().filter(|slot| !data.op.is_loop() || !own(slot)).collect();
            others.into_iter().for_each(|slot| self.declare(slot));
        }
        match &data.op {
            Op::Insert(path) => self.insert(&data, path, false),
            Op::InsertAdd(path) => self.insert(&data, path, true),
            Op::Store(path) => self.store(&data, path),
            Op::Assert(trap) => self.assert(data.operands[0], *trap),
            Op::Atomic(atomic) => return self.atomic(&data, atomic),
            // Threads run one after the other, so there is nothing to order, and no way to wait.
            Op::Barrier(barrier) if !barrier.sync => {}
            Op::Barrier(_) => return unsupported(self.span, "a barrier is not possible"),
            Op::Print(_) => return unsupported(self.span, "`printf` is not possible"),
            Op::Global(global) => self.global(data.results[0], *global),
            Op::Call(callee) => self.call(&data, *callee),
            Op::If => return self.branch(&data),
            Op::Switch(cases) => return self.switch(&data, cases),
            Op::While(_) => return self.while_loop(&data),
            Op::For(info) => return self.for_loop(&data, info.reversed),
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => self.exit(&data),
            // A variable of the program that was not assigned is zero, as on the interpreter; nobody looks at others.
            Op::Undef if self.places.slot(data.results[0]).is_some() => {
                if self.is_variable(data.results[0]) {
                    let zero = self.zero(self.func.ty(data.results[0]));
                    self.made(data.results[0], zero);
                }
            }
            _ => {
                if !self.used.contains(&data.results[0]) {
                    return Ok(());
                }
                let expr = self.pure(&data)?;
                self.pure_made(&data, expr);
            }
        }
        Ok(())
    }

    /// Whether a value has the name of a variable.
    pub fn is_variable(&self, value: Value) -> bool {
        self.func.values[value].name.is_some()
    }

    /// Whether an instruction makes something that nobody looks at.
    fn is_unwritten(&self, data: &InstData) -> bool {
        matches!(data.op, Op::Undef) && !self.is_variable(data.results[0])
    }

    /// Constants, and parts of what nobody changes, may stand wherever they are used.
    fn pure_made(&mut self, data: &InstData, expr: Expr) {
        let value = data.results[0];
        let free = match &data.op {
            Op::Const(_) => true,
            Op::Zero => matches!(self.shape(value), Type::Scalar(_)),
            Op::Extract(path) => {
                path.indices() == 0 && expr.slots.is_empty() && !expr.memory && expr.text.len() < 40
            }
            Op::Detach => expr.level == PRIMARY && expr.slots.is_empty() && !expr.memory,
            _ => false,
        };
        if free && self.places.slot(value).is_none() {
            self.values.insert(value, Val::Free(expr));
        } else {
            self.made(value, expr);
        }
    }

    fn global(&mut self, value: Value, global: Global) {
        let data = &self.e.module.globals[global];
        let found = match data.kind {
            GlobalKind::Param => Val::Free(Expr::name(self.e.paths[&global].clone())),
            GlobalKind::Shared => Val::Variable(format!("thread.shared.{}", self.e.variables[&global])),
            GlobalKind::Static(_) => Val::Variable(format!("thread.{}", self.e.variables[&global])),
        };
        match found {
            Val::Free(expr) if self.places.slot(value).is_some() => self.made(value, expr),
            found => _ = self.values.insert(value, found),
        }
    }

    /// Changes a part of a variable, which is a copy if what it updates is needed later.
    fn insert(&mut self, data: &InstData, path: &Path, adds: bool) {
        let (base, part, result) = (data.operands[0], data.operands[1], data.results[0]);
        let slot = self.places.slot(result).expect("an update has a slot");
        if self.places.slot(base) != Some(slot) {
            if matches!(self.func.op(base), Some(Op::Undef)) && !self.is_variable(base) {
                self.declare(slot);
            } else {
                let old = self.value(base);
                self.write_slot(slot, &old);
            }
        }
        let part_ty = self.func.ty(part);
        let value = self.value(part);
        let name = Expr::slot(self.slot_names[slot].clone(), slot);
        let place = self.access(name, self.func.ty(result), path, &data.operands[2..]);
        self.before_write(slot);
        let line = match (adds, self.e.module.types.get(part_ty)) {
            (false, _) => format!("{} = {};", place.text, value.text),
            (true, Type::Scalar(Scalar::F32 | Scalar::F64)) => format!("{} += {};", place.text, value.text),
            (true, Type::Struct(_)) => format!("add_to({}, {});", place.text, value.text),
            (true, _) => format!("ct::add_to({}, {});", place.text, value.text),
        };
        self.line(&line);
    }

    fn store(&mut self, data: &InstData, path: &Path) {
        let value = self.value(data.operands[1]);
        let place = self.memory(data.operands[0], path, &data.operands[2..]);
        self.write_memory();
        self.line(&format!("{} = {};", place.text, value.text));
    }

    /// Reads and writes a place in one step.
    fn atomic(&mut self, data: &InstData, atomic: &Atomic) -> Result<()> {
        let count = atomic.kind.values();
        let values: Vec<Expr> = data.operands[1..=count].iter().map(|v| self.value(*v)).collect();
        let ty = self.e.ty(self.func.ty(data.operands[count]));
        let place = self.memory(data.operands[0], &atomic.path, &data.operands[1 + count..]);
        self.write_memory();
        let new = match (atomic.kind.math(), &values[..]) {
            (Some(math), [value]) => format!("ct::{}(old, {})", function(math), value.text),
            (None, [value]) => value.text.clone(),
            (_, [expected, value]) => {
                format!("ct::same_bits<{ty}>(old, {}) ? {} : old", expected.text, value.at_least(4))
            }
            _ => return unsupported(self.span, "this atomic operation is not possible"),
        };
        let text = format!(
            "ct::atomic_update({}, [&]({ty} old) -> {ty} {{ (void)old; return {new}; }})",
            place.text
        );
        let update = Expr { effect: true, ..Expr::name(text) };
        match data.results.first() {
            Some(result) => self.returned_value(*result, update),
            None => self.line(&format!("{};", update.text)),
        }
        Ok(())
    }

    fn assert(&mut self, condition: Value, trap: Trap) {
        let condition = self.value(condition);
        let what = match trap {
            Trap::OutOfBounds => "index out of bounds",
            Trap::LoopBound => "the loop ran longer than it said it would",
            Trap::DivisionByZero => "division by zero",
            Trap::StepLimit => "the program ran too long",
            Trap::CallDepth => "calls nest too deeply",
            Trap::NullPointer => "null pointer followed",
            Trap::Misaligned => "misaligned address",
            Trap::Barrier => "a barrier that not all threads reach",
            Trap::Abort => "the program aborted",
            Trap::NoValue => "value of an empty optional",
            Trap::UnknownType => "unknown type of an interface value",
        };
        let line = self.line_number();
        self.line(&format!("if (!{}) ct::trap({line}, \"{what}\");", condition.at_least(PRIMARY)));
    }

    fn call(&mut self, data: &InstData, callee: FuncId) {
        let passed = self.e.places[&callee].passed.clone();
        let returns = self.e.returns(callee);
        let threaded = self.e.threaded.contains(&callee);
        let mut args: Vec<Expr> = Vec::new();
        for (number, operand) in data.operands.iter().enumerate() {
            match passed.iter().position(|p| *p == Some(number)) {
                Some(output) => {
                    let slot = self.places.slot(data.results[output]).expect("it is a reference");
                    if self.places.slot(*operand) != Some(slot) {
                        let old = self.value(*operand);
                        self.write_slot(slot, &old);
                    }
                    args.push(Expr::name(self.slot_names[slot].clone()));
                }
                None => args.push(self.value(*operand)),
            }
        }
        if threaded {
            args.insert(0, Expr::name("thread".to_string()));
        }
        let name = self.e.funcs[&callee].clone();
        let (reads, writes) = (self.e.reading.contains(&callee), self.e.writing.contains(&callee));
        if writes {
            self.write_memory();
        }
        if returns {
            let call = Expr::call(&name, &args);
            let call = Expr { effect: writes, memory: call.memory || reads, ..call };
            return self.returned_value(data.results[0], call);
        }
        for (output, result) in data.results.iter().enumerate() {
            let slot = self.places.slot(*result).expect("it is a reference");
            self.before_write(slot);
            self.declare(slot);
            if passed[output].is_none() {
                args.push(Expr::name(self.slot_names[slot].clone()));
            }
        }
        let call = Expr::call(&name, &args);
        self.line(&format!("{};", call.text));
    }

    fn returned_value(&mut self, result: Value, call: Expr) {
        if call.effect && self.places.slot(result).is_none() && self.used.contains(&result) {
            return self.name(result, &call);
        }
        self.made(result, call);
    }
}
