//! Properties and subscripts that are read and have no `get`.
//!
//! Whether an expression is read is known only from what stands around it, so a finished body is looked at: what an assignment or an
//! `out` parameter writes as a whole is not read; everything else is, also what is written in part or changed (`+=`, `inout`).

use crate::Checked;
use crate::codes;
use crate::hir::{Body, Dir, Expr, ExprKind, each_expr};
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Set, Span};

impl Checked {
    /// Reports what is read in a body and cannot be.
    pub(crate) fn check_readable(&mut self, scope: ScopeId, body: &Body) {
        if self.tables.scopes[scope].library {
            return;
        }
        let mut reads: Vec<(*const Expr, Span)> = vec![];
        let mut written: Set<*const Expr> = Set::default();
        each_expr(&body.block, &mut |expr| match &expr.kind {
            ExprKind::Property { get: None, .. } => reads.push((expr, expr.span)),
            ExprKind::Assign(place, _) => {
                written.insert(whole(place));
            }
            ExprKind::Call(call) => {
                let outs = call.args.iter().filter(|(dir, _)| *dir == Dir::Out);
                written.extend(outs.flat_map(|(_, arg)| arg.elements()).map(whole));
            }
            _ => {}
        });
        for (_, span) in reads.into_iter().filter(|(expr, _)| !written.contains(expr)) {
            let message = "this cannot be read: the property or subscript has no `get`";
            self.diagnostics.push(
                Diagnostic::new(codes::NOT_READABLE, span, message).help("declare a `get` beside its `set`"),
            );
        }
    }
}

/// What is written where a place is: an integer may be written as one of another sign.
fn whole(place: &Expr) -> *const Expr {
    match &place.kind {
        ExprKind::Convert(inner) => whole(inner),
        _ => place,
    }
}
