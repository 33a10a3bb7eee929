//! Reverse mode: from a function to the functions that compute its gradient.
//!
//! ```text
//! P(x..)                       -> (y.., context)     f.primal: the function, storing what is needed later
//! D(context, x'.., x_t..)      -> y_t..              f.linear: its derivative, given that
//! B(context, x'.., y_ct..)     -> x_ct..             f.bwd:    the transpose of D
//! ```
//!
//! [`write_request`] is the driver. Its stages, in order:
//!
//! | stage | in | makes |
//! | --- | --- | --- |
//! | [`prepare`](mod@crate::prepare) | `halves` | a copy of the function without early exits |
//! | [`segments`](mod@crate::segments) | `halves` | loops cut into segments, which are functions |
//! | [`linearize`](mod@crate::linearize) | `halves` | the function with its linear map |
//! | [`checkpoint`](mod@crate::checkpoint) | `halves` | the decision what `P` stores for `D` |
//! | [`unzip`](mod@crate::unzip) | `halves` | `P` and `D` |
//! | [`transpose`](mod@crate::transpose) | [`backward`] | `B` |
//! | `extract` | `extract` | the function that the user calls: unpacks pairs, calls `P`, calls `B`, packs pairs |
//!
//! `P` and `D` are cached per function, active inputs, free inputs, and memory that may change between the passes. `B` is
//! also cached per set of cotangents. Callees are processed before callers, because the values that a callee takes from its
//! caller affect the caller's decisions.
//!
//! A function with a custom backward derivative is its own `P` and has no `D`: the call stays opaque until it is transposed
//! into a call of the custom derivative. If the custom derivative has two steps (`__apply`), the first is `P`, with the
//! user's context, and `D` is opaque in the same way; `two_steps` writes both. `recursive` writes the halves of recursive
//! functions.
//!
//! `fold_factors` folds chains of products whose factors `checkpoint` would store. `custom_needs` finds which inputs a custom
//! derivative reads. `repeat` decides what may run again in the backward pass. `remove_linear` finally removes the linear
//! halves, which nothing calls.

pub(crate) mod backward;
pub(crate) mod custom_needs;
mod extract;
mod fold_factors;
mod halves;
mod recursive;
mod remove_linear;
mod repeat;
mod two_steps;

use crate::budget::Policy;
use crate::checkpoint::Callee;
use crate::checkpoint::work::Works;
use crate::codes;
use crate::driver::{Context, Reported};
use crate::report::Why;
use crate::stages::EXTRACT;
use crate::transpose::reach::Reach;
use crate::transpose::{Seeds, roles};
use crate::unzip::LinearFunc;
use cotangent_base::{Diagnostic, Map, Set, Span};
use cotangent_ir::{Builder, FuncId, FuncKind, InputMask, Mode, Module, Op, OutputMask, TangentMask, Ty};
use cotangent_passes::calls::callees;
use cotangent_passes::effects::{Effects, Writes};
use cotangent_passes::optimize::tidy;
use cotangent_passes::pass::{Facts, HOIST, When};
pub(crate) use repeat::Root;
use std::rc::Rc;

/// What reverse mode has already written, so that it writes nothing twice.
#[derive(Default)]
pub struct Cache {
    halves: Map<Key, Callee>,
    linear: Map<FuncId, Rc<LinearFunc>>,
    /// The values of a linear half that get a cotangent, given which outputs have one.
    reach: Map<(FuncId, OutputMask), Rc<Reach>>,
    /// The tangent inputs that get one for sure.
    certain: Map<(FuncId, OutputMask), TangentMask>,
    steep: Map<FuncId, bool>,
    backward: Map<(FuncId, Seeds), FuncId>,
    /// What is known of the fields of contexts.
    fields: Map<(Ty, u32), Kept>,
    /// What each request consists of.
    parts: Map<FuncId, Parts>,
    /// What functions cost.
    works: Works,
    /// The linear halves of recursive functions.
    recursive: Map<FuncId, Recursive>,
    /// Which inputs custom backward derivatives read.
    needs: Map<FuncId, InputMask>,
    /// What is being taken apart, to notice recursion that no call shows.
    open: Vec<Key>,
    /// The loops that were cut into segments.
    cuts: Vec<CutLoop>,
    /// Functions written and not yet tidied.
    rough: Vec<FuncId>,
    /// The requests being written, innermost last.
    filling: Vec<FuncId>,
    /// What is known about the innermost.
    root: Option<Rc<Root>>,
}

/// A loop that was cut into segments.
pub(crate) struct CutLoop {
    /// Where it is.
    pub span: Span,
    /// The functions that run segments, of the lowest level first, and how many iterations of the loop each runs at most.
    pub units: Vec<(FuncId, u32)>,
}

/// What is known of the linear half of a recursive function before it is written.
#[derive(Clone, Copy)]
struct Recursive {
    /// How many tangents it takes.
    tangents: usize,
    /// Whether it is a source: it contributes to their cotangents even if no cotangent arrives.
    source: bool,
}

/// What is known of a field of a context, beyond its type.
pub(crate) struct Kept {
    /// Why it is stored, if the primal half does not show the reason.
    pub why: Option<Why>,
    /// The type of what it holds, per iteration.
    pub each: Ty,
    /// The loops around what it holds, outermost first, and how many iterations each has room for.
    pub loops: Vec<(Span, u32)>,
}

/// What a backward derivative that was generated consists of.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The function it is the derivative of.
    pub of: FuncId,
    /// Which of that function's inputs the second function takes.
    pub needed: InputMask,
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
    inputs: InputMask,
    /// Which inputs cost the caller nothing.
    free: InputMask,
    /// The memory that may change between the forward and the backward pass.
    changing: Writes,
    /// Whether the result is differentiated again.
    again: bool,
    policy: Policy,
}

impl Cache {
    /// What is known about the request being written.
    fn root(&self) -> Rc<Root> {
        self.root.clone().expect("a request is being written")
    }

    /// Has `func`, which was written on the way, tidied when the request is done.
    pub(crate) fn add_rough(&mut self, func: FuncId) {
        self.rough.push(func);
    }

    /// Notes a loop that was cut.
    pub(crate) fn add_cut(&mut self, cut: CutLoop) {
        self.cuts.push(cut);
    }

    /// The loops that were cut.
    pub(crate) fn cuts(&self) -> &[CutLoop] {
        &self.cuts
    }

    /// The function of each primal half.
    pub(crate) fn originals(&self) -> Map<FuncId, FuncId> {
        self.halves.values().map(|halves| (halves.primal, halves.func)).collect()
    }

    /// The primal halves that store something, and what they store.
    pub(crate) fn keepers(&self) -> (Set<FuncId>, Set<Ty>) {
        let stored = self.halves.values().filter_map(|halves| Some((halves.primal, halves.context?)));
        stored.unzip()
    }

    /// Ends the work on `module`: removes the functions from it that were steps on the way.
    pub(crate) fn finish(self, module: &mut Module) {
        remove_linear::remove_linear(module, &self.linear.keys().copied().collect());
    }

    /// What `request` consists of, if it was generated.
    pub(crate) fn parts(&self, request: FuncId) -> Option<&Parts> {
        self.parts.get(&request)
    }

    /// Whether `ty` is what some primal half stores.
    pub(crate) fn is_context(&self, ty: Ty) -> bool {
        self.halves.values().any(|halves| halves.context == Some(ty))
    }

    /// The primal half that stores such a context.
    pub(crate) fn keeper(&self, context: Ty) -> Option<FuncId> {
        self.halves.values().find(|halves| halves.context == Some(context)).map(|halves| halves.primal)
    }

    /// What is known of a field of a context.
    pub(crate) fn field(&self, context: Ty, field: u32) -> Option<&Kept> {
        self.fields.get(&(context, field))
    }

    /// Whether `func` is the linear half of something.
    pub fn is_linear_half(&self, func: FuncId) -> bool {
        self.linear.contains_key(&func)
    }
}

/// Gives `request`, the backward derivative of `of`, its body.
pub(crate) fn write_request(cx: &mut Context<'_>, request: FuncId, of: FuncId) -> Result<(), Reported> {
    require_backward(cx, of, cx.module.funcs[request].span)?;
    cx.fill(of)?;
    if let Some(custom) = cx.module.funcs[of].diff.backward {
        cx.fill(custom)?;
        return forward_to(cx, request, custom);
    }
    cx.reverse.filling.push(request);
    fill_below(cx, of);
    let again = cx.is_differentiated_again(request);
    let policy = cx.policies.get(&request).copied().unwrap_or_default();
    let root = Rc::new(Root::of(cx.module, of, again, policy));
    let outer = cx.reverse.root.replace(root);
    let result = run_stages(cx, request, of);
    cx.reverse.root = outer;
    cx.reverse.filling.pop();
    result?;
    tidy_all(cx, again);
    Ok(())
}

/// Has the derivatives written that `func` uses, perhaps through others, so that what they do is known. One that
/// cannot be written is reported now and matters only if it is differentiated.
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

/// The stages of reverse mode, in order.
fn run_stages(cx: &mut Context<'_>, request: FuncId, of: FuncId) -> Result<(), Reported> {
    let sig = cx.module.funcs[of].sig.clone();
    if cx.module.funcs[request].sig.inputs().count() != roles(&sig).len() {
        return Err(wrong_signature(cx, of, cx.module.funcs[request].span));
    }
    let inputs: InputMask = sig.inputs().map(|p| p.diff).collect();
    // prepare, linearize, checkpoint and unzip: of the callees first, then of the function.
    let halves = halves::halves(cx, of, &inputs, InputMask::filled(true, inputs.len()))?;
    let linear = halves.linear.expect("a generated derivative has a linear half");
    let seeds = Seeds {
        outputs: sig.outputs().map(|o| o.diff).filter(|diff| *diff).collect(),
        inputs: inputs.choose(&inputs).map(|_| false).collect(),
        certain: true,
    };
    // transpose: of the callees too, as the function calls them.
    let contributes = backward::contributions(cx, linear, &seeds.outputs)?;
    let backward = backward::backward(cx, linear, &seeds)?;
    extract::extract(cx, request, &sig, &halves, backward, &contributes);
    Ok(())
}

/// Tidies what was written since the last time. Late, because what a function does is known only when all it
/// calls is written. Unless the functions are differentiated again, calls of sources without effect are removed.
fn tidy_all(cx: &mut Context<'_>, again: bool) {
    let rough = std::mem::take(&mut cx.reverse.rough);
    let effects = Effects::below(cx.module, rough.iter().copied());
    let effects = if again { effects } else { effects.without_sources() };
    let facts = Facts { effects: &effects, when: When::BeforeDerivatives };
    for id in rough {
        let mut func = cx.module.detach(id);
        tidy(cx.module, &mut func, &facts, &mut cx.watch);
        cx.watch.run(HOIST, cx.module, &mut func, &facts);
        // The halves have been shown by the passes that made them.
        match func.kind {
            FuncKind::Request(..) => cx.after(EXTRACT, &func, None),
            FuncKind::Defined => cx.verify(EXTRACT, &func, None),
        }
        cx.module.funcs[id] = func;
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
            let message = format!("`{}` has a custom forward derivative only", f.name);
            Diagnostic::new(codes::NO_REVERSE, span, message).help(
                "give it a backward derivative with `[BackwardDerivative(g)]`, or mark it `[Differentiable]`",
            )
        }
        Some(Mode::Forward) => {
            let message = format!("`{}` is marked for forward mode only", f.name);
            Diagnostic::new(codes::NO_REVERSE, span, message)
                .help("mark it `[Differentiable]` for both modes")
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
