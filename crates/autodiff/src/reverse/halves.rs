//! Makes the primal and the linear half of a function: runs the passes of reverse mode in order, callees first.

use super::custom_needs::needs;
use super::fold_factors::fold_factors;
use super::repeat::Root;
use super::{Kept, Key, recursive, require_backward, two_steps};
use crate::checkpoint::induction::of_counted_loops;
use crate::checkpoint::nest::init_of;
use crate::checkpoint::{self, Callee, Field, Plan, Refusal, Residual, checkpoint};
use crate::driver::{Context, Reported};

use crate::linearize::{Linearized, linearize};
use crate::prepare::{Induction, Prepared, prepare};
use crate::report::Why;
use crate::segments::{cut_long_loop, no_plan, segments};
use crate::stages::{CHECKPOINT, LINEARIZE, PREPARE, UNZIP};
use crate::unzip::{Unzipped, Whole, sources, unzip};
use cotangent_base::{Entity, EntitySet, Map, Scalar, Symbol};
use cotangent_ir::{
    DiffInfo, Effect, Func, FuncId, Inline, InputMask, Inst, Mode, Module, Op, Prefer, Type, Value,
};
use cotangent_passes::calls::callees;
use cotangent_passes::inline::inline_calls;
use cotangent_passes::optimize::tidy;
use cotangent_passes::pass::{Facts, HOIST, SINK, When};
use cotangent_passes::sink::sink;
use std::rc::Rc;

/// Both halves of `func`, given which inputs have a tangent and which cost the caller nothing.
pub(super) fn halves(
    cx: &mut Context<'_>,
    func: FuncId,
    inputs: &InputMask,
    free: InputMask,
) -> Result<Callee, Reported> {
    let diff = &cx.module.funcs[func].diff;
    if diff.backward.is_some() {
        return custom_halves(cx, func);
    }
    let applied = diff.apply;
    let root = cx.reverse.root();
    let mut key = Key {
        func,
        inputs: inputs.clone(),
        free,
        changing: root.changing.clone(),
        again: root.again,
        policy: root.policy,
    };
    if applied.is_some() || root.recursive.contains(func) {
        key.free = InputMask::filled(true, key.free.len());
    }
    if let Some(known) = cx.reverse.halves.get(&key) {
        return Ok(known.clone());
    }
    let callee = match applied {
        Some(apply) => two_steps::halves(cx, &key, apply)?,
        None if root.recursive.contains(func) => recursive::halves(cx, &key, &root)?,
        None => take_apart(cx, &key, &root)?,
    };
    cx.reverse.halves.insert(key, callee.clone());
    Ok(callee)
}

fn custom_halves(cx: &mut Context<'_>, func: FuncId) -> Result<Callee, Reported> {
    let mut needed = InputMask::filled(true, cx.module.funcs[func].sig.inputs().count());
    if let Some(custom) = cx.module.funcs[func].diff.backward {
        cx.fill(custom)?;
        needed = needs(cx, func, custom)?;
    }
    let (original, root) = (&cx.module.funcs[func], cx.reverse.root());
    Ok(Callee {
        func,
        primal: func,
        linear: None,
        context: None,
        needed,
        source: true,
        repeatable: root.may_repeat(cx.module, func) && root.may_repeat_sources(cx.module, func),
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
    let result = run_stages(cx, key, root);
    cx.reverse.open.pop();
    result
}

/// Reverse mode's stages up to the two halves, in order. A loop that would store too much is cut into segments, and the stages
/// run again.
fn run_stages(cx: &mut Context<'_>, key: &Key, root: &Root) -> Result<Callee, Reported> {
    let body = cx.body_of(key.func)?;
    let prepared = run_prepare(cx, &body, root);
    let mut prepared = segments(cx, root, prepared)?;
    loop {
        // Without loops there is nothing to cut, and no need for a copy.
        let spare = has_loops(&prepared.func).then(|| prepared.clone());
        let refusal = match run_split(cx, key, root, &body, prepared) {
            Ok(callee) => return Ok(callee),
            Err(Stopped::Reported(reported)) => return Err(reported),
            Err(Stopped::Refused(refusal)) => refusal,
        };
        // A loop that came with the differentials is none of the program.
        let is_of_program = |(spare, inst): &(Prepared, Inst)| inst.index() < spare.func.insts.len();
        let Some((spare, inst)) = spare.zip(refusal.too_long).filter(is_of_program) else {
            return Err(cx.report(*refusal.diagnostic));
        };
        let told = no_plan(cx, root, &spare.func, inst, *refusal.diagnostic);
        match cut_long_loop(cx, root, spare, inst) {
            Some(with_segments) => prepared = with_segments,
            None => return Err(cx.report(told)),
        }
    }
}

fn has_loops(func: &Func) -> bool {
    func.all_insts().iter().any(|inst| func.insts[*inst].op.is_loop())
}

/// Why there are no halves of a function.
enum Stopped {
    Reported(Reported),
    /// `checkpoint` has no plan for it. Nothing is reported yet.
    Refused(Refusal),
}

impl From<Reported> for Stopped {
    fn from(reported: Reported) -> Self {
        Stopped::Reported(reported)
    }
}

/// The stages from `linearize` to `unzip`.
fn run_split(
    cx: &mut Context<'_>,
    key: &Key,
    root: &Root,
    body: &Func,
    prepared: Prepared,
) -> Result<Callee, Stopped> {
    let mut linearized = run_linearize(cx, key, prepared.func, root)?;
    let mut induction = prepared.induction;
    of_counted_loops(&linearized.func, &mut induction);
    // Trip counts are of this type, whether or not the program has numbers of it.
    cx.module.types.scalar(Scalar::I32);
    // The halves of callees come first: what they need from this function takes part in its decisions.
    let calls = called_halves(cx, key, &linearized, &induction)?;
    let sources = sources(&linearized.func, |inst| calls.get(&inst).is_some_and(|callee| callee.source));
    let mut plan = run_checkpoint(cx, key, root, &linearized, &induction, &calls, &sources)?;
    while fold_factors(cx.module, &mut linearized, &plan) {
        plan = run_checkpoint(cx, key, root, &linearized, &induction, &calls, &sources)?;
    }
    cx.decided(&linearized.func, &plan);
    let whole = Whole {
        sig: &body.sig,
        linearized: &linearized,
        induction: &induction,
        calls: &calls,
        sources: &sources,
        plan: &plan,
    };
    let halves = run_unzip(cx, key.func, whole);
    Ok(add_halves(cx, key.func, halves, plan.needed))
}

/// Removes early exits, and moves what only some branches use into them.
fn run_prepare(cx: &mut Context<'_>, body: &Func, root: &Root) -> Prepared {
    cx.watch.begin(PREPARE, || body.size());
    let mut prepared = prepare(&mut cx.module.types, body);
    cx.watch.begin(SINK, || prepared.func.size());
    let Module { types, funcs, .. } = &*cx.module;
    let moved = sink(types, &mut prepared.func, &root.effects, &|callee| is_small(&funcs[callee]));
    cx.watch.end(|| prepared.func.size());
    cx.watch.after(SINK, cx.module, &prepared.func, moved);
    cx.watch.end(|| prepared.func.size());
    cx.after(PREPARE, &prepared.func, None);
    prepared
}

/// Adds the differentials, and optimizes the result.
fn run_linearize(cx: &mut Context<'_>, key: &Key, func: Func, root: &Root) -> Result<Linearized, Reported> {
    let told = cx.diagnostics.len();
    cx.watch.begin(LINEARIZE, || func.size());
    let linearized = linearize(cx.module, func, &key.inputs, Mode::Backward, &mut cx.diagnostics);
    let linearized = (!cx.has_errors_since(told)).then(|| polish(cx, key.func, linearized, root));
    cx.watch.end(|| linearized.as_ref().map_or(0, |linearized| linearized.func.size()));
    let linearized = linearized.ok_or(Reported)?;
    cx.after(LINEARIZE, &linearized.func, Some(&linearized.lin));
    Ok(linearized)
}

/// Decides what the linear half gets from the primal half, and how.
fn run_checkpoint(
    cx: &mut Context<'_>,
    key: &Key,
    root: &Root,
    linearized: &Linearized,
    induction: &Induction,
    calls: &Map<Inst, Callee>,
    sources: &EntitySet<Inst>,
) -> Result<Plan, Stopped> {
    cx.watch.begin(CHECKPOINT, || linearized.func.size());
    let unrepeatable = |inst: Inst| !root.may_repeat_inst(cx.module, &linearized.func, inst);
    let plan = checkpoint(&checkpoint::Input {
        module: cx.module,
        linearized,
        induction,
        calls,
        sources,
        unrepeatable: &unrepeatable,
        works: &cx.reverse.works,
        free: &key.free,
        price: key.policy.price,
    });
    cx.watch.end(|| linearized.func.size());
    plan.map_err(Stopped::Refused)
}

/// Separates the halves.
fn run_unzip(cx: &mut Context<'_>, func: FuncId, whole: Whole<'_>) -> Unzipped {
    let name = cx.module.funcs[func].name;
    let body = &whole.linearized.func;
    cx.watch.begin(UNZIP, || body.size());
    let stored = |field: &Field| Kept {
        why: match field.residual {
            Residual::Trips(_) => Some(Why::Trips),
            Residual::Value(_) => field.leaving.map(|_| Why::Last),
            Residual::Context(_) => None,
        },
        each: field.ty,
        loops: field.loops.iter().map(|(inst, room)| (body.insts[*inst].span, *room)).collect(),
    };
    let fields: Vec<Kept> = whole.plan.fields.iter().map(stored).collect();
    let halves = unzip(cx.module, name, whole);
    if let Some(context) = halves.context {
        let numbered = (0..).zip(fields);
        cx.reverse.fields.extend(numbered.map(|(number, stored)| ((context, number), stored)));
    }
    cx.watch.end(|| halves.primal.size() + halves.linear.func.size());
    cx.after(UNZIP, &halves.primal, None);
    cx.after(UNZIP, &halves.linear.func, Some(&halves.linear.lin));
    halves
}

/// Whether nobody has said anything about the derivatives of a function beyond that it has some.
fn is_plain(diff: &DiffInfo) -> bool {
    diff.links().next().is_none() && !diff.constant && diff.prefer == Prefer::Auto
}

/// After linearizing: small functions called for their values are inlined (not those with a derivative of their own:
/// the result may be differentiated again), equal things are computed once, and invariant ones outside of loops.
/// Linear values keep their numbers.
fn polish(cx: &mut Context<'_>, original: FuncId, linearized: Linearized, root: &Root) -> Linearized {
    let module = &mut *cx.module;
    // The user's zeros and sums are linear as calls, and constants and the like once they are inlined.
    let sums = module.diff.iter().flat_map(|(_, row)| row.zero.into_iter().chain(row.add));
    let sums: Vec<Symbol> = sums.map(|f| module.funcs[f].name).collect();
    let wanted =
        |f: &Func| is_small(f) && f.inline != Inline::Never && is_plain(&f.diff) && !sums.contains(&f.name);
    let mut func = inlined(module, original, linearized.func, &wanted);
    let facts = Facts { effects: &root.effects, when: When::BeforeDerivatives };
    tidy(module, &mut func, &facts, &mut cx.watch);
    cx.watch.run(HOIST, module, &mut func, &facts);
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
    if !callees(&func).iter().any(|callee| wanted(&module.funcs[*callee])) {
        return func;
    }
    let before = std::mem::replace(&mut module.funcs[original], func);
    inline_calls(module, original, wanted);
    std::mem::replace(&mut module.funcs[original], before)
}

/// Puts both halves into the module. A primal half that stores nothing is the function itself.
pub(super) fn add_halves(cx: &mut Context<'_>, func: FuncId, halves: Unzipped, needed: InputMask) -> Callee {
    let (differentiable, root) = (cx.derived_diff(func).differentiable, cx.reverse.root());
    let prefer = cx.module.funcs[func].diff.prefer;
    let Unzipped { primal, linear: half, context } = halves;
    let primal = match context {
        Some(_) => add(cx, primal, differentiable),
        None => func,
    };
    let (source, linear) = (!half.sources.is_empty(), add(cx, half.func.clone(), differentiable));
    if prefer == Prefer::Rerun {
        // Derivatives of higher order run it again too.
        [primal, linear].iter().for_each(|half| cx.module.funcs[*half].diff.prefer = prefer);
    }
    cx.reverse.linear.insert(linear, Rc::new(half));
    Callee {
        func,
        primal,
        linear: Some(linear),
        context,
        needed,
        source,
        repeatable: root.may_repeat(cx.module, func) && root.may_repeat_sources(cx.module, func),
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
fn cheap_values(cx: &Context<'_>, func: &Func, induction: &Induction, free: &InputMask) -> Map<Value, u64> {
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
