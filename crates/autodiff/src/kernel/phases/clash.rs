//! Accesses to memory, and whether different threads may access one element in two of them.
//!
//! Indices with the same symbol are compared exactly. Indices with different symbols are compared modulo the common divisor of the
//! symbols: if `first` and `last` are multiples of 64, then `first + t` and `last + u` differ where `t` and `u` differ modulo 64.

use super::lanes::{Lane, Lanes, Symbols, gcd};
use cotangent_base::{Map, Span};
use cotangent_ir::{Global, Inst};
use std::rc::Rc;

/// Whether a thread executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Act {
    No,
    Maybe,
    Yes,
}

/// Whether each thread executes it.
pub(super) type Mask = Rc<[Act]>;

/// What is done to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    /// Writes a constant.
    Fill,
    Atomic,
}

/// An access of all threads of a group.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Access {
    pub memory: Global,
    pub kind: Kind,
    /// The numbers that are written, if they are known.
    pub stored: Vec<Lanes>,
    /// The steps of the path to the part.
    pub path: Vec<Lanes>,
    pub threads: Mask,
    /// The unknown choices that are the same in all threads: the instruction, and the region that was chosen.
    pub choices: Rc<Vec<(Inst, usize)>>,
    pub span: Span,
}

/// How certain it is that two accesses clash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Clash {
    Never,
    Perhaps,
    Always,
}

/// How a step is compared: exactly, modulo a number, or not at all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Exact,
    Modulo(i64),
    Anything,
}

impl Access {
    /// Whether two threads may access one element, one in this access and one in the other.
    pub fn clash(&self, other: &Access, symbols: &Symbols) -> Clash {
        let harmless = |a: &Access, b: &Access| a.kind == b.kind && a.kind != Kind::Write;
        if self.memory != other.memory || harmless(self, other) {
            return Clash::Never;
        }
        let (own, others) = (self.classes(), other.classes());
        let mut found = Clash::Never;
        for (key, lanes) in &own {
            for (other_key, other_lanes) in &others {
                let ways: Vec<Way> = key.iter().zip(other_key).map(|(a, b)| way(*a, *b, symbols)).collect();
                found = found.max(self.meet(other, (lanes, other_lanes), &ways));
            }
        }
        let together = self.choices.starts_with(&other.choices) || other.choices.starts_with(&self.choices);
        if together { found } else { found.min(Clash::Perhaps) }
    }

    /// The threads that take part, grouped by the symbols in their paths.
    fn classes(&self) -> Map<Vec<Lane>, Vec<usize>> {
        let mut classes: Map<Vec<Lane>, Vec<usize>> = Map::default();
        for thread in (0..self.threads.len()).filter(|thread| self.threads[*thread] != Act::No) {
            let symbol = |lanes: &Lanes| match lanes.at(thread) {
                Lane::Known(_) => Lane::Known(0),
                Lane::Moved(symbol, _) => Lane::Moved(symbol, 0),
                Lane::Unknown => Lane::Unknown,
            };
            classes.entry(self.path.iter().map(symbol).collect()).or_default().push(thread);
        }
        classes
    }

    /// The steps of a thread's path, as they are compared.
    fn key(&self, thread: usize, ways: &[Way]) -> Vec<i64> {
        let steps = self.path.iter().zip(ways).map(|(lanes, way)| {
            let number = match lanes.at(thread) {
                Lane::Known(x) | Lane::Moved(_, x) => x,
                Lane::Unknown => 0,
            };
            match way {
                Way::Exact => number,
                Way::Modulo(m) => number.rem_euclid(*m),
                Way::Anything => 0,
            }
        });
        steps.collect()
    }

    /// Whether two threads write the same value, if that is known. Then their order makes no difference.
    fn writes_the_same(&self, own: usize, other: &Access, thread: usize) -> Option<bool> {
        if self.kind != Kind::Write || other.kind != Kind::Write {
            return Some(false);
        }
        let mut pairs = self.stored.iter().zip(&other.stored).map(|(a, b)| (a.at(own), b.at(thread)));
        let is_known = |(a, b): (Lane, Lane)| a != Lane::Unknown && b != Lane::Unknown;
        if pairs.clone().any(|pair| is_known(pair) && pair.0 != pair.1) {
            return Some(false);
        }
        let is_whole = !self.stored.is_empty() && self.stored.len() == other.stored.len();
        (is_whole && pairs.all(is_known)).then_some(true)
    }

    /// Whether different threads among these of the two accesses access one element.
    fn meet(&self, other: &Access, (own, others): (&[usize], &[usize]), ways: &[Way]) -> Clash {
        let mut met: Map<Vec<i64>, Vec<usize>> = Map::default();
        for thread in own {
            met.entry(self.key(*thread, ways)).or_default().push(*thread);
        }
        let is_exact = ways.iter().all(|way| *way == Way::Exact);
        let mut found = Clash::Never;
        for thread in others {
            for with in met.get(&other.key(*thread, ways)).into_iter().flatten().filter(|t| *t != thread) {
                let is_same = self.writes_the_same(*with, other, *thread);
                if is_same == Some(true) {
                    continue;
                }
                let is_sure = self.threads[*with] == Act::Yes && other.threads[*thread] == Act::Yes;
                if is_exact && is_sure && is_same.is_some() {
                    return Clash::Always;
                }
                found = Clash::Perhaps;
            }
        }
        found
    }
}

fn way(a: Lane, b: Lane, symbols: &Symbols) -> Way {
    let multiple = |lane| match lane {
        Lane::Known(_) => Some(0),
        Lane::Moved(symbol, _) => Some(symbols.multiple(symbol)),
        Lane::Unknown => None,
    };
    match (multiple(a), multiple(b)) {
        (Some(_), Some(_)) if a == b => Way::Exact,
        (Some(m), Some(n)) if gcd(m, n) > 1 => Way::Modulo(gcd(m, n)),
        _ => Way::Anything,
    }
}
