//! The machine: memory, frames, and the loop that runs codes.

use crate::aggregate::array_elements;
use crate::counters::Counters;
use crate::decode::{Arg, Code, Decoded, Level, Slot};
use crate::held::Held;
use crate::params::{Param, Store};
use crate::program::{Function, Loaded};
use crate::stop::{Outside, UnknownType};
use crate::wave::{Lane, Point};
use crate::{Stopped, Val};
use cotangent_base::{Entity, EntityMap, Scalar, Span};
use cotangent_ir::eval::Eval;
use cotangent_ir::{Const, FuncId, Global, GlobalData, GlobalKind, Math, Module, Op, Trap, Ty, Type};
use smallvec::SmallVec;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;

/// How to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Evaluate half and float in binary64.
    pub wide: bool,
    /// How many steps one call or dispatch may take.
    pub max_steps: u64,
    /// How deeply calls may nest.
    pub max_depth: usize,
    /// How many elements the arrays of the functions that run may have, and those of global variables.
    pub max_elements: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { wide: false, max_steps: 4_000_000_000, max_depth: 10_000, max_elements: 1 << 25 }
    }
}

/// Runs functions of a module.
pub struct Machine<'m> {
    pub(crate) module: &'m Module,
    pub(crate) options: Options,
    pub(crate) eval: Eval,
    /// The functions and types of the module in the form in which they are used, shared with other machines.
    pub(crate) loaded: Arc<Loaded>,
    /// The value of each variable, and of each uniform that has been read.
    pub(crate) memory: EntityMap<Global, Val>,
    /// Whether there is room for the variables. Nothing runs otherwise.
    pub(crate) has_room: bool,
    /// What the parameters were given.
    pub(crate) params: EntityMap<Global, Param>,
    /// The memory of buffers and textures.
    pub(crate) stores: Vec<Store>,
    pub(crate) counters: Counters,
    /// The thread being run, in a dispatch.
    pub(crate) thread: Option<[u32; 3]>,
    /// The index that was last found outside, and how many parts there were.
    pub(crate) outside: Option<Outside>,
    /// The type that was last found to be unknown.
    pub(crate) unknown: Option<Box<UnknownType>>,
    /// What detached values are.
    pub(crate) held: Held,
    /// Whether a value was detached for which none was noted; see `held`.
    pub(crate) strayed: bool,
    /// What the program has printed.
    pub(crate) output: String,
    /// The functions that this machine has used. Their counts are its own, so that machines of several threads do not contend.
    decoded: EntityMap<FuncId, Option<Rc<Function>>>,
    /// The slots of all frames of the thread being run.
    pub(crate) slots: Vec<Val>,
    /// The number of steps at which to stop.
    last_step: u64,
}

/// A thread that is running, or waits at a barrier: what it is in the middle of.
pub(crate) struct Thread {
    frame: Frame,
    callers: Vec<Frame>,
}

/// Why a thread does not go on.
pub(crate) enum Pause {
    /// It is done; these are its outputs.
    Done(Vec<Val>),
    /// It waits for the other threads of its group.
    Waits,
    /// It has come to an operation on its wave with these operands.
    Meets(Vec<Val>),
}

/// A function that is running.
struct Frame {
    func: FuncId,
    decoded: Rc<Function>,
    /// The next code.
    at: usize,
    /// Where its slots begin.
    base: usize,
    /// How many elements its arrays and those of its callers may have.
    elements: u64,
}

impl Thread {
    /// Where it is.
    pub(crate) fn span(&self) -> Span {
        current_span(&self.frame)
    }
}

impl<'m> Machine<'m> {
    /// A machine whose buffers are empty and whose uniforms are zero. The module must be valid.
    pub fn new(module: &'m Module, options: Options) -> Self {
        Self::of(module, Arc::new(Loaded::new(module, options.wide, module.has_waves())), options)
    }

    /// A machine for a module that has been loaded with these options.
    pub(crate) fn of(module: &'m Module, loaded: Arc<Loaded>, options: Options) -> Self {
        let elements = module.globals.values().map(|data| variable_elements(module, data));
        let has_room = elements.fold(0, u64::saturating_add) <= options.max_elements;
        let initial = |data: &GlobalData| {
            if let (Type::Ref(inner), true) = (module.types.get(data.ty), has_room) {
                Val::zero(&module.types, inner)
            } else {
                Val::Undef
            }
        };
        Machine {
            module,
            options,
            eval: Eval { wide: options.wide },
            loaded,
            memory: module.globals.values().map(initial).collect(),
            has_room,
            params: EntityMap::filled(Param::Unset, module.globals.len()),
            stores: Vec::new(),
            counters: Counters::default(),
            thread: None,
            outside: None,
            unknown: None,
            held: Held::No,
            strayed: false,
            output: String::new(),
            decoded: EntityMap::filled(None, module.funcs.len()),
            slots: Vec::new(),
            last_step: 0,
        }
    }

    /// What the program has printed, which is not kept.
    pub fn take_output(&mut self) -> String {
        mem::take(&mut self.output)
    }

    /// What running has cost so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Runs a function, as the only thread of a group, and gives its outputs.
    ///
    /// # Panics
    /// If there are not as many values as the function has inputs, or if it cannot run because the compiler has not
    /// finished it.
    pub fn call(&mut self, func: FuncId, inputs: Vec<Val>) -> Result<Vec<Val>, Stopped> {
        self.start();
        self.thread = None;
        self.begin_group();
        self.begin_thread()?;
        let types: Vec<Ty> = self.module.funcs[func].sig.inputs().map(|p| p.ty).collect();
        assert_eq!(inputs.len(), types.len(), "@{} takes other inputs", self.module.funcs[func].name);
        let conform = |(v, ty): (Val, Ty)| v.conform(&self.module.types, ty, self.eval);
        let inputs = inputs.into_iter().zip(types).map(conform).collect();
        self.run(func, inputs)
    }

    /// Allows the steps of one call or dispatch.
    pub(crate) fn start(&mut self) {
        self.last_step = self.counters.steps.saturating_add(self.options.max_steps);
    }

    fn decoded(&mut self, func: FuncId) -> Rc<Function> {
        let (module, loaded) = (self.module, &self.loaded);
        self.decoded[func].get_or_insert_with(|| Rc::new(loaded.function(module, func))).clone()
    }

    /// Counts the iterations of all loops from the next call on.
    pub(crate) fn count_iterations(&mut self) {
        if let Some(counting) = self.loaded.counting(self.module) {
            self.loaded = counting;
            self.decoded = EntityMap::filled(None, self.module.funcs.len());
        }
    }

    /// Makes a frame with the inputs in place.
    fn enter(&mut self, func: FuncId, inputs: impl IntoIterator<Item = Val>) -> Frame {
        let decoded = self.decoded(func);
        let base = self.slots.len();
        self.slots.resize(base + decoded.slots, Val::Undef);
        for (slot, value) in decoded.inputs.iter().zip(inputs) {
            self.write(base, *slot, value);
        }
        let elements = decoded.elements;
        Frame { func, decoded, at: 0, base, elements }
    }

    fn read(&mut self, base: usize, arg: Arg) -> Val {
        let slot = &mut self.slots[base + arg.slot as usize];
        if arg.take { mem::take(slot) } else { slot.clone() }
    }

    fn read_all(&mut self, base: usize, args: &[Arg]) -> SmallVec<[Val; 4]> {
        args.iter().map(|a| self.read(base, *a)).collect()
    }

    fn write(&mut self, base: usize, slot: Option<Slot>, value: Val) {
        if let Some(slot) = slot {
            self.slots[base + slot as usize] = value;
        }
    }

    /// Runs a function to its end, as the only thread of a group.
    pub(crate) fn run(&mut self, func: FuncId, inputs: Vec<Val>) -> Result<Vec<Val>, Stopped> {
        let bottom = self.slots.len();
        let mut thread = self.begin(func, inputs);
        let outcome = loop {
            match self.resume(&mut thread) {
                Ok(Pause::Done(outputs)) => break Ok(outputs),
                Ok(Pause::Waits) => {}
                Ok(Pause::Meets(operands)) => {
                    if let Err(stopped) = self.alone(&thread, operands) {
                        break Err(stopped);
                    }
                }
                Err(stopped) => break Err(stopped),
            }
        };
        self.slots.truncate(bottom);
        outcome
    }

    /// A thread that is about to run a function.
    pub(crate) fn begin(&mut self, func: FuncId, inputs: Vec<Val>) -> Thread {
        Thread { frame: self.enter(func, inputs), callers: Vec::new() }
    }

    /// Lets a thread run to its end or to the next barrier.
    pub(crate) fn resume(&mut self, thread: &mut Thread) -> Result<Pause, Stopped> {
        let outcome = self.run_frames(&mut thread.frame, &mut thread.callers);
        outcome.map_err(|trap| self.stopped(trap, thread))
    }

    /// An operation on a wave of one lane.
    fn alone(&mut self, thread: &Thread, operands: Vec<Val>) -> Result<(), Stopped> {
        let values = self.together(thread, &[Lane { number: 0, operands }])?;
        values.into_iter().for_each(|value| self.hand(thread, value));
        Ok(())
    }

    /// What lanes get that have come to an operation, at which `thread` is.
    pub(crate) fn together(&mut self, thread: &Thread, lanes: &[Lane]) -> Result<Vec<Val>, Stopped> {
        let frame = &thread.frame;
        let func = &self.module.funcs[frame.func];
        let Code::Wave { inst, .. } = frame.decoded.codes[frame.at - 1] else {
            unreachable!("threads meet at operations on waves")
        };
        let data = &func.insts[inst];
        let Op::Wave(kind) = data.op else { unreachable!("the code was made of such an operation") };
        let ty = self.module.types.get(func.ty(data.results[0]));
        self.wave(kind, ty, lanes).map_err(|trap| self.stopped(trap, thread))
    }

    /// Gives a thread that is being run what it waited for.
    pub(crate) fn hand(&mut self, thread: &Thread, value: Val) {
        if let Code::Wave { result, .. } = thread.frame.decoded.codes[thread.frame.at - 1] {
            self.write(thread.frame.base, result, value);
        }
    }

    /// How far the thread that is being run is.
    pub(crate) fn point_of(&self, thread: &Thread) -> Point {
        self.point_in(&thread.callers, &thread.frame)
    }

    fn point_in(&self, callers: &[Frame], frame: &Frame) -> Point {
        let mut point = Point::new();
        for frame in callers.iter().chain([frame]) {
            let at = frame.at - 1;
            for rounds in frame.decoded.loops.iter().filter(|l| (l.start..l.end).contains(&at)) {
                point.extend([rounds.start as u64, self.counter(frame.base, rounds.round) as u64]);
            }
            point.push(at as u64);
        }
        point
    }

    /// Says that a thread stopped where it is.
    pub(crate) fn stopped(&self, trap: Trap, thread: &Thread) -> Stopped {
        let frames = std::iter::once(&thread.frame).chain(thread.callers.iter().rev());
        let spans: Vec<Span> = frames.map(current_span).collect();
        // What the library does has no place in the source; the call of it has.
        let at = spans.iter().position(|span| !span.is_none()).unwrap_or(0);
        Stopped {
            trap,
            span: spans[at],
            func: self.module.funcs[thread.frame.func].name,
            calls: spans[at + 1..].to_vec(),
            thread: self.thread,
            outside: self.outside.filter(|_| trap == Trap::OutOfBounds),
            unknown: self.unknown.clone().filter(|_| trap == Trap::UnknownType),
            other: None,
        }
    }

    fn run_frames(&mut self, frame: &mut Frame, callers: &mut Vec<Frame>) -> Result<Pause, Trap> {
        loop {
            let decoded = Rc::clone(&frame.decoded);
            // Until a call or return changes the frame, only the place in its codes changes.
            match self.run_codes(frame, &decoded)? {
                Change::Wait => return Ok(Pause::Waits),
                Change::Meet(operands) => return Ok(Pause::Meets(operands.into_vec())),
                Change::Detach { value, result } => {
                    let mut point = self.point_in(callers, frame);
                    // Variables are initialized by functions of their own.
                    point.push(callers.first().unwrap_or(frame).func.index() as u64);
                    point.extend(self.thread.into_iter().flatten().map(u64::from));
                    let value = self.detach(point, value);
                    self.write(frame.base, result, value);
                }
                Change::Call { func, inputs } => {
                    if callers.len() + 1 >= self.options.max_depth {
                        return Err(Trap::CallDepth);
                    }
                    let mut inner = self.enter(func, inputs);
                    inner.elements = inner.elements.saturating_add(frame.elements);
                    callers.push(mem::replace(frame, inner));
                }
                Change::Return(outputs) => {
                    self.slots.truncate(frame.base);
                    let Some(caller) = callers.pop() else { return Ok(Pause::Done(outputs.into_vec())) };
                    *frame = caller;
                    let Code::Call { results, .. } = &frame.decoded.codes[frame.at - 1] else {
                        unreachable!("a caller stands behind a call")
                    };
                    for (slot, value) in results.iter().zip(outputs) {
                        self.write(frame.base, *slot, value);
                    }
                }
            }
        }
    }

    fn run_codes(&mut self, frame: &mut Frame, decoded: &Decoded) -> Result<Change, Trap> {
        let module = self.module;
        let func = &module.funcs[frame.func];
        let base = frame.base;
        loop {
            let code = &decoded.codes[frame.at];
            frame.at += 1;
            self.counters.steps += 1;
            if self.counters.steps > self.last_step {
                return Err(Trap::StepLimit);
            }
            match code {
                Code::Scalar { op, scalar, args, result } => {
                    let value = self.scalar_math(base, *op, *scalar, args)?;
                    self.write(base, *result, Val::Scalar(value));
                }
                Code::Run { inst, args, levels, result } => {
                    if frame.elements > self.options.max_elements {
                        return Err(Trap::OutOfMemory);
                    }
                    let mut args = self.read_all(base, args);
                    let value = self.operation(func, &func.insts[*inst], levels, &mut args)?;
                    drop(args);
                    self.write(base, *result, value);
                }
                Code::TakePart { from, indices, levels, result } => {
                    let indices = self.read_all(base, indices);
                    let part = self.take_part(base + *from as usize, levels, &indices)?;
                    self.write(base, Some(*result), part);
                }
                Code::Move { from, to, clear, goto } => {
                    let values = self.read_all(base, from);
                    clear.iter().for_each(|slot| self.write(base, Some(*slot), Val::Undef));
                    values.into_iter().zip(to).for_each(|(value, slot)| self.write(base, *slot, value));
                    frame.at = *goto;
                }
                Code::Branch { cond, otherwise } => {
                    if self.read_scalar(base, *cond, Scalar::Bool) != Const::Bool(true) {
                        frame.at = *otherwise;
                    }
                }
                Code::Switch { selector, cases, targets } => {
                    let selector = self.read_scalar(base, *selector, Scalar::I32);
                    let case = cases.iter().position(|case| selector == *case);
                    frame.at = targets[case.unwrap_or(cases.len())];
                }
                Code::Count { n, rounds, round } => {
                    let n = self.read_scalar(base, *n, Scalar::I32);
                    self.write(base, Some(*rounds), Val::Scalar(n));
                    self.write(base, Some(*round), Val::int(0));
                }
                Code::Round { rounds, round, counter, reversed, done } => {
                    let (n, k) = (self.counter(base, *rounds), self.counter(base, *round));
                    if k >= n {
                        frame.at = *done;
                    } else {
                        self.write(base, *counter, Val::int(if *reversed { n - 1 - k } else { k }));
                    }
                }
                Code::Next { round, goto } => {
                    let k = self.counter(base, *round);
                    self.write(base, Some(*round), Val::int(k + 1));
                    frame.at = *goto;
                }
                Code::Drop { slots } => {
                    slots.iter().for_each(|slot| self.write(base, Some(*slot), Val::Undef));
                }
                Code::Call { func, args, .. } => {
                    return Ok(Change::Call { func: *func, inputs: self.read_all(base, args) });
                }
                Code::Start { round } => self.write(base, Some(*round), Val::int(0)),
                Code::Wave { args, .. } => return Ok(Change::Meet(self.read_all(base, args))),
                Code::Detach { arg, result } => {
                    let value = self.read(base, *arg);
                    if !matches!(self.held, Held::No) {
                        return Ok(Change::Detach { value, result: *result });
                    }
                    self.write(base, *result, value);
                }
                Code::Wait => return Ok(Change::Wait),
                Code::Return { args } => return Ok(Change::Return(self.read_all(base, args))),
            }
        }
    }

    fn read_scalar(&mut self, base: usize, arg: Arg, scalar: Scalar) -> Const {
        let value = self.read(base, arg);
        self.scalar(&value, scalar)
    }

    fn scalar_math(&mut self, base: usize, op: Math, scalar: Scalar, args: &[Arg]) -> Result<Const, Trap> {
        let mut operands = [Const::Bool(false); 3];
        for (operand, arg) in operands.iter_mut().zip(args) {
            *operand = self.read_scalar(base, *arg, scalar);
        }
        let operands = &operands[..args.len()];
        let result = self.eval.math(op, scalar, operands)?;
        self.counters.watch(op, operands, result);
        Ok(result)
    }

    /// Takes a part out of the aggregate in a slot and leaves a hole.
    fn take_part(&mut self, slot: usize, levels: &[Level], indices: &[Val]) -> Result<Val, Trap> {
        let at = self.positions(levels, indices, 0)?;
        let mut aggregate = mem::take(&mut self.slots[slot]);
        let part = mem::take(self.place(&mut aggregate, levels, &at));
        self.slots[slot] = aggregate;
        Ok(part)
    }

    fn counter(&self, base: usize, slot: Slot) -> i64 {
        self.slots[base + slot as usize].as_int().expect("a counter is an integer")
    }
}

/// Why the codes of a frame stop running.
enum Change {
    Call {
        func: FuncId,
        inputs: SmallVec<[Val; 4]>,
    },
    Return(SmallVec<[Val; 4]>),
    Wait,
    Meet(SmallVec<[Val; 4]>),
    /// A value is detached, while such values are noted or given.
    Detach {
        value: Val,
        result: Option<Slot>,
    },
}

/// How many elements the arrays of a variable or uniform have.
pub(crate) fn variable_elements(module: &Module, data: &GlobalData) -> u64 {
    match (&data.kind, module.types.get(data.ty)) {
        (GlobalKind::Static(_) | GlobalKind::Shared, Type::Ref(inner)) => {
            array_elements(&module.types, inner)
        }
        (GlobalKind::Param, _) => array_elements(&module.types, data.ty),
        (GlobalKind::Static(_) | GlobalKind::Shared, _) => 0,
    }
}

/// The source of what a frame is about.
fn current_span(frame: &Frame) -> Span {
    frame.decoded.spans[frame.at - 1]
}
