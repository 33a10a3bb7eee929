//! Writes the functions that run segments, and the loops that call them.

use super::{FAN, captured, types_of};
use crate::driver::Context;
use crate::prepare::Induction;
use crate::stages::SEGMENTS;
use crate::unzip::param;
use cotangent_base::{Scalar, Set, Symbol};
use cotangent_ir::{
    Builder, Const, Copier, DiffInfo, Dir, Func, FuncId, Inst, LoopInfo, Math, Mode, Op, Prefer, Region,
    Signature, Ty, Type, Value,
};

/// How a loop knows when to end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// After so many iterations.
    Counted { count: Value, reversed: bool },
    /// When its condition fails.
    Conditional,
}

/// A function that runs iterations.
#[derive(Clone, Copy)]
struct Unit {
    func: FuncId,
    /// How many at most.
    length: u32,
}

/// Where a loop stands: what it carries, and what says whether to go on.
#[derive(Clone, Debug)]
struct State {
    slots: Vec<Value>,
    /// Of a counted loop: the number of the next iteration. Of any other: whether there is one.
    next: Value,
}

/// What a loop is cut into.
pub(super) struct Cutter<'a, 'm> {
    cx: &'a mut Context<'m>,
    /// The function that has the loop.
    func: &'a mut Func,
    induction: &'a Induction,
    /// The loop.
    inst: Inst,
    form: Form,
    info: LoopInfo,
    /// The types of what the loop carries.
    slots: Vec<Ty>,
    /// What it takes from outside, and is passed to segments.
    passed: Vec<Value>,
    /// What it takes from outside, and is written again in segments.
    written: Vec<Value>,
    /// The functions written so far.
    pub(super) units: Vec<(FuncId, u32)>,
}

impl<'a, 'm> Cutter<'a, 'm> {
    pub(super) fn new(
        cx: &'a mut Context<'m>,
        func: &'a mut Func,
        induction: &'a Induction,
        inst: Inst,
        form: Form,
        info: LoopInfo,
    ) -> Self {
        let is_constant =
            |v: &Value| matches!(func.op(*v), Some(Op::Const(_) | Op::Zero | Op::Undef | Op::Global(_)));
        let (written, passed) = captured(func, inst).into_iter().partition(is_constant);
        let slots = types_of(func, &func.insts[inst].results);
        Cutter { cx, func, induction, inst, form, info, slots, passed, written, units: Vec::new() }
    }

    /// The loop as segments of `length` iterations, at most `most` of them, at the end of `region`. Gives its results.
    pub(super) fn even(&mut self, region: Region, length: u32, most: Option<u32>) -> Vec<Value> {
        let unit = self.leaf(length);
        let start = self.start(region);
        let passed = self.passed.clone();
        self.in_place(region, |cutter, b| cutter.repeat(b, unit, start, &passed, most, None).slots)
    }

    /// The loop as segments of several levels, at most `most` of the highest.
    pub(super) fn levels(&mut self, region: Region, levels: u32, most: u32, climbs: bool) -> Vec<Value> {
        let mut units = vec![self.leaf(FAN)];
        for _ in 1..levels {
            let below = *units.last().expect("there is a lowest level");
            units.push(self.level(below));
        }
        let highest = units.pop().expect("there is a highest level");
        let mut state = self.start(region);
        let passed = self.passed.clone();
        self.in_place(region, |cutter, b| {
            for unit in units.into_iter().filter(|_| climbs) {
                state = cutter.once(b, unit, state.clone(), &passed);
            }
            cutter.repeat(b, highest, state, &passed, Some(most), None).slots
        })
    }

    /// Builds at the end of a region of the function that has the loop.
    fn in_place<T>(&mut self, region: Region, build: impl FnOnce(&Shape, &mut Builder<'_>) -> T) -> T {
        let shape = self.shape();
        let span = self.func.insts[self.inst].span;
        let types = &mut self.cx.module.types;
        build(&shape, &mut Builder { types, func: self.func, region, span })
    }

    fn shape(&self) -> Shape {
        let count = match self.form {
            Form::Counted { count, .. } => Some(count),
            Form::Conditional => None,
        };
        let names = self.func.insts[self.inst].results.iter().map(|v| self.func.values[*v].name).collect();
        Shape { slots: self.slots.clone(), names, count, info: self.info }
    }

    /// The state before the first iteration.
    fn start(&mut self, region: Region) -> State {
        let data = self.func.insts[self.inst].clone();
        let mut b = Builder { types: &mut self.cx.module.types, func: self.func, region, span: data.span };
        match self.form {
            Form::Counted { .. } => State { slots: data.operands[1..].to_vec(), next: b.int(0) },
            Form::Conditional => {
                let slots = data.operands.to_vec();
                let mut copier = Copier::new();
                let (cond, from) = (data.regions[0], b.func.clone());
                let next = copy_region(&mut copier, &from, cond, &slots, &mut b)[0];
                State { slots, next }
            }
        }
    }

    /// The function that runs up to `length` iterations.
    fn leaf(&mut self, length: u32) -> Unit {
        let (mut func, mut copier) = self.declare("segment");
        let from = &*self.func;
        let inputs = func.inputs().to_vec();
        let slots = inputs[..self.slots.len()].to_vec();
        let mut b = Builder::new(&mut self.cx.module.types, &mut func);
        b.span = from.insts[self.inst].span;
        for &value in &self.written {
            let cotangent_ir::ValueDef::Result(inst, _) = from.values[value].def else { continue };
            copier.inst(from, inst, &mut b);
        }
        let info = LoopInfo { max_iters: Some(length), ..self.info };
        let regions = &from.insts[self.inst].regions;
        let results = match self.form {
            Form::Counted { count, reversed } => {
                let (count, base) = (copier.get(count), *inputs.last().expect("the first iteration"));
                counted(&mut b, copier, from, regions[0], info, &slots, (count, base), reversed)
            }
            Form::Conditional => conditional(&mut b, copier, from, regions, info, &slots, self.induction),
        };
        b.emit(Op::Return, &results, &[]);
        self.add(func, length)
    }

    /// The function that calls `below` up to [`FAN`] times.
    fn level(&mut self, below: Unit) -> Unit {
        let (mut func, mut copier) = self.declare("segments");
        let inputs = func.inputs().to_vec();
        let slots = inputs[..self.slots.len()].to_vec();
        let passed = inputs[slots.len()..][..self.passed.len()].to_vec();
        let mut shape = self.shape();
        let mut b = Builder::new(&mut self.cx.module.types, &mut func);
        b.span = self.func.insts[self.inst].span;
        let next = match shape.count {
            Some(count) => {
                if self.written.contains(&count)
                    && let cotangent_ir::ValueDef::Result(inst, _) = self.func.values[count].def
                {
                    copier.inst(self.func, inst, &mut b);
                }
                shape.count = Some(copier.get(count));
                *inputs.last().expect("the first iteration")
            }
            None => b.bool(true),
        };
        let state = shape.repeat(&mut b, below, State { slots, next }, &passed, Some(FAN), Some(FAN));
        let mut results = state.slots;
        results.extend(shape.count.is_none().then_some(state.next));
        b.emit(Op::Return, &results, &[]);
        self.add(func, below.length * FAN)
    }

    /// A function of the state and of what the loop takes from outside, without a body. It gives the next state.
    fn declare(&mut self, kind: &str) -> (Func, Copier) {
        let data = &self.func.insts[self.inst];
        let body = *data.regions.last().expect("a loop has a body");
        let args = &self.func.regions[body].args;
        let args = &args[args.len() - self.slots.len()..];
        let mut names = Names::default();
        let name = |v: Value, names: &mut Names| names.unique(self.func.values[v].name);
        let mut params = Vec::new();
        for (&arg, &ty) in args.iter().zip(&self.slots) {
            params.push((name(arg, &mut names), ty, Dir::In));
        }
        for &value in &self.passed {
            params.push((name(value, &mut names), self.func.ty(value), Dir::In));
        }
        let types = &mut self.cx.module.types;
        let (counter, bool) = (types.scalar(Scalar::I32), types.scalar(Scalar::Bool));
        let counts = matches!(self.form, Form::Counted { .. });
        params.extend(counts.then(|| (names.unique(Some(Symbol::new("first"))), counter, Dir::In)));
        for &ty in &self.slots {
            params.push((names.unique(Some(Symbol::new("next"))), ty, Dir::Out));
        }
        params.extend((!counts).then(|| (names.unique(Some(Symbol::new("more"))), bool, Dir::Out)));
        let module = &mut *self.cx.module;
        let params =
            params.into_iter().map(|(name, ty, dir)| param(module, name.as_str(), ty, dir)).collect();
        let name = Symbol::new(&format!("{}.{kind}", self.func.name));
        let mut func = Func::new(name, Signature { params, ret: None }, data.span);
        func.origin = Some(self.func.plain_name());
        func.diff =
            DiffInfo { differentiable: Some(Mode::Backward), prefer: Prefer::Rerun, ..DiffInfo::default() };
        let mut copier = Copier::new();
        for (&old, &new) in self.passed.iter().zip(&func.inputs()[self.slots.len()..]) {
            copier.rename(old, new);
        }
        (func, copier)
    }

    fn add(&mut self, func: Func, length: u32) -> Unit {
        self.cx.after(SEGMENTS, &func, None);
        let func = self.cx.module.add_func(func);
        self.cx.reverse.add_rough(func);
        self.units.push((func, length));
        Unit { func, length }
    }
}

/// What calls of units look like.
struct Shape {
    slots: Vec<Ty>,
    names: Vec<Option<Symbol>>,
    /// How often a counted loop runs, in the function that calls.
    count: Option<Value>,
    info: LoopInfo,
}

impl Shape {
    /// Calls `unit` until there are no iterations left; at most `times` if given, and in any case at most `most`.
    fn repeat(
        &self,
        b: &mut Builder<'_>,
        unit: Unit,
        state: State,
        passed: &[Value],
        most: Option<u32>,
        times: Option<u32>,
    ) -> State {
        let info = LoopInfo { max_iters: most, ..self.info };
        let Some(count) = self.count else {
            let mut init = state.slots;
            init.push(state.next);
            // The rounds of a level are counted, those of the outermost loop are not.
            init.extend(times.map(|_| b.int(0)));
            let (n, times) = (self.slots.len(), times.map(|times| b.int(times.into())));
            let mut results = b.while_(
                info,
                &init,
                |b, args| {
                    let more = match times {
                        Some(times) => {
                            let early = b.math(Math::Lt, &[args[n + 1], times]);
                            b.math(Math::And, &[args[n], early])
                        }
                        None => args[n],
                    };
                    b.yield_(&[more]);
                },
                |b, args| {
                    let mut next = self.call(b, unit, &args[..n], passed, None);
                    if times.is_some() {
                        let one = b.int(1);
                        next.push(b.add(args[n + 1], one));
                    }
                    b.yield_(&next);
                },
            );
            results.truncate(n + 1);
            let next = results.pop().expect("whether to go on");
            return State { slots: results, next };
        };
        let base = state.next;
        let length = b.int(unit.length.into());
        let (zero, one) = (b.int(0), b.int(1));
        let left = b.math(Math::Sub, &[count, base]);
        let last = b.math(Math::Sub, &[left, one]);
        let whole = b.math(Math::Div, &[last, length]);
        let mut rounds = b.add(whole, one);
        if let Some(times) = times {
            let times = b.int(times.into());
            rounds = b.math(Math::Min, &[rounds, times]);
        }
        let any = b.math(Math::Gt, &[left, zero]);
        let rounds = b.select(any, rounds, zero);
        let slots = b.for_(info, rounds, &state.slots, |b, round, args| {
            let way = b.mul(round, length);
            let first = b.add(base, way);
            let next = self.call(b, unit, args, passed, Some(first));
            b.yield_(&next);
        });
        State { slots, next: base }
    }

    /// Calls `unit` once, if there are iterations left.
    fn once(&self, b: &mut Builder<'_>, unit: Unit, state: State, passed: &[Value]) -> State {
        let State { mut slots, next } = state;
        let Some(count) = self.count else {
            slots.push(next);
            let types = types_of(b.func, &slots);
            let inputs = slots[..slots.len() - 1].to_vec();
            let mut results = b.if_(
                next,
                &types,
                |b| {
                    let values = self.call(b, unit, &inputs, passed, None);
                    b.yield_(&values);
                },
                |b| b.yield_(&slots),
            );
            let next = results.pop().expect("whether to go on");
            self.name(b, &results);
            b.func.values[next].name = Some(Symbol::new("more"));
            return State { slots: results, next };
        };
        let any = b.math(Math::Lt, &[next, count]);
        let slots = b.if_(
            any,
            &self.slots,
            |b| {
                let values = self.call(b, unit, &slots, passed, Some(next));
                b.yield_(&values);
            },
            |b| b.yield_(&slots),
        );
        self.name(b, &slots);
        let length = b.int(unit.length.into());
        State { slots, next: b.add(next, length) }
    }

    /// Gives carried values the names of the variables that they are, where they have none.
    fn name(&self, b: &mut Builder<'_>, slots: &[Value]) {
        for (slot, known) in slots.iter().zip(&self.names) {
            let name = &mut b.func.values[*slot].name;
            *name = name.or(*known);
        }
    }

    /// A call of `unit`: what it carries on, and whether to go on unless the loop is counted.
    fn call(
        &self,
        b: &mut Builder<'_>,
        unit: Unit,
        slots: &[Value],
        passed: &[Value],
        first: Option<Value>,
    ) -> Vec<Value> {
        self.name(b, slots);
        let mut operands = [slots, passed].concat();
        operands.extend(first);
        let mut results = self.slots.clone();
        if self.count.is_none() {
            results.push(b.types.scalar(Scalar::Bool));
        }
        let call = b.emit(Op::Call(unit.func), &operands, &results);
        b.func.insts[call].results.to_vec()
    }
}

/// Up to `info.max_iters` iterations of a counted loop, from number `base` on.
#[expect(clippy::too_many_arguments, reason = "the parts of one loop")]
fn counted(
    b: &mut Builder<'_>,
    mut copier: Copier,
    from: &Func,
    body: Region,
    info: LoopInfo,
    slots: &[Value],
    (count, base): (Value, Value),
    reversed: bool,
) -> Vec<Value> {
    let left = b.math(Math::Sub, &[count, base]);
    let most = b.int(info.max_iters.map_or(0, i64::from));
    let rounds = b.math(Math::Min, &[left, most]);
    b.for_(info, rounds, slots, |b, round, args| {
        let mut number = b.add(base, round);
        if reversed {
            let one = b.int(1);
            let last = b.math(Math::Sub, &[count, one]);
            number = b.math(Math::Sub, &[last, number]);
        }
        let args = [&[number], args].concat();
        let next = copy_region(&mut copier, from, body, &args, b);
        b.yield_(&next);
    })
}

/// Up to `info.max_iters` iterations of another loop, of which there is at least one.
fn conditional(
    b: &mut Builder<'_>,
    mut copier: Copier,
    from: &Func,
    regions: &[Region],
    info: LoopInfo,
    slots: &[Value],
    induction: &Induction,
) -> Vec<Value> {
    let n = slots.len();
    let (first, yes) = (b.int(0), b.bool(true));
    let most = b.int(info.max_iters.map_or(0, i64::from));
    let init = [slots, &[yes, first]].concat();
    let more = |b: &mut Builder<'_>, args: &[Value]| {
        let early = b.math(Math::Lt, &[args[n + 1], most]);
        let more = b.math(Math::And, &[args[n], early]);
        b.yield_(&[more]);
    };
    let mut results = b.while_(info, &init, more, |b, args| {
        let round = args[n + 1];
        let mut current = args[..n].to_vec();
        for (i, arg) in from.regions[regions[1]].args.iter().enumerate() {
            if let Some(&step) = induction.get(arg) {
                current[i] = stepped(b, slots[i], step, round);
            }
        }
        let mut next = copy_region(&mut copier, from, regions[1], &current, b);
        let go_on = copy_region(&mut copier, from, regions[0], &next, b);
        let one = b.int(1);
        next.extend([go_on[0], b.add(round, one)]);
        b.yield_(&next);
    });
    results.truncate(n + 1);
    results
}

/// `init + step * round`.
fn stepped(b: &mut Builder<'_>, init: Value, step: i64, mut round: Value) -> Value {
    let ty = b.ty(init);
    if b.types.get(ty) != Type::Scalar(Scalar::I32) {
        round = b.emit1(Op::Convert, &[round], ty);
    }
    let step = b.constant(Const::Int(step), ty);
    let way = b.mul(step, round);
    b.add(init, way)
}

/// Copies what is in a region, whose arguments are `args`; gives what it yields.
fn copy_region(
    copier: &mut Copier,
    from: &Func,
    region: Region,
    args: &[Value],
    to: &mut Builder<'_>,
) -> Vec<Value> {
    for (&old, &new) in from.regions[region].args.iter().zip(args) {
        copier.rename(old, new);
        let name = &mut to.func.values[new].name;
        *name = name.or(from.values[old].name);
    }
    let (exit, insts) = from.regions[region].insts.split_last().expect("a region ends in an exit");
    for &inst in insts {
        copier.inst(from, inst, to);
    }
    copier.all(&from.insts[*exit].operands)
}

/// Names of parameters, each given once.
#[derive(Default)]
struct Names {
    taken: Set<Symbol>,
}

impl Names {
    fn unique(&mut self, name: Option<Symbol>) -> Symbol {
        let name = name.unwrap_or(Symbol::new("value"));
        let numbered = (1..).map(|n| Symbol::new(&format!("{name}_{n}")));
        let free = std::iter::once(name).chain(numbered).find(|name| !self.taken.contains(name));
        let free = free.expect("numbers do not end");
        self.taken.insert(free);
        free
    }
}
