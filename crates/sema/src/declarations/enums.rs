//! Enumerations: the type of their values, and the value of each case.
//!
//! A case without a value gets the value of the case before it plus one. In a `[Flags]` enumeration it gets the next bit, or the
//! first bit if none is left. Values wrap around in the type of the enumeration, with a warning.

use crate::Checked;
use crate::bodies::constant::wrap;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Rules;
use crate::hir::{EnumId, TyKind};
use crate::tables::ScopeId;
use cotangent_base::{Diagnostic, Scalar, Span};
use cotangent_syntax::ast;

impl Checked {
    /// Resolves the cases of an enumeration.
    pub(crate) fn ensure_enum(&mut self, id: EnumId) {
        if !self.tables.enums.begin_cases(id) {
            return;
        }
        let info = &self.tables.enums[id];
        let (decl, scope) = (info.decl.clone(), info.scope);
        let flags = attrs::has(&info.prefix.attributes, "Flags");
        let tag = self.integer_tag(&decl, scope);
        self.program.enums[id].underlying = self.program.types.ty(TyKind::Scalar(tag));
        let mut before = None;
        for (number, (name, value)) in decl.cases.iter().enumerate() {
            let value = match value {
                Some(value) => self.written_value(value, tag, scope),
                None => self.rules().next_value(before, flags, tag, name),
            };
            self.program.enums[id].cases[number].1 = value;
            self.tables.enums.set_numbered(id, number + 1);
            before = Some(value);
        }
        self.tables.enums.end_cases(id);
    }

    /// The type of an enumeration's values, which must be an integer type.
    fn integer_tag(&mut self, decl: &ast::EnumDecl, scope: ScopeId) -> Scalar {
        let Some(written) = &decl.underlying else { return Scalar::I32 };
        let ty = self.resolve_ty(written, scope);
        match self.program.types.kind(ty) {
            TyKind::Scalar(scalar) if !scalar.is_float() => return scalar,
            TyKind::Error => return Scalar::I32,
            _ => {}
        }
        let message = format!("the values of an enumeration are integers, not `{}`", self.show(ty));
        self.diagnostics.push(Diagnostic::new(codes::MISMATCH, written.span, message));
        Scalar::I32
    }

    /// The value of a case that the program gives.
    fn written_value(&mut self, value: &ast::Expr, tag: Scalar, scope: ScopeId) -> i64 {
        let val = self.const_val(value, scope);
        let written = self.program.types.known(val).unwrap_or(0);
        let wrapped = wrap(written, tag);
        if wrapped != written {
            self.rules().wraps(&written.to_string(), wrapped, tag, value.span);
        }
        wrapped
    }
}

impl Rules<'_> {
    /// The value of a case without one.
    fn next_value(&mut self, before: Option<i64>, flags: bool, tag: Scalar, name: &ast::Ident) -> i64 {
        let Some(before) = before else { return i64::from(flags) };
        let wide = |value: i64| if tag == Scalar::U64 { i128::from(value as u64) } else { i128::from(value) };
        let exact = if flags { wide(before) * 2 } else { wide(before) + 1 };
        let next = wrap(exact as i64, tag);
        // A flag may be the sign bit of its type: no bit is lost.
        let lost = if flags { next == 0 && before != 0 } else { wide(next) != exact };
        let next = if flags && next == 0 { 1 } else { next };
        if lost {
            self.wraps(&exact.to_string(), next, tag, name.span);
        }
        next
    }

    fn wraps(&mut self, value: &str, to: i64, tag: Scalar, span: Span) {
        let message = format!("{value} does not fit `{}` and becomes {to}", self.facts().show_scalar(tag));
        let help = "give the enumeration a wider type, as in `enum E : int64_t`, or change the value";
        self.diagnostics.push(Diagnostic::new(codes::DOES_NOT_FIT, span, message).help(help));
    }
}
