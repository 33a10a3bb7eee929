//! Decodes functions to their executable form ([`code`]): assigns a slot to every value, turns instructions into codes, and
//! turns regions into jumps ([`control`]).

mod code;
mod control;

pub(crate) use code::{Arg, Code, Decoded, Level, Rounds, Slot};

use crate::aggregate::array_elements;
use crate::layout::Layouts;
use crate::lifetimes::Lifetimes;
use crate::take_part::moves_out;
use cotangent_base::{EntityMap, Span};
use cotangent_ir::{Control, Exit, Func, Inst, InstData, Module, Op, Path, Region, Step, Type, Value};

/// A loop around the code being decoded.
struct Loop {
    /// Where exits put what they carry.
    state: Vec<Option<Slot>>,
    /// Where the next iteration begins: the head, or the end of a counted iteration.
    next: Label,
    end: Label,
    /// How many values were in scope when the body began.
    scope: usize,
}

/// A place to jump to, known later.
#[derive(Clone, Copy)]
struct Label(usize);

/// Decodes a function. With `counts`, the iterations of all loops are counted.
///
/// # Panics
/// If the function is not one that can run: a derivative not written yet, or one half way through the autodiff
/// passes. Those are faults of the compiler.
pub(crate) fn decode(module: &Module, func: &Func, layouts: &Layouts, counts: bool) -> Decoded {
    assert!(
        !func.regions[func.body].insts.is_empty(),
        "internal error: @{} has no body yet and cannot run",
        func.name
    );
    let lifetimes = Lifetimes::of(func);
    let mut decoder = Decoder {
        module,
        func,
        layouts,
        lifetimes,
        slots: EntityMap::filled(None, func.values.len()),
        next_slot: 0,
        codes: Vec::new(),
        spans: Vec::new(),
        labels: Vec::new(),
        loops: Vec::new(),
        scope: Vec::new(),
        span: func.span,
        counts,
        rounds: Vec::new(),
    };
    let inputs = decoder.define(func.inputs());
    decoder.region(func.body, None);
    decoder.finish(inputs)
}

/// How many elements the arrays have that a function makes. What it changes or hands on is made elsewhere.
fn elements(module: &Module, func: &Func) -> u64 {
    let mut sum = 0u64;
    func.walk(func.body, &mut |inst| {
        let InstData { op, results, .. } = &func.insts[inst];
        if let (Op::Zero | Op::Undef | Op::Splat | Op::Load(_), [result]) = (op, &results[..]) {
            sum = sum.saturating_add(array_elements(&module.types, func.ty(*result)));
        }
    });
    sum
}

struct Decoder<'a> {
    module: &'a Module,
    func: &'a Func,
    layouts: &'a Layouts,
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
    counts: bool,
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
                | Code::Detach { .. }
                | Code::Drop { .. } => {}
                Code::Call { .. } | Code::Wait | Code::Return { .. } => {}
            }
        }
        Decoded {
            codes: self.codes,
            spans: self.spans,
            inputs,
            slots: self.next_slot as usize,
            elements: elements(self.module, self.func),
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
        if let Op::Detach = data.op {
            let arg = self.arg(inst, 0);
            let result = self.define(&data.results)[0];
            return self.emit(Code::Detach { arg, result });
        }
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
        let in_memory = matches!(data.op, Op::Load(_) | Op::Store(_) | Op::Atomic(_) | Op::Point(_));
        let level = |&step: &Step| {
            let bytes = if in_memory { self.layouts.part(types, ty, step.known()) } else { 0 };
            let (arity, array) =
                (types.arity(ty), matches!(types.get(ty), Type::Array(..) | Type::Buffer(..)));
            let part = if let Type::Buffer(elem, _) = types.get(ty) {
                Some(elem)
            } else {
                types.part(ty, step.known())
            };
            ty = part.expect("the path fits the type");
            Level { step, arity, array, bytes }
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
}
