//! Notes what all threads of a group do to memory, and compares it with what they did since the last barrier.

use super::clash::{Access, Act, Clash, Kind, Mask};
use super::lanes::{Known, Lane, Lanes};
use super::walk::{Found, Frame, Walk};
use cotangent_ir::{Global, GlobalKind, InstData, Memory, Op, Step};
use std::rc::Rc;

impl Walk<'_> {
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
    pub(super) fn is_own(&self, steps: &[(usize, usize)]) -> bool {
        (0..3).all(|axis| axis > 0 && self.size[axis] == 1 || steps.iter().any(|(_, a)| *a == axis))
    }

    /// All threads come to a barrier. What was done to other memory than it is about is done, too, but perhaps not seen.
    pub(super) fn wait(&mut self, memory: Memory) {
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
    pub(super) fn access(&mut self, frame: &Frame<'_>, data: &InstData, global: Global, mask: &Mask) {
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
        for (number, other) in self.phase.clone().iter().enumerate() {
            if self.fuel == 0 {
                return;
            }
            self.fuel = self.fuel.saturating_sub(self.threads.div_ceil(4));
            let most = if number < self.awaited { Clash::Perhaps } else { Clash::Always };
            let clash = other.clash(&access, &self.symbols).min(most);
            if clash != Clash::Never {
                self.note(other, &access, clash);
            }
        }
        let own = access.clash(&access, &self.symbols);
        if own != Clash::Never {
            self.note(&access, &access, own);
        }
        self.phase.push(Rc::new(access));
    }

    /// Notes a clash, unless one like it is known for the same two places of the source.
    fn note(&mut self, first: &Access, second: &Access, clash: Clash) {
        let by_data = self.is_by_data(second);
        let is_known = |found: &Found| {
            (found.first.span, found.second.span) == (first.span, second.span)
                && (found.first.kind, found.second.kind) == (first.kind, second.kind)
                && (found.first.memory, found.clash, found.by_data) == (first.memory, clash, by_data)
        };
        if !self.found.iter().any(is_known) {
            self.found.push(Found { first: first.clone(), second: second.clone(), clash, by_data });
        }
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
