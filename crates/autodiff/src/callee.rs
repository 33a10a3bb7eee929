//! Classifies callees for differentiation. Input: the functions of a module and a callee. Output: how a call of it is
//! differentiated ([`resolve`]), and whether it is a source ([`Sources`]). It changes nothing.
//!
//! ```text
//! func @log(%v: f32) backward(@log_bwd) {..}          a source by itself
//! func @use(%x: f32) differentiable { call @log(%x) } a source through its call, although it returns nothing
//! ```
//!
//! A custom derivative need not depend on the tangents or cotangents that it receives: it may read others from memory or
//! write them there. A function is a *source* if it has a custom derivative or calls a source. The derivative of a source runs
//! wherever the source is called, even if no argument and no result has a derivative. A function can be a source in one mode
//! and not in the other: a custom forward derivative does not affect reverse mode. Where the other mode is taken, the call
//! drops a derivative, which is worth a warning ([`dropped`]).

use crate::by_hand::{reads_memory, takes_care};
use cotangent_base::{EntityMap, Map, Set, Span};
use cotangent_ir::{DiffInfo, Func, FuncId, FuncKind, Mode, Op};
use cotangent_passes::calls::callees;

/// How a call is differentiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    /// The call stays; its outputs have no tangents.
    Constant,
    /// The call stays, followed by the body of this library rule.
    Rule(FuncId),
    /// The call becomes a call of the function with its derivative.
    Derived,
}

/// Follows primal substitutes. Gives the function that is called in place of `func`, and how the call is differentiated.
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

/// Whether a call of `func` is a source in some mode.
pub(crate) fn is_source(funcs: &EntityMap<FuncId, Func>, func: FuncId) -> bool {
    followed(funcs, func).is_some_and(|func| Sources::default().in_any_mode(funcs, func))
}

/// Which functions are sources, cached per function and mode.
#[derive(Default)]
pub(crate) struct Sources {
    known: Map<(FuncId, Mode), bool>,
}

impl Sources {
    /// Whether `func` is a source in some mode: its outputs may have tangents even if no input has one.
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

/// The calls at which derivatives of the given mode drop what a custom derivative of the other mode gives, for a call of `func`
/// at `span` that is not differentiated. They are that call itself, or calls below it.
pub(crate) fn dropped(
    funcs: &EntityMap<FuncId, Func>,
    func: FuncId,
    span: Span,
    mode: Mode,
) -> Vec<(FuncId, Span)> {
    let (mut seen, mut open, mut dropped) = (Set::default(), vec![(func, span)], Vec::new());
    while let Some((func, span)) = open.pop() {
        let diff = &funcs[func].diff;
        if diff.is_custom() && !has(diff, mode) {
            dropped.push((func, span));
        } else if seen.insert(func) {
            let calls = calls(funcs, func).into_iter();
            open.extend(calls.filter_map(|(callee, span)| Some((followed(funcs, callee)?, span))));
        }
    }
    dropped
}

/// The function whose custom forward derivative `func` is or calls, if that reads memory whose gradient the backward derivative of the
/// function would write.
pub(crate) fn forward_reading(funcs: &EntityMap<FuncId, Func>, func: FuncId) -> Option<FuncId> {
    let caring = |derivative: FuncId| {
        let mut of = funcs.iter().filter(|(_, f)| f.diff.forward == Some(derivative)).map(|(of, _)| of);
        of.find(|of| takes_care(funcs, *of, Mode::Backward) && reads_memory(funcs, derivative))
    };
    let (mut seen, mut open) = (Set::from_iter([func]), vec![func]);
    while let Some(func) = open.pop() {
        if let Some(of) = caring(func) {
            return Some(of);
        }
        if !funcs[func].diff.is_custom() {
            let calls = callees(&funcs[func]).into_iter();
            open.extend(calls.filter(|callee| seen.insert(*callee)));
        }
    }
    None
}

/// The calls in `func`. A request without a body makes those of the function it differentiates, unless that derivative is
/// custom.
fn calls(funcs: &EntityMap<FuncId, Func>, func: FuncId) -> Vec<(FuncId, Span)> {
    let func = match funcs[func].kind {
        FuncKind::Request(mode, of) if funcs[of].diff.is_custom_in(mode) => return Vec::new(),
        FuncKind::Request(_, of) => &funcs[of],
        FuncKind::Defined => &funcs[func],
    };
    let mut calls = Vec::new();
    func.walk(func.body, &mut |inst| {
        if let Op::Call(callee) = func.insts[inst].op {
            calls.push((callee, func.insts[inst].span));
        }
    });
    calls
}

/// Whether a function has a derivative of that mode, by hand or from its body.
fn has(diff: &DiffInfo, mode: Mode) -> bool {
    let generated = match diff.differentiable {
        Some(Mode::Backward) => true,
        Some(Mode::Forward) => mode == Mode::Forward,
        None => false,
    };
    generated || diff.is_custom_in(mode)
}

/// The functions that `func` calls. A request without a body counts as a call of the function it differentiates.
fn runs(func: &Func) -> Vec<FuncId> {
    match func.kind {
        FuncKind::Request(_, of) => vec![of],
        FuncKind::Defined => callees(func),
    }
}

/// The function that is differentiated where `callee` is called, if any.
fn followed(funcs: &EntityMap<FuncId, Func>, callee: FuncId) -> Option<FuncId> {
    match resolve(funcs, callee) {
        (callee, Callee::Derived) => Some(callee),
        (_, Callee::Constant | Callee::Rule(_)) => None,
    }
}
