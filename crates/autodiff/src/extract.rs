//! Reverse mode: from a function to the functions that compute its gradient.
//!
//! ```text
//! P(x..)                       -> (y.., context)     f.primal: the function, keeping what is needed later
//! D(context, x'.., x_t..)      -> y_t..              f.linear: its derivative, given that
//! B(context, x'.., y_ct..)     -> x_ct..             f.bwd:    the transpose of D
//! ```
//!
//! `P` and `D` are cached per function, active inputs, free inputs, and what may change between the two passes;
//! `B` also per set of cotangents that some caller has. Callees come before callers, because
//! what a callee wants from its caller takes part in the caller's decisions. What the user calls unpacks pairs,
//! calls `P`, calls `B`, and packs pairs.
//!
//! A function with a backward derivative of the user's has itself for `P` and no `D`: the call stays opaque until
//! it is transposed, which calls the user's function. One whose backward derivative comes in two steps has the first of
//! them for `P`, with the user's context, and a `D` that is opaque in the same way: `applied` writes both.
//!
//! - `halves` runs the passes up to `P` and `D`; `recursive` does for functions that call themselves.
//! - `root` knows what may be done again in the backward pass.
//! - `sweep` removes the linear halves in the end: nobody calls them.

mod applied;
mod halves;
mod recursive;
mod root;
mod sweep;

use crate::checkpoint::Callee;
use crate::checkpoint::work::Works;
use crate::driver::{Context, Reported};
use crate::kind::callees;
use crate::transpose::doubts::Doubts;
use crate::transpose::reach::Reach;
use crate::transpose::{DERIVATIVE, PRIMAL, Role, Seeds, declare, roles, transpose};
use crate::unzip::LinearFunc;
use crate::{codes, tangent};
use cotangent_base::{Diagnostic, Map, Set, Span};
use cotangent_ir::{Builder, DiffTable, Func, FuncId, FuncKind, Mode, Module, Op, Signature, Ty, Value};
use cotangent_passes::effects::{Effects, Writes};
use cotangent_passes::hoist::hoist;
use cotangent_passes::optimize::{When, tidy};
use root::Root;
use std::rc::Rc;

/// One answer for each of some inputs or outputs.
type Mask = Box<[bool]>;

/// What reverse mode has already written, so that it writes nothing twice.
#[derive(Default)]
pub struct Cache {
    halves: Map<Key, Callee>,
    linear: Map<FuncId, Rc<LinearFunc>>,
    contributions: Map<(FuncId, Mask), Mask>,
    certain: Map<(FuncId, Mask), Mask>,
    steep: Map<FuncId, bool>,
    backward: Map<(FuncId, Seeds), FuncId>,
    /// What each request consists of.
    parts: Map<FuncId, Parts>,
    /// What functions cost.
    works: Works,
    /// The linear halves of recursive functions.
    recursive: Map<FuncId, Recursive>,
    /// What is being taken apart, to notice recursion that no call shows.
    open: Vec<Key>,
    /// Functions written and not yet tidied.
    rough: Vec<FuncId>,
    /// The requests being written, innermost last.
    filling: Vec<FuncId>,
    /// What is known about the innermost.
    root: Option<Rc<Root>>,
}

/// What is known of the linear half of a recursive function before it is written.
#[derive(Clone, Copy)]
struct Recursive {
    /// How many tangents it takes.
    tangents: usize,
    /// Whether it is a source: it contributes to their cotangents even if no cotangent arrives.
    source: bool,
}

/// What a backward derivative that was generated consists of.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    /// The function that runs first.
    pub primal: FuncId,
    /// What that hands on, unless it is nothing.
    pub context: Option<Ty>,
    /// The function that runs second.
    pub backward: FuncId,
    /// How many cotangents that takes; they are its last inputs.
    pub cotangents: usize,
}

/// A function differentiated on behalf of one kind of caller.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    func: FuncId,
    /// Which inputs have a tangent.
    inputs: Mask,
    /// Which inputs cost the caller nothing.
    free: Mask,
    /// The memory that may change between the forward and the backward pass.
    changing: Writes,
    /// Whether the result is differentiated again.
    again: bool,
}

impl Cache {
    /// What is known about the request being written.
    fn root(&self) -> Rc<Root> {
        self.root.clone().expect("a request is being written")
    }

    /// Ends the work on `module`: removes the functions from it that were steps on the way.
    pub(crate) fn finish(self, module: &mut Module) {
        sweep::sweep(module, &self.linear.keys().copied().collect());
    }

    /// What `request` consists of, if it was generated.
    pub(crate) fn parts(&self, request: FuncId) -> Option<Parts> {
        self.parts.get(&request).copied()
    }

    /// Whether `ty` is what some primal half keeps.
    pub(crate) fn is_context(&self, ty: Ty) -> bool {
        self.halves.values().any(|halves| halves.context == Some(ty))
    }

    /// Whether `func` is the linear half of something.
    pub fn is_linear_half(&self, func: FuncId) -> bool {
        self.linear.contains_key(&func)
    }
}

/// Gives `request`, the backward derivative of `of`, its body.
pub(crate) fn backward_request(cx: &mut Context<'_>, request: FuncId, of: FuncId) -> Result<(), Reported> {
    require_backward(cx, of, cx.module.funcs[request].span)?;
    cx.fill(of)?;
    if let Some(custom) = cx.module.funcs[of].diff.backward {
        cx.fill(custom)?;
        return forward_to(cx, request, custom);
    }
    cx.reverse.filling.push(request);
    fill_below(cx, of);
    let again = cx.is_differentiated_again(request);
    let root = Rc::new(Root::of(cx.module, of, again));
    let outer = cx.reverse.root.replace(root);
    let result = generate(cx, request, of);
    cx.reverse.root = outer;
    cx.reverse.filling.pop();
    result?;
    tidy_all(cx, again);
    Ok(())
}

/// Has the derivatives written that `func` uses, perhaps through others, so that what they do is known. One that
/// cannot be written is told about now and matters only if it is differentiated.
fn fill_below(cx: &mut Context<'_>, func: FuncId) {
    let mut seen = Set::from_iter([func]);
    let mut open = vec![func];
    while let Some(func) = open.pop() {
        if !cx.reverse.filling.contains(&func) && cx.fill(func).is_ok() {
            let called = callees(&cx.module.funcs[func]).into_iter();
            open.extend(called.filter(|callee| seen.insert(*callee)));
        }
    }
}

/// The request is the user's own derivative.
fn forward_to(cx: &mut Context<'_>, request: FuncId, custom: FuncId) -> Result<(), Reported> {
    let mut func = cx.module.funcs[request].clone();
    let outputs: Vec<Ty> = func.sig.outputs().map(|o| o.ty).collect();
    let inputs = func.inputs().to_vec();
    if cx.module.funcs[custom].sig.inputs().count() != inputs.len() {
        return Err(wrong_signature(cx, custom, cx.module.funcs[request].span));
    }
    let mut b = Builder::new(&mut cx.module.types, &mut func);
    let call = b.emit(Op::Call(custom), &inputs, &outputs);
    let results = b.func.insts[call].results.to_vec();
    b.emit(Op::Return, &results, &[]);
    cx.module.funcs[request] = func;
    Ok(())
}

/// Writes the body of a request: unpack, primal half, backward function, pack.
fn generate(cx: &mut Context<'_>, request: FuncId, of: FuncId) -> Result<(), Reported> {
    let sig = cx.module.funcs[of].sig.clone();
    let roles = roles(&sig);
    if cx.module.funcs[request].sig.inputs().count() != roles.len() {
        return Err(wrong_signature(cx, of, cx.module.funcs[request].span));
    }
    let inputs: Mask = sig.inputs().map(|p| p.diff).collect();
    let free = vec![true; inputs.len()].into();
    let halves = halves::halves(cx, of, &inputs, free)?;
    let linear = halves.linear.expect("a generated derivative has a linear half");
    let seeds = Seeds {
        outputs: sig.outputs().map(|o| o.diff).filter(|diff| *diff).collect(),
        inputs: inputs.iter().filter(|i| **i).map(|_| false).collect(),
        certain: true,
    };
    let contributes = contributions(cx, linear, &seeds.outputs)?;
    let backward = backward(cx, linear, &seeds)?;

    let mut func = cx.module.funcs[request].clone();
    let Module { types, diff, funcs, .. } = &mut *cx.module;
    let mut b = Builder::new(types, &mut func);
    let given = Unpacked::of(&mut b, &roles, &sig);
    let outputs: Vec<Ty> = funcs[halves.primal].sig.outputs().map(|o| o.ty).collect();
    let call = b.emit(Op::Call(halves.primal), &given.primal, &outputs);
    let context = halves.context.and_then(|_| b.func.insts[call].results.last().copied());
    let needed = given.primal.iter().zip(&halves.needed).filter(|(_, needed)| **needed);
    let mut operands: Vec<Value> = context.into_iter().chain(needed.map(|(v, _)| *v)).collect();
    operands.extend(&given.cotangents);
    let outputs: Vec<Ty> = funcs[backward].sig.outputs().map(|o| o.ty).collect();
    let call = b.emit(Op::Call(backward), &operands, &outputs);
    let results = b.func.insts[call].results.to_vec();
    let packed = given.pack(&mut b, diff, &roles, &contributes, &results);
    b.emit(Op::Return, &packed, &[]);
    cx.module.funcs[request] = func;
    cx.reverse.rough.push(request);
    let cotangents = given.cotangents.len();
    let parts = Parts { primal: halves.primal, context: halves.context, backward, cotangents };
    cx.reverse.parts.insert(request, parts);
    Ok(())
}

/// What the inputs of a request hold.
struct Unpacked {
    /// The request's inputs, as they are.
    inputs: Vec<Value>,
    /// The inputs of the original function.
    primal: Vec<Value>,
    /// The cotangents of its outputs that have one.
    cotangents: Vec<Value>,
}

impl Unpacked {
    fn of(b: &mut Builder<'_>, roles: &[Role], sig: &Signature) -> Self {
        let inputs = b.func.inputs().to_vec();
        let mut primal: Vec<Option<Value>> = vec![None; sig.inputs().count()];
        let mut cotangents: Vec<Option<Value>> = vec![None; sig.outputs().count()];
        for (role, &value) in roles.iter().zip(&inputs) {
            match *role {
                Role::Plain(input) => primal[input] = Some(value),
                Role::Seed(output) => cotangents[output] = Some(value),
                Role::Pair { input, output } => {
                    primal[input] = Some(b.part(value, PRIMAL));
                    if let Some(output) = output {
                        cotangents[output] = Some(b.part(value, DERIVATIVE));
                    }
                }
            }
        }
        let (primal, cotangents) = (primal.into_iter().flatten(), cotangents.into_iter().flatten());
        Unpacked { inputs, primal: primal.collect(), cotangents: cotangents.collect() }
    }

    /// The pairs that the request gives back: values as they were, derivatives from `results`, which has one for
    /// each input that gets a contribution.
    fn pack(
        &self,
        b: &mut Builder<'_>,
        diff: &DiffTable,
        roles: &[Role],
        contributes: &[bool],
        results: &[Value],
    ) -> Vec<Value> {
        let mut results = results.iter().copied();
        let mut gradients = contributes.iter().map(|c| if *c { results.next() } else { None });
        let mut packed = Vec::new();
        for (role, &pair) in roles.iter().zip(&self.inputs) {
            if let Role::Pair { input, .. } = *role {
                let ty = b.ty(pair);
                let inner = b.types.part(ty, Some(DERIVATIVE)).expect("a pair has two parts");
                let gradient = gradients.next().flatten();
                let gradient = gradient.unwrap_or_else(|| tangent::zero(b, diff, inner));
                packed.push(b.pack(&[self.primal[input], gradient], ty));
            }
        }
        packed
    }
}

/// Which tangent inputs of a linear half get a cotangent, if the given outputs have one.
pub(crate) fn contributions(
    cx: &mut Context<'_>,
    linear: FuncId,
    outputs: &[bool],
) -> Result<Mask, Reported> {
    let key = (linear, outputs.into());
    if let Some(known) = cx.reverse.contributions.get(&key) {
        return Ok(known.clone());
    }
    // A recursive function contributes to all its inputs or to none, rather than to what it contributes to.
    if let Some(&Recursive { tangents, source }) = cx.reverse.recursive.get(&linear) {
        return Ok(vec![source || outputs.contains(&true); tangents].into());
    }
    let half = cx.reverse.linear[&linear].clone();
    let found = Reach::of(cx, &half, outputs)?.contributions(&half);
    cx.reverse.contributions.insert(key, found.clone());
    Ok(found)
}

/// Which tangent inputs of a linear half get a cotangent for sure, if the given outputs have one for sure.
pub(crate) fn certain(cx: &mut Context<'_>, linear: FuncId, outputs: &[bool]) -> Result<Mask, Reported> {
    let key = (linear, outputs.into());
    if let Some(known) = cx.reverse.certain.get(&key) {
        return Ok(known.clone());
    }
    if let Some(&Recursive { tangents, .. }) = cx.reverse.recursive.get(&linear) {
        return Ok(vec![false; tangents].into());
    }
    let half = cx.reverse.linear[&linear].clone();
    let reach = Reach::of(cx, &half, outputs)?;
    let inputs = Doubts::of(cx, &half, reach.values(), outputs, true)?.inputs;
    cx.reverse.certain.insert(key, inputs.clone());
    Ok(inputs)
}

/// Whether a linear half, or what it calls, has steep operations.
pub(crate) fn is_steep(cx: &mut Context<'_>, linear: FuncId) -> bool {
    if let Some(&known) = cx.reverse.steep.get(&linear) {
        return known;
    }
    // One that calls itself counts as steep, while it is written too; a function called for its values does not.
    let Some(half) = cx.reverse.linear.get(&linear).cloned() else {
        return cx.reverse.recursive.contains_key(&linear);
    };
    cx.reverse.steep.insert(linear, true);
    let found = !half.steep.is_empty() || callees(&half.func).into_iter().any(|callee| is_steep(cx, callee));
    cx.reverse.steep.insert(linear, found);
    found
}

/// The transpose of a linear half for the cotangents that a caller has.
pub(crate) fn backward(cx: &mut Context<'_>, linear: FuncId, seeds: &Seeds) -> Result<FuncId, Reported> {
    let key = (linear, seeds.clone());
    if let Some(&known) = cx.reverse.backward.get(&key) {
        return Ok(known);
    }
    let half = cx.reverse.linear[&linear].clone();
    let contributes = contributions(cx, linear, &seeds.outputs)?;
    let declared = declare(cx.module, &half, seeds, &contributes);
    let id = halves::add(cx, declared.clone(), half.func.diff.differentiable);
    cx.reverse.backward.insert(key, id);
    let turned = transpose(cx, declared, &half, seeds, &contributes)?;
    cx.after("transpose", &turned, None);
    let name = cx.module.funcs[id].name;
    let diff = cx.module.funcs[id].diff.clone();
    cx.module.funcs[id] = Func { name, diff, ..turned };
    Ok(id)
}

/// Tidies what was written since the last time. Late, because what a function does is known only when all it
/// calls is written. Unless the functions are differentiated again, calls of sources without effect are removed.
fn tidy_all(cx: &mut Context<'_>, again: bool) {
    let rough = std::mem::take(&mut cx.reverse.rough);
    let effects = Effects::below(cx.module, rough.iter().copied());
    let effects = if again { effects } else { effects.without_sources() };
    for id in rough {
        let Module { types, funcs, .. } = &mut *cx.module;
        let func = &mut funcs[id];
        tidy(types, func, &effects);
        hoist(types, func, When::BeforeDerivatives);
        let func = func.clone();
        // The halves have been shown by the passes that made them.
        match func.kind {
            FuncKind::Request(..) => cx.after("extract", &func, None),
            FuncKind::Defined => cx.verify("extract", &func, None),
        }
    }
}

/// Complains unless `func` has a backward derivative.
fn require_backward(cx: &mut Context<'_>, func: FuncId, span: Span) -> Result<(), Reported> {
    let f = &cx.module.funcs[func];
    if matches!(f.kind, FuncKind::Request(..)) {
        return Ok(());
    }
    let by_hand =
        f.diff.forward.is_some() && !f.diff.has_custom_backward() && f.diff.differentiable.is_none();
    let diagnostic = match cx.derived_diff(func).differentiable {
        Some(Mode::Backward) => return Ok(()),
        Some(Mode::Forward) if by_hand => {
            let message =
                format!("`{}` has a forward derivative of your own, but none for reverse mode", f.name);
            Diagnostic::new(codes::NO_REVERSE, span, message).help(
                "give it a backward derivative with `[BackwardDerivative(g)]`, or mark it `[Differentiable]`",
            )
        }
        Some(Mode::Forward) => {
            let message = format!(
                "`{}` is marked for forward mode only, so it cannot be differentiated in reverse",
                f.name
            );
            Diagnostic::new(codes::NO_REVERSE, span, message)
                .help("mark it `[Differentiable]`, for both modes")
        }
        None => {
            let message = format!("`{}` is not differentiable", f.name);
            Diagnostic::new(codes::NOT_DIFFERENTIABLE, span, message)
                .help("mark it `[Differentiable]` or give it a custom derivative")
        }
    };
    let diagnostic = diagnostic.label(f.span, "declared here");
    Err(cx.report(diagnostic))
}

/// Complains of the backward derivative of `of`, which somebody needs at `span`.
pub(crate) fn wrong_signature(cx: &mut Context<'_>, of: FuncId, span: Span) -> Reported {
    let f = &cx.module.funcs[of];
    let message = format!("the backward derivative of `{}` has the wrong number of parameters", f.name);
    cx.report(Diagnostic::new(codes::WRONG_SIGNATURE, span, message).label(f.span, "declared here"))
}
