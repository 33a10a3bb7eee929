//! Rules about parameters as they are written: their directions, and their defaults.
//!
//! Input: resolved functions. Output: diagnostics.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::facts::Rules;
use crate::hir::FuncId;
use crate::tables::FuncInfo;
use cotangent_base::Diagnostic;
use cotangent_syntax::ast::{self, ModifierKind};

impl Checked {
    /// Checks the parameters of a function as written; their defaults also if nobody leaves out the argument.
    pub(crate) fn check_parameters(&mut self, id: FuncId) {
        let FuncInfo { scope, generics, .. } = self.tables.funcs[id];
        let params = self.tables.written_params(id).to_vec();
        self.rules().check_defaults_last(&params);
        for (number, param) in params.iter().enumerate() {
            self.rules().check_passing(param);
            if let Some(default) = &param.default {
                self.ensure_func(id);
                let ty = self.program.funcs[id].params[number].ty;
                self.check_if_unknown(scope, |checked| {
                    BodyCx::new(checked, scope).foreign(default, ty, scope, generics);
                });
            }
        }
    }
}

impl Rules<'_> {
    /// After a parameter with a default, only others with defaults may come, and packs, which may be empty.
    fn check_defaults_last(&mut self, params: &[ast::Param]) {
        let Some(first) = params.iter().position(|p| p.default.is_some()) else { return };
        let needs_value =
            |p: &&ast::Param| p.default.is_none() && !matches!(p.ty.kind, ast::ExprKind::Expand(_));
        let Some(behind) = params[first..].iter().find(needs_value) else { return };
        let name = behind.name.map_or(String::new(), |name| format!(" `{}`", name.name));
        let message = format!("the parameter{name} needs a default, because one before it has one");
        let before = params[first].name.map_or(params[first].span, |name| name.span);
        self.diagnostics.push(
            Diagnostic::new(
                codes::DEFAULT_BEFORE,
                behind.name.map_or(behind.span, |name| name.span),
                message,
            )
            .label(before, "this has a default")
            .help("move the parameters with defaults to the end"),
        );
    }

    /// A parameter is passed in one way, and one that hands a value back has no default, because that is not assignable.
    fn check_passing(&mut self, param: &ast::Param) {
        self.check_repeated(&param.modifiers);
        let written = param.modifiers.iter().find(|m| hands_back(m.kind));
        if let (Some(default), Some(word)) = (&param.default, written) {
            let message = "a parameter that is written to cannot have a default";
            self.diagnostics.push(
                Diagnostic::new(codes::MISPLACED, default.span, message)
                    .label(word.span, "the function writes to the argument")
                    .help("remove the default, or overload the function"),
            );
        }
    }
}

/// Whether a parameter with this modifier hands a value back.
pub(crate) fn hands_back(kind: ModifierKind) -> bool {
    matches!(kind, ModifierKind::Out | ModifierKind::InOut | ModifierKind::Ref)
}
