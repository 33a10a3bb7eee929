//! Functions whose outputs carry a derivative although no argument does.
//!
//! A custom derivative may read gradients from memory, so what it belongs to gives a derivative whatever goes in. So does a
//! differentiable function that passes such a value on: an accessor, or a wrapper of one. Its body is followed as that of any
//! function is, but from no parameter. A requirement that is marked although nothing differentiable goes in is implemented by
//! one of these.

use super::Flow;
use crate::Checked;
use crate::derive::Signature;
use crate::hir::{FuncId, Inline, Program};
use cotangent_base::Map;

/// More calls than this inside one another are not followed.
const MOST_NESTED: usize = 200;

/// The outputs that carry a derivative although no argument does.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::derive) struct Given {
    /// The result.
    pub(super) result: bool,
    /// A parameter that is written.
    pub(super) written: bool,
}

/// What is known about functions, and which of them are being followed.
///
/// Functions that call one another are followed in rounds, each with the answers of the last, until these stay the same. So
/// each of them is followed once per round, and the first answer is that nothing carries a derivative.
#[derive(Clone, Default, Debug)]
pub(in crate::derive) struct Givers {
    known: Map<FuncId, Given>,
    /// The functions being followed, each called by the one before.
    open: Vec<FuncId>,
    /// The first of them that was asked for again, by one that it calls.
    awaited: Option<usize>,
    /// The answers for functions that call one that is awaited, and the round that they are of.
    assumed: Map<FuncId, (Given, u32)>,
    round: u32,
    /// Whether this round changed one of them.
    changed: bool,
}

impl Givers {
    /// The answer for a function, if it need not be followed now.
    fn answer(&mut self, func: FuncId) -> Option<Given> {
        if let Some(known) = self.known.get(&func) {
            return Some(*known);
        }
        let assumed = self.assumed.get(&func).copied();
        if let Some(at) = self.open.iter().position(|open| *open == func) {
            self.awaited = Some(self.awaited.map_or(at, |first| first.min(at)));
            return Some(assumed.map_or(Given::default(), |(given, _)| given));
        }
        assumed.filter(|(_, round)| *round == self.round).map(|(given, _)| given)
    }

    /// Notes the answer for the function that was opened last. Gives whether that is all, or another round must follow.
    fn close(&mut self, func: FuncId, given: Given) -> bool {
        let at = self.open.len() - 1;
        if self.awaited.is_some() {
            let before = self.assumed.get(&func).map_or(Given::default(), |(given, _)| *given);
            let given =
                Given { result: given.result | before.result, written: given.written | before.written };
            self.changed |= given != before;
            self.assumed.insert(func, (given, self.round));
        } else {
            self.known.insert(func, given);
        }
        if self.awaited == Some(at) {
            self.awaited = None;
            if std::mem::take(&mut self.changed) {
                self.round += 1;
                return false;
            }
            let settled = std::mem::take(&mut self.assumed);
            self.known.extend(settled.into_iter().map(|(func, (given, _))| (func, given)));
        }
        self.open.pop();
        true
    }
}

impl Program {
    /// Whether a function has a custom derivative.
    pub(super) fn is_by_hand(&self, func: FuncId) -> bool {
        let diff = &self.funcs[func].diff;
        !diff.constant && (diff.forward.is_some() || diff.backward.is_some() || diff.apply.is_some())
    }
}

impl Checked {
    /// Which outputs of a function carry a derivative even if no argument does.
    pub(super) fn given_by(&mut self, func: FuncId) -> Given {
        let all = Given { result: !self.program.funcs[func].no_diff_result, written: true };
        if self.program.is_by_hand(func) {
            return all;
        }
        let info = &self.program.funcs[func];
        let by_rule = info.diff.rule.is_some() || info.diff.substitute.is_some() || info.diff.constant;
        if by_rule || info.diff.differentiable.is_none() && info.inline != Inline::Early {
            return Given::default();
        }
        let givers = self.tables.derivatives.givers();
        if let Some(answer) = givers.answer(func) {
            return answer;
        }
        if givers.open.len() == MOST_NESTED {
            return all;
        }
        givers.open.push(func);
        loop {
            let given = self.given_by_body(func, all);
            let given = Given { result: given.result && all.result, ..given };
            let givers = self.tables.derivatives.givers();
            if givers.close(func, given) {
                return givers.answer(func).unwrap_or(given);
            }
        }
    }

    fn given_by_body(&mut self, func: FuncId, all: Given) -> Given {
        let generics = self.tables.funcs[func].generics;
        let saved = self.enter(generics);
        let given = match self.check_body(func) {
            Some(body) => Flow::new(self, func, &body).carry_from_nothing(),
            None if self.takes_derivatives(func) => Given::default(),
            None => all,
        };
        self.leave(saved);
        given
    }

    /// Whether a derivative can go into a function.
    fn takes_derivatives(&mut self, func: FuncId) -> bool {
        let params = Signature::of(&self.program.funcs[func]).params;
        params.iter().any(|param| !param.no_diff && self.differential_of(param.ty).is_some())
    }
}
