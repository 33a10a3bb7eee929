//! Whether lanes compute the same as threads that run one after the other.
//!
//! Lanes run side by side what the interpreter runs thread by thread. That makes a difference where one thread sees what another
//! has written to memory of the host or of the group. Such threads race, but lanes must not change what a program does, so they
//! refuse:
//!
//! - memory that is read and written, unless all accesses are at indices in a row that keep each thread to elements of its own
//!   ([`rows`](super::rows));
//! - atomic operations whose result is used, and exchanges;
//! - sums of floats by atomic operations, unless by one that runs once for each thread: then they are added in the same order;
//! - memory that is changed by atomic operations and accessed otherwise.
//!
//! What remains are threads that write the same element, or different operations on it: which one is last is not defined.
//!
//! # Segments
//!
//! Threads wait for each other at a barrier, so only the order of accesses between two barriers matters. The code between two
//! barriers is a *segment*:
//!
//! ```text
//!     tile[thread] = ..      segment 0
//!     barrier
//!     .. = tile[63 - thread] segment 1
//! ```
//!
//! Segments are merged where control flow joins: at the ends of the arms of a branch, at the beginning and the end of a loop's
//! body, and at returns.

use super::Lanes;
use super::rows::Row;
use super::value::Leaf;
use crate::compile::Result;
use cotangent_base::Map;
use cotangent_ir::{Atomic, AtomicKind, Global, InstData, Op, Value};

/// The accesses to the memory of a global in a segment.
#[derive(Default)]
struct Use {
    is_read: bool,
    is_written: bool,
    /// How many atomic operations change it.
    atomics: usize,
    /// The indices of all accesses; none if threads may meet at an element.
    row: Option<Option<Row>>,
}

impl Use {
    fn add_row(&mut self, row: Option<Row>) {
        self.row = Some(match self.row.take() {
            None => row,
            Some(known) => known.zip(row).and_then(|(known, row)| known.with(&row)),
        });
    }

    fn merge(&mut self, other: Use) {
        self.is_read |= other.is_read;
        self.is_written |= other.is_written;
        self.atomics += other.atomics;
        if let Some(row) = other.row {
            self.add_row(row);
        }
    }

    fn changes(&self) -> bool {
        self.is_written || self.atomics > 0
    }

    /// Whether the order of threads may be seen.
    fn mixes(&self) -> bool {
        let own = matches!(self.row, Some(Some(_)));
        self.is_read && self.is_written && !own || self.atomics > 0 && (self.is_read || self.is_written)
    }
}

/// The number of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment(usize);

/// What is done to memory.
pub(super) struct Order {
    /// The accesses in each segment. A handle of unknown origin may be that of any buffer.
    segments: Vec<Map<Option<Global>, Use>>,
    /// The segment that a segment was merged with, or itself.
    merged: Vec<usize>,
    here: Segment,
}

impl Default for Order {
    fn default() -> Self {
        Order { segments: vec![Map::default()], merged: vec![0], here: Segment(0) }
    }
}

impl Order {
    /// A segment without code.
    pub fn new_segment(&mut self) -> Segment {
        self.segments.push(Map::default());
        self.merged.push(self.merged.len());
        Segment(self.merged.len() - 1)
    }

    /// The segment where code is emitted.
    pub fn here(&self) -> Segment {
        self.here
    }

    /// Continues in a segment.
    pub fn go_on_in(&mut self, segment: Segment) {
        self.here = segment;
    }

    fn find(&self, segment: Segment) -> usize {
        let mut at = segment.0;
        while self.merged[at] != at {
            at = self.merged[at];
        }
        at
    }

    fn uses(&mut self) -> &mut Map<Option<Global>, Use> {
        let here = self.find(self.here);
        &mut self.segments[here]
    }

    fn is_seen(&self, segment: Segment) -> bool {
        let uses = &self.segments[self.find(segment)];
        let is_any_changed = uses.values().any(Use::changes);
        let is_unknown = uses.contains_key(&None) && is_any_changed && uses.len() > 1;
        uses.values().any(Use::mixes) || is_unknown
    }
}

impl Lanes<'_, '_, '_> {
    /// Merges the current segment with another one, and continues there.
    pub(super) fn meet_segment(&mut self, other: Segment) -> Result<()> {
        let order = &mut self.order;
        let (from, to) = (order.find(order.here), order.find(other));
        if from != to {
            order.merged[from] = to;
            for (global, found) in std::mem::take(&mut order.segments[from]) {
                order.segments[to].entry(global).or_default().merge(found);
            }
        }
        self.check_order()
    }

    fn used(&mut self, handle: Value, index: Option<Value>) -> &mut Use {
        let global = match self.body.func.op(handle) {
            Some(Op::Global(global)) => Some(*global),
            _ => None,
        };
        let row = match index.map(|index| self.leaf(index)) {
            Some(Leaf::Next(first, step)) => self.row_of(first, step),
            _ => None,
        };
        let found = self.order.uses().entry(global).or_default();
        found.add_row(row);
        found
    }

    /// Notes a load. The index is that of the element, if it has one.
    pub(super) fn note_load(&mut self, handle: Value, index: Option<Value>) -> Result<()> {
        self.used(handle, index).is_read = true;
        self.check_order()
    }

    /// Notes a store.
    pub(super) fn note_store(&mut self, handle: Value, index: Option<Value>) -> Result<()> {
        self.used(handle, index).is_written = true;
        self.check_order()
    }

    /// Notes an atomic operation.
    pub(super) fn note_atomic(
        &mut self,
        data: &InstData,
        atomic: &Atomic,
        index: Option<Value>,
    ) -> Result<()> {
        let func = self.body.func;
        let uses = |data: &InstData, value: Value| data.operands.contains(&value);
        let is_used = func.all_insts().into_iter().any(|inst| uses(&func.insts[inst], data.results[0]));
        let exchanges = matches!(atomic.kind, AtomicKind::Exchange | AtomicKind::CompareExchange);
        if is_used || exchanges {
            return self.refuse("atomic operations whose order is seen");
        }
        let is_float = self.body.scalar_of(data.results[0]).is_float();
        let in_loop = self.depth > 0;
        let found = self.used(data.operands[0], index);
        found.atomics += 1;
        if is_float && (found.atomics > 1 || in_loop) {
            return self.refuse("sums of floats by several atomic operations");
        }
        self.check_order()
    }

    /// Refuses what depends on the order of threads.
    fn check_order(&mut self) -> Result<()> {
        if self.order.is_seen(self.order.here) {
            return self.refuse("memory that threads read and write");
        }
        Ok(())
    }
}
