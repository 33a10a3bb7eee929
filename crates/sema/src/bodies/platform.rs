//! Checks `__target_switch` and `__stage_switch`. Lowering selects the case.
//!
//! In the typed program they are a `switch` whose selector is the number of the target or stage. Cases do not fall through: a
//! case without an exit gets a `break`. Without a `default`, the program is refused for targets or stages that have no case;
//! the synthesized `default` contains an error.

use crate::bodies::body::{BodyCx, Target};
use crate::bodies::returns::falls_through;
use crate::capability::{capability_name, case_targets, stage_number};
use crate::codes;
use crate::facts::Rules;
use crate::hir::{Case, Expr, ExprKind, Platform, Stmt, StmtKind};
use cotangent_base::{Diagnostic, Map, Scalar, Span, Symbol};
use cotangent_syntax::ast;

impl BodyCx<'_> {
    /// A switch on the target or the stage.
    pub(crate) fn platform_switch(
        &mut self,
        on: Platform,
        cases: &[ast::SwitchCase],
        name: Option<Symbol>,
        span: Span,
    ) -> StmtKind {
        let label = self.label();
        self.targets.push(Target { label, name, is_loop: false, hidden: false });
        let mut seen: Map<Option<i64>, Span> = Map::default();
        let mut checked = vec![];
        for case in cases {
            let (values, default) = self.cx.rules().platform_labels(on, case, &mut seen);
            let mut body = self.block(&case.body);
            if falls_through(&body) {
                body.push(Stmt { kind: StmtKind::Break(label), span: case.span });
            }
            checked.push(Case { values, default, body, span: case.span });
        }
        self.targets.pop();
        if checked.iter().all(|case| !case.default) {
            let nothing = self.error(span);
            let body = vec![Stmt { kind: StmtKind::Expr(nothing), span }];
            checked.push(Case { values: vec![], default: true, body, span });
        }
        let ty = self.scalar(Scalar::I32);
        StmtKind::Switch(label, Expr::new(ExprKind::Platform(on), ty, span), checked)
    }
}

impl Rules<'_> {
    /// The numbers of the targets or stages that a case is for, and whether it is for all others.
    fn platform_labels(
        &mut self,
        on: Platform,
        case: &ast::SwitchCase,
        seen: &mut Map<Option<i64>, Span>,
    ) -> (Vec<i64>, bool) {
        let (mut values, mut default) = (vec![], false);
        for label in &case.labels {
            let Some(label) = label else {
                default = true;
                self.only_default(case.span, seen);
                continue;
            };
            let name = capability_name(label);
            let numbers: Option<Vec<usize>> = name.and_then(|name| match on {
                Platform::Target => case_targets(name.as_str()).map(|targets| targets.numbers().collect()),
                Platform::Stage => stage_number(name.as_str()).map(|n| vec![n]),
            });
            match (numbers, name) {
                (Some(numbers), _) => {
                    // Of two cases for one target the first counts, as names of several overlap.
                    let new = numbers.into_iter().map(|n| n as i64);
                    values.extend(new.filter(|n| seen.insert(Some(*n), label.span).is_none()));
                }
                (None, Some(name)) => {
                    let what = match on {
                        Platform::Target => "target",
                        Platform::Stage => "stage",
                    };
                    self.unknown_capability(name, label, what);
                }
                (None, None) => {
                    let message = "a `case` here must be a name, such as `hlsl` or `compute`";
                    self.diagnostics.push(Diagnostic::new(codes::UNKNOWN_CAPABILITY, label.span, message));
                }
            }
        }
        (values, default)
    }
}
