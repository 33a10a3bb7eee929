//! The primal and the linear half of a function: the passes of reverse mode, in order, callees first.

use super::{Key, Root, applied, recursive, require_backward};
use crate::checkpoint::induction::of_counted_loops;
use crate::checkpoint::nest::init_of;
use crate::checkpoint::{self, Callee, checkpoint};
use crate::driver::{Context, Reported};
use crate::kind;
use crate::linearize::{Linearized, linearize};
use crate::prepare::{Induction, prepare};
use crate::unzip::{Unzipped, Whole, sources, unzip};
use cotangent_base::{Map, Scalar, Symbol};
use cotangent_ir::{DiffInfo, Effect, Func, FuncId, Inline, Inst, Mode, Module, Op, Prefer, Type, Value};
use cotangent_passes::hoist::hoist;
use cotangent_passes::inline::inline_calls;
use cotangent_passes::optimize::{When, tidy};
use cotangent_passes::sink::sink;
use std::rc::Rc;

/// Both halves of `func`, given which inputs have a tangent and which cost the caller nothing.
pub(super) fn halves(
    cx: &mut Context<'_>,
    func: FuncId,
    inputs: &[bool],
    free: Box<[bool]>,
) -> Result<Callee, Reported> {
    let diff = &cx.module.funcs[func].diff;
    if diff.backward.is_some() {
        return custom_halves(cx, func);
    }
    let applied = diff.apply;
    let root = cx.reverse.root();
    let mut key =
        Key { func, inputs: inputs.into(), free, changing: root.changing.clone(), again: root.again };
    if applied.is_some() || root.recursive.contains(func) {
        key.free.fill(true);
    }
    if let Some(known) = cx.reverse.halves.get(&key) {
        return Ok(known.clone());
    }
    let callee = match applied {
        Some(apply) => applied::halves(cx, &key, apply)?,
        None if root.recursive.contains(func) => recursive::halves(cx, &key, &root)?,
        None => take_apart(cx, &key, &root)?,
    };
    cx.reverse.halves.insert(key, callee.clone());
    Ok(callee)
}

fn custom_halves(cx: &mut Context<'_>, func: FuncId) -> Result<Callee, Reported> {
    if let Some(custom) = cx.module.funcs[func].diff.backward {
        cx.fill(custom)?;
    }
    let (original, root) = (&cx.module.funcs[func], cx.reverse.root());
    Ok(Callee {
        func,
        primal: func,
        linear: None,
        context: None,
        needed: vec![true; original.sig.inputs().count()].into(),
        source: true,
        repeatable: root.may_repeat(cx.module, func) && root.may_repeat_source(original.diff.prefer),
        prefer: original.diff.prefer,
        work: cx.reverse.works.func(cx.module, func),
    })
}

/// The passes of reverse mode, in order, up to the two halves.
pub(super) fn take_apart(cx: &mut Context<'_>, key: &Key, root: &Root) -> Result<Callee, Reported> {
    if cx.reverse.open.contains(key) {
        return Err(recursive::refuse(cx, key.func));
    }
    cx.reverse.open.push(key.clone());
    let result = run_passes(cx, key, root);
    cx.reverse.open.pop();
    result
}

fn run_passes(cx: &mut Context<'_>, key: &Key, root: &Root) -> Result<Callee, Reported> {
    let body = cx.body_of(key.func)?;
    let (name, sig) = (cx.module.funcs[key.func].name, body.sig.clone());
    let mut prepared = prepare(&mut cx.module.types, &body);
    let funcs = &cx.module.funcs;
    sink(&cx.module.types, &mut prepared.func, &root.effects, &|callee| is_small(&funcs[callee]));
    cx.after("prepare", &prepared.func, None);
    let errors = cx.diagnostics.len();
    let linearized = linearize(cx.module, prepared.func, &key.inputs, Mode::Backward, &mut cx.diagnostics);
    if cx.diagnostics.len() > errors {
        return Err(Reported);
    }
    let linearized = polish(cx.module, key.func, linearized, root);
    cx.after("linearize", &linearized.func, Some(&linearized.lin));
    let mut induction = prepared.induction;
    of_counted_loops(&linearized.func, &mut induction);

    // Trip counts are of this type, whether or not the program has numbers of it.
    cx.module.types.scalar(Scalar::I32);
    let calls = called_halves(cx, key, &linearized, &induction)?;
    let sources = sources(&linearized.func, |inst| calls.get(&inst).is_some_and(|callee| callee.source));
    let unrepeatable = |inst: Inst| !root.may_repeat_inst(cx.module, &linearized.func, inst);
    let plan = checkpoint(&checkpoint::Input {
        module: cx.module,
        linearized: &linearized,
        induction: &induction,
        calls: &calls,
        sources: &sources,
        unrepeatable: &unrepeatable,
        works: &cx.reverse.works,
        free: &key.free,
    });
    let plan = plan.map_err(|d| cx.report(*d))?;
    cx.decided(&linearized.func, &plan);
    let whole = Whole {
        sig: &sig,
        linearized: &linearized,
        induction: &induction,
        calls: &calls,
        sources: &sources,
        plan: &plan,
    };
    let halves = unzip(cx.module, name, whole);
    cx.after("unzip", &halves.primal, None);
    cx.after("unzip", &halves.linear.func, Some(&halves.linear.lin));
    Ok(add_halves(cx, key.func, halves, plan.needed))
}

/// Whether nobody has said anything about the derivatives of a function beyond that it has some.
fn is_plain(diff: &DiffInfo) -> bool {
    diff.links().next().is_none() && !diff.constant && diff.prefer == Prefer::Auto
}

/// After linearizing: small functions called for their values are inlined (not those with a derivative of their own:
/// the result may be differentiated again), equal things are computed once, and invariant ones outside of loops.
/// Linear values keep their numbers.
fn polish(module: &mut Module, original: FuncId, linearized: Linearized, root: &Root) -> Linearized {
    // The user's zeros and sums are linear as calls, and constants and the like once they are inlined.
    let sums = module.diff.iter().flat_map(|(_, row)| row.zero.into_iter().chain(row.add));
    let sums: Vec<Symbol> = sums.map(|f| module.funcs[f].name).collect();
    let wanted =
        |f: &Func| is_small(f) && f.inline != Inline::Never && is_plain(&f.diff) && !sums.contains(&f.name);
    let mut func = inlined(module, original, linearized.func, &wanted);
    tidy(&mut module.types, &mut func, &root.effects);
    hoist(&module.types, &mut func, When::BeforeDerivatives);
    Linearized { func, ..linearized }
}

/// Whether calling a function or having it in line makes little difference.
fn is_small(func: &Func) -> bool {
    let is_straight = || func.all_insts().iter().all(|i| func.insts[*i].regions.is_empty());
    func.regions[func.body].insts.len() <= SMALL && is_straight()
}

/// Functions of at most this many instructions are small.
const SMALL: usize = 12;

/// `func`, which was made from `original`, with the calls inlined that are wanted. It stands in for the original
/// meanwhile, since the pass works on functions of a module.
fn inlined(module: &mut Module, original: FuncId, func: Func, wanted: &dyn Fn(&Func) -> bool) -> Func {
    if !kind::callees(&func).iter().any(|callee| wanted(&module.funcs[*callee])) {
        return func;
    }
    let kept = std::mem::replace(&mut module.funcs[original], func);
    inline_calls(module, original, wanted);
    std::mem::replace(&mut module.funcs[original], kept)
}

/// Puts both halves into the module. A primal half that keeps nothing is the function itself.
pub(super) fn add_halves(
    cx: &mut Context<'_>,
    func: FuncId,
    halves: Unzipped,
    needed: Box<[bool]>,
) -> Callee {
    let (differentiable, root) = (cx.derived_diff(func).differentiable, cx.reverse.root());
    let prefer = cx.module.funcs[func].diff.prefer;
    let Unzipped { primal, linear: half, context } = halves;
    let primal = match context {
        Some(_) => add(cx, primal, differentiable),
        None => func,
    };
    let (source, linear) = (!half.sources.is_empty(), add(cx, half.func.clone(), differentiable));
    cx.reverse.linear.insert(linear, Rc::new(half));
    Callee {
        func,
        primal,
        linear: Some(linear),
        context,
        needed,
        source,
        repeatable: root.may_repeat(cx.module, func) && (!source || root.may_repeat_source(prefer)),
        prefer,
        work: cx.reverse.works.func(cx.module, primal),
    }
}

/// Adds a function to the module, to be tidied when the request is done.
pub(super) fn add(cx: &mut Context<'_>, mut func: Func, differentiable: Option<Mode>) -> FuncId {
    func.diff.differentiable = differentiable;
    let id = cx.module.add_func(func);
    cx.reverse.rough.push(id);
    id
}

/// The functions that `linearized` calls with a derivative.
fn called_halves(
    cx: &mut Context<'_>,
    key: &Key,
    linearized: &Linearized,
    induction: &Induction,
) -> Result<Map<Inst, Callee>, Reported> {
    let func = &linearized.func;
    let mut calls = Map::default();
    let mut cheap = None;
    for inst in func.all_insts() {
        let Op::DiffCall(call) = &func.insts[inst].op else {
            continue;
        };
        require_backward(cx, call.func, func.insts[inst].span)?;
        cx.fill(call.func)?;
        let cheap = cheap.get_or_insert_with(|| cheap_values(cx, func, induction, &key.free));
        let operands = &func.insts[inst].operands[..call.inputs.len()];
        let free = operands.iter().map(|v| cheap.contains_key(v)).collect();
        calls.insert(inst, halves(cx, call.func, &call.inputs, free)?);
    }
    Ok(calls)
}

/// What may be computed again for an argument that counts as costing nothing.
const CHEAP: u64 = 8;

/// The values that cost next to nothing to have in the backward pass: free inputs, constants, counters, handles,
/// and what a few operations make of them.
fn cheap_values(cx: &Context<'_>, func: &Func, induction: &Induction, free: &[bool]) -> Map<Value, u64> {
    let (module, works) = (&*cx.module, &cx.reverse.works);
    let mut cheap: Map<Value, u64> = Map::default();
    let is_handle =
        |v: Value| matches!(module.types.get(func.ty(v)), Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_));
    for (&value, &free) in func.inputs().iter().zip(free) {
        if free || is_handle(value) {
            cheap.insert(value, 0);
        }
    }
    for inst in func.all_insts() {
        let data = &func.insts[inst];
        if let Op::For(_) = data.op {
            cheap.insert(func.regions[data.regions[0]].args[0], 0);
        }
        for &arg in data.regions.iter().flat_map(|r| &func.regions[*r].args) {
            let init = init_of(func, inst, arg);
            if induction.contains_key(&arg) && init.is_some_and(|init| cheap.contains_key(&init)) {
                cheap.insert(arg, 2);
            }
        }
        let Some(operands) = data.operands.iter().map(|v| cheap.get(v)).sum::<Option<u64>>() else {
            continue;
        };
        let cost = operands + works.inst(module, func, data);
        if data.op.effect() == Effect::None && cost <= CHEAP {
            cheap.extend(data.results.iter().map(|r| (*r, cost)));
        }
    }
    cheap
}
