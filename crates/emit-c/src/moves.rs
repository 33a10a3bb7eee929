//! Orders parallel assignments. Input: moves that happen at once. Output: C++ statements, one after the other.
//!
//! Exits, loop entries and calls assign several variables "at once": every source is read before any target is written. No
//! other module orders such assignments:
//!
//! ```text
//! (x, y) = (x * k, x + y)        y = x + y;   x = x * k;                    // what reads `x` comes before what writes it
//! (x, y) = (y, x)                const float copy = x;   x = y;   y = copy;  // a cycle: a copy breaks it
//! ```
//!
//! A source is an expression. It may read any number of variables ([`Expr::slots`]), wholly or in part.

use crate::expr::Expr;
use crate::func::FuncEmitter;
use cotangent_base::Map;
use cotangent_ir::{FuncId, InstData, Value};
use cotangent_passes::place::{Slot, is_large};

/// What is assigned.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Slot(Slot),
    /// An output reference. It is not a slot, so no source reads it.
    Output(String),
}

/// One of several assignments that happen at once.
pub(crate) struct Move {
    pub value: Value,
    pub from: Expr,
    pub to: Target,
}

impl Move {
    fn slot(&self) -> Option<Slot> {
        match self.to {
            Target::Slot(slot) => Some(slot),
            Target::Output(_) => None,
        }
    }

    fn reads(&self, slot: Slot) -> bool {
        self.from.slots.contains(&slot)
    }

    /// The slots it reads, each once, without the one it writes.
    fn read(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> =
            self.from.slots.iter().copied().filter(|s| Some(*s) != self.slot()).collect();
        slots.sort();
        slots.dedup();
        slots
    }
}

impl FuncEmitter<'_, '_> {
    /// Writes all targets as if every source were read first.
    pub fn at_once(&mut self, moves: Vec<Move>) {
        let mut left: Vec<Move> = moves.into_iter().filter(|m| !self.is_there(m)).collect();
        let mut readers: Map<Slot, usize> = Map::default();
        left.iter().flat_map(Move::read).for_each(|slot| *readers.entry(slot).or_default() += 1);
        while !left.is_empty() {
            let is_free =
                |m: &Move| m.slot().is_none_or(|slot| readers.get(&slot).is_none_or(|count| *count == 0));
            let next = left.iter().position(is_free).unwrap_or_else(|| {
                let next = self.cheapest_cut(&left);
                let slot = left[next].slot().expect("outputs are never in a cycle");
                for m in
                    left.iter_mut().enumerate().filter(|(n, m)| *n != next && m.reads(slot)).map(|(_, m)| m)
                {
                    m.read().iter().for_each(|slot| *readers.entry(*slot).or_default() -= 1);
                    m.from = self.copy(m.value, &m.from);
                }
                next
            });
            let m = left.remove(next);
            m.read().iter().for_each(|slot| *readers.entry(*slot).or_default() -= 1);
            self.where_made(m.value, |e| match &m.to {
                Target::Slot(slot) => e.write_slot(*slot, &m.from),
                Target::Output(name) => e.line(&format!("{name} = {};", m.from.text)),
            });
        }
    }

    /// Whether the target already holds the source.
    fn is_there(&self, m: &Move) -> bool {
        m.slot().is_some_and(|slot| m.from.text == self.slot_names[slot])
    }

    /// The move that needs the fewest copies: before it, every other move that reads its target must be copied.
    fn cheapest_cut(&self, left: &[Move]) -> usize {
        let cost = |number: &usize| {
            let slot = left[*number].slot();
            let readers =
                left.iter().enumerate().filter(|(n, m)| n != number && slot.is_some_and(|s| m.reads(s)));
            let sizes: Vec<bool> =
                readers.map(|(_, m)| is_large(&self.e.module.types, self.func.ty(m.value))).collect();
            (sizes.iter().filter(|large| **large).count(), sizes.len())
        };
        (0..left.len()).min_by_key(cost).unwrap_or_default()
    }

    /// Copies the present value of an expression to a new variable.
    fn copy(&mut self, value: Value, expr: &Expr) -> Expr {
        let wish = self.func.values[value].name.filter(|_| self.places.slot(value).is_none());
        let name = self.names.fresh(wish.as_ref().map_or("copy", |n| n.as_str()));
        let ty = self.e.constant(self.func.ty(value));
        self.where_made(value, |e| e.line(&format!("{ty} {name} = {};", expr.text)));
        Expr::name(name)
    }

    /// The arguments of a call. Values that the callee updates in place are moved to their variable first. An argument that it
    /// reads through a reference is copied if the callee could change it, by its results or by writing memory.
    pub fn arguments(&mut self, data: &InstData, callee: FuncId) -> Vec<Expr> {
        let passed = &self.e.places[&callee].passed;
        let mut args: Vec<Expr> = data.operands.iter().map(|operand| self.value(*operand)).collect();
        let mut moves = Vec::new();
        for (output, input) in passed.iter().enumerate().filter_map(|(o, i)| Some((o, (*i)?))) {
            let slot = self.places.slot(data.results[output]).expect("it is a reference");
            let name = Expr::name(self.slot_names[slot].clone());
            let from = std::mem::replace(&mut args[input], name);
            moves.push(Move { value: data.operands[input], from, to: Target::Slot(slot) });
        }
        let results: Vec<Slot> = data.results.iter().filter_map(|r| self.places.slot(*r)).collect();
        let brought: Vec<Slot> = moves.iter().filter(|m| !self.is_there(m)).filter_map(Move::slot).collect();
        let writes = self.e.writing.contains(&callee);
        for (number, operand) in data.operands.iter().enumerate() {
            let arg = &args[number];
            let reads = |slots: &[Slot]| arg.slots.iter().any(|slot| slots.contains(slot));
            let borrowed = self.e.is_borrowed(callee, number);
            if reads(&brought) || borrowed && (reads(&results) || arg.memory && writes) {
                args[number] = self.copy(*operand, &args[number].clone());
            }
        }
        self.at_once(moves);
        args
    }
}
