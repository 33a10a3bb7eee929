//! Finds the derivatives that a module requests and writes their bodies, inner ones before outer ones.
//!
//! Only reachable requests count: those called, directly or indirectly, from a function that is not itself a request. The
//! modes write derivatives of callees on demand. A request may be of another request (`fwd_diff(fwd_diff(f))`): the inner one
//! gets its body first, and is an ordinary function from then on.

use crate::budget::{self, Policies};
use crate::conditions::conditions;
use crate::report::{Report, report};
use crate::substitute::Substitutes;
use crate::{codes, forward, reverse};
use cotangent_base::{Diagnostic, Diagnostics, Set};
use cotangent_ir::{Builder, DiffInfo, Func, FuncId, FuncKind, Inline, Mode, Module, Op, Prefer, Ty};
use cotangent_passes::calls::callees;
use cotangent_passes::effects::Effects;
use cotangent_passes::inline::inline_calls;
use cotangent_passes::optimize::optimize_func;
use cotangent_passes::pass::{Facts, UNROLL, When};
use cotangent_passes::unroll::unroll;
use cotangent_passes::watch::Watch;

/// The most instructions that unrolling the loops of one function may write.
const UNROLL_LIMIT: usize = 1 << 16;

/// The most instructions to differentiate, over all functions. Derivatives of derivatives of an order that nobody uses get
/// there, since each order doubles the code.
const CODE_LIMIT: usize = 1 << 17;

/// How deep control flow may nest. What is known at each level is carried through all those around it, so that time grows
/// with the cube of the depth.
const NESTING_LIMIT: u32 = 1024;

/// What the passes share while they write derivatives.
pub struct Context<'m> {
    /// The module; derivatives are added to it.
    pub module: &'m mut Module,
    /// What went wrong so far.
    pub diagnostics: Diagnostics,
    /// What the functions did before derivatives were added.
    pub effects: Effects,
    /// What forward mode has written.
    pub forward: forward::Cache,
    /// What reverse mode has written.
    pub reverse: reverse::Cache,
    /// Which functions are differentiated by way of a copy.
    pub substitutes: Substitutes,
    /// Who observes the passes.
    pub watch: Watch,
    /// How backward derivatives weigh bytes against work, where that is not as usual.
    pub(crate) policies: Policies,
    /// The requests whose bodies are being written, to notice one that needs itself.
    filling: Set<FuncId>,
    /// The requests that are differentiated again, by themselves or inside another function.
    again: Set<FuncId>,
    /// How many instructions were differentiated so far.
    differentiated: usize,
    /// The requests that could not be filled. The reason has been reported.
    failed: Set<FuncId>,
}

/// Something could not be differentiated, and the reason is among the diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported;

/// Gives every reachable request in `module` its body. Functions that are no requests are left as they are.
pub fn differentiate(module: &mut Module) -> Diagnostics {
    differentiate_also(module, &[])
}

/// As [`differentiate`], and gives `roots` their bodies too, called or not.
pub fn differentiate_also(module: &mut Module, roots: &[FuncId]) -> Diagnostics {
    differentiate_watched(module, roots, &mut Watch::default())
}

/// As [`differentiate_watched`], and reports what the backward derivatives `requests` cost.
pub fn differentiate_reporting(
    module: &mut Module,
    roots: &[FuncId],
    requests: &[FuncId],
    watch: &mut Watch,
) -> (Diagnostics, Vec<Report>) {
    let cx = write_within(module, roots, watch);
    let reports = requests.iter().map(|request| report(&cx, *request)).collect();
    let diagnostics;
    (diagnostics, *watch) = cx.finish();
    (diagnostics, reports)
}

/// As [`differentiate_also`], observed by `watch`.
pub fn differentiate_watched(module: &mut Module, roots: &[FuncId], watch: &mut Watch) -> Diagnostics {
    let diagnostics;
    (diagnostics, *watch) = write_within(module, roots, watch).finish();
    diagnostics
}

/// Writes every body that is wanted, within the budget of the module if it has one.
fn write_within<'m>(module: &'m mut Module, roots: &[FuncId], watch: &mut Watch) -> Context<'m> {
    let (policies, told) = match module.budget {
        Some(budget) => budget::policies(module, roots, budget),
        None => (Policies::default(), Diagnostics::new()),
    };
    let mut cx = write(Context { policies, ..start(module, std::mem::take(watch)) }, roots);
    cx.diagnostics.append(told);
    cx
}

/// Gets ready to write bodies.
pub(crate) fn start(module: &mut Module, watch: Watch) -> Context<'_> {
    let is_request = |f: &Func| f.kind != FuncKind::Defined;
    if module.funcs.values().any(is_request) {
        mark_arithmetic(module);
    }
    Context { watch, ..Context::new(module) }
}

/// Gives the requests below `func` their bodies. The code that is written will be differentiated again.
pub(crate) fn differentiate_below(module: &mut Module, func: FuncId) -> Diagnostics {
    let mut cx = start(module, Watch::default());
    let is_request = |id: &FuncId| matches!(cx.module.funcs[*id].kind, FuncKind::Request(..));
    cx.again = cx.module.funcs.keys().filter(is_request).collect();
    write_below(cx, vec![func]).finish().0
}

/// Writes every body that is wanted.
pub(crate) fn write<'m>(cx: Context<'m>, roots: &[FuncId]) -> Context<'m> {
    let is_root = |f: &FuncId| cx.module.funcs[*f].kind == FuncKind::Defined || roots.contains(f);
    let todo = cx.module.funcs.keys().filter(is_root).collect();
    write_below(cx, todo)
}

/// Writes the bodies of `todo` and of what they call.
fn write_below<'m>(mut cx: Context<'m>, mut todo: Vec<FuncId>) -> Context<'m> {
    let mut seen: Set<FuncId> = todo.iter().copied().collect();
    todo.reverse();
    while let Some(func) = todo.pop() {
        if cx.fill(func).is_ok() {
            let callees = callees(&cx.module.funcs[func]);
            todo.extend(callees.into_iter().rev().filter(|f| seen.insert(*f)));
        }
    }
    cx
}

/// The user's `dzero` and `dadd` need not be marked differentiable. Derivatives call them, so derivatives of derivatives
/// need theirs.
fn mark_arithmetic(module: &mut Module) {
    let functions: Vec<FuncId> =
        module.diff.iter().flat_map(|(_, row)| row.zero.into_iter().chain(row.add)).collect();
    for func in functions {
        module.funcs[func].diff.differentiable.get_or_insert(Mode::Backward);
    }
}

/// The requests that a differentiated function is or calls, perhaps through others.
fn differentiated_again(module: &Module) -> Set<FuncId> {
    let request_of = |func: &Func| match func.kind {
        FuncKind::Request(_, of) => Some(of),
        FuncKind::Defined => None,
    };
    let mut open: Vec<FuncId> = module.funcs.values().filter_map(request_of).collect();
    let mut seen: Set<FuncId> = open.iter().copied().collect();
    while let Some(func) = open.pop() {
        let func = &module.funcs[func];
        let used = callees(func).into_iter().chain(request_of(func)).chain(func.diff.links());
        open.extend(used.filter(|used| seen.insert(*used)));
    }
    seen.retain(|func| request_of(&module.funcs[*func]).is_some());
    seen
}

/// A diagnostic about a function is reported once, however many of its derivatives were tried.
fn without_repetition(told: Diagnostics) -> Diagnostics {
    let mut once: Vec<Diagnostic> = Vec::new();
    for diagnostic in told {
        if !once.contains(&diagnostic) {
            once.push(diagnostic);
        }
    }
    let mut told = Diagnostics::new();
    once.into_iter().for_each(|diagnostic| told.push(diagnostic));
    told
}

impl<'m> Context<'m> {
    /// Nothing written yet.
    pub fn new(module: &'m mut Module) -> Self {
        Context {
            effects: Effects::below(module, module.funcs.keys()),
            again: differentiated_again(module),
            module,
            diagnostics: Diagnostics::new(),
            forward: forward::Cache::default(),
            reverse: reverse::Cache::default(),
            substitutes: Substitutes::default(),
            watch: Watch::default(),
            policies: Policies::default(),
            filling: Set::default(),
            differentiated: 0,
            failed: Set::default(),
        }
    }

    /// Whether the derivative `request` is itself differentiated.
    pub(crate) fn is_differentiated_again(&self, request: FuncId) -> bool {
        self.again.contains(&request)
    }

    /// Ends the work: removes what was a step on the way.
    fn finish(self) -> (Diagnostics, Watch) {
        let Context { module, diagnostics, reverse, watch, .. } = self;
        reverse.finish(module);
        (without_repetition(diagnostics), watch)
    }

    /// Tells the user.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Whether any diagnostic after the first `told` is an error.
    pub(crate) fn has_errors_since(&self, told: usize) -> bool {
        self.diagnostics.iter().skip(told).any(Diagnostic::is_error)
    }

    /// Makes sure that `func` has a body: if it is a request, the body is written now.
    pub fn fill(&mut self, func: FuncId) -> Result<(), Reported> {
        let FuncKind::Request(mode, of) = self.module.funcs[func].kind else {
            return Ok(());
        };
        if self.failed.contains(&func) {
            return Err(Reported);
        }
        if !self.filling.insert(func) {
            return Err(self.endless_order(func, of));
        }
        let differentiated = self.substitutes.resolve(self.module, of);
        let result = match mode {
            Mode::Forward => forward::request(self, func, differentiated),
            Mode::Backward => reverse::write_request(self, func, differentiated),
        };
        self.filling.remove(&func);
        match result {
            Ok(()) => self.finish_request(func, of),
            Err(Reported) => self.give_up(func),
        }
        result
    }

    /// Whether the body of `func` could not be written.
    pub(crate) fn has_failed(&self, func: FuncId) -> bool {
        self.failed.contains(&func)
    }

    /// Never tries again to write the body of `func`.
    pub(crate) fn give_up(&mut self, func: FuncId) {
        self.failed.insert(func);
    }

    /// From now on the request is a function like any other, and as differentiable as the one it was made from.
    fn finish_request(&mut self, request: FuncId, of: FuncId) {
        let differentiable = self.derived_diff(of).differentiable;
        let func = &mut self.module.funcs[request];
        func.kind = FuncKind::Defined;
        func.diff.differentiable = func.diff.differentiable.or(differentiable);
    }

    /// What holds for a function that was generated to differentiate `of`.
    pub fn derived_diff(&self, of: FuncId) -> DiffInfo {
        let diff = &self.module.funcs[of].diff;
        let whole = !diff.is_from_body() || diff.has_custom_backward();
        let differentiable = match diff.differentiable {
            Some(mode) => Some(mode),
            None if whole => Some(Mode::Backward),
            None => diff.forward.map(|_| Mode::Forward),
        };
        DiffInfo { differentiable, prefer: diff.prefer, ..DiffInfo::default() }
    }

    fn endless_order(&mut self, request: FuncId, of: FuncId) -> Reported {
        let (of, span) = (&self.module.funcs[of], self.module.funcs[request].span);
        let message = format!("the derivative of `{}` depends on itself", of.name);
        let diagnostic = Diagnostic::new(codes::ENDLESS_ORDER, span, message)
            .label(of.span, "its body uses its own derivative")
            .help("put `no_diff` before the inner call, or give the function a custom derivative");
        self.report(diagnostic)
    }

    /// A copy of the body of `func`, ready to be differentiated: marked calls are inlined and marked loops unrolled, counting
    /// loops are `for`, invariant code is hoisted, and loop conditions that call sources are moved into the bodies. If the
    /// derivative does not come from the body (a library rule, a substitute, none at all), the copy just calls `func`.
    pub fn body_of(&mut self, func: FuncId) -> Result<Func, Reported> {
        self.fill(func)?;
        if !self.module.funcs[func].diff.is_from_body() {
            return Ok(self.caller_of(func));
        }
        let original = self.module.funcs[func].clone();
        if callees(&original).iter().any(|f| is_inlined_early(&self.module.funcs[*f])) {
            inline_calls(self.module, func, &is_inlined_early);
        }
        let mut copy = std::mem::replace(&mut self.module.funcs[func], original);
        let before = self.differentiated;
        self.differentiated += copy.insts.len();
        if before > CODE_LIMIT {
            // This was reported for the function that exceeded the limit.
            return Err(Reported);
        }
        if self.differentiated > CODE_LIMIT {
            return Err(self.too_much_code(&copy));
        }
        if copy.nesting() > NESTING_LIMIT {
            return Err(self.too_deep(&copy));
        }
        self.unroll(&mut copy)?;
        let facts = Facts { effects: &self.effects, when: When::BeforeDerivatives };
        optimize_func(self.module, &mut copy, &facts, &mut self.watch);
        conditions(&mut self.module.types, &mut copy, &self.effects);
        Ok(copy)
    }

    fn too_deep(&mut self, func: &Func) -> Reported {
        let message = format!("the control flow of `{}` is nested too deeply to differentiate", func.name);
        let diagnostic = Diagnostic::new(codes::TOO_MUCH_CODE, func.span, message)
            .help("write a long chain of `else if` as a `switch`, or as a loop over a table");
        self.report(diagnostic)
    }

    fn too_much_code(&mut self, func: &Func) -> Reported {
        let message = format!("`{}` is too large to differentiate", func.name);
        let diagnostic = Diagnostic::new(codes::TOO_MUCH_CODE, func.span, message)
            .help("every order of derivatives doubles the code; use a lower order");
        self.report(diagnostic)
    }

    /// A function with the signature of `func` that calls it.
    fn caller_of(&mut self, func: FuncId) -> Func {
        let original = &self.module.funcs[func];
        let outputs: Vec<Ty> = original.sig.outputs().map(|o| o.ty).collect();
        let mut caller = Func::new(original.name, original.sig.clone(), original.span);
        caller.origin = original.origin;
        let inputs = caller.inputs().to_vec();
        let mut b = Builder::new(&mut self.module.types, &mut caller);
        let call = b.emit(Op::Call(func), &inputs, &outputs);
        let outputs = b.func.insts[call].results.to_vec();
        b.emit(Op::Return, &outputs, &[]);
        caller
    }

    fn unroll(&mut self, func: &mut Func) -> Result<(), Reported> {
        self.watch.begin(UNROLL, || func.size());
        let left = unroll(&mut self.module.types, func, UNROLL_LIMIT);
        self.watch.end(|| func.size());
        self.watch.after(UNROLL, self.module, func, true);
        let mut result = Ok(());
        for span in left {
            let message = format!("cannot unroll a loop in `{}`", func.name);
            let diagnostic = Diagnostic::new(codes::NOT_UNROLLED, span, message)
                .here("its iteration count is not a constant, or it is too large")
                .help("remove `[ForceUnroll]`; for a backward derivative, write `[MaxIters(n)]` instead");
            result = Err(self.report(diagnostic));
        }
        result
    }
}

/// Whether a call may be replaced by the body before derivatives are taken.
fn is_inlined_early(func: &Func) -> bool {
    let diff = &func.diff;
    let special = diff.is_custom() || diff.prefer != Prefer::Auto;
    func.inline == Inline::Early && diff.is_from_body() && !special
}
