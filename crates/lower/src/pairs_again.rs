//! Reports second derivatives through pairs of pointers. Input: the lowered module. Output: diagnostics at the inner calls.
//!
//! A pair of pointers refers to values and to their derivatives. It does not refer to the derivatives of the derivatives:
//!
//! ```slang
//! float f(P p) { .. }
//! void g(P p, P d) { bwd_diff(f)(DifferentialPtrPair<P>(p, d), 1.0); }
//! fwd_diff(g)(..)         // what the custom derivatives of `f` write to `d` would have no derivative
//! ```
//!
//! A load would read gradients instead of tangents.

use crate::codes;
use crate::instance::{Lowerer, Origin};
use cotangent_base::{Diagnostic, Set, Span};
use cotangent_ir::{Func, FuncId, FuncKind, Op};

/// Reports derivatives of functions with pointers that are differentiated again.
pub(crate) fn check(lowerer: &mut Lowerer<'_>) {
    let is_paired = |of: FuncId| matches!(lowerer.origin_of(of), Origin::Paired(_));
    let funcs = &lowerer.module.funcs;
    let (mut open, mut found): (Vec<FuncId>, Vec<(Span, FuncId)>) = (vec![], vec![]);
    for request in funcs.values() {
        let Some(of) = request_of(request) else { continue };
        open.push(of);
        let inner = request_of(&funcs[of]).filter(|inner| is_paired(*inner));
        found.extend(inner.map(|inner| (request.span, inner)));
    }
    let mut seen: Set<FuncId> = open.iter().copied().collect();
    while let Some(func) = open.pop() {
        let func = &funcs[func];
        let substitute = func.diff.substitute;
        open.extend(request_of(func).into_iter().chain(substitute).filter(|next| seen.insert(*next)));
        for (span, callee) in differentiated_calls(func) {
            let inner = request_of(&funcs[callee]).filter(|inner| is_paired(*inner));
            found.extend(inner.map(|inner| (span, inner)));
            open.extend(seen.insert(callee).then_some(callee));
        }
    }
    found.sort_by_key(|(span, _)| (span.file, span.start, span.end));
    found.dedup();
    for (span, of) in found {
        report(lowerer, span, of);
    }
}

fn request_of(func: &Func) -> Option<FuncId> {
    match func.kind {
        FuncKind::Request(_, of) => Some(of),
        FuncKind::Defined => None,
    }
}

/// The calls in a function that a derivative of it differentiates.
fn differentiated_calls(func: &Func) -> Vec<(Span, FuncId)> {
    let mut calls = vec![];
    if func.is_differentiated_from_body() {
        func.walk(func.body, &mut |inst| {
            let data = &func.insts[inst];
            calls.extend(if let Op::Call(callee) = data.op { Some((data.span, callee)) } else { None });
        });
    }
    calls
}

fn report(lowerer: &mut Lowerer<'_>, span: Span, of: FuncId) {
    let Some(func) = lowerer.func_of(of) else { return };
    let data = &lowerer.queries.program.funcs[func.func];
    let message = format!("cannot differentiate a derivative of `{}`, which takes pointer pairs", data.name);
    let diagnostic = Diagnostic::new(codes::UNSUPPORTED_CONSTRUCT, span, message)
        .label(data.span, "declared here")
        .note("a pointer pair has a place for derivatives, but none for second derivatives")
        .help("give the enclosing function a custom derivative, or write `no_diff` before the call to make its derivative zero");
    lowerer.diagnostics.push(diagnostic);
}
