//! Runs loops of all threads of a group.
//!
//! A loop with a known iteration count runs that many iterations. In other loops, each value that changes between iterations
//! becomes a symbol. The body runs until no further value changes, and then once more, so that accesses of different iterations are
//! compared:
//!
//! ```text
//! for (i = t; i < count; i += 64)      i is F + t, where F is some multiple of 64
//! ```

use super::clash::{Act, Mask};
use super::lanes::{Known, Lane, Lanes, Symbol, gcd};
use super::walk::{Choice, Flow, Frame, Walk, either, is_any};
use cotangent_base::Map;
use cotangent_ir::{Control, Inst, InstData};
use std::rc::Rc;

/// The most iterations of a loop with known conditions. After these, the values that it carries become symbols.
const MOST_ITERATIONS: usize = 256;
/// The most times that the body of any other loop runs.
const MOST_ROUNDS: usize = 8;

impl Walk<'_> {
    /// Runs a loop. Returns the threads that reach its end.
    pub(super) fn looped(&mut self, frame: &mut Frame<'_>, inst: Inst, mask: &Mask) -> Mask {
        let data = frame.func.insts[inst].clone();
        let is_counted = matches!(data.op.control(), Control::For(_));
        let lead = usize::from(is_counted);
        let count = is_counted.then(|| frame.of(data.operands[0]).number());
        let mut state = frame.all(&data.operands[lead..]);
        let mut here = mask.clone();
        let mut exits: Vec<Flow> = vec![];
        let left = frame.returns.len() + frame.loops.iter().map(|l| l[0].len() + l[1].len()).sum::<usize>();
        for k in 0.. {
            let number = self.iteration(&data, count.as_ref(), k);
            let cond = self.goes_on(frame, &data, (count.as_ref(), &number), &state, &here);
            if self.choice(&here, &cond) != Choice::Known || k >= MOST_ITERATIONS || self.fuel == 0 {
                exits.push(self.unknown_loop(frame, inst, count.as_ref(), state, &here));
                break;
            }
            let part = |goes: bool| -> Mask {
                let goes = |t: usize| matches!(cond.at(t), Lane::Known(n) if (n != 0) == goes);
                (0..self.threads).map(|t| if goes(t) { here[t] } else { Act::No }).collect()
            };
            let (on, off) = (part(true), part(false));
            exits.push((off, state.clone()));
            if !is_any(&on) {
                break;
            }
            let [breaks, (next, values)] = self.iterate(frame, &data, &number, &state, on);
            exits.push(breaks);
            if !is_any(&next) {
                break;
            }
            (here, state) = (next, values);
        }
        let now = frame.returns.len() + frame.loops.iter().map(|l| l[0].len() + l[1].len()).sum::<usize>();
        exits.retain(|(mask, _)| is_any(mask));
        let (end, known) = self.join(&exits, data.results.len());
        frame.set(&data.results, &known);
        // A thread that may have left by another exit is perhaps here.
        let arrives = |t: usize| {
            if now > left {
                end[t]
            } else if end[t] == Act::No {
                Act::No
            } else {
                mask[t]
            }
        };
        (0..self.threads).map(arrives).collect()
    }

    /// The number of an iteration.
    fn iteration(&self, data: &InstData, count: Option<&Lanes>, k: usize) -> Option<Lanes> {
        let Control::For(info) = data.op.control() else { return None };
        let k = k as i64;
        let number = |lane: &[Lane]| match lane[0] {
            Lane::Known(n) if info.reversed => Lane::Known(n - 1 - k),
            Lane::Known(_) | Lane::Moved(..) | Lane::Unknown => Lane::Known(k),
        };
        Some(Lanes::map(self.threads, &[count?], number))
    }

    /// Whether each thread runs another iteration.
    fn goes_on(
        &mut self,
        frame: &mut Frame<'_>,
        data: &InstData,
        (count, number): (Option<&Lanes>, &Option<Lanes>),
        state: &[Known],
        here: &Mask,
    ) -> Lanes {
        if let (Some(count), Some(number)) = (count, number) {
            let Control::For(info) = data.op.control() else { return Lanes::All(Lane::Unknown) };
            let goes = |lane: &[Lane]| match (lane[0], lane[1]) {
                (Lane::Known(k), Lane::Known(n)) => {
                    Lane::Known(if info.reversed { k >= 0 } else { k < n }.into())
                }
                (_, Lane::Moved(s, n)) => Lane::Moved(s, n),
                (_, Lane::Known(_) | Lane::Unknown) => Lane::Unknown,
            };
            return Lanes::map(self.threads, &[number, count], goes);
        }
        let region = data.regions[0];
        frame.set(&frame.func.regions[region].args.clone(), state);
        let (_, cond) = self.region(frame, region, here.clone());
        cond.first().map_or(Lanes::All(Lane::Unknown), Known::number)
    }

    /// Runs the body of a loop once. Returns the threads that left the loop, and those that go on.
    fn iterate(
        &mut self,
        frame: &mut Frame<'_>,
        data: &InstData,
        number: &Option<Lanes>,
        state: &[Known],
        on: Mask,
    ) -> [Flow; 2] {
        let body = data.regions[data.regions.len() - 1];
        let counter = number.iter().map(|number| Known::Number(number.clone()));
        let given: Vec<Known> = counter.chain(state.iter().cloned()).collect();
        frame.set(&frame.func.regions[body].args.clone(), &given);
        frame.loops.push([vec![], vec![]]);
        let end = self.region(frame, body, on);
        let [breaks, mut goes_on] = frame.loops.pop().unwrap_or_default();
        goes_on.push(end);
        [breaks, goes_on].map(|mut flows| {
            flows.retain(|(mask, _)| is_any(mask));
            self.join(&flows, state.len())
        })
    }

    /// Runs a loop whose iteration count is unknown.
    fn unknown_loop(
        &mut self,
        frame: &mut Frame<'_>,
        inst: Inst,
        count: Option<&Lanes>,
        state: Vec<Known>,
        here: &Mask,
    ) -> Flow {
        let data = frame.func.insts[inst].clone();
        let (before, sure, choices) = (self.phase.clone(), self.sure.clone(), self.choices.clone());
        let mut steps: Vec<Option<Change>> = vec![None; state.len()];
        let (mut changed, mut alike) = (true, true);
        let mut rounds = 0;
        // Once more after the last change, so that accesses of two iterations are compared.
        while (changed || rounds < 3) && rounds < MOST_ROUNDS && self.fuel > 0 {
            rounds += 1;
            let now = self.general(&state, &steps);
            let number = count.map(|_| Lanes::All(Lane::Moved(self.symbols.fresh(1), 0)));
            let cond = self.goes_on(frame, &data, (count, &number), &now, here);
            let choice = self.choice(here, &cond);
            if choice == Choice::Alike {
                let mut all = (*choices).clone();
                all.push((inst, 0));
                self.choices = Rc::new(all);
            } else if choice == Choice::Apart {
                self.sure =
                    (0..self.threads).map(|t| sure[t] && matches!(cond.at(t), Lane::Known(_))).collect();
                alike = false;
            }
            let goes = |t: usize| if cond.at(t) == Lane::Known(0) { Act::No } else { here[t] };
            let on: Mask = (0..self.threads).map(goes).collect();
            let [(breaks, _), (_, next)] = self.iterate(frame, &data, &number, &now, on);
            alike &= !is_any(&breaks);
            changed = false;
            for ((step, now), next) in steps.iter_mut().zip(&now).zip(&next) {
                if now != next {
                    let more = Change::between(now, next, self.threads);
                    let both = step.map_or(more, |step| step.and(more));
                    changed |= *step != Some(both);
                    *step = Some(both);
                }
            }
            (self.sure, self.choices) = (sure.clone(), choices.clone());
        }
        self.phase = either(before, std::mem::take(&mut self.phase));
        let mut end = self.general(&state, &steps);
        for (known, step) in end.iter_mut().zip(&steps) {
            if step.is_some() && !alike {
                *known = Known::Nothing;
            }
        }
        (here.clone(), end)
    }

    /// The values that a loop carries in some iteration.
    fn general(&mut self, state: &[Known], steps: &[Option<Change>]) -> Vec<Known> {
        let pairs = state.iter().zip(steps);
        pairs.map(|(known, step)| step.map_or(known.clone(), |step| self.moved(known, step))).collect()
    }

    /// A number that a loop moves.
    fn moved(&mut self, known: &Known, change: Change) -> Known {
        let Known::Number(lanes) = known else { return Known::Nothing };
        match change {
            Change::By(step) => {
                let mut symbols: Map<Option<Symbol>, Symbol> = Map::default();
                let (threads, all) = (self.threads, &mut self.symbols);
                let mut shifted = |lane: Lane| {
                    let (of, x, multiple) = match lane {
                        Lane::Known(x) => (None, x, 0),
                        Lane::Moved(s, x) => (Some(s), x, all.multiple(s)),
                        Lane::Unknown => return Lane::Unknown,
                    };
                    let symbol = *symbols.entry(of).or_insert_with(|| all.fresh(gcd(step, multiple).max(1)));
                    Lane::Moved(symbol, x)
                };
                Known::Number(Lanes::map(threads, &[lanes], |lane| shifted(lane[0])))
            }
            Change::Alike => Known::Number(Lanes::All(Lane::Moved(self.symbols.fresh(1), 0))),
            Change::Apart => Known::UNKNOWN,
        }
    }
}

/// How a number changes from iteration to iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// By a multiple of that, in all threads alike.
    By(i64),
    /// In all threads alike, which have one number.
    Alike,
    Apart,
}

impl Change {
    fn between(now: &Known, next: &Known, threads: usize) -> Change {
        let (Known::Number(now), Known::Number(next)) = (now, next) else { return Change::Apart };
        let by = |t: usize| match (now.at(t), next.at(t)) {
            (Lane::Known(a), Lane::Known(b)) => Some(b - a),
            (Lane::Moved(s, a), Lane::Moved(r, b)) if s == r => Some(b - a),
            _ => None,
        };
        let first = by(0);
        if let Some(step) = first.filter(|_| (1..threads).all(|t| by(t) == first)) {
            return Change::By(step);
        }
        let alike = |lanes: &Lanes| matches!(lanes, Lanes::All(lane) if *lane != Lane::Unknown);
        if alike(now) && alike(next) { Change::Alike } else { Change::Apart }
    }

    fn and(self, other: Change) -> Change {
        match (self, other) {
            (Change::By(a), Change::By(b)) => Change::By(gcd(a, b)),
            (Change::Apart, _) | (_, Change::Apart) => Change::Apart,
            (Change::Alike, _) | (_, Change::Alike) => Change::Alike,
        }
    }
}
