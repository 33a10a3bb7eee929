//! Functions in the form in which they run: a list of codes, with jumps in place of regions.
//!
//! Every value has a slot in the frame of its function. An exit moves the values it carries into the slots where its
//! target expects them, all at once, and jumps; so `break`, `continue` and `yield` are one code, and no exit needs
//! to unwind anything.
//!
//! The state of a loop lives in the slots of its results:
//! ```text
//!         results <- init                            results <- init, rounds <- n, round <- 0
//! head:   condition's args <- copies of results      head: if round == rounds goto end
//!         ..condition..                                    k <- round, or rounds - 1 - round
//!         unless yielded goto end                          body's args <- results
//!         body's args <- results                           ..body..
//!         ..body..                                         results <- yielded
//!         results <- yielded, goto head                    round <- round + 1, goto head
//! end:                                               end:
//! ```

use crate::lifetimes::Lifetimes;
use crate::take_part::moves_out;
use cotangent_base::{EntityMap, Scalar, Span};
use cotangent_ir::eval::Eval;
use cotangent_ir::{
    Const, Control, Exit, Func, FuncId, Inst, InstData, Math, Module, Op, Path, Region, Step, Type, Value,
};

/// A place in a frame.
pub(crate) type Slot = u32;

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    pub(crate) slot: Slot,
    /// Whether this is the last use, so that the slot is left empty.
    pub(crate) take: bool,
}

/// One level of a path into an aggregate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) step: Step,
    /// How many parts there are, unless only the buffer knows.
    pub(crate) arity: Option<u32>,
    /// Whether they are elements of an array, which are counted when copied.
    pub(crate) array: bool,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Code {
    /// Arithmetic on scalars: a short way for the most frequent instructions.
    Scalar { op: Math, scalar: Scalar, args: Box<[Arg]>, result: Option<Slot> },
    /// Any other instruction without regions.
    Run { inst: Inst, args: Box<[Arg]>, levels: Box<[Level]>, result: Option<Slot> },
    /// An extract that leaves a hole behind.
    TakePart { from: Slot, indices: Box<[Arg]>, levels: Box<[Level]>, result: Slot },
    /// Reads all of `from`, then writes all of `to`, then jumps. A target may be absent.
    Move { from: Box<[Arg]>, to: Box<[Option<Slot>]>, clear: Box<[Slot]>, goto: usize },
    /// Goes on if the condition holds and jumps otherwise.
    Branch { cond: Arg, otherwise: usize },
    /// Jumps to the target of the selector's case, the last one if there is none.
    Switch { selector: Arg, cases: Box<[Const]>, targets: Box<[usize]> },
    /// Begins a counted loop.
    Count { n: Arg, rounds: Slot, round: Slot },
    /// Begins the next round of a counted loop, or leaves it.
    Round { rounds: Slot, round: Slot, counter: Option<Slot>, reversed: bool, done: usize },
    /// Ends a round.
    Next { round: Slot, goto: usize },
    /// Empties slots.
    Drop { slots: Box<[Slot]> },
    /// Runs a function.
    Call { func: FuncId, args: Box<[Arg]>, results: Box<[Option<Slot>]> },
    /// Begins a loop whose rounds are counted for waves only.
    Start { round: Slot },
    /// Meets the other threads of the wave.
    Wave { inst: Inst, args: Box<[Arg]>, result: Option<Slot> },
    /// Waits for the other threads of the group.
    Wait,
    /// Leaves the function.
    Return { args: Box<[Arg]> },
}

/// A function ready to run.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) codes: Vec<Code>,
    /// The source of each code.
    pub(crate) spans: Vec<Span>,
    /// Where the inputs go; nowhere if they are not used.
    pub(crate) inputs: Vec<Option<Slot>>,
    /// The size of a frame.
    pub(crate) slots: usize,
    /// Its loops, each behind those around it. Without waves nobody asks for those without a count.
    pub(crate) loops: Vec<Rounds>,
}

/// Where the codes of a loop begin and end, and which slot counts its rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) round: Slot,
}

/// A loop around the code being decoded.
struct Loop {
    /// Where exits put what they carry.
    state: Vec<Option<Slot>>,
    /// Where the next round begins: the head, or the end of a counted round.
    next: Label,
    end: Label,
    /// How many values were in scope when the body began.
    scope: usize,
}

/// A place to jump to, known later.
#[derive(Clone, Copy)]
struct Label(usize);

/// Decodes a function. With `waves`, the rounds of all loops are counted.
///
/// # Panics
/// If the function is not one that can run: a derivative not written yet, or one half way through the autodiff
/// passes. Those are faults of the compiler.
pub(crate) fn decode(module: &Module, func: &Func, waves: bool) -> Decoded {
    assert!(
        !func.regions[func.body].insts.is_empty(),
        "internal error: @{} has no body yet and cannot run",
        func.name
    );
    let lifetimes = Lifetimes::of(func);
    let mut decoder = Decoder {
        module,
        func,
        lifetimes,
        slots: EntityMap::filled(None, func.values.len()),
        next_slot: 0,
        codes: Vec::new(),
        spans: Vec::new(),
        labels: Vec::new(),
        loops: Vec::new(),
        scope: Vec::new(),
        span: func.span,
        waves,
        rounds: Vec::new(),
    };
    let inputs = decoder.define(func.inputs());
    decoder.region(func.body, None);
    decoder.finish(inputs)
}

struct Decoder<'a> {
    module: &'a Module,
    func: &'a Func,
    lifetimes: Lifetimes,
    slots: EntityMap<Value, Option<Slot>>,
    next_slot: Slot,
    codes: Vec<Code>,
    spans: Vec<Span>,
    /// Where each label is.
    labels: Vec<usize>,
    loops: Vec<Loop>,
    /// The values with storage of their own that are in scope.
    scope: Vec<Slot>,
    span: Span,
    waves: bool,
    rounds: Vec<Rounds>,
}

/// Where a `yield` goes.
#[derive(Clone)]
struct Target {
    to: Vec<Option<Slot>>,
    label: Label,
}

impl Decoder<'_> {
    fn finish(mut self, inputs: Vec<Option<Slot>>) -> Decoded {
        for code in &mut self.codes {
            match code {
                Code::Move { goto, .. } | Code::Next { goto, .. } => *goto = self.labels[*goto],
                Code::Branch { otherwise, .. } => *otherwise = self.labels[*otherwise],
                Code::Round { done, .. } => *done = self.labels[*done],
                Code::Switch { targets, .. } => targets.iter_mut().for_each(|t| *t = self.labels[*t]),
                Code::Scalar { .. }
                | Code::Run { .. }
                | Code::TakePart { .. }
                | Code::Count { .. }
                | Code::Start { .. }
                | Code::Wave { .. }
                | Code::Drop { .. } => {}
                Code::Call { .. } | Code::Wait | Code::Return { .. } => {}
            }
        }
        Decoded {
            codes: self.codes,
            spans: self.spans,
            inputs,
            slots: self.next_slot as usize,
            loops: self.rounds,
        }
    }

    fn emit(&mut self, code: Code) {
        self.codes.push(code);
        self.spans.push(self.span);
    }

    fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    fn place(&mut self, label: Label) {
        self.labels[label.0] = self.codes.len();
    }

    fn new_slot(&mut self) -> Slot {
        self.next_slot += 1;
        self.next_slot - 1
    }

    /// Gives slots to values, except to those nobody uses.
    fn define(&mut self, values: &[Value]) -> Vec<Option<Slot>> {
        let slot = |v: &Value| {
            let slot = (!self.lifetimes.unused.contains(*v)).then(|| self.new_slot());
            self.slots[*v] = slot;
            if let Some(slot) = slot
                && self.has_storage(*v)
            {
                self.scope.push(slot);
            }
            slot
        };
        values.iter().map(slot).collect()
    }

    /// Whether a value may hold storage that others share.
    fn has_storage(&self, value: Value) -> bool {
        self.module.types.arity(self.func.ty(value)).is_some()
    }

    fn slot(&self, value: Value) -> Slot {
        self.slots[value].expect("a value that is used has a slot")
    }

    fn args(&self, inst: Inst, from: usize) -> Box<[Arg]> {
        let operands = self.func.insts[inst].operands.iter().enumerate().skip(from);
        operands.map(|(i, v)| Arg { slot: self.slot(*v), take: self.lifetimes.takes(inst, i) }).collect()
    }

    fn arg(&self, inst: Inst, index: usize) -> Arg {
        let value = self.func.insts[inst].operands[index];
        Arg { slot: self.slot(value), take: self.lifetimes.takes(inst, index) }
    }

    fn drop_values(&mut self, values: Vec<Value>) {
        let slots: Box<[Slot]> =
            values.into_iter().filter(|v| self.has_storage(*v)).map(|v| self.slot(v)).collect();
        if !slots.is_empty() {
            self.emit(Code::Drop { slots });
        }
    }

    /// Decodes a region whose `yield` goes to `target`.
    fn region(&mut self, region: Region, target: Option<&Target>) {
        let (func, scope) = (self.func, self.scope.len());
        let insts = &func.regions[region].insts;
        for (position, &inst) in insts.iter().enumerate() {
            self.span = func.insts[inst].span;
            self.inst(insts, position, target);
        }
        self.scope.truncate(scope);
    }

    fn inst(&mut self, insts: &[Inst], position: usize, target: Option<&Target>) {
        let inst = insts[position];
        let data = &self.func.insts[inst];
        match data.op.control() {
            Control::Plain => self.plain(insts, position),
            Control::If => self.decode_if(inst, data),
            Control::Switch(cases) => self.decode_switch(inst, data, cases),
            Control::While(_) => self.decode_while(inst, data),
            Control::For(info) => self.decode_for(inst, data, info.reversed),
            Control::Exit(Exit::Yield) => {
                let Target { to, label } = target.expect("a `yield` has a target").clone();
                self.emit_move(inst, 0, to, Box::default(), label);
            }
            Control::Exit(Exit::Break(out)) => self.decode_exit(inst, out, |l| l.end),
            Control::Exit(Exit::Continue(out)) => self.decode_exit(inst, out, |l| l.next),
            Control::Exit(Exit::Return) => self.emit(Code::Return { args: self.args(inst, 0) }),
            Control::Call(func) => {
                let args = self.args(inst, 0);
                let results = self.define(&data.results).into();
                self.emit(Code::Call { func, args, results });
            }
            Control::DiffCall(_) | Control::LinCall(_) => {
                panic!("internal error: @{} is half differentiated and cannot run", self.func.name)
            }
        }
    }

    /// An instruction after which the next one follows.
    fn plain(&mut self, insts: &[Inst], position: usize) {
        let inst = insts[position];
        let data = &self.func.insts[inst];
        if let Op::Wave(_) = data.op {
            let args = self.args(inst, 0);
            let result = self.define(&data.results)[0];
            return self.emit(Code::Wave { inst, args, result });
        }
        if let Op::Barrier(barrier) = data.op {
            // What one thread has done to memory the next one sees, so there is nothing to order.
            if barrier.sync {
                self.emit(Code::Wait);
            }
            return;
        }
        let levels = data.op.path().map(|path| self.levels(data, path)).unwrap_or_default();
        let takes = matches!(data.op, Op::Extract(_)) && self.takes_part(insts, position);
        if takes && !self.lifetimes.unused.contains(data.results[0]) {
            let (from, indices) = (self.slot(data.operands[0]), self.args(inst, 1));
            let result = self.define(&data.results)[0].expect("a value that is used has a slot");
            self.emit(Code::TakePart { from, indices, levels, result });
        } else {
            self.run(inst, data, levels);
        }
    }

    fn run(&mut self, inst: Inst, data: &InstData, levels: Box<[Level]>) {
        let args = self.args(inst, 0);
        let result = self.define(&data.results).first().copied().flatten();
        let first = data.operands.first().map(|v| self.module.types.get(self.func.ty(*v)));
        match (&data.op, first) {
            (Op::Math(op), Some(Type::Scalar(scalar))) => {
                self.emit(Code::Scalar { op: *op, scalar, args, result });
            }
            _ => self.emit(Code::Run { inst, args, levels, result }),
        }
    }

    /// Only parts that could be costly to copy are worth a look.
    fn takes_part(&self, insts: &[Inst], position: usize) -> bool {
        let result = self.func.insts[insts[position]].results[0];
        self.has_storage(result) && moves_out(self.func, &self.lifetimes, insts, position)
    }

    /// The levels of a path into the first operand.
    fn levels(&self, data: &InstData, path: &Path) -> Box<[Level]> {
        let types = &self.module.types;
        let mut ty = self.func.ty(data.operands[0]);
        if let Type::Ref(inner) = types.get(ty) {
            ty = inner;
        }
        let level = |&step: &Step| {
            let (arity, array) =
                (types.arity(ty), matches!(types.get(ty), Type::Array(..) | Type::Buffer(..)));
            let part = match types.get(ty) {
                Type::Buffer(elem, _) => Some(elem),
                _ => types.part(ty, step.known()),
            };
            ty = part.expect("the path fits the type");
            Level { step, arity, array }
        };
        path.0.iter().map(level).collect()
    }

    /// Moves operands from `skip` on into slots and jumps.
    fn emit_move(
        &mut self,
        inst: Inst,
        skip: usize,
        to: Vec<Option<Slot>>,
        clear: Box<[Slot]>,
        label: Label,
    ) {
        self.emit(Code::Move { from: self.args(inst, skip), to: to.into(), clear, goto: label.0 });
    }

    fn decode_if(&mut self, inst: Inst, data: &InstData) {
        let (otherwise, end) = (self.label(), self.label());
        self.emit(Code::Branch { cond: self.arg(inst, 0), otherwise: otherwise.0 });
        let target = Target { to: self.define(&data.results), label: end };
        self.branch(data.regions[0], &target);
        self.place(otherwise);
        self.branch(data.regions[1], &target);
        self.place(end);
    }

    fn decode_switch(&mut self, inst: Inst, data: &InstData, cases: &[i64]) {
        let labels: Vec<Label> = data.regions.iter().map(|_| self.label()).collect();
        let targets = labels.iter().map(|l| l.0).collect();
        let selector = self.arg(inst, 0);
        let ty = self.module.types.scalar_of(self.func.ty(data.operands[0]));
        let held = |case: &i64| Eval::default().constant(Const::Int(*case), ty.expect("it is an integer"));
        let cases = cases.iter().map(held).collect();
        self.emit(Code::Switch { selector, cases, targets });
        let target = Target { to: self.define(&data.results), label: self.label() };
        for (&region, label) in data.regions.iter().zip(labels) {
            self.place(label);
            self.branch(region, &target);
        }
        self.place(target.label);
    }

    /// A branch begins by dropping what only other branches use.
    fn branch(&mut self, region: Region, target: &Target) {
        let dead = self.lifetimes.on_entry.remove(&region).unwrap_or_default();
        self.drop_values(dead);
        self.region(region, Some(target));
    }

    fn decode_while(&mut self, inst: Inst, data: &InstData) {
        let (head, end) = (self.label(), self.label());
        let state = self.loop_state(data);
        let round = self.waves.then(|| self.new_slot());
        if let Some(round) = round {
            self.emit(Code::Start { round });
        }
        self.emit_move(inst, 0, state.clone(), Box::default(), head);
        self.place(head);
        let rounds = self.begin_rounds(round);
        if let Some(round) = round {
            let here = self.label();
            self.emit(Code::Next { round, goto: here.0 });
            self.place(here);
        }
        let (cond, body) = (data.regions[0], data.regions[1]);
        let scope = self.scope.len();
        let args = self.define(&self.func.regions[cond].args);
        self.carry(&state, &args, false);
        let verdict = self.new_slot();
        let decided = self.label();
        self.region(cond, Some(&Target { to: vec![Some(verdict)], label: decided }));
        self.scope.truncate(scope);
        self.place(decided);
        self.emit(Code::Branch { cond: Arg { slot: verdict, take: true }, otherwise: end.0 });
        self.loop_body(body, &state, &[], head, end);
        self.end_rounds(rounds);
        self.place(end);
        self.leave_loop(inst, data);
    }

    fn decode_for(&mut self, inst: Inst, data: &InstData, reversed: bool) {
        let (head, next, end) = (self.label(), self.label(), self.label());
        let (rounds, round) = (self.new_slot(), self.new_slot());
        let state = self.loop_state(data);
        self.emit(Code::Count { n: self.arg(inst, 0), rounds, round });
        self.emit_move(inst, 1, state.clone(), Box::default(), head);
        self.place(head);
        let around = self.begin_rounds(Some(round));
        let scope = self.scope.len();
        let body = data.regions[0];
        let counter = self.define(&self.func.regions[body].args[..1]);
        self.emit(Code::Round { rounds, round, counter: counter[0], reversed, done: end.0 });
        self.loop_body(body, &state, &counter, next, end);
        self.scope.truncate(scope);
        self.place(next);
        self.emit(Code::Next { round, goto: head.0 });
        self.end_rounds(around);
        self.place(end);
        self.leave_loop(inst, data);
    }

    /// Notes that a loop begins whose rounds are counted in a slot.
    fn begin_rounds(&mut self, round: Option<Slot>) -> Option<usize> {
        let start = self.codes.len();
        self.rounds.push(Rounds { start, end: start, round: round? });
        Some(self.rounds.len() - 1)
    }

    fn end_rounds(&mut self, rounds: Option<usize>) {
        if let Some(rounds) = rounds {
            self.rounds[rounds].end = self.codes.len();
        }
    }

    /// The results of a loop hold its state, so they have slots even if nobody uses them afterwards.
    fn loop_state(&mut self, data: &InstData) -> Vec<Option<Slot>> {
        let slots = data.results.iter().map(|v| {
            let slot = self.new_slot();
            self.slots[*v] = Some(slot);
            if self.has_storage(*v) {
                self.scope.push(slot);
            }
            Some(slot)
        });
        slots.collect()
    }

    /// Hands the state to the arguments of a region.
    fn carry(&mut self, state: &[Option<Slot>], args: &[Option<Slot>], take: bool) {
        // What nobody looks at is still taken, so that the state does not hold on to it.
        let pairs = state.iter().zip(args).filter(|(_, arg)| take || arg.is_some());
        let (from, to): (Vec<Arg>, Vec<Option<Slot>>) =
            pairs.map(|(slot, arg)| (Arg { slot: slot.expect("state has slots"), take }, *arg)).unzip();
        if !from.is_empty() {
            let here = self.label();
            self.emit(Code::Move { from: from.into(), to: to.into(), clear: Box::default(), goto: here.0 });
            self.place(here);
        }
    }

    /// A body whose first arguments are defined already.
    fn loop_body(
        &mut self,
        body: Region,
        state: &[Option<Slot>],
        defined: &[Option<Slot>],
        next: Label,
        end: Label,
    ) {
        let scope = self.scope.len();
        let args = self.define(&self.func.regions[body].args[defined.len()..]);
        self.carry(state, &args, true);
        self.loops.push(Loop { state: state.to_vec(), next, end, scope });
        self.region(body, Some(&Target { to: state.to_vec(), label: next }));
        self.loops.pop();
        self.scope.truncate(scope);
    }

    fn leave_loop(&mut self, inst: Inst, data: &InstData) {
        let mut dead = self.lifetimes.behind.remove(&inst).unwrap_or_default();
        dead.extend(data.results.iter().filter(|v| self.lifetimes.unused.contains(**v)));
        self.drop_values(dead);
    }

    /// Leaving several loops at once passes by the places where values of the outer ones are dropped.
    fn decode_exit(&mut self, inst: Inst, out: u32, goto: fn(&Loop) -> Label) {
        let target = &self.loops[self.loops.len() - 1 - out as usize];
        let clear = if out == 0 { Box::default() } else { self.scope[target.scope..].into() };
        let (state, label) = (target.state.clone(), goto(target));
        self.emit_move(inst, 0, state, clear, label);
    }
}
