//! Checks that functions restricted to some targets or stages are called only where the program may call them.
//!
//! If all entry points have the same stage, a call is checked when it is lowered. Otherwise a function may be reached from
//! several stages, and the check runs on the complete module.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, EntitySet, Span};
use cotangent_ir::{FuncId, FuncKind, Op, Stage};
use cotangent_sema::capability::Targets;
use cotangent_sema::hir;

impl Lowerer<'_> {
    /// Refuses a function that is not for the target or the stage. If there are several stages, [`check_stages`]
    /// finds out later which of them come to it.
    pub fn require_target(&mut self, func: hir::FuncId, span: Span) {
        self.resolve(func);
        let Some(target) = self.options.target else { return };
        let allowed = self.queries.program.funcs[func].targets;
        if allowed == Targets::ALL {
            return;
        }
        if !allowed.contains(target.name()) {
            self.wrong_target(func, &format!("program for `{}`", target.name()), &allowed.names(), span);
        } else if let Some(stage) = self.stage() {
            self.require_stage(func, stage, span);
        }
    }

    /// Refuses a function that is not for the stage.
    fn require_stage(&mut self, func: hir::FuncId, stage: Stage, span: Span) {
        let allowed = self.queries.program.funcs[func].targets;
        if !allowed.contains_stage(stage.name()) {
            self.wrong_target(func, &format!("{} shader", stage.name()), &allowed.stages(), span);
        }
    }

    fn wrong_target(&mut self, func: hir::FuncId, what: &str, all: &[&str], span: Span) {
        let name = self.queries.program.funcs[func].name;
        let message = format!("`{name}` is not available in a {what}");
        let diagnostic = Diagnostic::new(codes::WRONG_TARGET, span, message)
            .label(self.queries.program.funcs[func].span, format!("it requires {}", all.join(", ")));
        self.diagnostics.push(diagnostic.help("select the call with `__target_switch`"));
    }

    /// The stage of all entry points, if it is one.
    pub fn stage(&self) -> Option<Stage> {
        let mut stages = self.module.funcs.values().filter_map(|f| f.entry.as_ref()).map(|entry| entry.stage);
        let first = stages.next().unwrap_or(Stage::Compute);
        stages.all(|stage| stage == first).then_some(first)
    }
}

/// Reports functions that are not for the stage of an entry point that comes to them, where entry points are of several stages: if
/// they are of one, that was said when the call was lowered.
pub(crate) fn check_stages(lowerer: &mut Lowerer<'_>, entries: &[FuncId]) {
    if lowerer.options.target.is_none() || lowerer.stage().is_some() {
        return;
    }
    for stage in [Stage::Compute, Stage::Vertex, Stage::Fragment] {
        let (mut seen, mut calls) = (EntitySet::new(), vec![]);
        for &entry in entries {
            if lowerer.module.funcs[entry].entry.as_ref().is_some_and(|e| e.stage == stage) {
                collect_calls(lowerer, entry, &mut seen, &mut calls);
            }
        }
        for (callee, span) in calls {
            if let Some(func) = lowerer.func_of(callee) {
                lowerer.require_stage(func.func, stage, span);
            }
        }
    }
}

/// The calls that a function and those it calls make, with where they are written.
fn collect_calls(
    lowerer: &Lowerer<'_>,
    id: FuncId,
    seen: &mut EntitySet<FuncId>,
    calls: &mut Vec<(FuncId, Span)>,
) {
    if !seen.insert(id) {
        return;
    }
    let func = &lowerer.module.funcs[id];
    for inst in func.all_insts() {
        let data = &func.insts[inst];
        let Op::Call(mut callee) = data.op else { continue };
        while let FuncKind::Request(_, of) = lowerer.module.funcs[callee].kind {
            callee = of;
        }
        calls.push((callee, data.span));
        collect_calls(lowerer, callee, seen, calls);
    }
}
