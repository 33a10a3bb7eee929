//! Values that all threads of a group have, as far as they are known before a launch.
//!
//! ```text
//! t                    0, 1, 2, ..
//! first + t            F, F + 1, F + 2, ..        where `first` is unknown, but the same in all threads
//! weights[t]           unknown
//! ```
//!
//! A [`Symbol`] stands for an unknown number. Numbers with the same name are equal. Equal operations on equal operands have one
//! name.

use cotangent_base::{Map, Scalar, Set};
use cotangent_ir::eval::Eval;
use cotangent_ir::{Const, Global, Math, Path};
use std::rc::Rc;

/// What is known of a number in one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Lane {
    Known(i64),
    /// A symbol plus a number.
    Moved(Symbol, i64),
    Unknown,
}

/// An unknown number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Symbol(u32);

/// The name of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Name {
    /// The number of the group along an axis.
    Group(u32),
    /// A part of a uniform.
    Uniform(Global, Vec<u32>),
    /// A load from memory that does not change.
    Loaded(Global, Path, Vec<Lane>, u32),
    /// A float.
    Float(u64),
    /// A multiple of another symbol, or a fraction.
    Times(Symbol, i64),
    Over(Symbol, i64),
    Math(Math, Vec<Lane>),
    Convert(Scalar, Lane),
    Select(Vec<Lane>),
    /// A value that a loop carries, or that memory holds.
    Fresh(u32),
}

/// The symbols of a kernel.
#[derive(Default)]
pub(super) struct Symbols {
    names: Map<Name, Symbol>,
    /// For each symbol, a divisor.
    multiples: Vec<i64>,
    /// The symbols that depend on data, separately in each thread.
    data: Set<Symbol>,
    /// The symbols that are multiples of other symbols.
    scaled: Map<Symbol, (Symbol, i64)>,
    fresh: u32,
}

impl Symbols {
    /// The symbol of that name, which is a multiple of `multiple`.
    pub fn named(&mut self, name: Name, multiple: i64) -> Lane {
        let next = Symbol(self.multiples.len() as u32);
        let symbol = *self.names.entry(name).or_insert(next);
        if symbol == next {
            self.multiples.push(multiple.unsigned_abs().min(i64::MAX as u64) as i64);
        }
        Lane::Moved(symbol, 0)
    }

    /// The symbol of that name, for a value that each thread reads at an index of its own.
    pub fn chosen(&mut self, name: Name) -> Lane {
        let lane = self.named(name, 1);
        if let Lane::Moved(symbol, _) = lane {
            self.data.insert(symbol);
        }
        lane
    }

    /// Whether data choose a number.
    pub fn is_data(&self, lane: Lane) -> bool {
        matches!(lane, Lane::Moved(symbol, _) if self.data.contains(&symbol))
    }

    /// A new symbol.
    pub fn fresh(&mut self, multiple: i64) -> Symbol {
        self.fresh += 1;
        let Lane::Moved(symbol, _) = self.named(Name::Fresh(self.fresh), multiple) else {
            unreachable!("a name has a symbol")
        };
        symbol
    }

    /// Whether `symbol + x` differs between groups along an axis: it is `factor` times the number of the group, plus a number below
    /// `factor`.
    pub fn tells_apart(&self, symbol: Symbol, x: i64, axis: usize) -> bool {
        let Some(group) = self.names.get(&Name::Group(axis as u32)) else { return false };
        let scaled = self.scaled.get(&symbol).filter(|(of, _)| of == group);
        symbol == *group && x == 0 || scaled.is_some_and(|(_, by)| (0..*by).contains(&x))
    }

    /// A divisor of a symbol.
    pub fn multiple(&self, symbol: Symbol) -> i64 {
        self.multiples[symbol.0 as usize]
    }

    /// An element-wise operation on numbers of one type.
    pub fn math(&mut self, eval: Eval, math: Math, scalar: Scalar, operands: &[Lane]) -> Lane {
        if let Some(lane) = known(eval, math, scalar, operands) {
            return lane;
        }
        if scalar == Scalar::Bool && operands.contains(&Lane::Known(0)) && math == Math::And {
            return Lane::Known(0);
        }
        if scalar == Scalar::Bool && operands.contains(&Lane::Known(1)) && math == Math::Or {
            return Lane::Known(1);
        }
        if operands.contains(&Lane::Unknown) {
            return Lane::Unknown;
        }
        let whole = if scalar.is_int() { self.whole(math, operands) } else { None };
        whole.unwrap_or_else(|| {
            let name = Name::Math(math, operands.to_vec());
            if operands.iter().any(|lane| self.is_data(*lane)) {
                self.chosen(name)
            } else {
                self.named(name, 1)
            }
        })
    }

    /// An operation on integers, one of which is a symbol.
    fn whole(&mut self, math: Math, operands: &[Lane]) -> Option<Lane> {
        let &[a, b] = operands else { return None };
        match (math, a, b) {
            (Math::Add, Lane::Moved(s, x), Lane::Known(y))
            | (Math::Add, Lane::Known(y), Lane::Moved(s, x)) => Some(Lane::Moved(s, wrapped(x + y))),
            (Math::Sub, Lane::Moved(s, x), Lane::Known(y)) => Some(Lane::Moved(s, wrapped(x - y))),
            (Math::Sub, Lane::Moved(s, x), Lane::Moved(r, y)) if s == r => Some(Lane::Known(wrapped(x - y))),
            (Math::Add, Lane::Moved(s, x), Lane::Moved(r, y)) => {
                let multiple = gcd(self.multiple(s), self.multiple(r));
                let mut both = [Lane::Moved(s, 0), Lane::Moved(r, 0)];
                both.sort_by_key(|lane| if let Lane::Moved(Symbol(number), _) = lane { *number } else { 0 });
                let sum = self.named(Name::Math(Math::Add, both.to_vec()), multiple);
                moved(sum, x + y)
            }
            (Math::Mul, Lane::Moved(s, x), Lane::Known(c))
            | (Math::Mul, Lane::Known(c), Lane::Moved(s, x)) => self.times(s, x, c),
            (Math::Shl, Lane::Moved(s, x), Lane::Known(n)) if (0..31).contains(&n) => {
                self.times(s, x, 1 << n)
            }
            (Math::Rem, Lane::Moved(s, x), Lane::Known(m)) if self.divides(m, s) && x >= 0 => {
                Some(Lane::Known(x % m))
            }
            (Math::And, Lane::Moved(s, x), Lane::Known(m)) if self.divides(m + 1, s) && is_power(m + 1) => {
                Some(Lane::Known(x & m))
            }
            (Math::Xor, Lane::Moved(s, x), Lane::Known(m))
            | (Math::Xor, Lane::Known(m), Lane::Moved(s, x))
                if m >= 0 && x >= 0 && self.divides((m + 1).unsigned_abs().next_power_of_two() as i64, s) =>
            {
                Some(Lane::Moved(s, x ^ m))
            }
            (Math::Div, Lane::Moved(s, x), Lane::Known(m)) if self.divides(m, s) && x >= 0 => {
                self.over(s, x, m)
            }
            (Math::Shr, Lane::Moved(s, x), Lane::Known(n))
                if (0..31).contains(&n) && self.divides(1 << n, s) && x >= 0 =>
            {
                self.over(s, x, 1 << n)
            }
            (Math::Eq, Lane::Moved(s, x), Lane::Moved(r, y)) if s == r => Some(Lane::Known((x == y).into())),
            (Math::Ne, Lane::Moved(s, x), Lane::Moved(r, y)) if s == r => Some(Lane::Known((x != y).into())),
            _ => None,
        }
    }

    fn times(&mut self, s: Symbol, x: i64, c: i64) -> Option<Lane> {
        if c == 0 {
            return Some(Lane::Known(0));
        }
        let multiple = self.multiple(s).checked_mul(c)?;
        moved(self.multiplied(s, c, multiple), x.checked_mul(c)?)
    }

    /// A symbol times a number.
    fn multiplied(&mut self, s: Symbol, c: i64, multiple: i64) -> Lane {
        if c == 1 {
            return Lane::Moved(s, 0);
        }
        let (of, by) = self.scaled.get(&s).copied().unwrap_or((s, 1));
        let Some(by) = by.checked_mul(c) else { return Lane::Unknown };
        let all = self.named(Name::Times(of, by), multiple);
        if let Lane::Moved(symbol, _) = all {
            self.scaled.insert(symbol, (of, by));
        }
        all
    }

    /// The first thread number of the group along an axis, counted in the whole dispatch.
    pub fn base(&mut self, axis: usize, threads: i64) -> Lane {
        let Lane::Moved(group, _) = self.named(Name::Group(axis as u32), 1) else { return Lane::Unknown };
        self.multiplied(group, threads, threads)
    }

    fn over(&mut self, s: Symbol, x: i64, m: i64) -> Option<Lane> {
        let part = self.named(Name::Over(s, m), self.multiple(s) / m);
        moved(part, x / m)
    }

    fn divides(&self, m: i64, s: Symbol) -> bool {
        m > 0 && self.multiple(s) % m == 0
    }

    /// One of two numbers.
    pub fn select(&mut self, cond: Lane, a: Lane, b: Lane) -> Lane {
        if let Lane::Known(cond) = cond {
            return if cond != 0 { a } else { b };
        }
        if a == b {
            a
        } else if [cond, a, b].contains(&Lane::Unknown) {
            Lane::Unknown
        } else {
            self.named(Name::Select(vec![cond, a, b]), 1)
        }
    }
}

fn moved(lane: Lane, by: i64) -> Option<Lane> {
    let Lane::Moved(symbol, x) = lane else { return None };
    Some(Lane::Moved(symbol, wrapped(x + by)))
}

/// Indices have 32 bits.
fn wrapped(x: i64) -> i64 {
    i64::from(x as i32)
}

fn is_power(n: i64) -> bool {
    n > 0 && n & (n - 1) == 0
}

/// The greatest common divisor; that of a number and zero is the number.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// The result if all operands are known.
fn known(eval: Eval, math: Math, scalar: Scalar, operands: &[Lane]) -> Option<Lane> {
    let constant = |lane: &Lane| match lane {
        Lane::Known(n) if scalar == Scalar::Bool => Some(Const::Bool(*n != 0)),
        Lane::Known(n) if scalar.is_int() => Some(Const::Int(*n)),
        Lane::Known(_) | Lane::Moved(..) | Lane::Unknown => None,
    };
    let constants: Vec<Const> = operands.iter().map(constant).collect::<Option<_>>()?;
    of_const(eval.math(math, scalar, &constants).ok()?)
}

/// A constant, unless it is a float.
pub(super) fn of_const(constant: Const) -> Option<Lane> {
    match constant {
        Const::Bool(b) => Some(Lane::Known(b.into())),
        Const::Int(n) => Some(Lane::Known(n)),
        Const::Float(_) => None,
    }
}

/// A number in all threads.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Lanes {
    All(Lane),
    Each(Rc<[Lane]>),
}

impl Lanes {
    pub fn at(&self, thread: usize) -> Lane {
        match self {
            Lanes::All(lane) => *lane,
            Lanes::Each(lanes) => lanes[thread],
        }
    }

    /// The results of a function for each thread; one number if all are equal.
    pub fn each(threads: usize, mut lane: impl FnMut(usize) -> Lane) -> Lanes {
        let all: Rc<[Lane]> = (0..threads).map(&mut lane).collect();
        match all.first() {
            Some(first) if all.iter().all(|lane| lane == first) => Lanes::All(*first),
            _ => Lanes::Each(all),
        }
    }

    /// The result of a function of each thread's numbers.
    pub fn map(threads: usize, operands: &[&Lanes], mut f: impl FnMut(&[Lane]) -> Lane) -> Lanes {
        let uniform: Option<Vec<Lane>> = operands
            .iter()
            .map(|lanes| if let Lanes::All(lane) = lanes { Some(*lane) } else { None })
            .collect();
        match uniform {
            Some(lanes) => Lanes::All(f(&lanes)),
            None => Lanes::each(threads, |thread| {
                let lanes: Vec<Lane> = operands.iter().map(|lanes| lanes.at(thread)).collect();
                f(&lanes)
            }),
        }
    }
}

/// A value in all threads: a number, an aggregate of few parts, or unknown.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Known {
    Number(Lanes),
    Parts(Rc<[Known]>),
    Nothing,
}

impl Known {
    pub const UNKNOWN: Known = Known::Number(Lanes::All(Lane::Unknown));

    /// The number, if it is known.
    pub fn number(&self) -> Lanes {
        match self {
            Known::Number(lanes) => lanes.clone(),
            Known::Parts(_) | Known::Nothing => Lanes::All(Lane::Unknown),
        }
    }

    /// A part of an aggregate.
    pub fn part(&self, number: usize) -> Known {
        match self {
            Known::Parts(parts) => parts.get(number).cloned().unwrap_or(Known::Nothing),
            Known::Number(_) | Known::Nothing => Known::Nothing,
        }
    }
}
