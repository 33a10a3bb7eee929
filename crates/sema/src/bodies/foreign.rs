//! Checks expressions that are written in one declaration and used in others: default arguments, field initializers, defaults
//! of generic parameters.
//!
//! Each is checked where it is used, in the scope where it is written. Such expressions may need each other. The checker
//! records those in progress and reports a cycle. Even without a cycle they can grow exponentially, if each uses the previous
//! one twice, so their nesting is limited.

use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::codes;
use crate::hir::{Expr, Ty};
use crate::tables::{GenericsId, ScopeId};
use cotangent_base::{Diagnostic, Span};
use cotangent_syntax::ast;

/// Most foreign expressions that stand in others, in one program.
const MAX_NESTED: u32 = 10_000;

/// The foreign expressions that are being worked on.
#[derive(Clone, Default, Debug)]
pub(crate) struct Foreign {
    busy: Vec<Span>,
    nested: u32,
}

impl Foreign {
    /// Begins to work on an expression, unless that would not end: then gives the reason.
    fn begin(&mut self, expr: Span) -> Result<(), &'static str> {
        self.nested += u32::from(!self.busy.is_empty());
        if self.busy.contains(&expr) {
            return Err("this value depends on itself");
        }
        if self.nested > MAX_NESTED {
            return Err("this value expands to too much code");
        }
        self.busy.push(expr);
        Ok(())
    }

    /// Ends what was begun last.
    fn end(&mut self) {
        self.busy.pop();
    }
}

impl Checked {
    /// Begins to work on a foreign expression; reports and says no if that would not end.
    pub(crate) fn begin_foreign(&mut self, expr: Span) -> bool {
        let Err(message) = self.tables.foreign.begin(expr) else { return true };
        self.diagnostics.push(Diagnostic::new(codes::CYCLE, expr, message));
        false
    }

    /// Ends what was begun last.
    pub(crate) fn end_foreign(&mut self) {
        self.tables.foreign.end();
    }
}

impl BodyCx<'_> {
    /// Checks an expression that stands in another declaration: a default argument or a field's initializer.
    pub(crate) fn foreign(&mut self, expr: &ast::Expr, ty: Ty, scope: ScopeId, generics: GenericsId) -> Expr {
        if !self.cx.begin_foreign(expr.span) {
            return self.error(expr.span);
        }
        let saved = self.cx.enter(generics);
        let scope = std::mem::replace(&mut self.scope, scope);
        let names = self.vars.hide();
        let this = self.this.take();
        let value = self.expr_as(expr, ty);
        self.this = this;
        self.vars.show(names);
        self.scope = scope;
        self.cx.leave(saved);
        self.cx.end_foreign();
        value
    }
}
