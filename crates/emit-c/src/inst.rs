//! Selects how each instruction is emitted, and emits those that update a variable in place.

use crate::expr::Expr;
use crate::func::{FuncEmitter, Val};
use crate::literal::c_string;
use crate::{Language, Result};
use cotangent_base::Scalar;
use cotangent_base::printf::{self, Piece, Takes};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::{
    Barrier, FuncId, Global, GlobalKind, Inst, InstData, Memory, Op, Path, Trap, Type, Value, op_group,
};
use cotangent_passes::place::Slot;
use cotangent_passes::precedence::PRIMARY;

impl FuncEmitter<'_, '_> {
    /// Emits one instruction.
    pub fn inst(&mut self, inst: Inst) -> Result<()> {
        let data = self.func.insts[inst].clone();
        if !data.span.is_none() {
            self.span = data.span;
        }
        if self.choose(inst, &data)? {
            return Ok(());
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
            Op::Atomic(atomic) => self.atomic(inst, &data, atomic),
            Op::Barrier(barrier) => self.barrier(*barrier),
            Op::Wave(kind) => self.wave(&data, *kind),
            Op::StoreTexel => self.store_texel(&data)?,
            Op::Print(format) => self.print(&data, format.as_str()),
            Op::TargetText(text) => self.target_text(&data, text.as_str())?,
            Op::Global(global) => self.global(data.results[0], *global),
            Op::Call(callee) => self.call(&data, *callee),
            Op::If => return self.within(inst, |e| e.branch(inst, &data)),
            Op::Switch(cases) => return self.within(inst, |e| e.switch(inst, &data, cases)),
            Op::While(_) => return self.within(inst, |e| e.while_loop(inst, &data)),
            Op::For(info) => return self.within(inst, |e| e.for_loop(inst, &data, info.reversed)),
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => {
                self.say_no(inst);
                self.exit(&data);
            }
            Op::Discard => return self.e.refuse(Feature::Discard, self.span, "`discard` is not supported"),
            // A variable of the program that was not assigned is zero, as on the interpreter; nobody looks at others.
            Op::Undef if self.places.slot(data.results[0]).is_some() => {
                if self.is_variable(data.results[0]) {
                    let zero = self.zero(self.func.ty(data.results[0]));
                    self.made(data.results[0], zero);
                }
            }
            Op::DiffCall(_) | Op::LinCall(_) | op_group!(plain) => {
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
            op_group!(plain | call | control | exit) => false,
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
            Val::Free(_) | Val::Pending(_) | Val::Named(_) | Val::Variable(_) => {
                _ = self.values.insert(value, found)
            }
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
        if self.is_nowhere(self.func.ty(result), &path.0) {
            return self.unwritten(&place, &value);
        }
        let line = match (adds, self.e.module.types.get(part_ty)) {
            (false, _) => format!("{} = {};", place.text, value.text),
            (true, Type::Scalar(Scalar::F32 | Scalar::F64)) => format!("{} += {};", place.text, value.text),
            (true, Type::Struct(_)) => format!("add_to({}, {});", place.text, value.text),
            (true, _) => format!("ct::add_to({}, {});", place.text, value.text),
        };
        self.line(&line);
    }

    /// To write a place without data does nothing but what the place and the value say.
    pub fn unwritten(&mut self, place: &Expr, value: &Expr) {
        for expr in [place, value].into_iter().filter(|expr| expr.text.contains('(')) {
            self.line(&format!("(void)({});", expr.text));
        }
    }

    /// What threads do to memory is ordered, and they may wait for each other. In C++ threads take turns, so that there is nothing
    /// to order.
    fn barrier(&mut self, barrier: Barrier) {
        self.write_memory();
        match self.e.options.language {
            Language::Cpp if barrier.sync => {
                self.barriers += 1;
                let (place, line) = (self.barriers, self.line_number());
                self.line(&format!("thread.turns->wait(thread.self, {place}, {line});"));
            }
            Language::Cpp => {}
            Language::Cuda => {
                match barrier.memory {
                    Memory::Group if barrier.sync => {}
                    Memory::Group => self.line("__threadfence_block();"),
                    Memory::Device | Memory::All => self.line("__threadfence();"),
                }
                if barrier.sync {
                    self.line("__syncthreads();");
                }
            }
        }
    }

    /// Integers are printed in 64 bits, so that one length serves all.
    fn print(&mut self, data: &InstData, format: &str) {
        let mut text = String::new();
        let mut values = data.operands.iter();
        let mut args = Vec::new();
        for piece in printf::parse(format).unwrap_or_default() {
            match piece {
                Piece::Text(plain) => text += &plain.replace('%', "%%"),
                Piece::Value(conversion) => {
                    let Some(value) = values.next() else { break };
                    text += &conversion.in_c();
                    let shown = self.value(*value);
                    let unsigned =
                        self.e.scalar(match self.shape(*value).scalar().map_or(32, Scalar::bits) {
                            8 => Scalar::U8,
                            16 => Scalar::U16,
                            64 => Scalar::U64,
                            _ => Scalar::U32,
                        });
                    args.push(match conversion.takes() {
                        Takes::Float => format!("double({})", shown.text),
                        Takes::Text => shown.text,
                        Takes::Integer if conversion.letter() == 'c' => format!("int({})", shown.text),
                        Takes::Integer if "di".contains(conversion.letter()) => {
                            format!("(long long)({})", shown.text)
                        }
                        Takes::Integer => {
                            format!("(unsigned long long)({unsigned}({}))", shown.text)
                        }
                    });
                }
            }
        }
        self.write_memory();
        let args: String = args.iter().map(|arg| format!(", {arg}")).collect();
        let scope = if self.e.options.language == Language::Cpp { "std::" } else { "" };
        self.line(&format!("{scope}printf({}{args});", c_string(&text)));
    }

    fn assert(&mut self, condition: Value, trap: Trap) {
        let condition = self.value(condition);
        let what = trap.text();
        let line = self.line_number();
        self.line(&format!("if (!{}) ct::trap({line}, \"{what}\");", condition.at_least(PRIMARY)));
    }

    fn call(&mut self, data: &InstData, callee: FuncId) {
        let passed = self.e.places[&callee].passed.clone();
        let returns = self.e.returns(callee);
        let mut args = self.arguments(data, callee);
        args.splice(0..0, self.e.unseen_args(callee, &self.lanes).into_iter().map(Expr::name));
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

    pub fn returned_value(&mut self, result: Value, call: Expr) {
        if call.effect && self.places.slot(result).is_none() && self.used.contains(&result) {
            return self.name(result, &call);
        }
        self.made(result, call);
    }
}
