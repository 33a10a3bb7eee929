//! Emits branches, loops and exits, and assignments that happen at once.

use crate::Result;
use crate::expr::Expr;
use crate::func::{FuncEmitter, Var};
use cotangent_ir::{Const, Control, Dir, Exit, Inst, InstData, LoopInfo, Op, Region, Value};
use cotangent_passes::precedence::UNARY;

/// One of several assignments that happen at once.
pub(crate) struct Move {
    pub value: Value,
    pub from: Expr,
    pub to: Target,
}

/// What is assigned.
pub(crate) enum Target {
    Var(Var, String),
    /// An `out` parameter, which nobody reads.
    Out(String),
}

impl Target {
    fn var(&self) -> Option<Var> {
        match self {
            Target::Var(var, _) => Some(*var),
            Target::Out(_) => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Target::Var(_, name) | Target::Out(name) => name,
        }
    }
}

impl FuncEmitter<'_, '_> {
    /// Emits the instructions of a region.
    pub fn region(&mut self, region: Region) -> Result<()> {
        let outer = std::mem::replace(&mut self.region, region);
        for inst in self.func.regions[region].insts.clone() {
            self.inst(inst)?;
        }
        self.region = outer;
        Ok(())
    }

    /// Before regions begin: what reads anything that may change becomes a statement.
    fn settle(&mut self) -> Result<()> {
        self.flush(|expr| !expr.reads.is_empty())
    }

    /// A region in braces, whose `yield` gives the results of what is around it.
    fn block(&mut self, region: Region, results: &[Value]) -> Result<()> {
        self.plain_line("{");
        self.inside(region, results)?;
        self.plain_line("}");
        Ok(())
    }

    fn inside(&mut self, region: Region, results: &[Value]) -> Result<()> {
        self.indent += 1;
        self.region(region)?;
        let exit = self.func.exit(region).clone();
        if matches!(exit.op, Op::Yield) {
            let outer = std::mem::replace(&mut self.region, region);
            self.assign(&exit.operands, results)?;
            self.region = outer;
        }
        self.indent -= 1;
        Ok(())
    }

    /// Whether a region does nothing but yield what is in place already.
    fn does_nothing(&self, region: Region, results: &[Value]) -> bool {
        let [exit] = self.func.regions[region].insts[..] else { return false };
        let data = &self.func.insts[exit];
        let in_place = |(from, to): (&Value, &Value)| {
            let slot = self.places.slot(*from);
            slot.is_some() && slot == self.places.slot(*to)
        };
        matches!(data.op, Op::Yield) && data.operands.iter().zip(results).all(in_place)
    }

    pub fn branch(&mut self, data: &InstData) -> Result<()> {
        let condition = self.value(data.operands[0]);
        self.settle()?;
        let (then, other) = (data.regions[0], data.regions[1]);
        if self.does_nothing(then, &data.results) && !self.does_nothing(other, &data.results) {
            self.line(&format!("if (!{})", condition.at_least(UNARY)));
            return self.block(other, &data.results);
        }
        self.line(&format!("if ({})", condition.text));
        self.block(then, &data.results)?;
        if !self.does_nothing(other, &data.results) {
            self.plain_line("else");
            self.block(other, &data.results)?;
        }
        Ok(())
    }

    pub fn switch(&mut self, data: &InstData, cases: &[i64]) -> Result<()> {
        let selector = self.value(data.operands[0]);
        self.settle()?;
        let scalar = self.scalar(data.operands[0]);
        self.line(&format!("switch ({})", selector.text));
        self.plain_line("{");
        for (number, region) in data.regions.iter().enumerate() {
            let label = match cases.get(number) {
                Some(case) => format!("case {}:", self.literal(Const::Int(*case), scalar).text),
                None => "default:".to_string(),
            };
            self.plain_line(&label);
            self.block(*region, &data.results)?;
            self.plain_line("break;");
        }
        self.plain_line("}");
        Ok(())
    }

    /// Enters a loop: its slots get their first values.
    fn enter(&mut self, first: &[Value], results: &[Value]) -> Result<()> {
        self.assign(first, results)?;
        for result in results {
            let slot = self.places.slot(*result).expect("a loop's slot");
            self.declare(slot)?;
        }
        self.settle()
    }

    fn bound(&mut self, info: LoopInfo) {
        if let Some(most) = info.max_iters.filter(|most| *most > 0) {
            self.plain_line(&format!("[MaxIters({most})]"));
        }
    }

    pub fn for_loop(&mut self, data: &InstData, info: LoopInfo) -> Result<()> {
        let count = match self.func.op(data.operands[0]) {
            Some(Op::Const(_)) => self.value(data.operands[0]),
            _ => self.named(data.operands[0])?,
        };
        let count = match count.reads.is_empty() {
            true => count,
            false => self.name(data.operands[0], &count)?,
        };
        self.enter(&data.operands[1..], &data.results)?;
        let body = data.regions[0];
        let counter = self.func.regions[body].args[0];
        let wish = self.func.values[counter].name;
        let name = self.names.fresh(wish.as_ref().map_or("i", |n| n.as_str()));
        self.values.insert(counter, Expr::name(name.clone()));
        self.bound(info);
        let count = count.text;
        self.line(&match info.reversed {
            false => format!("for (int {name} = 0; {name} < {count}; {name}++)"),
            true => {
                let last =
                    count.parse::<i64>().map_or_else(|_| format!("{count} - 1"), |n| (n - 1).to_string());
                format!("for (int {name} = {last}; {name} >= 0; {name}--)")
            }
        });
        self.loops.push(data.results.to_vec());
        self.block(body, &data.results)?;
        self.loops.pop();
        Ok(())
    }

    pub fn while_loop(&mut self, data: &InstData, info: LoopInfo) -> Result<()> {
        self.enter(&data.operands, &data.results)?;
        self.bound(info);
        let (cond, body) = (data.regions[0], data.regions[1]);
        // The condition is written apart, to see whether it needs statements.
        let (before, shown) = (std::mem::take(&mut self.out), self.indent);
        self.indent += 1;
        self.region(cond)?;
        let outer = std::mem::replace(&mut self.region, cond);
        let exit = self.func.exit(cond).clone();
        let condition = self.value(exit.operands[0]);
        self.region = outer;
        self.indent = shown;
        let statements = std::mem::replace(&mut self.out, before);
        self.loops.push(data.results.to_vec());
        if statements.is_empty() {
            self.line(&format!("while ({})", condition.text));
            self.block(body, &data.results)?;
        } else {
            self.line("while (true)");
            self.plain_line("{");
            self.out += &statements;
            self.indent += 1;
            self.plain_line(&format!("if (!{}) break;", condition.at_least(UNARY)));
            self.indent -= 1;
            self.inside(body, &data.results)?;
            self.plain_line("}");
        }
        self.loops.pop();
        Ok(())
    }

    /// Leaves a region other than by `yield`, whose operands are written where the region was entered from.
    pub fn exit(&mut self, inst: Inst) -> Result<()> {
        let data = self.func.insts[inst].clone();
        match data.op.control() {
            Control::Exit(Exit::Break(0)) => {
                self.leave(&data.operands)?;
                self.line("break;");
            }
            Control::Exit(Exit::Continue(0)) => {
                self.leave(&data.operands)?;
                self.line("continue;");
            }
            Control::Exit(Exit::Break(_) | Exit::Continue(_)) => {
                return self.e.refuse(data.span, "an exit out of several loops is not supported");
            }
            Control::Exit(Exit::Return) => self.give_back(&data.operands)?,
            Control::Exit(Exit::Yield) | Control::Plain | Control::If | Control::Switch(_) => {}
            Control::For(_) | Control::While(_) | Control::Call(_) => {}
            Control::DiffCall(_) | Control::LinCall(_) => {}
        }
        Ok(())
    }

    fn leave(&mut self, operands: &[Value]) -> Result<()> {
        let slots = self.loops.last().cloned().unwrap_or_default();
        self.assign(operands, &slots)
    }

    fn give_back(&mut self, operands: &[Value]) -> Result<()> {
        let mut operands = operands.iter().copied();
        let returned = self.func.sig.ret.and_then(|_| operands.next());
        let mut moves = vec![];
        for (value, (number, name)) in operands.zip(self.outs.clone()) {
            let to = match self.func.sig.params[number].dir {
                Dir::InOut => {
                    let input = self.func.sig.params[..number].iter().filter(|p| p.dir != Dir::Out).count();
                    let input = self.func.inputs()[input];
                    let slot = self.places.slot(input).filter(|slot| self.slot_names[slot] == name);
                    Target::Var(slot.map_or(Var::Param(number), Var::Slot), name)
                }
                Dir::In | Dir::Out => Target::Out(name),
            };
            moves.push(Move { value, from: self.value(value), to });
        }
        let mut returned = returned.map(|value| (value, self.value(value)));
        if let Some((value, expr)) = &mut returned {
            let changes = |m: &Move| m.to.var().is_some_and(|var| expr.reads.contains(&var));
            if moves.iter().any(changes) {
                *expr = self.copy(*value, expr)?;
            }
        }
        self.at_once(moves)?;
        match returned {
            Some((_, expr)) => self.line(&format!("return {};", expr.text)),
            None if self.region != self.func.body => self.line("return;"),
            None => {}
        }
        Ok(())
    }

    /// Writes values to the slots of others.
    fn assign(&mut self, from: &[Value], to: &[Value]) -> Result<()> {
        let mut moves = vec![];
        for (value, to) in from.iter().zip(to) {
            let slot = self.places.slot(*to).expect("it has a slot");
            if matches!(self.func.op(*value), Some(Op::Undef)) && self.places.slot(*value).is_none() {
                self.declare(slot)?;
                continue;
            }
            let name = self.slot_names[&slot].clone();
            let from = self.value(*value);
            moves.push(Move { value: *value, from, to: Target::Var(Var::Slot(slot), name) });
        }
        self.at_once(moves)
    }

    /// Writes all targets as if every source were read first.
    fn at_once(&mut self, mut moves: Vec<Move>) -> Result<()> {
        moves.retain(|m| m.from.text != m.to.name());
        while !moves.is_empty() {
            let read_by_others = |at: usize, var: Option<Var>| {
                let reads =
                    |(n, m): (usize, &Move)| n != at && var.is_some_and(|var| m.from.reads.contains(&var));
                moves.iter().enumerate().any(reads)
            };
            let free = (0..moves.len()).find(|at| !read_by_others(*at, moves[*at].to.var()));
            let next = free.unwrap_or(0);
            let var = moves[next].to.var();
            for at in (0..moves.len()).filter(|at| *at != next) {
                if var.is_some_and(|var| moves[at].from.reads.contains(&var)) {
                    let (value, from) = (moves[at].value, moves[at].from.clone());
                    moves[at].from = self.copy(value, &from)?;
                }
            }
            let m = moves.remove(next);
            match m.to {
                Target::Var(Var::Slot(slot), _) => self.write_slot(slot, &m.from)?,
                Target::Var(Var::Param(_), name) | Target::Out(name) => {
                    self.line(&format!("{name} = {};", m.from.text));
                }
            }
        }
        Ok(())
    }

    /// Copies the present value of an expression to a new variable.
    pub fn copy(&mut self, value: Value, expr: &Expr) -> Result<Expr> {
        let name = self.name_for(value);
        let ty = self.ty(self.func.ty(value))?;
        self.line(&format!("{ty} {name} = {};", expr.text));
        Ok(Expr::name(name))
    }
}
