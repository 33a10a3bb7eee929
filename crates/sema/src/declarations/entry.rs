//! Entry points: the stage that attributes name, and the outputs of a stage.

use crate::Checked;
use crate::capability::STAGES;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Rules;
use crate::hir::{Entry, FuncId, Stage, Val};
use crate::tables::{FuncSource, ScopeId};
use cotangent_base::{Diagnostic, Symbol, nearest};
use cotangent_syntax::ast::{self, ModifierKind};

impl Checked {
    pub(super) fn resolve_entry(&mut self, id: FuncId, scope: ScopeId) {
        let attributes = self.tables.funcs[id].prefix.attributes.clone();
        for name in ["shader", "numthreads"] {
            self.rules().check_said_once(&attributes, name);
        }
        let written = attrs::string(&attributes, "shader");
        let threads = attrs::find(&attributes, "numthreads");
        let launched = threads.is_none() && attrs::has(&attributes, "CudaKernel");
        let bound = attrs::has(&attributes, "AutoPyBindCUDA");
        if threads.is_none() && written.is_none() && !launched {
            return;
        }
        let name = written.unwrap_or_else(|| "compute".into());
        let Some(stage) = Stage::named(name.as_str()) else {
            return self.no_stage(id, name, attrs::find(&attributes, "shader"));
        };
        if self.program.funcs[id].throws.is_some() {
            let message = "an entry point cannot throw, because nothing can catch its errors";
            let span = self.program.funcs[id].span;
            self.diagnostics.push(Diagnostic::new(codes::MISPLACED, span, message));
        }
        self.rules().check_outputs_of_stage(id, stage);
        let mut counts: [Val; 3] = [self.program.types.int_val(1); 3];
        for (count, arg) in counts.iter_mut().zip(threads.into_iter().flat_map(|t| &t.args)) {
            *count = self.const_val(arg, scope);
        }
        let span = threads.map_or(self.program.funcs[id].span, |attribute| attribute.span);
        self.program.funcs[id].entry = Some(Entry { stage, threads: counts, launched, bound, span });
    }

    /// Says that there is no stage of that name, or that we do not have it.
    fn no_stage(&mut self, func: FuncId, name: Symbol, attribute: Option<&ast::Attribute>) {
        if STAGES.contains(&name.as_str()) {
            self.program.funcs[func].other_stage = Some(name);
            return;
        }
        let own = self.program.funcs[func].span;
        let span = attribute.and_then(|a| a.args.first()).map_or(own, |arg| arg.span);
        let mut diagnostic =
            Diagnostic::new(codes::BAD_ATTRIBUTE, span, format!("there is no stage `{name}`"));
        diagnostic = match nearest(name.as_str(), STAGES.into_iter()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help("there are `compute`, `vertex` and `fragment`"),
        };
        self.diagnostics.push(diagnostic);
    }
}

impl Rules<'_> {
    /// System values that a stage only reads cannot be written.
    fn check_outputs_of_stage(&mut self, id: FuncId, stage: Stage) {
        let FuncSource::Func(decl) = &self.tables.funcs[id].source else { return };
        let decl = decl.clone();
        let written = |kind| matches!(kind, ModifierKind::Out | ModifierKind::InOut);
        for param in decl.params.iter().filter(|p| p.modifiers.iter().any(|m| written(m.kind))) {
            let Some(semantic) = param.semantic else { continue };
            let name = semantic.name.as_str().to_ascii_lowercase();
            let output = match stage {
                Stage::Compute => false,
                Stage::Fragment => {
                    ["sv_target", "sv_depth", "sv_coverage", "sv_stencil"].iter().any(|o| name.starts_with(o))
                }
                Stage::Vertex => true,
            };
            if name.starts_with("sv_") && !output {
                let message = format!("a {} shader cannot write `{}`", stage_word(stage), semantic.name);
                self.diagnostics.push(
                    Diagnostic::new(codes::MISPLACED, semantic.span, message).help("remove `out` or `inout`"),
                );
            }
        }
    }
}

/// What a stage is called.
fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Compute => "compute",
        Stage::Vertex => "vertex",
        Stage::Fragment => "fragment",
    }
}
