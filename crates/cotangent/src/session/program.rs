//! A program and its stages, from checked to optimized.

use super::unchanged::Unchanged;
use super::{Answer, Counters, Memo, Request, Session, State, Stop};
use crate::costs;
use crate::function_names::{self, Asking};
use crate::kernel;
use crate::modules::Loaded;
use crate::pipeline::{self, Memory, Watch};
use crate::reflect::Reflection;
use cotangent_autodiff::report::Report;
use cotangent_base::{Diagnostics, Set, Sources, Symbol};
use cotangent_ir::layout::Target;
use cotangent_ir::{FuncId, FuncKind, Mode, Op};
use cotangent_lower::{KernelRoot, Lowered, Options, Roots};
use cotangent_sema::Checked;
use cotangent_sema::hir::{Global, GlobalKind, TyKind};
use std::sync::Arc;

/// A program as its files were when the session gave it. Questions about it compute the stages that they need, unless
/// somebody asked for them before.
#[derive(Clone)]
pub struct Program {
    session: Session,
    stages: Arc<Stages>,
    request: Request,
}

/// The stages of a program so far.
pub(crate) struct Stages {
    pub loaded: Loaded,
    /// What an earlier version found out about its modules, by whether it might be a part of another.
    earlier: [Option<Arc<Unchanged>>; 2],
    /// By whether the program may be a part of another.
    checked: Memo<bool, Checked>,
    /// By whether the program may be a part of another, roots and options.
    lowered: Memo<(bool, Roots, Options), LoweredStage>,
    /// What backward derivatives keep, by the options of lowering.
    contexts: Memo<Options, Vec<(Symbol, u64)>>,
}

/// A lowered program, or why there is none, with the stages made from it.
struct LoweredStage {
    lowered: Option<Arc<Lowered>>,
    diagnostics: Diagnostics,
    derived: Memo<(), DerivedStage>,
}

/// A lowered program with its derivatives.
struct DerivedStage {
    lowered: Lowered,
    diagnostics: Diagnostics,
    /// What the backward derivative costs, if the roots ask for one.
    report: Option<Arc<Report>>,
    optimized: Memo<Memory, OptimizedStage>,
}

/// What is run or emitted.
struct OptimizedStage {
    lowered: Arc<Lowered>,
    diagnostics: Diagnostics,
}

impl Stages {
    pub(crate) fn new(loaded: Loaded, earlier: Option<&Stages>) -> Self {
        let of_earlier = |partial: bool| {
            let earlier = earlier?;
            match earlier.checked.made(&partial) {
                Some(checked) => Some(Arc::new(Unchanged::of(&earlier.loaded, &checked))),
                None => earlier.earlier[usize::from(partial)].clone(),
            }
        };
        let earlier = [false, true].map(of_earlier);
        Stages {
            loaded,
            earlier,
            checked: Memo::default(),
            lowered: Memo::default(),
            contexts: Memo::default(),
        }
    }
}

/// What an answer reports, stage by stage.
pub(crate) struct Telling<'p> {
    request: &'p Request,
    diagnostics: Diagnostics,
    /// Observes the passes that run for this answer.
    watch: Watch,
}

impl Telling<'_> {
    /// Adds what a stage found.
    pub(crate) fn add(&mut self, diagnostics: &Diagnostics) {
        let shown = diagnostics.iter().filter(|d| !self.request.warnings.silences(d));
        shown.for_each(|d| self.diagnostics.push(d.clone()));
    }

    /// Adds what a stage found, and stops if that or something before is an error.
    pub(crate) fn tell(&mut self, diagnostics: &Diagnostics) -> Result<(), Stop> {
        self.add(diagnostics);
        let denied = self.request.warnings.deny && !self.diagnostics.is_empty();
        if denied || self.diagnostics.has_errors() { Err(Stop::Errors) } else { Ok(()) }
    }
}

impl Program {
    pub(crate) fn new(session: Session, stages: Arc<Stages>, request: Request) -> Self {
        Program { session, stages, request }
    }

    /// The request it was made for.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The files that diagnostics and code point into.
    pub fn sources(&self) -> Sources {
        self.state().snapshot()
    }

    /// The typed program, with what is wrong with it among its diagnostics. There is none if a file cannot be found.
    pub fn checked(&self) -> Option<Arc<Checked>> {
        self.stages.loaded.stop.is_none().then(|| self.check_stage(false))
    }

    /// Whether a function of that name is an entry point.
    pub fn has_entry(&self, name: &str) -> bool {
        let Some(checked) = self.checked() else { return false };
        let funcs = &checked.program.funcs;
        checked.program.user_funcs.iter().any(|id| funcs[*id].entry.is_some() && funcs[*id].name == *name)
    }

    /// The enumerators of the program: `Kind.Round` and its number.
    pub fn enumerators(&self) -> Vec<(String, i64)> {
        self.checked().map_or(vec![], |checked| checked.user_enumerators())
    }

    /// Whether the program can be compiled.
    pub fn check(&self) -> Answer<()> {
        self.ask(|telling| self.accepted(false, telling).map(drop))
    }

    /// As [`check`](Self::check), and lowers the whole module to find what shows only in code. The program may be a part of
    /// another and leave open what that defines. If asked to, writes the derivatives as well that the program takes.
    pub fn check_whole(&self, derivatives: bool) -> Answer<()> {
        self.ask(|telling| {
            let checked = self.accepted(true, telling)?;
            if checked.is_open() {
                return Ok(());
            }
            let lowered = self.lowered_from(true, &checked, Roots::Module, telling)?;
            match derivatives {
                true => self.derived_from(&lowered, false, telling).map(drop),
                false => Ok(()),
            }
        })
    }

    /// The program in IR, as far as `roots` need it; derivatives are not written yet. The function whose derivatives are wanted
    /// may be an overload, `f(float2)`, or an instance, `sum<float, 3>`.
    pub fn lower(&self, roots: Roots) -> Answer<Arc<Lowered>> {
        self.ask(|telling| self.lowered(roots, telling)?.lowered.clone().ok_or(Stop::Errors))
    }

    /// The program in IR with its derivatives, optimized: what is run and emitted.
    pub fn compile(&self, roots: Roots) -> Answer<Arc<Lowered>> {
        let memory = Memory::Rows(self.request.options.matrices);
        self.ask(|telling| Ok(self.optimized(roots, memory, telling)?.lowered.clone()))
    }

    /// What the backward derivative of a function keeps and computes twice.
    pub fn report(&self, func: Symbol) -> Answer<Arc<Report>> {
        self.ask(|telling| {
            let roots = Roots::Derivatives { func, modes: vec![Mode::Backward] };
            self.derived(roots, telling)?.report.clone().ok_or(Stop::Errors)
        })
    }

    /// What the backward derivative of an entry point keeps and computes twice, in each thread.
    pub fn report_kernel(&self, entry: Symbol) -> Answer<Arc<Report>> {
        self.ask(|telling| {
            let root = KernelRoot::new(entry, Mode::Backward);
            self.derived(Roots::Kernel(root), telling)?.report.clone().ok_or(Stop::Errors)
        })
    }

    /// The derivative of a function as Slang, in a module of its own.
    pub fn derivative(&self, func: Symbol, mode: Mode) -> Answer<String> {
        self.ask(|telling| {
            let roots = Roots::Derivatives { func, modes: vec![mode] };
            let memory = Memory::Rows(self.request.options.matrices);
            let stage = self.optimized(roots, memory, telling)?;
            crate::derivative::print(&stage.lowered, mode, &self.sources()).or_else(|refusal| {
                let mut refused = Diagnostics::new();
                refused.push(*refusal);
                telling.tell(&refused)?;
                Err(Stop::Errors)
            })
        })
    }

    /// What a host must know about the program, for one target.
    pub fn reflect(&self, roots: Roots, target: Target) -> Answer<Reflection> {
        self.ask(|telling| {
            let matrices = self.request.options.matrices;
            let stage = self.optimized(roots.clone(), Memory::Declared, telling)?;
            let lowered = &stage.lowered;
            if let Err(refusal) =
                crate::targets::check_layout(&lowered.params, cotangent_emit_naga::codes::UNSUPPORTED)
            {
                let mut refused = Diagnostics::new();
                refused.push(*refusal);
                telling.tell(&refused)?;
            }
            let contexts = self.contexts();
            let mut found = crate::reflect::reflect(lowered, target, matrices, contexts.to_vec());
            // Reflection describes matrices as declared; in the code for the target they lie row by row. A program that the
            // target refuses has no code, and so no names.
            let laid_out = self.optimized(roots, Memory::Rows(matrices), &mut self.telling());
            found.attributes = self.check_stage(false).program.user_attributes.clone();
            if let Ok(stage) = &laid_out {
                found.prints = crate::targets::printed(&stage.lowered, target);
            }
            if let Ok(stage) = laid_out
                && let Ok(names) = crate::targets::entry_names(&stage.lowered, target)
            {
                for (entry, id) in found.entries.iter_mut().zip(&stage.lowered.entries) {
                    entry.emitted = names.get(id).filter(|name| *name != entry.name.as_str()).cloned();
                }
            }
            Ok(found)
        })
    }

    /// Answers a question, whose stages report to the `Telling`.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&mut Telling<'_>) -> Result<T, Stop>) -> Answer<T> {
        let mut telling = self.telling();
        let result = question(&mut telling);
        let Telling { diagnostics, watch, .. } = telling;
        Answer { result, diagnostics, sources: self.sources(), denied: self.request.warnings.deny, watch }
    }

    fn telling(&self) -> Telling<'_> {
        Telling { request: &self.request, diagnostics: Diagnostics::new(), watch: self.request.watch.clone() }
    }

    /// The checked program, unless it has errors.
    pub(crate) fn accepted(&self, partial: bool, telling: &mut Telling<'_>) -> Result<Arc<Checked>, Stop> {
        telling.add(&self.stages.loaded.diagnostics);
        if let Some(stop) = &self.stages.loaded.stop {
            return Err(stop.clone());
        }
        let checked = self.check_stage(partial);
        telling.tell(&checked.diagnostics)?;
        Ok(checked)
    }

    /// To read what the user asks for.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking { state: self.state(), limits: self.request.limits, diagnostics: Diagnostics::new() }
    }

    #[cfg(test)]
    pub(crate) fn needs(&self) -> crate::library::Needs {
        self.stages.loaded.needs
    }

    /// Where work is counted.
    pub(crate) fn counters(&self) -> &Counters {
        &self.state().counters
    }

    fn state(&self) -> &State {
        self.session.state()
    }

    fn check_stage(&self, partial: bool) -> Arc<Checked> {
        let make = || {
            let Loaded { inputs, given, needs, .. } = &self.stages.loaded;
            let mut given = given.clone();
            given.partial = partial;
            let mut inputs = inputs.clone();
            if let Some(earlier) = &self.stages.earlier[usize::from(partial)] {
                earlier.mark(&self.stages.loaded, &mut inputs);
            }
            let open = inputs.iter().filter(|input| !input.known);
            let open: Set<usize> = open.map(|input| input.module).collect();
            self.state().counters.checked.add(open.len());
            cotangent_sema::check_modules(&needs.collected(), inputs, given)
        };
        self.stages.checked.get(&partial, make)
    }

    fn lowered(&self, roots: Roots, telling: &mut Telling<'_>) -> Result<Arc<LoweredStage>, Stop> {
        let checked = self.accepted(false, telling)?;
        self.lowered_from(false, &checked, roots, telling)
    }

    fn lowered_from(
        &self,
        partial: bool,
        checked: &Checked,
        roots: Roots,
        telling: &mut Telling<'_>,
    ) -> Result<Arc<LoweredStage>, Stop> {
        let key = (partial, roots, self.request.options.clone());
        let stage = self.stages.lowered.get(&key, || self.make_lowered(checked, &key.1));
        telling.tell(&stage.diagnostics)?;
        Ok(stage)
    }

    fn make_lowered(&self, checked: &Checked, roots: &Roots) -> LoweredStage {
        self.state().counters.lowered.add(1);
        // Types that the user names are added to a copy.
        let mut checked = checked.clone();
        checked.diagnostics = Diagnostics::new();
        let mut asking = self.asking();
        let roots = match roots {
            Roots::Derivatives { func, modes } if function_names::is_exact(func.as_str()) => {
                let chosen = function_names::choose_one(&mut asking, &mut checked, func.as_str());
                chosen.map(|func| Roots::DerivativesOf { funcs: vec![func], modes: modes.clone() })
            }
            roots => Ok(roots.clone()),
        };
        let mut diagnostics = asking.diagnostics;
        diagnostics.append(std::mem::take(&mut checked.diagnostics));
        let lowered = roots.ok().map(|roots| {
            let options = self.request.options.clone();
            let mut lowered = cotangent_lower::lower_with(&checked, roots.clone(), options);
            diagnostics.append(std::mem::take(&mut lowered.diagnostics));
            if let (Roots::Kernel(asked), false) = (&roots, diagnostics.has_errors()) {
                let Options { target, matrices, .. } = self.request.options;
                diagnostics.append(kernel::derive(&mut lowered, asked, target, matrices));
            }
            if let Roots::Held(_) = roots {
                cotangent_autodiff::kernel::hold(&mut lowered.module);
            }
            Arc::new(lowered)
        });
        LoweredStage { lowered, diagnostics, derived: Memo::default() }
    }

    fn derived(&self, roots: Roots, telling: &mut Telling<'_>) -> Result<Arc<DerivedStage>, Stop> {
        let costs = matches!(&roots, Roots::Derivatives { modes, .. } if *modes == [Mode::Backward])
            || matches!(&roots, Roots::Kernel(asked) if asked.mode == Mode::Backward);
        let stage = self.lowered(roots, telling)?;
        self.derived_from(&stage, costs, telling)
    }

    /// Writes derivatives. With `costs`, what the backward derivative costs is wanted: the second root, or what a derived kernel calls.
    fn derived_from(
        &self,
        stage: &LoweredStage,
        costs: bool,
        telling: &mut Telling<'_>,
    ) -> Result<Arc<DerivedStage>, Stop> {
        let lowered = stage.lowered.as_ref().ok_or(Stop::Errors)?;
        let watch = &mut telling.watch;
        let make = || {
            self.state().counters.derived.add(1);
            let mut lowered = Lowered::clone(lowered);
            let request = match lowered.roots[..] {
                [_, request] if costs => Some(request),
                [entry] if costs => requested(&lowered, entry),
                _ => None,
            };
            let (diagnostics, report) = match request {
                Some(request) => {
                    let (diagnostics, reports) =
                        pipeline::report_derivatives(&mut lowered, &[request], watch);
                    (diagnostics, reports.into_iter().next().map(Arc::new))
                }
                None => (pipeline::write_derivatives(&mut lowered, watch), None),
            };
            DerivedStage { lowered, diagnostics, report, optimized: Memo::default() }
        };
        let stage = stage.derived.get(&(), make);
        telling.tell(&stage.diagnostics)?;
        Ok(stage)
    }

    fn optimized(
        &self,
        roots: Roots,
        memory: Memory,
        telling: &mut Telling<'_>,
    ) -> Result<Arc<OptimizedStage>, Stop> {
        let derived = self.derived(roots, telling)?;
        let watch = &mut telling.watch;
        let make = || {
            // Laying out matrices is the last pass: it goes on from what was optimized without it.
            let declared = derived.optimized.made(&Memory::Declared).filter(|_| memory != Memory::Declared);
            let (lowered, diagnostics) = match declared {
                Some(declared) => {
                    let mut lowered = Lowered::clone(&declared.lowered);
                    let mut diagnostics = declared.diagnostics.clone();
                    diagnostics.append(pipeline::lay_out_matrices(&mut lowered, memory));
                    (lowered, diagnostics)
                }
                None => {
                    self.state().counters.optimized.add(1);
                    let mut lowered = derived.lowered.clone();
                    let diagnostics = pipeline::run_derived(&mut lowered, memory, watch);
                    (lowered, diagnostics)
                }
            };
            OptimizedStage { lowered: Arc::new(lowered), diagnostics }
        };
        let stage = derived.optimized.get(&memory, make);
        telling.tell(&stage.diagnostics)?;
        Ok(stage)
    }

    /// The names of the specialization constants.
    pub fn constants(&self) -> Vec<Symbol> {
        let checked = self.check_stage(false);
        let globals = checked.program.globals.values();
        globals.filter(|global| global.specialized).map(|global| global.name).collect()
    }

    /// The names of the shader parameters that are arrays without a length.
    pub fn open_arrays(&self) -> Vec<Symbol> {
        let checked = self.check_stage(false);
        let types = &checked.program.types;
        let is_open = |global: &&Global| {
            global.kind == GlobalKind::Param && matches!(types.kind(global.ty), TyKind::UnsizedArray(_))
        };
        checked.program.globals.values().filter(is_open).map(|global| global.name).collect()
    }

    /// The differentiable functions of the program, with the size of their contexts.
    fn contexts(&self) -> Arc<Vec<(Symbol, u64)>> {
        let options = &self.request.options;
        let checked = self.check_stage(false);
        self.stages.contexts.get(options, || costs::contexts(&checked, options, &self.state().counters))
    }
}

/// The derivative that a derived kernel calls.
fn requested(lowered: &Lowered, entry: FuncId) -> Option<FuncId> {
    let func = &lowered.module.funcs[entry];
    let mut calls = func.all_insts().into_iter().filter_map(|inst| match func.insts[inst].op {
        Op::Call(callee) => Some(callee),
        _ => None,
    });
    calls.find(|callee| matches!(lowered.module.funcs[*callee].kind, FuncKind::Request(Mode::Backward, _)))
}
