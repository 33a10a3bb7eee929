//! Runs the threads of a group together on values that are known before a launch, and collects their accesses to watched memory.
//!
//! Where a choice is not known, all sides run: one after the other if threads may choose differently, each for itself if all choose
//! alike. [`loops`](super::loops) runs loops, [`values`](super::values) says what operations give, [`access`](super::access)
//! notes what is done to memory.

use super::clash::{Access, Act, Clash, Mask};
use super::lanes::{Known, Lane, Lanes, Name, Symbols};
use crate::kernel::accesses::memory;
use cotangent_base::{Map, Set, Span};
use cotangent_ir::{
    Control, Exit, Func, FuncId, FuncKind, Global, Inst, InstData, Link, Module, Op, Region, SystemValue,
    Value,
};
use std::rc::Rc;

/// The most instructions that run, and four times as many comparisons of accesses, times the number of threads.
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
    pub size: [u32; 3],
    /// The memory of which something is written.
    pub written: Set<Global>,
    /// The memory whose accesses are collected.
    pub watched: &'m Set<Global>,
    pub symbols: Symbols,
    /// The accesses since the last barrier.
    pub phase: Vec<Rc<Access>>,
    /// How many of them came before an operation on waves, which makes some threads wait.
    pub awaited: usize,
    /// Which threads are here for sure if they came to the region.
    pub sure: Rc<[bool]>,
    pub choices: Rc<Vec<(Inst, usize)>>,
    pub found: Vec<Found>,
    /// For each buffer and texture: the steps that tell groups along an axis apart in all accesses.
    pub owners: Map<Global, Vec<(usize, usize)>>,
    pub fuel: usize,
    depth: usize,
    /// Where the library was called.
    pub span: Span,
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
