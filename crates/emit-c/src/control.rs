//! Emits branches, loops and exits.
//!
//! Each exit of a region writes the region's results to their slots. Deferred expressions that read something the region may
//! change are emitted as statements before the region, because inside it would be too late.

use crate::Result;
use crate::expr::Expr;
use crate::func::{FuncEmitter, LoopFrame};
use crate::moves::{Move, Target};
use cotangent_base::Scalar;
use cotangent_ir::{Control, Exit, Inst, InstData, Op, Region, Value};
use cotangent_passes::shape::choice;

impl FuncEmitter<'_, '_> {
    /// Emits the instructions of a region.
    pub fn region(&mut self, region: Region) -> Result<()> {
        let outer = std::mem::replace(&mut self.region, region);
        let together = self.lanes.clone();
        for inst in self.func.regions[region].insts.clone() {
            self.inst(inst)?;
        }
        (self.region, self.lanes) = (outer, together);
        Ok(())
    }

    fn block(&mut self, region: Region) -> Result<()> {
        self.indent += 1;
        self.region(region)?;
        self.indent -= 1;
        Ok(())
    }

    /// Before regions begin: what reads anything that may change becomes a statement.
    fn settle(&mut self) {
        self.flush(|expr| !expr.slots.is_empty() || expr.memory);
    }

    /// Whether a region does nothing but yield what is in place already.
    fn does_nothing(&self, region: Region, results: &[Value]) -> bool {
        let [exit] = self.func.regions[region].insts[..] else { return false };
        let data = &self.func.insts[exit];
        let in_place = |(from, to): (&Value, &Value)| self.places.slot(*from) == self.places.slot(*to);
        matches!(data.op, Op::Yield) && data.operands.iter().zip(results).all(in_place)
    }

    /// Emits a branch that does nothing but choose, as an expression; whether it was one. What keeps something in place stays an `if`.
    pub fn choose(&mut self, inst: Inst, data: &InstData) -> Result<bool> {
        let Some(chosen) = choice(&self.e.module.types, self.func, data) else { return Ok(false) };
        let idle = data.regions.iter().any(|region| self.does_nothing(*region, &data.results));
        if idle || self.votes.parts(inst) {
            return Ok(false);
        }
        for region in &data.regions {
            let (_, constants) = self.func.regions[*region].insts.split_last().unwrap_or((&inst, &[]));
            constants.iter().try_for_each(|inst| self.inst(*inst))?;
        }
        let condition = self.value(data.operands[0]);
        let [a, b] = chosen.map(|value| self.value(value));
        self.made(data.results[0], Expr::choice(condition, a, b));
        Ok(true)
    }

    pub fn branch(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        let mut condition = self.value(data.operands[0]);
        self.settle();
        if self.votes.parts(inst) {
            self.fresh_lanes();
            condition = self.part(condition);
        }
        let (then, other) = (data.regions[0], data.regions[1]);
        let start = self.out.len();
        let mut closed = false;
        if self.does_nothing(then, &data.results) && !self.does_nothing(other, &data.results) {
            self.line(&format!("if (!{}) {{", condition.at_least(15)));
            self.branch_block(other, &data.results)?;
        } else {
            self.line(&format!("if ({}) {{", condition.text));
            self.branch_block(then, &data.results)?;
            if self.may_be_else_if(other) {
                closed = self.else_if(other, &data.results)?;
            } else if !self.does_nothing(other, &data.results) {
                self.line("} else {");
                self.branch_block(other, &data.results)?;
            }
        }
        if !closed {
            self.line("}");
        }
        self.last_if = start..self.out.len();
        Ok(())
    }

    /// Whether a second branch ends in an `if`, and nothing before that has to be a statement.
    fn may_be_else_if(&self, region: Region) -> bool {
        let [before @ .., last, _exit] = &self.func.regions[region].insts[..] else { return false };
        let is_plain = |inst: &Inst| self.func.insts[*inst].op.control() == Control::Plain;
        !self.e.options.lines && self.func.insts[*last].op == Op::If && before.iter().all(is_plain)
    }

    /// A second branch as `else if`, so that long chains do not nest; as a block after all, if more was written than the one
    /// `if`. Whether the end of the statement is written too.
    fn else_if(&mut self, region: Region, results: &[Value]) -> Result<bool> {
        self.out += &format!("{}}} else ", "    ".repeat(self.indent));
        self.after_else = true;
        let start = self.out.len();
        self.region(region)?;
        self.yielded(region, results);
        self.after_else = false;
        if self.last_if == (start..self.out.len()) {
            return Ok(true);
        }
        let text = self.out.split_off(start);
        self.out += "{\n";
        for (number, line) in text.lines().enumerate() {
            // The first follows `else` and has no indentation yet.
            let indent = if number == 0 { self.indent + 1 } else { 1 };
            self.out += &format!("{}{line}\n", "    ".repeat(indent));
        }
        Ok(false)
    }

    /// A region whose `yield` gives the results of what is around it.
    fn branch_block(&mut self, region: Region, results: &[Value]) -> Result<()> {
        self.block(region)?;
        self.indent += 1;
        self.yielded(region, results);
        self.indent -= 1;
        Ok(())
    }

    fn yielded(&mut self, region: Region, results: &[Value]) {
        let exit = self.func.exit(region).clone();
        if matches!(exit.op, Op::Yield) {
            self.assign(&exit.operands, results);
        }
    }

    pub fn switch(&mut self, inst: Inst, data: &InstData, cases: &[i64]) -> Result<()> {
        let mut selector = self.value(data.operands[0]);
        self.settle();
        if self.votes.parts(inst) {
            selector = self.part_by(data.operands[0], selector, cases);
        }
        self.line(&format!("switch ({}) {{", selector.text));
        self.switches += 1;
        for (number, region) in data.regions.iter().enumerate() {
            match cases.get(number) {
                Some(case) => {
                    let constant = cotangent_ir::Const::Int(*case);
                    let s = self.shape(data.operands[0]).scalar().unwrap_or(Scalar::I32);
                    let label = self.literal(constant, s);
                    self.line(&format!("case {}: {{", label.text));
                }
                None => self.line("default: {"),
            }
            self.branch_block(*region, &data.results)?;
            self.line("} break;");
        }
        self.switches -= 1;
        self.line("}");
        Ok(())
    }

    /// Enters a loop: its slots get their first values.
    fn enter(&mut self, first: &[Value], results: &[Value]) {
        self.assign(first, results);
        for result in results {
            let slot = self.places.slot(*result).expect("a loop's slot");
            self.declare(slot);
        }
        self.settle();
        let number = self.loops.len() + 1;
        let out = (self.names.fresh(&format!("out_{number}")), false);
        let next = (self.names.fresh(&format!("next_{number}")), false);
        self.loops.push(LoopFrame { slots: results.to_vec(), out, next, switches: self.switches });
    }

    /// Leaves a loop whose body stands in `body`, which `head` opens.
    fn leave(&mut self, head: &str, body: String) {
        let frame = self.loops.pop().expect("a loop is open");
        self.line(&format!("{head} {{"));
        if frame.next.1 {
            // In braces of its own, so that nobody jumps over a declaration.
            self.indent += 1;
            self.line("{");
            self.out += &body;
            self.line("}");
            self.line(&format!("{}:;", frame.next.0));
            self.indent -= 1;
        } else {
            self.out += &body;
        }
        self.line("}");
        if frame.out.1 {
            self.line(&format!("{}:;", frame.out.0));
        }
    }

    /// What `emit` writes, apart.
    fn apart(&mut self, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<String> {
        let before = std::mem::take(&mut self.out);
        let result = emit(self);
        let written = std::mem::replace(&mut self.out, before);
        result.map(|()| written)
    }

    pub fn for_loop(&mut self, inst: Inst, data: &InstData, reversed: bool) -> Result<()> {
        let count = self.value(data.operands[0]);
        let count = if count.slots.is_empty()
            && !count.memory
            && count.level == cotangent_passes::precedence::PRIMARY
        {
            count.text
        } else {
            let name = self.names.fresh("count");
            let int = self.e.scalar(Scalar::I32);
            self.line(&format!("const {int} {name} = {};", count.text));
            name
        };
        self.enter(&data.operands[1..], &data.results);
        let body = data.regions[0];
        let counter = self.func.regions[body].args[0];
        let wish = self.func.values[counter].name;
        let name = self.names.fresh(wish.as_ref().map_or("i", |n| n.as_str()));
        self.values.insert(counter, crate::func::Val::Named(name.clone()));
        let votes = self.begin_rounds(inst);
        let text = self.apart(|e| e.branch_block(body, &data.results))?;
        let int = self.e.scalar(Scalar::I32);
        let (first, goes_on, step) = if reversed {
            let last = count.parse::<i64>().map_or_else(|_| format!("{count} - 1"), |n| (n - 1).to_string());
            (last, format!("{name} >= 0"), "--")
        } else {
            ("0".to_string(), format!("{name} < {count}"), "++")
        };
        let goes_on = if votes { self.part_text(&goes_on) } else { goes_on };
        let head = format!("for ({int} {name} = {first}; {goes_on}; {name}{step})");
        self.leave(&head, text);
        Ok(())
    }

    pub fn while_loop(&mut self, inst: Inst, data: &InstData) -> Result<()> {
        self.enter(&data.operands, &data.results);
        let (cond, body) = (data.regions[0], data.regions[1]);
        let votes = self.begin_rounds(inst);
        let round = self.lanes.clone();
        let mut condition = Expr::name(String::new());
        let before = self.apart(|e| {
            e.indent += 1;
            if e.votes.is_early(inst) {
                e.line(&format!("{round} = ct::stay({round});"));
            }
            e.region(cond)?;
            let exit = e.func.exit(cond).clone();
            condition = e.value(exit.operands[0]);
            e.indent -= 1;
            Ok(())
        })?;
        if votes {
            condition = self.part(condition);
        }
        let mut text = before;
        if !text.is_empty() {
            let indent = "    ".repeat(self.indent + 1);
            text += &format!("{indent}if (!{}) break;\n", condition.at_least(15));
            condition = Expr::name("true".to_string());
        }
        text += &self.apart(|e| e.branch_block(body, &data.results))?;
        self.leave(&format!("while ({})", condition.text), text);
        Ok(())
    }

    /// Leaves a region other than by `yield`, whose operands are written where the region was entered from.
    pub fn exit(&mut self, data: &InstData) {
        match data.op.control() {
            Control::Exit(Exit::Break(out)) => {
                let at = self.loops.len() - 1 - out as usize;
                let slots = self.loops[at].slots.clone();
                self.assign(&data.operands, &slots);
                let near = out == 0 && self.loops[at].switches == self.switches;
                if !near {
                    self.loops[at].out.1 = true;
                }
                let line =
                    if near { "break;".to_string() } else { format!("goto {};", self.loops[at].out.0) };
                self.line(&line);
            }
            Control::Exit(Exit::Continue(out)) => {
                let at = self.loops.len() - 1 - out as usize;
                let slots = self.loops[at].slots.clone();
                self.assign(&data.operands, &slots);
                if out > 0 {
                    self.loops[at].next.1 = true;
                }
                let line = if out == 0 {
                    "continue;".to_string()
                } else {
                    format!("goto {};", self.loops[at].next.0)
                };
                self.line(&line);
            }
            Control::Exit(Exit::Return) => self.give_back(&data.operands),
            Control::Plain
            | Control::Call(_)
            | Control::DiffCall(_)
            | Control::LinCall(_)
            | Control::If
            | Control::Switch(_)
            | Control::While(_)
            | Control::For(_)
            | Control::Exit(_) => {}
        }
    }

    fn give_back(&mut self, operands: &[Value]) {
        if let ([only], [None]) = (operands, &self.outputs[..])
            && !cotangent_passes::place::is_large(&self.e.module.types, self.func.ty(*only))
        {
            let value = self.value(*only);
            return self.line(&format!("return {};", value.text));
        }
        let mut moves = Vec::new();
        for (number, operand) in operands.iter().enumerate() {
            let Some(name) = self.outputs[number].clone() else { continue };
            let to = self.output_slots[number].map_or(Target::Output(name), Target::Slot);
            moves.push(Move { value: *operand, from: self.value(*operand), to });
        }
        self.at_once(moves);
        if self.region != self.func.body {
            self.line("return;");
        }
    }

    /// Writes values to the slots of others.
    fn assign(&mut self, from: &[Value], to: &[Value]) {
        let mut moves = Vec::new();
        for (value, to) in from.iter().zip(to) {
            let slot = self.places.slot(*to).expect("it has a slot");
            if matches!(self.func.op(*value), Some(Op::Undef)) && !self.is_variable(*value) {
                self.declare(slot);
            } else {
                moves.push(Move { value: *value, from: self.value(*value), to: Target::Slot(slot) });
            }
        }
        self.at_once(moves);
    }
}
