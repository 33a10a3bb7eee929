//! Whether lanes give the same as threads one after the other.
//!
//! Lanes run side by side what the interpreter runs thread by thread. That makes a difference where one thread sees what another
//! has written to memory of the host. Such threads race, but lanes must not change what a program does, so they refuse:
//!
//! - memory that is read and written, unless all accesses are at indices in a row that keep each thread to elements of its own
//!   ([`rows`](super::rows));
//! - atomic operations whose result is used, and exchanges;
//! - sums of floats by atomic operations, unless by one that runs once for each thread: then they are added in the same order;
//! - memory that is changed by atomic operations and accessed otherwise.
//!
//! What remains are threads that write the same element, or different operations on it: which one is last is not defined.

use super::Lanes;
use super::rows::Row;
use super::value::Leaf;
use crate::compile::Result;
use cotangent_base::Map;
use cotangent_ir::{Atomic, AtomicKind, Global, InstData, Op, Value};

/// What is done to the memory of a global.
#[derive(Default)]
struct Use {
    is_read: bool,
    is_written: bool,
    /// How many atomic operations change it.
    atomics: usize,
    /// The indices of all accesses; none if threads may meet at an element.
    row: Option<Option<Row>>,
}

/// What is done to memory.
#[derive(Default)]
pub(super) struct Order {
    uses: Map<Option<Global>, Use>,
}

impl Lanes<'_, '_, '_> {
    fn used(&mut self, handle: Value, indices: &[Value]) -> &mut Use {
        let global = match self.body.func.op(handle) {
            Some(Op::Global(global)) => Some(*global),
            _ => None,
        };
        let row = match indices.first().map(|index| self.leaf(*index)) {
            Some(Leaf::Next(first, step)) => self.row_of(first, step),
            _ => None,
        };
        let found = self.order.uses.entry(global).or_default();
        found.row = Some(match found.row.take() {
            None => row,
            Some(known) => known.zip(row).and_then(|(known, row)| known.with(&row)),
        });
        found
    }

    /// Notes a load.
    pub(super) fn note_load(&mut self, handle: Value, indices: &[Value]) -> Result<()> {
        let found = self.used(handle, indices);
        found.is_read = true;
        self.check_order(handle)
    }

    /// Notes a store.
    pub(super) fn note_store(&mut self, handle: Value, indices: &[Value]) -> Result<()> {
        let found = self.used(handle, indices);
        found.is_written = true;
        self.check_order(handle)
    }

    /// Notes an atomic operation.
    pub(super) fn note_atomic(&mut self, data: &InstData, atomic: &Atomic, indices: &[Value]) -> Result<()> {
        let func = self.body.func;
        let uses = |data: &InstData, value: Value| data.operands.contains(&value);
        let is_used = func.all_insts().into_iter().any(|inst| uses(&func.insts[inst], data.results[0]));
        let exchanges = matches!(atomic.kind, AtomicKind::Exchange | AtomicKind::CompareExchange);
        if is_used || exchanges {
            return self.refuse("atomic operations whose order is seen");
        }
        let is_float = self.body.scalar_of(data.results[0]).is_float();
        let in_loop = self.depth > 0;
        let found = self.used(data.operands[0], indices);
        found.atomics += 1;
        if is_float && (found.atomics > 1 || in_loop) {
            return self.refuse("sums of floats by several atomic operations");
        }
        self.check_order(data.operands[0])
    }

    /// Refuses what depends on the order of threads.
    fn check_order(&mut self, handle: Value) -> Result<()> {
        let is_unknown = !matches!(self.body.func.op(handle), Some(Op::Global(_)));
        let is_written = |found: &Use| found.is_written || found.atomics > 0;
        let mixes = |found: &Use| {
            let own = matches!(found.row, Some(Some(_)));
            found.is_read && found.is_written && !own
                || found.atomics > 0 && (found.is_read || found.is_written)
        };
        // A handle of unknown origin may be that of any buffer.
        let unknown = self.order.uses.contains_key(&None) || is_unknown;
        let is_any_written = self.order.uses.values().any(is_written);
        if self.order.uses.values().any(mixes) || unknown && is_any_written && self.order.uses.len() > 1 {
            return self.refuse("memory that threads read and write");
        }
        Ok(())
    }
}
