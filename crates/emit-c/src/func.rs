//! Emits one function: its signature, its variables and its body.
//!
//! Instructions are emitted in order. The text of a pure instruction with a single use, later in the same region, is deferred
//! and inserted at that use. If a variable or memory that the text reads is written first, the text becomes a statement
//! before the write ([`FuncEmitter::write_slot`], [`FuncEmitter::write_memory`]). Every other instruction becomes a named
//! variable.

mod signature;

use crate::expr::Expr;
use crate::lanes::Votes;
use crate::names::Names;
use crate::wave::Open;
use crate::{Emitter, Language, Result, lines};
use cotangent_base::{EntityMap, Map, Set, Span};
use cotangent_ir::layout::layout;
use cotangent_ir::{Func, FuncId, Inst, Op, Region, Value, ValueDef};
use cotangent_passes::bounds::Bounds;
use cotangent_passes::place::{Places, Slot};
use std::ops::Range;

/// An expression of this length gets a name.
const LONG: usize = 90;

/// Variables of more bytes than this are not on the stack of the host.
const LARGE: u32 = 16 << 10;

/// So many expressions of a region are kept back at a time.
const MOST_PENDING: usize = 64;

/// Where a value is.
#[derive(Clone)]
pub(crate) enum Val {
    /// In an expression that may be written wherever it is needed.
    Free(Expr),
    /// In an expression that is kept back for its one use.
    Pending(Expr),
    /// In a variable that nobody changes.
    Named(String),
    /// A `static` or group-shared variable.
    Variable(String),
}

/// A loop around what is emitted.
pub(crate) struct LoopFrame {
    pub slots: Vec<Value>,
    /// Where `break` from further inside goes, and whether something goes there.
    pub out: (String, bool),
    /// Where `continue` from further inside goes, and whether something goes there.
    pub next: (String, bool),
    /// How many `switch` statements are around the loop.
    pub switches: usize,
}

/// The function under construction.
pub(crate) struct FuncEmitter<'e, 'm> {
    pub e: &'e Emitter<'m>,
    pub func: &'m Func,
    pub places: &'e Places,
    pub names: Names,
    pub values: Map<Value, Val>,
    /// What is kept back, in order.
    pub pending: Vec<Value>,
    pub slot_names: EntityMap<Slot, String>,
    pub declared: Set<Slot>,
    /// Before which instruction a slot must be declared.
    pub homes: Map<Inst, Vec<Slot>>,
    /// The region of a value's only use.
    pub single: Map<Value, Region>,
    pub used: Set<Value>,
    /// Between which numbers integers lie.
    pub bounds: Bounds,
    /// The region that each instruction is in, with its position, and the instruction that each region belongs to.
    around: Map<Inst, (Region, usize)>,
    owners: Map<Region, Inst>,
    pub loops: Vec<LoopFrame>,
    pub switches: usize,
    /// The number of the last barrier. It tells barriers apart in all of the program.
    pub barriers: u32,
    /// Where lanes of a wave vote, and the name of those that are together here.
    pub votes: Votes,
    /// The atomic additions for which lanes add up before.
    pub together: Set<Inst>,
    pub lanes: String,
    /// The branches and loops around what is emitted.
    pub open: Vec<Open>,
    /// The outputs, and which are references.
    pub outputs: Vec<Option<String>>,
    /// Per output, the slot that is stored in the output itself.
    pub output_slots: Vec<Option<Slot>>,
    pub region: Region,
    pub span: Span,
    pub out: String,
    pub indent: usize,
    /// Whether the next line goes on after `else`.
    pub after_else: bool,
    /// Where the last `if` is in what was written.
    pub last_if: Range<usize>,
    /// The last place in the source that is known, if lines are told.
    place: Option<(String, u32)>,
}

impl<'m> Emitter<'m> {
    /// Emits a function.
    pub fn function(&mut self, id: FuncId) -> Result<()> {
        let signature = self.signature(id);
        let func = &self.module.funcs[id];
        let places = &self.places[&id];
        let mut emitter = FuncEmitter {
            e: self,
            func,
            places,
            names: signature.names,
            values: Map::default(),
            pending: vec![],
            slot_names: EntityMap::new(),
            declared: Set::default(),
            homes: Map::default(),
            single: Map::default(),
            used: Set::default(),
            bounds: Bounds::of(func),
            around: Map::default(),
            owners: Map::default(),
            loops: vec![],
            switches: 0,
            barriers: self.barriers,
            votes: Votes::of(self, id),
            together: self.together.get(&id).cloned().unwrap_or_default(),
            lanes: "lanes".to_string(),
            open: vec![],
            outputs: signature.outputs,
            output_slots: vec![],
            region: func.body,
            span: func.span,
            out: String::new(),
            indent: 1,
            after_else: false,
            last_if: 0..0,
            place: None,
        };
        emitter.prepare(&signature.inputs);
        emitter.count_calls(id);
        emitter.region(func.body)?;
        let (body, barriers) = (lines::without_idle(&emitter.out), emitter.barriers);
        self.barriers = barriers;
        self.out += &format!("\n{} {} {{\n{body}}}\n", self.options.language.function(), signature.text);
        Ok(())
    }
}

impl FuncEmitter<'_, '_> {
    /// Begins a recursive function with a check of the call depth. CUDA needs none: the hardware detects a full stack.
    fn count_calls(&mut self, id: FuncId) {
        if self.e.options.language == Language::Cpp && self.e.recursive.contains(id) {
            let (name, line) = (self.names.fresh("call"), self.line_number());
            self.line(&format!("const ct::Call {name}({line});"));
        }
    }

    /// Names the slots, and finds out where each must be declared and what is used once.
    fn prepare(&mut self, inputs: &[String]) {
        self.name_slots(inputs);
        let mut counts: Map<Value, u32> = Map::default();
        self.count(self.func.body, &mut counts);
        self.single.retain(|value, _| counts[value] == 1);
        self.used = counts.into_keys().collect();
        for slot in self.places.all() {
            if !self.declared.contains(&slot) {
                let home = self.home(slot);
                self.homes.entry(home).or_default().push(slot);
            }
        }
    }

    fn name_slots(&mut self, inputs: &[String]) {
        for (value, name) in self.func.inputs().iter().zip(inputs) {
            self.values.insert(*value, Val::Named(name.clone()));
        }
        let returned = self.returned();
        let mut given: Map<Slot, usize> = Map::default();
        for (number, value) in self.func.inputs().iter().enumerate() {
            self.places.slot(*value).into_iter().for_each(|slot| _ = given.entry(slot).or_insert(number));
        }
        for slot in self.places.all() {
            let members = self.places.members(slot);
            let input = given.get(&slot).copied();
            let output = returned.iter().position(|r| *r == Some(slot));
            let name = match (input, output) {
                (Some(input), _) => inputs[input].clone(),
                (None, Some(output)) => self.outputs[output].clone().expect("it is a reference"),
                (None, None) => {
                    let wish = members.iter().find_map(|v| self.func.values[*v].name);
                    self.names.fresh(wish.as_ref().map_or("t", |n| n.as_str()))
                }
            };
            self.slot_names.push(name);
            if input.is_some() || output.is_some() {
                self.declared.insert(slot);
            }
        }
        self.output_slots = returned;
    }

    /// For each output that is a reference of its own, the slot that can be that reference from the start.
    fn returned(&self) -> Vec<Option<Slot>> {
        let mut taken = Vec::new();
        let last = self.func.exit(self.func.body);
        let is_return = matches!(last.op, Op::Return);
        let mut slots = Vec::new();
        for (number, output) in self.outputs.iter().enumerate() {
            let slot = match output {
                Some(_) if is_return => self.places.slot(last.operands[number]),
                _ => None,
            };
            let input = |slot: Slot| self.func.inputs().iter().any(|v| self.places.slot(*v) == Some(slot));
            let slot = slot.filter(|slot| !taken.contains(slot) && !input(*slot));
            taken.extend(slot);
            slots.push(slot);
        }
        slots
    }

    fn count(&mut self, region: Region, counts: &mut Map<Value, u32>) {
        for (position, inst) in self.func.regions[region].insts.iter().enumerate() {
            let data = &self.func.insts[*inst];
            self.around.insert(*inst, (region, position));
            for operand in &data.operands {
                *counts.entry(*operand).or_default() += 1;
                self.single.insert(*operand, region);
            }
            for inner in &data.regions {
                self.owners.insert(*inner, *inst);
                self.count(*inner, counts);
            }
        }
    }

    /// The instruction before which a slot is declared: the first, in the innermost region around all of its members,
    /// that makes one of them or contains one that does.
    fn home(&self, slot: Slot) -> Inst {
        let mut members = self.places.members(slot).iter().filter_map(|value| self.maker(*value));
        let mut home = members.next().expect("a slot has a member");
        for inst in members {
            home = self.first_of(home, inst);
        }
        home
    }

    /// The instruction that makes a value: as its result, or as an argument of one of its regions.
    fn maker(&self, value: Value) -> Option<Inst> {
        match self.func.values[value].def {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Arg(region, _) => self.owners.get(&region).copied(),
        }
    }

    /// How many regions are around an instruction.
    fn depth(&self, inst: Inst) -> usize {
        std::iter::successors(Some(inst), |i| self.owners.get(&self.around[i].0).copied()).count()
    }

    /// Of two instructions, or what is around them in the innermost region around both, the first.
    fn first_of(&self, mut a: Inst, mut b: Inst) -> Inst {
        let out = |inst: Inst| self.owners[&self.around[&inst].0];
        let (mut a_depth, mut b_depth) = (self.depth(a), self.depth(b));
        while self.around[&a].0 != self.around[&b].0 {
            if a_depth >= b_depth {
                (a, a_depth) = (out(a), a_depth - 1);
            } else {
                (b, b_depth) = (out(b), b_depth - 1);
            }
        }
        if self.around[&a].1 <= self.around[&b].1 { a } else { b }
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        // The end of a block does nothing.
        if self.e.options.lines && !text.starts_with('}') {
            // What comes from the library is at the line that asked for it.
            self.place = (self.e.options.place)(self.span).or(self.place.take());
            if let Some((file, line)) = &self.place {
                self.out += &lines::directive(file, *line);
            }
        }
        let indent = if std::mem::take(&mut self.after_else) { 0 } else { self.indent };
        self.out += &format!("{}{text}\n", "    ".repeat(indent));
    }

    /// What `write` writes, at the place in the source where a value is computed: that may have been kept back until now.
    pub fn where_made(&mut self, value: Value, write: impl FnOnce(&mut Self)) {
        let here = self.span;
        if let Some(made) = self.func.def(value) {
            self.span = made.span;
        }
        write(self);
        self.span = here;
    }

    /// The expression of a value, and the end of its being kept back.
    pub fn value(&mut self, value: Value) -> Expr {
        if let Some(slot) = self.places.slot(value) {
            return Expr::slot(self.slot_names[slot].clone(), slot);
        }
        match self.values.get(&value).cloned() {
            Some(Val::Free(expr)) => expr,
            Some(Val::Pending(expr)) => {
                self.pending.retain(|v| *v != value);
                expr
            }
            Some(Val::Named(name)) => Expr::name(name),
            Some(Val::Variable(name)) => Expr::name(format!("ct::point({name})")),
            None => Expr::name("/* not made */".to_string()),
        }
    }

    /// A value was computed: keeps it back, or gives it a name.
    pub fn made(&mut self, value: Value, expr: Expr) {
        if let Some(slot) = self.places.slot(value) {
            return self.write_slot(slot, &expr);
        }
        if !self.used.contains(&value) {
            if expr.effect {
                self.line(&format!("{};", expr.text));
            }
            return;
        }
        let here = self.single.get(&value) == Some(&self.region);
        if here && !expr.effect && expr.text.len() < LONG {
            self.values.insert(value, Val::Pending(expr));
            self.pending.push(value);
            self.settle_first();
            return;
        }
        self.name(value, &expr);
    }

    /// Gives a value a variable of its own.
    pub fn name(&mut self, value: Value, expr: &Expr) {
        let wish = self.func.values[value].name;
        let name = self.names.fresh(wish.as_ref().map_or("t", |n| n.as_str()));
        let ty = self.e.constant(self.func.ty(value));
        self.where_made(value, |e| e.line(&format!("{ty} {name} = {};", expr.text)));
        self.values.insert(value, Val::Named(name));
    }

    /// Makes a statement of what this region has kept back longest, if that is too much. What regions around it keep back is
    /// used after it, where a name from in here is not known.
    fn settle_first(&mut self) {
        let is_own = |value: &Value| self.single.get(value) == Some(&self.region);
        let mut own = self.pending.iter().copied().filter(is_own);
        let (first, rest) = (own.next(), own.count());
        if let Some(first) = first
            && rest >= MOST_PENDING
            && let Some(Val::Pending(expr)) = self.values.get(&first).cloned()
        {
            self.pending.retain(|value| *value != first);
            self.name(first, &expr);
        }
    }

    /// Makes statements of what is kept back and meets `is_due`.
    pub fn flush(&mut self, is_due: impl Fn(&Expr) -> bool) {
        for value in self.pending.clone() {
            if let Some(Val::Pending(expr)) = self.values.get(&value).cloned()
                && is_due(&expr)
            {
                self.pending.retain(|v| *v != value);
                self.name(value, &expr);
            }
        }
    }

    /// Before something is written to a slot: what reads it becomes a statement.
    pub fn before_write(&mut self, slot: Slot) {
        self.flush(|expr| expr.slots.contains(&slot));
    }

    /// Writes a whole slot.
    pub fn write_slot(&mut self, slot: Slot, expr: &Expr) {
        let name = self.slot_names[slot].clone();
        if expr.text == name {
            return;
        }
        self.before_write(slot);
        if self.declared.insert(slot) {
            let ty = self.e.ty(self.func.ty(self.places.members(slot)[0]));
            self.line(&format!("{ty} {name} = {};", expr.text));
        } else {
            self.line(&format!("{name} = {};", expr.text));
        }
    }

    /// Declares a slot without a value, unless it is declared already. On the host, large slots are not on the stack.
    pub fn declare(&mut self, slot: Slot) {
        if !self.declared.insert(slot) {
            return;
        }
        let ty = self.func.ty(self.places.members(slot)[0]);
        let size = layout(&self.e.module.types, ty).map_or(0, |layout| layout.size);
        let (ty, name) = (self.e.ty(ty), self.slot_names[slot].clone());
        if size > LARGE && self.e.options.language == Language::Cpp {
            let room = self.names.fresh("room");
            self.line(&format!("ct::Room<{ty}> {room};"));
            self.line(&format!("{ty}& {name} = *{room};"));
        } else {
            self.line(&format!("{ty} {name};"));
        }
    }

    /// Before memory is written: what reads it becomes a statement.
    pub fn write_memory(&mut self) {
        self.flush(|expr| expr.memory);
    }

    /// The line of the source, for the message of a trap; 0 if it is not in the file that is compiled.
    pub fn line_number(&self) -> u32 {
        let (file, line) = (self.e.options.place)(self.span).unwrap_or_default();
        if file == self.e.options.file { line } else { 0 }
    }
}
