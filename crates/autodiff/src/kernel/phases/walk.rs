//! Runs the threads of a group together on values that are known before a launch, and collects their accesses to watched memory.
//!
//! Where a choice is not known, all sides run: one after the other if threads may choose differently, each for itself if all choose
//! alike. [`loops`](super::loops) runs loops, [`values`](super::values) says what operations give.

use super::clash::{Access, Act, Clash, Kind, Mask};
use super::lanes::{Known, Lane, Lanes, Name, Symbols};
use crate::kernel::accesses::memory;
use cotangent_base::{Map, Set, Span};
use cotangent_ir::{
    Control, Exit, Func, FuncId, FuncKind, Global, GlobalKind, Inst, InstData, Link, Memory, Module, Op,
    Region, Step, SystemValue, Value,
};
use std::rc::Rc;

/// The most instructions that run, times the number of threads.
const FUEL: usize = 4_000_000;
/// The most calls that nest.
const DEPTH: usize = 24;

/// Two accesses that clash; the first came before the second.
pub(super) struct Found {
    pub first: Access,
    pub second: Access,
    pub clash: Clash,
    /// Whether the element depends on data.
    pub by_data: bool,
}

/// The accesses of an entry point to memory.
pub(super) struct Done {
    /// The accesses that clash.
    pub found: Vec<Found>,
    /// The memory of which each group has elements of its own, as far as indices show.
    pub apart: Set<Global>,
    /// Whether the whole kernel was analyzed.
    pub is_complete: bool,
}

/// The accesses of an entry point to the memory in `watched`.
pub(super) fn walk(module: &Module, entry: FuncId, watched: &Set<Global>) -> Done {
    let func = &module.funcs[entry];
    let size = func.entry.as_ref().map_or([1; 3], |entry| entry.threads);
    let threads = size.iter().fold(1usize, |all, n| all.saturating_mul(*n as usize));
    if threads > FUEL / 64 {
        return Done { found: vec![], apart: Set::default(), is_complete: false };
    }
    let written = module.funcs.values().flat_map(|func| {
        let writes = |inst: &Inst| {
            matches!(func.insts[*inst].op, Op::Store(_) | Op::Atomic(_) | Op::Point(_) | Op::StoreTexel)
        };
        func.all_insts().into_iter().filter(writes).filter_map(|inst| memory(func, inst))
    });
    let mut walk = Walk {
        module,
        threads,
        size,
        written: written.collect(),
        watched,
        symbols: Symbols::default(),
        phase: vec![],
        awaited: 0,
        sure: vec![true; threads].into(),
        choices: Rc::default(),
        found: vec![],
        owners: Map::default(),
        fuel: FUEL,
        depth: 0,
        span: Span::none(),
    };
    let inputs = walk.inputs(func);
    let all: Mask = vec![Act::Yes; threads].into();
    walk.function(func, inputs, all);
    let owners = std::mem::take(&mut walk.owners).into_iter();
    let apart = owners.filter(|(_, axes)| walk.is_own(axes)).map(|(global, _)| global).collect();
    Done { found: walk.found, apart, is_complete: walk.fuel > 0 }
}

/// The threads that reach a point, and their values there.
pub(super) type Flow = (Mask, Vec<Known>);

/// A function that runs.
pub(super) struct Frame<'f> {
    pub func: &'f Func,
    pub known: Map<Value, Known>,
    /// The enclosing loops, from the outside: the threads that left each by `break`, and those that go on by `continue`.
    pub loops: Vec<[Vec<Flow>; 2]>,
    pub returns: Vec<Flow>,
}

impl Frame<'_> {
    pub fn of(&self, value: Value) -> Known {
        self.known.get(&value).cloned().unwrap_or(Known::Nothing)
    }

    pub fn all(&self, values: &[Value]) -> Vec<Known> {
        values.iter().map(|value| self.of(*value)).collect()
    }

    pub fn set(&mut self, values: &[Value], known: &[Known]) {
        for (value, known) in values.iter().zip(known) {
            self.known.insert(*value, known.clone());
        }
    }
}

pub(super) struct Walk<'m> {
    pub module: &'m Module,
    pub threads: usize,
    size: [u32; 3],
    /// The memory of which something is written.
    pub written: Set<Global>,
    /// The memory whose accesses are collected.
    watched: &'m Set<Global>,
    pub symbols: Symbols,
    /// The accesses since the last barrier.
    pub phase: Vec<Rc<Access>>,
    /// How many of them came before an operation on waves, which makes some threads wait.
    awaited: usize,
    /// Which threads are here for sure if they came to the region.
    pub sure: Rc<[bool]>,
    pub choices: Rc<Vec<(Inst, usize)>>,
    found: Vec<Found>,
    /// For each buffer and texture: the steps that tell groups along an axis apart in all accesses.
    owners: Map<Global, Vec<(usize, usize)>>,
    pub fuel: usize,
    depth: usize,
    /// Where the library was called.
    span: Span,
}

/// What is known of a condition in the threads that reach it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Its value in each thread.
    Known,
    /// Only that it is the same in all threads.
    Alike,
    /// Nothing.
    Apart,
}

pub(super) fn is_any(mask: &Mask) -> bool {
    mask.iter().any(|act| *act != Act::No)
}

impl Walk<'_> {
    /// The inputs of an entry point.
    fn inputs(&mut self, func: &Func) -> Vec<Known> {
        let links = func.entry.as_ref().map_or(&[][..], |entry| &entry.inputs).to_vec();
        let [x, y, _] = self.size.map(|n| n as usize);
        let place = |thread: usize, axis: usize| [thread % x, thread / x % y, thread / (x * y)][axis] as i64;
        let threads = self.threads;
        let inside = |axis| Lanes::each(threads, |thread| Lane::Known(place(thread, axis)));
        let mut three = |number: &dyn Fn(&mut Symbols, usize) -> Lanes| {
            Known::Parts((0..3).map(|axis| Known::Number(number(&mut self.symbols, axis))).collect())
        };
        let size = self.size;
        let group = |symbols: &mut Symbols, axis: usize| symbols.named(Name::Group(axis as u32), 1);
        let given = |link: &Link| match link {
            Link::System(SystemValue::GroupIndex) => {
                Known::Number(Lanes::each(threads, |thread| Lane::Known(thread as i64)))
            }
            Link::System(SystemValue::GroupThreadId) => three(&|_, axis| inside(axis)),
            Link::System(SystemValue::GroupId) => three(&|symbols, axis| Lanes::All(group(symbols, axis))),
            Link::System(SystemValue::DispatchThreadId) => three(&|symbols, axis| {
                let Lane::Moved(base, _) = symbols.base(axis, size[axis].into()) else {
                    return Lanes::All(Lane::Unknown);
                };
                Lanes::each(threads, |thread| Lane::Moved(base, place(thread, axis)))
            }),
            Link::System(_) | Link::Location(_) => Known::Nothing,
        };
        links.iter().map(given).collect()
    }

    /// Runs a function. Returns the threads that return from it, and their results.
    fn function(&mut self, func: &Func, inputs: Vec<Known>, mask: Mask) -> Flow {
        let mut frame = Frame { func, known: Map::default(), loops: vec![], returns: vec![] };
        frame.set(func.inputs(), &inputs);
        let end = self.region(&mut frame, func.body, mask);
        frame.returns.push(end);
        let count = func.sig.outputs().count();
        let returns =
            frame.returns.into_iter().filter(|(mask, values)| is_any(mask) && values.len() == count);
        self.join(&returns.collect::<Vec<_>>(), count)
    }

    /// Runs a region. Returns the threads that reach its end, and what it yields.
    pub fn region(&mut self, frame: &mut Frame<'_>, region: Region, mut mask: Mask) -> Flow {
        let none: Mask = vec![Act::No; self.threads].into();
        for inst in frame.func.regions[region].insts.clone() {
            if !is_any(&mask) || self.fuel == 0 {
                return (none, vec![]);
            }
            let data = &frame.func.insts[inst];
            let values = frame.all(&data.operands);
            match data.op.control() {
                Control::Exit(exit) => {
                    let depth = frame.loops.len();
                    match exit {
                        Exit::Yield => return (mask, values),
                        Exit::Return => frame.returns.push((mask, values)),
                        Exit::Break(n) => frame.loops[depth - 1 - n as usize][0].push((mask, values)),
                        Exit::Continue(n) => frame.loops[depth - 1 - n as usize][1].push((mask, values)),
                    }
                    return (none, vec![]);
                }
                Control::If => {
                    let cond = values[0].number();
                    let picks = |lane| match lane {
                        Lane::Known(n) => Some(usize::from(n == 0)),
                        Lane::Moved(..) | Lane::Unknown => None,
                    };
                    mask = self.choose(frame, inst, &mask, &cond, &picks);
                }
                Control::Switch(cases) => {
                    let picks = |lane| match lane {
                        Lane::Known(n) => Some(cases.iter().position(|c| *c == n).unwrap_or(cases.len())),
                        Lane::Moved(..) | Lane::Unknown => None,
                    };
                    mask = self.choose(frame, inst, &mask, &values[0].number(), &picks);
                }
                Control::While(_) | Control::For(_) => mask = self.looped(frame, inst, &mask),
                Control::Call(callee) => mask = self.call(frame, data, callee, values, mask),
                Control::DiffCall(_) | Control::LinCall(_) => {}
                Control::Plain => self.plain(frame, inst, &mask),
            }
        }
        (none, vec![])
    }

    fn call(
        &mut self,
        frame: &mut Frame<'_>,
        data: &InstData,
        callee: FuncId,
        values: Vec<Known>,
        mask: Mask,
    ) -> Mask {
        let func = &self.module.funcs[callee];
        if func.kind != FuncKind::Defined || self.depth >= DEPTH {
            return mask;
        }
        let around = self.span;
        self.span = if around.is_none() { data.span } else { around };
        self.depth += 1;
        let (end, results) = self.function(func, values, mask.clone());
        self.depth -= 1;
        self.span = around;
        frame.set(&data.results, &results);
        // A function comes back to whoever called it.
        if is_any(&end) { mask } else { end }
    }

    /// The values where flows of threads meet.
    pub fn join(&mut self, flows: &[Flow], count: usize) -> Flow {
        let act = |thread: usize| flows.iter().map(|(mask, _)| mask[thread]).max().unwrap_or(Act::No);
        let mask: Mask = (0..self.threads).map(act).collect();
        let value = |number: usize| {
            let known: Vec<(&Mask, &Known)> =
                flows.iter().filter_map(|(mask, values)| Some((mask, values.get(number)?))).collect();
            self.joined(&known)
        };
        (mask, (0..count).map(value).collect())
    }

    fn joined(&self, flows: &[(&Mask, &Known)]) -> Known {
        let Some((_, first)) = flows.first() else { return Known::Nothing };
        if flows.iter().all(|(_, known)| known == first) {
            return (*first).clone();
        }
        if let Known::Parts(parts) = first {
            let part = |number: usize| {
                let parts: Vec<(&Mask, Known)> =
                    flows.iter().map(|(mask, known)| (*mask, known.part(number))).collect();
                let parts: Vec<(&Mask, &Known)> = parts.iter().map(|(mask, part)| (*mask, part)).collect();
                self.joined(&parts)
            };
            return Known::Parts((0..parts.len()).map(part).collect());
        }
        let numbers: Vec<(&Mask, Lanes)> =
            flows.iter().map(|(mask, known)| (*mask, known.number())).collect();
        Known::Number(Lanes::each(self.threads, |thread| {
            let mut here =
                numbers.iter().filter(|(mask, _)| mask[thread] != Act::No).map(|(_, lanes)| lanes.at(thread));
            let Some(first) = here.next() else { return Lane::Unknown };
            if here.all(|lane| lane == first) { first } else { Lane::Unknown }
        }))
    }

    /// What is known of the condition of a branch.
    pub fn choice(&self, mask: &Mask, cond: &Lanes) -> Choice {
        let mut here =
            (0..self.threads).filter(|thread| mask[*thread] != Act::No).map(|thread| cond.at(thread));
        if here.clone().all(|lane| matches!(lane, Lane::Known(_))) {
            return Choice::Known;
        }
        let Some(first) = here.next() else { return Choice::Known };
        if first != Lane::Unknown && here.all(|lane| lane == first) { Choice::Alike } else { Choice::Apart }
    }

    /// Runs the regions of a branch. `picks` says which, if that is known.
    fn choose(
        &mut self,
        frame: &mut Frame<'_>,
        inst: Inst,
        mask: &Mask,
        cond: &Lanes,
        picks: &dyn Fn(Lane) -> Option<usize>,
    ) -> Mask {
        let data = &frame.func.insts[inst];
        let (regions, results) = (data.regions.clone(), data.results.clone());
        let choice = self.choice(mask, cond);
        let (before, sure, choices) = (self.phase.clone(), self.sure.clone(), self.choices.clone());
        let mut after: Vec<Rc<Access>> = vec![];
        let mut flows = vec![];
        for (number, region) in regions.iter().enumerate() {
            let goes = |thread: usize| match picks(cond.at(thread)) {
                Some(pick) if pick != number => Act::No,
                _ => mask[thread],
            };
            let here: Mask = (0..self.threads).map(goes).collect();
            if choice == Choice::Alike {
                self.phase.clone_from(&before);
                let mut all = (*choices).clone();
                all.push((inst, number));
                self.choices = Rc::new(all);
            } else {
                self.sure = (0..self.threads).map(|t| sure[t] && picks(cond.at(t)).is_some()).collect();
            }
            flows.push(self.region(frame, *region, here));
            if choice == Choice::Alike {
                after = either(after, std::mem::take(&mut self.phase));
            }
        }
        if choice == Choice::Alike {
            self.phase = after;
        }
        (self.sure, self.choices) = (sure, choices);
        // A thread that may have taken either side is certainly here only if neither side has an exit.
        let act = |thread: usize| match picks(cond.at(thread)) {
            Some(pick) => flows.get(pick).map_or(Act::No, |(mask, _)| mask[thread]),
            None => {
                let all = || flows.iter().map(|(mask, _)| mask[thread]);
                if all().all(|act| Some(act) == all().next()) {
                    all().next().unwrap_or(Act::No)
                } else {
                    Act::Maybe
                }
            }
        };
        let end: Mask = (0..self.threads).map(act).collect();
        let known = match (&flows[..], choice) {
            ([(a, then), (b, other)], Choice::Alike) if is_any(a) && is_any(b) => {
                then.iter().zip(other).map(|(a, b)| self.select(cond, a, b)).collect()
            }
            _ => {
                flows.retain(|(mask, _)| is_any(mask));
                self.join(&flows, results.len()).1
            }
        };
        frame.set(&results, &known);
        end
    }

    fn select(&mut self, cond: &Lanes, a: &Known, b: &Known) -> Known {
        if let (Known::Parts(x), Known::Parts(y)) = (a, b) {
            return Known::Parts(x.iter().zip(y.iter()).map(|(a, b)| self.select(cond, a, b)).collect());
        }
        let (a, b) = (a.number(), b.number());
        let symbols = &mut self.symbols;
        Known::Number(Lanes::map(self.threads, &[cond, &a, &b], |all| symbols.select(all[0], all[1], all[2])))
    }

    /// Runs an instruction without regions.
    fn plain(&mut self, frame: &mut Frame<'_>, inst: Inst, mask: &Mask) {
        let data = &frame.func.insts[inst];
        self.fuel = self.fuel.saturating_sub(self.threads);
        if let Op::Barrier(barrier) = &data.op {
            if barrier.sync {
                self.wait(barrier.memory);
            }
            return;
        }
        if let Op::Wave(_) = data.op {
            self.awaited = self.phase.len();
        }
        let place = memory(frame.func, inst);
        if let Some(global) = place.filter(|global| self.watched.contains(global)) {
            self.access(frame, data, global, mask);
        }
        let &[result] = &data.results[..] else { return };
        let known = match place {
            Some(global) if matches!(data.op, Op::Load(_)) => self.loaded(frame, data, global),
            _ => self.computed(frame, data),
        };
        frame.known.insert(result, known);
    }

    /// Whether data choose the element that an access is about.
    fn is_by_data(&self, access: &Access) -> bool {
        let threads = 0..self.threads;
        access.path.iter().any(|lanes| threads.clone().any(|thread| self.symbols.is_data(lanes.at(thread))))
    }

    /// Keeps of the steps that tell groups apart those that do so in this access: multiples of the number of the group, plus less.
    fn own(&mut self, access: &Access) {
        let is_own = |lanes: &Lanes, axis: usize| {
            (0..self.threads).filter(|t| access.threads[*t] != Act::No).all(|t| match lanes.at(t) {
                Lane::Moved(symbol, x) => self.symbols.tells_apart(symbol, x, axis),
                Lane::Known(_) | Lane::Unknown => false,
            })
        };
        let steps = access.path.iter().enumerate();
        let found: Vec<(usize, usize)> = steps
            .flat_map(|(step, lanes)| {
                (0..3).filter(|axis| is_own(lanes, *axis)).map(move |axis| (step, axis)).collect::<Vec<_>>()
            })
            .collect();
        let known = self.owners.entry(access.memory).or_insert_with(|| found.clone());
        known.retain(|step| found.contains(step));
    }

    /// Whether such steps tell all groups apart, if those of a kernel without threads along an axis do not extend along it.
    fn is_own(&self, steps: &[(usize, usize)]) -> bool {
        (0..3).all(|axis| axis > 0 && self.size[axis] == 1 || steps.iter().any(|(_, a)| *a == axis))
    }

    /// All threads come to a barrier. What was done to other memory than it is about is done, too, but perhaps not seen.
    fn wait(&mut self, memory: Memory) {
        let module = self.module;
        let is_shared = |access: &Rc<Access>| module.globals[access.memory].kind == GlobalKind::Shared;
        match memory {
            Memory::All => self.phase.clear(),
            Memory::Group => self.phase.retain(|access| !is_shared(access)),
            Memory::Device => self.phase.retain(is_shared),
        }
        self.awaited = self.phase.len();
    }

    /// The part that an access is about, step by step.
    fn path(&self, frame: &Frame<'_>, data: &InstData) -> Option<Vec<Lanes>> {
        if let Op::Texel | Op::StoreTexel = data.op {
            let at = frame.of(data.operands[1]);
            let Known::Parts(parts) = &at else { return Some(vec![at.number()]) };
            return Some(parts.iter().map(Known::number).collect());
        }
        let path = data.op.path()?;
        let mut indices = data.operands[data.operands.len() - path.indices()..].iter();
        let step = |step: &Step| match step {
            Step::Part(number) => Lanes::All(Lane::Known((*number).into())),
            Step::Index => {
                indices.next().map_or(Lanes::All(Lane::Unknown), |index| frame.of(*index).number())
            }
        };
        Some(path.0.iter().map(step).collect())
    }

    /// Notes an access, and compares it with those since the last barrier.
    fn access(&mut self, frame: &Frame<'_>, data: &InstData, global: Global, mask: &Mask) {
        let Some(path) = self.path(frame, data) else { return };
        let stored = if let Op::Store(_) = data.op {
            Some(data.operands[1])
        } else if let Op::StoreTexel = data.op {
            Some(data.operands[2])
        } else {
            None
        };
        let kind = match (&data.op, stored) {
            (Op::Load(_) | Op::Texel, _) => Kind::Read,
            (Op::Atomic(_), _) => Kind::Atomic,
            (_, Some(value)) if matches!(frame.func.op(value), Some(Op::Const(_) | Op::Zero)) => Kind::Fill,
            _ => Kind::Write,
        };
        let stored = stored.map_or(vec![], |value| numbers(&frame.of(value)));
        // Where a pointer leads, and whether anything is done there, is not followed.
        let is_pointer = matches!(data.op, Op::Point(_));
        let act = |t: usize| match mask[t] {
            Act::Yes if self.sure[t] && !is_pointer => Act::Yes,
            Act::No => Act::No,
            Act::Yes | Act::Maybe => Act::Maybe,
        };
        let span = if self.span.is_none() { data.span } else { self.span };
        let threads = (0..self.threads).map(act).collect();
        let choices = self.choices.clone();
        let access = Access { memory: global, kind, stored, path, threads, choices, span };
        self.own(&access);
        if self.phase.iter().any(|other| **other == access) {
            return;
        }
        for (number, other) in self.phase.iter().enumerate() {
            let most = if number < self.awaited { Clash::Perhaps } else { Clash::Always };
            let clash = other.clash(&access, &self.symbols).min(most);
            if clash != Clash::Never {
                let first = (**other).clone();
                self.found.push(Found {
                    first,
                    second: access.clone(),
                    clash,
                    by_data: self.is_by_data(&access),
                });
            }
        }
        let own = access.clash(&access, &self.symbols);
        if own != Clash::Never {
            let (first, second) = (access.clone(), access.clone());
            self.found.push(Found { first, second, clash: own, by_data: self.is_by_data(&access) });
        }
        self.phase.push(Rc::new(access));
    }
}

/// The numbers of a value, if it can be followed.
fn numbers(known: &Known) -> Vec<Lanes> {
    match known {
        Known::Number(lanes) => vec![lanes.clone()],
        Known::Parts(parts) => {
            let parts: Vec<Vec<Lanes>> = parts.iter().map(numbers).collect();
            if parts.iter().any(Vec::is_empty) { vec![] } else { parts.concat() }
        }
        Known::Nothing => vec![],
    }
}

/// The accesses of two alternative paths through the program.
pub(super) fn either(mut one: Vec<Rc<Access>>, other: Vec<Rc<Access>>) -> Vec<Rc<Access>> {
    for access in other {
        if !one.iter().any(|known| Rc::ptr_eq(known, &access)) {
            one.push(access);
        }
    }
    one
}
