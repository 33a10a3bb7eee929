//! Reports reads of properties and subscripts that have no `get`.
//!
//! Only the context of an expression tells whether it is read, so this check runs on finished bodies. An assignment or an
//! `out` parameter that writes the whole value does not read it. Everything else does, including partial writes, `+=` and
//! `inout`.

use crate::codes;
use crate::facts::Rules;
use crate::hir::{Body, Dir, Expr, ExprId, ExprKind, each_expr};
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Set, Span};

impl Rules<'_> {
    /// Reports what is read in a body and cannot be.
    pub(crate) fn check_readable(&mut self, scope: ScopeId, body: &Body) {
        if self.tables.scopes[scope].is_library() {
            return;
        }
        let mut reads: Vec<(ExprId, Span)> = vec![];
        let mut written: Set<ExprId> = Set::default();
        each_expr(&body.block, &mut |expr| match &expr.kind {
            ExprKind::Property { get: None, .. } => reads.push((expr.id, expr.span)),
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
            let message = "this is not readable: the property or subscript has no `get`";
            self.diagnostics.push(
                Diagnostic::new(codes::NOT_READABLE, span, message).help("declare a `get` beside its `set`"),
            );
        }
    }
}

/// What is written where a place is: an integer may be written as one of another sign.
fn whole(place: &Expr) -> ExprId {
    match &place.kind {
        ExprKind::Convert(inner) => whole(inner),
        _ => place.id,
    }
}
