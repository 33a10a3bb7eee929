//! What a backward pass runs again, and what that stores for the time being.
//!
//! A call that keeps no context for its caller runs again in the backward pass, and then keeps one, which is gone when the call has
//! been gone back through. So at any time there are the contexts of calls inside of each other:
//!
//! ```text
//! f.bwd { ..  y, c = call g.primal x  ..  call g.bwd c, ..  }        the context of f, that of g, and what g.bwd makes in its turn
//! ```
//!
//! What is added up here is what all calls in a function keep, and the most that one of them keeps in its turn.

use super::bytes;
use crate::driver::Context;
use cotangent_base::{Map, Set, Span};
use cotangent_ir::{FuncId, Op, Ty};
use cotangent_passes::calls::callees;

/// A loop that runs again in segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmented {
    /// Where it is.
    pub span: Span,
    /// The iterations of a segment, of the lowest level first.
    pub lengths: Vec<u32>,
}

/// The loops that `request` runs again in segments.
pub(super) fn segmented(cx: &Context<'_>, request: FuncId) -> Vec<Segmented> {
    let of: Map<FuncId, FuncId> = cx.reverse.originals();
    let (mut seen, mut open) = (Set::from_iter([request]), vec![request]);
    while let Some(func) = open.pop() {
        let called = callees(&cx.module.funcs[func]).into_iter().chain(of.get(&func).copied());
        open.extend(called.filter(|callee| seen.insert(*callee)));
    }
    let mut found: Vec<Segmented> = Vec::new();
    for cut in cx.reverse.cuts().iter().filter(|cut| cut.units.iter().any(|(unit, _)| seen.contains(unit))) {
        let segmented =
            Segmented { span: cut.span, lengths: cut.units.iter().map(|(_, length)| *length).collect() };
        if !found.contains(&segmented) {
            found.push(segmented);
        }
    }
    found
}

/// The most bytes that contexts take at a time while `request` runs.
pub(crate) fn peak(cx: &Context<'_>, request: FuncId) -> u64 {
    let (halves, contexts) = cx.reverse.keepers();
    Peaks { cx, halves, contexts, known: Map::default() }.of(request)
}

struct Peaks<'a, 'm> {
    cx: &'a Context<'m>,
    /// The primal halves that keep something, and what they keep.
    halves: Set<FuncId>,
    contexts: Set<Ty>,
    known: Map<FuncId, u64>,
}

impl Peaks<'_, '_> {
    fn of(&mut self, func: FuncId) -> u64 {
        if let Some(known) = self.known.get(&func) {
            return *known;
        }
        // A recursive function is not counted twice.
        self.known.insert(func, 0);
        let body = &self.cx.module.funcs[func];
        let (mut own, mut below) = (0, 0);
        for inst in body.all_insts() {
            let Op::Call(callee) = body.insts[inst].op else { continue };
            let mut made: Vec<Ty> = body.insts[inst].results.iter().map(|result| body.ty(*result)).collect();
            if self.halves.contains(&func) && self.halves.contains(&callee) {
                // The caller keeps this in its own context.
                made.pop();
            }
            let made = made.into_iter().filter(|ty| self.contexts.contains(ty));
            own += made.map(|ty| bytes(self.cx.module, ty)).sum::<u64>();
            below = below.max(self.of(callee));
        }
        self.known.insert(func, own + below);
        own + below
    }
}
