//! What becomes of calls where derivatives are taken, as far as the functions called tell.
//!
//! ```text
//! func @log(%v: f32) backward(@log_bwd) {..}          a source of gradients by itself
//! func @use(%x: f32) differentiable { call @log(%x) } one through its call, though it gives nothing
//! ```
//!
//! A derivative that the user wrote does what the user wants, and not only what follows from the tangents or cotangents
//! that come in: it may read them from memory, write them there, or make them up. So a function whose derivative is the
//! user's, or that calls one, perhaps through others, is a *source*: it is differentiated wherever it is called, whether
//! or not anything differentiable goes in or comes out. Which functions are depends on the mode: a forward derivative says
//! nothing about reverse mode.

use crate::kind::callees;
use cotangent_base::{EntityMap, Map, Set};
use cotangent_ir::{Func, FuncId, FuncKind, Mode};

/// What a call becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    /// Itself; its outputs have no tangents.
    Constant,
    /// Itself, and the rule written out.
    Rule(FuncId),
    /// A call beside its derivative.
    Derived,
}

/// What a call of `func` becomes, and of which function it then is a call.
pub(crate) fn resolve(funcs: &EntityMap<FuncId, Func>, mut func: FuncId) -> (FuncId, Callee) {
    for _ in 0..funcs.len() {
        let Some(substitute) = funcs[func].diff.substitute else {
            break;
        };
        func = substitute;
    }
    (func, classify(funcs, func))
}

fn classify(funcs: &EntityMap<FuncId, Func>, func: FuncId) -> Callee {
    let diff = &funcs[func].diff;
    if diff.constant {
        Callee::Constant
    } else if let (false, Some(rule)) = (diff.is_custom(), diff.rule) {
        Callee::Rule(rule)
    } else if diff.is_custom() || diff.differentiable.is_some() {
        Callee::Derived
    } else if let FuncKind::Request(_, of) = funcs[func].kind {
        let unwritten = resolve(funcs, of).1 != Callee::Constant;
        if unwritten { Callee::Derived } else { Callee::Constant }
    } else {
        Callee::Constant
    }
}

/// Which functions are sources, each looked at once.
#[derive(Default)]
pub(crate) struct Sources {
    known: Map<(FuncId, Mode), bool>,
}

impl Sources {
    /// Whether `func` is a source in some mode: its outputs may have tangents though no input has.
    pub fn in_any_mode(&mut self, funcs: &EntityMap<FuncId, Func>, func: FuncId) -> bool {
        self.contain(funcs, func, Mode::Forward) || self.contain(funcs, func, Mode::Backward)
    }

    /// Whether `func` is a source in derivatives of that mode.
    pub fn contain(&mut self, funcs: &EntityMap<FuncId, Func>, func: FuncId, mode: Mode) -> bool {
        if let Some(&known) = self.known.get(&(func, mode)) {
            return known;
        }
        let (mut seen, mut open) = (Set::from_iter([func]), vec![func]);
        let mut found = false;
        while let Some(func) = open.pop() {
            if funcs[func].diff.is_custom_in(mode) {
                found = true;
                break;
            }
            let followed = runs(&funcs[func]).into_iter().filter_map(|callee| followed(funcs, callee));
            open.extend(followed.filter(|callee| seen.insert(*callee)));
        }
        self.known.insert((func, mode), found);
        found
    }
}

/// What a function calls. A derivative that is not written yet runs the function that it is one of.
fn runs(func: &Func) -> Vec<FuncId> {
    match func.kind {
        FuncKind::Request(_, of) => vec![of],
        FuncKind::Defined => callees(func),
    }
}

/// The function that is differentiated for a call of `callee`, if any is.
fn followed(funcs: &EntityMap<FuncId, Func>, callee: FuncId) -> Option<FuncId> {
    match resolve(funcs, callee) {
        (callee, Callee::Derived) => Some(callee),
        (_, Callee::Constant | Callee::Rule(_)) => None,
    }
}
