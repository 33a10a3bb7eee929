//! Writes the halves of recursive functions.
//!
//! The context of a recursive function would contain itself. So the primal half of a *call* passes only the inputs to its
//! linear half, and the linear half runs the primal half again:
//!
//! ```text
//! f.linear(x.., x_t..) -> y_t.. {
//!   y, context = call f.primal x..          what the body stores; calls of f inside store nothing
//!   y_t = call f.linear.1 context, x.., x_t..
//! }
//! ```
//!
//! Every level runs the levels below it again. This multiplies the time by the depth of the recursion, and needs no memory
//! beyond the stack. The second run must compute the same values: a recursive function that writes memory, or reads memory
//! that changes, is refused. So is one that calls sources, if its derivative is differentiated again and the linear half runs
//! the primal half: the custom derivatives would run twice.

use super::halves::take_apart;
use super::{Key, Recursive, Root};
use crate::callee::Sources;
use crate::checkpoint::Callee;
use crate::codes;
use crate::driver::{Context, Reported};
use crate::stages::EXTRACT;
use crate::unzip::{LinearFunc, param};
use cotangent_base::{Diagnostic, EntitySet, Symbol};
use cotangent_ir::{Builder, Dir, Func, FuncId, InputMask, Mode, Module, Op, Param, Signature, Ty, Value};
use std::rc::Rc;

/// Both halves of a recursive function.
pub(super) fn halves(cx: &mut Context<'_>, key: &Key, root: &Root) -> Result<Callee, Reported> {
    if !root.may_repeat(cx.module, key.func) {
        return Err(refuse(cx, key.func));
    }
    let linear = declare(cx, key);
    let callee = Callee {
        func: key.func,
        primal: key.func,
        linear: Some(linear),
        context: None,
        needed: InputMask::filled(true, key.inputs.len()),
        source: Sources::default().contain(&cx.module.funcs, key.func, Mode::Backward),
        repeatable: root.may_repeat_sources(cx.module, key.func),
        prefer: cx.module.funcs[key.func].diff.prefer,
        work: cx.reverse.works.func(cx.module, key.func),
    };
    // Calls of itself in its body find this.
    cx.reverse.halves.insert(key.clone(), callee.clone());
    let tangents = key.inputs.iter().filter(|active| **active).count();
    cx.reverse.recursive.insert(linear, Recursive { tangents, source: callee.source });
    let inner = take_apart(cx, key, root).and_then(|inner| match inner.context {
        Some(_) if !callee.repeatable => Err(refuse_source(cx, key.func)),
        Some(_) | None => Ok(inner),
    });
    match inner {
        Ok(inner) => define(cx, key, linear, &inner, callee.source),
        Err(reported) => {
            // What was written meanwhile may call what will never be.
            cx.reverse.halves.clear();
            return Err(reported);
        }
    }
    Ok(callee)
}

/// Adds the linear half without a body: all inputs, tangents; tangents out.
fn declare(cx: &mut Context<'_>, key: &Key) -> FuncId {
    let Func { name, span, sig, .. } = cx.module.funcs[key.func].clone();
    let module = &mut *cx.module;
    let tangent = |ty: Ty, module: &mut Module| {
        module.diff.differential(&mut module.types, ty).expect("what is active is differentiable")
    };
    let mut params: Vec<Param> = Vec::new();
    params.extend(sig.inputs().map(|p| Param { dir: Dir::In, ..*p }));
    for (input, _) in sig.inputs().zip(&key.inputs).filter(|(_, active)| **active) {
        let ty = tangent(input.ty, module);
        params.push(param(module, &format!("{}_t", input.name), ty, Dir::In));
    }
    for (i, output) in sig.outputs().filter(|o| o.diff).enumerate() {
        let ty = tangent(output.ty, module);
        params.push(param(module, &format!("out{i}_t"), ty, Dir::Out));
    }
    let name = Symbol::new(&format!("{name}.linear"));
    let mut func = Func::new(name, Signature { params, ret: None }, span);
    func.diff = cx.derived_diff(key.func);
    cx.module.add_func(func)
}

/// Writes the body: the primal half of `inner`, then its linear half.
fn define(cx: &mut Context<'_>, key: &Key, linear: FuncId, inner: &Callee, source: bool) {
    let name = cx.module.funcs[key.func].name;
    let mut func = cx.module.funcs[linear].clone();
    let inputs = func.inputs().to_vec();
    let (primal, tangents) = inputs.split_at(inner.needed.len());
    let half = inner.linear.expect("its derivative was generated");
    let outputs = |f: FuncId| cx.module.funcs[f].sig.outputs().map(|o| o.ty).collect::<Vec<Ty>>();
    let (all, tangent_types) = (outputs(inner.primal), outputs(half));
    let mut b = Builder::new(&mut cx.module.types, &mut func);
    // A half that gives no tangents and is not a source is left out: a linear half must not contain calls without effect.
    let call = (source || !tangent_types.is_empty()).then(|| {
        let mut operands: Vec<Value> = Vec::new();
        if inner.context.is_some() {
            let call = b.emit(Op::Call(inner.primal), primal, &all);
            operands.extend(b.func.insts[call].results.last());
        }
        operands.extend(primal.iter().zip(&inner.needed).filter(|(_, needed)| **needed).map(|(v, _)| *v));
        operands.extend(tangents);
        b.emit(Op::Call(half), &operands, &tangent_types)
    });
    let results = call.map_or(vec![], |call| b.func.insts[call].results.to_vec());
    let sources = EntitySet::from_iter(call.filter(|_| source));
    b.emit(Op::Return, &results, &[]);
    let lin: EntitySet<Value> = tangents.iter().chain(&results).copied().collect();
    cx.after(EXTRACT, &func, Some(&lin));
    cx.module.funcs[linear] = func.clone();
    cx.reverse.rough.push(linear);
    let (steep, choices) = (EntitySet::new(), EntitySet::new());
    cx.reverse.linear.insert(linear, Rc::new(LinearFunc { name, func, lin, steep, choices, sources }));
}

/// A recursive function that cannot run twice.
pub(super) fn refuse(cx: &mut Context<'_>, func: FuncId) -> Reported {
    let f = &cx.module.funcs[func];
    let message = format!("`{}` is recursive and has side effects that cannot be repeated", f.plain_name());
    let diagnostic = Diagnostic::new(codes::RECURSION, f.span, message)
        .note("the backward pass of a recursive function runs it again at every level")
        .help("write the recursion as a loop with `[MaxIters(n)]`, or give it a backward derivative with `[BackwardDerivative(g)]`");
    cx.report(diagnostic)
}

/// A recursive function that calls sources and would run twice in a derivative that is differentiated again.
fn refuse_source(cx: &mut Context<'_>, func: FuncId) -> Reported {
    let f = &cx.module.funcs[func];
    let message = format!(
        "`{}` is recursive and calls functions with custom derivatives, so it has no second derivative",
        f.plain_name()
    );
    let diagnostic = Diagnostic::new(codes::RECURSION, f.span, message)
        .note("the backward pass of a recursive function runs it again at every level, and a derivative of it would run the custom derivatives again")
        .help("write the recursion as a loop with `[MaxIters(n)]`, or give it a backward derivative with `[BackwardDerivative(g)]`");
    cx.report(diagnostic)
}
