//! Emits one function: its signature, its variables and its body.
//!
//! The text of an instruction without effect that has a single use, later in the same region, is kept back and stands at that use.
//! If a variable that it reads is written first, it becomes a statement before. Every other instruction becomes a variable.

use crate::expr::Expr;
use crate::names::Names;
use crate::{Emitter, Result};
use cotangent_base::{Map, Set, Span};
use cotangent_ir::{Dir, Func, FuncId, Inst, Op, Path, Region, Step, Ty, Type, Value, ValueDef, op_group};
use cotangent_passes::place::{Places, Slot};

/// An expression of this length gets a name.
const LONG: usize = 80;

/// A variable that may change: that of a slot, or an `inout` parameter that is written at the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Var {
    Slot(Slot),
    Param(usize),
}

/// The function under construction.
pub(crate) struct FuncEmitter<'e, 'm> {
    pub e: &'e Emitter<'m>,
    pub func: &'e Func,
    pub places: Places,
    pub names: Names,
    pub slot_names: Map<Slot, String>,
    declared: Set<Slot>,
    /// Before which instruction a slot is declared.
    homes: Map<Inst, Vec<Slot>>,
    pub values: Map<Value, Expr>,
    /// What is kept back, in order.
    pending: Vec<Value>,
    uses: Map<Value, usize>,
    /// The region of a value's last use.
    used_in: Map<Value, Region>,
    /// The region that each instruction is in, with its position, and the instruction that each region belongs to.
    around: Map<Inst, (Region, usize)>,
    owners: Map<Region, Inst>,
    /// The results of the loops around, innermost last.
    pub loops: Vec<Vec<Value>>,
    pub region: Region,
    pub span: Span,
    /// The line of the source that was shown last.
    shown: Option<(String, u32)>,
    /// The line that the function begins on, which is not shown.
    head: Option<(String, u32)>,
    pub out: String,
    pub indent: usize,
    /// The `out` and `inout` parameters, in order, with their numbers.
    pub outs: Vec<(usize, String)>,
}

impl Emitter<'_> {
    /// Writes a function.
    pub fn function(&mut self, id: FuncId) -> Result<()> {
        let text = self.function_text(id)?;
        self.out += &text;
        Ok(())
    }

    fn function_text(&self, id: FuncId) -> Result<String> {
        let func = &self.module.funcs[id];
        let mut names = self.names.clone();
        let mut params = vec![];
        let mut outs = vec![];
        let mut inputs = vec![];
        for (number, param) in func.sig.params.iter().enumerate() {
            let name = names.fresh(param.name.as_str());
            let dir = match param.dir {
                Dir::In => "",
                Dir::Out => "out ",
                Dir::InOut => "inout ",
            };
            params.push(format!("{dir}{} {name}", self.ty(param.ty, func.span)?));
            if param.dir != Dir::In {
                outs.push((number, name.clone()));
            }
            if param.dir != Dir::Out {
                let var = (param.dir == Dir::InOut).then_some(Var::Param(number));
                inputs.push(Expr { reads: var.into_iter().collect(), ..Expr::name(name) });
            }
        }
        let ret = func.sig.ret.map_or(Ok("void".to_string()), |ret| self.ty(ret.ty, func.span))?;
        let head = format!("{ret} {}({})", self.funcs[&id], params.join(", "));
        let mut emitter = FuncEmitter {
            e: self,
            func,
            places: Places::of(self.module, func, &Map::default()),
            names,
            slot_names: Map::default(),
            declared: Set::default(),
            homes: Map::default(),
            values: Map::default(),
            pending: vec![],
            uses: Map::default(),
            used_in: Map::default(),
            around: Map::default(),
            owners: Map::default(),
            loops: vec![],
            region: func.body,
            span: func.span,
            // The head of the function needs no line of its own.
            shown: (self.lines)(func.span).map(|(file, line, _)| (file, line)),
            head: (self.lines)(func.span).map(|(file, line, _)| (file, line)),
            out: String::new(),
            indent: 1,
            outs,
        };
        emitter.prepare(&inputs)?;
        emitter.region(func.body)?;
        let body = emitter.out;
        let from =
            (self.lines)(func.span).map_or_else(String::new, |(file, line, _)| format!(" ({file}:{line})"));
        let of = func.plain_name();
        Ok(format!("// {}{from}\n{head}\n{{\n{body}}}\n\n", describe(func.name.as_str(), of.as_str())))
    }
}

/// What a function is, in words.
fn describe(name: &str, of: &str) -> String {
    if name.starts_with("bwd_diff(") || name.starts_with("fwd_diff(") {
        format!("`{name}`")
    } else if name.contains(".primal") {
        format!("`{of}`, storing what the backward pass needs")
    } else if name.contains(".fwd") {
        format!("`{}` and its derivative", of.trim_end_matches(".fwd"))
    } else if name.contains(".bwd") {
        format!("the backward pass of `{}`", of.trim_end_matches(".bwd"))
    } else {
        format!("`{of}`")
    }
}

impl FuncEmitter<'_, '_> {
    /// Names the slots, and finds where each is declared and what is used how often.
    fn prepare(&mut self, inputs: &[Expr]) -> Result<()> {
        self.count(self.func.body);
        for (value, expr) in self.func.inputs().iter().zip(inputs) {
            match self.places.slot(*value) {
                Some(slot) if !self.slot_names.contains_key(&slot) => {
                    self.slot_names.insert(slot, expr.text.clone());
                    self.declared.insert(slot);
                }
                // Inputs that live in one variable: none but the first can, since all arrive at once.
                Some(_) | None => _ = self.values.insert(*value, expr.clone()),
            }
        }
        for slot in self.places.all().collect::<Vec<_>>() {
            if self.slot_names.contains_key(&slot) {
                continue;
            }
            let members = self.places.members(slot);
            let wish = members.iter().find_map(|v| self.func.values[*v].name.map(|name| name.to_string()));
            let wish = wish.or_else(|| members.iter().find_map(|v| self.descriptive(*v)));
            let name = self.names.fresh(wish.as_deref().unwrap_or("t"));
            self.slot_names.insert(slot, name);
            let home = self.home(slot);
            self.homes.entry(home).or_default().push(slot);
        }
        Ok(())
    }

    fn count(&mut self, region: Region) {
        for (position, inst) in self.func.regions[region].insts.iter().enumerate() {
            let data = &self.func.insts[*inst];
            self.around.insert(*inst, (region, position));
            for operand in &data.operands {
                *self.uses.entry(*operand).or_default() += 1;
                self.used_in.insert(*operand, region);
            }
            for inner in &data.regions {
                self.owners.insert(*inner, *inst);
                self.count(*inner);
            }
        }
    }

    /// The instructions around one, outermost first, and itself.
    fn chain(&self, inst: Inst) -> Vec<Inst> {
        let out = |inst: &Inst| self.owners.get(&self.around[inst].0).copied();
        let mut chain: Vec<Inst> = std::iter::successors(Some(inst), out).collect();
        chain.reverse();
        chain
    }

    /// The first instruction, in the innermost region around all members of a slot, that makes one of them or contains one that
    /// does.
    fn home(&self, slot: Slot) -> Inst {
        let maker = |value: &Value| match self.func.values[*value].def {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Arg(region, _) => self.owners.get(&region).copied(),
        };
        let chains: Vec<Vec<Inst>> =
            self.places.members(slot).iter().filter_map(maker).map(|inst| self.chain(inst)).collect();
        let mut depth = 0;
        while chains.iter().all(|c| c.get(depth + 1).is_some() && c[depth] == chains[0][depth]) {
            depth += 1;
        }
        let at_depth = chains.iter().map(|chain| chain[depth]);
        at_depth.min_by_key(|inst| self.around[inst].1).expect("a slot has a member")
    }

    /// Declares the slots that are declared before this instruction, except those in `own`.
    pub fn declare_home(&mut self, inst: Inst, own: &[Slot]) -> Result<()> {
        for slot in self.homes.get(&inst).cloned().unwrap_or_default() {
            if !own.contains(&slot) {
                self.declare(slot)?;
            }
        }
        Ok(())
    }

    /// Declares a slot, unless it has been.
    pub fn declare(&mut self, slot: Slot) -> Result<()> {
        if self.declared.insert(slot) {
            let ty = self.ty(self.func.ty(self.places.members(slot)[0]))?;
            let line = format!("{ty} {};", self.slot_names[&slot]);
            self.line(&line);
        }
        Ok(())
    }

    /// What a value without a name could be called: what it is a part of or a result of.
    fn descriptive(&self, value: Value) -> Option<String> {
        let ValueDef::Result(inst, number) = self.func.values[value].def else { return None };
        let data = &self.func.insts[inst];
        match &data.op {
            Op::Call(callee) => {
                let sig = &self.e.module.funcs[*callee].sig;
                let outs = sig.params.iter().filter(|p| p.dir != Dir::In).map(|p| Some(p.name.to_string()));
                sig.ret.map(|_| None).into_iter().chain(outs).nth(number as usize)?
            }
            Op::Extract(path) => {
                let types = &self.e.module.types;
                let (last, before) = path.0.split_last()?;
                let around = types.part_at(self.func.ty(data.operands[0]), &Path(before.into()))?;
                match (types.get(around), last) {
                    (Type::Struct(id), Step::Part(number)) => {
                        Some(types.struct_def(id).fields[*number as usize].name.to_string())
                    }
                    _ => None,
                }
            }
            Op::DiffCall(_) | Op::LinCall(_) | op_group!(plain | control | exit) => None,
        }
    }

    /// A new name for a variable that holds a value.
    pub fn name_for(&mut self, value: Value) -> String {
        let wish = self.func.values[value].name.map(|name| name.to_string());
        let wish = wish.or_else(|| self.descriptive(value));
        self.names.fresh(wish.as_deref().unwrap_or("t"))
    }

    pub fn ty(&self, ty: Ty) -> Result<String> {
        self.e.ty(ty, self.span)
    }

    pub fn is_declared(&self, slot: Slot) -> bool {
        self.declared.contains(&slot)
    }

    pub fn uses(&self, value: Value) -> usize {
        self.uses.get(&value).copied().unwrap_or(0)
    }

    /// Adds a line, and before it the line of the source that it stands for.
    pub fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.indent);
        if let Some((file, number, source)) = (self.e.lines)(self.span)
            && self.shown.as_ref() != Some(&(file.clone(), number))
            && self.head.as_ref() != Some(&(file.clone(), number))
            && !source.trim().is_empty()
        {
            self.out += &format!("{indent}// {number}: {}\n", source.trim());
            self.shown = Some((file, number));
        }
        self.plain_line(text);
    }

    /// Adds a line that needs no explanation.
    pub fn plain_line(&mut self, text: &str) {
        self.out += &format!("{}{text}\n", "    ".repeat(self.indent));
    }

    /// The expression of a value, which is no longer pending.
    pub fn value(&mut self, value: Value) -> Expr {
        if let Some(expr) = self.values.get(&value) {
            self.pending.retain(|v| *v != value);
            return expr.clone();
        }
        match self.places.slot(value) {
            Some(slot) => self.variable(slot),
            None => Expr::name("/* nothing */".to_string()),
        }
    }

    pub fn variable(&self, slot: Slot) -> Expr {
        Expr { reads: vec![Var::Slot(slot)], ..Expr::name(self.slot_names[&slot].clone()) }
    }

    /// The same with a name, so that it can stand in several places.
    pub fn named(&mut self, value: Value) -> Result<Expr> {
        let expr = self.value(value);
        if expr.is_name() { Ok(expr) } else { self.name(value, &expr) }
    }

    /// A value without effect was computed: keeps it back, or gives it a name.
    pub fn made(&mut self, value: Value, expr: Expr) -> Result<()> {
        if let Some(slot) = self.places.slot(value) {
            return self.write_slot(slot, &expr);
        }
        let used_here = self.used_in.get(&value) == Some(&self.region);
        match self.uses(value) {
            0 => {}
            1 if used_here && expr.text.len() < LONG && self.func.values[value].name.is_none() => {
                self.values.insert(value, expr);
                self.pending.push(value);
            }
            _ => _ = self.name(value, &expr)?,
        }
        Ok(())
    }

    /// Gives a value a variable of its own.
    pub fn name(&mut self, value: Value, expr: &Expr) -> Result<Expr> {
        let name = self.name_for(value);
        let ty = self.ty(self.func.ty(value))?;
        self.line(&format!("{ty} {name} = {};", expr.text));
        self.pending.retain(|v| *v != value);
        self.values.insert(value, Expr::name(name.clone()));
        Ok(Expr::name(name))
    }

    /// Makes statements of what is kept back and meets `is_due`.
    pub fn flush(&mut self, is_due: impl Fn(&Expr) -> bool) -> Result<()> {
        for value in self.pending.clone() {
            let expr = self.values[&value].clone();
            if is_due(&expr) {
                self.name(value, &expr)?;
            }
        }
        Ok(())
    }

    /// Before a variable is written: what reads it becomes a statement.
    pub fn before_write(&mut self, slot: Slot) -> Result<()> {
        self.flush(|expr| expr.reads.contains(&Var::Slot(slot)))
    }

    /// Writes a whole slot.
    pub fn write_slot(&mut self, slot: Slot, expr: &Expr) -> Result<()> {
        let name = self.slot_names[&slot].clone();
        if expr.text == name {
            return Ok(());
        }
        self.before_write(slot)?;
        if self.declared.insert(slot) {
            let ty = self.ty(self.func.ty(self.places.members(slot)[0]))?;
            self.line(&format!("{ty} {name} = {};", expr.text));
        } else {
            self.line(&format!("{name} = {};", expr.text));
        }
        Ok(())
    }
}
